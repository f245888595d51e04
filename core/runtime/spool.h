// Rows of an epoch sink that wait for their checkpoint. Format: docs/on-disk-formats.md.
#pragma once
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/row_batch.h"

namespace sluice::runtime {

// Where the row came from, by names that outlive a restart; all empty: made of no source row.
struct SpoolOrigin {
  std::string_view source_id, split_id;
  std::string_view position;  // opaque, as the source gave it
};
struct SpoolRow {
  std::string_view json;
  std::string_view key;  // of the sink's `key:`; data() == nullptr: it has none
  SpoolOrigin origin;
  int64_t event_time = 0;
  uint8_t change = 0;
};

// One segment: the rows between two barriers. Used by one thread at a time. RETRY: no space; call again, and it goes on
// where it had stopped.
class SpoolWriter {
 public:
  explicit SpoolWriter(std::string path);
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  // Into memory; then flush() is due when is_full().
  base::Status append(const SpoolRow& row);
  bool is_full() const { return buffer_.size() >= kBufferSize; }
  base::Status flush();
  // After OK the file is complete and durable. No space on the way to the file: RETRY, as flush(); what the file system
  // says only at the end is kFatal, now and when it is called again.
  base::Status close();
  const std::string& path() const { return path_; }
  uint64_t rows() const { return rows_; }

 private:
  static constexpr size_t kBufferSize = 256 << 10;
  const std::string path_;
  std::string buffer_;
  int fd_ = -1;
  std::optional<base::Status> closed_;
  uint64_t rows_ = 0;
};

// Calls `visit` for every row, in order; a status that is not OK ends the reading and is returned.
base::Status read_spool(const std::string& path, const std::function<base::Status(const SpoolRow&)>& visit);

}  // namespace sluice::runtime
