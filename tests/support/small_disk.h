// A file system of its own that can be filled.
#pragma once
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace sluice::tests {

// Owned by the test, used by its thread; everything in it is closed before it ends. Mounting needs root: without it
// mounted() is false, and the test says so and goes.
class SmallDisk {
 public:
  SmallDisk(std::string folder, const std::string& size) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount(folder_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  std::string operator/(std::string_view name) const { return folder_ + "/" + std::string(name); }
  void fill() const {
    std::ofstream filler(*this / "filler", std::ios::binary);
    const std::string block(4096, 'f');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
  }
  void make_room() const { std::filesystem::remove(*this / "filler"); }

 private:
  const std::string folder_;
  bool mounted_;
};

}  // namespace sluice::tests
