#include "observe/health.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "observe/number_text.h"
#include "observe/terminal_text.h"

namespace sluice::observe {

Health health_of(const Progress& progress, const HealthLimits& limits) {
  Health health;
  if (progress.phase == "starting") health.problems.emplace_back("the job is starting and does not read yet");
  if (progress.phase == "failed") health.problems.emplace_back("the job has failed");
  const CheckpointProgress& c = progress.checkpoint;
  const bool fail = (progress.phase == "running" || progress.phase == "stopping") && c.failed_in_a_row >= kFailuresInARow;
  if (fail) health.problems.push_back(fmt::format("the last {} checkpoints failed: {}", c.failed_in_a_row, c.last_error));
  if (progress.phase == "running" && limits.checkpoint_interval_ms > 0) {
    const int64_t limit = 3 * limits.checkpoint_interval_ms + limits.checkpoint_timeout_ms;
    const int64_t age =
        progress.now_ms - std::max(progress.started_ms, c.completed > 0 ? c.last_completed_ms : kNoTime);
    if (age > limit) {
      std::string problem =
          fmt::format("no checkpoint was completed for {} (limit: {})", duration_text(age), duration_text(limit));
      if (!fail && !c.last_error.empty()) problem += ": " + c.last_error;
      health.problems.push_back(std::move(problem));
    }
  }
  return health;
}

std::string health_json(const Progress& progress, const Health& health) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const auto text = [&](const std::string& s) {
    const std::string clean = valid_utf8(s);
    writer.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  };
  writer.StartObject();
  writer.Key("status");
  writer.String(health.ok() ? "ok" : "failing");
  writer.Key("pipeline");
  text(progress.pipeline);
  writer.Key("phase");
  text(progress.phase);
  writer.Key("problems");
  writer.StartArray();
  for (const std::string& problem : health.problems) text(problem);
  writer.EndArray();
  writer.Key("waiting_for");
  writer.StartArray();
  for (const std::string& reason : progress.waiting_for) text(reason);
  writer.EndArray();
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace sluice::observe
