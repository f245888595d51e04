#include "runtime/dead_letters.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "checkpoint/durable_file.h"
#include "data/json_writer.h"
#include "data/time_reader.h"
#include "data/utf8.h"
#include "observe/terminal_text.h"

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAfter = "-after-", kEpoch = "-epoch-";

std::string file_name(const std::string& pipeline, const std::string& task, const std::string& lineage, std::string_view kind, uint64_t number) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%010llu", static_cast<unsigned long long>(number));
  return pipeline + "-" + task + "-" + lineage.substr(0, 8) + std::string(kind) + digits + ".jsonl";
}

base::Status io_error(const std::string& what, const std::string& path) {
  return base::Status::fatal(what + " " + path + ": " + std::strerror(errno) +
                             ". Make room there or give another `dead_letters.dir`; the next run goes on from the last checkpoint");
}

void append_bytes(const char* name, std::string_view bytes, std::string* line) {
  line->append(",\"").append(name);
  if (data::is_utf8(bytes)) {
    line->append("\":");
    data::append_json_string(bytes, line);
    return;
  }
  line->append("_base64\":\"");
  std::string encoded(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()));
  line->append(encoded, 0, static_cast<size_t>(n)).push_back('"');
}

}  // namespace

DeadLetters::DeadLetters(std::string dir, std::string pipeline, std::string task, DeadLetterTarget* target)
    : target_(target), dir_(std::move(dir)), pipeline_(std::move(pipeline)), task_(std::move(task)) {}

DeadLetters::~DeadLetters() {
  if (file_ != nullptr) std::fclose(file_);
}

void DeadLetters::begin_epoch(const std::string& lineage, uint64_t number) {
  if (file_ != nullptr) std::fclose(std::exchange(file_, nullptr));
  path_ = dir_ + "/" + file_name(pipeline_, task_, lineage, kAfter, number);
}

base::Status DeadLetters::begin_attempt(const std::string& lineage, uint64_t number) {
  if (file_ != nullptr) std::fclose(std::exchange(file_, nullptr));
  path_ = dir_ + "/" + file_name(pipeline_, task_, lineage, kEpoch, number);
  std::error_code error;
  fs::remove(path_, error);
  if (error) return base::Status::fatal("cannot remove " + path_ + ": " + error.message());
  return base::Status::ok();
}

base::Status DeadLetters::open() {
  base::Status s = checkpoint::create_directory(dir_);
  if (s.is_ok()) {
    file_ = std::fopen(path_.c_str(), "ab");
    if (file_ == nullptr) return io_error("cannot open dead letters", path_);
    s = checkpoint::sync_directory(dir_);
  }
  return s.is_ok() ? s : base::Status::fatal("dead letters: " + s.message());
}

base::Status DeadLetters::write(const DeadLetter& letter) {
  line_.assign("{\"pipeline\":");
  data::append_json_string(pipeline_, &line_);
  line_.append(",\"operator\":");
  data::append_json_string(letter.operator_id, &line_);
  line_.append(",\"code\":");
  data::append_json_string(letter.code, &line_);
  line_.append(",\"reason\":");
  data::append_json_string(observe::valid_utf8(letter.reason), &line_);
  line_.append(",\"time\":");
  data::append_json_string(data::format_utc(letter.time_ms) + "Z", &line_);
  if (!letter.source.empty()) {
    line_.append(",\"source\":");
    data::append_json_string(letter.source, &line_);
    line_.append(",\"position\":");
    data::append_json_string(observe::valid_utf8(letter.position), &line_);
  }
  if (letter.key.data() != nullptr) append_bytes("key", letter.key, &line_);
  if (letter.raw.data() != nullptr) append_bytes("raw", letter.raw, &line_);
  else if (letter.is_tombstone) line_.append(",\"raw\":null");
  line_.append("}");
  if (target_ == nullptr) return append_line();
  std::vector<DeadLetterTarget::Refused> refused;
  SLUICE_TRY(target_->write(line_, &refused));
  return keep_refused(std::move(refused));
}

base::Status DeadLetters::keep_refused(std::vector<DeadLetterTarget::Refused> refused) {
  for (const DeadLetterTarget::Refused& r : refused) {
    line_.assign(r.line, 0, r.line.size() - 1);
    line_.append(",\"not_delivered\":");
    data::append_json_string(r.reason, &line_);
    line_.append("}");
    SLUICE_TRY(append_line());
  }
  return base::Status::ok();
}

base::Status DeadLetters::append_line() {
  if (file_ == nullptr) SLUICE_TRY(open());
  line_.push_back('\n');
  if (std::fwrite(line_.data(), 1, line_.size(), file_) != line_.size()) return io_error("cannot write dead letters", path_);
  return base::Status::ok();
}

base::Status DeadLetters::sync(uint64_t checkpoint) {
  if (target_ != nullptr) {
    std::vector<DeadLetterTarget::Refused> refused;
    SLUICE_TRY(target_->flush(checkpoint, &refused));
    SLUICE_TRY(keep_refused(std::move(refused)));
  }
  if (file_ == nullptr) return base::Status::ok();
  if (std::fflush(file_) != 0 || ::fdatasync(::fileno(file_)) != 0) return io_error("cannot write dead letters", path_);
  return base::Status::ok();
}

base::Status DeadLetters::discard_after(const std::string& dir, const std::string& pipeline, const std::string& lineage, uint64_t number) {
  std::error_code error;
  const std::string begin = pipeline + "-";
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(begin, 0) != 0) continue;
    bool stays = true;
    for (const std::string_view kind : {kAfter, kEpoch}) {
      const std::string middle = "-" + lineage.substr(0, 8) + std::string(kind);
      const size_t at = name.rfind(middle);
      if (at == std::string::npos) continue;
      uint64_t of = 0;
      std::from_chars(name.data() + at + middle.size(), name.data() + name.size(), of);
      stays = kind == kAfter ? of < number : of <= number;
    }
    if (stays) continue;
    std::error_code removed;
    fs::remove(entry.path(), removed);
    if (removed) return base::Status::fatal("cannot remove " + entry.path().string() + ": " + removed.message());
  }
  return base::Status::ok();
}

base::Status stopped_by_row(const std::string& operator_id, std::string_view reason, const std::string& position) {
  return base::Status::fatal("operator \"" + operator_id + "\": " + std::string(reason) + (position.empty() ? "" : ", at " + position) +
                             "; the job stops because on_error is `fail`");
}

}  // namespace sluice::runtime
