// The JSON reader beside RapidJSON: both must agree on what is valid, and whatever passes must give the same fields.
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "data/arena.h"
#include "data/json_reader.h"

namespace {

using sluice::data::Arena;
using sluice::data::ChunkPool;
using sluice::data::FieldSet;
using sluice::data::JsonReader;

[[noreturn]] void differ(const char* what, std::string_view text, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n%.*s\n", what, detail.c_str(), static_cast<int>(text.size()), text.data());
  std::abort();
}

// What the two are allowed to disagree on: our limits on nesting and on the length of a number, and `\udc00` without the
// first half of its pair, which RapidJSON turns into bytes that are no UTF-8.
bool may_differ(const std::string& error) {
  return error.rfind("nested deeper", 0) == 0 || error.rfind("a number of", 0) == 0 || error.rfind("a wrong escape", 0) == 0;
}

bool duplicate_names(const rapidjson::Value& object) {
  for (auto a = object.MemberBegin(); a != object.MemberEnd(); ++a)
    for (auto b = object.MemberBegin(); b != a; ++b)
      if (a->name == b->name) return true;
  return false;
}

void compare_field(const rapidjson::Value* want, const sluice_value& got, std::string_view text) {
  if (want == nullptr) {
    if (got.type != SLUICE_ABSENT) differ("field", text, "found one that is not there");
    return;
  }
  switch (got.type) {
    case SLUICE_ABSENT: differ("field", text, "missed one that is there");
    case SLUICE_NULL: if (!want->IsNull()) differ("field", text, "null"); break;
    case SLUICE_BOOL: if (!want->IsBool() || want->GetBool() != (got.as.i64 == 1)) differ("field", text, "bool"); break;
    case SLUICE_STRING:
      if (!want->IsString() || std::string_view(want->GetString(), want->GetStringLength()) != std::string_view(got.as.str.data, got.as.str.size))
        differ("field", text, "string");
      break;
    case SLUICE_NUMBER:
      if (!want->IsString() && std::string_view(got.as.str.data, got.as.str.size).find_first_not_of("+-.eE0123456789") != std::string_view::npos)
        differ("field", text, "number");
      if (!want->IsNumber()) differ("field", text, "number");
      break;
    case SLUICE_ARRAY: if (!want->IsArray()) differ("field", text, "array"); break;
    case SLUICE_OBJECT: if (!want->IsObject()) differ("field", text, "object"); break;
    default: differ("field", text, "type " + std::to_string(got.type));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto pool = std::make_shared<ChunkPool>();
  static JsonReader reader;
  static const FieldSet fields = [] {
    FieldSet set;
    for (const char* path : {"table", "type", "data.id", "data.name", "ts"}) set.add(path);
    return set;
  }();
  Arena arena(pool);
  char* copy = arena.allocate(size);
  std::memcpy(copy, data, size);
  const std::string_view text(copy, size);

  std::string error;
  const bool valid = reader.check(text, &error);
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag |
                 rapidjson::kParseNumbersAsStringsFlag>(text.data(), text.size());
  // RapidJSON ends at a NUL character.
  const bool has_nul = text.find('\0') != std::string_view::npos;
  // RapidJSON skips a byte order mark, whole or not.
  const bool has_mark = !text.empty() && static_cast<unsigned char>(text[0]) >= 0x80;
  const bool too_big = document.HasParseError() && document.GetParseError() == rapidjson::kParseErrorNumberTooBig;  // for a double
  if (!has_nul && !has_mark && !too_big && valid == document.HasParseError() && !(!valid && may_differ(error)))
    differ(valid ? "accepted" : "refused", text, valid ? rapidjson::GetParseError_En(document.GetParseError()) : error);

  sluice_value row[5];
  sluice_value* columns[5] = {&row[0], &row[1], &row[2], &row[3], &row[4]};
  const bool is_object = reader.read(text, fields, columns, 0, arena, &error);
  if (valid && !has_nul && !document.HasParseError()) {
    if (is_object != document.IsObject()) differ("object", text, error);
    rapidjson::Document numbers;
    numbers.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
    if (is_object && !numbers.HasParseError() && !duplicate_names(numbers)) {
      const auto member = [](const rapidjson::Value& of, const char* name) -> const rapidjson::Value* {
        const auto found = of.FindMember(name);
        return found == of.MemberEnd() ? nullptr : &found->value;
      };
      compare_field(member(numbers, "table"), row[0], text);
      compare_field(member(numbers, "type"), row[1], text);
      compare_field(member(numbers, "ts"), row[4], text);
      const rapidjson::Value* inner = member(numbers, "data");
      if (inner != nullptr && inner->IsObject() && !duplicate_names(*inner)) {
        compare_field(member(*inner, "id"), row[2], text);
        compare_field(member(*inner, "name"), row[3], text);
      }
    }
    sluice_value whole{};
    if (document.IsObject() || document.IsArray())
      if (!reader.parse(text, &whole, arena, &error)) differ("take apart", text, error);
  }
  return 0;
}
