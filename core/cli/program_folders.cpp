#include "cli/program_folders.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is not there for us
  return fs::is_directory(path, ignored);
}

}  // namespace

std::string program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path().string();
}

std::string own_plugin_folder() {
  return (fs::path(program_folder()) / ".." / "lib" / "sluice" / "plugins").lexically_normal().string();
}

std::string sdk_folder() {
  const fs::path installed = (fs::path(program_folder()) / ".." / "share" / "sluice").lexically_normal();
  if (is_folder(installed / "template")) return installed.string();
  const fs::path source = SLUICE_SOURCE_SDK_DIR;  // a program that runs from its build tree
  return is_folder(source / "template") ? source.string() : "";
}

std::vector<std::string> plugin_folders(const std::vector<std::string>& from_command_line,
                                        const std::vector<std::string>& from_pipeline) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    if (folder.empty() || std::find(folders.begin(), folders.end(), folder) != folders.end()) return;
    folders.push_back(folder);
  };
  for (const std::string& folder : from_command_line) add(folder);
  for (const std::string& folder : from_pipeline) add(folder);
  if (const char* path = std::getenv("SLUICE_PLUGIN_PATH"); path != nullptr) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(':'), rest.size());
      add(std::string(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (const std::string own = own_plugin_folder(); is_folder(own)) add(own);
  return folders;
}

}  // namespace sluice::cli
