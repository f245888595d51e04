#include "lane_fixture.h"

using namespace sluice;
using namespace sluice::state;

namespace {

const StateDecl kRules = declare("filter", "rules", StateKind::kBroadcast);

}  // namespace

TEST_CASE("broadcast state: put, get, erase, scan in order, clear") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, {kRules})));
  StateTable& rules = *lane->table("filter", "rules");
  put(rules, "user_info", "dim_user");
  put(rules, "base_trademark", "dim_trademark");
  put(rules, "gone", "x");
  const std::string_view keys[] = {"user_info", "nothing"};
  std::string_view values[2];
  must(rules.get_many(keys, {}, values));
  put(rules, "user_info", "dim_user_info, longer than before so that it has to move");
  must(rules.erase("gone", {}));
  must(rules.erase("never there", {}));
  CHECK(values[0] == "dim_user");  // still valid
  CHECK(values[1].data() == nullptr);
  lane->end_call();
  const Entries expected{{"base_trademark", "dim_trademark"},
                         {"user_info", "dim_user_info, longer than before so that it has to move"}};
  CHECK(scan(rules) == expected);
  const auto snapshot = must(lane->snapshot(dir / "snapshot"));
  must(rules.clear());
  CHECK(scan(rules).empty());
  const auto cleared = must(lane->snapshot(dir / "cleared"));

  auto restored =
      must(LaneStore::restore(dir / "lane2", resources, lane_options(0, 1, {kRules}), {source_of(snapshot)}, 1));
  CHECK(scan(*restored->table("filter", "rules")) == expected);
  restored = must(LaneStore::restore(dir / "lane3", resources, lane_options(0, 1, {kRules}), {source_of(cleared)}, 1));
  CHECK(scan(*restored->table("filter", "rules")).empty());
}

TEST_CASE("a snapshot is loaded beside the old map and replaces it at once") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  const LaneOptions options = lane_options(0, 1, {kRules});
  auto lane = must(LaneStore::open(dir / "lane", resources, options));
  StateTable& rules = *lane->table("filter", "rules");
  CHECK(rules.end_snapshot_load().code() == base::Code::kBug);
  put(rules, "a", "old");
  put(rules, "deleted in between", "old");
  lane->end_call();
  const auto before = must(lane->snapshot(dir / "before"));

  must(rules.begin_snapshot_load());
  put(rules, "of a load that was cut off", "x");
  must(rules.begin_snapshot_load());  // starts anew
  put(rules, "a", "new");
  put(rules, "b", "new");
  must(rules.erase("b", {}));
  put(rules, "c", "new");
  CHECK(rules.snapshot_load_in_progress());
  CHECK(scan(rules) == Entries{{"a", "old"}, {"deleted in between", "old"}});
  CHECK(get(rules, "c") == std::nullopt);
  const auto during = must(lane->snapshot(dir / "during"));

  std::string_view view;
  must(rules.get("a", {}, &view));
  must(rules.end_snapshot_load());
  CHECK(view == "old");  // until the call ends
  CHECK_FALSE(rules.snapshot_load_in_progress());
  const Entries loaded{{"a", "new"}, {"c", "new"}};
  CHECK(scan(rules) == loaded);
  lane->end_call();
  const auto after = must(lane->snapshot(dir / "after"));

  // A crash during the load: the partial map is gone, the old one is whole.
  auto restored = must(LaneStore::restore(dir / "lane2", resources, options, {source_of(during)}, 1));
  StateTable& old = *restored->table("filter", "rules");
  CHECK(scan(old) == Entries{{"a", "old"}, {"deleted in between", "old"}});
  CHECK_FALSE(old.snapshot_load_in_progress());
  must(old.begin_snapshot_load());
  must(old.end_snapshot_load());
  CHECK(scan(old).empty());

  restored = must(LaneStore::restore(dir / "lane3", resources, options, {source_of(after)}, 1));
  CHECK(scan(*restored->table("filter", "rules")) == loaded);
}

TEST_CASE("entries that come and go between two flushes leave nothing behind") {
  constexpr int64_t kTtl = 1000;
  sluice::tests::TempFolder dir;
  base::ManualClock clock(kStart);
  StateResourcesOptions resource_options;
  resource_options.clock = &clock;
  StateResources resources(resource_options);
  const StateKind kind = GENERATE(StateKind::kBroadcast, StateKind::kOperator);
  const LaneOptions options = lane_options(0, 1, {declare("o", "s", kind, kTtl)});
  auto lane = must(LaneStore::open(dir / "lane", resources, options));
  StateTable& table = *lane->table("o", "s");
  put(table, "stored", "v");
  must(lane->flush());
  for (int i = 0; i < 300; ++i) {
    put(table, "k" + std::to_string(i), "v");
    if (i < 100) must(table.erase("k" + std::to_string(i), {}));
  }
  CHECK(table.stats().cached_entries == 201);
  lane->end_call();
  clock.advance(kTtl);
  for (int i = 100; i < 200; ++i) CHECK(get(table, "k" + std::to_string(i)) == std::nullopt);
  CHECK(table.stats().cached_entries == 101);
  CHECK(scan(table).empty());
  put(table, "more", "v");
  must(table.clear());
  CHECK(table.stats().cached_entries == 1);  // the one that is to be deleted on the disk
  const LaneSource source = source_of(must(lane->snapshot(dir / "snapshot")));
  CHECK(table.stats().cached_entries == 0);
  clock.advance(-kTtl);
  lane = must(LaneStore::restore(dir / "restored", resources, options, {source}, 1));
  CHECK(scan(*lane->table("o", "s")).empty());
}
