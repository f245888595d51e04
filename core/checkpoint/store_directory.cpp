#include "checkpoint/store_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>

#include "checkpoint/durable_file.h"
#include "checkpoint/sha256.h"

namespace sluice::checkpoint {
namespace {

namespace fs = std::filesystem;
constexpr uint32_t kStoreFormat = 1;
constexpr uint32_t kStoreCompat = 1;

const char* prefix_of(StoreDirectory::Kind kind) {
  switch (kind) {
    case StoreDirectory::Kind::kCheckpoint:
      return "chk-";
    case StoreDirectory::Kind::kPending:
      return ".tmp-";
    case StoreDirectory::Kind::kRemoved:
      return ".del-";
  }
  return "";
}

template <class Number>
bool parse_number(std::string_view text, Number* out) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *out);
  return !text.empty() && parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

std::string describe(const std::string& sha256, uint64_t size) {
  return fmt::format("sha256 {}, {} bytes", sha256, size);
}

}  // namespace

std::string StoreDirectory::checkpoint(uint64_t number) const { return fmt::format("{}/chk-{:010}", dir_, number); }
std::string StoreDirectory::pending(uint64_t number) const { return fmt::format("{}/.tmp-{:010}", dir_, number); }
std::string StoreDirectory::removed(uint64_t number) const { return fmt::format("{}/.del-{:010}", dir_, number); }
std::string StoreDirectory::lane_folder(uint32_t lane) { return fmt::format("lane-{:04}", lane); }

bool StoreDirectory::is_shared(const ManifestFile& file) {
  const std::string_view suffix = ".sst";
  return file.name.size() > suffix.size() &&
         std::string_view(file.name).substr(file.name.size() - suffix.size()) == suffix;
}
std::string StoreDirectory::shared_name(const std::string& sha256, uint64_t size) {
  return fmt::format("{}-{}.sst", sha256, size);
}

std::string StoreDirectory::lane_file(uint64_t number, uint32_t lane, const ManifestFile& file) const {
  if (is_shared(file)) return shared() + "/" + shared_name(file.sha256, file.size);
  return checkpoint(number) + "/" + lane_folder(lane) + "/" + file.name;
}

std::string StoreDirectory::relative(const std::string& path) const {
  return path.rfind(dir_ + "/", 0) == 0 ? path.substr(dir_.size() + 1) : path;
}

base::Result<std::vector<uint64_t>> StoreDirectory::numbers(Kind kind) const {
  std::vector<uint64_t> found;
  std::error_code ec;
  const std::string_view prefix = prefix_of(kind);
  for (fs::directory_iterator it(dir_, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    uint64_t number = 0;
    if (name.rfind(prefix, 0) == 0 && parse_number(std::string_view(name).substr(prefix.size()), &number))
      found.push_back(number);
  }
  if (ec) return file_error(ec.value(), "cannot read " + dir_);
  std::sort(found.begin(), found.end());
  return found;
}

base::Result<std::vector<std::string>> StoreDirectory::shared_files() const {
  std::vector<std::string> found;
  std::error_code ec;
  if (!fs::exists(shared(), ec)) return found;
  for (fs::directory_iterator it(shared(), ec), end; !ec && it != end; it.increment(ec)) {
    found.push_back(it->path().filename().string());
  }
  if (ec) return file_error(ec.value(), "cannot read " + shared());
  std::sort(found.begin(), found.end());
  return found;
}

// Lines of `name value`, the last one the SHA-256 of those before it.
base::Status StoreDirectory::write_record(const StoreRecord& record) const {
  std::string text = fmt::format(
      "format {}\ncompat {}\nlast_number {}\nlast_complete {}\nlineage {}\nparent_lineage {}\nparent_number {}\n",
      kStoreFormat, kStoreCompat, record.last_number, record.last_complete, record.lineage, record.parent_lineage,
      record.parent_number);
  text += fmt::format("sha256 {}\n", sha256_of(text));
  return replace_file(dir_ + "/STORE", text);
}

base::Status StoreDirectory::read_record(std::optional<StoreRecord>* record) const {
  record->reset();
  const std::string path = dir_ + "/STORE";
  std::error_code ec;
  if (!fs::exists(path, ec)) return ec ? file_error(ec.value(), "cannot read " + path) : base::Status::ok();
  std::string text;
  SLUICE_TRY(read_file(path, &text));
  const auto damaged = [&](const std::string& how) {
    return base::Status::fatal(fmt::format(
        "{} is damaged: {}. When it is removed, numbers go on after the highest checkpoint and a new lineage begins",
        path, how));
  };
  const size_t last = text.rfind("sha256 ");
  if (last == std::string::npos || text.size() != last + 7 + 64 + 1) return damaged("its checksum is missing");
  const std::string expected = text.substr(last + 7, 64);
  const std::string found = sha256_of(std::string_view(text).substr(0, last));
  if (expected != found) return damaged(fmt::format("expected sha256 {}, found {}", expected, found));
  std::map<std::string, std::string> fields;
  for (size_t at = 0; at < last;) {
    const size_t end = text.find('\n', at);
    const size_t space = text.find(' ', at);
    if (space < end) fields[text.substr(at, space - at)] = text.substr(space + 1, end - space - 1);
    at = end + 1;
  }
  StoreRecord r;
  uint32_t compat = 0;
  if (!parse_number(fields["compat"], &compat)) return damaged("no version");
  if (compat > kStoreFormat) {
    return base::Status::unsupported(
        fmt::format("{} was written by a newer version of sluice: it needs format {}, this one knows {}", path, compat,
                    kStoreFormat));
  }
  if (!parse_number(fields["last_number"], &r.last_number) ||
      !parse_number(fields["last_complete"], &r.last_complete) ||
      !parse_number(fields["parent_number"], &r.parent_number)) {
    return damaged("a number is missing");
  }
  r.lineage = fields["lineage"];
  r.parent_lineage = fields["parent_lineage"];
  *record = std::move(r);
  return base::Status::ok();
}

base::Result<Manifest> StoreDirectory::read_manifest(uint64_t number) const {
  std::string text;
  SLUICE_TRY(read_file(manifest(number), &text));
  base::Result<Manifest> m = checkpoint::read_manifest(text);
  if (m.is_ok() && m->number != number) {
    return base::Status::fatal(fmt::format("damaged: it is the manifest of checkpoint {}", m->number));
  }
  return m;
}

VerifyReport StoreDirectory::verify(uint64_t number, bool with_contents, Manifest* manifest_out, bool* foreign) const {
  VerifyReport report;
  report.number = number;
  *foreign = false;
  base::Result<Manifest> m = read_manifest(number);
  ++report.files;
  if (!m.is_ok()) {
    *foreign = m.status().code() == base::Code::kUnsupported;
    report.damages.push_back({relative(manifest(number)), "a manifest that can be read", m.status().message()});
    return report;
  }
  for_each_file(m.value(),
                [&](const std::string& path, const std::string& label, const std::string& sha256, uint64_t size) {
                  ++report.files;
                  report.bytes += size;
                  const auto damage = [&](std::string found) {
                    report.damages.push_back({relative(path) + label, describe(sha256, size), std::move(found)});
                  };
                  struct stat info;
                  if (::stat(path.c_str(), &info) != 0)
                    return damage(errno == ENOENT ? "no such file" : "a file that cannot be read");
                  if (static_cast<uint64_t>(info.st_size) != size) return damage(fmt::format("{} bytes", info.st_size));
                  if (!with_contents) return;
                  std::string found;
                  uint64_t found_size = 0;
                  if (base::Status s = sha256_of_file(path, &found, &found_size); !s.is_ok())
                    return damage(s.message());
                  if (found != sha256) damage(describe(found, found_size));
                });
  *manifest_out = std::move(m).value();
  return report;
}

std::string VerifyReport::text() const {
  std::string out;
  for (const Damage& damage : damages) {
    if (!out.empty()) out += '\n';
    out += fmt::format("{}: expected {}, found {}", damage.file, damage.expected, damage.found);
  }
  return out;
}

std::set<std::string> shared_names(const Manifest& manifest) {
  std::set<std::string> names;
  for (const ManifestLane& lane : manifest.lanes) {
    for (const ManifestFile& file : lane.files) {
      if (StoreDirectory::is_shared(file)) names.insert(StoreDirectory::shared_name(file.sha256, file.size));
    }
  }
  return names;
}

}  // namespace sluice::checkpoint
