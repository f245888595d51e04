// The lines at the bottom of a terminal that are drawn again and again while log lines scroll by above them.
#pragma once
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::observe {

// Owns what is written to one file descriptor (standard error): everybody who writes there goes through it, so that the
// picture and the log never mix. Does not own the descriptor. Thread-safe. Without draw() it just passes text on, so a
// file or pipe gets no control sequences.
class StatusArea {
 public:
  struct Size {
    size_t columns = 80;
    size_t rows = 24;
  };

  explicit StatusArea(int descriptor) : descriptor_(descriptor) {}
  ~StatusArea() { clear(); }
  StatusArea(const StatusArea&) = delete;
  StatusArea& operator=(const StatusArea&) = delete;

  // A terminal that understands control sequences.
  bool is_terminal() const;
  Size size() const;

  // Replaces the picture; lines are narrower than the terminal, or it would wrap them and the next redraw would miss.
  void draw(const std::vector<std::string>& lines);
  // Writes text that stays, above the picture. It ends with a line break.
  void write(std::string_view text);
  // Removes the picture.
  void clear();

 private:
  std::string erase_sequence() const;
  void write_all(std::string_view bytes);

  const int descriptor_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace sluice::observe
