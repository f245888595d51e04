#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/standard_streams.h"
#include "runtime/crash_report.h"

int main(int argc, char** argv) {
  if (!sluice::cli::open_closed_streams()) return sluice::cli::kExitFailed;
  sluice::runtime::report_crashes();
  return sluice::cli::end_output(sluice::cli::run_command_line({argv + 1, argv + argc}));
}
