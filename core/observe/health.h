// Is the job well? What a load balancer, a container's probe or a cron job asks.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "observe/progress.h"

namespace sluice::observe {

struct HealthLimits {
  int64_t checkpoint_interval_ms = 0;  // 0: there are no periodic checkpoints to be too old
  int64_t checkpoint_timeout_ms = 0;
};

struct Health {
  std::vector<std::string> problems;  // empty: well
  bool ok() const { return problems.empty(); }
};

inline constexpr uint64_t kFailuresInARow = 3;

// Not well: not running yet, failed, the newest checkpoint (the start, before there is one) is older than
// 3 × interval + timeout, or so many as kFailuresInARow have failed since.
Health health_of(const Progress& progress, const HealthLimits& limits);

// {"status":"ok","pipeline":"dws","phase":"running","problems":[],"waiting_for":[]}. What is waited for is no problem of the
// job's own: a server that is away comes back without a restart.
std::string health_json(const Progress& progress, const Health& health);

}  // namespace sluice::observe
