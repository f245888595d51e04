#include "lane_fixture.h"

using namespace sluice;
using namespace sluice::state;

namespace {

constexpr int64_t kDay = 86400000;

struct Lane {
  explicit Lane(std::vector<StateDecl> decls) : states(std::move(decls)) {
    StateResourcesOptions options;
    options.clock = &clock;
    resources = std::make_unique<StateResources>(options);
    store = must(LaneStore::open(dir / "lane0", *resources, lane_options(0, 1, states)));
  }
  // Stops and restores with other declarations, as a new run with a changed pipeline.
  void restart(std::vector<StateDecl> decls) {
    states = std::move(decls);
    const auto snapshot = must(store->snapshot(dir / ("snapshot" + std::to_string(++runs))));
    store = must(LaneStore::restore(dir / ("lane" + std::to_string(runs)), *resources, lane_options(0, 1, states),
                                    {source_of(snapshot)}, 1));
  }
  StateTable& table() { return *store->table("op", "s"); }
  std::optional<std::string> read(std::string_view key, std::string_view subkey = {}) {
    auto value = get(table(), key, subkey);
    store->end_call();
    return value;
  }
  void write(std::string_view key, std::string_view value) {
    put(table(), key, value);
    store->end_call();
  }

  sluice::tests::TempFolder dir;
  base::ManualClock clock{kStart};
  std::unique_ptr<StateResources> resources;
  std::vector<StateDecl> states;
  std::unique_ptr<LaneStore> store;
  int runs = 0;
};

}  // namespace

TEST_CASE("an entry expires a TTL after it was created or written, in cache and on disk") {
  const bool flushed = GENERATE(false, true);
  CAPTURE(flushed);
  Lane lane({declare("op", "s", StateKind::kValue, kDay)});
  lane.write("created", "1");
  lane.write("refreshed", "1");
  if (flushed) lane.restart(lane.states);
  lane.clock.advance(kDay - 1);
  CHECK(lane.read("created") == "1");  // reading does not refresh
  lane.write("refreshed", "2");
  if (flushed) lane.restart(lane.states);
  lane.clock.advance(1);
  CHECK(lane.read("created") == std::nullopt);
  CHECK(lane.read("refreshed") == "2");
  CHECK(lane.table().stats().expired == 1);
  lane.clock.advance(kDay - 1);
  CHECK(lane.read("refreshed") == std::nullopt);
  lane.write("created", "3");
  CHECK(lane.read("created") == "3");
}

TEST_CASE("map state: expired entries are left out of a scan") {
  Lane lane({declare("op", "s", StateKind::kMap, kDay)});
  put(lane.table(), "k", "old", "1");
  must(lane.store->flush());
  put(lane.table(), "k", "older but dirty", "1");
  lane.store->end_call();
  lane.clock.advance(kDay / 2);
  put(lane.table(), "k", "new", "2");
  lane.store->end_call();
  lane.clock.advance(kDay / 2);
  CHECK(scan(lane.table(), "k") == Entries{{"new", "2"}});
}

TEST_CASE("a compaction reclaims expired entries on the host's clock") {
  Lane lane({declare("op", "s", StateKind::kValue, kDay)});
  for (int i = 0; i < 1000; ++i) put(lane.table(), "k" + std::to_string(i), "v");
  lane.store->end_call();
  must(lane.store->compact());
  CHECK(lane.store->stats()[0].entries == 1000);
  lane.clock.advance(kDay);
  lane.write("late", "v");
  must(lane.store->compact());
  CHECK(lane.store->stats()[0].entries == 1);
  CHECK(lane.read("late") == "v");
}

TEST_CASE("an entry that lives shorter than the one it replaced does not bring that back") {
  Lane lane({declare("op", "s", StateKind::kValue, kDay)});
  lane.write("k", "long");
  lane.restart({declare("op", "s", StateKind::kValue, kDay / 24)});
  lane.write("k", "short");
  lane.clock.advance(kDay / 24);
  CHECK(lane.read("k") == std::nullopt);
  must(lane.store->flush());
  lane.restart(lane.states);
  CHECK(lane.read("k") == std::nullopt);
}

// ST-04
TEST_CASE("a TTL that is added, changed and removed between runs does no harm") {
  Lane lane({declare("op", "s", StateKind::kValue)});
  for (int i = 0; i < 1000; ++i) lane.write("u" + std::to_string(i), "2022-11-07");
  const auto all_known = [&] {
    for (int i = 0; i < 1000; ++i) {
      if (lane.read("u" + std::to_string(i)) != "2022-11-07") return false;
    }
    return true;
  };
  lane.restart({declare("op", "s", StateKind::kValue, kDay)});
  CHECK(all_known());  // and each gets its expiry
  lane.clock.advance(kDay / 4);
  lane.restart({declare("op", "s", StateKind::kValue, kDay / 2)});
  CHECK(all_known());
  lane.write("u0", "2022-11-07");
  lane.restart({declare("op", "s", StateKind::kValue)});
  CHECK(all_known());
  lane.clock.advance(kDay / 4 * 3);  // a day after the first touch with a TTL
  CHECK(lane.read("u1") == std::nullopt);
  CHECK(lane.read("u0") == std::nullopt);  // half a day after its last write
}

TEST_CASE("entries without an expiry get one when they are touched, or by a compaction") {
  Lane lane({declare("op", "s", StateKind::kValue)});
  lane.write("touched", "1");
  lane.write("untouched", "1");
  lane.restart({declare("op", "s", StateKind::kValue, kDay)});
  CHECK(lane.read("touched") == "1");
  lane.clock.advance(kDay / 2);
  must(lane.store->compact());
  lane.clock.advance(kDay / 2);
  CHECK(lane.read("touched") == std::nullopt);
  must(lane.store->compact());
  CHECK(lane.store->stats()[0].entries == 1);
  lane.clock.advance(kDay / 2);
  must(lane.store->compact());
  CHECK(lane.store->stats()[0].entries == 0);
}

TEST_CASE("event time TTL follows the watermark, not the wall clock") {
  Lane lane({declare("op", "s", StateKind::kValue, kDay, TtlClock::kEvent)});
  lane.write("before the first watermark", "1");
  lane.store->set_event_time(1000);
  lane.write("k", "1");
  lane.clock.advance(10 * kDay);
  CHECK(lane.read("k") == "1");
  CHECK(lane.read("before the first watermark") == "1");  // gets its expiry here
  lane.store->set_event_time(999);                        // never goes back
  lane.restart(lane.states);
  CHECK(lane.read("k") == "1");  // the time is not known yet: nothing expires
  lane.store->set_event_time(1000 + kDay - 1);
  CHECK(lane.read("k") == "1");
  lane.store->set_event_time(1000 + kDay);
  CHECK(lane.read("k") == std::nullopt);
  CHECK(lane.read("before the first watermark") == std::nullopt);
}

TEST_CASE("another TTL clock does not make old entries expire by the wrong time") {
  Lane lane({declare("op", "s", StateKind::kValue, kDay, TtlClock::kEvent)});
  lane.store->set_event_time(1000);
  lane.write("k", "1");
  lane.restart({declare("op", "s", StateKind::kValue, kDay)});
  must(lane.store->compact());
  CHECK(lane.read("k") == "1");
  lane.clock.advance(kDay);
  CHECK(lane.read("k") == std::nullopt);
}

TEST_CASE("broadcast and operator state expire too") {
  Lane lane({declare("op", "s", StateKind::kBroadcast, kDay)});
  lane.write("k", "1");
  lane.restart(lane.states);
  lane.clock.advance(kDay - 1);
  CHECK(lane.read("k") == "1");
  lane.clock.advance(1);
  CHECK(scan(lane.table()).empty());
  CHECK(lane.read("k") == std::nullopt);
  lane.restart(lane.states);
  CHECK(lane.store->stats()[0].entries == 0);
}
