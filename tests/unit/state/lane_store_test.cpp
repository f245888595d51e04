#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "../../support/small_disk.h"
#include "lane_fixture.h"

using namespace sluice;
using namespace sluice::state;
namespace fs = std::filesystem;

namespace {

std::vector<StateDecl> all_kinds() {
  return {declare("dedup", "seen", StateKind::kValue, 86400000), declare("window", "panes", StateKind::kMap),
          declare("filter", "rules", StateKind::kBroadcast), declare("source", "splits", StateKind::kOperator)};
}

// Everything in a set of lanes, by table.
struct Contents {
  std::map<std::string, std::string> seen;
  std::map<std::string, Entries> panes;
  std::map<std::string, std::string> splits;
  bool operator==(const Contents&) const = default;
};

constexpr int kUsers = 10000;
std::string user(int i) { return "u" + std::to_string(i); }

Contents read_all(std::vector<std::unique_ptr<LaneStore>>& lanes, const Entries& rules) {
  Contents contents;
  const auto count = static_cast<uint32_t>(lanes.size());
  for (uint32_t l = 0; l < count; ++l) {
    StateTable& seen = *lanes[l]->table("dedup", "seen");
    StateTable& panes = *lanes[l]->table("window", "panes");
    for (int i = 0; i < kUsers; ++i) {
      const bool own = lane_of_key_group(key_group(user(i), 128), count, 128) == l;
      const auto value = get(seen, user(i));
      const Entries entries = scan(panes, user(i));
      if (!own) {
        REQUIRE(value == std::nullopt);  // nothing of another lane's keys
        REQUIRE(entries.empty());
        continue;
      }
      if (value) contents.seen[user(i)] = *value;
      if (!entries.empty()) contents.panes[user(i)] = entries;
      if (i % 512 == 0) lanes[l]->end_call();
    }
    REQUIRE(scan(*lanes[l]->table("filter", "rules")) == rules);  // every lane has all rules
    for (const auto& [split, position] : scan(*lanes[l]->table("source", "splits"))) {
      REQUIRE(contents.splits.emplace(split, position).second);
    }
    lanes[l]->end_call();
  }
  return contents;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

// ST-05
TEST_CASE("state goes from 2 lanes to 3, to 1 and to 4, entry by entry") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  Contents expected;
  const Entries rules{{"base_trademark", "dim_trademark"}, {"user_info", "dim_user"}};
  std::vector<std::unique_ptr<LaneStore>> lanes;
  for (uint32_t l = 0; l < 2; ++l) {
    lanes.push_back(
        must(LaneStore::open(dir / ("first" + std::to_string(l)), resources, lane_options(l, 2, all_kinds()))));
    for (const auto& [key, value] : rules) put(*lanes[l]->table("filter", "rules"), key, value);
    const std::string split = "topic-" + std::to_string(l);
    put(*lanes[l]->table("source", "splits"), split, "100" + std::to_string(l));
    expected.splits[split] = "100" + std::to_string(l);
  }
  for (int i = 0; i < kUsers; ++i) {
    LaneStore& lane = *lanes[lane_of_key_group(key_group(user(i), 128), 2, 128)];
    put(*lane.table("dedup", "seen"), user(i), "2022-11-07");
    expected.seen[user(i)] = "2022-11-07";
    if (i % 3 != 0) continue;
    for (const char* pane : {"00:00:10", "00:00:20"}) {
      put(*lane.table("window", "panes"), user(i), pane, std::to_string(i));
      expected.panes[user(i)].emplace_back(pane, std::to_string(i));
    }
    if (i % 6 == 0) {  // some of it is on disk already, and changes
      must(lane.table("window", "panes")->erase(user(i), "00:00:20"));
      expected.panes[user(i)].pop_back();
    }
    if (i == kUsers / 2) must(lane.flush());
    lane.end_call();
  }
  REQUIRE(read_all(lanes, rules) == expected);

  int generation = 0;
  for (const uint32_t count : {3u, 1u, 4u, 4u}) {
    const auto old = static_cast<uint32_t>(lanes.size());
    CAPTURE(old, count);
    std::vector<LaneSource> sources;
    for (auto& lane : lanes) {
      sources.push_back(source_of(must(lane->snapshot(
          dir / ("snapshot" + std::to_string(generation) + "-" + std::to_string(lane->options().lane))))));
    }
    lanes.clear();
    ++generation;
    for (uint32_t l = 0; l < count; ++l) {
      RestoreReport report;
      lanes.push_back(must(LaneStore::restore(dir / ("lane" + std::to_string(generation) + "-" + std::to_string(l)),
                                              resources, lane_options(l, count, all_kinds()), sources, old, &report)));
      CHECK(report.linked == (old == count));
    }
    REQUIRE(read_all(lanes, rules) == expected);
    // State that came from others can be changed like any.
    const uint32_t lane = lane_of_key_group(key_group("u7", 128), count, 128);
    put(*lanes[lane]->table("dedup", "seen"), "u7", "generation " + std::to_string(generation));
    expected.seen["u7"] = "generation " + std::to_string(generation);
    must(lanes[lane]->table("dedup", "seen")->erase(user(100 + generation), {}));
    for (auto& l : lanes) must(l->table("dedup", "seen")->erase(user(100 + generation), {}));
    expected.seen.erase(user(100 + generation));
  }
  REQUIRE(read_all(lanes, rules) == expected);
}

TEST_CASE("operator state: old lane i goes to lane i mod n; a name with two values is refused") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  const std::vector<StateDecl> states{declare("source", "splits", StateKind::kOperator)};
  const bool differ = GENERATE(false, true);
  std::vector<LaneSource> sources;
  for (uint32_t l = 0; l < 3; ++l) {
    auto lane = must(LaneStore::open(dir / ("lane" + std::to_string(l)), resources, lane_options(l, 3, states)));
    put(*lane->table("source", "splits"), "own" + std::to_string(l), std::to_string(l));
    put(*lane->table("source", "splits"), "same\x01", differ ? std::to_string(l) : "0");
    sources.push_back(source_of(must(lane->snapshot(dir / ("snapshot" + std::to_string(l))))));
  }
  auto second = must(LaneStore::restore(dir / "new1", resources, lane_options(1, 2, states), sources, 3));
  CHECK(scan(*second->table("source", "splits")) == Entries{{"own1", "1"}, {"same\x01", differ ? "1" : "0"}});
  auto first = LaneStore::restore(dir / "new0", resources, lane_options(0, 2, states), sources, 3);
  REQUIRE(first.is_ok() != differ);
  if (!differ) {
    CHECK(scan(*first.value()->table("source", "splits")) == Entries{{"own0", "0"}, {"own2", "2"}, {"same\x01", "0"}});
    return;
  }
  CHECK(first.status().code() == base::Code::kFatal);
  CHECK(first.status().message() ==
        "operator \"source\", state \"splits\": two lanes of the checkpoint have the entry \"same?\" with different values, and one lane "
        "would take over both. Start with as many lanes as the checkpoint has, or give the state up with --drop-state source/splits");
  LaneOptions without = lane_options(0, 2, states);
  without.drop_states = {"source/splits"};
  auto dropped = must(LaneStore::restore(dir / "new2", resources, without, sources, 3));
  CHECK(scan(*dropped->table("source", "splits")).empty());
}

TEST_CASE("a snapshot is a consistent picture of its moment, whatever happens to the store") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  const std::vector<StateDecl> states{declare("dedup", "seen", StateKind::kValue)};
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, states)));
  StateTable& seen = *lane->table("dedup", "seen");
  for (int i = 0; i < 2000; ++i) put(seen, user(i), "first");
  const SnapshotFiles first = must(lane->snapshot(dir / "first"));
  CHECK(first.incarnation == lane->incarnation());
  CHECK(first.files.size() >= 4);
  for (const SnapshotFile& file : first.files) CHECK(fs::file_size(dir / ("first/" + file.name)) == file.size);
  for (int i = 0; i < 2000; ++i) put(seen, user(i), "second");
  must(lane->compact());
  const SnapshotFiles second = must(lane->snapshot(dir / "second"));
  CHECK_FALSE(lane->snapshot(dir / "second").is_ok());  // exists
  lane.reset();
  fs::remove_all(dir / "lane");

  for (const char* name : {"first", "second"}) {
    auto restored = must(LaneStore::restore(dir / (std::string("restored-") + name), resources,
                                            lane_options(0, 1, states), {{dir / name, 0, {0, 128}}}, 1));
    CHECK(restored->incarnation() != first.incarnation);
    for (int i = 0; i < 2000; ++i) REQUIRE(get(*restored->table("dedup", "seen"), user(i)) == name);
    put(*restored->table("dedup", "seen"), "more", "x");  // must not write into the snapshot's files
    must(restored->compact());
  }
  auto again = must(LaneStore::restore(dir / "again", resources, lane_options(0, 1, states), {source_of(first)}, 1));
  CHECK(get(*again->table("dedup", "seen"), "more") == std::nullopt);
  CHECK(get(*again->table("dedup", "seen"), user(5)) == "first");
}

TEST_CASE("formats that do not fit are refused with operator, state and versions") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  StateDecl decl = declare("dedup", "seen", StateKind::kValue);
  decl.format_version = 2;
  decl.compat_version = 2;
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 2, {decl})));
  put(*lane->table("dedup", "seen"), "k", "v");
  const LaneSource source = source_of(must(lane->snapshot(dir / "snapshot")));
  lane.reset();
  const uint32_t lanes = GENERATE(1u, 2u);  // copied or linked
  const auto restore = [&](StateDecl d) {
    return LaneStore::restore(dir / "new", resources, lane_options(0, lanes, {d}), {source}, 2);
  };

  decl.format_version = decl.compat_version = 1;
  auto refused = restore(decl);
  REQUIRE_FALSE(refused.is_ok());
  CHECK(refused.status().code() == base::Code::kFatal);
  CHECK_THAT(refused.status().message(), Catch::Contains("operator \"dedup\", state \"seen\"") &&
                                             Catch::Contains("format 2") && Catch::Contains("only knows format 1"));
  decl.format_version = decl.compat_version = 3;
  refused = restore(decl);
  REQUIRE_FALSE(refused.is_ok());
  CHECK_THAT(refused.status().message(), Catch::Contains("reads only format 3"));
  StateDecl map = declare("dedup", "seen", StateKind::kMap);
  map.format_version = 2;
  refused = restore(map);
  REQUIRE_FALSE(refused.is_ok());
  CHECK_THAT(refused.status().message(), Catch::Contains("value state") && Catch::Contains("map state"));

  decl.format_version = 3;
  decl.compat_version = 2;
  auto upgraded = must(restore(decl));
  CHECK(get(*upgraded->table("dedup", "seen"), "k") == "v");
  put(*upgraded->table("dedup", "seen"), "k3", "v");
  CHECK(upgraded->stored_states()[0].oldest_format == 2);
  const LaneSource mixed{must(upgraded->snapshot(dir / "mixed")).dir, 0, key_groups_of_lane(0, lanes, 128)};
  upgraded.reset();
  decl.format_version = decl.compat_version = 3;  // the entry of format 2 is still there
  refused = LaneStore::restore(dir / "new", resources, lane_options(0, lanes, {decl}), {mixed}, lanes);
  REQUIRE_FALSE(refused.is_ok());
  CHECK_THAT(refused.status().message(), Catch::Contains("holds values of format 2"));
}

TEST_CASE("state that nobody declares is refused unless it is dropped") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  const StateDecl seen = declare("dedup", "seen", StateKind::kValue);
  const StateDecl odd = declare("a/b", "50%/c", StateKind::kValue);  // parts that need escapes
  const StateDecl fresh = declare("window", "panes", StateKind::kMap);
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, {seen, odd})));
  put(*lane->table("dedup", "seen"), "k", "v");
  put(*lane->table("a/b", "50%/c"), "k", "odd");
  const LaneSource source = source_of(must(lane->snapshot(dir / "snapshot")));
  lane.reset();
  LaneOptions options = lane_options(0, 1, {odd, fresh});
  const auto refused = LaneStore::restore(dir / "new", resources, options, {source}, 1);
  REQUIRE_FALSE(refused.is_ok());
  CHECK_THAT(refused.status().message(),
             Catch::Contains("\"dedup\", state \"seen\"") && Catch::Contains("--drop-state dedup"));
  options.drop_states = {GENERATE(as<std::string>(), "dedup", "dedup/seen")};
  lane = must(LaneStore::restore(dir / "new", resources, options, {source}, 1));
  CHECK(get(*lane->table("a/b", "50%/c"), "k") == "odd");
  CHECK(get(*lane->table("window", "panes"), "k", "s") == std::nullopt);  // new, empty
  // Dropped and declared: starts empty.
  options = lane_options(0, 1, {seen, odd});
  options.drop_states = {"dedup"};
  lane = must(LaneStore::restore(dir / "new2", resources, options, {source}, 1));
  CHECK(get(*lane->table("dedup", "seen"), "k") == std::nullopt);
  CHECK(get(*lane->table("a/b", "50%/c"), "k") == "odd");
}

TEST_CASE("another number of key groups is refused") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane =
      must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, {declare("o", "s", StateKind::kValue)})));
  const LaneSource source = source_of(must(lane->snapshot(dir / "snapshot")));
  LaneOptions options = lane_options(0, 1, {declare("o", "s", StateKind::kValue)});
  options.key_groups = 64;
  options.range = {0, 64};
  const auto refused = LaneStore::restore(dir / "new", resources, options, {source}, 1);
  REQUIRE_FALSE(refused.is_ok());
  CHECK_THAT(refused.status().message(), Catch::Contains("128 key groups") && Catch::Contains("64"));
}

TEST_CASE("declarations and lanes that cannot be are our own bugs") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  const StateDecl good = declare("o", "s", StateKind::kValue);
  StateDecl bad = good;
  bad.compat_version = 2;
  CHECK(LaneStore::open(dir / "a", resources, lane_options(0, 1, {bad})).status().code() == base::Code::kBug);
  CHECK(LaneStore::open(dir / "a", resources, lane_options(0, 1, {good, good})).status().code() == base::Code::kBug);
  LaneOptions options = lane_options(0, 1, {good});
  options.range = {0, 129};
  CHECK(LaneStore::open(dir / "a", resources, options).status().code() == base::Code::kBug);
}

TEST_CASE("damaged state files are named, not crashed on") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  const std::vector<StateDecl> states{declare("o", "s", StateKind::kValue)};
  auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, states)));
  for (int i = 0; i < 5000; ++i)
    put(*lane->table("o", "s"), user(i), std::string(100, static_cast<char>('a' + i % 26)));
  const SnapshotFiles snapshot = must(lane->snapshot(dir / "snapshot"));
  lane.reset();
  const std::string broken = dir / "broken";
  fs::copy(dir / "snapshot", broken);
  std::string sst;
  for (const SnapshotFile& file : snapshot.files) {
    if (file.name.ends_with(".sst") && (sst.empty() || file.size > fs::file_size(broken + "/" + sst))) sst = file.name;
  }
  const auto restore = [&] {
    return LaneStore::restore(dir / "new", resources, lane_options(0, 1, states), {{broken, 0, {0, 128}}}, 1);
  };
  SECTION("a flipped byte") {
    std::string bytes = read_text(broken + "/" + sst);
    bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 1);
    std::ofstream(broken + "/" + sst, std::ios::binary) << bytes;
    auto opened = restore();
    base::Status status = opened.status();
    for (int i = 0; i < 5000 && status.is_ok(); ++i) {
      std::string_view value;
      status = opened.value()->table("o", "s")->get(user(i), {}, &value);
    }
    CHECK(status.code() == base::Code::kFatal);
    CHECK_THAT(status.message(), Catch::Contains("damaged") && Catch::Contains(sst));
  }
  SECTION("a file that is gone") {
    fs::remove(broken + "/" + sst);
    const auto refused = restore();
    REQUIRE_FALSE(refused.is_ok());
    CHECK(refused.status().code() == base::Code::kFatal);
    CHECK_THAT(refused.status().message(), Catch::Contains(fs::path(sst).stem().string()));
  }
  SECTION("no CURRENT") {
    fs::remove(broken + "/CURRENT");
    LaneOptions other = lane_options(0, 2, states);
    const auto refused = LaneStore::restore(dir / "new", resources, other, {{broken, 0, {0, 128}}}, 1);
    REQUIRE_FALSE(refused.is_ok());
    CHECK_THAT(refused.status().message(), Catch::Contains("CURRENT is missing"));
  }
}

TEST_CASE("only a lane's own directory is ever removed") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  must(LaneStore::remove_working_dir(dir / "not there"));
  { auto lane = must(LaneStore::open(dir / "lane", resources, lane_options(0, 1, {}))); }
  must(LaneStore::remove_working_dir(dir / "lane"));
  CHECK_FALSE(fs::exists(dir / "lane"));
  fs::create_directories(dir / "photos");
  std::ofstream(dir / "photos/holiday.jpg") << "x";
  const base::Status refused = LaneStore::remove_working_dir(dir / "photos");
  CHECK_THAT(refused.message(), Catch::Contains("holiday.jpg"));
  CHECK(fs::exists(dir / "photos/holiday.jpg"));
}

namespace {

// Does not compress.
std::string random_bytes(int seed) {
  std::string bytes(1000, 'x');
  uint64_t bits = static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15ull + 1;
  for (char& c : bytes) {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    c = static_cast<char>(bits);
  }
  return bytes;
}

}  // namespace

// RS-03, the state's side.
TEST_CASE("a full disk is an error that can be retried, and nothing is lost by it") {
  sluice::tests::TempFolder dir;
  const sluice::tests::SmallDisk small(dir / "small", "12m");
  StateResourcesOptions options;
  options.memory_bytes = 64 << 20;
  StateResources resources(options);
  const std::vector<StateDecl> states{declare("o", "s", StateKind::kValue)};
  auto lane = must(LaneStore::open(small / "lane", resources, lane_options(0, 1, states)));
  StateTable& table = *lane->table("o", "s");
  for (int i = 0; i < 3000; ++i) put(table, user(i), random_bytes(i));
  lane->end_call();
  must(lane->snapshot(small / "first"));
  small.fill();
  for (int i = 3000; i < 6000; ++i) put(table, user(i), random_bytes(i));
  lane->end_call();
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto failed = lane->snapshot(small / "second");
    REQUIRE_FALSE(failed.is_ok());
    CHECK(failed.status().code() == base::Code::kRetry);
    CHECK_THAT(failed.status().message(), Catch::Contains("no space"));
    CHECK_FALSE(fs::exists(small / "second"));
  }
  CHECK(get(table, user(4000)) == random_bytes(4000));  // goes on
  small.make_room();
  const SnapshotFiles snapshot = must(lane->snapshot(small / "second"));
  fs::create_directories(dir / "copy");
  auto restored =
      must(LaneStore::restore(dir / "copy/lane", resources, lane_options(0, 1, states), {source_of(snapshot)}, 1));
  for (int i = 0; i < 6000; ++i) REQUIRE(get(*restored->table("o", "s"), user(i)) == random_bytes(i));
}

// A flush is written in several batches: those before the one that fails stay.
TEST_CASE("what is erased after a flush that a full disk cut off does not come back") {
  constexpr int kEntries = 6000;
  sluice::tests::TempFolder dir;
  const sluice::tests::SmallDisk small(dir / "small", "24m");
  StateResourcesOptions resource_options;
  resource_options.memory_bytes = 8 << 20;
  StateResources resources(resource_options);
  LaneOptions options = lane_options(0, 1, {});
  std::optional<StateKind> kind;
  SECTION("a value") { kind = StateKind::kValue; }
  SECTION("a map") { kind = StateKind::kMap; }
  SECTION("a broadcast map") { kind = StateKind::kBroadcast; }
  SECTION("operator state") { kind = StateKind::kOperator; }
  SECTION("timers") { options.timer_operators = {"o"}; }
  if (kind) options.states = {declare("o", "s", *kind)};
  auto lane = must(LaneStore::open(small / "lane", resources, options));
  StateTable* table = lane->table("o", "s");
  TimerTable* timers = lane->timers("o");
  small.fill();
  for (int i = 0; i < kEntries; ++i) {
    if (timers != nullptr) timers->set(TimerClock::kEvent, random_bytes(i), i, 0);
    else put(*table, user(i), "pane", random_bytes(i));
  }
  const base::Status failed = lane->flush();
  CHECK(failed.code() == base::Code::kRetry);
  CHECK_THAT(failed.message(), Catch::Contains("no space"));
  for (int i = 0; i < kEntries; i += 2) {
    if (timers != nullptr) CHECK(timers->erase(TimerClock::kEvent, random_bytes(i), i, 0));
    else must(table->erase(user(i), "pane"));
  }
  if (table != nullptr) CHECK(table->stats().entries <= kEntries);
  small.make_room();
  const SnapshotFiles snapshot = must(lane->snapshot(small / "snapshot"));
  auto restored = must(LaneStore::restore(dir / "restored", resources, options, {source_of(snapshot)}, 1));
  if (timers != nullptr) CHECK(restored->timers("o")->size() == kEntries / 2);
  for (int i = 0; table != nullptr && i < kEntries; ++i) {
    CAPTURE(i);
    const auto found = get(*restored->table("o", "s"), user(i), "pane");
    if (i % 2 == 0) REQUIRE(found == std::nullopt);
    else REQUIRE(found == random_bytes(i));
  }
}
