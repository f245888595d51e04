// What the host says about plugins that it cannot load. Every text in full: it is what the user has to work with.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "plugin/catalog.h"
#include "plugin/library.h"
#include "plugin/registry.h"
#include "test_plugins.h"
#include "../support/temp_folder.h"

namespace fs = std::filesystem;
using sluice::plugin::PluginRegistry;
using sluice::test::bad_plugin;

namespace {

// Loading the plugin fails, with the file and then this reason.
void check_refused(const std::string& name, const std::string& reason) {
  INFO(name);
  const std::string file = bad_plugin(name);
  PluginRegistry registry;
  const auto status = registry.load_file(file);
  CHECK(status.code() == sluice::base::Code::kFatal);
  CHECK(status.message() == file + ": " + reason);
  REQUIRE(registry.failures().size() == 1);
  CHECK(registry.failures()[0].file == file);
  CHECK(registry.failures()[0].reason == reason);
  CHECK(registry.operators().empty());
  // The same from a child process.
  const auto seen = sluice::plugin::probe(file);
  REQUIRE_FALSE(seen.is_ok());
  CHECK(seen.status().message() == file + ": " + reason);
}

}  // namespace

TEST_CASE("plugins that are refused") {
  check_refused("missing_symbol", "it has no symbol sluice_module_v0, so it is no Sluice plugin");
  check_refused("other_major", "it exports sluice_module_v1, this host speaks ABI 0.2 and needs sluice_module_v0");
  check_refused("other_minor", "module \"newer\" 3.1 was built for plugin ABI 0.3, this host speaks 0.2: build it again with the SDK that belongs to this host");
  check_refused("null_module", "sluice_module_v0() gave no module description");
  check_refused("short_struct", "the module description is too short: 8 bytes, at least 104 are needed");
  check_refused("short_operator", "module \"short-operator\" 1: the description of an operator is too short: 128 bytes, at least 136 are needed");
  check_refused("entry_throws", "sluice_module_v0() threw: no licence");
  check_refused("init_fails", "init() of module \"init-fails\" failed with code 3: the licence server is away");
}

TEST_CASE("files that are no libraries") {
  const sluice::tests::TempFolder folder;
  const std::string text = (fs::path(folder.path()) / "text.so").string(), dangling = (fs::path(folder.path()) / "dangling.so").string();
  std::ofstream(text) << "this is no library at all, only a text that is long enough to have a header";
  fs::create_symlink("nowhere", dangling);
  PluginRegistry registry;
  CHECK(registry.load_file(text).message() == text + ": cannot be loaded: " + text + ": invalid ELF header");
  CHECK(registry.load_folders({folder.path(), "/nonexistent"}).message() ==
        dangling + ": No such file or directory\n" + text + ": cannot be loaded: " + text + ": invalid ELF header\n" +
            "/nonexistent: this plugin folder cannot be read: No such file or directory");
  const sluice::plugin::PluginCatalog catalog(registry);
  CHECK(catalog.failed_modules().size() == 4);
  CHECK(catalog.searched_folders() == std::vector<std::string>{folder.path(), "/nonexistent"});
}

TEST_CASE("two plugins with one operator") {
  PluginRegistry registry;
  REQUIRE(registry.load_file(bad_plugin("twice_a")).is_ok());
  CHECK(registry.load_file(bad_plugin("twice_b")).message() ==
        bad_plugin("twice_b") + ": operator \"test.twice\" is also in " + bad_plugin("twice_a") + "; remove one of the two");
  REQUIRE(registry.module_of("test.twice") != nullptr);
  CHECK(registry.module_of("test.twice")->file == bad_plugin("twice_a"));
}

TEST_CASE("one library under two names is loaded once") {
  const sluice::tests::TempFolder folder;
  fs::create_symlink(bad_plugin("twice_a"), fs::path(folder.path()) / "a.so");
  fs::create_symlink(bad_plugin("twice_a"), fs::path(folder.path()) / "b.so");
  PluginRegistry registry;
  REQUIRE(registry.load_folders({folder.path(), folder.path()}).is_ok());
  CHECK(registry.modules().size() == 1);
  CHECK(registry.operators().size() == 1);
  CHECK(registry.folders().size() == 1);
  CHECK(registry.find("test.twice") != nullptr);
  CHECK(registry.find("test.thrice") == nullptr);
}

TEST_CASE("libraries that crash, leave or hang while they are loaded do not take the command with them") {
  const auto reason = [](const std::string& name, int timeout_ms) {
    const auto seen = sluice::plugin::probe(bad_plugin(name), timeout_ms);
    REQUIRE_FALSE(seen.is_ok());
    return seen.status().message();
  };
  CHECK(reason("crash_at_load", 10000) == bad_plugin("crash_at_load") + ": crashed while loading (signal 11)");
  CHECK(reason("abort_at_load", 10000) == bad_plugin("abort_at_load") + ": crashed while loading (signal 6)");
  CHECK(reason("exit_at_load", 10000) == bad_plugin("exit_at_load") + ": ended the process while loading (exit code 3)");
  CHECK(reason("hang_at_load", 200) == bad_plugin("hang_at_load") + ": was not done with loading after 200 ms");

  PluginRegistry registry;
  CHECK(registry.load_file(bad_plugin("crash_at_load"), {.probe_first = true}).message() ==
        bad_plugin("crash_at_load") + ": crashed while loading (signal 11)");
}

TEST_CASE("a plugin is described without being loaded here") {
  const auto seen = sluice::plugin::probe(bad_plugin("throws"));
  REQUIRE(seen.is_ok());
  const auto& d = seen.value();
  CHECK(d.file == bad_plugin("throws"));
  CHECK(d.name == "bad-throws");
  CHECK(d.version == "1.0.0");
  CHECK(d.vendor.empty());
  CHECK(d.build.find("C++ SDK") == 0);
  CHECK(d.abi == "0.2");
  REQUIRE(d.operators.size() == 1);
  CHECK(d.operators[0].type == "test.throws");
  CHECK(d.operators[0].kind == "transform");
  CHECK(d.operators[0].version == "1.0.0");
  CHECK(d.operators[0].summary == "Throws.");
}
