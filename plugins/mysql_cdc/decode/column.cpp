#include "column.h"

#include <algorithm>
#include <charconv>

namespace sluice_mysql {
namespace {

struct NamedKind {
  std::string_view name;
  ColumnKind kind;
  uint32_t integer_bytes;
};

constexpr NamedKind kKinds[] = {
    {"tinyint", ColumnKind::kInteger, 1},
    {"smallint", ColumnKind::kInteger, 2},
    {"mediumint", ColumnKind::kInteger, 3},
    {"int", ColumnKind::kInteger, 4},
    {"bigint", ColumnKind::kInteger, 8},
    {"decimal", ColumnKind::kDecimal, 0},
    {"float", ColumnKind::kFloat, 0},
    {"double", ColumnKind::kDouble, 0},
    {"bit", ColumnKind::kBit, 0},
    {"year", ColumnKind::kYear, 0},
    {"date", ColumnKind::kDate, 0},
    {"time", ColumnKind::kTime, 0},
    {"datetime", ColumnKind::kDateTime, 0},
    {"timestamp", ColumnKind::kTimestamp, 0},
    {"char", ColumnKind::kText, 0},
    {"varchar", ColumnKind::kText, 0},
    {"tinytext", ColumnKind::kText, 0},
    {"text", ColumnKind::kText, 0},
    {"mediumtext", ColumnKind::kText, 0},
    {"longtext", ColumnKind::kText, 0},
    {"binary", ColumnKind::kBytes, 0},
    {"varbinary", ColumnKind::kBytes, 0},
    {"tinyblob", ColumnKind::kBytes, 0},
    {"blob", ColumnKind::kBytes, 0},
    {"mediumblob", ColumnKind::kBytes, 0},
    {"longblob", ColumnKind::kBytes, 0},
    {"enum", ColumnKind::kEnum, 0},
    {"set", ColumnKind::kSet, 0},
    {"json", ColumnKind::kJson, 0},
    {"geometry", ColumnKind::kGeometry, 0},
    {"point", ColumnKind::kGeometry, 0},
    {"linestring", ColumnKind::kGeometry, 0},
    {"polygon", ColumnKind::kGeometry, 0},
    {"multipoint", ColumnKind::kGeometry, 0},
    {"multilinestring", ColumnKind::kGeometry, 0},
    {"multipolygon", ColumnKind::kGeometry, 0},
    {"geometrycollection", ColumnKind::kGeometry, 0},
    {"geomcollection", ColumnKind::kGeometry, 0},
    {"uuid", ColumnKind::kUuid, 0},
    {"inet6", ColumnKind::kInet6, 0},
    {"inet4", ColumnKind::kInet4, 0},
};

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

bool has_word(const std::string& text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || text[at - 1] == ' ';
    const size_t end = at + word.size();
    if (begins && (end == text.size() || text[end] == ' ' || text[end] == '*')) return true;
  }
  return false;
}

// The server doubles quotes and writes \0, \n, \r and \\ with a backslash.
bool read_labels(std::string_view type, std::vector<std::string>* labels, size_t* end) {
  size_t i = type.find('(');
  if (i == std::string_view::npos) return false;
  for (;;) {
    if (++i >= type.size() || type[i] != '\'') return false;
    std::string label;
    for (++i;; ++i) {
      if (i >= type.size()) return false;
      if (type[i] == '\'') {
        if (i + 1 >= type.size() || type[i + 1] != '\'') break;
        ++i;
      } else if (type[i] == '\\' && i + 1 < type.size()) {
        const char c = type[++i];
        label += c == '0' ? '\0' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
        continue;
      }
      label += type[i];
    }
    labels->push_back(std::move(label));
    if (++i >= type.size()) return false;
    if (type[i] == ')') break;
    if (type[i] != ',') return false;
  }
  *end = i + 1;
  return true;
}

// "(20,4)" → 20, 4; without parentheses nothing is changed. *count: how many there were.
bool read_numbers(std::string_view type, uint32_t* first, uint32_t* second, int* count, size_t* end) {
  const size_t open = type.find('(');
  *count = 0;
  *end = type.size();
  const size_t blank = type.find(' ');
  if (open == std::string_view::npos || (blank != std::string_view::npos && blank < open)) {
    *end = std::min(blank, type.size());
    return true;
  }
  const char* p = type.data() + open + 1;
  const char* const last = type.data() + type.size();
  for (uint32_t* number : {first, second}) {
    const auto read = std::from_chars(p, last, *number);
    if (read.ec != std::errc() || read.ptr == last) return false;
    ++*count;
    p = read.ptr + 1;
    if (*read.ptr == ')') {
      *end = static_cast<size_t>(p - type.data());
      return true;
    }
    if (*read.ptr != ',') return false;
  }
  return false;
}

}  // namespace

sluice::Status make_column(const ColumnFields& f, Column* out) {
  Column c;
  c.name = f.name;
  c.data_type = lower(f.data_type);
  c.column_type = f.column_type;
  c.charset = f.charset;
  c.collation = f.collation;
  c.nullable = lower(f.is_nullable) != "no";
  const std::string extra = lower(f.extra);
  c.generated = extra.find("virtual") != std::string::npos || extra.find("stored generated") != std::string::npos ||
                extra.find("persistent") != std::string::npos;
  c.invisible = has_word(extra, "invisible");
  if (!f.octets.empty()) std::from_chars(f.octets.data(), f.octets.data() + f.octets.size(), c.octets);
  const auto refuse = [&](const char* why) {
    return sluice::Status::bad_record("column '" + c.name + "' of type '" + c.column_type + "': " + why);
  };

  const auto* known = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const NamedKind& k) { return k.name == c.data_type; });
  if (known == std::end(kKinds)) return refuse("this type is not supported");
  c.kind = known->kind;
  c.integer_bytes = known->integer_bytes;

  size_t end = 0;
  if (c.kind == ColumnKind::kEnum || c.kind == ColumnKind::kSet) {
    if (!read_labels(f.column_type, &c.labels, &end)) return refuse("its labels cannot be read");
  } else {
    uint32_t first = 0, second = 0;
    int count = 0;
    if (!read_numbers(f.column_type, &first, &second, &count, &end)) return refuse("its length cannot be read");
    if (c.kind == ColumnKind::kDecimal) {
      if (count == 0 || first == 0 || first > 65 || second > 38 || second > first) return refuse("its precision cannot be read");
      c.precision = static_cast<uint8_t>(first);
      c.scale = static_cast<uint8_t>(second);
    } else if (c.kind == ColumnKind::kTime || c.kind == ColumnKind::kDateTime || c.kind == ColumnKind::kTimestamp) {
      if (first > 6) return refuse("its fraction cannot be read");
      c.fraction_digits = static_cast<uint8_t>(first);
    } else if (c.kind == ColumnKind::kFloat || c.kind == ColumnKind::kDouble) {
      c.fixed_point = count == 2;
    } else {
      c.length = count > 0 ? first : c.kind == ColumnKind::kBit || c.data_type == "char" || c.data_type == "binary" ? 1 : 0;
      if (c.kind == ColumnKind::kBit && (c.length == 0 || c.length > 64)) return refuse("its length cannot be read");
    }
  }
  const std::string attributes = lower(f.column_type.substr(std::min(end, f.column_type.size())));
  c.is_unsigned = has_word(attributes, "unsigned");
  c.compressed = has_word(attributes, "compressed");
  *out = std::move(c);
  return sluice::Status::ok();
}

std::string quote_name(std::string_view name) {
  std::string out = "`";
  for (const char c : name) out.append(c == '`' ? 2 : 1, c);
  return out + '`';
}

std::string select_list(const Table& table) {
  std::string out;
  for (const Column& c : table.columns) {
    if (!out.empty()) out += ',';
    out += quote_name(c.name);
    if (c.kind == ColumnKind::kFloat || (c.kind == ColumnKind::kDouble && c.fixed_point)) out += "*1e0";
  }
  return out;
}

}  // namespace sluice_mysql
