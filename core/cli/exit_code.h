// What the command's exit status means. Scripts rely on the numbers: they are never given another meaning.
#pragma once

namespace sluice::cli {

enum ExitCode : int {
  kExitOk = 0,                 // finished; also: stopped on request, after a final checkpoint
  kExitFailed = 1,             // the job, or whatever the command had to do, failed
  kExitUsage = 2,              // wrong arguments, or a pipeline with errors
  kExitCheckpointStore = 3,    // checkpoints in use by another process, damaged, or not to be restored as they are
  kExitNoFinalCheckpoint = 5,  // stopped on request, but the final checkpoint could not be written
  kExitInterrupted = 130,      // stopped at once by a second signal, without a checkpoint
};

}  // namespace sluice::cli
