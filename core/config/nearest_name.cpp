#include "config/nearest_name.h"

#include <algorithm>
#include <cctype>

namespace sluice::config {
namespace {

// Names are compared without what people mix up most: case and the separators.
std::string folded(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c == '-' || c == '_' || c == '.' || c == ' ') continue;
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// One slip in a short word, a third of the characters at most in a long one.
size_t allowed_distance(size_t length) {
  if (length <= 2) return length / 2;
  if (length <= 4) return 1;
  if (length <= 7) return 2;
  return std::min<size_t>(4, length / 3);
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  out += text;
  out += '"';
  return out;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string nearest_name(std::string_view wrong, const std::vector<std::string>& names) {
  constexpr size_t kLongestName = 200;  // nobody mistypes more than that, and the distance is quadratic
  if (wrong.empty() || wrong.size() > kLongestName) return {};
  const std::string wrong_folded = folded(wrong);
  std::string best;
  size_t best_distance = 0, best_exact = 0;
  for (const std::string& name : names) {
    if (name == wrong || name.size() > kLongestName) continue;
    const std::string name_folded = folded(name);
    const size_t distance = edit_distance(wrong_folded, name_folded);
    if (distance > allowed_distance(std::max(wrong_folded.size(), name_folded.size()))) continue;
    const size_t exact = edit_distance(wrong, name);
    if (best.empty() || distance < best_distance || (distance == best_distance && exact < best_exact)) {
      best = name;
      best_distance = distance;
      best_exact = exact;
    }
  }
  return best;
}

std::string list_names(const std::vector<std::string>& names, std::string_view last_word, bool quoted) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool last = i > 0 && i + 1 == names.size() && !last_word.empty();
    if (last) {
      out += ' ';
      out += last_word;
      out += ' ';
    } else if (i > 0) {
      out += ", ";
    }
    out += quoted ? quote(names[i]) : names[i];
  }
  return out;
}

}  // namespace sluice::config
