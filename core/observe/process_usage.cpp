#include "observe/process_usage.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace sluice::observe {
namespace {

// proc(5): the fields of /proc/self/stat after the command name, which is in parentheses and may hold any character.
std::istringstream stat_after_name() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const size_t end = line.rfind(')');
  return std::istringstream(end == std::string::npos ? std::string() : line.substr(end + 1));
}

double boot_time_s() {
  std::ifstream file("/proc/stat");
  std::string word;
  double value = 0;
  while (file >> word)
    if (word == "btime" && file >> value) return value;
  return 0;
}

uint64_t count_open_files() {
  DIR* dir = ::opendir("/proc/self/fd");
  if (dir == nullptr) return 0;
  uint64_t entries = 0;
  while (::readdir(dir) != nullptr) ++entries;
  ::closedir(dir);
  return entries > 3 ? entries - 3 : 0;  // `.`, `..` and the descriptor that reads the folder
}

}  // namespace

ProcessUsage read_process_usage() {
  ProcessUsage usage;
  rusage self{};
  if (::getrusage(RUSAGE_SELF, &self) == 0) {
    usage.cpu_seconds = static_cast<double>(self.ru_utime.tv_sec + self.ru_stime.tv_sec) +
                        static_cast<double>(self.ru_utime.tv_usec + self.ru_stime.tv_usec) / 1e6;
  }
  std::istringstream stat = stat_after_name();
  std::string field;
  // state is field 3; num_threads 20, starttime 22 (clock ticks after boot), rss 24 (pages).
  for (int number = 3; number <= 24 && stat >> field; ++number) {
    if (number == 20) usage.threads = std::strtoull(field.c_str(), nullptr, 10);
    if (number == 22)
      usage.started_s =
          boot_time_s() + std::strtod(field.c_str(), nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    if (number == 24)
      usage.resident_bytes = std::strtoull(field.c_str(), nullptr, 10) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  usage.open_files = count_open_files();
  return usage;
}

}  // namespace sluice::observe
