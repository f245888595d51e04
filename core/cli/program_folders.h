// Where the program finds what was installed, or built, together with it.
#pragma once
#include <string>
#include <vector>

namespace sluice::cli {

// Folder of the running program. Empty when the system does not tell.
std::string program_folder();
// `<program folder>/../lib/sluice/plugins`: the plugins that came with the program; build tree and installation alike.
std::string own_plugin_folder();
// Folder that holds `template/`, the project a plugin author copies. Empty when it was not installed.
std::string sdk_folder();

// Folders to load plugins from, in this order, each once: those of the command line, those of the pipeline file, those
// of SLUICE_PLUGIN_PATH, the program's own. Relative ones are relative to the working directory. The program's own is
// left out when it does not exist; the others were named by the user and must exist.
std::vector<std::string> plugin_folders(const std::vector<std::string>& from_command_line,
                                        const std::vector<std::string>& from_pipeline);

}  // namespace sluice::cli
