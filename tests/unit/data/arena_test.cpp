#include "data/arena.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <string>

#include "json_fields.h"

namespace sluice::data {
namespace {

constexpr size_t kChunk = 128u << 10;

TEST_CASE("what is allocated stays where it is, aligned and apart") {
  Arena arena(std::make_shared<ChunkPool>());
  std::vector<std::pair<char*, size_t>> all;
  for (size_t n : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{9}, size_t{5000}, kChunk, kChunk * 3, size_t{1}}) {
    char* p = arena.allocate(n);
    CHECK(reinterpret_cast<uintptr_t>(p) % 8 == 0);
    std::memset(p, static_cast<int>(all.size() + 1), n);
    all.emplace_back(p, n);
  }
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t b = 0; b < all[i].second; ++b) REQUIRE(all[i].first[b] == static_cast<char>(i + 1));
}

TEST_CASE("texts at the very end of a chunk have their padding") {
  // Under the address sanitizer a read behind the chunk is reported: the reader looks at texts with 64 bytes at once.
  for (size_t rest = 0; rest < 80; ++rest) {
    testing::Fixture f;
    const std::string text = "{\"a\":\"" + std::string(kChunk - kPadding - 64 - rest, 'x') + "\",\"b\":1}";
    std::vector<sluice_value> values;
    FieldSet set;
    set.add("b");
    REQUIRE(f.read(text, set, &values));
    REQUIRE(testing::show(values[0]) == "n:1");
    REQUIRE(f.check("{}"));
  }
  // Exactly full: the largest text that fits a chunk, and one byte more.
  for (size_t size : {kChunk - kPadding - 8, kChunk - kPadding, kChunk - kPadding + 1, kChunk}) {
    testing::Fixture f;
    const std::string text = "[\"" + std::string(size - 4, 'x') + "\"]";
    CHECK(f.check(text));
  }
}

TEST_CASE("contains() says whether a text has the padding") {
  Arena arena(std::make_shared<ChunkPool>());
  const sluice_str inside = arena.copy(std::string_view("abc"));
  const std::string outside = "abc";
  CHECK(arena.contains(inside.data, inside.size));
  CHECK_FALSE(arena.contains(outside.data(), outside.size()));
}

TEST_CASE("none stays none, empty stays empty") {
  Arena arena(std::make_shared<ChunkPool>());
  CHECK(arena.copy(sluice_str{nullptr, 0}).data == nullptr);
  CHECK(arena.copy(sluice_str{"", 0}).data != nullptr);
  CHECK(arena.copy(std::string_view()).data != nullptr);
}

TEST_CASE("chunks come back to the pool; a very large one does not") {
  auto pool = std::make_shared<ChunkPool>();
  const char* first = nullptr;
  {
    Arena arena(pool);
    first = arena.allocate(10);
  }
  {
    Arena arena(pool);
    CHECK(arena.allocate(10) == first);
    CHECK(arena.bytes() == kChunk);
    arena.allocate(kChunk * 10);
    CHECK(arena.bytes() > kChunk * 10);
  }
  ChunkPool small(0);  // keeps nothing
  small.give_back(small.take(1));
  CHECK(small.take(1).size == kChunk);
}

TEST_CASE("an arena keeps another one alive") {
  auto pool = std::make_shared<ChunkPool>();
  auto first = std::make_shared<Arena>(pool);
  const sluice_str text = first->copy(std::string_view("kept"));
  auto second = std::make_shared<Arena>(pool);
  second->keep(first);
  std::weak_ptr<Arena> watch = first;
  first.reset();
  CHECK_FALSE(watch.expired());
  CHECK(std::string(text.data, text.size) == "kept");
  second.reset();
  CHECK(watch.expired());
}

}  // namespace
}  // namespace sluice::data
