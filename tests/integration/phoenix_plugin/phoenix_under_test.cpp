#include "phoenix_under_test.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <thread>

namespace sluice::tests {
namespace {

const std::string kScripts = std::string(SLUICE_SOURCE_DIR) + "/tests/services/phoenix/";

// The output of a command without a shell.
std::string run(const std::vector<std::string>& command, bool with_errors) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    if (with_errors) dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    std::vector<char*> words;
    for (const auto& w : command) words.push_back(const_cast<char*>(w.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error(command[0] + " failed: " + out);
  return out;
}

}  // namespace

std::string server() {
  const char* address = std::getenv("PHOENIX");
  if (address == nullptr || *address == '\0')
    throw std::runtime_error(
        "no server: run this test through ctest, or with `tests/services/phoenix/phoenix.sh exec`, which set PHOENIX");
  return address;
}

Rows query(const std::string& sql, const std::string& server) {
  const std::string text = run({"python3", kScripts + "query.py", "--server", server, sql}, true);
  Rows rows;
  size_t at = text.find('\n');  // behind the column names
  if (at == std::string::npos) return rows;
  for (++at; at < text.size();) {
    const size_t end = text.find('\n', at);
    std::string row = text.substr(at, end - at);
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] == '\t') row[i] = '|';
      if (row.compare(i, 2, "\\N") == 0) row.replace(i, 2, "~");
    }
    rows.push_back(row);
    at = end + 1;
  }
  return rows;
}

void execute(const std::string& sql) { run({"python3", kScripts + "query.py", sql}, true); }

void phoenix_sh(const std::string& arguments, const std::string& environment) {
  // Its Java processes live on: they must not hold our pipe.
  const std::string command = "env " + environment + " " + kScripts + "phoenix.sh " + arguments + " > /dev/null 2>&1";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("phoenix.sh " + arguments + " failed");
}

std::string phoenix_sh_says(const std::string& arguments, const std::string& environment) {
  const std::string command = "env " + environment + " " + kScripts + "phoenix.sh " + arguments;
  const std::string text = run({"/bin/sh", "-c", command}, true);
  return text.substr(0, text.find('\n'));
}

SecondServer::SecondServer(const std::string& properties, const std::string& environment) {
  phoenix_sh("second " + properties, environment);
  const std::string both = phoenix_sh_says("url");
  address_ = both.substr(both.find(",http://") + 8);
}

SecondServer::~SecondServer() {
  try {
    phoenix_sh("kill pqs2");
  } catch (const std::exception&) {
    // The test has killed it, or fails anyway.
  }
}

Schema::Schema() {
  std::random_device device;
  name = "T" + std::to_string(device() % 1000000000);
}

// Its tables go with the server's data: dropping them takes longer than most tests.
Schema::~Schema() = default;

std::string Schema::options(const std::string& more, const std::string& servers) const {
  return "{servers: ['" + servers + "'], schema: " + name + (more.empty() ? "" : ", " + more) + "}";
}

Gate::Gate(const std::string& arguments) {
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0) throw std::runtime_error("pipe");
  pid_ = fork();
  if (pid_ == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
    const std::string command = "exec python3 " + kScripts + "gate.py " + server() + " " + arguments;
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  in_ = fdopen(to[1], "w");
  out_ = fdopen(from[0], "r");
  char line[64] = "";
  if (std::fgets(line, sizeof line, out_) == nullptr || (port_ = std::atoi(line)) == 0)
    throw std::runtime_error("gate.py did not start");
}

Gate::~Gate() {
  std::fclose(in_);
  std::fclose(out_);
  waitpid(pid_, nullptr, 0);
}

std::string Gate::tell(const std::string& command) {
  std::fprintf(in_, "%s\n", command.c_str());
  std::fflush(in_);
  char line[4096] = "";
  if (std::fgets(line, sizeof line, out_) == nullptr) throw std::runtime_error("gate.py is gone");
  return line;
}

int push_through(Sink& h, std::vector<sluice::testing::InputRow> rows, int most) {
  sluice::Status s = h.try_push_batch(std::move(rows));
  int again = 0;
  while (s.code() == SLUICE_RETRY) {
    if (++again > most) throw std::runtime_error("the sink goes on asking: " + s.message());
    std::this_thread::sleep_for(std::chrono::milliseconds(s.retry_after_ms()));
    s = h.try_retry();
  }
  if (!s.is_ok()) throw std::runtime_error(s.message());
  return again;
}

}  // namespace sluice::tests
