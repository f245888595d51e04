// The captured files of tests/plugins/mysql_cdc/data: binlogs, streams, and what SELECT gave.
#pragma once
#include <zlib.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/binlog_event.h"
#include "decode/change_writer.h"
#include "decode/column.h"
#include "decode/table_codec.h"

namespace captured {

inline std::string data_path(const std::string& name) {
  return std::string(SLUICE_SOURCE_DIR) + "/tests/plugins/mysql_cdc/data/" + name;
}

// Gzipped or not.
inline std::string read_file(const std::string& name) {
  gzFile file = gzopen(data_path(name).c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("no file " + name);
  std::string all;
  char part[65536];
  for (int n = 0; (n = gzread(file, part, sizeof part)) > 0;) all.append(part, static_cast<size_t>(n));
  gzclose(file);
  return all;
}

inline uint32_t little32(const std::string& s, size_t at) {
  return static_cast<uint8_t>(s.at(at)) | static_cast<uint8_t>(s.at(at + 1)) << 8 | static_cast<uint8_t>(s.at(at + 2)) << 16 |
         static_cast<uint32_t>(static_cast<uint8_t>(s.at(at + 3))) << 24;
}

// The events of a binlog file (after its four magic bytes), or of a captured stream.
inline std::vector<std::string> events_of(const std::string& name) {
  const std::string bytes = read_file(name);
  const bool stream = name.find(".packets") != std::string::npos;
  std::vector<std::string> events;
  for (size_t at = stream ? 0 : 4; at < bytes.size();) {
    const uint32_t size = little32(bytes, stream ? at : at + 9);
    if (stream) at += 4;
    events.push_back(bytes.substr(at, size));
    at += size;
  }
  return events;
}

inline sluice::Status parse(sluice_mysql::EventParser* parser, const std::string& event, sluice_mysql::Event* out) {
  return parser->parse(reinterpret_cast<const uint8_t*>(event.data()), event.size(), out);
}

// A table as information_schema and SELECT gave it.
struct SelectedTable {
  sluice_mysql::Table table;
  std::vector<std::vector<std::pair<bool, std::string>>> rows;  // (is NULL, bytes)
};

inline std::vector<std::string> split(std::string_view line, char at) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// \xNN → the byte
inline std::string unescape(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\' && i + 3 < s.size() + 0 && s[i + 1] == 'x') {
      out += static_cast<char>(std::stoi(std::string(s.substr(i + 2, 2)), nullptr, 16));
      i += 3;
    } else {
      out += s[i];
    }
  }
  return out;
}

// By table name.
inline std::map<std::string, SelectedTable> selected(const std::string& name) {
  std::map<std::string, SelectedTable> tables;
  SelectedTable* now = nullptr;
  for (const std::string& line : split(read_file(name), '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string> f = split(line, '\t');
    if (f[0] == "table") {
      now = &tables[f[2]];
      now->table.database = f[1];
      now->table.name = f[2];
    } else if (f[0] == "column") {
      std::vector<std::string> u;
      for (const std::string& field : f) u.push_back(unescape(field));
      sluice_mysql::Column c;
      const sluice::Status made = sluice_mysql::make_column({u[1], u[2], u[3], u[4], u[5], u[6], u[7]}, &c);
      if (!made.is_ok()) throw std::runtime_error(made.message());
      now->table.columns.push_back(c);
    } else if (f[0] == "key") {
      for (uint32_t i = 0; i < now->table.columns.size(); ++i) {
        if (now->table.columns[i].name == unescape(f[1])) now->table.primary_key.push_back(i);
      }
    } else {
      auto& row = now->rows.emplace_back();
      for (size_t i = 1; i < f.size(); ++i) row.emplace_back(f[i] == "\\N", unescape(f[i]));
    }
  }
  return tables;
}

inline std::vector<sluice_mysql::Cell> cells_of(const std::vector<std::pair<bool, std::string>>& row) {
  std::vector<sluice_mysql::Cell> cells;
  for (const auto& [null, bytes] : row) {
    cells.push_back(null ? sluice_mysql::Cell()
                         : sluice_mysql::Cell{reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<uint32_t>(bytes.size())});
  }
  return cells;
}

// Ids of the servers that the captured files need beyond those that the decoder knows of itself.
inline sluice_mysql::Collations collations() {
  sluice_mysql::Collations c;
  c.add(192, "utf8mb3");
  return c;
}

}  // namespace captured
