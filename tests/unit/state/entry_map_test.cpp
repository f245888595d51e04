#include "state/entry_map.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>

#include "state/key_filter.h"
#include "state/state_decl.h"

using namespace sluice::state;

TEST_CASE("entry map behaves as a map") {
  const unsigned seed = 4711;
  CAPTURE(seed);
  std::mt19937 random(seed);
  EntryMap map;
  std::map<std::string, std::string> model;
  for (int step = 0; step < 60000; ++step) {
    const std::string key = "k" + std::to_string(random() % 3000);
    const uint64_t hash = key_hash(key);
    Entry* entry = map.find(hash, key, {});
    REQUIRE((entry != nullptr) == model.contains(key));
    if (entry != nullptr) REQUIRE(entry->value() == model[key]);
    if (random() % 4 == 0) {
      if (entry != nullptr) map.remove(entry);
      model.erase(key);
    } else {
      const std::string value(random() % 5 == 0 ? random() % 3000 : random() % 40,
                              static_cast<char>('a' + random() % 26));
      if (entry == nullptr) entry = map.insert(hash, key, {}, random() % 20);
      entry = map.set_value(entry, hash, value);
      REQUIRE(map.find(hash, key, {}) == entry);
      model[key] = value;
    }
    if (random() % 100 == 0) map.end_call();
    REQUIRE(map.size() == model.size());
  }
  size_t seen = 0;
  map.for_each([&](const Entry* entry) {
    ++seen;
    CHECK(model.at(std::string(entry->key())) == entry->value());
  });
  CHECK(seen == model.size());
}

TEST_CASE("key and subkey are told apart") {
  EntryMap map;
  Entry* a = map.insert(1, "ab", "c", 0);
  Entry* b = map.insert(1, "a", "bc", 0);  // same hash, same bytes in a row
  CHECK(map.find(1, "ab", "c") == a);
  CHECK(map.find(1, "a", "bc") == b);
  CHECK(map.find(1, "abc", "") == nullptr);
}

TEST_CASE("a value that was handed out keeps its bytes until the call ends") {
  EntryMap map;
  const uint64_t hash = key_hash("key");
  Entry* entry = map.set_value(map.insert(hash, "key", {}, 3), hash, "one");
  const std::string_view view = map.hand_out(entry);
  entry = map.set_value(entry, hash, "two");
  const std::string_view second = map.hand_out(entry);
  map.remove(entry);
  CHECK(view == "one");
  CHECK(second == "two");
  map.end_call();

  entry = map.set_value(map.insert(hash, "key", {}, 3), hash, "abc");
  entry = map.set_value(entry, hash, entry->value().substr(1));  // a view of itself
  CHECK(entry->value() == "bc");
  const std::string_view last = map.hand_out(entry);
  map.clear();
  CHECK(last == "bc");
}

TEST_CASE("eviction spares what was used and what may not go") {
  EntryMap map;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    Entry* entry = map.set_value(map.insert(key_hash(key), key, {}, 10), key_hash(key), "0123456789");
    if (i % 10 == 0) entry->set(Entry::kDirty);
    if (i >= 10) entry->unset(Entry::kReferenced);
  }
  map.evict(map.bytes() / 2, [](const Entry* entry) { return !entry->has(Entry::kDirty); });
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    if (i % 10 == 0 || i < 10) CHECK(map.find(key_hash(key), key, {}) != nullptr);
  }
  CHECK(map.size() < 800);
  map.evict(0, [](const Entry*) { return true; });
  CHECK(map.size() == 0);
}

TEST_CASE("key filter has no false negatives and few false positives, and gives up at its limit") {
  KeyFilter filter(1 << 20);
  CHECK(filter.empty());
  CHECK_FALSE(filter.may_contain(key_hash("x")));
  constexpr int kKeys = 100000;
  for (int i = 0; i < kKeys; ++i) filter.add(key_hash("k" + std::to_string(i)));
  int missing = 0;
  int wrong = 0;
  for (int i = 0; i < kKeys; ++i) missing += filter.may_contain(key_hash("k" + std::to_string(i))) ? 0 : 1;
  for (int i = 0; i < kKeys; ++i) wrong += filter.may_contain(key_hash("other" + std::to_string(i))) ? 1 : 0;
  CHECK(missing == 0);
  CHECK(wrong < kKeys / 100);
  CHECK(filter.bytes() <= (1 << 20));
  for (int i = 0; i < 2000000 && !filter.gave_up(); ++i) filter.add(key_hash("m" + std::to_string(i)));
  CHECK(filter.gave_up());
  CHECK(filter.may_contain(key_hash("never seen")));
}
