#include <catch2/catch.hpp>

#include "run_sluice.h"

using namespace sluice::cli::testing;

namespace {

struct Wrong {
  std::vector<std::string> arguments;
  std::string message;
};

}  // namespace

TEST_CASE("wrong arguments: status 2, one sentence, and where help is") {
  const std::vector<Wrong> all = {
      {{"rum"}, "sluice: there is no command \"rum\"; did you mean \"run\"?\nTry \"sluice --help\".\n"},
      {{"frobnicate"}, "sluice: there is no command \"frobnicate\"\nTry \"sluice --help\".\n"},
      {{"--verison"},
       "sluice: there is no option \"--verison\"; did you mean \"--version\"?\nTry \"sluice --help\".\n"},
      {{"run"}, "sluice run: PIPELINE is required\nTry \"sluice run --help\".\n"},
      {{"run", "a.yaml", "--metrcs", "9"},
       "sluice run: there is no option \"--metrcs\"; did you mean \"--metrics\"?\nTry \"sluice run --help\".\n"},
      {{"run", "a.yaml", "b.yaml"}, "sluice run: \"b.yaml\" is one argument too many\nTry \"sluice run --help\".\n"},
      {{"run", "--from", "newest", "a.yaml"},
       "sluice run: --from: \"newest\" is neither a number of a checkpoint nor \"none\"\nTry \"sluice run --help\".\n"},
      {{"run", "--parallelism", "0", "a.yaml"},
       "sluice run: --parallelism: Value 0 not in range 1 to 128\nTry \"sluice run --help\".\n"},
      {{"validate", "--format", "xml", "a.yaml"},
       "sluice validate: --format: xml not in {text,json}\nTry \"sluice validate --help\".\n"},
      {{"checkpoints", "lst", "."},
       "sluice checkpoints: there is no command \"lst\"; did you mean \"list\"?\nTry \"sluice checkpoints --help\".\n"},
      {{"checkpoints", "list"},
       "sluice checkpoints list: DIR_OR_PIPELINE is required\nTry \"sluice checkpoints list --help\".\n"},
      {{"checkpoints", "show", ".", "-1"},
       "sluice checkpoints show: N: \"-1\" is not a number of a checkpoint\nTry \"sluice checkpoints show --help\".\n"},
      {{"checkpoints", "pin", ".", "0x10"},
       "sluice checkpoints pin: N: \"0x10\" is not a number of a checkpoint\nTry \"sluice checkpoints pin --help\".\n"},
      {{"describe", "--all", "file.source"},
       "sluice describe: --all is every operator: leave it out, or the operators that are named (file.source)\n"},
      {{"describe"}, "sluice describe: name an operator, or give --all (see \"sluice plugins\")\n"},
  };
  for (const Wrong& wrong : all) {
    const Ran ran = run_sluice(wrong.arguments);
    INFO(wrong.arguments.front());
    CHECK(ran.exit_status == 2);
    CHECK(ran.err == wrong.message);
    CHECK(ran.out.empty());
  }
}

TEST_CASE("an address that cannot be listened on is found before anything is opened") {
  const Ran ran = run_sluice({"run", "nothing.yaml", "--metrics", "here", "--log-format", "json"});
  CHECK(ran.exit_status == 2);
  CHECK(ran.err.substr(ran.err.find(",\"level\"")) ==
        R"~(,"level":"error","message":"\"here\" is not an address to listen on: the port is not a number )~"
        R"~((examples: 9464, 127.0.0.1:9464, 0.0.0.0:9464, [::1]:9464)"})~"
        "\n");
}

TEST_CASE("no command at all shows the help and is an error") {
  const Ran none = run_sluice({}), help = run_sluice({"--help"});
  CHECK(none.exit_status == 2);
  CHECK(none.out.empty());
  CHECK(help.exit_status == 0);
  CHECK(none.err == help.out);
  for (const char* text :
       {"Exit status:\n  0 ", "\n  130 ", "SLUICE_PLUGIN_PATH", "SLUICE_DEBUG_PLUGINS", "${NAME:-default}", "sluice run pipeline.yaml"})
    CHECK_THAT(help.out, Catch::Contains(text));
  CHECK_THAT(help.out, !Catch::Contains("failpoints"));
}

TEST_CASE("every command's help has an example") {
  const std::vector<std::vector<std::string>> commands = {{"run"},
                                                          {"validate"},
                                                          {"plugins"},
                                                          {"describe"},
                                                          {"checkpoints"},
                                                          {"checkpoints", "list"},
                                                          {"version"},
                                                          {"checkpoints", "show"},
                                                          {"checkpoints", "verify"},
                                                          {"sdk"},
                                                          {"sdk", "path"},
                                                          {"failpoints"}};
  for (std::vector<std::string> command : commands) {
    std::string words = "sluice";
    for (const std::string& word : command) words += " " + word;
    command.emplace_back("--help");
    const Ran ran = run_sluice(command);
    INFO(words);
    CHECK(ran.exit_status == 0);
    const size_t examples = ran.out.find("Example");
    REQUIRE(examples != std::string::npos);
    CHECK(ran.out.find(words.substr(0, words.find(' ', 7)), examples) != std::string::npos);
  }
}

TEST_CASE("version and failpoints") {
  CHECK(run_sluice({"version"}).out == "sluice " SLUICE_VERSION " (plugin ABI 0.2)\n");
  CHECK(run_sluice({"--version"}).out == run_sluice({"version"}).out);
  const Ran failpoints = run_sluice({"failpoints"});
  CHECK(failpoints.exit_status == 0);
  CHECK_THAT(failpoints.out, Catch::Contains("checkpoint.after_manifest\n"));
}

TEST_CASE("the SDK is found in the source tree, and beside an installed program") {
  const Ran ran = run_sluice({"sdk", "path"});
  CHECK(ran.exit_status == 0);
  CHECK(ran.out == SLUICE_SOURCE_DIR "/sdk\n");
}
