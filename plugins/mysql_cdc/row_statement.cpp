#include "row_statement.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "decode/column.h"

namespace sluice_mysql {
namespace {

bool is_any(const SqlToken& t, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return t.is(w); });
}

class RowStatementReader {
 public:
  RowStatementReader(std::string_view sql, std::string_view database, SqlMode mode) : database_(database) {
    for (SqlTokens t(sql, mode); !t.at_end(); t.advance()) t_.push_back(t.now());
    t_.resize(t_.size() + 3);  // to look ahead
    end_ = t_.size() - 3;
  }

  RowStatement read() {
    if (end_ == 0) return {};
    const size_t verb = find_verb();
    if (verb == end_) {  // nothing is named as changed
      find_tables(0, end_, &out_.read);
    } else if (is_any(t_[verb], {"UPDATE", "DELETE"})) {
      changes_listed(verb);
    } else {
      changes_one(verb);
    }
    find_calls();
    return std::move(out_);
  }

 private:
  // Outside brackets: in them these are functions, or words of a WITH's queries.
  size_t find_verb() const {
    if (is_any(t_[0], {"CREATE", "SELECT", "DO", "CALL"})) return end_;
    int depth = 0;
    for (size_t i = 0; i < end_; ++i) {
      depth += t_[i].is_sign('(') ? 1 : t_[i].is_sign(')') ? -1 : 0;
      if (depth == 0 && is_any(t_[i], {"INSERT", "REPLACE", "UPDATE", "DELETE", "LOAD"})) return i;
    }
    return end_;
  }

  void changes_one(size_t verb) {
    size_t i = verb + 1;
    if (t_[verb].is("LOAD")) {
      while (i < end_ && !t_[i].is("TABLE")) ++i;
      ++i;
    } else {
      while (is_any(t_[i], {"LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"})) ++i;
    }
    i = add_name(i, &out_.changed);
    out_.listed = out_.changed;
    find_tables(0, verb, &out_.read);
    find_tables(i, end_, &out_.read);
  }

  void changes_listed(size_t verb) {
    const bool update = t_[verb].is("UPDATE");
    size_t rows = verb + 1;  // SET or WHERE: what comes after is read
    while (rows < end_ && !t_[rows].is(update ? "SET" : "WHERE")) ++rows;
    for (size_t i = verb + 1; i < rows;) i = t_[i].is_name() ? add_name(i, &out_.listed) : i + 1;
    size_t from = verb;
    // DELETE FROM alias USING tables
    for (size_t i = verb; !update && i < rows; ++i)
      if (t_[i].is("USING") && !t_[i + 1].is_sign('(')) from = i;
    find_tables(from, rows, &out_.changed);
    find_tables(0, verb, &out_.read);
    find_tables(rows, end_, &out_.read);
    // What a WITH has made is no table.
    const auto made = [&](const TableName& n) {
      return std::any_of(t_.begin(), t_.begin() + static_cast<std::ptrdiff_t>(verb),
                         [&](const SqlToken& t) { return t.is_name() && t.text == n.table; }) &&
             n.database == database_;
    };
    out_.changed.erase(std::remove_if(out_.changed.begin(), out_.changed.end(), made), out_.changed.end());
  }

  // Names behind FROM, JOIN, UPDATE, TABLE and the commas of such lists. Those of subqueries are read.
  void find_tables(size_t begin, size_t end, std::vector<TableName>* out) {
    struct Level {
      bool list = false, query = false;
    };
    std::vector<Level> levels(1);
    bool expected = false;
    for (size_t i = begin; i < end;) {
      const SqlToken& t = t_[i];
      if (t.is_sign('(')) {
        levels.push_back({expected, false});
        ++i;
        continue;
      }
      if (t.is_sign(')')) {
        if (levels.size() > 1) levels.pop_back();
        expected = false;
      } else if (t.is_sign(',')) {
        expected = levels.back().list;
      } else if (t.is("FROM")) {  // not that of EXTRACT(DAY FROM d)
        levels.back().list = expected = levels.size() == 1 || levels.back().query;
      } else if (i == begin && is_any(t, {"UPDATE", "USING"})) {
        levels.back().list = expected = true;
      } else if (is_any(t, {"JOIN", "STRAIGHT_JOIN", "TABLE"})) {
        expected = true;
      } else if (is_any(t, {"SELECT", "WHERE", "SET", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "VALUES"})) {
        levels.back().query = levels.back().query || t.is("SELECT");
        levels.back().list = expected = false;
      } else if (expected && t.is_name() && !is_any(t, {"LOW_PRIORITY", "IGNORE", "QUICK", "LATERAL"})) {
        const bool query = std::any_of(levels.begin(), levels.end(), [](const Level& l) { return l.query; });
        i = add_name(i, query ? &out_.read : out);
        expected = false;
        continue;
      } else if (!t.is_name()) {
        expected = false;
      }
      ++i;
    }
  }

  // A name before a bracket, unless it stands where a table or a type does.
  void find_calls() {
    size_t begin = 0;
    if (t_[0].is("CREATE"))  // its columns have types: DATETIME(6)
      while (begin < end_ && !is_any(t_[begin], {"SELECT", "WITH", "VALUES"})) ++begin;
    for (size_t i = begin; i < end_; ++i) {
      if (!t_[i].is_name() || !t_[i + 1].is_sign('(')) continue;
      const bool qualified = i >= 2 && t_[i - 1].is_sign('.') && t_[i - 2].is_name();
      const size_t first = qualified ? i - 2 : i;
      if (first > 0 && is_any(t_[first - 1], {"INTO", "AS", "TABLE", "JOIN", "INDEX", "KEY"})) continue;
      if (is_target(i)) continue;
      // Words that the server would take for names.
      if (!qualified && is_any(t_[i], {"VALUE", "AGAINST", "DATETIME", "COLUMNS"})) continue;
      const bool quoted = t_[i].kind == SqlToken::Kind::kQuotedName;
      const std::string name = quoted && !qualified ? quote_name(t_[i].text) : t_[i].text;
      out_.called.push_back({qualified ? t_[first].text + "." + name : name, !qualified});
    }
  }

  // INSERT u (a, b): found as a table already.
  bool is_target(size_t i) const {
    return std::any_of(places_.begin(), places_.end(), [&](size_t place) { return place == i; });
  }

  // The name at i, qualified or not. Gives what stands behind it.
  size_t add_name(size_t i, std::vector<TableName>* out) {
    if (!t_[i].is_name()) return i + 1;
    const bool qualified = t_[i + 1].is_sign('.') && t_[i + 2].is_name();
    const size_t last = qualified ? i + 2 : i;
    if (qualified) {
      out->push_back({t_[i].text, t_[last].text});
    } else {
      out->push_back({std::string(database_), t_[i].text});
    }
    if (out == &out_.changed) places_.push_back(last);
    return last + 1;
  }

  std::string_view database_;
  std::vector<SqlToken> t_;
  size_t end_ = 0;
  std::vector<size_t> places_;  // of changed tables' names
  RowStatement out_;
};

}  // namespace

RowStatement read_row_statement(std::string_view sql, std::string_view database, SqlMode mode) {
  return RowStatementReader(sql, database, mode).read();
}

}  // namespace sluice_mysql
