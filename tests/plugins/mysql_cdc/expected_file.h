// Expected texts that are kept as files, to be read by people.
#pragma once
#include <cstdlib>
#include <fstream>

#include "captured.h"

namespace captured {

// Compares line by line with the data file `name`. With SLUICE_WRITE_EXPECTED set the file is written instead: look at
// what changed before committing it.
inline void check_expected(const std::string& name, const std::string& got) {
  if (std::getenv("SLUICE_WRITE_EXPECTED") != nullptr) {
    std::ofstream(data_path(name), std::ios::binary) << got;
    return;
  }
  const std::vector<std::string> expected_lines = split(read_file(name), '\n'), got_lines = split(got, '\n');
  CHECK(got_lines.size() == expected_lines.size());
  for (size_t i = 0; i < std::min(expected_lines.size(), got_lines.size()); ++i) {
    INFO(name << ":" << i + 1);
    CHECK(got_lines[i] == expected_lines[i]);
  }
}

}  // namespace captured
