#include "run_sluice.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace sluice::cli::testing {
namespace {

namespace fs = std::filesystem;

Ran run_program(const std::string& program, const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment) {
  const Folder folder;
  const std::string out = folder.write("out", ""), err = folder.write("err", "");
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv, env;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  std::vector<std::string> more = environment;
  for (char** e = environ; *e != nullptr; ++e)
    if (std::string(*e).rfind("SLUICE_", 0) != 0) more.emplace_back(*e);
  for (std::string& text : more) env.push_back(text.data());
  env.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), O_WRONLY, 0);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &files, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&files);
  REQUIRE(error == 0);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(out), read(err)};
}

// A program finds its plugins beside itself, so one without plugins is a copy elsewhere.
const std::string& bare_program() {
  static const Folder folder;
  static const std::string program = [] {
    fs::create_directories(folder.path("bin"));
    fs::copy_file(SLUICE_PROGRAM, folder.path("bin/sluice"));
    return folder.path("bin/sluice");
  }();
  return program;
}

}  // namespace

Ran run_sluice(const std::vector<std::string>& arguments) { return run_program(SLUICE_PROGRAM, arguments, {}); }

Ran run_sluice_redirected(const std::vector<std::string>& arguments, const std::string& redirections) {
  std::vector<std::string> shell{"-c", "exec \"$0\" \"$@\" " + redirections, SLUICE_PROGRAM};
  shell.insert(shell.end(), arguments.begin(), arguments.end());
  return run_program("/bin/sh", shell, {});
}

Ran run_bare_sluice(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  return run_program(bare_program(), arguments, environment);
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

}  // namespace sluice::cli::testing
