// The parts a task is made of: mailbox, spool, dead letters, event time, options.
#include <catch2/catch.hpp>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "runtime/dead_letters.h"
#include "runtime/job_context.h"
#include "runtime/mailbox.h"
#include "runtime/operator.h"
#include "runtime/spool.h"
#include "../../support/temp_folder.h"

namespace sluice::runtime {
namespace {

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
    auto made = SpoolWriter::create(path);
    REQUIRE(made.is_ok());
    auto& w = *made.value();
    CHECK(w.append({"{}", {}, 0, 0}).is_ok());
    CHECK(w.append({"{\"a\":1}", {"src", "split-1", bytes}, -5, 3}).is_ok());
    CHECK(w.append({big, {"s", "", std::string(65535, 'p')}, INT64_MIN, 255}).is_ok());
    CHECK_FALSE(w.append({"{}", {"s", "", std::string(65536, 'p')}, 0, 0}).is_ok());
    CHECK(w.rows() == 3);
    CHECK(w.close().is_ok());
    CHECK(w.close().is_ok());
  }
  std::vector<std::string> seen;
  const auto read = read_spool(path, [&](const SpoolRow& r) {
    seen.push_back(std::to_string(r.json.size()) + " " + std::string(r.origin.source_id) + " " + std::string(r.origin.split_id) + " " +
                   std::to_string(r.origin.position.size()) + " " + std::to_string(r.event_time) + " " + std::to_string(r.change));
    if (r.origin.split_id == "split-1") CHECK(r.origin.position == bytes);
    return base::Status::ok();
  });
  CHECK(read.is_ok());
  CHECK(seen == std::vector<std::string>{"2   0 0 0", "7 src split-1 3 -5 3", "200000 s  65535 -9223372036854775808 255"});
  int visits = 0;
  CHECK(read_spool(path, [&](const SpoolRow&) { return ++visits == 2 ? base::Status::retry("enough") : base::Status::ok(); }).code() == base::Code::kRetry);
  CHECK(visits == 2);
}

TEST_CASE("spool: damage is noticed") {
  tests::TempFolder folder;
  const std::string path = folder.path("spool");
  {
    auto made = SpoolWriter::create(path);
    REQUIRE(made.is_ok());
    REQUIRE(made.value()->append({"{\"a\":1}", {"src", "s", "p"}, 1, 0}).is_ok());
  }
  const std::string whole = folder.read("spool");
  const auto ok = [](const SpoolRow&) { return base::Status::ok(); };
  CHECK(read_spool(path, ok).is_ok());
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    if (cut == 8) continue;  // no rows
    folder.write("spool", whole.substr(0, cut));
    CHECK_FALSE(read_spool(path, ok).is_ok());
  }
  folder.write("spool", "SLSPOOL2");
  CHECK_FALSE(read_spool(path, ok).is_ok());
  CHECK_FALSE(read_spool(folder.path("missing"), ok).is_ok());
}

// ---- dead letters ----------------------------------------------------------------------------------------

TEST_CASE("dead letters: one line each, with everything that is known") {
  tests::TempFolder folder;
  DeadLetters letters(folder.path("dead"), "p", "op.0");
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
  REQUIRE(letters.sync().is_ok());
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
        DeadLetters letters(dir, pipeline, "op.0");
        letters.begin_epoch(lineage, n);
        REQUIRE(letters.write(letter).is_ok());
        REQUIRE(letters.sync().is_ok());
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
    DeadLetters letters(dir, "p", "out.0");
    REQUIRE(letters.begin_attempt("aaaaaaaaaa", 4).is_ok());
    letter.reason = reason;
    REQUIRE(letters.write(letter).is_ok());
    REQUIRE(letters.sync().is_ok());
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
