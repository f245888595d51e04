#include <algorithm>
#include <set>

#include "store_fixture.h"

using namespace sluice;
using namespace sluice::checkpoint;

namespace {

std::set<std::string> shared_names_of(const Manifest& m) {
  std::set<std::string> names;
  for (const ManifestLane& lane : m.lanes) {
    for (const ManifestFile& file : lane.files) {
      if (file.name.ends_with(".sst")) names.insert(file.sha256 + "-" + std::to_string(file.size) + ".sst");
    }
  }
  return names;
}

std::set<std::string> shared_on_disk(const CheckpointStore& store) {
  std::set<std::string> names;
  for (const auto& file : fs::directory_iterator(store.dir() + "/shared"))
    names.insert(file.path().filename().string());
  return names;
}

}  // namespace

// RS-06
TEST_CASE("of 30 incremental checkpoints the kept and the pinned ones can be restored, and nothing else is left") {
  sluice::tests::TempFolder dir;
  StoreOptions options;
  options.keep = 3;
  auto store = must(CheckpointStore::open(dir / "store", options));
  Job job(dir / "work", *store);
  job.start();
  std::map<uint64_t, Manifest> manifests;
  for (int epoch = 1; epoch <= 30; ++epoch) {
    job.write(epoch);
    const Manifest m = must(job.checkpoint());
    must(store->retention_status());
    manifests[m.number] = m;
    if (epoch == 15) must(store->pin(m.number));
  }
  CHECK(complete_numbers(*store) == std::vector<uint64_t>{15, 28, 29, 30});
  CHECK(store->list()[0].pinned);
  std::set<std::string> needed;
  for (const uint64_t number : {15, 28, 29, 30}) needed.merge(shared_names_of(manifests[number]));
  CHECK(shared_on_disk(*store) == needed);
  CHECK(store->shared_bytes() > 0);
  // Files are shared, or this would test nothing.
  const auto a = shared_names_of(manifests[29]);
  const auto b = shared_names_of(manifests[30]);
  CHECK(std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); }));

  for (const uint64_t number : {30, 28, 15}) {
    job.restore(must(store->load_verified(number)));
    CHECK(job.epoch() == static_cast<int>(number));
  }
  must(store->unpin(15));
  job.write(31);
  must(job.checkpoint());
  CHECK(complete_numbers(*store) == std::vector<uint64_t>{15, 29, 30, 31});  // the run began at 15 and has one of its own
}

TEST_CASE("two restores of one checkpoint write different files under one name") {
  sluice::tests::TempFolder dir;
  auto store = must(CheckpointStore::open(dir / "store"));
  Job job(dir / "work", *store);
  job.start();
  job.write(1);
  const Manifest base = must(job.checkpoint());
  std::vector<Manifest> forks;
  for (const int epoch : {2, 3}) {
    job.restore(base);
    job.write(epoch);
    forks.push_back(must(job.checkpoint()));
  }
  std::map<std::string, std::string> first;
  for (const ManifestFile& file : forks[0].lanes[0].files) first[file.name] = file.sha256;
  bool collided = false;
  for (const ManifestFile& file : forks[1].lanes[0].files) {
    collided =
        collided || (file.name.ends_with(".sst") && first.contains(file.name) && first[file.name] != file.sha256);
  }
  CHECK(collided);  // by name they would have been mistaken for each other
  CHECK(forks[0].lineage != forks[1].lineage);
  job.restore(must(store->load_verified(forks[0].number)));
  CHECK(job.epoch() == 2);
  job.restore(must(store->load_verified(forks[1].number)));
  CHECK(job.epoch() == 3);
}

TEST_CASE("retention counts what can be restored, and leaves what it cannot read") {
  sluice::tests::TempFolder dir;
  StoreOptions options;
  options.keep = 2;
  auto store = must(CheckpointStore::open(dir / "store", options));
  Job job(dir / "work", *store);
  job.start();
  std::vector<Manifest> m;
  for (int epoch = 1; epoch <= 2; ++epoch) {
    job.write(epoch);
    m.push_back(must(job.checkpoint()));
  }
  // The newer one is damaged: it does not count, so the older one stays.
  fs::remove(store->path_of(m[1], m[1].spools[0].file));
  job.write(3);
  must(job.checkpoint());
  CHECK(complete_numbers(*store) == std::vector<uint64_t>{1, 3});
  CHECK(must(store->load_verified(1)).number == 1);
  job.write(4);
  must(job.checkpoint());
  CHECK(complete_numbers(*store) == std::vector<uint64_t>{3, 4});
  CHECK(store->list().size() == 2);  // the damaged one went with its time

  const std::string manifest = folder_of(*store, 3) + "/manifest.json";
  const std::string text = read_text(manifest);
  const bool foreign = GENERATE(true, false);
  CAPTURE(foreign);
  store.reset();
  const auto needed = [&] {
    auto reader = must(CheckpointStore::open_read_only(dir / "store"));
    return shared_names_of(must(reader->load(3)));
  }();
  write_text(manifest, foreign ? "{\"sha256\":\"not for this version\"}\n" : "");
  store = must(CheckpointStore::open(dir / "store", options));
  Job next(dir / "work2", *store);
  next.restore(must(store->latest()));
  for (int epoch = 5; epoch <= 10; ++epoch) {
    next.write(epoch);
    must(next.checkpoint());
  }
  CHECK(complete_numbers(*store) == std::vector<uint64_t>{9, 10});
  CHECK(fs::exists(manifest));
  const auto left = shared_on_disk(*store);
  for (const std::string& name : needed) CHECK(left.contains(name));
  write_text(manifest, text);
  CHECK(must(store->verify(3)).is_ok());
  write_text(manifest, "");
  must(store->remove(3));  // by people only
  CHECK(store->list().size() == 2);
  std::set<std::string> now;
  for (const uint64_t number : {9, 10}) now.merge(shared_names_of(must(store->load(number))));
  CHECK(shared_on_disk(*store) == now);
}

TEST_CASE("the checkpoint that a run started from stays until the run has enough of its own") {
  sluice::tests::TempFolder dir;
  StoreOptions options;
  options.keep = 2;
  auto store = must(CheckpointStore::open(dir / "store", options));
  const auto complete = [&] { must(must(store->begin(must(store->reserve_number()))).complete({})); };
  must(store->begin_run(nullptr));
  for (int i = 0; i < 3; ++i) complete();
  REQUIRE(complete_numbers(*store) == std::vector<uint64_t>{2, 3});
  for (int i = 0; i < 2; ++i) {  // `--from 2`, by something that repeats its command
    const Manifest older = must(store->load_verified(2));
    must(store->begin_run(&older));
    complete();
  }
  CHECK(complete_numbers(*store) == std::vector<uint64_t>{2, 4, 5});
  complete();
  CHECK(complete_numbers(*store) == std::vector<uint64_t>{5, 6});
}

TEST_CASE("a newest checkpoint that was removed on purpose is not missed") {
  sluice::tests::TempFolder dir;
  auto store = must(CheckpointStore::open(dir / "store"));
  must(store->begin_run(nullptr));
  for (int i = 0; i < 2; ++i) must(must(store->begin(must(store->reserve_number()))).complete({}));
  must(store->remove(2));
  CHECK_FALSE(store->remove(2).is_ok());
  store.reset();
  store = must(CheckpointStore::open(dir / "store"));
  CHECK(must(store->latest()).number == 1);
}
