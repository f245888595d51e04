// file.sink: exactly once by epoch, whatever moment the process dies at.
#include "file_sink.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>

#include "file_position.h"
#include "sluice/testing/harness.hpp"
#include "support/temp_folder.h"

namespace {

using sluice::file::FileSink;
using sluice::tests::TempFolder;
using Names = std::vector<std::string>;
using Sink = sluice::testing::Harness<FileSink>;
constexpr char kLineage[] = "lineage-1";

std::string options(const TempFolder& folder, const std::string& more = "prefix: out") {
  return "{dir: '" + folder.path() + "'" + (more.empty() ? "" : ", " + more) + "}";
}

// The rows that a reader of the folder finds.
std::string all_rows(const TempFolder& folder) {
  std::string text;
  for (const std::string& name : folder.names())
    if (name.front() != '.') text += folder.read(name);
  return text;
}

std::string file_name(uint64_t epoch) { return "out-00-000000000" + std::to_string(epoch) + ".jsonl"; }
// Of a sink whose lineage is the harness's own.
std::string temporary_name(uint64_t epoch) {
  using sluice::file::stable_hash;
  return "." + file_name(epoch) + "." + std::to_string(stable_hash("op")) + "-" + std::to_string(stable_hash(kLineage)) + ".tmp";
}

// For the calls of the contract one by one, which the harness makes all at once.
struct OneRowHost {
  sluice_host host{};
  sluice_context context{};
  OneRowHost() {
    host.struct_size = sizeof host;
    context.struct_size = sizeof context;
    context.host = &host;
    context.lanes = 1;
    context.operator_id = sluice::str("op");
    context.pipeline = sluice::str("p");
    context.lineage = sluice::str("L");
    context.json = [](const sluice_context*, const sluice_batch*, uint32_t, sluice_str* text,
                      sluice_error*) -> sluice_code {
      *text = sluice::str("{}");
      return SLUICE_OK;
    };
    context.parse = [](const sluice_context*, const sluice_value*, sluice_value* out, sluice_error*) -> sluice_code {
      static const sluice_member members[] = {
          {sluice::str("format"), sluice::Value::integer(1).raw()},
          {sluice::str("pipeline"), sluice::Value::string("p").raw()},
          {sluice::str("lineage"), sluice::Value::string("L").raw()},
          {sluice::str("epoch"), sluice::Value::integer(7).raw()},
          {sluice::str("file"), sluice::Value::string("op-00-0000000007.jsonl").raw()}};
      out->type = SLUICE_MAP;
      out->as.map.members = members;
      out->as.map.size = 5;
      return SLUICE_OK;
    };
  }
  sluice::Status write_row(FileSink& sink) const {
    sluice_batch batch{};
    batch.struct_size = sizeof batch;
    batch.size = 1;
    uint32_t consumed = 0;
    return sink.write(sluice::Batch(&context, batch), &consumed);
  }
};

}  // namespace

TEST_CASE("the rows of an epoch are one file", "[file.sink]") {
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  h.push(R"({"a":1})");
  h.push(R"({"a":20.00,"b":18446744073709551615,"c":"値 🛒"})");
  CHECK(all_rows(folder).empty());
  const uint64_t n = h.checkpoint();
  const std::string name = "out-00-000000000" + std::to_string(n) + ".jsonl";
  CHECK(folder.names() == Names{".sluice-op-0.json", name});
  CHECK(folder.read(name) == "{\"a\":1}\n{\"a\":20.00,\"b\":18446744073709551615,\"c\":\"値 🛒\"}\n");
  CHECK(h.last_committed().first == n);
}

TEST_CASE("an epoch without rows makes no file, and counts as committed", "[file.sink]") {
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  const uint64_t n = h.checkpoint();
  CHECK(folder.names() == Names{".sluice-op-0.json"});
  CHECK(h.last_committed().first == n);
}

TEST_CASE("a row with line breaks is one line", "[file.sink]") {
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  h.push("{\r\n \"a\": \"x\\ny\"\n}");
  h.checkpoint();
  const std::string text = all_rows(folder);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK_THAT(text, Catch::Matchers::Contains("x\\ny"));
}

TEST_CASE("the default prefix is the operator's id, and lanes have files of their own", "[file.sink]") {
  TempFolder folder;
  for (uint32_t lane = 0; lane < 2; ++lane) {
    Sink h(options(folder, ""));
    h.set_id("orders");
    h.set_lane(lane, 2);
    h.open();
    h.push("{\"lane\":" + std::to_string(lane) + "}");
    h.checkpoint();
  }
  CHECK(folder.names() == Names{".sluice-orders-0.json", ".sluice-orders-1.json", "orders-00-0000000001.jsonl",
                                "orders-01-0000000001.jsonl"});
}

TEST_CASE("killed before the commit: the rows come from the checkpoint", "[file.sink]") {
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  h.push("{\"a\":1}");
  h.checkpoint();
  h.push("{\"a\":2}");
  h.checkpoint_uncommitted();
  h.push("{\"a\":3}");  // in no checkpoint: the source gives it again
  h.crash();
  CHECK(all_rows(folder) == "{\"a\":1}\n");
  h.restore();
  CHECK(all_rows(folder) == "{\"a\":1}\n{\"a\":2}\n");
  h.push("{\"a\":3}");
  h.checkpoint();
  CHECK(all_rows(folder) == "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
}

TEST_CASE("killed inside of the commit: each state on disk leads to the same files", "[file.sink]") {
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  h.push("{\"a\":1}");
  const uint64_t first = h.checkpoint();
  const std::string marker_before = folder.read(".sluice-op-0.json");
  h.push("{\"a\":2}");
  const uint64_t second = h.checkpoint_uncommitted();

  SECTION("only a part of the temporary was written") {
    h.crash();
    folder.write(temporary_name(second), "{\"a\"");
  }
  SECTION("the temporary was complete, the marker the old one") {
    h.commit();
    h.crash();
    folder.rename(file_name(second), temporary_name(second));
    folder.write(".sluice-op-0.json", marker_before);
  }
  SECTION("a marker was half written") {
    h.crash();
    folder.write(".sluice-op-0.json.tmp", "{\"format\":1,\"pip");
  }
  SECTION("the marker was in place, the temporary not yet renamed") {
    h.commit();
    h.crash();
    folder.rename(file_name(second), temporary_name(second));
  }
  SECTION("everything was done, and is told again") {
    h.commit();
    h.crash();
  }
  h.restore();
  CHECK(h.last_committed().first == second);
  CHECK(folder.names() == Names{".sluice-op-0.json", file_name(first), file_name(second)});
  CHECK(all_rows(folder) == "{\"a\":1}\n{\"a\":2}\n");
}

TEST_CASE("what another sink is writing in the folder is not touched", "[file.sink]") {
  TempFolder folder;
  const std::string same_prefix = ".out-00-0000000001.jsonl.77-88.tmp", longer_prefix = ".out-00-00-0000000001.jsonl.77-88.tmp";
  folder.write(same_prefix, "{}");
  folder.write(longer_prefix, "{}");
  folder.write(temporary_name(3), "{\"a\"");  // its own
  Sink h(options(folder));
  h.open();
  CHECK(folder.names() == Names{longer_prefix, same_prefix});
}

TEST_CASE("a commit that is told twice changes nothing", "[file.sink]") {
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  h.push("{\"a\":1}");
  h.checkpoint();
  const auto before = folder.names();
  h.commit();
  h.commit();
  CHECK(folder.names() == before);
  CHECK(all_rows(folder) == "{\"a\":1}\n");
}

TEST_CASE("files of another run are never written over", "[file.sink]") {
  TempFolder folder;
  {
    Sink h(options(folder));
    h.set_lineage("first");
    h.open();
    h.push("{\"a\":1}");
    h.checkpoint();
  }
  SECTION("the marker says whose they are") {
    Sink h(options(folder));
    h.set_lineage("second");
    h.open();
    CHECK(h.last_committed() == std::pair<uint64_t, std::string>{1, "first"});
    h.push("{\"a\":2}");
    h.checkpoint_uncommitted();
    CHECK(h.try_commit().code() == SLUICE_FATAL);
  }
  SECTION("the marker is gone") {
    folder.remove(".sluice-op-0.json");
    Sink h(options(folder));
    h.open();
    h.push("{\"a\":2}");
    h.checkpoint_uncommitted();
    const sluice::Status s = h.try_commit();
    CHECK(s.code() == SLUICE_FATAL);
    CHECK_THAT(s.message(), Catch::Matchers::Contains("is there already"));
  }
  SECTION("another pipeline uses the folder") {
    Sink h(options(folder));
    h.set_pipeline("other");
    CHECK(h.try_open().code() == SLUICE_FATAL);
  }
  SECTION("the marker is damaged") {
    folder.write(".sluice-op-0.json", "{\"format\":1,\"epo");
    Sink h(options(folder));
    const sluice::Status s = h.try_open();
    CHECK(s.code() == SLUICE_FATAL);
    CHECK_THAT(s.message(), Catch::Matchers::Contains("damaged"));
  }
  CHECK(all_rows(folder) == "{\"a\":1}\n");
}

TEST_CASE("a broken row is refused alone", "[file.sink]") {
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  h.push(R"({"a":1})");
  h.push(R"({"a":nope})");
  h.push(R"({"a":3})");
  h.checkpoint();
  CHECK(all_rows(folder) == "{\"a\":1}\n{\"a\":3}\n");
  CHECK(h.rejected().size() == 1);
}

TEST_CASE("a row that is marked as deleted", "[file.sink]") {
  TempFolder folder;
  const std::string on_delete = GENERATE("", "warn", "write", "ignore", "reject");
  Sink h(options(folder, "prefix: out" + (on_delete.empty() ? "" : ", on_delete: " + on_delete)));
  h.open();
  const sluice::testing::RowMeta deleted{"", SLUICE_NO_TIME, SLUICE_CHANGE_DELETE};
  h.push(R"({"a":1})");
  h.push(R"({"a":2})", deleted);
  h.push(R"({"a":3})", deleted);
  h.checkpoint();
  const bool warns = on_delete.empty() || on_delete == "warn", writes = warns || on_delete == "write";
  CHECK(all_rows(folder) == (writes ? "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n" : "{\"a\":1}\n"));
  CHECK(h.counter("deletes_written") == (writes ? 2 : 0));
  CHECK(h.counter("deletes_ignored") == (on_delete == "ignore" ? 2 : 0));
  CHECK(h.rejected().size() == (on_delete == "reject" ? 2 : 0));
  CHECK(h.log().size() == (warns ? 1 : 0));
}

TEST_CASE("a full disk is waited for", "[file.sink]") {
  // /dev/full cannot stand for a folder, so the temporary itself is made to lead there.
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  h.push("{\"a\":1}");
  const uint64_t n = h.checkpoint_uncommitted();
  std::filesystem::create_symlink("/dev/full", folder.path(temporary_name(n)));
  const sluice::Status s = h.try_commit();
  CHECK(s.code() == SLUICE_RETRY);
  CHECK_THAT(s.message(), Catch::Matchers::Contains("No space left"));
  h.commit();  // epoch_begin removes what was there; this time there is room
  CHECK(all_rows(folder) == "{\"a\":1}\n");
}

TEST_CASE("a commit that got no further than its marker is finished before the next epoch", "[file.sink]") {
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  h.push("{\"a\":1}");
  const uint64_t first = h.checkpoint();
  folder.rename(file_name(first), temporary_name(first));
  h.push("{\"a\":2}");
  SECTION("the host goes on") { h.checkpoint(); }
  SECTION("the host asks") {
    CHECK(h.last_committed().first == first);
    CHECK(folder.has(file_name(first)));
    h.checkpoint();
  }
  SECTION("the host tells it again") {
    h.checkpoint_uncommitted();
    h.commit();
  }
  h.crash();
  h.restore();
  CHECK(all_rows(folder) == "{\"a\":1}\n{\"a\":2}\n");
}

TEST_CASE("an epoch that is in is passed over when its rows come again", "[file.sink]") {
  TempFolder folder;
  sluice::file::FileSinkConfig config;
  config.dir = folder.path();
  OneRowHost host;
  FileSink sink;
  sink.attach(&host.context, config);
  sluice_needs needs{};
  REQUIRE(sink.run_needs(&needs).is_ok());
  REQUIRE(sink.open().is_ok());
  for (int time = 0; time < 3; ++time) {
    REQUIRE(sink.epoch_begin(7).is_ok());
    REQUIRE(host.write_row(sink).is_ok());
    REQUIRE(sink.commit(7).is_ok());
  }
  CHECK(all_rows(folder) == "{}\n");
  CHECK(folder.names() == Names{".sluice-op-0.json", "op-00-0000000007.jsonl"});
}

TEST_CASE("folders are made, prefixes are checked", "[file.sink]") {
  TempFolder folder;
  Sink deep("{dir: '" + folder.path("a/b/c") + "'}");
  deep.open();
  CHECK(folder.has("a/b/c"));
  folder.write("file", "");
  Sink in_file("{dir: '" + folder.path("file/x") + "'}");
  CHECK(in_file.try_open().code() == SLUICE_FATAL);
  for (const char* bad : {"a/b", ".x", "''"}) {
    Sink h(options(folder, std::string("prefix: ") + bad));
    CHECK(h.try_open().code() == SLUICE_FATAL);
  }
}

TEST_CASE("an epoch larger than the buffer", "[file.sink]") {
  TempFolder folder;
  Sink h(options(folder));
  h.open();
  std::vector<sluice::testing::InputRow> rows(3000);
  size_t bytes = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].payload = "{\"i\":" + std::to_string(i) + ",\"x\":\"" + std::string(500, 'x') + "\"}";
    bytes += rows[i].payload.size() + 1;
  }
  h.push_batch(rows);
  h.checkpoint();
  CHECK(all_rows(folder).size() == bytes);
}
