// Runs the built command as a user would.
#pragma once
#include <string>
#include <vector>

#include "../../support/temp_folder.h"

namespace sluice::cli::testing {

struct Ran {
  int exit_status = -1;  // 128 + signal when it was ended by one
  std::string out, err;
};

// The command with the plugins of the build tree beside it.
Ran run_sluice(const std::vector<std::string>& arguments);
// The same program in a folder without plugins; `environment` is added to that of the test.
Ran run_bare_sluice(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});
// The command as a shell starts it, with redirections such as ">&-"; what they leave alone is taken as above.
Ran run_sluice_redirected(const std::vector<std::string>& arguments, const std::string& redirections);

using Folder = tests::TempFolder;

std::string read(const std::string& path);
std::string replaced(std::string text, const std::string& what, const std::string& with);

}  // namespace sluice::cli::testing
