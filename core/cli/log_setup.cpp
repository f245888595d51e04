#include "cli/log_setup.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>

#include "observe/terminal_text.h"

namespace sluice::cli {
namespace {

// 2022-06-01T10:00:00.123Z
std::string utc_text(spdlog::log_clock::time_point time) {
  using namespace std::chrono;
  const time_t seconds = spdlog::log_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  const auto ms = duration_cast<milliseconds>(time.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", parts, ms);
}

const char* level_name(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
      return "trace";
    case spdlog::level::debug:
      return "debug";
    case spdlog::level::info:
      return "info";
    case spdlog::level::warn:
      return "warn";
    default:
      return "error";
  }
}

// Lines of one message stay together below each other, indented, so that a message cannot pretend to be another one.
std::string text_line(const spdlog::details::log_msg& message) {
  std::string_view rest(message.payload.data(), message.payload.size());
  std::string out = fmt::format("{} {:<5} ", utc_text(message.time), level_name(message.level));
  for (bool first = true; first || !rest.empty(); first = false) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (!first) out += "    ";
    out += observe::printable(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string json_line(const spdlog::details::log_msg& message) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const std::string time = utc_text(message.time);
  const std::string text = observe::valid_utf8({message.payload.data(), message.payload.size()});
  writer.StartObject();
  writer.Key("time");
  writer.String(time.data(), static_cast<rapidjson::SizeType>(time.size()));
  writer.Key("level");
  writer.String(level_name(message.level));
  writer.Key("message");
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

class AreaSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit AreaSink(bool json) : json_(json) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    error_area().write(json_ ? json_line(message) : text_line(message));
  }
  void flush_() override {}  // write() keeps nothing back

  const bool json_;
};

}  // namespace

observe::StatusArea& error_area() {
  static auto* area = new observe::StatusArea(STDERR_FILENO);  // never destroyed, see the header
  return *area;
}

void set_up_log(const std::string& level, bool json) {
  auto logger = std::make_shared<spdlog::logger>("sluice", std::make_shared<AreaSink>(json));
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace sluice::cli
