// JSON that commands print for programs.
#pragma once
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <concepts>
#include <string>

#include "observe/terminal_text.h"

namespace sluice::cli {

// A document that is built from front to back; calls must nest as JSON does. Text becomes valid UTF-8.
class JsonText {
 public:
  JsonText() { writer_.SetIndent(' ', 2); }

  void open() { writer_.StartObject(); }
  void close() { writer_.EndObject(); }
  void open_list() { writer_.StartArray(); }
  void open_list(const std::string& key) {
    put_key(key);
    writer_.StartArray();
  }
  void close_list() { writer_.EndArray(); }

  void put(const std::string& key, const std::string& value) {
    put_key(key);
    add(value);
  }
  void put(const std::string& key, const char* value) { put(key, std::string(value)); }
  void put(const std::string& key, std::same_as<bool> auto value) {
    put_key(key);
    writer_.Bool(value);
  }
  void put(const std::string& key, std::unsigned_integral auto value) requires(!std::same_as<decltype(value), bool>) {
    put_key(key);
    writer_.Uint64(value);
  }
  void put(const std::string& key, std::signed_integral auto value) {
    put_key(key);
    writer_.Int64(value);
  }
  // `json` is a whole JSON value.
  void put_raw(const std::string& key, const std::string& json) {
    put_key(key);
    writer_.RawValue(json.data(), json.size(), rapidjson::kObjectType);
  }
  // An element of a list.
  void add(const std::string& value) {
    const std::string clean = observe::valid_utf8(value);
    writer_.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  }
  // Ends with a line break.
  std::string text() const { return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n"; }

 private:
  void put_key(const std::string& key) {
    const std::string clean = observe::valid_utf8(key);
    writer_.Key(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace sluice::cli
