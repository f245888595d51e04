#include "column_pruner/column_pruner.h"

#include <algorithm>

#include "sluice/field_path.hpp"

namespace sluice::column_pruner {
namespace {

constexpr size_t kMaxRememberedLists = 4096;

// The member of `object` that is `column` but for the case of letters; empty: there is none.
std::string_view other_case(const Value& object, std::string_view column) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (size_t i = 0; i < object.size(); ++i) {
    const std::string_view name = object.name(i);
    if (name != column && std::equal(name.begin(), name.end(), column.begin(), column.end(),
                                     [&](char a, char b) { return lower(a) == lower(b); }))
      return name;
  }
  return {};
}

std::string hint(const Value& object, std::string_view column) {
  const std::string_view other = other_case(object, column);
  return other.empty() ? std::string() : " (there is `" + std::string(other) + "`; `match: ignore_case` takes it)";
}

}  // namespace

Options<PrunerConfig> ColumnPruner::options() {
  return {
      opt("from", &PrunerConfig::from)
          .def("\"\"")
          .doc("Field that holds the object; empty: the whole record.")
          .example("data"),
      opt("columns", &PrunerConfig::columns)
          .def("[]")
          .doc("Columns to keep, the same for all rows, such as `[id, name]`. Either this or `columns_field`."),
      opt("columns_field", &PrunerConfig::columns_field)
          .def("\"\"")
          .doc("Field with each row's own list of columns, separated by commas.")
          .example("sink_columns"),
      opt("add", &PrunerConfig::add)
          .def("[]")
          .doc("Fields of the record that are added to the row.")
          .example("[sink_table, sink_pk]"),
      opt("key_field", &PrunerConfig::key_field)
          .def("\"\"")
          .doc("Field with the names of the row's key columns, separated by commas: a row in which one is missing or "
               "null is refused.")
          .example("sink_pk"),
      opt("match", &PrunerConfig::match, {{"exact", Match::kExact}, {"ignore_case", Match::kIgnoreCase}})
          .def("exact")
          .doc("`ignore_case`: a column without exact match takes the member that differs in case only."),
  };
}

Status ColumnPruner::configure(Needs& needs) {
  if (config().columns.empty() == config().columns_field.empty())
    return Status::fatal(config().columns.empty()
                             ? "one of `columns` (a list) and `columns_field` (a field with each row's list) is needed"
                             : "`columns` and `columns_field` exclude each other");
  if (config().from.empty())
    needs.body();
  else
    from_ = needs.field(config().from);
  if (!config().columns_field.empty()) columns_field_ = needs.field(config().columns_field);
  if (!config().key_field.empty()) key_field_ = needs.field(config().key_field);
  added_.clear();
  for (const std::string& path : config().add) {
    std::string name = last_name(path);
    for (const auto& [other, field] : added_)
      if (other == name) return Status::fatal("option `add`: two fields would go on as `" + name + "`");
    added_.emplace_back(std::move(name), needs.field(path));
  }
  fixed_.reset();
  lists_.clear();
  last_list_ = nullptr;
  if (config().columns.empty()) return Status::ok();
  for (size_t i = 0; i < config().columns.size(); ++i) {
    const std::string& name = config().columns[i];
    if (name.empty()) return Status::fatal("option `columns`: an empty name");
    if (std::find(config().columns.begin(), config().columns.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        config().columns.begin() + static_cast<std::ptrdiff_t>(i))
      return Status::fatal("option `columns`: `" + name + "` is there twice");
    for (const auto& [added, field] : added_)
      if (added == name) return Status::fatal("`" + name + "` is both in `columns` and added by `add`");
  }
  fixed_ = std::make_unique<List>(config().columns, config().match);
  return Status::ok();
}

Status ColumnPruner::process(const Batch& in, Output& out) {
  // Between batches: rows of a batch hold views of the names in these lists.
  if (lists_.size() > kMaxRememberedLists) {
    lists_.clear();
    last_list_ = nullptr;
  }
  int64_t kept = 0;
  for (uint32_t row = 0; row < in.size(); ++row) SLUICE_CHECK_OK(process_row(in, row, out, &kept));
  if (kept != 0) count("kept", kept);
  return Status::ok();
}

Status ColumnPruner::process_row(const Batch& in, uint32_t row, Output& out, int64_t* kept) {
  List* list = fixed_.get();
  if (list == nullptr) {
    const Value text = in(columns_field_, row);
    if (!text.is_string())
      return out.reject(row,
                        "field `" + config().columns_field + "` is " + text.type_name() + ", not a list of columns");
    list = list_of(text.text());
    if (!list->problem.empty()) return out.reject(row, list->problem);
  }

  Value object;
  if (config().from.empty()) {
    const Status s = in.body(row, &object);
    if (s.code() == SLUICE_BAD_RECORD) return out.reject(row, s.message());
    SLUICE_CHECK_OK(s);
  } else {
    object = in(from_, row);
    if (object.type() == SLUICE_INVALID) return out.reject(row, object.text());
    if (!object.is_object())
      return out.reject(row, "field `" + config().from + "` is " + object.type_name() + ", not an object");
    if (object.type() != SLUICE_MAP) {
      Value members;
      const Status s = parse(object, &members);
      if (s.code() == SLUICE_BAD_RECORD) return out.reject(row, "field `" + config().from + "`: " + s.message());
      SLUICE_CHECK_OK(s);
      object = members;
    }
  }

  const std::vector<ColumnSet::Kept>& columns = list->set.kept_of(object);
  if (columns.empty()) return out.reject(row, nothing_found(object, *list));
  if (!config().key_field.empty())
    if (const std::string problem = key_problem(in, row, object, list); !problem.empty())
      return out.reject(row, problem);

  Row& made = out.emit(row);
  made.change(in.change(row));
  for (const ColumnSet::Kept& k : columns) made.set(list->set.columns()[k.column], object.member(k.member));
  for (const auto& [name, field] : added_)
    if (const Value value = in(field, row); !value.is_absent()) made.set(name, value);
  ++*kept;
  return Status::ok();
}

ColumnPruner::List* ColumnPruner::list_of(std::string_view text) {
  if (last_list_ != nullptr && text == last_text_) return last_list_;
  auto it = lists_.find(text);
  if (it == lists_.end()) {
    it = lists_.try_emplace(std::string(text), split_list(text), config().match).first;
    List& list = it->second;
    if (list.set.columns().empty()) list.problem = "field `" + config().columns_field + "` lists no column";
    for (const auto& [added, field] : added_)
      if (std::find(list.set.columns().begin(), list.set.columns().end(), added) != list.set.columns().end())
        list.problem = "`" + added + "` is both a listed column and added by `add`";
  }
  last_text_ = text;
  last_list_ = &it->second;
  return last_list_;
}

std::string ColumnPruner::key_problem(const Batch& in, uint32_t row, const Value& object, List* list) const {
  const Value text = in(key_field_, row);
  if (!text.is_string())
    return "field `" + config().key_field + "` is " + text.type_name() + ", not a list of key columns";
  if (!list->key_known || list->key_text != text.text()) {
    list->key_text = text.text();
    list->key = split_list(text.text());
    list->key_known = true;
  }
  if (list->key.empty()) return "field `" + config().key_field + "` lists no key column";
  for (const std::string& name : list->key) {
    const uint32_t member = list->set.member_of(name);
    if (member == SLUICE_NO_ROW) return "key column `" + name + "` is missing" + hint(object, name);
    if (object.member(member).is_missing()) return "key column `" + name + "` is null";
  }
  return {};
}

std::string ColumnPruner::nothing_found(const Value& object, const List& list) const {
  std::string names;
  for (const std::string& name : list.set.columns()) {
    if (names.size() > 200) {
      names += ", …";
      break;
    }
    names += (names.empty() ? "`" : ", `") + name + "`";
  }
  std::string reason = "none of the columns " + names + " is in " +
                       (config().from.empty() ? std::string("the record") : "`" + config().from + "`");
  for (const std::string& name : list.set.columns())
    if (const std::string h = hint(object, name); !h.empty()) return reason + h;
  return reason;
}

}  // namespace sluice::column_pruner
