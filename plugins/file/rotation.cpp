#include "rotation.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

namespace sluice::file {
namespace {

constexpr uint32_t kAgainMs = 20;
// More digits are a date: later ones are greater. Fewer are a count of rotations: later ones are smaller.
constexpr size_t kMaxCountDigits = 5;

struct Looked {
  uint64_t inode = 0;
  bool is_regular = false;
  uint64_t size = 0;
  std::tuple<int64_t, uint32_t> made, changed;  // made: 0 where the file system does not know
};

std::optional<Looked> look_at(int folder, const char* name, int flags) {
  struct statx info;
  if (::statx(folder, name, flags, STATX_BASIC_STATS | STATX_BTIME, &info) != 0) return std::nullopt;
  Looked out;
  out.inode = info.stx_ino;
  out.is_regular = S_ISREG(info.stx_mode);
  out.size = info.stx_size;
  if ((info.stx_mask & STATX_BTIME) != 0) out.made = {info.stx_btime.tv_sec, info.stx_btime.tv_nsec};
  out.changed = {info.stx_mtime.tv_sec, info.stx_mtime.tv_nsec};
  return out;
}

// A rotated file may be written to a little longer, but it was made first.
bool is_older(const Looked& a, const Looked& b) {
  return a.made != b.made ? a.made < b.made : a.changed < b.changed;
}

// What a rotation puts into the name of a file: `app.log.2`, `app.log-20220601`, `app.2022-06-01.log`.
struct Mark {
  size_t at = 0;  // of the followed file's name
  std::string separators, digits;

  bool is_date() const { return digits.size() > kMaxCountDigits; }
  bool is_like(const Mark& other) const {
    return at == other.at && separators == other.separators && is_date() == other.is_date() &&
           (!is_date() || digits.size() == other.digits.size());
  }
  bool is_before(const Mark& other) const {
    return is_date() ? digits < other.digits : std::stoi(digits) > std::stoi(other.digits);
  }
};

std::optional<Mark> mark_of(std::string_view own_name, std::string_view name) {
  if (name.size() <= own_name.size()) return std::nullopt;
  for (const size_t at : {own_name.size(), own_name.rfind('.')}) {
    if (at == std::string_view::npos || name.substr(0, at) != own_name.substr(0, at)) continue;
    const std::string_view put_in = name.substr(at, name.size() - own_name.size());
    if (name.substr(at + put_in.size()) != own_name.substr(at)) continue;
    if (put_in.find_first_not_of("0123456789.-_:T") != std::string_view::npos) continue;
    Mark mark;
    mark.at = at;
    for (const char c : put_in) (c >= '0' && c <= '9' ? mark.digits : mark.separators) += c;
    if (!mark.digits.empty() && std::string_view(".-_").find(put_in.front()) != std::string_view::npos) return mark;
  }
  return std::nullopt;
}

struct Candidate {
  std::string name;
  Looked looked;
  std::optional<Mark> mark;
};

}  // namespace

Status find_rotated(const std::string& path, int read, const std::vector<std::string>& splits, RotatedFiles* out) {
  *out = RotatedFiles();
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string own_name = path.substr(folder.size());
  const std::string stem = own_name.substr(0, std::max<size_t>(own_name.find('.'), 1));
  const auto was_read = look_at(read, "", AT_EMPTY_PATH);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(folder.empty() ? "." : folder.c_str()), closedir);
  if (!was_read || listing == nullptr) return Status::ok();

  std::vector<Candidate> candidates;
  std::optional<Mark> read_mark;
  while (const dirent* entry = readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name == own_name || name.compare(0, stem.size(), stem) != 0) continue;
    const auto looked = look_at(dirfd(listing.get()), entry->d_name, 0);
    if (!looked || !looked->is_regular) continue;
    if (looked->inode == was_read->inode) {
      read_mark = mark_of(own_name, name);
    } else if (looked->size > 0 && !is_older(*looked, *was_read) &&
               !std::binary_search(splits.begin(), splits.end(), folder + name)) {
      candidates.push_back({name, *looked, mark_of(own_name, name)});
    }
  }
  const Candidate* next = nullptr;
  for (const Candidate& c : candidates) {
    const bool surely = read_mark && c.mark && c.mark->is_like(*read_mark) && read_mark->is_before(*c.mark);
    if (!surely && c.looked.changed != was_read->changed) out->unclear.push_back(folder + c.name);  // not a copy of it
    if (surely && (next == nullptr || c.mark->is_before(*next->mark))) next = &c;
  }
  std::sort(out->unclear.begin(), out->unclear.end());
  if (next == nullptr) return Status::ok();
  out->next_path = folder + next->name;
  out->next = FileDescriptor(::open(out->next_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!out->next.is_open() && errno != ENOENT)
    return Status::fatal("cannot open " + out->next_path + ": " + error_text(errno));
  const auto opened = out->next.is_open() ? look_at(out->next.get(), "", AT_EMPTY_PATH) : std::nullopt;
  if (!opened || opened->inode != next->looked.inode)
    return Status::retry("the files of " + path + " are being rotated", kAgainMs);
  return Status::ok();
}

}  // namespace sluice::file
