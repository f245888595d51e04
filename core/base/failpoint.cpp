#include "base/failpoint.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace sluice::base {
namespace {

std::vector<std::string>& names() {
  static auto* v = new std::vector<std::string>;  // never destroyed: static objects register and pass at any time
  return *v;
}

std::atomic<long> remaining{1};

bool is_armed(const char* name) {
  const char* wanted = std::getenv("SLUICE_FAILPOINT");
  if (wanted == nullptr) return false;
  const char* colon = std::strchr(wanted, ':');
  const size_t length = colon != nullptr ? static_cast<size_t>(colon - wanted) : std::strlen(wanted);
  if (std::strlen(name) != length || std::strncmp(wanted, name, length) != 0) return false;
  if (colon != nullptr) remaining = std::max(1L, std::strtol(colon + 1, nullptr, 10));
  return true;
}

}  // namespace

Failpoint::Failpoint(const char* name) : name_(name), armed_(is_armed(name)) { names().emplace_back(name); }

void Failpoint::hit() noexcept {
  if (remaining.fetch_sub(1) == 1) ::_exit(137);
}

std::vector<std::string> failpoint_names() {
  std::vector<std::string> sorted = names();
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

}  // namespace sluice::base
