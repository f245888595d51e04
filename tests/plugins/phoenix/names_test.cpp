// Names, and the one piece of SQL that comes from outside: table options.
#include <catch2/catch.hpp>
#include <string>

#include "phoenix/sql_name.h"
#include "phoenix/table_options.h"

using namespace sluice::phoenix;
using Catch::Matchers::Contains;

TEST_CASE("names are upper case unless they are kept, and quoted", "[phoenix][names]") {
  CHECK(phoenix_name("dim_x", Case::kUpper) == "DIM_X");
  CHECK(phoenix_name("dim_x", Case::kKeep) == "dim_x");
  CHECK(phoenix_name("größe 你好", Case::kUpper) == "GRößE 你好");
  CHECK(quoted_name("ORDER") == "\"ORDER\"");
  CHECK(text_literal("GMALL") == "'GMALL'");
  for (const char* good : {"dim_x", "order", "a b", "你好", "semi;--", "x-y", "1"})
    CHECK(name_problem("column", good).empty());
  CHECK(name_problem("column", "a.b").empty());
}

TEST_CASE("names that could get out of their quotes are refused", "[phoenix][names]") {
  CHECK_THAT(name_problem("table", ""), Contains("is empty"));
  CHECK_THAT(name_problem("column", "a\"b"), Contains("quote or a backslash"));
  CHECK_THAT(name_problem("column", "a'b"), Contains("quote or a backslash"));
  CHECK_THAT(name_problem("column", "a\\b"), Contains("quote or a backslash"));
  CHECK_THAT(name_problem("column", "a\nb"), Contains("control characters"));
  CHECK_THAT(name_problem("column", std::string("a\0b", 3)), Contains("control characters"));
  CHECK_THAT(name_problem("table", std::string(300, 'x')), Contains("longer than 255"));
  CHECK_THAT(name_problem("table", "SYSTEM.CATALOG"), Contains("dot or a colon") && Contains("`schema`"));
}

TEST_CASE("table options: NAME = value pairs", "[phoenix][names]") {
  const auto read = [](std::string_view text) {
    std::string out;
    const std::string problem = read_table_options(text, &out);
    return problem.empty() ? out : "!" + problem;
  };
  CHECK(read("").empty());
  CHECK(read("  \n").empty());
  CHECK(read(" SALT_BUCKETS = 3") == "SALT_BUCKETS = 3");
  CHECK(read("SALT_BUCKETS=3,COMPRESSION='GZ' , a.TTL=86400") == "SALT_BUCKETS = 3, COMPRESSION = 'GZ', a.TTL = 86400");
  CHECK(read("IMMUTABLE_ROWS=true, X = -1.5") == "IMMUTABLE_ROWS = true, X = -1.5");
  for (const char* bad : {"; drop table x",
                          "SALT_BUCKETS = 3; drop table x",
                          "SALT_BUCKETS",
                          "SALT_BUCKETS =",
                          "= 3",
                          "SALT_BUCKETS = 3,",
                          ",",
                          "SALT_BUCKETS = 3 as select * from y",
                          "SALT_BUCKETS = (select 1)",
                          "split on ('a')",
                          "A = 'x",
                          "A = 'a''b'",
                          "A = 'a\\'",
                          "A = \"x\"",
                          "A = 3x",
                          "A = 1.",
                          "a..B = 1",
                          ".B = 1",
                          "b. = 1",
                          "A = 1 B = 2",
                          "A == 1",
                          "A = -",
                          "A = 3 -- x",
                          "A = 3 /* x */",
                          "1A = 3",
                          "A = '\n'"})
    CHECK_THAT(read(bad), Contains("!the table options \"") && Contains("are refused"));
  CHECK(read("SALT_BUCKETS = 3; drop table x") ==
        "!the table options \"SALT_BUCKETS = 3; drop table x\" are refused: a comma is expected before \"; drop table "
        "x\"; only NAME = value, with commas "
        "between them, is taken");
}
