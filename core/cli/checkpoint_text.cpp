#include "cli/checkpoint_text.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "cli/json_text.h"
#include "observe/number_text.h"
#include "observe/progress.h"
#include "observe/terminal_text.h"

namespace sluice::cli {
namespace {

using checkpoint::CheckpointHealth;
using checkpoint::CheckpointInfo;
using checkpoint::Manifest;
using observe::bytes_text;
using observe::count_text;
using observe::plural;
using observe::printable;
using observe::time_text;

static_assert(INT64_MIN == observe::kNoTime);  // manifests write "none" as INT64_MIN

std::string short_lineage(const std::string& lineage) { return printable(lineage.substr(0, 8)); }

}  // namespace

bool is_checkpoint_number(const std::string& text) {
  return !text.empty() && text.size() <= 19 && text.find_first_not_of("0123456789") == std::string::npos;
}

std::string checkpoint_list_text(const std::string& dir, const std::vector<CheckpointInfo>& all) {
  if (all.empty()) return dir + " holds no checkpoint\n";
  std::string out =
      fmt::format("{:>8}  {:<10}  {:<20}  {:<8}  {:>10}\n", "number", "health", "created (UTC)", "lineage", "size");
  for (const CheckpointInfo& info : all) {
    out += fmt::format("{:>8}  {:<10}  {:<20}  {:<8}  {:>10}{}{}\n", info.number, checkpoint::to_string(info.health),
                       info.created_ms == 0 ? "-" : time_text(info.created_ms), short_lineage(info.lineage),
                       bytes_text(info.bytes), info.pinned ? "  pinned" : "",
                       info.problem.empty() ? "" : "  " + printable(info.problem));
  }
  return out;
}

std::string checkpoint_list_json(const std::string& dir, const std::vector<CheckpointInfo>& all) {
  JsonText out;
  out.open();
  out.put("dir", dir);
  out.open_list("checkpoints");
  for (const CheckpointInfo& info : all) {
    out.open();
    out.put("number", info.number);
    out.put("health", checkpoint::to_string(info.health));
    out.put("problem", info.problem);
    out.put("lineage", info.lineage);
    out.put("created_ms", info.created_ms);
    out.put("bytes", info.bytes);
    out.put("pinned", info.pinned);
    out.close();
  }
  out.close_list();
  out.close();
  return out.text();
}

std::string manifest_text(const Manifest& m) {
  std::string out =
      fmt::format("checkpoint {} of {}, {} UTC\n", m.number, printable(m.pipeline), time_text(m.created_ms));
  out += fmt::format("  lineage {}, ", printable(m.lineage));
  out += m.parent_lineage.empty()
             ? "begun from scratch\n"
             : fmt::format("begun from checkpoint {} of lineage {}\n", m.parent_number, printable(m.parent_lineage));
  out += fmt::format("  written by sluice {}, {}, {} key groups\n", printable(m.sluice_version),
                     plural(m.parallelism, "lane"), m.key_groups);
  out += "\noperators\n";
  for (const auto& op : m.operators) {
    out += fmt::format("  {} ({} {}), {}{}{}\n", printable(op.id), printable(op.type), printable(op.version),
                       plural(op.parallelism, "lane"), op.key.empty() ? "" : ", key " + printable(op.key),
                       op.timers == 0 ? "" : ", " + plural(op.timers, "timer"));
    for (const auto& state : op.states)
      out += fmt::format("    state {}: {}, format {}, about {}{}\n", printable(state.name), printable(state.kind),
                         state.format, plural(state.entries, "value"),
                         state.ttl_ms == 0 ? "" : ", kept for " + observe::duration_text(state.ttl_ms));
  }
  for (const auto& source : m.sources) {
    out += fmt::format("\npositions of {}\n", printable(source.operator_id));
    for (const auto& split : source.splits)
      out += fmt::format(
          "  {}: {}{}{}{}\n", printable(split.id), printable(split.position_text),
          split.max_event_time_ms == observe::kNoTime ? "" : ", newest time " + time_text(split.max_event_time_ms),
          split.snapshot_complete ? ", snapshot complete" : "", split.ended ? ", ended" : "");
  }
  if (!m.watermarks.empty()) out += "\nwatermarks (UTC)\n";
  for (const auto& w : m.watermarks)
    out += fmt::format("  {} lane {}: {}\n", printable(w.operator_id), w.lane, time_text(w.watermark_ms));
  if (!m.gates.empty()) out += "\ngates\n";
  for (const auto& gate : m.gates)
    out += fmt::format("  {}: {}\n", printable(gate.operator_id), gate.open ? "open" : "closed");
  uint64_t files = m.files.size(), bytes = 0;
  for (const auto& lane : m.lanes)
    for (const auto& file : lane.files) ++files, bytes += file.size;
  for (const auto& file : m.files) bytes += file.size;
  for (const auto& spool : m.spools) ++files, bytes += spool.size;
  out += fmt::format("\nfiles: {}, {}\n", count_text(files), bytes_text(bytes));
  for (const auto& spool : m.spools)
    out += fmt::format("  {} for {} lane {}\n", plural(spool.rows, "spooled row"), printable(spool.operator_id),
                       spool.lane);
  return out;
}

std::string manifest_json(const Manifest& manifest) {
  rapidjson::Document document;
  const std::string text = checkpoint::write_manifest(manifest);
  document.Parse(text.data(), text.size());
  if (document.HasParseError() || !document.IsObject() || !document.HasMember("manifest")) return text;
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
  writer.SetIndent(' ', 2);
  document["manifest"].Accept(writer);
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

std::string verify_text(const checkpoint::VerifyReport& report) {
  if (report.is_ok())
    return fmt::format("checkpoint {}: ok, {}, {}\n", report.number, plural(report.files, "file"),
                       bytes_text(report.bytes));
  std::string out = fmt::format("checkpoint {}: damaged, {} of {}\n", report.number, count_text(report.damages.size()),
                                plural(report.files, "file"));
  for (const checkpoint::Damage& damage : report.damages)
    out += fmt::format("  {}: expected {}, found {}\n", printable(damage.file), printable(damage.expected),
                       printable(damage.found));
  return out;
}

}  // namespace sluice::cli
