#include "cli/canonical_json.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <map>

namespace sluice::cli {
namespace {

// Puts values together from the inside out: a container is text once it is closed.
struct Canonical {
  struct Open {
    bool is_object;
    std::map<std::string, std::string> members;
    std::vector<std::string> items;
    std::string key;
  };
  const std::vector<std::string>& without;
  std::vector<Open> open;
  std::string done;

  explicit Canonical(const std::vector<std::string>& w) : without(w) {}

  static std::string quoted(const char* s, rapidjson::SizeType n) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    writer.String(s, n);
    return {buffer.GetString(), buffer.GetSize()};
  }
  bool value(std::string text) {
    if (open.empty()) done = std::move(text);
    else if (open.back().is_object) open.back().members[open.back().key] = std::move(text);
    else open.back().items.push_back(std::move(text));
    return true;
  }
  bool Null() { return value("null"); }
  bool Bool(bool b) { return value(b ? "true" : "false"); }
  // Not called: numbers come as they were written.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }
  bool RawNumber(const char* s, rapidjson::SizeType n, bool) { return value({s, n}); }
  bool String(const char* s, rapidjson::SizeType n, bool) { return value(quoted(s, n)); }
  bool StartObject() { open.push_back({true, {}, {}, {}}); return true; }
  bool Key(const char* s, rapidjson::SizeType n, bool) { open.back().key.assign(s, n); return true; }
  bool EndObject(rapidjson::SizeType) {
    const Open o = std::move(open.back());
    open.pop_back();
    std::string text = "{";
    for (const auto& [name, member] : o.members) {
      if (open.empty() && std::find(without.begin(), without.end(), name) != without.end()) continue;
      if (text.size() > 1) text += ',';
      text += quoted(name.data(), static_cast<rapidjson::SizeType>(name.size())) + ':' + member;
    }
    return value(text + "}");
  }
  bool StartArray() { open.push_back({false, {}, {}, {}}); return true; }
  bool EndArray(rapidjson::SizeType) {
    const Open o = std::move(open.back());
    open.pop_back();
    std::string text = "[";
    for (const std::string& item : o.items) text += (text.size() > 1 ? "," : "") + item;
    return value(text + "]");
  }
};

}  // namespace

std::string canonical_json(std::string_view json, const std::vector<std::string>& without) {
  Canonical canonical(without);
  rapidjson::MemoryStream stream(json.data(), json.size());
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag;
  const auto result = reader.Parse<kFlags>(stream, canonical);
  return result.IsError() ? std::string(json) : canonical.done;
}

}  // namespace sluice::cli
