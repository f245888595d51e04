// console.sink, with standard output turned into a pipe for as long as a test looks.
#include "console_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "sluice/testing/harness.hpp"

namespace {

using Sink = sluice::testing::Harness<sluice::console::ConsoleSink>;

// Owned by the test. Standard output is what it was when this is gone.
class OutputPipe {
 public:
  explicit OutputPipe(bool non_blocking = false) {
    std::fflush(stdout);
    saved_ = dup(STDOUT_FILENO);
    REQUIRE(pipe(ends_.data()) == 0);
    if (non_blocking) fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    dup2(ends_[1], STDOUT_FILENO);
    close(ends_[1]);
  }
  ~OutputPipe() {
    restore();
    close_reader();
  }
  void restore() {
    if (saved_ >= 0) {
      dup2(saved_, STDOUT_FILENO);
      close(saved_);
    }
    saved_ = -1;
  }
  void close_reader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  std::string read_all() {
    std::string text;
    std::array<char, 4096> piece;
    for (ssize_t n; (n = read(ends_[0], piece.data(), piece.size())) > 0;)
      text.append(piece.data(), static_cast<size_t>(n));
    return text;
  }

 private:
  int saved_ = -1;
  std::array<int, 2> ends_{-1, -1};
};

}  // namespace

TEST_CASE("each row is a line", "[console.sink]") {
  Sink h("{prefix: 'cart: '}");
  h.open();
  OutputPipe out;
  h.push(R"({"n":20.00,"名":"値"})");
  h.push("{\n\"a\":\r\n1}");
  const std::string text = out.read_all();
  h.checkpoint();
  h.close();
  out.restore();
  CHECK(text == "cart: {\"n\":20.00,\"名\":\"値\"}\ncart: { \"a\":  1}\n");
}

TEST_CASE("a row that is marked as deleted", "[console.sink]") {
  const std::string on_delete = GENERATE("", "warn", "write", "ignore", "reject");
  Sink h(on_delete.empty() ? "{}" : "{on_delete: " + on_delete + "}");
  h.open();
  OutputPipe out;
  const sluice::testing::RowMeta deleted{"", SLUICE_NO_TIME, SLUICE_CHANGE_DELETE};
  h.push(R"({"a":1})");
  h.push(R"({"a":2})", deleted);
  h.push(R"({"a":3})", deleted);
  const std::string text = out.read_all();
  out.restore();
  const bool warns = on_delete.empty() || on_delete == "warn", writes = warns || on_delete == "write";
  CHECK(text == (writes ? "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n" : "{\"a\":1}\n"));
  CHECK(h.counter("deletes_written") == (writes ? 2 : 0));
  CHECK(h.counter("deletes_ignored") == (on_delete == "ignore" ? 2 : 0));
  CHECK(h.rejected().size() == (on_delete == "reject" ? 2 : 0));
  CHECK(h.log().size() == (warns ? 1 : 0));
}

TEST_CASE("a broken row is refused", "[console.sink]") {
  Sink h;
  h.open();
  OutputPipe out;
  h.push_batch({{R"({"a":nope})", {}}, {R"({"a":1})", {}}});
  const std::string text = out.read_all();
  out.restore();
  CHECK(text == "{\"a\":1}\n");
  CHECK(h.rejected().size() == 1);
}

TEST_CASE("no more rows than the limit are printed", "[console.sink]") {
  Sink h("{limit: 3}");
  h.open();
  OutputPipe out;
  for (int i = 0; i < 5; ++i) h.push_batch({{"{}", {}}, {"{}", {}}});
  const std::string text = out.read_all();
  out.restore();
  CHECK(text == "{}\n{}\n{}\n");
  CHECK(h.counter("rows_not_printed") == 7);
  Sink bad("{limit: -1}");
  CHECK(bad.try_open().code() == SLUICE_FATAL);
}

TEST_CASE("a reader that goes away stops the job, not the process", "[console.sink]") {
  Sink h;
  h.open();
  OutputPipe out;
  out.close_reader();
  const sluice::Status s = h.try_push("{}");
  out.restore();
  CHECK(s.code() == SLUICE_FATAL);
  CHECK(s.message() == "standard output was closed by its reader");
}

TEST_CASE("a reader that is slow is waited for, and nothing is lost", "[console.sink]") {
  Sink h;
  h.open();
  OutputPipe out(true);
  const std::string row = "{\"x\":\"" + std::string(992, 'x') + "\"}";  // a line is 1000 bytes
  // Fill the pipe to the brim with whole lines, so that the sink stands between two of them.
  std::string text;
  size_t lines = 0;
  fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 1 << 16);
  std::string filler(65536, '.');
  CHECK(write(STDOUT_FILENO, filler.data(), filler.size()) == 65536);
  const sluice::Status taken = h.try_push(row);
  lines += 1;
  const sluice::Status full = h.try_push(row);
  const size_t waiting = h.rows_waiting();
  text += out.read_all();
  h.retry();
  lines += 1;
  h.checkpoint();
  text += out.read_all();
  out.restore();
  CHECK(taken.is_ok());
  CHECK(full.code() == SLUICE_RETRY);
  CHECK(waiting == 1);
  CHECK(text.size() == 65536 + lines * 1001);
}
