// A file system of its own that can be filled.
#pragma once
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sluice::tests {

// Owned by the test, used by its thread; everything in it is closed before it ends. Without root it is mounted in a user namespace, which
// a process keeps alive, and seen through that. Where neither is allowed the test fails: its fault is not one that may go unseen.
class SmallDisk {
 public:
  SmallDisk(const std::string& folder, const std::string& size) : path_(folder) {
    std::filesystem::create_directories(folder);
    if (::geteuid() == 0) mount_here(folder, size);
    else mount_in_namespace(folder, size);
  }
  ~SmallDisk() {
    if (keeper_ == 0) {
      ::umount(path_.c_str());
    } else {
      end_keeper();
    }
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  void fill() const {
    std::ofstream filler(*this / "filler", std::ios::binary);
    const std::string block(4096, 'f');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
  }
  void make_room() const { std::filesystem::remove(*this / "filler"); }

 private:
  [[noreturn]] static void fail(const std::string& folder, const std::string& reason) {
    throw std::runtime_error("cannot mount a small file system at " + folder + ": " + reason +
                             ". This test needs root with CAP_SYS_ADMIN, or user namespaces (user.max_user_namespaces above 0)");
  }

  static void mount_here(const std::string& folder, const std::string& size) {
    if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0) fail(folder, std::strerror(errno));
  }

  void mount_in_namespace(const std::string& folder, const std::string& size) {
    std::array<int, 2> said{};
    if (::pipe(said.data()) != 0) fail(folder, std::strerror(errno));
    keeper_ = ::fork();
    if (keeper_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(said[1], STDOUT_FILENO);
      ::dup2(said[1], STDERR_FILENO);
      ::execlp("unshare", "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
               R"(mount -t tmpfs -o "size=$1" tmpfs "$0" && echo mounted && exec sleep 600)", folder.c_str(), size.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(said[1]);
    std::string text(200, '\0');
    text.resize(static_cast<size_t>(std::max<ssize_t>(0, ::read(said[0], text.data(), text.size()))));
    ::close(said[0]);
    if (text != "mounted\n") {
      end_keeper();
      fail(folder, text.empty() ? "there is no command `unshare`" : text.substr(0, text.find('\n')));
    }
    path_ = "/proc/" + std::to_string(keeper_) + "/root" + folder;
  }

  void end_keeper() const {
    ::kill(keeper_, SIGKILL);
    ::waitpid(keeper_, nullptr, 0);
  }

  std::string path_;
  pid_t keeper_ = 0;  // 0: mounted in this process's own view
};

}  // namespace sluice::tests
