#include "data/row_batch.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "json_fields.h"

namespace sluice::data {
namespace {

using testing::show;
using Texts = std::vector<std::string>;

// Rows as a source gives them; `none` is a tombstone.
struct Rows {
  static constexpr const char* none = nullptr;
  std::shared_ptr<Arena> arena = std::make_shared<Arena>(std::make_shared<ChunkPool>());
  JsonReader reader;
  FieldSet set;
  RowBatch batch;
  std::string error;

  explicit Rows(const std::vector<const char*>& texts) {
    const size_t n = texts.size();
    batch.size = static_cast<uint32_t>(n);
    batch.arena = arena;
    batch.raw = arena->array<sluice_str>(n);
    batch.event_time = arena->array<int64_t>(n);
    batch.origin = arena->array<Origin>(n);
    for (size_t i = 0; i < n; ++i) {
      batch.raw[i] = texts[i] == nullptr ? sluice_str{nullptr, 0} : arena->copy(std::string_view(texts[i]));
      batch.event_time[i] = static_cast<int64_t>(i) * 10;
      batch.origin[i] = {0, static_cast<uint32_t>(i), arena->copy(std::string_view(std::to_string(i)))};
    }
  }
  sluice_value map(const std::string& json) {
    sluice_value v;
    const sluice_str text = arena->copy(std::string_view(json));
    REQUIRE(reader.parse({text.data, text.size}, &v, *arena, &error));
    return v;
  }
  void make_body(uint32_t row, const sluice_value& body) {
    if (batch.body == nullptr) {
      batch.body = arena->array<sluice_value>(batch.size);
      for (uint32_t r = 0; r < batch.size; ++r) batch.body[r] = {SLUICE_ABSENT, 0, {}};
    }
    batch.body[row] = body;
  }
  void attach(const std::string& name, const std::vector<sluice_value>& values) {
    auto* column = arena->array<sluice_value>(values.size());
    std::copy(values.begin(), values.end(), column);
    batch.attached.push_back({arena->copy(std::string_view(name)), column});
  }
  Texts field(const std::string& path) {
    const size_t f = set.add(path);
    ensure_field(batch, set, f, reader);
    Texts out;
    for (uint32_t r = 0; r < batch.size; ++r) out.push_back(show(batch.fields[f][r]));
    return out;
  }
  std::string json(uint32_t row) {
    sluice_str text{nullptr, 0};
    return row_json(batch, row, reader, &text, &error) ? std::string(text.data, text.size) : "error: " + error;
  }
};
sluice_value string(std::string_view s) { return {SLUICE_STRING, 0, {.str = {s.data(), s.size()}}}; }

TEST_CASE("fields of payloads, made rows and tombstones") {
  Rows rows({"{\"a\":1,\"d\":{\"x\":\"p\"}}", "{\"a\":2}", Rows::none, "{broken", "{\"a\":nope}"});
  rows.make_body(1, rows.map("{\"a\":\"made\",\"d\":{\"x\":\"q\"},\"a\":\"last\"}"));
  CHECK(rows.field("a") == Texts{"n:1", "s:last", "absent", "invalid", "invalid"});
  CHECK(rows.field("d.x") == Texts{"s:p", "s:q", "absent", "invalid", "absent"});
  CHECK(rows.field("a.x") == Texts{"absent", "absent", "absent", "invalid", "absent"});
  CHECK(rows.batch.is_made(1));
  CHECK_FALSE(rows.batch.is_made(0));
  CHECK(rows.batch.is_tombstone(2));
  CHECK_FALSE(rows.batch.is_tombstone(0));
  // A made row has no payload to be missing.
  rows.batch.raw[1] = {nullptr, 0};
  CHECK_FALSE(rows.batch.is_tombstone(1));
}

TEST_CASE("a field that is there is not read again") {
  Rows rows({"{\"a\":1}"});
  const size_t f = rows.set.add("a");
  rows.batch.fields.resize(1);
  rows.batch.fields[f] = rows.arena->array<sluice_value>(1);
  rows.batch.fields[f][0] = string("extracted before");
  CHECK(rows.field("a") == Texts{"s:extracted before"});
}

TEST_CASE("bodies given as JSON text") {
  Rows rows({"{\"a\":1}", "{}"});
  const sluice_str text = rows.arena->copy(std::string_view("{\"a\": {\"b\":7}}"));
  rows.make_body(0, {SLUICE_OBJECT, 0, {.str = text}});
  CHECK(rows.field("a.b") == Texts{"n:7", "absent"});
  CHECK(rows.json(0) == "{\"a\": {\"b\":7}}");
  sluice_value body;
  REQUIRE(row_body(rows.batch, 0, rows.reader, &body, &rows.error));
  CHECK(show(body) == "{a=o:{\"b\":7}}");
}

TEST_CASE("attached columns are top-level fields and replace those of their name") {
  Rows rows({"{\"a\":1,\"b\":2}", "{\"a\":3}"});
  rows.attach("b", {string("new"), {SLUICE_ABSENT, 0, {}}});
  rows.attach("t", {string("orders"), string("users")});
  CHECK(rows.field("b") == Texts{"s:new", "absent"});
  CHECK(rows.field("t") == Texts{"s:orders", "s:users"});
  CHECK(rows.field("t.x") == Texts{"absent", "absent"});
  CHECK(rows.field("a") == Texts{"n:1", "n:3"});
  CHECK(rows.json(0) == "{\"a\":1,\"b\":\"new\",\"t\":\"orders\"}");
  CHECK(rows.json(1) == "{\"a\":3,\"t\":\"users\"}");
}

TEST_CASE("an attached object is looked into") {
  Rows rows({"{}"});
  rows.attach("m", {rows.map("{\"x\":{\"y\":5}}")});
  CHECK(rows.field("m.x.y") == Texts{"n:5"});
}

TEST_CASE("a row as the source gave it keeps its bytes, when they are JSON") {
  Rows rows({"{ \"a\" : 1.00 }", "{\"a\":1,\"b\":nope}", Rows::none, "[1]"});
  CHECK(rows.json(0) == "{ \"a\" : 1.00 }");
  CHECK(rows.json(1).rfind("error: \"nope\" at byte 11", 0) == 0);
  CHECK(rows.json(2) == "error: a row without a body");
  rows.batch.checked = rows.arena->array<uint8_t>(4);
  for (uint32_t r = 0; r < 4; ++r) rows.batch.checked[r] = r == 0 ? 1 : 0;
  CHECK(rows.json(0) == "{ \"a\" : 1.00 }");
  CHECK(rows.json(1).rfind("error: ", 0) == 0);
  sluice_value body;
  CHECK_FALSE(row_body(rows.batch, 3, rows.reader, &body, &rows.error));
  CHECK(rows.error == "an array; a record must be a JSON object");
}

TEST_CASE("gather takes rows of every column, and the fields that are still needed") {
  Rows rows({"{\"a\":0,\"b\":0}", "{\"a\":1,\"b\":1}", "{\"a\":2,\"b\":2}"});
  rows.field("a");
  rows.field("b");
  rows.attach("t", {string("x"), string("y"), string("z")});
  rows.make_body(1, rows.map("{\"a\":\"made\"}"));
  const std::vector<uint32_t> order = {2, 1, 2};
  const RowBatch out = gather(rows.batch, order, {true, false});
  REQUIRE(out.size == 3);
  CHECK(out.event_time[0] == 20);
  CHECK(out.event_time[1] == 10);
  CHECK(std::string(out.raw[0].data, out.raw[0].size) == "{\"a\":2,\"b\":2}");
  CHECK(out.origin[1].split == 1);
  CHECK(out.is_made(1));
  CHECK_FALSE(out.is_made(0));
  CHECK(show(out.fields[0][0]) == "n:2");
  CHECK(out.fields[1] == nullptr);
  REQUIRE(out.attached.size() == 1);
  CHECK(show(out.attached[0].values[0]) == "s:z");
  CHECK(out.change == nullptr);
  CHECK(gather(rows.batch, {}, {}).size == 0);
  // Fields that nobody names are left out.
  CHECK(gather(rows.batch, order, {}).fields[0] == nullptr);
}

TEST_CASE("a copied value does not refer to what it was copied from") {
  auto pool = std::make_shared<ChunkPool>(0);
  Arena to(pool);
  sluice_value copy;
  {
    Rows rows({});
    copy = copy_value(rows.map("{\"a\":\"x\",\"b\":[1,{\"c\":2}],\"n\":1.50,\"z\":null}"), to);
    sluice_value list;
    const sluice_str text = rows.arena->copy(std::string_view("[1,\"s\"]"));
    REQUIRE(rows.reader.parse({text.data, text.size}, &list, *rows.arena, &rows.error));
    CHECK(show(copy_value(list, to)) == "[n:1,s:s]");
  }
  CHECK(show(copy) == "{a=s:x,b=a:[1,{\"c\":2}],n=n:1.50,z=null}");
}

}  // namespace
}  // namespace sluice::data
