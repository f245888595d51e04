// The parts a task is made of: mailbox, spool, dead letters, event time, options.
#include <catch2/catch.hpp>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "runtime/dead_letters.h"
#include "runtime/job_context.h"
#include "runtime/kept_origins.h"
#include "runtime/mailbox.h"
#include "runtime/operator.h"
#include "runtime/spool.h"
#include "../../support/temp_folder.h"

namespace sluice::runtime {
namespace {

// ---- kept origins ----------------------------------------------------------------------------------------

KeptOrigin origin(const std::string& position, const std::string& raw, const std::string& key) {
  KeptOrigin o;
  o.set_texts(position, raw, key);
  return o;
}

TEST_CASE("kept origins: the texts stay apart, handles ascend and are never given twice") {
  KeptOrigins kept;
  CHECK(kept.last() == 0);
  CHECK(kept.keep(origin("p", "{}", "k")) == 1);
  CHECK(kept.keep(origin("", "[1]", "")) == 2);
  CHECK(kept.find(1)->position() == "p");
  CHECK(kept.find(1)->raw() == "{}");
  CHECK(kept.find(1)->key() == "k");
  CHECK(kept.find(2)->position().empty());
  CHECK(kept.find(2)->raw() == "[1]");
  CHECK(kept.find(0) == nullptr);
  CHECK(kept.find(3) == nullptr);
  kept.clear();
  CHECK(kept.last() == 2);
  CHECK(kept.keep({}) == 3);
}

TEST_CASE("kept origins: dropped up to a handle, but refused ones wait until they are taken") {
  KeptOrigins kept;
  for (int i = 1; i <= 6; ++i) kept.keep(origin("", std::to_string(i), ""));
  CHECK(kept.refuse(2));
  CHECK(kept.take(4)->raw() == "4");
  CHECK_FALSE(kept.take(4));
  CHECK_FALSE(kept.refuse(4));
  kept.drop(5);
  CHECK(kept.find(1) == nullptr);
  CHECK(kept.find(3) == nullptr);
  CHECK(kept.find(5) == nullptr);
  CHECK(kept.find(6)->raw() == "6");
  CHECK(kept.take(2)->raw() == "2");
  kept.drop(UINT64_MAX);
  CHECK(kept.find(6) == nullptr);
  CHECK(kept.keep({}) == 7);
}

// ---- mailbox ---------------------------------------------------------------------------------------------

Message number(Message::Kind kind, int64_t n) { return {kind, n, {}, nullptr}; }

TEST_CASE("mailbox: each channel keeps its order, and room counts batches only") {
  Mailbox sender, box;
  const size_t a = box.add_channel(&sender), b = box.add_channel(nullptr);
  for (int i = 0; i < 10; ++i) box.push(a, number(Message::Kind::kWatermark, i));
  CHECK(box.has_room(a));
  for (size_t i = 0; i < Mailbox::kRoom; ++i) {
    CHECK(box.has_room(b));
    box.push(b, number(Message::Kind::kRows, static_cast<int64_t>(i)));
  }
  CHECK_FALSE(box.has_room(b));
  CHECK(box.has_room(a));
  for (int i = 0; i < 10; ++i) CHECK(box.pop(a)->number == i);
  CHECK_FALSE(box.pop(a));
  CHECK(box.pop(b)->number == 0);
  CHECK(box.has_room(b));
}

TEST_CASE("mailbox: room wakes the sender") {
  Mailbox sender, box;
  const size_t a = box.add_channel(&sender);
  for (size_t i = 0; i < Mailbox::kRoom + 2; ++i) box.push(a, number(Message::Kind::kRows, 0));
  std::thread waiter([&] { sender.wait(std::chrono::minutes(1), {}); });
  while (!box.has_room(a)) box.pop(a);
  waiter.join();
}

TEST_CASE("mailbox: wait ends by a command, a message in an open channel, or a wake; not by a blocked one") {
  Mailbox box;
  box.add_channel(nullptr);
  box.push(0, number(Message::Kind::kWatermark, 1));
  box.wait(std::chrono::minutes(1), {false});
  box.wait(std::chrono::milliseconds(1), {true});
  box.command({Command::Kind::kCommit, 7, false});
  box.command({Command::Kind::kFinish, 0, false});
  box.wait(std::chrono::minutes(1), {true});
  CHECK(box.next_command()->number == 7);
  CHECK(box.next_command()->kind == Command::Kind::kFinish);
  CHECK_FALSE(box.next_command());
  std::thread other([&] { box.wake(); });
  box.wait(std::chrono::minutes(1), {true});
  other.join();
}

// ---- gate ------------------------------------------------------------------------------------------------

TEST_CASE("gate: the last lane opens it, once") {
  Gate gate(3);
  CHECK_FALSE(gate.arrive());
  CHECK_FALSE(gate.arrive());
  CHECK_FALSE(gate.is_open());
  CHECK(gate.arrive());
  CHECK(gate.is_open());
}

// ---- spool -----------------------------------------------------------------------------------------------

TEST_CASE("spool: what was written is read, with any bytes") {
  tests::TempFolder folder;
  const std::string path = folder.path("spool"), bytes("\0\xff\n", 3), big(200'000, 'x');
  {
    SpoolWriter w(path);
    CHECK(w.append({"{}", {}, {}, 0, 0}).is_ok());
    CHECK(w.append({"{\"a\":1}", bytes, {"src", "split-1", bytes}, -5, 3}).is_ok());
    CHECK_FALSE(w.is_full());
    CHECK(w.append({big, "", {"s", "", std::string(65535, 'p')}, INT64_MIN, 255}).is_ok());
    CHECK(w.is_full());
    CHECK(w.flush().is_ok());
    CHECK_FALSE(w.is_full());
    CHECK_FALSE(w.append({"{}", {}, {"s", "", std::string(65536, 'p')}, 0, 0}).is_ok());
    CHECK(w.rows() == 3);
    CHECK(w.close().is_ok());
    CHECK(w.close().is_ok());
  }
  std::vector<std::string> seen;
  const auto read = read_spool(path, [&](const SpoolRow& r) {
    seen.push_back(std::to_string(r.json.size()) + " " + std::string(r.origin.source_id) + " " + std::string(r.origin.split_id) + " " +
                   std::to_string(r.origin.position.size()) + " " + std::to_string(r.event_time) + " " + std::to_string(r.change) +
                   (r.key.data() == nullptr ? " no key" : " key of " + std::to_string(r.key.size())));
    if (r.origin.split_id == "split-1") CHECK((r.origin.position == bytes && r.key == bytes));
    return base::Status::ok();
  });
  CHECK(read.is_ok());
  CHECK(seen == std::vector<std::string>{"2   0 0 0 no key", "7 src split-1 3 -5 3 key of 3", "200000 s  65535 -9223372036854775808 255 key of 0"});
  int visits = 0;
  CHECK(read_spool(path, [&](const SpoolRow&) { return ++visits == 2 ? base::Status::retry("enough") : base::Status::ok(); }).code() == base::Code::kRetry);
  CHECK(visits == 2);
}

TEST_CASE("spool: what the file system says only at the end is final") {
  SpoolWriter w("/dev/null");  // takes every byte, and cannot be synced
  CHECK(w.append({"{}", {}, {}, 0, 0}).is_ok());
  for (int i = 0; i < 2; ++i) {
    const base::Status ended = w.close();
    CHECK(ended.code() == base::Code::kFatal);
    CHECK(ended.message() == "cannot write spool /dev/null: Invalid argument");
  }
}

TEST_CASE("spool: damage is noticed") {
  tests::TempFolder folder;
  const std::string path = folder.path("spool");
  {
    SpoolWriter w(path);
    REQUIRE(w.append({"{\"a\":1}", "key", {"src", "s", "p"}, 1, 0}).is_ok());
    REQUIRE(w.close().is_ok());
  }
  const std::string whole = folder.read("spool");
  const auto ok = [](const SpoolRow&) { return base::Status::ok(); };
  CHECK(read_spool(path, ok).is_ok());
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    if (cut == 8) continue;  // no rows
    folder.write("spool", whole.substr(0, cut));
    CHECK_FALSE(read_spool(path, ok).is_ok());
  }
  folder.write("spool", "SLSPOOL9");
  CHECK_FALSE(read_spool(path, ok).is_ok());
  CHECK_FALSE(read_spool(folder.path("missing"), ok).is_ok());
}

TEST_CASE("spool: of the version before, without keys") {
  tests::TempFolder folder;
  folder.write("spool", std::string("SLSPOOL1\x02\0\0\0\x01\0\x01\0\x01\0\x05\0\0\0\0\0\0\0\x02{}abc", 8 + 19 + 5));
  int rows = 0;
  REQUIRE(read_spool(folder.path("spool"), [&](const SpoolRow& r) {
            ++rows;
            CHECK(r.json == "{}");
            CHECK(r.key.data() == nullptr);
            CHECK((r.origin.source_id == "a" && r.origin.split_id == "b" && r.origin.position == "c"));
            CHECK(r.event_time == 5);
            CHECK(r.change == SLUICE_CHANGE_UPDATE);
            return base::Status::ok();
          }).is_ok());
  CHECK(rows == 1);
}

// ---- dead letters ----------------------------------------------------------------------------------------

TEST_CASE("dead letters: one line each, with everything that is known") {
  tests::TempFolder folder;
  DeadLetters letters(folder.path("dead"), "p", "op.0", nullptr);
  letters.begin_epoch("0123456789abcdef", 7);
  CHECK(folder.names().empty());  // no letter, no file
  DeadLetter letter;
  letter.operator_id = "op";
  letter.reason = "a \"reason\"\n";
  letter.source = "src";
  letter.position = "file:3";
  letter.raw = "{\"a\":1}";
  letter.time_ms = 1693571445678;
  REQUIRE(letters.write(letter).is_ok());
  letter.source = letter.position = "";
  letter.raw = std::string_view("\xff\0", 2);
  letter.key = "k";
  REQUIRE(letters.write(letter).is_ok());
  REQUIRE(letters.sync(1).is_ok());
  CHECK(folder.read("dead/p-op.0-01234567-after-0000000007.jsonl") ==
        "{\"pipeline\":\"p\",\"operator\":\"op\",\"code\":\"BAD_RECORD\",\"reason\":\"a \\\"reason\\\"\\n\",\"time\":\"2023-09-01 12:30:45Z\","
        "\"source\":\"src\",\"position\":\"file:3\",\"raw\":\"{\\\"a\\\":1}\"}\n"
        "{\"pipeline\":\"p\",\"operator\":\"op\",\"code\":\"BAD_RECORD\",\"reason\":\"a \\\"reason\\\"\\n\",\"time\":\"2023-09-01 12:30:45Z\","
        "\"key\":\"k\",\"raw_base64\":\"/wA=\"}\n");
}

TEST_CASE("dead letters: a restart takes back what a crash left behind its checkpoint, and nothing else") {
  tests::TempFolder folder;
  const std::string dir = folder.path("dead");
  DeadLetter letter;
  letter.operator_id = "op";
  const std::pair<const char*, const char*> runs[] = {{"p", "aaaaaaaaaa"}, {"p", "bbbbbbbbbb"}, {"p-x", "cccccccccc"}};
  for (const auto& [pipeline, lineage] : runs)
      for (uint64_t n : {3, 4, 5}) {
        DeadLetters letters(dir, pipeline, "op.0", nullptr);
        letters.begin_epoch(lineage, n);
        REQUIRE(letters.write(letter).is_ok());
        REQUIRE(letters.sync(1).is_ok());
      }
  REQUIRE(DeadLetters::discard_after(dir, "p", "aaaaaaaaaa", 4).is_ok());
  std::vector<std::string> left;
  for (const auto& f : std::filesystem::directory_iterator(dir)) left.push_back(f.path().filename().string());
  CHECK(left.size() == 7);
  for (const auto& name : left) {
    CHECK(name != "p-op.0-aaaaaaaa-after-0000000004.jsonl");
    CHECK(name != "p-op.0-aaaaaaaa-after-0000000005.jsonl");
  }
  CHECK(DeadLetters::discard_after(folder.path("none"), "p", "aaaaaaaaaa", 4).is_ok());
}

TEST_CASE("dead letters of an epoch: each attempt starts anew, and the checkpoint's own are kept by a restart") {
  tests::TempFolder folder;
  const std::string dir = folder.path("dead"), name = "dead/p-out.0-aaaaaaaa-epoch-0000000004.jsonl";
  DeadLetter letter;
  letter.operator_id = "out";
  for (const char* reason : {"first", "second"}) {
    DeadLetters letters(dir, "p", "out.0", nullptr);
    REQUIRE(letters.begin_attempt("aaaaaaaaaa", 4).is_ok());
    letter.reason = reason;
    REQUIRE(letters.write(letter).is_ok());
    REQUIRE(letters.sync(1).is_ok());
  }
  CHECK(folder.read(name).find("first") == std::string::npos);
  CHECK(folder.read(name).find("second") != std::string::npos);
  REQUIRE(DeadLetters::discard_after(dir, "p", "aaaaaaaaaa", 4).is_ok());
  CHECK(folder.has(name));
  REQUIRE(DeadLetters::discard_after(dir, "p", "aaaaaaaaaa", 3).is_ok());
  CHECK_FALSE(folder.has(name));
}

// ---- options ---------------------------------------------------------------------------------------------

TEST_CASE("options cross the boundary with their types") {
  config::OptionValues options;
  const ConfigValue none(options);
  CHECK(none.value().type == SLUICE_MAP);
  CHECK(none.value().as.map.size == 0);
}

}  // namespace
}  // namespace sluice::runtime
