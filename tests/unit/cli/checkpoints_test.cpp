#include <catch2/catch.hpp>
#include <filesystem>

#include "base/clock.h"
#include "checkpoint/checkpoint_store.h"
#include "run_sluice.h"

using namespace sluice;
using namespace sluice::cli::testing;

namespace {

// A store with two checkpoints of one lane without state, made at a known time.
struct Store {
  Store() {
    checkpoint::StoreOptions options;
    options.clock = &clock;
    options.sluice_version = "0.1.0";
    auto opened = checkpoint::CheckpointStore::open(folder.path("store"), options);
    REQUIRE(opened.is_ok());
    store = std::move(opened).value();
    REQUIRE(store->begin_run(nullptr).is_ok());
    lineage = store->lineage();
    for (int i = 0; i < 2; ++i) {
      const auto number = store->reserve_number();
      REQUIRE(number.is_ok());
      numbers.push_back(number.value());
      auto pending = store->begin(number.value());
      REQUIRE(pending.is_ok());
      // A file for each, because the store links them.
      REQUIRE(
          pending.value().add_file("notes", "rows", folder.write("rows" + std::to_string(i), "0123456789")).is_ok());
      REQUIRE(pending.value().complete(manifest()).is_ok());
      clock.advance(10'000);
    }
  }

  static checkpoint::Manifest manifest() {
    checkpoint::Manifest m;
    m.pipeline = "购物车";
    m.parallelism = 2;
    checkpoint::ManifestOperator op;
    op.id = "first";
    op.type = "daily_dedup";
    op.version = "1.0.0";
    op.parallelism = 2;
    op.key = "user_id";
    op.timers = 1;
    op.states = {{"seen", "value", 1, 1, 1, 86'400'000, 1234}};
    m.operators = {op};
    m.sources = {{"cart", {{"cart_add-0", "\x01\x02", "offset 4711", 1, 0, 1'654'077'600'000, true, false}}}};
    m.watermarks = {{"first", 0, 1'654'077'598'000}, {"first", 1, INT64_MIN}};
    m.gates = {{"filter", true}};
    return m;
  }

  // The output with what differs from run to run taken out.
  std::string portable(const std::string& text) const {
    return replaced(replaced(replaced(text, lineage, "LINEAGE"), lineage.substr(0, 8), "LINEAGE-"), folder.path(),
                    "FOLDER");
  }

  Folder folder;
  base::ManualClock clock{1'654'077'600'000};  // 2022-06-01 10:00:00 UTC
  std::unique_ptr<checkpoint::CheckpointStore> store;
  std::string lineage;
  std::vector<uint64_t> numbers;
};

}  // namespace

TEST_CASE("checkpoints list, show and verify, while a process holds the store") {
  Store s;
  REQUIRE(s.numbers == std::vector<uint64_t>{1, 2});
  const std::string dir = s.folder.path("store");

  const Ran list = run_sluice({"checkpoints", "list", dir});
  CHECK(list.exit_status == 0);
  CHECK(list.err.empty());
  CHECK(s.portable(list.out) == R"(  number  health      created (UTC)         lineage         size
       1  complete    2022-06-01 10:00:00   LINEAGE-        10 B
       2  complete    2022-06-01 10:00:10   LINEAGE-        10 B
)");
  CHECK(s.portable(run_sluice({"checkpoints", "list", dir, "--format", "json"}).out) == R"({
  "dir": "FOLDER/store",
  "checkpoints": [
    {
      "number": 1,
      "health": "complete",
      "problem": "",
      "lineage": "LINEAGE",
      "created_ms": 1654077600000,
      "bytes": 10,
      "pinned": false
    },
    {
      "number": 2,
      "health": "complete",
      "problem": "",
      "lineage": "LINEAGE",
      "created_ms": 1654077610000,
      "bytes": 10,
      "pinned": false
    }
  ]
}
)");

  const Ran show = run_sluice({"checkpoints", "show", dir});
  CHECK(show.exit_status == 0);
  CHECK(s.portable(show.out) == R"(checkpoint 2 of 购物车, 2022-06-01 10:00:10 UTC
  lineage LINEAGE, begun from scratch
  written by sluice 0.1.0, 2 lanes, 128 key groups

operators
  first (daily_dedup 1.0.0), 2 lanes, key user_id, 1 timer
    state seen: value, format 1, about 1,234 values, kept for 1d00h

positions of cart
  cart_add-0: offset 4711, newest time 2022-06-01 10:00:00, snapshot complete

watermarks (UTC)
  first lane 0: 2022-06-01 09:59:58
  first lane 1: -

gates
  filter: open

files: 1, 10 B
)");
  CHECK_THAT(run_sluice({"checkpoints", "show", dir, "1"}).out, Catch::StartsWith("checkpoint 1 of 购物车"));
  CHECK_THAT(run_sluice({"checkpoints", "show", dir, "1", "--format", "json"}).out,
             Catch::StartsWith("{\n") && Catch::Contains("\"number\": 1,"));

  const Ran verify = run_sluice({"checkpoints", "verify", dir});
  CHECK(verify.exit_status == 0);
  CHECK(verify.out == "checkpoint 1: ok, 2 files, 10 B\ncheckpoint 2: ok, 2 files, 10 B\n");

  const Ran missing = run_sluice({"checkpoints", "show", dir, "7"});
  CHECK(missing.exit_status == 3);
  CHECK(s.portable(missing.err) == "sluice checkpoints: there is no checkpoint 7 in FOLDER/store\n");
}

TEST_CASE("a damaged checkpoint is named with its file and what was expected") {
  Store s;
  s.store.reset();
  std::string file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(s.folder.path("store")))
    if (entry.is_regular_file() && read(entry.path()) == "0123456789") file = std::max(file, entry.path().string());
  REQUIRE_FALSE(file.empty());
  s.folder.write(std::filesystem::relative(file, s.folder.path()).string(), "0123456780");

  const Ran verify = run_sluice({"checkpoints", "verify", s.folder.path("store")});
  CHECK(verify.exit_status == 3);
  CHECK_THAT(verify.out,
             Catch::StartsWith("checkpoint 1: ok, 2 files, 10 B\ncheckpoint 2: damaged, 1 of 2 files\n  ") &&
                 Catch::Contains("expected ") && Catch::Contains(", found "));
  const Ran one = run_sluice({"checkpoints", "verify", s.folder.path("store"), "1"});
  CHECK(one.exit_status == 0);

  // A start from the newest one would be refused: list and show say so, and in the same words.
  const Ran list = run_sluice({"checkpoints", "list", s.folder.path("store")});
  CHECK(list.exit_status == 3);
  CHECK_THAT(s.portable(list.out), Catch::Contains("\n       1  complete ") && Catch::Contains("\n       2  damaged "));
  CHECK_THAT(s.portable(list.err), Catch::StartsWith("sluice checkpoints: checkpoint 2 is damaged: chk-0000000002/") &&
                                       Catch::EndsWith("\nthe newest usable checkpoint before it is 1: --from 1\n"));
  const Ran show = run_sluice({"checkpoints", "show", s.folder.path("store")});
  CHECK(show.exit_status == 3);
  CHECK_THAT(show.out, Catch::StartsWith("checkpoint 1 of "));
  CHECK(show.err == list.err);
  CHECK(run_sluice({"checkpoints", "show", s.folder.path("store"), "1"}).exit_status == 0);

  // One that is gone is missed as well.
  std::filesystem::remove_all(s.folder.path("store/chk-0000000002"));
  const Ran gone = run_sluice({"checkpoints", "show", s.folder.path("store")});
  CHECK(gone.exit_status == 3);
  CHECK_THAT(gone.out, Catch::StartsWith("checkpoint 1 of "));
  CHECK(s.portable(gone.err) ==
        "sluice checkpoints: checkpoint 2 was completed but is not in FOLDER/store any more\n"
        "the newest usable checkpoint before it is 1: --from 1\n");
}

TEST_CASE("the store of a pipeline file, although the rest of the file is wrong") {
  Store s;
  const std::string pipeline =
      s.folder.write("p.yaml", "pipeline: demo\nunknown: 1\ncheckpoint: { dir: " + s.folder.path("store") + " }\n");
  CHECK(run_sluice({"checkpoints", "list", pipeline}).out ==
        run_sluice({"checkpoints", "list", s.folder.path("store")}).out);

  const std::string elsewhere = s.folder.write("q.yaml", "pipeline: demo\ncheckpoint:\n  dir: /nowhere\n");
  const Ran missing = run_sluice({"checkpoints", "list", elsewhere});
  CHECK(missing.exit_status == 2);
  CHECK(s.portable(missing.err) ==
        "sluice checkpoints: the checkpoint folder of FOLDER/q.yaml, /nowhere, does not exist (yet)\n");

  const std::string by_name = s.folder.write("n.yaml", "pipeline: no_such_pipeline\n");
  CHECK(run_sluice({"checkpoints", "list", by_name}).err ==
        "sluice checkpoints: the checkpoint folder of " + by_name +
            ", ./checkpoints/no_such_pipeline, does not exist (yet)\n");

  const std::string undefined = s.folder.write("r.yaml", "pipeline: demo\ncheckpoint:\n  dir: ${SLUICE_NOT_SET}\n");
  const Ran variable = run_sluice({"checkpoints", "list", undefined});
  CHECK(variable.exit_status == 2);
  CHECK_THAT(s.portable(variable.err),
             Catch::StartsWith("FOLDER/r.yaml:3:8: error: environment variable SLUICE_NOT_SET is not set") &&
                 Catch::Contains("the folder of the checkpoints cannot be read from FOLDER/r.yaml\n"));

  const Ran nothing = run_sluice({"checkpoints", "list", "/nowhere"});
  CHECK(nothing.exit_status == 2);
  CHECK(nothing.err == "sluice checkpoints: /nowhere is neither a folder nor a pipeline file\n");
}

TEST_CASE("checkpoints pin and unpin, while a process holds the store") {
  Store s;
  const std::string dir = s.folder.path("store");
  const auto pinned = [&] {
    std::vector<uint64_t> out;
    for (const auto& info : s.store->list())
      if (info.pinned) out.push_back(info.number);
    return out;
  };
  const Ran pin = run_sluice({"checkpoints", "pin", dir, "1"});
  CHECK(pin.exit_status == 0);
  CHECK(pin.out == "checkpoint 1 is kept until it is unpinned\n");
  CHECK(pin.err.empty());
  CHECK(pinned() == std::vector<uint64_t>{1});
  CHECK(s.portable(run_sluice({"checkpoints", "list", dir}).out) == R"(  number  health      created (UTC)         lineage         size
       1  complete    2022-06-01 10:00:00   LINEAGE-        10 B  pinned
       2  complete    2022-06-01 10:00:10   LINEAGE-        10 B
)");
  CHECK(run_sluice({"checkpoints", "pin", dir, "1"}).exit_status == 0);  // again: nothing changes

  const Ran unpin = run_sluice({"checkpoints", "unpin", dir, "1"});
  CHECK(unpin.exit_status == 0);
  CHECK(unpin.out == "checkpoint 1 is not pinned: it goes when newer ones take its place\n");
  CHECK(pinned().empty());

  for (const char* word : {"pin", "unpin"}) {
    const Ran missing = run_sluice({"checkpoints", word, dir, "7"});
    CHECK(missing.exit_status == 3);
    CHECK(s.portable(missing.err) == "sluice checkpoints: there is no checkpoint 7 in FOLDER/store\n");
    const Ran without = run_sluice({"checkpoints", word, dir});
    CHECK(without.exit_status == 2);
    CHECK_THAT(without.err, Catch::Contains("N is required"));
  }
}

TEST_CASE("a run from scratch that has no checkpoint yet is said by show") {
  Store s;
  REQUIRE(s.store->begin_run(nullptr).is_ok());
  REQUIRE(s.store->confirm_run().is_ok());
  const Ran show = run_sluice({"checkpoints", "show", s.folder.path("store")});
  CHECK(show.exit_status == 3);
  CHECK(show.out.empty());
  CHECK(show.err == "sluice checkpoints: the last run started from scratch and has no checkpoint yet; the newest one before it is 2\n");
}
