// A pipeline that runs.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "config/pipeline_document.h"
#include "observe/progress.h"
#include "plugin/registry.h"

namespace sluice::runtime {

// What the command line adds to the pipeline file.
struct JobOptions {
  std::string from;                      // "": newest checkpoint if there is one; "none": from scratch, once; or a number
  std::vector<std::string> drop_states;  // operator ids, or operator/state
  bool accept_duplicates = false;        // go on although a sink holds more than the checkpoint
  std::string sluice_version;
  std::string work_dir;                  // for running state and spools; empty: <checkpoint dir>/work
  const base::Clock* clock = nullptr;    // null: the system's
  bool no_final_checkpoint = false;      // tests
};

enum class Outcome { kFinished /* bounded input ended */, kStopped /* on request */ };

// Owned by the caller; run() is called once, from one thread. request_stop() and progress() from any thread
// (request_stop() also from a signal handler's helper thread). The document and the registry outlive it.
class Job {
 public:
  // Plans the graph, makes one instance of every operator and lets it check its options. No connection, no file is
  // opened: this is also what `validate` does. Problems that the operators find go to `diagnostics`, with the place
  // of the operator's `with` in the file.
  static base::Result<std::unique_ptr<Job>> create(const config::PipelineDocument& document, plugin::PluginRegistry& registry,
                                                   JobOptions options, config::Diagnostics& diagnostics);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // The physical plan for people: stages, lanes, how rows move between them.
  std::string describe_plan() const;
  // Looks at the folders that the job will write to, and lets one instance of every operator look at what it needs outside:
  // servers, files. Nothing is opened for good or changed there; what is wrong goes to `diagnostics`, with the place of the
  // option or of the operator. Gives how many operators have such a check. Instead of run().
  size_t check_outside(config::Diagnostics& diagnostics);
  // Opens or restores, runs to the end of the input or to a stop request. A start that is refused for what the
  // checkpoint store or a sink holds answers with a message that begins with `checkpoints: `.
  base::Result<Outcome> run();
  // Ends the run with a checkpoint. A second call gives up on the checkpoint and ends at once.
  void request_stop();
  observe::Progress progress() const;

  struct Impl;

 private:
  explicit Job(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Whether the rows of a source of the document, as it is set up, have event times of their own. Makes an instance, opens
// nothing. False also when the source refuses its options.
bool gives_event_time(const config::PipelineDocument& document, const config::OperatorSection& source, plugin::PluginRegistry& registry,
                      const std::string& sluice_version);

}  // namespace sluice::runtime
