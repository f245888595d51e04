// phoenix.sink on the real server: what it may not do, and servers that are set up otherwise.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "phoenix_under_test.h"

using namespace sluice::tests;
using Catch::Matchers::Contains;

namespace {

// HBase believes the user that a Query Server gives.
const std::string kUser = "etl";
void grant(const std::string& rights, const std::string& what) {
  execute("grant '" + rights + "' on " + what + " to '" + kUser + "'");
}
void withdraw(const std::string& what) { execute("revoke on " + what + " from '" + kUser + "'"); }

// HBase takes a moment to spread what was granted and revoked.
template <class Try>
sluice::Status until_refused(const Try& attempt) {
  sluice::Status s;
  for (int i = 0; i < 100; ++i) {
    s = attempt();
    if (s.code() == SLUICE_FATAL) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return s;
}

std::string problems(const std::string& options) {
  Sink h(options);
  std::string out;
  for (const auto& p : h.find_problems()) out += p.option + ": " + p.text + "\n";
  return out;
}

}  // namespace

TEST_CASE("rights that are taken away stop the job; no row is refused, and all come when the rights are back",
          "[rights]") {
  SecondServer second("", "HADOOP_USER_NAME=" + kUser);
  Schema s;
  const std::string table = s.table("dim_base_trademark"), options = s.options("timeout: 20s", second.address());
  execute("create schema if not exists " + s.name);
  execute("create table " + table + " (id varchar primary key, tm_name varchar)");
  grant("RX", "schema SYSTEM");
  grant("RWX", table);
  Sink h(options);
  h.open();
  h.push_schema(trademark_schema());
  h.push(trademark("1", "a"));
  h.checkpoint();
  for (const std::string left : {"RX", ""}) {  // no more writing; nothing at all
    INFO("rights left: " << left);
    withdraw(table);
    if (!left.empty()) grant(left, table);
    const sluice::Status s1 = until_refused([&] { return h.try_push(trademark("2", "b")); });
    CHECK(s1.code() == SLUICE_FATAL);
    CHECK_THAT(s1.message(), Contains("Phoenix: AccessDeniedException: Insufficient permissions") &&
                                 Contains("user=" + kUser) && Contains(s.name + ":DIM_BASE_TRADEMARK") &&
                                 Contains("Grant the named user"));
    CHECK(h.rejected().empty());
    grant("RWX", table);
    h.crash();
    h.restore();
    h.push_schema(trademark_schema());
    push_through(h, {{trademark("2", "b"), {}}});
    CHECK(query("select * from " + table + " order by id") == Rows{"1|a", "2|b"});
    execute("delete from " + table + " where id = '2'");
  }
}

TEST_CASE("rights are looked at when the job starts, and by validate --connect", "[rights]") {
  SecondServer second("", "HADOOP_USER_NAME=" + kUser);
  Schema s;
  execute("create schema if not exists " + s.name);
  execute("create table " + s.table("t") + " (id varchar primary key)");
  withdraw("schema SYSTEM");
  const std::string of_many = s.options("", second.address()), of_one = s.options("table: t", second.address());
  const sluice::Status no_catalog = until_refused([&] { return Sink(of_many).try_open(); });
  CHECK(no_catalog.code() == SLUICE_FATAL);
  CHECK_THAT(no_catalog.message(), Contains("scope=SYSTEM:CATALOG") && Contains("RX on the schema SYSTEM"));
  CHECK_THAT(problems(of_many),
             Contains("servers: ") && Contains("scope=SYSTEM:CATALOG") && Contains("Grant the named user"));
  grant("RX", "schema SYSTEM");
  const sluice::Status no_table = until_refused([&] { return Sink(of_one).try_open(); });
  CHECK(no_table.code() == SLUICE_FATAL);
  CHECK_THAT(no_table.message(), Contains("scope=" + s.name + ":T"));
  CHECK_THAT(problems(of_one), Contains("table: ") && Contains("scope=" + s.name + ":T"));
  grant("RWX", s.table("t"));
  Sink h(of_one);
  h.open();
  CHECK(problems(of_one).empty());
}

TEST_CASE("a table that may not be made or changed stops the job, and so does no other", "[rights]") {
  SecondServer second("", "HADOOP_USER_NAME=" + kUser);
  Schema s;
  execute("create schema if not exists " + s.name);
  grant("RX", "schema SYSTEM");
  withdraw("SYSTEM.MUTEX");
  grant("RWX", "schema " + s.name);
  Sink h(s.options("", second.address()));
  h.open();
  const sluice::Status no_create = until_refused([&] { return h.try_push_schema(trademark_schema()); });
  CHECK(no_create.code() == SLUICE_FATAL);
  CHECK_THAT(no_create.message(), Contains("action=CREATE") && Contains("C and A on their schema"));
  // A user that may make tables need not be one that may make schemas.
  grant("RWXCA", "schema " + s.name);
  h.crash();
  h.restore();
  h.push_schema(trademark_schema());
  h.push(trademark("1", "a"));
  const sluice::testing::SchemaIn wider{"dim_base_trademark", {"id", "tm_name", "logo"}, {"id"}};
  const sluice::Status no_alter = until_refused([&] { return h.try_push_schema(wider); });
  CHECK(no_alter.code() == SLUICE_FATAL);
  CHECK_THAT(no_alter.message(), Contains("SYSTEM:MUTEX") && Contains("RWX on SYSTEM.MUTEX"));
  grant("RWX", "SYSTEM.MUTEX");
  h.crash();
  h.restore();
  h.push_schema(wider);
  h.push(R"({"sink_table":"dim_base_trademark","id":1,"logo":"l"})");
  CHECK(query("select id, tm_name, logo from " + s.table("dim_base_trademark")) == Rows{"1|a|l"});
  CHECK(h.rejected().empty());
  // A schema that is not there needs an administrator.
  Schema other;
  Sink stranger(other.options("", second.address()));
  stranger.open();
  const sluice::Status no_schema = until_refused([&] { return stranger.try_push_schema(trademark_schema()); });
  CHECK(no_schema.code() == SLUICE_FATAL);
  CHECK_THAT(no_schema.message(), Contains("Insufficient permissions for user '" + kUser + "' (global, action=ADMIN)"));
}

TEST_CASE("a password that is changed while rows come stops the job", "[rights][login]") {
  Gate gate("--basic etl:s3cret");
  Schema s;
  const auto with = [&](const char* password) {
    return s.options("user: etl, password: " + std::string(password), gate.address());
  };
  CHECK(problems(with("s3cret")).empty());
  CHECK_THAT(problems(with("no")),
             Contains("user: ") && Contains("HTTP status 401") && Contains("Check `user`, `password`"));
  Sink h(with("s3cret"));
  h.open();
  h.push_schema(trademark_schema());
  h.push(trademark("1", "a"));
  gate.tell("login etl:another");
  const sluice::Status s1 = h.try_push(trademark("2", "b"));
  CHECK(s1.code() == SLUICE_FATAL);
  CHECK_THAT(s1.message(), Contains("HTTP status 401") && Contains("Check `user`, `password`") && !Contains("s3cret"));
  CHECK(h.rejected().empty());
}

TEST_CASE("namespace mapping that is off in the Query Server and on in HBase is told when the job starts",
          "[rights][mapping]") {
  SecondServer second("phoenix.schema.isNamespaceMappingEnabled=false");
  Schema s;
  const std::string options = s.options("", second.address());
  const sluice::Status status = Sink(options).try_open();
  CHECK(status.code() == SLUICE_FATAL);
  for (const std::string& text : {status.message(), problems(options)})
    CHECK_THAT(text, Contains("http://" + second.address()) && Contains("ERROR 726 (43M10)") &&
                         Contains("Inconsistent namespace mapping properties") &&
                         Contains("the same value in the hbase-site.xml of HBase and of the Query Server"));
  CHECK_THAT(problems(options), Contains("servers: "));
  // Others of `servers` may be set up as they should.
  Sink h(s.options("", second.address() + "', '" + server()));
  h.open();
}

// Another HBase, since one that has tables cannot go back.
TEST_CASE("without namespace mapping a schema is a part of the table's name", "[rights][mapping]") {
  const char* data = std::getenv("PHOENIX_DATA");
  REQUIRE(data != nullptr);
  const std::string environment = "PHOENIX_DATA=" + std::string(data) +
                                  "-unmapped PHOENIX_PROPERTIES=phoenix.schema.isNamespaceMappingEnabled=false";
  struct Unmapped {
    const std::string& environment;
    explicit Unmapped(const std::string& e) : environment(e) { phoenix_sh("start --fresh", environment); }
    ~Unmapped() {
      try {
        phoenix_sh("clean", environment);
      } catch (const std::exception&) {
        // Nobody else looks at it.
      }
    }
  } started(environment);
  const std::string unmapped = phoenix_sh_says("address", environment);
  Schema s;
  CHECK(problems(s.options("", unmapped)).empty());
  Sink h(s.options("", unmapped));
  h.open();
  h.push_schema(trademark_schema());
  h.push_schema({"dim_base_trademark", {"id", "tm_name", "logo"}, {"id"}});
  h.push(trademark("1", "a"));
  h.push(R"({"sink_table":"dim_base_trademark","id":2,"logo":"l"})");
  CHECK(query("select id, tm_name, logo from " + s.table("dim_base_trademark") + " order by id", unmapped) ==
        Rows{"1|a|~", "2|~|l"});
  CHECK(h.rejected().empty());
}
