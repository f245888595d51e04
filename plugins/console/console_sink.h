// console.sink: rows on standard output, for looking at a pipeline.
#pragma once
#include <cstdint>
#include <string>

#include "sluice/sdk.hpp"

namespace sluice::console {

inline constexpr char kConsoleSinkDoc[] = R"md(
Prints each row as one line of JSON on standard output, with `prefix` before it, and nothing else; messages of the host go to
standard error. Lines of several lanes and several console sinks are never mixed within a line.

At least once: after a crash, rows since the last checkpoint are printed again.

A row that is marked as deleted is printed like any other, and nothing but the row itself can say that it is gone, as change
data from a database does. `on_delete` says what is wanted; counters: `deletes_written`, `deletes_ignored`.

With `limit`, no more than so many rows are printed by each lane; the others are counted (`rows_not_printed`) and dropped, and the
pipeline goes on. When the reader of a pipe goes away (`sluice run … | head`), the job stops with a message.
)md";

// A row that is marked as deleted. kWarn: printed, and said once.
enum class OnDelete { kWarn, kWrite, kIgnore, kReject };

struct ConsoleSinkConfig {
  std::string prefix;
  int64_t limit = 0;
  OnDelete on_delete = OnDelete::kWarn;
};

// Made by the host, one for each lane; [operator] calls only. All instances in the process share standard output and
// take turns.
class ConsoleSink final : public Sink<ConsoleSinkConfig> {
 public:
  static constexpr const char* kType = "console.sink";
  static constexpr const char* kVersion = "0.1.0";
  static constexpr const char* kSummary = "Prints rows as JSON lines on standard output.";
  static constexpr const char* kDoc = kConsoleSinkDoc;
  static Options<ConsoleSinkConfig> options();

  Status configure(Needs& needs) override;
  Status write(const Batch& in, uint32_t* consumed) override;
  Status prepare(uint64_t checkpoint) override;
  Status close() override;

 private:
  Status flush();
  void deleted_row_printed();

  std::string pending_;      // whole lines that are not printed yet
  size_t done_ = 0;          // bytes of it that are
  int64_t printed_ = 0;      // rows
  bool was_warned_ = false;  // of deleted rows
};

}  // namespace sluice::console
