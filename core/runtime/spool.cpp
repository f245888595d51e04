#include "runtime/spool.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice::runtime {
namespace {

// File: magic, then rows: u32 length of json, u16 lengths of source id, split id and position, i64 event time, u8 change,
// then these texts. Little-endian.
constexpr char kMagic[8] = {'S', 'L', 'S', 'P', 'O', 'O', 'L', '1'};
constexpr size_t kHeadSize = 19;

base::Status io_error(const std::string& what, const std::string& path) {
  const std::string text = what + " " + path + ": " + std::strerror(errno);
  return errno == ENOSPC || errno == EDQUOT ? base::Status::retry(text, 1000) : base::Status::fatal(text);
}

}  // namespace

base::Result<std::unique_ptr<SpoolWriter>> SpoolWriter::create(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return io_error("cannot create spool", path);
  std::setvbuf(file, nullptr, _IOFBF, 256 << 10);
  if (std::fwrite(kMagic, 1, sizeof kMagic, file) != sizeof kMagic) {
    std::fclose(file);
    return io_error("cannot write spool", path);
  }
  return std::unique_ptr<SpoolWriter>(new SpoolWriter(path, file));
}

SpoolWriter::~SpoolWriter() {
  if (file_ != nullptr) std::fclose(file_);
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
  bool ok = std::fwrite(head, 1, kHeadSize, file_) == kHeadSize && std::fwrite(row.json.data(), 1, json, file_) == json;
  for (const std::string_view t : texts) ok = ok && (t.empty() || std::fwrite(t.data(), 1, t.size(), file_) == t.size());
  if (!ok) return io_error("cannot write spool", path_);
  ++rows_;
  return base::Status::ok();
}

base::Status SpoolWriter::close() {
  if (file_ == nullptr) return base::Status::ok();
  std::FILE* file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0) return io_error("cannot write spool", path_);
  return base::Status::ok();
}

base::Status read_spool(const std::string& path, const std::function<base::Status(const SpoolRow&)>& visit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return io_error("cannot open spool", path);
  const auto damaged = [&] { return base::Status::fatal("spool " + path + " is damaged: it ends in the middle of a row"); };
  char magic[sizeof kMagic];
  if (std::fread(magic, 1, sizeof magic, file.get()) != sizeof magic || std::memcmp(magic, kMagic, sizeof kMagic) != 0)
    return base::Status::fatal("spool " + path + " is damaged: it does not begin as a spool");
  std::string json, texts[3];
  const auto get = [&](std::string* into, size_t size) {
    into->resize(size);
    return std::fread(into->data(), 1, size, file.get()) == size;
  };
  for (;;) {
    char head[kHeadSize];
    const size_t got = std::fread(head, 1, kHeadSize, file.get());
    if (got == 0 && std::feof(file.get()) != 0) return base::Status::ok();
    if (got != kHeadSize) return damaged();
    uint32_t json_size = 0;
    std::memcpy(&json_size, head, 4);
    if (!get(&json, json_size)) return damaged();
    for (size_t i = 0; i < 3; ++i) {
      uint16_t size = 0;
      std::memcpy(&size, head + 4 + 2 * i, 2);
      if (!get(&texts[i], size)) return damaged();
    }
    SpoolRow row{json, {texts[0], texts[1], texts[2]}, 0, static_cast<uint8_t>(head[18])};
    std::memcpy(&row.event_time, head + 10, 8);
    SLUICE_TRY(visit(row));
  }
}

}  // namespace sluice::runtime
