// file.source: lines of files as rows.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator_pages.h"
#include "sluice/sdk.hpp"
#include "split_file.h"

namespace sluice::file {

enum class OnGap { kFail, kRestart };

struct FileSourceConfig {
  std::string path;
  bool follow = false;
  Size max_line;
  OnGap on_gap = OnGap::kFail;
};

// Bytes of one file at a time, shared by all files of a source so that memory does not grow with their number.
// A value inside FileSource.
class ReadBuffer {
 public:
  static constexpr size_t kChunk = 256 * 1024;

  // There is a whole line of `file` at its position.
  bool has_line(const SplitFile& file) const noexcept;
  // Reads from the file's position. A buffer in which no line fitted is made larger, up to `max_size`.
  Status fill(const SplitFile& file, size_t max_size);
  // Full, and not one line ended in it.
  bool is_too_small_for(const SplitFile& file) const noexcept {
    return owner_ == &file && drained_ && file.position().offset == base_ && size_ == capacity_;
  }
  void clear() noexcept { owner_ = nullptr; }
  void mark_drained() noexcept { drained_ = true; }

  const char* at(uint64_t offset) const noexcept { return bytes_.get() + (offset - base_); }
  const char* end() const noexcept { return bytes_.get() + size_; }
  uint64_t base() const noexcept { return base_; }
  uint64_t end_offset() const noexcept { return base_ + size_; }
  bool ends_with_file() const noexcept { return size_ < capacity_; }
  char* scratch() noexcept;  // kChunk bytes; what the buffer held is gone

 private:
  void reserve(size_t capacity);

  std::unique_ptr<char[]> bytes_;
  const SplitFile* owner_ = nullptr;
  size_t capacity_ = 0, size_ = 0;
  uint64_t base_ = 0;
  bool drained_ = false;
};

// Reads its splits in turn. Made by the host, one for each lane; [operator] calls only; holds no thread.
class FileSource final : public Source<FileSourceConfig> {
 public:
  static constexpr const char* kType = "file.source";
  static constexpr const char* kVersion = "0.1.0";
  static constexpr const char* kSummary =
      "Reads lines of files, JSON lines above all; whole files, or followed like tail -F.";
  static constexpr const char* kDoc = kFileSourceDoc;
  static Options<FileSourceConfig> options();

  Status configure(Needs& needs) override;
  Status check(Problems& problems) override;
  Status discover(std::vector<Split>* splits) override;
  Status assign(const std::vector<AssignedSplit>& splits) override;
  bool may_have_grown(std::string_view split_id) override;
  Status poll(uint32_t max_rows) override;
  std::string describe_position(std::string_view split_id, std::string_view position) override;

 private:
  // Rows of one emit call; the views point into the buffer or into `cut_lines`.
  struct Rows {
    std::vector<sluice_str> raw, position;
    std::vector<char> position_bytes;
    std::deque<std::string> cut_lines;
    uint64_t end = 0;  // offset behind the last one
    int64_t empty_lines = 0, long_lines = 0;
    void clear();
    size_t size() const noexcept { return raw.size(); }
  };

  Status read(SplitFile& file);
  Status open_file(SplitFile& file);
  Status look_for_more(SplitFile& file);
  Status read_lines(SplitFile& file, bool just_filled);
  Status read_rest(SplitFile& file, std::string_view rest);
  Status read_long_line(SplitFile& file);
  Status finish(SplitFile& file);
  void tell_unclear(SplitFile& file, const RotatedFiles& rotated);
  Status gap(SplitFile& file, const std::string& reason);
  void add_row(std::string_view line, FilePosition* next, uint64_t end);
  std::string cut(std::string_view line) const;
  Status emit(SplitFile& file, const FilePosition& next);
  void report(SplitFile& file);
  void tell_position(const SplitFile& file) const;
  void set_waiting(SplitFile& file, bool waiting);
  // Enough to see that a line is too long: behind a byte order mark, with its end.
  size_t longest_read() const noexcept { return static_cast<size_t>(config().max_line.bytes) + 8; }
  // The file gets no more bytes: its last line needs no newline.
  bool is_final(const SplitFile& file) const noexcept { return !config().follow || file.progress.draining; }

  std::vector<std::unique_ptr<SplitFile>> files_;
  std::optional<std::vector<std::string>> whole_files_;  // without `follow` the list is made once
  bool nothing_found_ = false;
  size_t current_ = 0;
  ReadBuffer buffer_;
  Rows rows_;
  uint32_t row_credit_ = 0;  // of this poll
  size_t byte_credit_ = 0;
};

}  // namespace sluice::file
