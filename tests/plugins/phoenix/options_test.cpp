// phoenix.sink: options that contradict themselves, and addresses; no server.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "phoenix/phoenix_sink.h"
#include "sluice/testing/harness.hpp"

using namespace sluice::phoenix;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using Sink = sluice::testing::Harness<PhoenixSink>;

namespace {

std::string problem(const std::string& options) {
  Sink h(options);
  const sluice::Status s = h.try_open();
  CHECK(s.code() == SLUICE_FATAL);
  return s.message();
}

}  // namespace

TEST_CASE("addresses of servers", "[phoenix][options]") {
  std::vector<std::string> urls;
  CHECK(read_servers({"a:8765", "http://b:8765, https://c"}, &urls).empty());
  CHECK(urls == std::vector<std::string>{"http://a:8765", "http://b:8765", "https://c"});
  CHECK_THAT(read_servers({}, &urls), Equals("no server is given"));
  CHECK_THAT(read_servers({" , "}, &urls), Equals("no server is given"));
  CHECK_THAT(read_servers({"ftp://a"}, &urls), Contains("neither http:// nor https://"));
  CHECK_THAT(read_servers({"http://"}, &urls), Contains("no host"));
  CHECK_THAT(read_servers({"http://:8765"}, &urls), Contains("no host"));
  for (const char* address : {"http://u:p@a:8765", "u:p@a:8765", "ftp://u:p@a"})
    CHECK_THAT(read_servers({address}, &urls),
               Equals("a server's address has a user in it: use `user` and `password`, which is kept out of logs"));
  for (const char* address : {"http://a:8765/?user=u&password=p", "a:8765?password=p", "a#p"})
    CHECK_THAT(read_servers({address}, &urls), Equals("a server's address has a ? or # in it: give host and port, and "
                                                      "`user` and `password` as options"));
  CHECK_THAT(read_servers({"a b"}, &urls), Contains("blank"));
  CHECK_THAT(read_servers({"a:87654"}, &urls), Equals("\"http://a:87654\" is no address: Port number was not a decimal "
                                                      "number between 0 and 65535"));
}

TEST_CASE("options that cannot be", "[phoenix][options]") {
  const std::string a = "servers: [\"127.0.0.1:1\"]\n";
  CHECK_THAT(problem("servers: []"), Equals("`servers`: no server is given"));
  CHECK_THAT(problem(a + "password: x"), Equals("`password` is given without `user`"));
  CHECK_THAT(problem(a + "certificate_file: x"), Contains("`certificate_file` and `key_file`"));
  const std::string cannot_read = ": cannot read /no/such.pem: No such file or directory";
  CHECK_THAT(problem(a + "ca_file: /no/such.pem"), Equals("`ca_file`" + cannot_read));
  CHECK_THAT(problem(a + "certificate_file: /no/such.pem\nkey_file: /dev/null"),
             Equals("`certificate_file`" + cannot_read));
  CHECK_THAT(problem(a + "certificate_file: /dev/null\nkey_file: /no/such.pem"), Equals("`key_file`" + cannot_read));
  CHECK_THAT(problem(a + "schema: a.b"), Contains("`schema`: the schema name \"a.b\" has a dot"));
  CHECK_THAT(problem(a + "table: \"a'b\""), Contains("`table`: the table name"));
  CHECK_THAT(problem(a + "table_field: \"\""), Contains("either `table` or `table_field`"));
  CHECK_THAT(problem(a + "table: t\ntable_field: f"), Contains("`table` and `table_field` exclude each other"));
  CHECK_THAT(problem(a + "table: t\nkey_field: f"), Contains("`table` and `key_field` exclude each other"));
  CHECK_THAT(problem(a + "key: [id, ID]"), Equals("`key` names the column ID twice"));
  CHECK_THAT(
      problem(a + "columns: {ct: \"x;y\"}"),
      Equals("`columns`: the type of ct is x;y, which is no type of Phoenix that the sink writes, such as BIGINT "
             "or DECIMAL(16,2)"));
  CHECK_THAT(
      problem(a + "columns: {A: BIGNIT}"),
      Equals("`columns`: the type of A is BIGNIT, which is no type of Phoenix that the sink writes; did you mean "
             "BIGINT?"));
  CHECK_THAT(problem(a + "batch_rows: 0"), Contains("`batch_rows`"));
  CHECK_THAT(problem(a + "batch_bytes: 0"), Contains("`batch_bytes`"));
  CHECK_THAT(problem(a + "timeout: 1ms"), Contains("`timeout`"));
}

TEST_CASE("a server that is not there is waited for", "[phoenix][options]") {
  Sink h("servers: [\"127.0.0.1:1\"]");
  const sluice::Status s = h.try_open();
  CHECK(s.code() == SLUICE_RETRY);
  CHECK_THAT(s.message(), Contains("Phoenix away: http://127.0.0.1:1: Failed to connect"));
  CHECK_THAT(h.note(), Contains("Phoenix away"));
  CHECK(h.try_open().retry_after_ms() > s.retry_after_ms());
}

TEST_CASE("validate --connect names each server that is not there", "[phoenix][options]") {
  Sink h("servers: [\"127.0.0.1:1\", \"127.0.0.1:2\"]");
  const auto problems = h.find_problems();
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].option == "servers");
  CHECK_THAT(problems[0].text, Contains("http://127.0.0.1:1: Failed to connect"));
  CHECK_THAT(problems[1].text, Contains("http://127.0.0.1:2: Failed to connect"));
}
