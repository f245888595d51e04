// What file.sink keeps beside its files: up to which epoch they are complete.
#pragma once
#include <cstdint>
#include <string>

#include "sluice/status.hpp"

namespace sluice::file {

// A value. On disk one JSON object, format 1; see epoch_marker.cpp.
struct EpochMarker {
  std::string pipeline;
  std::string lineage;
  std::string file;  // name of the epoch's file in the folder; empty: the epoch had no rows
  uint64_t epoch = 0;

  std::string to_json() const;
};

// Writes `content` so that after a crash `path` holds either what it held before or all of it.
Status write_file_atomically(const std::string& path, const std::string& content);
// Makes creations and renames in a folder durable.
Status sync_folder(const std::string& path);

}  // namespace sluice::file
