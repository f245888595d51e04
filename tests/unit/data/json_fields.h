// Reading one message in a test, with values that can be compared.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/arena.h"
#include "data/json_reader.h"

namespace sluice::data::testing {

// A value as text with its type before it: `s:abc`, `n:20.00`, `b:true`, `null`, `absent`, `o:{…}`, `a:[…]`, `invalid`.
inline std::string show(const sluice_value& v) {
  const auto text = [&] { return std::string(v.as.str.data, v.as.str.size); };
  switch (v.type) {
    case SLUICE_ABSENT: return "absent";
    case SLUICE_NULL: return "null";
    case SLUICE_BOOL: return v.as.i64 != 0 ? "b:true" : "b:false";
    case SLUICE_NUMBER: return "n:" + text();
    case SLUICE_STRING: return "s:" + text();
    case SLUICE_ARRAY: return "a:" + text();
    case SLUICE_OBJECT: return "o:" + text();
    case SLUICE_INT64: return "i:" + std::to_string(v.as.i64);
    case SLUICE_INVALID: return "invalid";
    case SLUICE_LIST: {
      std::string out = "[";
      for (size_t i = 0; i < v.as.list.size; ++i) out += (i > 0 ? "," : "") + show(v.as.list.items[i]);
      return out + "]";
    }
    case SLUICE_MAP: {
      std::string out = "{";
      for (size_t i = 0; i < v.as.map.size; ++i)
        out += (i > 0 ? "," : "") + std::string(v.as.map.members[i].name.data, v.as.map.members[i].name.size) + "=" +
               show(v.as.map.members[i].value);
      return out + "}";
    }
    default: return "type " + std::to_string(v.type);
  }
}

// One reader with its memory; texts are copied, so that the padding is there.
class Fixture {
 public:
  std::shared_ptr<Arena> arena = std::make_shared<Arena>(std::make_shared<ChunkPool>());
  JsonReader reader;
  std::string error;

  std::string_view padded(std::string_view text) {
    const sluice_str s = arena->copy(text);
    return {s.data, s.size};
  }
  bool check(std::string_view text) { return reader.check(padded(text), &error); }
  bool read(std::string_view text, const FieldSet& fields, std::vector<sluice_value>* values) {
    values->assign(fields.size(), {SLUICE_ABSENT, 0, {}});
    std::vector<sluice_value*> columns;
    for (auto& v : *values) columns.push_back(&v);
    return reader.read(padded(text), fields, columns.data(), 0, *arena, &error);
  }
  // The values of `paths`, or the error.
  std::vector<std::string> fields(std::string_view text, const std::vector<std::string>& paths) {
    FieldSet set;
    for (const auto& p : paths) set.add(p);
    std::vector<sluice_value> values;
    if (!read(text, set, &values)) return {"error: " + error};
    std::vector<std::string> out;
    for (const auto& v : values) out.push_back(show(v));
    return out;
  }
  std::string field(std::string_view text, const std::string& path) { return fields(text, {path})[0]; }
  std::string parse(std::string_view text) {
    sluice_value v;
    return reader.parse(padded(text), &v, *arena, &error) ? show(v) : "error: " + error;
  }
};

}  // namespace sluice::data::testing
