#include "checkpoint/durable_file.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "store_fixture.h"

using namespace sluice;
using namespace sluice::checkpoint;

namespace {
std::atomic<std::vector<std::string>*> synced{nullptr};  // null: nobody looks
}

// In place of the C library's: also says what was synced.
extern "C" int fsync(int fd) {
  if (auto* paths = synced.load(); paths != nullptr)
    paths->push_back(fs::read_symlink("/proc/self/fd/" + std::to_string(fd)).string());
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

TEST_CASE("a folder that is made is in its parent when create_directory returns") {
  sluice::tests::TempFolder dir;
  std::vector<std::string> paths;
  synced = &paths;
  must(create_directory(dir / "a/b"));
  must(create_directory(dir / "a/b"));
  synced = nullptr;
  CHECK(paths == std::vector<std::string>{dir / "a", dir.path()});
  CHECK(fs::is_directory(dir / "a/b"));
}
