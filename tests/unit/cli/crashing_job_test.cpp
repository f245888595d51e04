// Plugins that end the process while a job runs: what is said, and the exit status.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "run_sluice.h"

using namespace sluice::cli::testing;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizer = true;  // ends the process itself, with its report
#else
constexpr bool kSanitizer = false;
#endif

Ran run_that_ends(const std::string& how) {
  const rlimit no_core{0, 0};
  REQUIRE(::setrlimit(RLIMIT_CORE, &no_core) == 0);
  const Folder folder;
  folder.write("in.jsonl", "{\"a\":1}\n");
  const std::string pipeline = folder.write(
      "p.yaml", "pipeline: p\nplugins: { dirs: [" SLUICE_BAD_PLUGINS "/bad_ends_process] }\ncheckpoint: { dir: " + folder.path("ck") +
                    " }\noperators:\n  - id: lines\n    use: file.source\n    with: { path: " + folder.path("in.jsonl") +
                    " }\n  - id: bad\n    use: test.ends_process\n    input: lines\n    with: { how: \"" + how +
                    "\" }\n  - id: out\n    use: console.sink\n    input: bad\n");
  return run_sluice({"run", pipeline, "--log-level", "off", "--progress", "off"});
}

const std::string kOperator = "sluice: operator \"bad\" (plugin bad-ends-process 2.5, lane 0)";
const std::string kThread = "sluice: a thread that was in no operator's call";

}  // namespace

TEST_CASE("an operator that crashes is named; the process ends by the signal") {
  struct Way {
    const char* how;
    const std::string& who;
    const char* signal;
    int number;
  };
  const Way way = GENERATE(Way{"segv", kOperator, "SIGSEGV", SIGSEGV}, Way{"overflow", kOperator, "SIGSEGV", SIGSEGV},
                           Way{"bus", kOperator, "SIGBUS", SIGBUS}, Way{"fpe", kOperator, "SIGFPE", SIGFPE},
                           Way{"abort", kOperator, "SIGABRT", SIGABRT}, Way{"abort in a thread", kThread, "SIGABRT", SIGABRT});
  CAPTURE(way.how);
  const Ran ran = run_that_ends(way.how);
  INFO(ran.err);
  const std::string line = way.who + " crashed with " + way.signal + "\n";
  if (kSanitizer && way.number != SIGABRT) {
    CHECK(ran.exit_status != 0);
    CHECK_THAT(ran.err, Catch::StartsWith(line) && Catch::Contains("Sanitizer"));
  } else {
    CHECK(ran.exit_status == 128 + way.number);
    CHECK(ran.err == line);
  }
}

TEST_CASE("an operator that ends the process is named; the job has failed") {
  struct Way {
    const char* how;
    const std::string& who;
    const char* call;
  };
  const Way way = GENERATE(Way{"exit 0", kOperator, "exit(0)"}, Way{"exit 3", kOperator, "exit(3)"},
                           Way{"_exit 0", kOperator, "_exit(0)"}, Way{"quick_exit 0", kOperator, "quick_exit(0)"},
                           Way{"exit 0 in a thread", kThread, "exit(0)"}, Way{"exit 7 after a child", kOperator, "exit(7)"});
  CAPTURE(way.how);
  const Ran ran = run_that_ends(way.how);
  CHECK(ran.exit_status == 1);
  CHECK(ran.err == way.who + " ended the process with " + way.call + "\n");
}
