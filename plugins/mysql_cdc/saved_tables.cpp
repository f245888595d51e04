#include "saved_tables.h"

#include <algorithm>

namespace sluice_mysql {
namespace {

// Fields end with a tab or the line's end; names may have both, and a backslash.
void append_field(std::string_view text, std::string* out) {
  for (const char c : text) {
    if (c == '\t' || c == '\n' || c == '\\') out->push_back('\\');
    out->push_back(c == '\t' ? 't' : c == '\n' ? 'n' : c);
  }
}

using Line = std::vector<std::string>;

std::vector<Line> read_lines(std::string_view text) {
  std::vector<Line> out;
  Line line(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      out.push_back(std::move(line));
      line.assign(1, {});
    } else if (text[i] == '\t') {
      line.emplace_back();
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      line.back().push_back(text[i] == 't' ? '\t' : text[i] == 'n' ? '\n' : text[i]);
    } else {
      line.back().push_back(text[i]);
    }
  }
  return out;
}

void append_line(const Line& line, std::string* out) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (i > 0) out->push_back('\t');
    append_field(line[i], out);
  }
  out->push_back('\n');
}

}  // namespace

bool AddedTables::contains(const TableName& table) const noexcept {
  return std::find(tables.begin(), tables.end(), table) != tables.end();
}

std::string encode_added(const std::vector<AddedTables>& all) {
  std::string out;
  for (const AddedTables& a : all) {
    append_line({a.at.encode()}, &out);
    for (const TableName& t : a.tables) append_line({t.database, t.table}, &out);
  }
  return out;
}

std::optional<std::vector<AddedTables>> decode_added(std::string_view text) {
  std::vector<AddedTables> out;
  for (const Line& line : read_lines(text)) {
    if (line.size() == 1) {
      const auto at = BinlogPosition::decode(line[0]);
      if (!at) return std::nullopt;
      out.push_back({*at, {}});
    } else if (line.size() == 2 && !out.empty()) {
      out.back().tables.push_back({line[0], line[1]});
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::string filter_text(const TableFilter& filter) {
  std::string out;
  for (const std::string& d : filter.databases()) append_line({"database", d}, &out);
  for (const TableFilter::Entry& e : filter.entries()) append_line({"table", e.database, e.table}, &out);
  return out;
}

std::optional<TableFilter> read_filter(std::string_view text) {
  std::vector<std::string> databases;
  std::vector<TableFilter::Entry> entries;
  for (Line& line : read_lines(text)) {
    if (line.size() == 2 && line[0] == "database") {
      databases.push_back(std::move(line[1]));
    } else if (line.size() == 3 && line[0] == "table") {
      entries.push_back({std::move(line[1]), std::move(line[2])});
    } else {
      return std::nullopt;
    }
  }
  return entries.empty() ? std::nullopt : std::optional(TableFilter(std::move(databases), std::move(entries)));
}

}  // namespace sluice_mysql
