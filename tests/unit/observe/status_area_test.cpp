#include "observe/status_area.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>

#include "observe/progress_reporter.h"
#include "sample_progress.h"

using namespace sluice::observe;

namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe(ends) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  std::string written() {
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::string out;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
    return out;
  }
  int ends[2];
};

}  // namespace

TEST_CASE("log lines are written above the picture") {
  Pipe pipe;
  {
    StatusArea area(pipe.ends[1]);
    area.write("before\n");
    CHECK(pipe.written() == "before\n");
    area.draw({"one", "two"});
    CHECK(pipe.written() == "one\ntwo\n");
    area.write("a message\n");
    CHECK(pipe.written() == "\x1b[2A\r\x1b[Ja message\none\ntwo\n");
    area.draw({"three"});
    CHECK(pipe.written() == "\x1b[2A\r\x1b[Jthree\n");
  }
  CHECK(pipe.written() == "\x1b[1A\r\x1b[J");  // the destructor takes the picture away
}

TEST_CASE("a pipe is not a terminal and gets a usual size") {
  Pipe pipe;
  StatusArea area(pipe.ends[1]);
  CHECK_FALSE(area.is_terminal());
  CHECK(area.size().columns == 80);
  CHECK(area.size().rows == 24);
}

TEST_CASE("the live reporter draws at once and leaves nothing behind") {
  Pipe pipe;
  StatusArea area(pipe.ends[1]);
  std::atomic<int> asked{0};
  ProgressReporter::Options options;
  options.style = ProgressStyle::kLive;
  options.area = &area;
  options.graph = sample_graph();
  std::mutex mutex;
  std::condition_variable shown;
  options.progress = [&] {
    const std::lock_guard lock(mutex);
    ++asked;
    shown.notify_all();
    return sample_progress();
  };
  ProgressReporter reporter(std::move(options));
  {
    std::unique_lock lock(mutex);
    shown.wait(lock, [&] { return asked > 0; });
  }
  reporter.stop();
  const std::string out = pipe.written();
  CHECK(out.rfind("购物车: running for 1m05s, 182,386 rows in, 500 out\n", 0) == 0);
  // Twelve lines were drawn last; the same number is taken away.
  CHECK(out.substr(out.rfind("\x1b[", out.size() - 4)) == "\x1b[12A\r\x1b[J");
}
