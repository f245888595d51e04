// Named places in the code where a test can end the process, as `kill -9` would.
//
//   SLUICE_FAILPOINT("checkpoint.after_manifest");
//
// Every name registers itself when the program is loaded, so the recovery suite lists them with
// `sluice failpoints` and covers a new one without being told. Armed by the environment:
// SLUICE_FAILPOINT=name[:n] ends the process (_exit(137)) at the n-th passing (default: the first).
#pragma once
#include <string>
#include <vector>

namespace sluice::base {

class Failpoint {
 public:
  explicit Failpoint(const char* name);
  void pass() noexcept {
    if (armed_) hit();
  }
  const char* name() const noexcept { return name_; }

 private:
  void hit() noexcept;
  const char* name_;
  bool armed_;
};

// Names of all failpoints that are linked into this program, sorted. [any thread, after static initialisation]
std::vector<std::string> failpoint_names();

template <size_t N>
struct FailpointName {
  char text[N];
  constexpr FailpointName(const char (&s)[N]) {  // NOLINT(google-explicit-constructor)
    for (size_t i = 0; i < N; ++i) text[i] = s[i];
  }
};
template <FailpointName Name>
struct FailpointSite {
  static inline Failpoint point{Name.text};
};

}  // namespace sluice::base

#define SLUICE_FAILPOINT(name) (::sluice::base::FailpointSite<name>::point.pass())
