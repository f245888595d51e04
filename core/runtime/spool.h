// Rows of an epoch sink that wait for their checkpoint. Format: docs/on-disk-formats.md.
#pragma once
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
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
  SpoolOrigin origin;
  int64_t event_time = 0;
  uint8_t change = 0;
};

// One segment: the rows between two barriers. Used by one thread at a time.
class SpoolWriter {
 public:
  static base::Result<std::unique_ptr<SpoolWriter>> create(const std::string& path);
  ~SpoolWriter();
  base::Status append(const SpoolRow& row);
  // After this the file is complete; it is made durable by the checkpoint that takes it over.
  base::Status close();
  const std::string& path() const { return path_; }
  uint64_t rows() const { return rows_; }

 private:
  SpoolWriter(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  std::FILE* file_;
  uint64_t rows_ = 0;
};

// Calls `visit` for every row, in order; a status that is not OK ends the reading and is returned.
base::Status read_spool(const std::string& path, const std::function<base::Status(const SpoolRow&)>& visit);

}  // namespace sluice::runtime
