// Polls a source until something has become true; a test fails when it does not within the time.
#pragma once
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/testing/harness.hpp"

namespace sluice::kafka::testing {

inline void poll_until(sluice::testing::OperatorHarness& h, const std::string& what, const std::function<bool()>& done,
                       std::chrono::seconds most = std::chrono::seconds(60)) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("waited in vain: " + what);
    h.poll();
  }
}

// Exactly `rows` rows more.
inline void poll_rows(sluice::testing::OperatorHarness& h, size_t rows,
                      std::chrono::seconds most = std::chrono::seconds(60)) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  for (size_t got = 0; got < rows;) {
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("waited in vain: " + std::to_string(rows) + " rows");
    got += h.poll(static_cast<uint32_t>(rows - got));
  }
}

// poll() until it answers something else than OK.
inline Status poll_until_failure(sluice::testing::OperatorHarness& h,
                                 std::chrono::seconds most = std::chrono::seconds(60)) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  while (std::chrono::steady_clock::now() < deadline) {
    Status s = h.try_poll();
    if (!s.is_ok()) return s;
  }
  throw std::runtime_error("poll() never failed");
}

// Calls `f` while it answers RETRY.
template <class F>
Status retrying(F&& f, std::chrono::seconds most = std::chrono::seconds(60)) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  while (true) {
    Status s = f();
    if (s.code() != SLUICE_RETRY || std::chrono::steady_clock::now() > deadline) return s;
  }
}

// The numbers of TestCluster::produce_numbered, in the order that they came.
inline std::vector<std::string> names(const std::vector<sluice::testing::OutRow>& rows, const std::string& split = {}) {
  std::vector<std::string> out;
  for (const auto& r : rows)
    if (split.empty() || r.split == split)
      out.push_back(r.json.size() > 8 ? r.json.substr(6, r.json.size() - 8) : r.json);
  return out;
}

inline std::vector<std::string> numbered(const std::string& prefix, int from, int to) {
  std::vector<std::string> out;
  for (int i = from; i < to; ++i) out.push_back(prefix + std::to_string(i));
  return out;
}

}  // namespace sluice::kafka::testing
