#include <random>
#include <set>

#include "lane_fixture.h"

using namespace sluice;
using namespace sluice::state;

namespace {

const StateDecl kValueState = declare("first_today", "last_date", StateKind::kValue);
const StateDecl kMapState = declare("window", "panes", StateKind::kMap);

}  // namespace

TEST_CASE("value state: put, get, erase, empty keys and values, all bytes") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, {kValueState})));
  StateTable& table = *lane->table("first_today", "last_date");
  CHECK(lane->table("first_today", "other") == nullptr);
  CHECK(get(table, "u1") == std::nullopt);
  put(table, "u1", "2022-11-07");
  put(table, "", "empty key");
  put(table, "empty value", "");
  put(table, std::string_view("\0\xFF\0", 3), std::string_view("\0\0", 2));
  CHECK(get(table, "u1") == "2022-11-07");
  CHECK(get(table, "") == "empty key");
  CHECK(get(table, "empty value") == "");
  CHECK(get(table, std::string_view("\0\xFF\0", 3)) == std::string("\0\0", 2));
  must(table.erase("u1", {}));
  must(table.erase("never there", {}));
  CHECK(get(table, "u1") == std::nullopt);
  lane->end_call();
  must(lane->flush());
  CHECK(get(table, "u1") == std::nullopt);
  CHECK(get(table, "") == "empty key");
  CHECK(table.scan("", [](auto, auto) { return true; }).code() == base::Code::kUnsupported);
  CHECK(table.begin_snapshot_load().code() == base::Code::kBug);
}

TEST_CASE("views stay valid until the call ends") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, {kValueState})));
  StateTable& table = *lane->table("first_today", "last_date");
  put(table, "a", "first");
  put(table, "b", "another");
  const std::string_view keys[] = {"a", "b", "c", "a"};
  std::string_view values[4];
  must(table.get_many(keys, {}, values));
  put(table, "a", "second");
  put(table, "a", std::string(5000, 'x'));
  must(table.erase("b", {}));
  for (int i = 0; i < 5000; ++i) put(table, "filler" + std::to_string(i), "v");
  CHECK(values[0] == "first");
  CHECK(values[1] == "another");
  CHECK(values[2].data() == nullptr);
  CHECK(values[3] == "first");
  lane->end_call();
  CHECK(get(table, "a") == std::string(5000, 'x'));
}

// With a small cache the same key is read from memory, from RocksDB's memtable and from files.
TEST_CASE("value state behaves as a map under eviction and restore") {
  const unsigned seed = 20221107;
  CAPTURE(seed);
  std::mt19937 random(seed);
  sluice::tests::TempFolder dir;
  StateResourcesOptions small;
  small.memory_bytes = 2 << 20;
  StateResources resources(small);
  const LaneOptions options = lane_options(0, 1, {kValueState});
  auto lane = must(LaneStore::open(dir / "lane", resources, options));
  std::map<std::string, std::string> model;
  int snapshots = 0;
  for (int round = 0; round < 120; ++round) {
    StateTable& table = *lane->table("first_today", "last_date");
    std::vector<std::string> keys;
    for (int i = 0; i < 500; ++i) keys.push_back("user-" + std::to_string(random() % 40000));
    std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<std::string_view> values(keys.size());
    must(table.get_many(views, {}, values.data()));
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto it = model.find(keys[i]);
      REQUIRE((values[i].data() != nullptr) == (it != model.end()));
      if (it != model.end()) REQUIRE(values[i] == it->second);
    }
    for (const std::string& key : keys) {
      if (random() % 5 == 0) {
        must(table.erase(key, {}));
        model.erase(key);
      } else {
        const std::string value(random() % 100, static_cast<char>('a' + random() % 26));
        put(table, key, value);
        model[key] = value;
      }
    }
    lane->end_call();
    REQUIRE(resources.hot_cache_bytes() < 4 << 20);
    if (round % 30 == 29) {
      const auto snapshot = must(lane->snapshot(dir / ("snapshot" + std::to_string(++snapshots))));
      lane.reset();
      lane = must(LaneStore::restore(dir / "lane", resources, options, {source_of(snapshot)}, 1));
    }
  }
  StateTable& table = *lane->table("first_today", "last_date");
  for (int i = 0; i < 40000; ++i) {
    const std::string key = "user-" + std::to_string(i);
    const auto it = model.find(key);
    REQUIRE(get(table, key) == (it == model.end() ? std::nullopt : std::optional(it->second)));
    if (i % 100 == 0) lane->end_call();
  }
  CHECK(table.stats().misses > 1000);  // or the cache was never left
}

TEST_CASE("keys that are new cost no read from RocksDB") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, {kValueState})));
  StateTable& table = *lane->table("first_today", "last_date");
  for (int i = 0; i < 1000; ++i) put(table, "old" + std::to_string(i), "x");
  must(lane->flush());
  for (int i = 0; i < 1000; ++i) CHECK(get(table, "new" + std::to_string(i)) == std::nullopt);
  CHECK(table.stats().misses == 1000);
  for (int i = 0; i < 1000; ++i) put(table, "new" + std::to_string(i), "y");
  CHECK(table.stats().misses == 1000);  // a key that was absent is put without a look
  CHECK(table.stats().dirty_entries == 1000);
  CHECK(table.stats().entries == 2000);
  must(table.erase("new1", {}));
  must(lane->flush());
  CHECK(table.stats().entries == 1999);
}

TEST_CASE("map state: entries of a key in order, cached and stored ones together") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, {kMapState})));
  StateTable& table = *lane->table("window", "panes");
  put(table, "k", "b", "1");
  put(table, "k", "d", "2");
  put(table, "kb", "", "other key, same bytes in a row as k and b");
  must(lane->flush());
  put(table, "k", "a", "3");
  put(table, "k", "d", "4");
  must(table.erase("k", "b"));
  put(table, "k", "e", std::string(3000, 'e'));  // its entry moves
  put(table, "k", "e", "5");
  CHECK(scan(table, "k") == Entries{{"a", "3"}, {"d", "4"}, {"e", "5"}});
  CHECK(scan(table, "kb") == Entries{{"", "other key, same bytes in a row as k and b"}});
  CHECK(scan(table, "nothing").empty());
  lane->end_call();
  must(lane->flush());
  CHECK(scan(table, "k") == Entries{{"a", "3"}, {"d", "4"}, {"e", "5"}});

  SECTION("the visitor may write") {
    int visited = 0;
    must(table.scan("k", [&](std::string_view subkey, std::string_view) {
      must(table.erase("k", subkey));
      put(table, "k", "z" + std::string(subkey), "new");
      return ++visited < 2;
    }));
    CHECK(visited == 2);
    CHECK(scan(table, "k") == Entries{{"e", "5"}, {"za", "new"}, {"zd", "new"}});
  }
  SECTION("batches") {
    const std::string_view keys[] = {"k", "k", "kb"};
    const std::string_view subkeys[] = {"a", "b", ""};
    std::string_view values[3];
    must(table.get_many(keys, subkeys, values));
    CHECK(values[0] == "3");
    CHECK(values[1].data() == nullptr);
    CHECK(values[2].size() > 0);
    CHECK(table.get_many(keys, {}, values).code() == base::Code::kBug);
  }
  SECTION("clear") {
    must(table.clear());
    CHECK(scan(table, "k").empty());
    put(table, "k", "a", "again");
    must(lane->flush());
    CHECK(scan(table, "k") == Entries{{"a", "again"}});
    const auto snapshot = must(lane->snapshot(dir / "snapshot"));
    lane =
        must(LaneStore::restore(dir / "lane2", resources, lane_options(0, 1, {kMapState}), {source_of(snapshot)}, 1));
    CHECK(scan(*lane->table("window", "panes"), "k") == Entries{{"a", "again"}});
    CHECK(scan(*lane->table("window", "panes"), "kb").empty());
  }
}

TEST_CASE("map state behaves as a map of maps") {
  const unsigned seed = 77;
  CAPTURE(seed);
  std::mt19937 random(seed);
  sluice::tests::TempFolder dir;
  StateResourcesOptions small;
  small.memory_bytes = 1 << 20;
  StateResources resources(small);
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, {kMapState})));
  StateTable& table = *lane->table("window", "panes");
  std::map<std::string, std::map<std::string, std::string>> model;
  for (int step = 0; step < 30000; ++step) {
    const std::string key = std::to_string(random() % 200);
    const std::string subkey = std::to_string(random() % 100);
    switch (random() % 8) {
      case 0:
        must(table.erase(key, subkey));
        model[key].erase(subkey);
        break;
      case 1:
        REQUIRE(scan(table, key) == Entries(model[key].begin(), model[key].end()));
        break;
      case 2: {
        const auto it = model[key].find(subkey);
        REQUIRE(get(table, key, subkey) == (it == model[key].end() ? std::nullopt : std::optional(it->second)));
        break;
      }
      default: {
        const std::string value(random() % 60, 'v');
        put(table, key, subkey, value);
        model[key][subkey] = value;
      }
    }
    if (random() % 20 == 0) lane->end_call();
    if (random() % 3000 == 0) must(lane->flush());
  }
  for (const auto& [key, entries] : model) REQUIRE(scan(table, key) == Entries(entries.begin(), entries.end()));
}
