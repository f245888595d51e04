// Shared libraries that are plugins: opening them, and looking at one without being at its mercy.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "sluice/abi.h"

namespace sluice::plugin {

// The table that modules get in init(): process-wide, lives until the process ends. Thread-safe.
const sluice_host& module_host();

// Opens the library, negotiates and runs the module's init(). The same file (by inode) is opened once, whoever asks, and
// never unloaded: threads and exit handlers of libraries would outlive it. Whatever goes wrong is a Status whose message
// begins with the file. One thread at a time ([control]).
base::Result<const sluice_module*> open_library(const std::string& path);

// What a plugin says about itself.
struct Description {
  struct Operator {
    std::string type, kind, version, summary;
  };
  std::string file, name, version, vendor, build, abi;
  std::vector<Operator> operators;
};
Description describe(const sluice_module& module, const std::string& file);

// open_library() in a child process: a library that crashes or hangs while it is loaded is a Status, too. Call it before
// the process starts threads. `timeout_ms`: a child that is not done by then is killed.
base::Result<Description> probe(const std::string& path, int timeout_ms = 10000);

}  // namespace sluice::plugin
