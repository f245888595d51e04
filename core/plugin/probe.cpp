#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "plugin/library.h"

namespace sluice::plugin {
namespace {

// What the child sends: texts with their lengths, in an order that both sides know.
void put(const std::string& text, std::string* out) {
  const uint64_t size = text.size();
  out->append(reinterpret_cast<const char*>(&size), sizeof size);
  out->append(text);
}
// False: there is no whole text left.
bool take(std::string_view* in, std::string* text) {
  uint64_t size = 0;
  if (in->size() < sizeof size) return false;
  std::memcpy(&size, in->data(), sizeof size);
  in->remove_prefix(sizeof size);
  if (in->size() < size) return false;
  text->assign(in->substr(0, size));
  in->remove_prefix(size);
  return true;
}

std::string answer_of(const base::Result<const sluice_module*>& module, const std::string& path) {
  std::string out;
  put(module.is_ok() ? "ok" : "refused", &out);
  if (!module.is_ok()) {
    put(module.status().message(), &out);
    return out;
  }
  const Description d = describe(*module.value(), path);
  for (const std::string& text : {d.file, d.name, d.version, d.vendor, d.build, d.abi}) put(text, &out);
  for (const auto& o : d.operators)
    for (const std::string& text : {o.type, o.kind, o.version, o.summary}) put(text, &out);
  put("end", &out);
  return out;
}

[[noreturn]] void run_child(const std::string& path, int to_parent) {
  // Dies as a crash does, whatever handlers the parent has; leaves no core; does not outlive the parent.
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
  const rlimit none{0, 0};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  const std::string answer = answer_of(open_library(path), path);
  for (size_t sent = 0; sent < answer.size();) {
    const ssize_t n = ::write(to_parent, answer.data() + sent, answer.size() - sent);
    if (n < 0 && errno != EINTR) ::_exit(1);
    if (n > 0) sent += static_cast<size_t>(n);
  }
  ::_exit(0);
}

// Reads until the other end is closed. False: the time was up.
bool read_all(int fd, int timeout_ms, std::string* out) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd p{fd, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&p, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char buffer[4096];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    out->append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

base::Result<Description> probe(const std::string& path, int timeout_ms) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::Status::fatal(path + ": cannot be inspected: " + std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) {
    const std::string reason = std::strerror(errno);
    ::close(ends[0]);
    ::close(ends[1]);
    return base::Status::fatal(path + ": cannot be inspected: " + reason);
  }
  if (child == 0) {
    ::close(ends[0]);
    run_child(path, ends[1]);
  }
  ::close(ends[1]);
  std::string answer;
  const bool in_time = read_all(ends[0], timeout_ms, &answer);
  ::close(ends[0]);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return base::Status::fatal(path + ": was not done with loading after " + std::to_string(timeout_ms) + " ms");
  if (WIFSIGNALED(status)) return base::Status::fatal(path + ": crashed while loading (signal " + std::to_string(WTERMSIG(status)) + ")");

  std::string_view in = answer;
  std::string word;
  if (WEXITSTATUS(status) != 0 || !take(&in, &word))
    return base::Status::fatal(path + ": ended the process while loading (exit code " + std::to_string(WEXITSTATUS(status)) + ")");
  if (word == "refused") {
    if (!take(&in, &word)) word = path + ": was refused";
    return base::Status::fatal(word);
  }
  Description d;
  bool whole = true;
  for (std::string* text : {&d.file, &d.name, &d.version, &d.vendor, &d.build, &d.abi}) whole = whole && take(&in, text);
  while (whole && take(&in, &word) && !(word == "end" && in.empty())) {
    Description::Operator o;
    o.type = word;
    for (std::string* text : {&o.kind, &o.version, &o.summary}) whole = whole && take(&in, text);
    d.operators.push_back(std::move(o));
  }
  if (!whole) return base::Status::fatal(path + ": cannot be inspected: the child's answer is cut off");
  return d;
}

}  // namespace sluice::plugin
