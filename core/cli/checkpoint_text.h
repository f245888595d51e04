// Checkpoints for people and for programs.
#pragma once
#include <string>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/manifest.h"

namespace sluice::cli {

// As the user writes it: digits only, and no more of them than a number can have.
bool is_checkpoint_number(const std::string& text);

std::string checkpoint_list_text(const std::string& dir, const std::vector<checkpoint::CheckpointInfo>& all);
std::string checkpoint_list_json(const std::string& dir, const std::vector<checkpoint::CheckpointInfo>& all);
std::string manifest_text(const checkpoint::Manifest& manifest);
// The manifest as it is on disk, without its checksum.
std::string manifest_json(const checkpoint::Manifest& manifest);
std::string verify_text(const checkpoint::VerifyReport& report);

}  // namespace sluice::cli
