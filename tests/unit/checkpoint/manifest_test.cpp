#include "checkpoint/manifest.h"

#include <rapidjson/document.h>

#include <catch2/catch.hpp>

#include <map>

#include "checkpoint/sha256.h"

using namespace sluice;
using namespace sluice::checkpoint;

namespace {

Manifest full() {
  Manifest m;
  m.number = 12;
  m.lineage = "aa";
  m.parent_lineage = "bb";
  m.parent_number = 7;
  m.created_ms = 1667779200123;
  m.pipeline = "dws_cart_add 购物车";
  m.sluice_version = "0.1.0";
  m.parallelism = 2;
  m.key_groups = 128;
  ManifestOperator op{"first_today", "daily_dedup", "0.1.0", 2, "user_id", 3, {}};
  op.states.push_back({"last_date", "value", 2, 1, 1, 86400000, 1000});
  m.operators.push_back(op);
  ManifestSplit split;
  split.id = "topic-0";
  split.position = std::string("\0\x01\xFF\n", 4);
  split.position_text = "offset 5000000000";
  split.position_version = 3;
  split.max_event_time_ms = -5;
  split.snapshot_complete = true;
  split.ended = true;
  ManifestSplit unseen;
  unseen.id = "topic-1";
  m.sources.push_back({"cart_add", {split, unseen}, true});
  m.watermarks.push_back({"cart_add", 1, 1667779200000});
  m.watermarks.push_back({"cart_add", 0, INT64_MIN});
  m.gates.push_back({"cart_add", true});
  m.lanes.push_back(
      {1, 64, 128, {{"000012.sst", std::string(64, 'a'), UINT64_MAX}, {"CURRENT", std::string(64, '0'), 16}}});
  m.spools.push_back({"sink", 1, 16, "spools/0000-sink-0001", std::string(64, 'b'), 17, 2});
  m.files.push_back({"schema", "files/schema/x", std::string(64, 'c'), 0});
  return m;
}

// Writes a manifest with another body, as another version would.
std::string with_body(const std::string& body) {
  return "{\"sha256\":\"" + sha256_of(body) + "\",\"manifest\":" + body + "}\n";
}
std::string body_of(const std::string& text) {
  const size_t begin = text.find("\"manifest\":") + 11;
  return text.substr(begin, text.size() - begin - 2);
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a manifest reads as it was written") {
  const std::string text = write_manifest(full());
  const auto read = read_manifest(text);
  INFO(read.status().message());
  REQUIRE(read.is_ok());
  const Manifest& m = read.value();
  CHECK(write_manifest(m) == text);
  CHECK(m.sources[0].splits[0].position == std::string("\0\x01\xFF\n", 4));
  CHECK(m.sources[0].splits[0].max_event_time_ms == -5);
  CHECK(m.sources[0].splits[1].max_event_time_ms == INT64_MIN);
  CHECK(m.lanes[0].files[0].size == UINT64_MAX);
  CHECK(m.spools[0].checkpoint == 16);
  CHECK(m.watermarks[1].watermark_ms == INT64_MIN);
  CHECK(m.pipeline == "dws_cart_add 购物车");
  CHECK(m.find_operator("first_today")->states[0].oldest_format == 1);
  CHECK(m.find_operator("nobody") == nullptr);
  CHECK(m.find_source("cart_add")->splits.size() == 2);
  CHECK(m.find_lane(1)->key_group_begin == 64);
  CHECK(m.find_lane(0) == nullptr);
  rapidjson::Document json;  // tools can read the whole file
  CHECK_FALSE(json.Parse(text.c_str()).HasParseError());
}

TEST_CASE("whether a source has started: as it is said, and in older manifests by its positions") {
  const std::string body = body_of(write_manifest(full()));
  const auto started = [&](const std::string& changed) { return read_manifest(with_body(changed))->sources[0].started; };
  CHECK(started(body));
  CHECK_FALSE(started(replaced(body, "\"started\": true", "\"started\": false")));
  const std::string older = replaced(body, "\"started\": true", "\"another\": true");
  CHECK(started(older));
  CHECK_FALSE(started(replaced(older, "\"AAH/Cg==\"", "\"\"")));
}

TEST_CASE("every changed byte and every truncation of a manifest is noticed") {
  const std::string text = write_manifest(full());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    CAPTURE(i);
    REQUIRE(read_manifest(changed).status().code() == base::Code::kFatal);
  }
  for (size_t size = 0; size < text.size(); size += 7) {
    CAPTURE(size);
    REQUIRE_FALSE(read_manifest(std::string_view(text).substr(0, size)).is_ok());
  }
  CHECK_THAT(read_manifest("").status().message(), Catch::Contains("empty"));
}

TEST_CASE("newer manifests are read when they say they can be, else refused with the versions") {
  const std::string body = body_of(write_manifest(full()));
  const std::string newer = replaced(body, "\"format\": 1", "\"format\": 9, \"something_new\": [1, {\"x\": null}]");
  const auto read = read_manifest(with_body(newer));
  REQUIRE(read.is_ok());
  CHECK(read->number == 12);
  const auto refused = read_manifest(with_body(replaced(newer, "\"compat\": 1", "\"compat\": 8")));
  CHECK(refused.status().code() == base::Code::kUnsupported);
  CHECK_THAT(refused.status().message(),
             Catch::Contains("format 9") && Catch::Contains("since format 8") && Catch::Contains("knows format 1"));
}

TEST_CASE("fields that are missing, of another type or out of range are named") {
  const std::string body = body_of(write_manifest(full()));
  const auto message = [&](const std::string& from, const std::string& to) {
    const auto read = read_manifest(with_body(replaced(body, from, to)));
    REQUIRE_FALSE(read.is_ok());
    return read.status().message();
  };
  CHECK_THAT(message("\"lineage\": \"aa\",", ""), Catch::Contains("\"lineage\" is missing"));
  CHECK_THAT(message("\"number\": 12", "\"number\": \"12\""), Catch::Contains("\"number\""));
  CHECK_THAT(message("\"number\": 12", "\"number\": -12"), Catch::Contains("\"number\""));
  CHECK_THAT(message("\"parallelism\": 2", "\"parallelism\": 4294967296"), Catch::Contains("\"parallelism\""));
  CHECK_THAT(message("\"AAH/Cg==\"", "\"AAH/Cg=\""), Catch::Contains("base64"));
  CHECK_THAT(message(std::string(64, 'a'), "short"), Catch::Contains("\"sha256\""));
  CHECK_THAT(message("spools/0000-sink-0001", "../../etc/passwd"), Catch::Contains("not a file's name"));
  CHECK_THAT(message("\"000012.sst\"", "\"/etc/passwd\""), Catch::Contains("not a file's name"));
  CHECK_FALSE(read_manifest(with_body("[]")).is_ok());
  CHECK_FALSE(read_manifest(with_body("{\"format\": 1")).is_ok());
}

TEST_CASE("a manifest that is nested a million deep is damaged, and no stack overflow") {
  const std::string open(1'000'000, '['), close(1'000'000, ']');
  CHECK_FALSE(read_manifest(with_body(open)).is_ok());
  CHECK_FALSE(read_manifest(with_body(open + close)).is_ok());
  const std::string extra = replaced(body_of(write_manifest(full())), "\"format\": 1", "\"format\": 1, \"x\": " + open + close);
  CHECK(read_manifest(with_body(extra)).is_ok());  // a field that this version does not know
}

// RFC 4648, section 10.
TEST_CASE("base64") {
  for (const auto& [plain, coded] : std::map<std::string, std::string>{{"", ""},
                                                                       {"f", "Zg=="},
                                                                       {"fo", "Zm8="},
                                                                       {"foo", "Zm9v"},
                                                                       {"foob", "Zm9vYg=="},
                                                                       {"fooba", "Zm9vYmE="},
                                                                       {"foobar", "Zm9vYmFy"}}) {
    CHECK(base64_encode(plain) == coded);
    std::string back;
    CHECK(base64_decode(coded, &back));
    CHECK(back == plain);
  }
  std::string ignored;
  for (const char* bad : {"Zg", "Zg=", "Z===", "====", "Zm9v=m9v", "Zm9*", "Zg==Zg=="}) {
    CAPTURE(bad);
    CHECK_FALSE(base64_decode(bad, &ignored));
  }
}
