// Runs the built command as a user would.
#pragma once
#include <string>
#include <vector>

namespace sluice::cli::testing {

struct Ran {
  int exit_status = -1;  // 128 + signal when it was ended by one
  std::string out, err;
};

// The command with the plugins of the build tree beside it.
Ran run_sluice(const std::vector<std::string>& arguments);
// The same program in a folder without plugins; `environment` is added to that of the test.
Ran run_bare_sluice(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

// A new empty folder, removed with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const;  // returns the path

 private:
  std::string path_;
};

std::string read(const std::string& path);
std::string replaced(std::string text, const std::string& what, const std::string& with);

}  // namespace sluice::cli::testing
