// A folder for one test, removed with everything in it when the test is over.
#pragma once
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::tests {

// Owned by the test, used by its thread.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    folder_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return folder_; }
  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  std::string operator/(std::string_view name) const { return path(name); }

  // Gives its path.
  std::string write(std::string_view name, std::string_view content) const {
    put(name, content, std::ios::trunc);
    return path(name);
  }
  void append(std::string_view name, std::string_view content) const { put(name, content, std::ios::app); }
  std::string read(std::string_view name) const {
    std::ifstream in(path(name), std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path(name));
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void rename(std::string_view from, std::string_view to) const { std::filesystem::rename(path(from), path(to)); }
  void remove(std::string_view name) const { std::filesystem::remove(path(name)); }
  bool has(std::string_view name) const { return std::filesystem::exists(path(name)); }
  // Names in the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  void put(std::string_view name, std::string_view content, std::ios::openmode mode) const {
    std::ofstream out(path(name), std::ios::binary | mode);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + path(name));
  }
  std::string folder_;
};

}  // namespace sluice::tests
