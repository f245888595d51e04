// Which tables are captured: the options `databases` and `tables`.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/status.hpp"

namespace sluice_mysql {

// `*` any characters, `?` one; all others stand for themselves.
bool matches_pattern(std::string_view pattern, std::string_view text) noexcept;

// In small letters, of any script; in UTF-8.
std::string lower_case(std::string_view name);

// A plain value.
class TableFilter {
 public:
  struct Entry {
    std::string database, table;
    bool is_pattern() const noexcept { return (database + table).find_first_of("*?") != std::string::npos; }
    std::string text() const { return database + "." + table; }
  };

  TableFilter() = default;
  // Of entries that make() has made.
  TableFilter(std::vector<std::string> databases, std::vector<Entry> entries)
      : databases_(std::move(databases)), entries_(std::move(entries)) {}
  // `tables`: "db.table" with patterns on both sides, or a table alone if `databases` has exactly one entry. Without
  // tables every table of the databases. fatal: neither says anything, or an entry is no name.
  static sluice::Status make(const std::vector<std::string>& databases, const std::vector<std::string>& tables,
                             TableFilter* out);

  // For a server that does not tell names by the case of their letters (lower_case_table_names): neither does this.
  void ignore_case(bool ignored) noexcept { ignores_case_ = ignored; }

  bool matches(std::string_view database, std::string_view table) const noexcept;
  // Whether any table of it could match.
  bool matches_database(std::string_view database) const noexcept;
  bool matches(const Entry& entry, std::string_view database, std::string_view table) const noexcept;
  // Whether it is named without a pattern.
  bool names(std::string_view database, std::string_view table) const noexcept;

  const std::vector<std::string>& databases() const noexcept { return databases_; }
  const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  bool has_database(std::string_view database) const noexcept;
  bool fits(std::string_view pattern, std::string_view text) const noexcept;

  std::vector<std::string> databases_;  // empty: any
  std::vector<Entry> entries_;
  bool ignores_case_ = false;
};

}  // namespace sluice_mysql
