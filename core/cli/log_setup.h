// Where log lines go and what they look like.
#pragma once
#include <string>

#include "observe/status_area.h"

namespace sluice::cli {

// Everything the process writes to standard error goes through it. Lives until the process ends: threads of plugins may
// still log then.
observe::StatusArea& error_area();

// Makes the default logger of the process: one line for each message, to error_area(). `level`: trace, debug, info,
// warn, error or off. `json`: one JSON object for each line instead of text. Called once, before there are threads.
void set_up_log(const std::string& level, bool json);

}  // namespace sluice::cli
