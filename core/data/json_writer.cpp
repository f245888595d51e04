#include "data/json_writer.h"

#include <cmath>
#include <rapidjson/writer.h>

#include "data/text_view.h"

namespace sluice::data {
namespace {

// Lets RapidJSON write at the end of a string.
struct StringStream {
  using Ch = char;
  std::string* out;
  void Put(char c) { out->push_back(c); }
  void Flush() {}
};

}  // namespace

void append_json_string(std::string_view text, std::string* out) {
  StringStream stream{out};
  rapidjson::Writer<StringStream> writer(stream);
  writer.String(text.data() == nullptr ? "" : text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void append_json(const sluice_value& value, std::string* out) {
  switch (value.type) {
    case SLUICE_BOOL: out->append(value.as.i64 != 0 ? "true" : "false"); return;
    case SLUICE_NUMBER: case SLUICE_ARRAY: case SLUICE_OBJECT: out->append(view(value.as.str)); return;
    case SLUICE_STRING: append_json_string(view(value.as.str), out); return;
    case SLUICE_INT64: out->append(std::to_string(value.as.i64)); return;
    case SLUICE_DOUBLE: {
      if (!std::isfinite(value.as.f64)) {
        out->append("null");
        return;
      }
      StringStream stream{out};
      rapidjson::Writer<StringStream> writer(stream);
      writer.Double(value.as.f64);
      return;
    }
    case SLUICE_LIST:
      out->push_back('[');
      for (size_t i = 0; i < value.as.list.size; ++i) {
        if (i > 0) out->push_back(',');
        append_json(value.as.list.items[i], out);
      }
      out->push_back(']');
      return;
    case SLUICE_MAP:
      out->push_back('{');
      for (size_t i = 0; i < value.as.map.size; ++i) {
        if (i > 0) out->push_back(',');
        append_json_string(view(value.as.map.members[i].name), out);
        out->push_back(':');
        append_json(value.as.map.members[i].value, out);
      }
      out->push_back('}');
      return;
    default: out->append("null"); return;
  }
}

}  // namespace sluice::data
