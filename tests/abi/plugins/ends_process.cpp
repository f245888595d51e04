// An operator that ends the process with its first row, in the way that it is told.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "sluice/sdk.hpp"

namespace {

volatile int* volatile nowhere = nullptr;
volatile int zero = 0;

int use_up_stack(volatile char* above) {
  volatile char more[4096];
  more[0] = *above;
  return zero != 0 ? 0 : use_up_stack(more) + more[0];
}

// A page behind the end of its file.
void bus_error() {
  const int file = ::memfd_create("empty", 0);
  *static_cast<volatile char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) = 1;
}

// A child that ends is nobody's end but its own.
void end_child(int status) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(status);
  int ended = 0;
  ::waitpid(child, &ended, 0);
  ::exit(WEXITSTATUS(ended));
}

const std::map<std::string, std::function<void()>>& ways() {
  static const std::map<std::string, std::function<void()>> all = {
      {"segv", [] { *nowhere = 1; }},
      {"overflow", [] {
         volatile char first = 0;
         zero = use_up_stack(&first);
       }},
      {"bus", bus_error},
      {"fpe", [] { zero = 10 / zero; }},
      {"abort", [] { std::abort(); }},
      {"abort in a thread", [] { std::thread([] { std::abort(); }).join(); }},
      {"exit 0", [] { std::exit(0); }},
      {"exit 3", [] { std::exit(3); }},
      {"_exit 0", [] { ::_exit(0); }},
      {"quick_exit 0", [] { std::quick_exit(0); }},
      {"exit 0 in a thread", [] { std::thread([] { std::exit(0); }).join(); }},
      {"exit 7 after a child", [] { end_child(7); }},
  };
  return all;
}

struct Config {
  std::string how;
};

class EndsProcess final : public sluice::Transform<Config> {
 public:
  static constexpr const char* kType = "test.ends_process";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Ends the process.";
  static sluice::Options<Config> options() { return {sluice::opt("how", &Config::how).required().doc("The way.")}; }
  sluice::Status process(const sluice::Batch&, sluice::Output&) override {
    ways().at(config().how)();
    return sluice::Status::ok();
  }
};

}  // namespace

SLUICE_MODULE("bad-ends-process", "2.5", EndsProcess)
