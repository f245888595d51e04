#include "statement.h"

namespace sluice_mysql {
namespace {

class StatementReader {
 public:
  StatementReader(std::string_view sql, std::string_view database, SqlMode mode)
      : t_(sql, mode), database_(database) {}

  Statement read() {
    while (t_.take_sign('(')) {
    }
    // MariaDB: SET STATEMENT a=1, b=2 FOR <statement>
    if (t_.take("SET") && t_.take("STATEMENT")) {
      while (!t_.at_end() && !t_.is("FOR")) t_.advance();
      t_.advance();
    }
    s_.kind = kind();
    return std::move(s_);
  }

 private:
  StatementKind kind() {
    if (t_.is("BEGIN")) return StatementKind::kBegin;
    if (t_.take("START")) return t_.is("TRANSACTION") ? StatementKind::kBegin : StatementKind::kOther;
    if (t_.is("COMMIT")) return StatementKind::kCommit;
    if (t_.take("ROLLBACK")) {
      t_.take("WORK");
      return t_.is("TO") ? StatementKind::kSavepoint : StatementKind::kRollback;
    }
    if (t_.is("SAVEPOINT")) return StatementKind::kSavepoint;
    if (t_.take("RELEASE")) return StatementKind::kSavepoint;
    if (t_.take("XA")) return xa();
    if (t_.take("CREATE")) return create();
    if (t_.take("ALTER")) return alter();
    if (t_.take("DROP")) return drop();
    if (t_.take("RENAME")) return rename();
    if (t_.take("TRUNCATE")) {
      t_.take("TABLE");
      add_table();
      return StatementKind::kTruncateTable;
    }
    if (t_.take("ANALYZE") && t_.take("FORMAT")) {  // MariaDB: ANALYZE FORMAT=JSON UPDATE .. is run
      t_.advance();
      t_.advance();
    }
    for (const std::string_view word :
         {"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH", "CALL", "SELECT", "DO"}) {
      if (t_.is(word)) return StatementKind::kRowChange;
    }
    return StatementKind::kOther;
  }

  StatementKind xa() {
    if (t_.is("START") || t_.is("BEGIN")) return StatementKind::kBegin;
    if (t_.is("END")) return StatementKind::kXaEnd;
    if (t_.is("COMMIT")) return StatementKind::kXaCommit;
    if (t_.is("ROLLBACK")) return StatementKind::kXaRollback;
    return StatementKind::kOther;
  }

  StatementKind create() {
    if (t_.take("OR")) s_.replaces = t_.take("REPLACE");
    if (t_.is("DATABASE") || t_.is("SCHEMA")) return database(StatementKind::kCreateDatabase);
    if (t_.take("TEMPORARY")) s_.temporary = true;
    if (t_.take("TABLE")) {
      skip_if_exists();
      add_table();
      s_.fills = finds_query();
      return StatementKind::kCreateTable;
    }
    for (const std::string_view word : {"UNIQUE", "FULLTEXT", "SPATIAL", "ONLINE", "OFFLINE"}) t_.take(word);
    return t_.is("INDEX") ? index() : StatementKind::kOther;
  }

  // CREATE TABLE t .. SELECT, .. TABLE u, .. VALUES ROW(1). What is logged with rows has no query in it.
  bool finds_query() {
    int depth = 0;
    for (; !t_.at_end(); t_.advance()) {
      if (t_.is("SELECT") || (depth == 0 && (t_.is("TABLE") || t_.is("VALUES")))) return true;
      depth += t_.is_sign('(') ? 1 : t_.is_sign(')') ? -1 : 0;
    }
    return false;
  }

  StatementKind alter() {
    t_.take("ONLINE");
    s_.ignores = t_.take("IGNORE");
    if (t_.is("DATABASE") || t_.is("SCHEMA")) return database(StatementKind::kAlterDatabase);
    if (!t_.take("TABLE")) return StatementKind::kOther;
    skip_if_exists();
    add_table();
    if (moves_rows()) return StatementKind::kMoveRows;
    find_new_name();
    return StatementKind::kAlterTable;
  }

  // DROP|TRUNCATE|EXCHANGE PARTITION p [WITH TABLE u], CONVERT PARTITION p TO TABLE u, CONVERT TABLE u TO PARTITION p,
  // DISCARD|IMPORT [PARTITION p] TABLESPACE. Nothing but modifiers stands beside them.
  bool moves_rows() {
    SqlTokens ahead = t_;
    if (ahead.take("WAIT")) ahead.advance();
    ahead.take("NOWAIT");
    while (ahead.is("ALGORITHM") || ahead.is("LOCK"))
      while (!ahead.at_end() && !ahead.take_sign(',')) ahead.advance();
    const auto moves = [&] {
      if (ahead.take("DISCARD") || ahead.take("IMPORT")) return ahead.is("PARTITION") || ahead.is("TABLESPACE");
      if (ahead.take("CONVERT")) return ahead.is("PARTITION") || ahead.is("TABLE");
      return (ahead.take("DROP") || ahead.take("TRUNCATE") || ahead.take("EXCHANGE")) && ahead.is("PARTITION");
    };
    if (!moves()) return false;
    t_ = ahead;
    while (!t_.at_end() && !t_.take("TABLE")) t_.advance();
    add_table();
    return true;
  }

  // What stands behind ADD or DROP.
  bool names_no_column() {
    for (const std::string_view word : {"INDEX", "KEY", "UNIQUE", "PRIMARY", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN",
                                        "CHECK", "PARTITION"}) {
      if (t_.is(word)) return true;
    }
    return false;
  }

  // ALTER TABLE a .., RENAME [TO|AS|=] b
  void find_new_name() {
    int depth = 0;
    bool begins = true;
    while (!t_.at_end()) {
      if (begins && depth == 0 && (t_.is("CHANGE") || t_.is("MODIFY") || t_.is("CONVERT"))) s_.changes_columns = true;
      if (begins && depth == 0 && (t_.take("ADD") || t_.take("DROP"))) {
        begins = false;
        s_.changes_columns = s_.changes_columns || !names_no_column();
        continue;
      }
      if (begins && depth == 0 && t_.take("RENAME")) {
        begins = false;
        if (t_.is("COLUMN")) s_.changes_columns = true;
        if (t_.is("COLUMN") || t_.is("INDEX") || t_.is("KEY")) continue;
        if (!t_.take("TO") && !t_.take("AS")) t_.take_sign('=');
        add_table();
        continue;
      }
      depth += t_.is_sign('(') ? 1 : t_.is_sign(')') ? -1 : 0;
      begins = t_.is_sign(',');
      t_.advance();
    }
  }

  StatementKind drop() {
    if (t_.is("DATABASE") || t_.is("SCHEMA")) return database(StatementKind::kDropDatabase);
    if (t_.is("INDEX")) return index();
    if (t_.take("TEMPORARY")) s_.temporary = true;
    if (!t_.take("TABLE") && !t_.take("TABLES")) return StatementKind::kOther;
    skip_if_exists();
    do {
      if (!add_table()) break;
    } while (t_.take_sign(','));
    return StatementKind::kDropTable;
  }

  StatementKind rename() {
    if (!t_.take("TABLE") && !t_.take("TABLES")) return StatementKind::kOther;
    skip_if_exists();
    do {
      if (!add_table()) break;
      if (t_.take("WAIT")) t_.advance();
      t_.take("NOWAIT");
      if (!t_.take("TO") || !add_table()) break;
    } while (t_.take_sign(','));
    return StatementKind::kRenameTable;
  }

  // CREATE INDEX i ON t, DROP INDEX i ON t
  StatementKind index() {
    while (!t_.at_end() && !t_.take("ON")) t_.advance();
    add_table();
    return StatementKind::kAlterTable;
  }

  StatementKind database(StatementKind kind) {
    t_.advance();
    skip_if_exists();
    std::string name = std::string(database_);  // ALTER DATABASE without a name
    const bool given = t_.now().kind == SqlToken::Kind::kQuotedName ||
                       (t_.now().kind == SqlToken::Kind::kWord && !t_.is("CHARACTER") && !t_.is("DEFAULT") &&
                        !t_.is("COLLATE") && !t_.is("CHARSET") && !t_.is("COMMENT") && !t_.is("READ"));
    if (given) name = t_.now().text;
    s_.tables.push_back({name, ""});
    return kind;
  }

  void skip_if_exists() {
    if (!t_.take("IF")) return;
    t_.take("NOT");
    t_.take("EXISTS");
  }

  bool add_table() {
    std::string first, second;
    if (!take_name(&first)) return false;
    if (t_.take_sign('.') && take_name(&second)) {
      s_.tables.push_back({first, second});
    } else {
      s_.tables.push_back({std::string(database_), first});
    }
    return true;
  }

  bool take_name(std::string* name) {
    if (!t_.now().is_name()) return false;
    *name = t_.now().text;
    t_.advance();
    return true;
  }

  SqlTokens t_;
  std::string_view database_;
  Statement s_;
};

}  // namespace

Statement read_statement(std::string_view sql, std::string_view database, SqlMode mode) {
  return StatementReader(sql, database, mode).read();
}

bool changes_names(const Statement& s) {
  switch (s.kind) {
    case StatementKind::kAlterTable:
      return s.changes_columns || s.tables.size() > 1;
    case StatementKind::kCreateTable:  // where there is one, IF NOT EXISTS does nothing
      return s.replaces && !s.temporary;
    case StatementKind::kDropTable:
    case StatementKind::kRenameTable:
      return !s.temporary;
    default:
      return false;
  }
}

std::string_view maxwell_type(StatementKind kind) {
  switch (kind) {
    case StatementKind::kCreateTable:
      return "table-create";
    case StatementKind::kAlterTable:
    case StatementKind::kMoveRows:
    case StatementKind::kRenameTable:
      return "table-alter";
    case StatementKind::kDropTable:
      return "table-drop";
    case StatementKind::kCreateDatabase:
      return "database-create";
    case StatementKind::kAlterDatabase:
      return "database-alter";
    case StatementKind::kDropDatabase:
      return "database-drop";
    default:
      return {};
  }
}

}  // namespace sluice_mysql
