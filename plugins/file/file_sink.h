// file.sink: rows as JSON lines, one file for each epoch.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "epoch_marker.h"
#include "file_paths.h"
#include "operator_pages.h"
#include "sluice/sdk.hpp"

namespace sluice::file {

// A row that is marked as deleted. kWarn: written, and said once.
enum class OnDelete { kWarn, kWrite, kIgnore, kReject };

struct FileSinkConfig {
  std::string dir;
  std::optional<std::string> prefix;
  OnDelete on_delete = OnDelete::kWarn;
};

// Exactly once by epoch. Made by the host, one for each lane; [operator] calls only; holds no thread.
//
// How an epoch becomes durable, step by step; a crash between any two leaves one of two states that open() tells apart:
//   1. rows go to the hidden temporary of the epoch
//   2. commit(): fsync of the temporary and of the folder
//   3. the marker {lineage, epoch, file} replaces the old one: from here on the epoch is in
//   4. the temporary gets its name; fsync of the folder. After a crash between 3 and 4 open() does this step.
class FileSink final : public Sink<FileSinkConfig> {
 public:
  static constexpr const char* kType = "file.sink";
  static constexpr const char* kVersion = "0.1.0";
  static constexpr const char* kSummary =
      "Writes rows as JSON lines, exactly once: a file for each checkpoint that has rows.";
  static constexpr const char* kDoc = kFileSinkDoc;
  static Options<FileSinkConfig> options();

  Status configure(Needs& needs) override;
  Status open() override;
  Status check(Problems& problems) override;
  Status write(const Batch& in, uint32_t* consumed) override;
  Status epoch_begin(uint64_t checkpoint) override;
  Status commit(uint64_t checkpoint) override;
  Status last_committed(uint64_t* checkpoint, std::string* lineage) override;
  Status close() override;

 private:
  std::string prefix() const { return config().prefix.value_or(std::string(id())); }
  std::string file_prefix() const;  // "orders-03-"
  std::string file_name(uint64_t epoch) const;
  // Another operator's temporary, and another lineage's of the same epoch, has another name.
  std::string temporary_name(const std::string& file, std::string_view lineage) const;
  std::string own_mark() const;
  std::string in_folder(const std::string& name) const { return config().dir + "/" + name; }
  std::string marker_path() const;
  // What the marker on disk says, with its last step done: an attempt to commit may have got further than its answer.
  Status settle();
  Status read_marker();
  Status finish_rename(const EpochMarker& marker) const;
  Status remove_leftovers() const;
  Status flush();
  void append_line(std::string_view json);
  void deleted_row_written();
  Status sync_rows();

  std::optional<EpochMarker> marker_;
  uint64_t epoch_ = 0;     // between epoch_begin and commit
  FileDescriptor file_;    // the epoch's temporary; opened with its first row
  std::string temporary_;  // its path
  std::string buffer_;
  bool has_rows_ = false;
  bool was_warned_ = false;     // of deleted rows
  bool is_in_already_ = false;  // the epoch that is given again is in the folder: its rows are passed over
  bool unsynced_ = false;       // a commit has begun and not ended: the folder may hold renames that are not durable
};

}  // namespace sluice::file
