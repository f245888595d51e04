#include "config/time_format.h"

#include <array>
#include <utility>

#include "config/nearest_name.h"

namespace sluice::config {
namespace {

struct FieldName {
  std::string_view letters;
  TimeFormat::Field field;
  std::string_view meaning;
};
constexpr std::array<FieldName, 7> kFields = {{{"yyyy", TimeFormat::Field::kYear, "year"},
                                               {"MM", TimeFormat::Field::kMonth, "month"},
                                               {"dd", TimeFormat::Field::kDay, "day"},
                                               {"HH", TimeFormat::Field::kHour, "hour"},
                                               {"mm", TimeFormat::Field::kMinute, "minute"},
                                               {"ss", TimeFormat::Field::kSecond, "second"},
                                               {"SSS", TimeFormat::Field::kMilli, "millisecond"}}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

const FieldName* find_field(std::string_view letters) {
  for (const FieldName& name : kFields) {
    if (name.letters == letters) return &name;
  }
  return nullptr;
}

// What a run of letters of another convention was meant to be.
std::string meant_field(std::string_view letters) {
  switch (letters[0]) {
    case 'y':
    case 'Y':
    case 'u':
      return "yyyy";
    case 'M':
      return "MM";
    case 'd':
    case 'D':
      return "dd";
    case 'H':
    case 'h':
    case 'k':
    case 'K':
      return "HH";
    case 'm':
      return "mm";
    case 's':
      return "ss";
    case 'S':
    case 'f':
    case 'n':
      return "SSS";
    case 'T':
    case 'Z':
      return "'" + std::string(letters) + "'";
    default:
      return {};
  }
}

TimeFormatResult wrong(size_t offset, std::string problem, std::string suggestion = {}) {
  TimeFormatResult out;
  out.problem = std::move(problem);
  out.suggestion = std::move(suggestion);
  out.offset = offset;
  return out;
}

void append_literal(TimeFormat& format, std::string_view text) {
  if (format.parts.empty() || format.parts.back().field != TimeFormat::Field::kLiteral) format.parts.push_back({});
  format.parts.back().literal += text;
}

bool has_field(const TimeFormat& format, TimeFormat::Field field) {
  for (const TimeFormat::Part& part : format.parts) {
    if (part.field == field) return true;
  }
  return false;
}

// Appends the quoted literal at `start` and returns the offset behind it, or npos when it is not closed.
size_t take_quoted(std::string_view text, size_t start, TimeFormat& format) {
  if (text.substr(start, 2) == "''") {
    append_literal(format, "'");
    return start + 2;
  }
  const size_t end = text.find('\'', start + 1);
  if (end == std::string_view::npos) return end;
  append_literal(format, text.substr(start + 1, end - start - 1));
  return end + 1;
}

}  // namespace

TimeFormatResult parse_time_format(std::string_view text) {
  TimeFormatResult out;
  TimeFormat& format = out.value;
  format.text = std::string(text);
  for (const auto& [name, kind] :
       {std::pair<std::string_view, TimeFormat::Kind>{"epoch_ms", TimeFormat::Kind::kEpochMs},
        {"epoch_s", TimeFormat::Kind::kEpochS},
        {"iso8601", TimeFormat::Kind::kIso8601}}) {
    if (text != name) continue;
    format.kind = kind;
    return out;
  }
  format.kind = TimeFormat::Kind::kPattern;
  if (text.find("yyyy") == std::string_view::npos && text.find_first_of("-/ :.") == std::string_view::npos) {
    return wrong(0, quote(text) + " is neither epoch_ms, epoch_s, iso8601 nor a pattern such as yyyy-MM-dd HH:mm:ss");
  }
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\'') {
      const size_t end = take_quoted(text, i, format);
      if (end == std::string_view::npos) return wrong(i, "the single quote in the time pattern is not closed");
      i = end;
      continue;
    }
    if (!is_letter(text[i])) {
      append_literal(format, text.substr(i, 1));
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && text[end] == text[i]) ++end;
    const std::string_view letters = text.substr(i, end - i);
    const FieldName* name = find_field(letters);
    if (name == nullptr) {
      return wrong(i,
                   quote(letters) +
                       " is not a part of a time pattern; known are yyyy, MM, dd, HH, mm, ss, SSS, and "
                       "text in single quotes",
                   meant_field(letters));
    }
    if (has_field(format, name->field)) {
      return wrong(i,
                   "the " + std::string(name->meaning) + " " + quote(letters) + " is given twice in the time pattern");
    }
    format.parts.push_back({name->field, {}});
    i = end;
  }
  for (const FieldName& name : kFields) {
    const bool needed = name.field == TimeFormat::Field::kYear || name.field == TimeFormat::Field::kMonth ||
                        name.field == TimeFormat::Field::kDay;
    if (!needed || has_field(format, name.field)) continue;
    const bool mixed_up = name.field == TimeFormat::Field::kMonth && has_field(format, TimeFormat::Field::kMinute);
    return wrong(0, "the time pattern has no " + std::string(name.meaning) + " (" + std::string(name.letters) + ")" +
                        (mixed_up ? "; \"mm\" is the minute" : ""));
  }
  return out;
}

}  // namespace sluice::config
