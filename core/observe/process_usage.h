// What this process takes from the machine, from /proc/self.
#pragma once
#include <cstdint>

namespace sluice::observe {

// A plain value. Zero where the system does not tell.
struct ProcessUsage {
  double cpu_seconds = 0;  // user and system, all threads
  uint64_t resident_bytes = 0;
  uint64_t threads = 0;
  uint64_t open_files = 0;
  double started_s = 0;  // seconds since 1970
};

ProcessUsage read_process_usage();

}  // namespace sluice::observe
