#include "plugin/library.h"

#include <sys/stat.h>

#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>  // Boost.DLL 1.74 forgets it when it uses std::filesystem (BOOST_DLL_USE_STD_FS)

#include <boost/dll/library_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <spdlog/spdlog.h>

#include "plugin/negotiation.h"

namespace sluice::plugin {
namespace {

namespace dll = boost::dll;

void log_to_spdlog(const sluice_host*, uint32_t level, sluice_str text) noexcept {
  try {
    const auto l = level >= SLUICE_LOG_ERROR     ? spdlog::level::err
                   : level == SLUICE_LOG_WARNING ? spdlog::level::warn
                   : level == SLUICE_LOG_INFO    ? spdlog::level::info
                                                 : spdlog::level::debug;
    spdlog::log(l, "{}", view(text));
  } catch (...) {  // a log line that cannot be written must not reach the plugin
  }
}

const void* no_extension(const sluice_host*, sluice_str) noexcept { return nullptr; }

// Libraries stay open until the process ends, statics of other files included: hence never destroyed.
struct OpenLibraries {
  using Inode = std::pair<dev_t, ino_t>;
  std::vector<dll::shared_library> libraries;
  std::map<Inode, base::Result<const sluice_module*>> modules;
};
OpenLibraries& open_libraries() {
  static auto* const all = new OpenLibraries;
  return *all;
}

// Boost wraps the text of dlerror() in its own words.
std::string dlerror_text(const std::string& what) {
  static constexpr std::string_view kBefore = "dlerror system message: ";
  const size_t begin = what.find(kBefore), end = what.rfind("): ");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return what;
  return what.substr(begin + kBefore.size(), end - begin - kBefore.size());
}

// The reason for a library without our entry symbol, with what it has instead.
std::string no_entry(const dll::shared_library& library, const std::string& path) {
  static constexpr std::string_view kPrefix = "sluice_module_v";
  std::string exported;
  const auto add = [&](const std::string& symbol) {
    if (exported.find(symbol) == std::string::npos) exported += (exported.empty() ? "" : ", ") + symbol;
  };
  try {
    for (const std::string& symbol : dll::library_info(path).symbols())
      if (symbol.rfind(kPrefix, 0) == 0) add(symbol);
  } catch (const std::exception&) {  // not a reason to fail: the symbols of a stripped library are found below
  }
  for (int major = 0; major < 10; ++major)
    if (const std::string symbol = std::string(kPrefix) + std::to_string(major); library.has(symbol)) add(symbol);
  return exported.empty() ? std::string("it has no symbol " SLUICE_ENTRY_SYMBOL ", so it is no Sluice plugin")
                          : "it exports " + exported + ", this host speaks ABI " + host_abi() + " and needs " SLUICE_ENTRY_SYMBOL;
}

base::Status run_init(const sluice_module& module) {
  if (module.init == nullptr) return base::Status::ok();
  sluice_error e;
  std::memset(&e, 0, sizeof e);
  e.struct_size = sizeof e;
  sluice_code code = SLUICE_BUG;
  std::string thrown;
  try {
    code = module.init(&module_host(), &e);
  } catch (const std::exception& x) {
    thrown = x.what();
  } catch (...) {
    thrown = "an exception of unknown type";
  }
  if (!thrown.empty()) return base::Status::fatal("init() of module \"" + std::string(view(module.name)) + "\" threw: " + thrown);
  if (code == SLUICE_OK) return base::Status::ok();
  const size_t size = std::min<size_t>(e.message_size, sizeof e.message);
  return base::Status::fatal("init() of module \"" + std::string(view(module.name)) + "\" failed with code " + std::to_string(code) +
                             (size > 0 ? ": " + std::string(e.message, size) : ""));
}

base::Result<const sluice_module*> open_new(const std::string& path) {
  dll::shared_library library;
  try {
    library.load(path, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  } catch (const std::exception& e) {
    return base::Status::fatal("cannot be loaded: " + dlerror_text(e.what()));
  } catch (...) {
    return base::Status::fatal("cannot be loaded: an exception of unknown type while it was loading");
  }
  // From here on it is never unloaded, not even when it is refused.
  open_libraries().libraries.push_back(library);
  if (!library.has(SLUICE_ENTRY_SYMBOL)) return base::Status::fatal(no_entry(library, path));
  const sluice_module* module = nullptr;
  try {
    module = library.get<const sluice_module*()>(SLUICE_ENTRY_SYMBOL)();
  } catch (const std::exception& e) {
    return base::Status::fatal(SLUICE_ENTRY_SYMBOL "() threw: " + std::string(e.what()));
  } catch (...) {
    return base::Status::fatal(SLUICE_ENTRY_SYMBOL "() threw an exception of unknown type");
  }
  SLUICE_TRY(check_module(module));
  SLUICE_TRY(run_init(*module));
  return module;
}

}  // namespace

const sluice_host& module_host() {
  static const sluice_host host{sizeof(sluice_host), SLUICE_ABI_MINOR, {SLUICE_VERSION, sizeof SLUICE_VERSION - 1}, &log_to_spdlog, &no_extension};
  return host;
}

base::Result<const sluice_module*> open_library(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return base::Status::fatal(path + ": " + std::strerror(errno));
  auto& known = open_libraries().modules;
  auto it = known.find({s.st_dev, s.st_ino});
  if (it == known.end()) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    it = known.emplace(OpenLibraries::Inode{s.st_dev, s.st_ino}, open_new(error ? path : absolute.string())).first;
  }
  if (!it->second.is_ok()) return base::Status(it->second.status()).in(path);
  return it->second.value();
}

Description describe(const sluice_module& module, const std::string& file) {
  Description d;
  d.file = file;
  d.name = view(module.name);
  d.version = view(module.version);
  d.vendor = view(module.vendor);
  d.build = view(module.build);
  d.abi = std::to_string(module.abi_major) + "." + std::to_string(module.abi_minor);
  for (size_t i = 0; i < module.operator_count; ++i) {
    const sluice_operator_desc& o = *module.operators[i];
    d.operators.push_back({std::string(view(o.type)), kind_name(o.kind), std::string(view(o.version)), std::string(view(o.summary))});
  }
  return d;
}

}  // namespace sluice::plugin
