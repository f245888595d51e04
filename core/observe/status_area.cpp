#include "observe/status_area.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace sluice::observe {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace

bool StatusArea::is_terminal() const {
  const char* term = std::getenv("TERM");
  return ::isatty(descriptor_) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0 && *term != '\0';
}

StatusArea::Size StatusArea::size() const {
  Size size;
  winsize window{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
    size.columns = window.ws_col;
    size.rows = window.ws_row;
  }
  return size;
}

void StatusArea::draw(const std::vector<std::string>& lines) {
  const std::lock_guard lock(mutex_);
  const std::string erase = erase_sequence();
  lines_ = lines;
  write_all(erase + joined(lines_));  // in one call: no half picture is ever seen
}

void StatusArea::write(std::string_view text) {
  const std::lock_guard lock(mutex_);
  write_all(erase_sequence() + std::string(text) + joined(lines_));
}

void StatusArea::clear() {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) return;
  const std::string erase = erase_sequence();
  lines_.clear();
  write_all(erase);
}

// ECMA-48: CUU moves to the first line of the picture, ED erases from there to the end of the screen.
std::string StatusArea::erase_sequence() const {
  return lines_.empty() ? "" : "\x1b[" + std::to_string(lines_.size()) + "A\r\x1b[J";
}

void StatusArea::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody reads any more; the job goes on
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace sluice::observe
