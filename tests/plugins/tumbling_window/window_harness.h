// Rows and results of windows, as the tests write them.
#pragma once
#include <string>
#include <vector>

#include "sluice/testing/harness.hpp"
#include "tumbling_window/tumbling_window.h"

namespace window_test {

using Harness = sluice::testing::Harness<sluice::tumbling_window::TumblingWindow>;
using sluice::testing::InputRow;
using Texts = std::vector<std::string>;

// Seconds after 2023-11-06T16:00:00Z, midnight in Shanghai.
constexpr int64_t kBase = 1699286400000;
inline int64_t at(int64_t second) { return kBase + 1000 * second; }

// A row of that second; `watermark`: seconds too, how far it was before the row.
inline InputRow row(int64_t second, const std::string& json = "{}") { return {json, {std::nullopt, at(second)}}; }
inline InputRow row_after(int64_t watermark, int64_t second, const std::string& json = "{}") {
  return {json, {std::nullopt, at(second), SLUICE_CHANGE_NONE, at(watermark)}};
}
inline InputRow keyed(const std::string& key, int64_t second, const std::string& json = "{}") {
  return {json, {key, at(second)}};
}

inline constexpr const char* kCount = "{size: 10s, aggregates: {n: count}, time_format: epoch_ms}";
// Of kCount.
inline std::string result(int64_t second, int n, int64_t version) {
  return R"({"stt":)" + std::to_string(at(second)) + R"(,"edt":)" + std::to_string(at(second + 10)) + R"(,"n":)" +
         std::to_string(n) + R"(,"ts":)" + std::to_string(version) + "}";
}

}  // namespace window_test
