// sluice/options.hpp - options as data: one list gives parsing, validation, defaults and the documentation.
//
//   struct Config { std::string path; std::chrono::milliseconds ttl{}; Mode mode = Mode::kFast; };
//   static Options<Config> options() {
//     return {opt("path", &Config::path).required().doc("File to read."),
//             opt("ttl", &Config::ttl).def("1d").doc("How long a key counts as seen."),
//             opt("mode", &Config::mode, {{"fast", Mode::kFast}, {"exact", Mode::kExact}}).def("fast").doc("…")};
//   }
//
// The host parses and checks all of them before an instance is made; a plugin never sees YAML. A member whose option is left
// out and has no default keeps what Config's constructor gave it. Durations arrive as milliseconds, sizes as bytes.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/value.hpp"

namespace sluice {

// A number of bytes: written as `64MiB` in YAML.
struct Size {
  int64_t bytes = 0;
};
// In the order of the file.
using StringMap = std::vector<std::pair<std::string, std::string>>;

namespace detail {
template <class T> struct OptionType;
template <> struct OptionType<bool> {
  static constexpr uint32_t kType = SLUICE_T_BOOL;
  static bool read(const Value& v) { return v.raw().as.i64 != 0; }
};
template <> struct OptionType<int64_t> {
  static constexpr uint32_t kType = SLUICE_T_INT;
  static int64_t read(const Value& v) { return v.raw().as.i64; }
};
template <> struct OptionType<double> {
  static constexpr uint32_t kType = SLUICE_T_DOUBLE;
  static double read(const Value& v) { return v.raw().as.f64; }
};
template <> struct OptionType<std::string> {
  static constexpr uint32_t kType = SLUICE_T_STRING;
  static std::string read(const Value& v) { return std::string(v.text()); }
};
template <> struct OptionType<std::chrono::milliseconds> {
  static constexpr uint32_t kType = SLUICE_T_DURATION;
  static std::chrono::milliseconds read(const Value& v) { return std::chrono::milliseconds(v.raw().as.i64); }
};
template <> struct OptionType<Size> {
  static constexpr uint32_t kType = SLUICE_T_SIZE;
  static Size read(const Value& v) { return Size{v.raw().as.i64}; }
};
template <> struct OptionType<std::vector<std::string>> {
  static constexpr uint32_t kType = SLUICE_T_STRING_LIST;
  static std::vector<std::string> read(const Value& v) {
    std::vector<std::string> out;
    for (size_t i = 0; i < v.size(); ++i) out.emplace_back(v.item(i).text());
    return out;
  }
};
template <> struct OptionType<StringMap> {
  static constexpr uint32_t kType = SLUICE_T_STRING_MAP;
  static StringMap read(const Value& v) {
    StringMap out;
    for (size_t i = 0; i < v.size(); ++i) out.emplace_back(v.name(i), v.member(i).text());
    return out;
  }
};
// An option without a default that may be left out.
template <class T> struct OptionType<std::optional<T>> {
  static constexpr uint32_t kType = OptionType<T>::kType;
  static std::optional<T> read(const Value& v) { return OptionType<T>::read(v); }
};
}  // namespace detail

// One option. Made by opt(); the functions below set one thing each and give the option back.
template <class Config>
struct Option {
  std::string name_text, default_yaml, unit_text, doc_text, example_text, since_text;
  bool has_default = false;
  uint32_t type = SLUICE_T_STRING, flags = 0;
  std::vector<std::string> choice_names;
  std::function<void(Config&, const Value&)> set;

  // A pipeline without it is refused.
  Option&& required() && { flags |= SLUICE_OPT_REQUIRED; return std::move(*this); }
  // Its value is never shown.
  Option&& secret() && { flags |= SLUICE_OPT_SECRET; return std::move(*this); }
  // Taken, with a warning.
  Option&& deprecated() && { flags |= SLUICE_OPT_DEPRECATED; return std::move(*this); }
  // Comes after the others on the operator's page.
  Option&& advanced() && { flags |= SLUICE_OPT_ADVANCED; return std::move(*this); }
  // The default, as it would be written in YAML.
  Option&& def(std::string yaml) && { default_yaml = std::move(yaml); has_default = true; return std::move(*this); }
  // For the documentation: the unit of a number, what the option does, a value as in YAML, the operator's version that has it.
  Option&& unit(std::string text) && { unit_text = std::move(text); return std::move(*this); }
  Option&& doc(std::string text) && { doc_text = std::move(text); return std::move(*this); }
  Option&& example(std::string yaml) && { example_text = std::move(yaml); return std::move(*this); }
  Option&& since(std::string version) && { since_text = std::move(version); return std::move(*this); }
};
template <class Config>
using Options = std::vector<Option<Config>>;

// The option's type follows the member's: bool, int64_t, double, std::string, std::chrono::milliseconds, Size,
// std::vector<std::string>, StringMap, or std::optional of one of them.
template <class Config, class T>
Option<Config> opt(std::string name, T Config::*member) {
  Option<Config> o;
  o.name_text = std::move(name);
  o.type = detail::OptionType<T>::kType;
  o.set = [member](Config& c, const Value& v) { c.*member = detail::OptionType<T>::read(v); };
  return o;
}
// An enum, by the words that YAML uses.
template <class Config, class E>
Option<Config> opt(std::string name, E Config::*member, std::initializer_list<std::pair<const char*, E>> words) {
  Option<Config> o;
  o.name_text = std::move(name);
  o.type = SLUICE_T_ENUM;
  std::vector<std::pair<std::string, E>> table;
  for (const auto& w : words) {
    o.choice_names.emplace_back(w.first);
    table.emplace_back(w.first, w.second);
  }
  o.set = [member, table](Config& c, const Value& v) {
    for (const auto& w : table)
      if (w.first == v.text()) c.*member = w.second;
  };
  return o;
}

}  // namespace sluice
