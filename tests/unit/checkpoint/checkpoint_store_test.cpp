#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "../../support/small_disk.h"
#include "store_fixture.h"

using namespace sluice;
using namespace sluice::checkpoint;

TEST_CASE("a checkpoint is restored as it was taken") {
  sluice::tests::TempFolder dir;
  base::ManualClock clock(state::kStart);
  StoreOptions options;
  options.clock = &clock;
  options.sluice_version = "0.1.0";
  auto store = must(CheckpointStore::open(dir / "store", options));
  CHECK(must(store->latest()).number == 0);
  CHECK(store->list().empty());
  Job job(dir / "work", *store);
  job.start();
  job.write(1);
  const Manifest first = must(job.checkpoint());
  CHECK(first.number == 1);
  CHECK(first.created_ms == state::kStart);
  CHECK(first.sluice_version == "0.1.0");
  CHECK(first.lineage == store->lineage());
  CHECK(first.lineage.size() == 32);
  CHECK(first.lanes.size() == 2);
  CHECK(first.spools.size() == 1);
  job.write(2);
  CHECK(must(job.checkpoint()).number == 2);
  job.write(3);  // lost

  const Manifest latest = must(store->latest());
  CHECK(latest.number == 2);
  job.restore(latest);
  CHECK(job.epoch() == 2);
  CHECK(store->lineage() == first.lineage);  // goes on from the newest
  job.restore(must(store->load_verified(1)));
  CHECK(job.epoch() == 1);
  CHECK(store->lineage() != first.lineage);  // a fork
  const Manifest fork = must(job.checkpoint());
  CHECK(fork.number == 3);
  CHECK(fork.parent_lineage == first.lineage);
  CHECK(fork.parent_number == 1);
  CHECK(read_text(store->path_of(fork, fork.spools[0].file)) == "rows of checkpoint 3");

  const auto infos = store->list();
  REQUIRE(infos.size() == 3);
  for (const CheckpointInfo& info : infos) {
    CHECK(info.health == CheckpointHealth::kComplete);
    CHECK(info.problem.empty());
    CHECK(info.bytes > 0);
    CHECK(must(store->verify(info.number)).is_ok());
  }
  CHECK_FALSE(store->load(9).is_ok());
  CHECK_FALSE(store->verify(9).is_ok());
}

TEST_CASE("a checkpoint of a running process can be listed and verified by another, which changes nothing") {
  sluice::tests::TempFolder dir;
  auto store = must(CheckpointStore::open(dir / "store"));
  Job job(dir / "work", *store);
  job.start();
  job.write(1);
  must(job.checkpoint());
  auto pending = must(store->begin(must(store->reserve_number())));

  auto reader = must(CheckpointStore::open_read_only(dir / "store"));
  const auto infos = reader->list();
  REQUIRE(infos.size() == 2);
  CHECK(infos[0].health == CheckpointHealth::kComplete);
  CHECK(infos[1].health == CheckpointHealth::kIncomplete);
  CHECK(must(reader->verify(1)).is_ok());
  CHECK(must(reader->latest()).number == 1);
  CHECK(reader->begin_run(nullptr).code() == base::Code::kBug);
  CHECK(reader->reserve_number().status().code() == base::Code::kBug);
  CHECK(reader->begin(1).status().code() == base::Code::kBug);
  CHECK(reader->remove(1).code() == base::Code::kBug);
  CHECK_FALSE(CheckpointStore::open_read_only(dir / "nothing").is_ok());
}

TEST_CASE("one process at a time; the message names the holder") {
  sluice::tests::TempFolder dir;
  auto store = must(CheckpointStore::open(dir / "store"));
  const auto second = CheckpointStore::open(dir / "store");
  REQUIRE_FALSE(second.is_ok());
  CHECK(second.status().code() == base::Code::kFatal);
  CHECK_THAT(second.status().message(), Catch::Contains("process " + std::to_string(::getpid())));

  const pid_t child = ::fork();
  if (child == 0) ::_exit(CheckpointStore::open(dir / "store").is_ok() ? 1 : 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  store.reset();
  CHECK(CheckpointStore::open(dir / "store").is_ok());
}

TEST_CASE("numbers are never used twice, not after a restart, a failure or the loss of all checkpoints") {
  sluice::tests::TempFolder dir;
  {
    auto store = must(CheckpointStore::open(dir / "store"));
    CHECK(store->reserve_number().status().code() == base::Code::kBug);  // no run began
    must(store->begin_run(nullptr));
    CHECK(must(store->reserve_number()) == 1);
    CHECK(store->begin(2).status().code() == base::Code::kBug);
    { auto abandoned = must(store->begin(1)); }
    CHECK(must(store->reserve_number()) == 2);
    must(must(store->begin(2)).complete({}));
    CHECK(store->begin(2).status().code() == base::Code::kBug);
  }
  std::string lineage;
  {
    auto store = must(CheckpointStore::open(dir / "store"));
    lineage = store->lineage();
    const Manifest latest = must(store->latest());
    must(store->begin_run(&latest));
    CHECK(store->lineage() == lineage);
    CHECK(must(store->reserve_number()) == 3);
  }
  fs::remove_all(dir / "store/chk-0000000002");
  {
    auto store = must(CheckpointStore::open(dir / "store"));
    const auto missing = store->latest();  // it does not start empty when there was something
    REQUIRE_FALSE(missing.is_ok());
    CHECK_THAT(missing.status().message(), Catch::Contains("checkpoint 2 was completed but is not in"));
    must(store->begin_run(nullptr));
    CHECK(store->lineage() != lineage);
    CHECK(must(store->reserve_number()) == 4);
    must(must(store->begin(4)).complete({}));
  }
  fs::remove(dir / "store/STORE");  // the counter goes on after what is there, in a new lineage
  {
    auto store = must(CheckpointStore::open(dir / "store"));
    const Manifest latest = must(store->latest());
    must(store->begin_run(&latest));
    CHECK(store->lineage() != latest.lineage);
    CHECK(must(store->reserve_number()) == 5);
  }
  const std::string record = read_text(dir / "store/STORE");
  write_text(dir / "store/STORE", record.substr(0, record.size() / 2));
  const auto damaged = CheckpointStore::open(dir / "store");
  REQUIRE_FALSE(damaged.is_ok());
  CHECK_THAT(damaged.status().message(), Catch::Contains("STORE is damaged"));
  write_text(dir / "store/STORE", std::string(record).replace(record.find("last_number 5"), 13, "last_number 1"));
  const auto changed = CheckpointStore::open(dir / "store");
  REQUIRE_FALSE(changed.is_ok());
  CHECK_THAT(changed.status().message(), Catch::Contains("expected sha256") && Catch::Contains("found"));
}

// The first checkpoint of a run that begins a lineage may never come.
TEST_CASE("a run that ended before its first checkpoint is gone on with from where it had started") {
  sluice::tests::TempFolder dir;
  auto store = must(CheckpointStore::open(dir / "store"));
  const auto reopen = [&] {
    store.reset();
    store = must(CheckpointStore::open(dir / "store"));
  };
  const auto complete = [&] { return must(must(store->begin(must(store->reserve_number()))).complete({})); };
  must(store->begin_run(nullptr));
  for (int i = 0; i < 3; ++i) complete();
  std::vector<uint64_t> abandoned;

  SECTION("from an older one") {
    const Manifest older = must(store->load_verified(2));
    must(store->begin_run(&older));
    must(store->confirm_run());
    reopen();
    const Manifest again = must(store->latest(&abandoned));
    CHECK(again.number == 2);
    CHECK(abandoned == std::vector<uint64_t>{3});
    must(store->begin_run(&again));
    must(store->confirm_run());
    reopen();  // the same, however often it ends so
    CHECK(must(store->latest()).number == 2);
    must(store->begin_run(&again));
    const Manifest first = complete();
    CHECK(first.parent_number == 2);
    reopen();
    abandoned.clear();
    CHECK(must(store->latest(&abandoned)).number == 4);
    CHECK(abandoned.empty());
  }
  SECTION("from an older one that was removed since") {
    const Manifest older = must(store->load_verified(2));
    must(store->begin_run(&older));
    must(store->confirm_run());
    must(store->remove(2));
    reopen();
    const std::string gone = "checkpoint 2, from which the last run started, is not in " + (dir / "store") +
                             " any more; checkpoint 3 is of the run before that one: --from 3 goes on from it\n";
    CHECK(store->latest().status().message() == gone + "the newest usable checkpoint before it is 1: --from 1");
    must(store->remove(1));
    CHECK(store->latest().status().message() == gone + "there is no usable checkpoint before it");
  }
  SECTION("from scratch") {
    must(store->begin_run(nullptr));
    must(store->confirm_run());
    reopen();
    const Manifest none = must(store->latest(&abandoned));
    CHECK(none.number == 0);
    CHECK(none.lineage.empty());
    CHECK(abandoned == std::vector<uint64_t>{3, 2, 1});
    must(store->begin_run(nullptr));
    CHECK(complete().parent_number == 0);
    CHECK(must(store->latest()).number == 4);
  }
  SECTION("refused before anything was done") {
    must(store->begin_run(nullptr));
    reopen();
    CHECK(must(store->latest(&abandoned)).number == 3);
    CHECK(abandoned.empty());
  }
  SECTION("from the newest") {
    const Manifest newest = must(store->latest());
    must(store->begin_run(&newest));
    must(store->confirm_run());
    reopen();
    CHECK(must(store->latest(&abandoned)).number == 3);
    CHECK(abandoned.empty());
  }
}

TEST_CASE("only one checkpoint is pending; an abandoned or failed one leaves nothing") {
  sluice::tests::TempFolder dir;
  auto store = must(CheckpointStore::open(dir / "store"));
  Job job(dir / "work", *store);
  job.start();
  job.write(1);
  {
    auto pending = must(store->begin(must(store->reserve_number())));
    CHECK(store->begin(must(store->reserve_number())).status().code() == base::Code::kBug);
    must(pending.add_lane_state(must(job.lane(0).snapshot(dir / "snapshot"))));
    CHECK(files_in(dir / "store/shared") > 0);
  }
  CHECK(store->list().empty());
  CHECK(files_in(dir / "store/shared") == 0);
  {
    auto pending = must(store->begin(must(store->reserve_number())));
    CHECK_FALSE(pending.add_spool("sink", 0, 1, 1, dir / "no such file").is_ok());
    CHECK(pending.add_file("kind", "../escape", dir / "no such file").code() == base::Code::kBug);
    const auto failed = pending.complete({});  // a part is missing: there must be no checkpoint
    REQUIRE_FALSE(failed.is_ok());
    CHECK_THAT(failed.status().message(), Catch::Contains("no such file"));
  }
  CHECK(store->list().empty());
  CHECK(must(job.checkpoint()).number == 4);
}

TEST_CASE("lanes add their files from their own threads") {
  sluice::tests::TempFolder dir;
  auto store = must(CheckpointStore::open(dir / "store"));
  Job job(dir / "work", *store);
  job.start();
  for (int epoch = 1; epoch <= 5; ++epoch) {
    job.write(epoch);
    auto pending = must(store->begin(must(store->reserve_number())));
    std::vector<state::SnapshotFiles> snapshots;
    for (uint32_t l = 0; l < Job::kLanes; ++l) {
      snapshots.push_back(
          must(job.lane(l).snapshot(dir / ("snapshot" + std::to_string(epoch) + "-" + std::to_string(l)))));
    }
    std::vector<base::Status> statuses(Job::kLanes);
    std::vector<std::thread> threads;
    for (uint32_t l = 0; l < Job::kLanes; ++l) {
      threads.emplace_back([&, l] { statuses[l] = pending.add_lane_state(snapshots[l]); });
    }
    CHECK(store->list().size() <= 4);
    for (std::thread& thread : threads) thread.join();
    for (const base::Status& status : statuses) must(status);
    const Manifest m = must(pending.complete(job.describe()));
    CHECK(m.lanes[0].lane == 0);
    CHECK(m.lanes[1].lane == 1);
    CHECK(must(store->verify(m.number)).is_ok());
  }
}

// RS-03
TEST_CASE("a full disk fails one checkpoint; the one before stays whole and the next one after it is fine") {
  sluice::tests::TempFolder dir;
  const sluice::tests::SmallDisk small(dir / "small", "6m");
  auto store = must(CheckpointStore::open(small / "store"));
  Job job(dir / "work", *store);
  job.start();
  job.write(1);
  must(job.checkpoint());
  small.fill();
  job.write(2);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto failed = job.checkpoint();
    REQUIRE_FALSE(failed.is_ok());
    CHECK(failed.status().code() == base::Code::kRetry);
    CHECK_THAT(failed.status().message(), Catch::Contains("no space"));
    CHECK(store->list().size() == 1);
    CHECK(must(store->latest()).number == 1);
  }
  CHECK(job.epoch() == 2);
  small.make_room();
  const Manifest next = must(job.checkpoint());
  CHECK(next.number > 1);
  CHECK(must(store->latest()).number == next.number);
  job.restore(next);
  CHECK(job.epoch() == 2);
}
