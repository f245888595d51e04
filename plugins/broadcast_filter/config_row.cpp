#include "broadcast_filter/config_row.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "broadcast_filter/identifier.h"

namespace sluice::broadcast_filter {
namespace {

constexpr char kCodecVersion = 2, kWithoutFrom = 1;
// Names of the fields that kept rows carry: a column of that name could not be told from them.
constexpr std::string_view kCarriedFields[] = {"sink_table", "sink_columns", "sink_pk"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Pieces between commas, trimmed; empty and repeated ones are left out.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view piece = trimmed(text.substr(0, comma));
    if (!piece.empty() && std::find(out.begin(), out.end(), piece) == out.end()) out.emplace_back(piece);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out.push_back(',');
    out += name;
  }
  return out;
}

// Dumps of such tables write the word for SQL NULL.
bool is_null_word(std::string_view text) { return text == "null" || text == "NULL"; }

std::string_view text_of(const std::optional<std::string>& field) {
  const std::string_view text = field ? trimmed(*field) : std::string_view();
  return is_null_word(text) ? std::string_view() : text;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string make_key(const ConfigRow& row, Rule* rule) {
  std::string_view given = row.sink_pk ? trimmed(*row.sink_pk) : std::string_view();
  if (is_null_word(given) && !contains(rule->columns, given)) given = {};
  rule->key = split_list(given);
  if (rule->key.empty()) {
    if (!contains(rule->columns, "id")) return "sink_pk is empty and its default `id` is not in sink_columns";
    rule->key = {"id"};
  }
  for (const std::string& name : rule->key)
    if (!contains(rule->columns, name)) return "key column `" + printable(name) + "` of sink_pk is not in sink_columns";
  return {};
}

}  // namespace

std::string make_rule(const ConfigRow& row, Rule* rule) {
  const std::string_view source = trimmed(row.source_table);
  if (source.empty()) return "no source_table";
  if (source.size() > 2 * kMaxIdentifierBytes + 1) return "source_table is longer than 257 bytes";
  if (std::any_of(source.begin(), source.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
    return "source_table contains a control character";
  const size_t dot = source.find('.');
  rule->database = dot == std::string_view::npos ? std::string_view() : source.substr(0, dot);
  rule->table = dot == std::string_view::npos ? source : source.substr(dot + 1);
  if (rule->table.empty() || dot == 0)
    return "source_table `" + printable(source) + "` has nothing on one side of its dot";

  rule->sink_table = text_of(row.sink_table);
  if (rule->sink_table.empty()) return "no sink_table";
  if (const std::string problem = unsafe_table_name(rule->sink_table); !problem.empty())
    return "sink_table `" + printable(rule->sink_table) + "` " + problem;

  rule->columns = split_list(text_of(row.sink_columns));
  if (rule->columns.empty()) return "no sink_columns";
  for (const std::string& name : rule->columns) {
    if (const std::string problem = unsafe_identifier(name); !problem.empty())
      return "column `" + printable(name) + "` of sink_columns " + problem;
    for (const std::string_view carried : kCarriedFields)
      if (name == carried) return "column `" + name + "` of sink_columns: rows carry a field of that name themselves";
  }
  if (std::string problem = make_key(row, rule); !problem.empty()) return problem;

  rule->extend = text_of(row.sink_extend);
  if (const std::string problem = unsafe_table_options(rule->extend); !problem.empty()) return "sink_extend " + problem;
  rule->columns_text = join(rule->columns);
  rule->key_text = join(rule->key);
  return {};
}

}  // namespace sluice::broadcast_filter

namespace {

void write_field(const std::optional<std::string>& field, std::string* out) {
  out->push_back(field ? 1 : 0);
  if (!field) return;
  const auto size = static_cast<uint32_t>(field->size());
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(size >> shift & 0xFF));
  out->append(*field);
}

bool read_field(std::string_view* bytes, std::optional<std::string>* field) {
  if (bytes->empty()) return false;
  const char present = bytes->front();
  bytes->remove_prefix(1);
  field->reset();
  if (present == 0) return true;
  if (present != 1 || bytes->size() < 4) return false;
  uint32_t size = 0;
  for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<unsigned char>((*bytes)[static_cast<size_t>(i)]);
  bytes->remove_prefix(4);
  if (bytes->size() < size) return false;
  field->emplace(bytes->substr(0, size));
  bytes->remove_prefix(size);
  return true;
}

}  // namespace

void sluice::Codec<sluice::broadcast_filter::ConfigRow>::write(const sluice::broadcast_filter::ConfigRow& row,
                                                               std::string* out) {
  out->push_back(sluice::broadcast_filter::kCodecVersion);
  write_field(row.source_table, out);
  for (const auto* field : {&row.sink_table, &row.sink_columns, &row.sink_pk, &row.sink_extend, &row.from})
    write_field(*field, out);
}

bool sluice::Codec<sluice::broadcast_filter::ConfigRow>::read(std::string_view bytes,
                                                              sluice::broadcast_filter::ConfigRow* out) {
  const char version = bytes.empty() ? '\0' : bytes.front();
  if (version != sluice::broadcast_filter::kCodecVersion && version != sluice::broadcast_filter::kWithoutFrom)
    return false;
  bytes.remove_prefix(1);
  std::optional<std::string> source;
  if (!read_field(&bytes, &source) || !source) return false;
  out->source_table = std::move(*source);
  for (auto* field : {&out->sink_table, &out->sink_columns, &out->sink_pk, &out->sink_extend})
    if (!read_field(&bytes, field)) return false;
  out->from.reset();
  if (version == sluice::broadcast_filter::kCodecVersion && !read_field(&bytes, &out->from)) return false;
  return bytes.empty();
}
