#include "table_layout.h"

#include <algorithm>
#include <cctype>

namespace sluice::clickhouse {
namespace {

std::string in_quotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') out += '\\';
    out += c;
  }
  return out + quote;
}

bool is_name(std::string_view t) {
  return !t.empty() && std::isdigit(static_cast<unsigned char>(t[0])) == 0 &&
         std::all_of(t.begin(), t.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '`' || c == '.';
         });
}

std::string bare_name(std::string_view t) {
  if (t.size() > 1 && t.front() == '`') t = t.substr(1, t.size() - 2);
  return std::string(t);
}

}  // namespace

std::string quoted_name(std::string_view name) { return in_quotes(name, '`'); }
std::string quoted_text(std::string_view text) { return in_quotes(text, '\''); }

std::vector<std::vector<std::string>> read_tsv(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  if (text.empty()) return rows;
  rows.emplace_back(1);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& field = rows.back().back();
    if (text[i] == '\t') {
      rows.back().emplace_back();
    } else if (text[i] == '\n') {
      if (i + 1 < text.size()) rows.emplace_back(1);
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      const char c = text[++i];
      field += c == 'n'   ? '\n'
               : c == 't' ? '\t'
               : c == '0' ? '\0'
               : c == 'r' ? '\r'
               : c == 'b' ? '\b'
               : c == 'f' ? '\f'
                          : c;
    } else {
      field += text[i];
    }
  }
  return rows;
}

int TableLayout::find(std::string_view name) const noexcept {
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name) return static_cast<int>(i);
  return -1;
}

std::vector<uint32_t> TableLayout::named_in(std::string_view t) const {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  std::vector<uint32_t> out;
  for (size_t i = 0; i < t.size();) {
    const char c = t[i];
    std::string name;
    if (c == '`' || c == '\'' || c == '"') {
      for (++i; i < t.size() && t[i] != c; ++i) {
        if (t[i] == '\\' && i + 1 < t.size()) ++i;
        name += t[i];
      }
      ++i;
      if (c == '\'') continue;
    } else if (is_word(c)) {
      while (i < t.size() && is_word(t[i])) name += t[i++];
      if (i < t.size() && t[i] == '(') continue;  // a function
    } else {
      ++i;
      continue;
    }
    const int column = find(name);
    if (column >= 0 && std::find(out.begin(), out.end(), static_cast<uint32_t>(column)) == out.end())
      out.push_back(static_cast<uint32_t>(column));
  }
  return out;
}

Status read_layout(std::string_view columns, std::string_view table, const std::string& server_zone, int64_t last_day,
                   const std::string& table_name, std::shared_ptr<const TableLayout>* out) {
  auto layout = std::make_shared<TableLayout>();
  const auto described = read_tsv(table);
  const auto rows = read_tsv(columns);
  if (described.empty() || described[0].size() < 4 || rows.empty())
    return Status::fatal(
        "the table " + table_name +
        " is not there, or the user may not see it: create it, give its statement in `create`, or grant the "
        "user SELECT on it and on system.columns and system.tables");
  layout->engine = described[0][0];
  layout->engine_full = described[0][1];
  layout->partition_key = described[0][2];
  layout->sorting_key = described[0][3];
  layout->server_zone = server_zone;
  layout->signature = server_zone + '\n' + layout->partition_key + '\n';
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (row.size() < 3)
      return Status::fatal("the columns of " + table_name + " came as \"" + row[0].substr(0, 80) + "\"");
    const std::string& kind = row[2];
    layout->signature += row[0] + '\t' + row[1] + '\t' + kind + '\n';
    if (kind == "MATERIALIZED" || kind == "ALIAS") {
      layout->computed.push_back(row[0]);
      continue;
    }
    Column c{row[0], parse_column_type(row[1]), !kind.empty()};
    std::string unknown;
    if (!resolve_zones(&c.type, server_zone, last_day, &unknown))
      return Status::fatal("column " + c.name + " of " + table_name + " is in the time zone " + unknown +
                           ", which this machine does not know: install its time zone database (package tzdata)");
    layout->columns.push_back(std::move(c));
  }
  std::vector<const ColumnType*> types;
  for (const Column& c : layout->columns) {
    names.push_back(c.name);
    types.push_back(&c.type);
  }
  layout->partition = PartitionKey::read(layout->partition_key, names, types);
  *out = std::move(layout);
  return Status::ok();
}

bool is_shared_engine(std::string_view engine) noexcept {
  return engine.substr(0, 10) == "Replicated" || engine.substr(0, 6) == "Shared";
}

ReplacingEngine read_replacing_engine(std::string_view engine, std::string_view engine_full) {
  constexpr std::string_view kFamily = "ReplacingMergeTree";
  ReplacingEngine out;
  if (engine.size() < kFamily.size() || engine.substr(engine.size() - kFamily.size()) != kFamily) return out;
  out.is_replacing = true;
  // ReplacingMergeTree(ts) PARTITION BY …
  if (engine_full.substr(0, engine.size()) != engine || engine_full.size() == engine.size() ||
      engine_full[engine.size()] != '(')
    return out;
  size_t end = engine.size();
  int depth = 0;
  bool quoted = false;
  for (; end < engine_full.size(); ++end) {
    if (engine_full[end] == '\'') quoted = !quoted;
    if (quoted) continue;
    depth += engine_full[end] == '(' ? 1 : engine_full[end] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  std::vector<std::string_view> arguments = split_key(engine_full.substr(engine.size(), end + 1 - engine.size()));
  // The old way of writing it: (date, key, granularity, version).
  const auto granularity = std::find_if(arguments.begin(), arguments.end(), [](std::string_view a) {
    return !a.empty() &&
           std::all_of(a.begin(), a.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  });
  if (granularity != arguments.end()) arguments.erase(arguments.begin(), granularity + 1);
  arguments.erase(std::remove_if(arguments.begin(), arguments.end(), [](std::string_view a) { return !is_name(a); }),
                  arguments.end());
  if (!arguments.empty()) out.version = bare_name(arguments[0]);
  if (arguments.size() > 1) out.deleted = bare_name(arguments[1]);
  return out;
}

std::string table_setting(std::string_view engine_full, std::string_view name) {
  for (size_t at = engine_full.find(name); at != std::string_view::npos; at = engine_full.find(name, at + 1)) {
    if (at == 0 || (engine_full[at - 1] != ' ' && engine_full[at - 1] != ',')) continue;
    std::string_view rest = engine_full.substr(at + name.size());
    while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
    if (rest.empty() || rest[0] != '=') continue;
    rest.remove_prefix(1);
    while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
    return std::string(rest.substr(0, rest.find_first_of(", ")));
  }
  return {};
}

}  // namespace sluice::clickhouse
