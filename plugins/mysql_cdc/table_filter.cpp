#include "table_filter.h"

#include <locale.h>

#include <algorithm>
#include <climits>
#include <cwchar>
#include <cwctype>

namespace sluice_mysql {
namespace {

// The server's own: captured only when they are named without a pattern.
bool is_system(std::string_view database) {
  for (const std::string_view s : {"mysql", "sys", "information_schema", "performance_schema"})
    if (database == s) return true;
  return false;
}

bool has_pattern(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

}  // namespace

std::string lower_case(std::string_view name) {
  static const locale_t kLocale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = uselocale(kLocale);
  std::string out;
  std::mbstate_t reading{}, writing{};
  for (size_t i = 0; i < name.size();) {
    wchar_t c = 0;
    char bytes[MB_LEN_MAX];
    const size_t n = std::mbrtowc(&c, name.data() + i, name.size() - i, &reading);
    if (n == 0 || n > name.size() - i) {  // no UTF-8: as it is
      out.append(name.substr(i));
      break;
    }
    out.append(bytes, std::wcrtomb(bytes, static_cast<wchar_t>(std::towlower(static_cast<wint_t>(c))), &writing));
    i += n;
  }
  uselocale(before);
  return out;
}

bool matches_pattern(std::string_view pattern, std::string_view text) noexcept {
  size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

sluice::Status TableFilter::make(const std::vector<std::string>& databases, const std::vector<std::string>& tables,
                                 TableFilter* out) {
  using sluice::Status;
  out->databases_ = databases;
  out->entries_.clear();
  if (databases.empty() && tables.empty())
    return Status::fatal("nothing is captured: give `tables`, for example [gmall.table_process], or `databases`");
  for (const std::string& name : databases)
    if (name.empty() || name.find('.') != std::string::npos)
      return Status::fatal("`databases`: `" + name + "` is no name of a database; tables go into `tables`");
  for (const std::string& name : tables) {
    const size_t dot = name.find('.');
    Entry e;
    if (dot != std::string::npos) {
      e = {name.substr(0, dot), name.substr(dot + 1)};
    } else if (databases.size() == 1) {
      e = {databases[0], name};
    } else {
      return Status::fatal("`tables`: `" + name + "` has no database; write db." + name);
    }
    if (e.database.empty() || e.table.empty())
      return Status::fatal("`tables`: `" + name + "` has nothing on one side of its dot");
    if (!has_pattern(e.database) && !out->has_database(e.database))
      return Status::fatal("`tables`: " + name + " is in none of the `databases`");
    out->entries_.push_back(std::move(e));
  }
  if (tables.empty())
    for (const std::string& d : databases) out->entries_.push_back({d, "*"});
  return Status::ok();
}

bool TableFilter::has_database(std::string_view database) const noexcept {
  return databases_.empty() || std::any_of(databases_.begin(), databases_.end(),
                                           [&](const std::string& d) { return fits(d, database); });
}

bool TableFilter::matches(std::string_view database, std::string_view table) const noexcept {
  const bool system = is_system(database);
  return has_database(database) && std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) {
           return (!system || e.database == database) && matches(e, database, table);
         });
}

bool TableFilter::matches(const Entry& entry, std::string_view database, std::string_view table) const noexcept {
  return fits(entry.database, database) && fits(entry.table, table);
}

bool TableFilter::fits(std::string_view pattern, std::string_view text) const noexcept {
  return ignores_case_ ? matches_pattern(lower_case(pattern), lower_case(text)) : matches_pattern(pattern, text);
}

bool TableFilter::names(std::string_view database, std::string_view table) const noexcept {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& e) { return !e.is_pattern() && matches(e, database, table); });
}

bool TableFilter::matches_database(std::string_view database) const noexcept {
  const bool system = is_system(database);
  return has_database(database) && std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) {
           return (!system || e.database == database) && fits(e.database, database);
         });
}

}  // namespace sluice_mysql
