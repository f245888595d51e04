#include "binlog_position.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice_mysql {
namespace {

void append_number(uint64_t n, std::string* out) {
  char text[20];
  const auto end = std::to_chars(text, text + sizeof text, n).ptr;
  out->append(text, static_cast<size_t>(end - text));
}

bool read_number(std::string_view text, uint64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

void BinlogPosition::append_head(std::string* out) const {
  const bool dated = created != 0 && !chosen;
  out->append(chosen ? "4" : dated ? "5" : "2").append("\tstream\t");
  out->append(server).append("\t").append(file).append("\t");
  if (dated) {
    append_number(created, out);
    out->append("\t");
  }
  append_number(begin, out);
  out->append("\t").append(gtid).append("\t").append(open_gtid).append("\t");
}

void BinlogPosition::append_row(uint64_t event, uint32_t row, uint64_t rows, std::string* out) {
  append_number(event, out);
  out->push_back('\t');
  append_number(row, out);
  out->push_back('\t');
  append_number(rows, out);
}

std::string BinlogPosition::encode() const {
  std::string out;
  if (phase == Phase::kSnapshot) {
    out.append(file.empty() ? "1" : "3").append("\tsnapshot\t").append(table).append("\t");
    append_number(rows, &out);
    if (file.empty()) return out;
    out.append("\t").append(server).append("\t").append(file).append("\t");
    append_number(begin, &out);
    out.append("\t").append(gtid);
    return out;
  }
  append_head(&out);
  append_row(event, row, rows, &out);
  return out;
}

std::optional<BinlogPosition> BinlogPosition::decode(std::string_view text) {
  std::array<std::string_view, 11> fields;
  size_t count = 0;
  while (true) {
    if (count == fields.size()) return std::nullopt;
    const size_t tab = text.find('\t');
    fields[count++] = text.substr(0, tab);
    if (tab == std::string_view::npos) break;
    text.remove_prefix(tab + 1);
  }
  if (count < 2) return std::nullopt;
  BinlogPosition p;
  if (fields[0] == "3" && fields[1] == "snapshot" && count == 8) {
    p.table = fields[2];
    p.server = fields[4];
    p.file = fields[5];
    p.gtid = fields[7];
    return read_number(fields[3], &p.rows) && read_number(fields[6], &p.begin) ? std::optional(p) : std::nullopt;
  }
  const bool first_form = fields[0] == "1", dated = fields[0] == "5";
  p.chosen = fields[0] == "4";
  if (!first_form && fields[0] != "2" && !p.chosen && !dated) return std::nullopt;
  if (first_form && fields[1] == "snapshot" && count == 4) {
    p.table = fields[2];
    return read_number(fields[3], &p.rows) ? std::optional(p) : std::nullopt;
  }
  if (fields[1] != "stream" || count != (first_form ? 9u : dated ? 11u : 10u)) return std::nullopt;
  p.phase = Phase::kStream;
  p.server = fields[2];
  p.file = fields[3];
  if (dated) {
    uint64_t created = 0;
    if (!read_number(fields[4], &created) || created == 0 || created > UINT32_MAX) return std::nullopt;
    p.created = static_cast<uint32_t>(created);
    std::copy(fields.begin() + 5, fields.end(), fields.begin() + 4);
    --count;
  }
  p.gtid = fields[5];
  if (!first_form) p.open_gtid = fields[6];
  const std::string_view* const last = fields.data() + count - 3;
  uint64_t row = 0;
  if (!read_number(fields[4], &p.begin) || !read_number(last[0], &p.event) || !read_number(last[1], &row) ||
      !read_number(last[2], &p.rows) || row > UINT32_MAX)
    return std::nullopt;
  p.row = static_cast<uint32_t>(row);
  return p;
}

std::string BinlogPosition::describe() const {
  if (phase == Phase::kSnapshot)
    return table.empty() ? "before the snapshot" : "snapshot of " + table + " row " + std::to_string(rows);
  const std::string at = gtid.empty() ? "" : " (after " + gtid + ")";
  if (file.empty()) return gtid.empty() ? "the first binlog there is" : "after " + gtid;
  if (!inside_transaction()) return file + ":" + std::to_string(begin) + at;
  return file + ":" + std::to_string(event) + " row " + std::to_string(row) + " of the transaction at " +
         std::to_string(begin) + at;
}

std::optional<FilePosition> parse_file_position(std::string_view text) {
  const size_t colon = text.rfind(':');
  FilePosition out;
  if (colon == std::string_view::npos || colon == 0 || text.find_first_of(" \t\r\n/") != std::string_view::npos ||
      !read_number(text.substr(colon + 1), &out.position))
    return std::nullopt;
  out.file = text.substr(0, colon);
  return out;
}

bool file_before(std::string_view a, std::string_view b) noexcept {
  const auto number_at = [](std::string_view s) {
    return s.rfind('.') == std::string_view::npos ? 0 : s.rfind('.') + 1;
  };
  std::string_view x = a.substr(number_at(a)), y = b.substr(number_at(b));
  while (!x.empty() && x[0] == '0') x.remove_prefix(1);
  while (!y.empty() && y[0] == '0') y.remove_prefix(1);
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

bool operator<(const FilePosition& a, const FilePosition& b) noexcept {
  return a.file == b.file ? a.position < b.position : file_before(a.file, b.file);
}

}  // namespace sluice_mysql
