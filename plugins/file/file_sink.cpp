#include "file_sink.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "file_position.h"

namespace sluice::file {
namespace {

constexpr size_t kBufferSize = 256 * 1024;
constexpr char kTemporaryEnd[] = ".tmp";

std::string zero_padded(uint64_t n, size_t width) {
  std::string digits = std::to_string(n);
  return digits.size() >= width ? digits : std::string(width - digits.size(), '0') + digits;
}

Status failed(const std::string& what, const std::string& path) {
  const int error = errno;
  const std::string message = "cannot " + what + " " + path + ": " + error_text(error);
  return error == ENOSPC || error == EDQUOT ? Status::retry(message, 1000) : Status::fatal(message);
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool begins_with(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}
bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

Options<FileSinkConfig> FileSink::options() {
  return {opt("dir", &FileSinkConfig::dir)
              .required()
              .doc("Folder for the files; made if it is not there.")
              .example("out/orders"),
          opt("prefix", &FileSinkConfig::prefix)
              .doc("How the files' names begin. Default: the operator's id.")
              .example("orders"),
          opt("on_delete", &FileSinkConfig::on_delete,
              {{"warn", OnDelete::kWarn},
               {"write", OnDelete::kWrite},
               {"ignore", OnDelete::kIgnore},
               {"reject", OnDelete::kReject}})
              .def("warn")
              .doc("Rows that are marked as deleted: written like others with a warning (once for each lane), written, "
                   "left out, or bad records.")};
}

Status FileSink::configure(Needs& needs) {
  if (config().dir.empty()) return Status::fatal("`dir` is empty");
  const std::string p = prefix();
  if (p.empty() || p.front() == '.' || p.find('/') != std::string::npos)
    return Status::fatal("`prefix` must be the beginning of a file name: not empty, no slash, no dot at its begin");
  needs.writes_alone("the files " + (std::filesystem::absolute(config().dir) / p).lexically_normal().string() +
                     "-*.jsonl: give one of them another `prefix` or `dir`");
  needs.delivery(SLUICE_DELIVERY_EPOCH);
  needs.body();
  return Status::ok();
}

Status FileSink::open() {
  std::error_code error;
  std::filesystem::create_directories(config().dir, error);
  if (error) return Status::fatal("cannot make the folder " + config().dir + ": " + error.message());
  SLUICE_CHECK_OK(settle());
  return remove_leftovers();
}

Status FileSink::check(Problems& problems) {
  if (const std::string problem = unwritable_folder(config().dir); !problem.empty()) problems.add_to("dir", problem);
  problems.add_unless_ok(read_marker(), "dir");
  return Status::ok();
}

Status FileSink::settle() {
  SLUICE_CHECK_OK(read_marker());
  if (marker_) SLUICE_CHECK_OK(finish_rename(*marker_));
  if (unsynced_) SLUICE_CHECK_OK(sync_folder(config().dir));
  unsynced_ = false;
  return Status::ok();
}

std::string FileSink::file_prefix() const { return prefix() + "-" + zero_padded(lane(), 2) + "-"; }
std::string FileSink::file_name(uint64_t epoch) const { return file_prefix() + zero_padded(epoch, 10) + ".jsonl"; }
std::string FileSink::temporary_name(const std::string& file, std::string_view lineage) const {
  return std::string(".").append(file).append(own_mark()).append(std::to_string(stable_hash(lineage))).append(kTemporaryEnd);
}
std::string FileSink::own_mark() const { return "." + std::to_string(stable_hash(id())) + "-"; }
std::string FileSink::marker_path() const {
  return in_folder(".sluice-" + std::string(id()) + "-" + std::to_string(lane()) + ".json");
}

Status FileSink::read_marker() {
  marker_.reset();
  std::ifstream in(marker_path());
  if (!in) {
    if (exists(marker_path())) return Status::fatal("cannot read " + marker_path() + ": " + error_text(errno));
    return Status::ok();
  }
  std::ostringstream text;
  text << in.rdbuf();
  const std::string json = text.str();
  Value v;
  EpochMarker m;
  const bool readable =
      parse(Value::json_object(json), &v).is_ok() && v.find("format").int64() == 1 && v.find("epoch").int64();
  if (!readable)
    return Status::fatal(marker_path() +
                         " is damaged or of a newer version, so it is not known which rows are in the files. Move "
                         "the folder's files away, or choose another `dir`.");
  m.pipeline = v.find("pipeline").text();
  m.lineage = v.find("lineage").text();
  m.file = v.find("file").text();
  m.epoch = static_cast<uint64_t>(*v.find("epoch").int64());
  if (m.pipeline != pipeline())
    return Status::fatal("the folder " + config().dir + " is in use by an operator `" + std::string(id()) +
                         "` of the pipeline `" + m.pipeline + "`: choose another `dir`");
  marker_ = std::move(m);
  return Status::ok();
}

// Step 4 of the marker's epoch, if a crash had kept it from being done.
Status FileSink::finish_rename(const EpochMarker& marker) const {
  if (marker.file.empty()) return Status::ok();
  const std::string from = in_folder(temporary_name(marker.file, marker.lineage)), to = in_folder(marker.file);
  if (!exists(from)) return Status::ok();
  if (rename(from.c_str(), to.c_str()) != 0) return failed("rename to", to);
  return sync_folder(config().dir);
}

// Temporaries of epochs that were not committed: their rows come again.
Status FileSink::remove_leftovers() const {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(config().dir.c_str()), closedir);
  if (folder == nullptr) return failed("read the folder", config().dir);
  const std::string beginning = std::string(".").append(file_prefix()), own = ".jsonl" + own_mark();
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (!begins_with(name, beginning) || name.find(own) == std::string_view::npos || !ends_with(name, kTemporaryEnd)) continue;
    if (unlink(in_folder(entry->d_name).c_str()) != 0 && errno != ENOENT)
      return failed("remove", in_folder(entry->d_name));
  }
  return Status::ok();
}

Status FileSink::epoch_begin(uint64_t checkpoint) {
  file_.reset();
  SLUICE_CHECK_OK(settle());
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
  buffer_.clear();
  has_rows_ = false;
  epoch_ = checkpoint;
  is_in_already_ = marker_ && marker_->lineage == lineage() && marker_->epoch >= checkpoint;
  return Status::ok();
}

Status FileSink::write(const Batch& in, uint32_t* consumed) {
  if (is_in_already_) return Status::ok();
  for (uint32_t row = 0; row < in.size(); ++row) {
    *consumed = row;
    if (buffer_.size() >= kBufferSize) SLUICE_CHECK_OK(flush());
    const bool is_deleted = in.change(row) == SLUICE_CHANGE_DELETE;
    if (is_deleted && config().on_delete == OnDelete::kIgnore) {
      count("deletes_ignored");
      continue;
    }
    if (is_deleted && config().on_delete == OnDelete::kReject) {
      SLUICE_CHECK_OK(reject(row, "a deleted row cannot be written; see `on_delete`"));
      continue;
    }
    std::string_view json;
    const Status s = in.json(row, &json);
    if (s.code() == SLUICE_BAD_RECORD) {
      SLUICE_CHECK_OK(reject(row, s.message()));
      continue;
    }
    SLUICE_CHECK_OK(s);
    append_line(json);
    has_rows_ = true;
    if (is_deleted) deleted_row_written();
  }
  return Status::ok();
}

// Nothing in its line says that the row is gone, unless the row itself does, as change data does.
void FileSink::deleted_row_written() {
  count("deletes_written");
  if (config().on_delete != OnDelete::kWarn || was_warned_) return;
  was_warned_ = true;
  warn(
      "rows that are marked as deleted are written like others: set `on_delete: write` if their lines say that "
      "themselves, else `ignore` or `reject`");
}

void FileSink::append_line(std::string_view json) {
  const size_t begin = buffer_.size();
  buffer_.append(json);
  // Between two tokens a line break is as good as a blank; inside of a string JSON does not allow it.
  for (const char line_break : {'\n', '\r'})
    for (size_t at = buffer_.find(line_break, begin); at != std::string::npos; at = buffer_.find(line_break, at))
      buffer_[at] = ' ';
  buffer_.push_back('\n');
}

// What could not be written stays in the buffer.
Status FileSink::flush() {
  if (!file_.is_open()) {
    temporary_ = in_folder(temporary_name(file_name(epoch_), lineage()));
    file_ = FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file_.is_open()) return failed("create", temporary_);
  }
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t n = ::write(file_.get(), buffer_.data() + done, buffer_.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      const Status s = failed("write", temporary_);
      buffer_.erase(0, done);
      return s;
    }
  }
  buffer_.clear();
  return Status::ok();
}

Status FileSink::sync_rows() {
  SLUICE_CHECK_OK(flush());
  // After a failed fsync the kernel may have dropped the pages and a second one would succeed: only new writing helps.
  if (fsync(file_.get()) != 0)
    return Status::fatal("cannot sync " + temporary_ + ": " + error_text(errno) +
                         "; after a restart the rows are written again");
  return sync_folder(config().dir);
}

Status FileSink::commit(uint64_t checkpoint) {
  if (marker_ && marker_->lineage == lineage() && marker_->epoch >= checkpoint) return settle();
  const std::string name = has_rows_ ? file_name(checkpoint) : std::string();
  if (has_rows_ && exists(in_folder(name)))
    return Status::fatal(in_folder(name) +
                         " is there already and is not of this run: move it away, or choose another `dir` or `prefix`");
  if (has_rows_) SLUICE_CHECK_OK(sync_rows());
  unsynced_ = true;
  EpochMarker m{std::string(pipeline()), std::string(lineage()), name, checkpoint};
  SLUICE_CHECK_OK(write_file_atomically(marker_path(), m.to_json()));
  // The epoch is in: nothing may remove its temporary any more, and a repeated commit only finishes the last step.
  marker_ = std::move(m);
  file_.reset();
  temporary_.clear();
  has_rows_ = false;
  SLUICE_CHECK_OK(finish_rename(*marker_));
  unsynced_ = false;
  return Status::ok();
}

Status FileSink::last_committed(uint64_t* checkpoint, std::string* lineage) {
  SLUICE_CHECK_OK(settle());
  *checkpoint = marker_ ? marker_->epoch : 0;
  *lineage = marker_ ? marker_->lineage : std::string();
  return Status::ok();
}

Status FileSink::close() {
  file_.reset();
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
  return Status::ok();
}

}  // namespace sluice::file
