// Operator `column_pruner`: of an object, the listed columns.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "column_pruner/column_set.h"
#include "column_pruner/page.h"
#include "sluice/sdk.hpp"

namespace sluice::column_pruner {

struct PrunerConfig {
  std::string from;
  std::vector<std::string> columns;
  std::string columns_field;
  std::vector<std::string> add;
  std::string key_field;
  Match match = Match::kExact;
};

class ColumnPruner final : public Transform<PrunerConfig> {
 public:
  static constexpr const char* kType = "column_pruner";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Makes a row of the listed columns of an object.";
  static constexpr const char* kDoc = kPage;
  static Options<PrunerConfig> options();

  Status configure(Needs& needs) override;
  Status process(const Batch& in, Output& out) override;

 private:
  // What is remembered of one list of columns.
  struct List {
    List(std::vector<std::string> columns, Match match) : set(std::move(columns), match) {}
    ColumnSet set;
    std::string problem;   // why no row can be made with it; empty: none
    std::string key_text;  // the key list that `key` was split from
    std::vector<std::string> key;
    bool key_known = false;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  Status process_row(const Batch& in, uint32_t row, Output& out, int64_t* kept);
  List* list_of(std::string_view text);
  // Empty, or why the row has no usable key.
  std::string key_problem(const Batch& in, uint32_t row, const Value& object, List* list) const;
  std::string nothing_found(const Value& object, const List& list) const;

  Field from_, columns_field_, key_field_;
  std::vector<std::pair<std::string, Field>> added_;                        // under which name which field
  std::unique_ptr<List> fixed_;                                             // `columns`
  std::unordered_map<std::string, List, TextHash, std::equal_to<>> lists_;  // by the text of `columns_field`
  List* last_list_ = nullptr;
  std::string last_text_;
};

}  // namespace sluice::column_pruner
