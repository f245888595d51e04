// Where rows go that can never succeed: JSON lines with raw bytes, position, operator, reason and time.
// Format: docs/on-disk-formats.md.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/dead_letter_target.h"

namespace sluice::runtime {

struct DeadLetter {
  std::string_view operator_id, reason;
  std::string_view source, position;  // empty: made by an operator, of no source row
  std::string_view raw;               // data() == nullptr: none, which a tombstone says
  std::string_view key;               // the source's message key; data() == nullptr: none
  int64_t time_ms = 0;
  std::string_view code = "BAD_RECORD";
  bool is_tombstone = false;
};

// One for each task, used by its thread. Letters of the time after checkpoint n stand in a file of their own,
// `<dir>/<pipeline>-<task>-<lineage>-after-<n>.jsonl`; a restart from n removes what a crash left behind n, since the
// same rows are read again: a letter is there exactly once. Rows that an epoch sink refuses while it is given the epoch of
// checkpoint n stand in `<dir>/<pipeline>-<sink>.<lane>-<lineage>-epoch-<n>.jsonl`; a restart from n keeps those, and each
// new attempt starts them anew.
//
// With a target the letters go there instead, at least once: after a crash those of rows that are read again come again.
// Only what the target refuses stands in the files, with its reason.
class DeadLetters {
 public:
  DeadLetters(std::string dir, std::string pipeline, std::string task, DeadLetterTarget* target);
  ~DeadLetters();
  DeadLetters(const DeadLetters&) = delete;
  DeadLetters& operator=(const DeadLetters&) = delete;

  // The following letters belong to the time after checkpoint `number`. At the barrier of the next checkpoint: sync()
  // first.
  void begin_epoch(const std::string& lineage, uint64_t number);
  // The following letters belong to an attempt to write the epoch of checkpoint `number`; those of an earlier attempt go.
  base::Status begin_attempt(const std::string& lineage, uint64_t number);
  base::Status write(const DeadLetter& letter);
  base::Status sync(uint64_t checkpoint);  // all are durable

  // Removes the letters of `lineage` after checkpoint `number` that a crashed run left, and those of later epochs.
  static base::Status discard_after(const std::string& dir, const std::string& pipeline, const std::string& lineage, uint64_t number);

 private:
  base::Status open();
  base::Status append_line();  // line_ to the file
  base::Status keep_refused(std::vector<DeadLetterTarget::Refused> refused);
  DeadLetterTarget* const target_;
  const std::string dir_, pipeline_, task_;
  std::string path_;
  std::FILE* file_ = nullptr;
  std::string line_;
};

// How a job ends whose `on_error` is `fail`. `position` may be empty.
base::Status stopped_by_row(const std::string& operator_id, std::string_view reason, const std::string& position);

}  // namespace sluice::runtime
