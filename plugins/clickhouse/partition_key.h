// A table's partition key, evaluated here so that the rows of a block stay within one partition: such a block is
// written whole or not at all.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "column_type.h"

namespace sluice::clickhouse {

class PartitionKey {
 public:
  // `expression` as system.tables.partition_key has it; empty: one partition for all. `names` and `types` are the
  // table's columns.
  static PartitionKey read(std::string_view expression, const std::vector<std::string>& names,
                           const std::vector<const ColumnType*>& types);

  // False: the expression has forms that are not evaluated here; rows are then not told apart.
  bool is_known() const noexcept { return known_; }
  // Indexes of the columns that it depends on.
  const std::vector<size_t>& columns() const noexcept { return columns_; }
  // Appends bytes that are equal for rows of one partition. `values[i]`: the RowBinary bytes of columns()[i].
  void append_partition(const std::vector<std::string_view>& values, std::string* out) const;

 private:
  enum class Function { kItself, kDay, kMonth, kYear, kQuarter, kWeek, kHour };
  struct Term {
    Function function = Function::kItself;
    size_t value = 0;  // index into columns()
    const ColumnType* type = nullptr;
  };
  bool add_term(std::string_view text, const std::vector<std::string>& names,
                const std::vector<const ColumnType*>& types);

  bool known_ = true;
  std::vector<size_t> columns_;
  std::vector<Term> terms_;
};

// The parts of `a, f(b, c), d`, trimmed; one outer pair of parentheses, or `tuple(…)`, is taken off.
std::vector<std::string_view> split_key(std::string_view expression);

}  // namespace sluice::clickhouse
