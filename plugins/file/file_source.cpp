#include "file_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "file_paths.h"

namespace sluice::file {
namespace {

// Bytes emitted, and bytes looked through for the end of a line that is too long, before poll() returns.
constexpr size_t kBytesPerPoll = 1024 * 1024;
constexpr size_t kScanPerPoll = 8 * 1024 * 1024;
constexpr int64_t kFollowIntervalMs = 100;
// Without `follow`, so many files are read side by side.
constexpr size_t kFilesAtOnce = 16;
constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";
constexpr size_t kByteOrderMarkSize = 3;
// Never part of UTF-8: a row that ends with it is refused whatever it is read as.
constexpr char kNotText = '\xFF';

bool begins_with_byte_order_mark(const char* begin, const char* end) {
  return static_cast<size_t>(end - begin) >= kByteOrderMarkSize &&
         std::memcmp(begin, kByteOrderMark, kByteOrderMarkSize) == 0;
}

std::string_view without_carriage_return(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

Options<FileSourceConfig> FileSource::options() {
  return {opt("path", &FileSourceConfig::path)
              .required()
              .doc("A file, a folder or a pattern. Relative paths count from the working directory.")
              .example("data/topic_db.jsonl"),
          opt("follow", &FileSourceConfig::follow)
              .def("false")
              .doc("Go on reading what is added, as `tail -F` does, instead of ending with the files."),
          opt("max_line", &FileSourceConfig::max_line)
              .def("16MiB")
              .doc("Longer lines are bad records. More than the pipeline's `limits.max_record_size` helps only to see "
                   "more of "
                   "such a line in the dead letters."),
          opt("on_gap", &FileSourceConfig::on_gap, {{"fail", OnGap::kFail}, {"restart", OnGap::kRestart}})
              .def("fail")
              .doc("What to do when a file is not any more the one that had been read: stop, or read it from its "
                   "beginning.")};
}

Status ReadBuffer::fill(const SplitFile& file, size_t max_size) {
  const uint64_t offset = file.position().offset;
  reserve(is_too_small_for(file) ? std::max(kChunk, std::min(capacity_ * 2, max_size)) : kChunk);
  owner_ = nullptr;
  SLUICE_CHECK_OK(file.read(offset, bytes_.get(), capacity_, &size_));
  owner_ = &file;
  base_ = offset;
  drained_ = false;
  return Status::ok();
}

bool ReadBuffer::has_line(const SplitFile& file) const noexcept {
  const uint64_t offset = file.position().offset;
  if (owner_ != &file || drained_ || offset < base_ || offset >= end_offset()) return false;
  return std::memchr(at(offset), '\n', end_offset() - offset) != nullptr;
}

void ReadBuffer::reserve(size_t capacity) {
  if (capacity == capacity_) return;
  bytes_.reset();
  capacity_ = 0;
  bytes_.reset(new char[capacity]);
  capacity_ = capacity;
}

char* ReadBuffer::scratch() noexcept {
  owner_ = nullptr;
  return bytes_.get();
}

void FileSource::Rows::clear() {
  raw.clear();
  position.clear();
  position_bytes.clear();
  cut_lines.clear();
  empty_lines = long_lines = 0;
}

Status FileSource::configure(Needs&) {
  if (config().path.empty()) return Status::fatal("`path` is empty");
  if (config().max_line.bytes < 1024) return Status::fatal("`max_line` must be at least 1KiB");
  return Status::ok();
}

Status FileSource::check(Problems& problems) {
  const FileSet set(config().path);
  std::vector<std::string> paths;
  if (!problems.add_unless_ok(set.list(&paths), "path")) return Status::ok();
  if (paths.empty() && !config().follow)
    problems.add_to("path", set.not_found_message() + "; with `follow: true` the source waits for it");
  for (const std::string& path : paths)
    if (!FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)).is_open())
      problems.add_to("path", "cannot open " + path + ": " + error_text(errno));
  return Status::ok();
}

Status FileSource::discover(std::vector<Split>* splits) {
  const FileSet set(config().path);
  std::vector<std::string> paths;
  if (whole_files_) {
    paths = *whole_files_;
  } else {
    SLUICE_CHECK_OK(set.list(&paths));
    if (paths.empty() && !config().follow)
      return Status::fatal(set.not_found_message() + "; with `follow: true` the source waits for it");
    if (!config().follow) whole_files_ = paths;
  }
  // A single file that is followed is a split before it exists.
  if (paths.empty() && set.is_single_file()) paths.push_back(one_spelling(config().path));
  if (paths.empty() != nothing_found_) note(paths.empty() ? "waiting: " + set.not_found_message() : std::string());
  nothing_found_ = paths.empty();
  const bool fixed = !config().follow || set.is_single_file();
  int64_t ordinal = 0;
  for (std::string& path : paths) splits->push_back({std::move(path), fixed ? ordinal++ : -1});
  return Status::ok();
}

Status FileSource::assign(const std::vector<AssignedSplit>& splits) {
  for (const AssignedSplit& split : splits) {
    std::optional<FilePosition> restored;
    if (split.restored) {
      restored = FilePosition::decode(split.position);
      if (!restored)
        return Status::fatal("the checkpoint's position in " + split.id +
                             " cannot be read by this version of file.source");
    }
    files_.push_back(std::make_unique<SplitFile>(split.index, split.id, restored));
  }
  return Status::ok();
}

// Whether it has, assign() and its position tell. A file that is not there any more was read to its end.
bool FileSource::may_have_grown(std::string_view split_id) {
  return ::access(std::string(split_id).c_str(), F_OK) == 0;
}

std::string FileSource::describe_position(std::string_view split_id, std::string_view position) {
  const std::optional<FilePosition> p = FilePosition::decode(position);
  if (!p) return std::string(split_id) + ": unreadable position";
  return std::string(split_id) + ":" + std::to_string(p->line) + " (byte " + std::to_string(p->row_start) + ")";
}

Status FileSource::poll(uint32_t max_rows) {
  row_credit_ = max_rows;
  byte_credit_ = kBytesPerPoll;
  size_t without_rows = 0;  // files in a row that gave none
  while (row_credit_ > 0 && byte_credit_ > 0) {
    const size_t active = config().follow ? files_.size() : std::min(files_.size(), kFilesAtOnce);
    if (without_rows >= active) break;
    if (current_ >= active) current_ = 0;
    SplitFile& file = *files_[current_];
    const uint32_t before = row_credit_;
    SLUICE_CHECK_OK(read(file));
    if (file.progress.ended) {
      buffer_.clear();
      files_.erase(files_.begin() + static_cast<ptrdiff_t>(current_));
      without_rows = 0;
      continue;
    }
    if (buffer_.is_too_small_for(file)) continue;
    without_rows = row_credit_ < before ? 0 : without_rows + 1;
    if (!buffer_.has_line(file)) ++current_;
  }
  return Status::ok();
}

Status FileSource::read(SplitFile& file) {
  if (!file.is_open()) SLUICE_CHECK_OK(open_file(file));
  if (!file.is_open()) return Status::ok();
  if (file.progress.at_end) SLUICE_CHECK_OK(look_for_more(file));
  if (file.progress.at_end || !file.is_open()) return Status::ok();
  if (file.progress.long_line_scanned > 0) return read_long_line(file);
  const bool fill = !buffer_.has_line(file);
  if (fill) {
    SLUICE_CHECK_OK(file.refresh());
    if (file.size() < file.position().offset) return gap(file, "it was truncated while it was read");
    SLUICE_CHECK_OK(buffer_.fill(file, longest_read()));
  }
  return read_lines(file, fill);
}

Status FileSource::open_file(SplitFile& file) {
  const int64_t time = now();
  if (file.progress.waiting && time >= file.progress.last_check_ms &&
      time - file.progress.last_check_ms < kFollowIntervalMs)
    return Status::ok();
  file.progress.last_check_ms = time;
  std::string reason;
  SLUICE_CHECK_OK(file.open(config().follow, &reason));
  if (!reason.empty()) SLUICE_CHECK_OK(gap(file, reason));
  if (!file.is_open() && !config().follow) return Status::fatal(FileSet(file.path()).not_found_message());
  if (file.is_open()) tell_position(file);
  set_waiting(file, !file.is_open());
  return Status::ok();
}

// At the end of a followed file, every 100 ms.
Status FileSource::look_for_more(SplitFile& file) {
  const int64_t time = now();
  SplitFile::Progress& progress = file.progress;
  if (time >= progress.last_check_ms && time - progress.last_check_ms < kFollowIntervalMs) return Status::ok();
  progress.last_check_ms = time;
  SplitFile::News news = SplitFile::News::kNone;
  SLUICE_CHECK_OK(file.check(progress.seen_size, &news));
  if (news != SplitFile::News::kReplaced) progress.replaced_seen = false;
  set_waiting(file, news == SplitFile::News::kMissing);
  switch (news) {
    case SplitFile::News::kNone:
      return Status::ok();
    case SplitFile::News::kMissing:
      if (FilePosition at_end = file.position(); !at_end.gone && at_end.offset == progress.seen_size) {
        at_end.gone = true;
        file.set_position(at_end);
        tell_position(file);
      }
      return Status::ok();
    case SplitFile::News::kMore:
      progress.at_end = false;
      return Status::ok();
    case SplitFile::News::kTruncated:
      return gap(file, "it was truncated while it was followed");
    case SplitFile::News::kRewritten:
      return gap(file, "it was written anew while it was followed");
    case SplitFile::News::kReplaced:
      // Its writer may have the old file open for a moment longer: one more look before leaving it.
      progress.draining = progress.replaced_seen;
      progress.replaced_seen = true;
      progress.at_end = !progress.draining;
      return Status::ok();
  }
  return Status::ok();
}

// Where to go on when no row says so: which file it was at its beginning, and behind empty lines at its end.
void FileSource::tell_position(const SplitFile& file) const {
  FilePosition::Encoded encoded;
  file.position().encode(encoded);
  move_position(file.index(), {encoded, sizeof encoded});
}

Status FileSource::gap(SplitFile& file, const std::string& reason) {
  const std::string what = file.path() + ": " + reason;
  if (config().on_gap == OnGap::kFail)
    return Status::fatal(
        what +
        ". Going on where the reading had stopped is not possible. Put the old file back, or set `on_gap: "
        "restart` to read the file that is there now from its beginning.");
  warn(what + "; reading it from its beginning (on_gap: restart)");
  count("gaps");
  buffer_.clear();
  file.start_anew();
  std::string unused;
  SLUICE_CHECK_OK(file.open(false, &unused));
  if (file.is_open()) tell_position(file);
  return Status::ok();
}

Status FileSource::read_lines(SplitFile& file, bool just_filled) {
  rows_.clear();
  FilePosition next = file.position();
  const char* at = buffer_.at(next.offset);
  const char* const end = buffer_.end();
  if (next.offset == 0 && begins_with_byte_order_mark(at, end)) at += kByteOrderMarkSize;
  const char* const begin = at;
  while (rows_.size() < row_credit_) {
    const char* newline =
        at == end ? nullptr : static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (newline == nullptr) {
      buffer_.mark_drained();
      break;
    }
    const uint64_t offset = buffer_.end_offset() - static_cast<uint64_t>(end - (newline + 1));
    next.row_start = offset - static_cast<uint64_t>(newline + 1 - at);
    add_row({at, static_cast<size_t>(newline - at)}, &next, offset);
    at = newline + 1;
  }
  if (at == begin && just_filled) return read_rest(file, {at, static_cast<size_t>(end - at)});
  SLUICE_CHECK_OK(emit(file, next));
  report(file);
  return Status::ok();
}

// No line ends in what has just been read.
Status FileSource::read_rest(SplitFile& file, std::string_view rest) {
  FilePosition next = file.position();
  if (!buffer_.ends_with_file()) {
    if (rest.size() > static_cast<size_t>(config().max_line.bytes) + 1) {
      file.progress.long_line_scanned = buffer_.end_offset();
      buffer_.clear();
    }
  } else if (!is_final(file)) {
    file.progress.at_end = true;
    file.progress.seen_size = buffer_.end_offset();
  } else {
    if (!rest.empty()) {
      next.row_start = buffer_.end_offset() - rest.size();
      next.unterminated = true;
      add_row(rest, &next, buffer_.end_offset());
    }
    next.offset = buffer_.end_offset();
    SLUICE_CHECK_OK(emit(file, next));
    return finish(file);
  }
  report(file);
  return Status::ok();
}

void FileSource::add_row(std::string_view line, FilePosition* next, uint64_t end) {
  ++next->line;
  next->offset = end;
  next->gone = false;
  line = without_carriage_return(line);
  if (line.empty()) {
    ++rows_.empty_lines;
    return;
  }
  if (line.size() > static_cast<size_t>(config().max_line.bytes)) {
    ++rows_.long_lines;
    rows_.cut_lines.push_back(cut(line));
    line = rows_.cut_lines.back();
  }
  rows_.raw.push_back(str(line));
  rows_.end = end;
  rows_.position_bytes.resize(rows_.position_bytes.size() + FilePosition::kEncodedSize);
  FilePosition::Encoded& encoded = *reinterpret_cast<FilePosition::Encoded*>(
      rows_.position_bytes.data() + rows_.position_bytes.size() - FilePosition::kEncodedSize);
  next->encode(encoded);
}

std::string FileSource::cut(std::string_view line) const {
  std::string out(line.substr(0, static_cast<size_t>(config().max_line.bytes)));
  out.push_back(kNotText);
  return out;
}

// Looks for the newline a piece at a time; then gives the line's beginning.
Status FileSource::read_long_line(SplitFile& file) {
  uint64_t& scanned = file.progress.long_line_scanned;
  const char* newline = nullptr;
  bool at_end = false;
  for (size_t looked = 0; looked < kScanPerPoll && newline == nullptr && !at_end;) {
    char* const piece = buffer_.scratch();
    size_t got = 0;
    SLUICE_CHECK_OK(file.read(scanned, piece, ReadBuffer::kChunk, &got));
    at_end = got < ReadBuffer::kChunk;
    newline = got == 0 ? nullptr : static_cast<const char*>(std::memchr(piece, '\n', got));
    scanned += newline != nullptr ? static_cast<uint64_t>(newline + 1 - piece) : got;
    looked += got;
  }
  if (newline == nullptr) {
    if (!at_end) {
      report(file);
      return Status::ok();
    }
    if (!is_final(file)) {
      file.progress.at_end = true;
      file.progress.seen_size = scanned;
      report(file);
      return Status::ok();
    }
  }

  FilePosition next = file.position();
  next.row_start = next.offset;
  next.unterminated = newline == nullptr;
  std::string beginning(static_cast<size_t>(config().max_line.bytes) + 1, '\0');
  size_t got = 0;
  SLUICE_CHECK_OK(file.read(next.offset, beginning.data(), beginning.size(), &got));
  beginning.resize(got);
  rows_.clear();
  add_row(beginning, &next, scanned);
  scanned = 0;
  SLUICE_CHECK_OK(emit(file, next));
  report(file);
  return Status::ok();
}

Status FileSource::emit(SplitFile& file, const FilePosition& next) {
  if (rows_.size() > 0) {
    rows_.position.clear();
    for (size_t i = 0; i < rows_.size(); ++i)
      rows_.position.push_back(
          {rows_.position_bytes.data() + i * FilePosition::kEncodedSize, FilePosition::kEncodedSize});
    sluice_rows out;
    std::memset(&out, 0, sizeof out);
    out.struct_size = sizeof out;
    out.size = static_cast<uint32_t>(rows_.size());
    out.raw = rows_.raw.data();
    out.position = rows_.position.data();
    out.split = file.index();
    SLUICE_CHECK_OK(emit_rows(out));
    row_credit_ -= static_cast<uint32_t>(rows_.size());
  }
  const uint64_t advanced = next.offset - file.position().offset;
  byte_credit_ -= std::min<uint64_t>(byte_credit_, advanced);
  file.set_position(next);
  if (advanced > 0 && (rows_.size() == 0 || rows_.end < next.offset)) tell_position(file);
  if (rows_.empty_lines > 0) count("empty_lines", rows_.empty_lines);
  if (rows_.long_lines > 0) {
    count("lines_too_long", rows_.long_lines);
    warn(file.path() + ": " + std::to_string(rows_.long_lines) + " line(s) up to line " + std::to_string(next.line) +
         " are longer than max_line; refused");
  }
  return Status::ok();
}

// The last byte of a file that gets no more has been emitted.
Status FileSource::finish(SplitFile& file) {
  if (!file.progress.draining) {
    file.progress.ended = true;
    report(file);
    return Status::ok();
  }
  std::vector<std::string> splits;
  SLUICE_CHECK_OK(FileSet(config().path).list(&splits));
  RotatedFiles rotated;
  SLUICE_CHECK_OK(file.find_rotated(splits, &rotated));
  tell_unclear(file, rotated);
  count("rotations");
  buffer_.clear();
  if (rotated.next.is_open()) {
    info(file.path() + ": the old file is read to its end; it was rotated more than once, going on with " +
         rotated.next_path);
    SLUICE_CHECK_OK(file.start_rotated(std::move(rotated.next)));
    tell_position(file);
    return Status::ok();
  }
  info(file.path() + ": the old file is read to its end; going on with the new one of this name");
  file.start_anew();
  return open_file(file);
}

// Once for each file on the way to the one that has the path now.
void FileSource::tell_unclear(SplitFile& file, const RotatedFiles& rotated) {
  std::vector<std::string>& told = file.progress.unclear_told;
  for (const std::string& other : rotated.unclear) {
    if (std::find(told.begin(), told.end(), other) != told.end()) continue;
    told.push_back(other);
    count("files_skipped");
    warn(file.path() + " was rotated, and " + other +
         " is younger than the file that was read last. If it is part of the rotation, its rows are skipped: give it to a "
         "pipeline of its own");
  }
}

void FileSource::report(SplitFile& file) {
  uint32_t flags = 0;
  const FilePosition& position = file.position();
  if (file.progress.ended) flags |= SLUICE_SPLIT_END;
  if (file.progress.ended || file.progress.at_end) flags |= SLUICE_SPLIT_CAUGHT_UP | SLUICE_SPLIT_SNAPSHOT_COMPLETE;
  if (position.offset >= file.first_size()) flags |= SLUICE_SPLIT_SNAPSHOT_COMPLETE;
  if (flags != file.progress.reported_status) split_status(file.index(), flags);
  file.progress.reported_status = flags;
  // In rows, estimated from the rows that have been read.
  const uint64_t behind = file.size() > position.offset ? file.size() - position.offset : 0;
  const uint64_t row_size = position.line > 0 ? std::max<uint64_t>(1, position.offset / position.line) : 1;
  split_lag(file.index(), static_cast<int64_t>((behind + row_size - 1) / row_size));
}

void FileSource::set_waiting(SplitFile& file, bool waiting) {
  if (file.progress.waiting == waiting) return;
  file.progress.waiting = waiting;
  const auto missing = std::find_if(files_.begin(), files_.end(), [](const auto& f) { return f->progress.waiting; });
  note(missing == files_.end() ? std::string() : "waiting: " + FileSet((*missing)->path()).not_found_message());
}

}  // namespace sluice::file
