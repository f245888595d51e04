#include "runtime/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace sluice::runtime {
namespace {

// File: magic, then rows: u32 length of json, u16 lengths of source id, split id and position, i64 event time, u8 change,
// u32 length of the key (UINT32_MAX: none), then json, source id, split id, position and key. Little-endian. A file with the
// first magic has no keys, nor their lengths.
constexpr char kMagic[8] = {'S', 'L', 'S', 'P', 'O', 'O', 'L', '2'};
constexpr char kMagicWithoutKeys[8] = {'S', 'L', 'S', 'P', 'O', 'O', 'L', '1'};
constexpr size_t kHeadSize = 23, kHeadSizeWithoutKeys = 19;
constexpr uint32_t kNoKey = UINT32_MAX;

base::Status io_error(const std::string& what, const std::string& path) {
  const std::string text = what + " " + path + ": " + std::strerror(errno);
  const bool no_space = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;  // the last one: beyond `ulimit -f`
  return no_space ? base::Status::retry(text, 1000) : base::Status::fatal(text);
}

}  // namespace

SpoolWriter::SpoolWriter(std::string path) : path_(std::move(path)), buffer_(kMagic, sizeof kMagic) {}

SpoolWriter::~SpoolWriter() {
  if (fd_ >= 0) ::close(fd_);
}

base::Status SpoolWriter::append(const SpoolRow& row) {
  char head[kHeadSize];
  const auto json = static_cast<uint32_t>(row.json.size());
  std::memcpy(head, &json, 4);
  size_t at = 4;
  const std::string_view texts[] = {row.origin.source_id, row.origin.split_id, row.origin.position};
  for (const std::string_view t : texts) {
    if (t.size() > UINT16_MAX) return base::Status::bug("a position of " + std::to_string(t.size()) + " bytes; at most 65535 are allowed");
    const auto size = static_cast<uint16_t>(t.size());
    std::memcpy(head + at, &size, 2);
    at += 2;
  }
  std::memcpy(head + 10, &row.event_time, 8);
  head[18] = static_cast<char>(row.change);
  const uint32_t key = row.key.data() == nullptr ? kNoKey : static_cast<uint32_t>(row.key.size());
  std::memcpy(head + 19, &key, 4);
  buffer_.append(head, kHeadSize).append(row.json);
  for (const std::string_view t : texts) buffer_.append(t);
  buffer_.append(row.key);
  ++rows_;
  return base::Status::ok();
}

base::Status SpoolWriter::flush() {
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) return io_error("cannot create spool", path_);
  size_t written = 0;
  base::Status s;
  while (written < buffer_.size()) {
    const ssize_t n = ::write(fd_, buffer_.data() + written, buffer_.size() - written);
    if (n >= 0) {
      written += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      s = io_error("cannot write spool", path_);
      break;
    }
  }
  buffer_.erase(0, written);
  return s;
}

base::Status SpoolWriter::close() {
  if (closed_) return *closed_;
  SLUICE_TRY(flush());
  // After an error of these two nobody knows what the file holds, and asked again they say OK.
  const bool synced = ::fsync(fd_) == 0;
  closed_ = synced ? base::Status::ok() : base::Status::fatal(io_error("cannot write spool", path_).message());
  if (::close(std::exchange(fd_, -1)) != 0 && synced) closed_ = base::Status::fatal(io_error("cannot write spool", path_).message());
  return *closed_;
}

base::Status read_spool(const std::string& path, const std::function<base::Status(const SpoolRow&)>& visit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return io_error("cannot open spool", path);
  const auto damaged = [&] { return base::Status::fatal("spool " + path + " is damaged: it ends in the middle of a row"); };
  char magic[sizeof kMagic];
  const bool has_magic = std::fread(magic, 1, sizeof magic, file.get()) == sizeof magic;
  const bool has_keys = has_magic && std::memcmp(magic, kMagic, sizeof kMagic) == 0;
  if (!has_keys && (!has_magic || std::memcmp(magic, kMagicWithoutKeys, sizeof kMagic) != 0))
    return base::Status::fatal("spool " + path + " is damaged: it does not begin as a spool");
  const size_t head_size = has_keys ? kHeadSize : kHeadSizeWithoutKeys;
  std::string json, key, texts[3];
  const auto get = [&](std::string* into, size_t size) {
    into->resize(size);
    return std::fread(into->data(), 1, size, file.get()) == size;
  };
  for (;;) {
    char head[kHeadSize];
    const size_t got = std::fread(head, 1, head_size, file.get());
    if (got == 0 && std::feof(file.get()) != 0) return base::Status::ok();
    if (got != head_size) return damaged();
    uint32_t json_size = 0;
    std::memcpy(&json_size, head, 4);
    if (!get(&json, json_size)) return damaged();
    for (size_t i = 0; i < 3; ++i) {
      uint16_t size = 0;
      std::memcpy(&size, head + 4 + 2 * i, 2);
      if (!get(&texts[i], size)) return damaged();
    }
    uint32_t key_size = kNoKey;
    if (has_keys) std::memcpy(&key_size, head + 19, 4);
    if (key_size != kNoKey && !get(&key, key_size)) return damaged();
    SpoolRow row{json, key_size != kNoKey ? std::string_view(key) : std::string_view(), {texts[0], texts[1], texts[2]}, 0, static_cast<uint8_t>(head[18])};
    std::memcpy(&row.event_time, head + 10, 8);
    SLUICE_TRY(visit(row));
  }
}

}  // namespace sluice::runtime
