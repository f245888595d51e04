// When a plugin ends the process: which operator it was, on standard error.
#pragma once
#include <sys/types.h>

#include <memory>

namespace sluice::runtime {

// From now on a signal that ends this process (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) is first told in one line, with the
// operator in whose call it came. Then happens what would have happened without: a sanitizer's report, a core dump, the exit
// status. Called once, before there are threads; children that are forked later are left alone.
void report_crashes();

// Somebody calls `function(status)` to end the process. True: it is a plugin, whose job has not ended; that is told. Until
// report_crashes() nobody is.
bool report_exit(const char* function, int status);

// Lets a thread tell of a crash when its own stack is used up. Made and destroyed by that thread. One that it has already,
// of a sanitizer, stays.
class AlternateStack {
 public:
  AlternateStack();
  ~AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;  // null: the thread had one
};

// While one lives a job is running, and nothing but that job may end the process with success. Any thread.
class JobRuns {
 public:
  JobRuns();
  ~JobRuns();
  JobRuns(const JobRuns&) = delete;
  JobRuns& operator=(const JobRuns&) = delete;
};

}  // namespace sluice::runtime
