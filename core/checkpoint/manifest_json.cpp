// Manifest <-> manifest.json. Every field is documented in docs/on-disk-formats.md.
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "checkpoint/manifest.h"
#include "checkpoint/sha256.h"

namespace sluice::checkpoint {
namespace {

constexpr std::string_view kHead = "{\"sha256\":\"";
constexpr std::string_view kMiddle = "\",\"manifest\":";
constexpr std::string_view kTail = "}\n";
constexpr size_t kShaChars = 64;

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

class JsonOut {
 public:
  JsonOut() : writer_(buffer_) { writer_.SetIndent(' ', 1); }

  void key(std::string_view name) { writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size())); }
  void put(std::string_view name, std::string_view value) {
    key(name);
    writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  void put(std::string_view name, uint64_t value) {
    key(name);
    writer_.Uint64(value);
  }
  void put(std::string_view name, uint32_t value) { put(name, uint64_t{value}); }
  void put(std::string_view name, int64_t value) {
    key(name);
    writer_.Int64(value);
  }
  void put(std::string_view name, bool value) {
    key(name);
    writer_.Bool(value);
  }
  // A time that is not known is left out.
  void put_time(std::string_view name, int64_t ms) {
    if (ms != INT64_MIN) put(name, ms);
  }
  template <class Items, class One>
  void list(std::string_view name, const Items& items, One&& one) {
    key(name);
    writer_.StartArray();
    for (const auto& item : items) object([&] { one(item); });
    writer_.EndArray();
  }
  template <class Body>
  void object(Body&& body) {
    writer_.StartObject();
    body();
    writer_.EndObject();
  }
  std::string_view text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  rapidjson::StringBuffer buffer_;
  Writer writer_;
};

void write_file_fields(JsonOut& out, const std::string& sha256, uint64_t size) {
  out.put("sha256", sha256);
  out.put("size", size);
}

// Reads fields and remembers the first one that is missing or of another type.
class JsonIn {
 public:
  explicit JsonIn(std::string* problem) : problem_(problem) {}

  const rapidjson::Value* field(const rapidjson::Value& in, const char* name, bool required) {
    if (!in.IsObject()) {
      fail("an object was expected");
      return nullptr;
    }
    const auto it = in.FindMember(name);
    if (it == in.MemberEnd()) {
      if (required) fail(fmt::format("field \"{}\" is missing", name));
      return nullptr;
    }
    return &it->value;
  }
  void get(const rapidjson::Value& in, const char* name, std::string* out, bool required = true) {
    const rapidjson::Value* value = field(in, name, required);
    if (value == nullptr) return;
    if (!value->IsString()) return fail(fmt::format("field \"{}\" is not a string", name));
    out->assign(value->GetString(), value->GetStringLength());
  }
  void get(const rapidjson::Value& in, const char* name, bool* out, bool required = true) {
    const rapidjson::Value* value = field(in, name, required);
    if (value == nullptr) return;
    if (!value->IsBool()) return fail(fmt::format("field \"{}\" is not true or false", name));
    *out = value->GetBool();
  }
  template <class Integer>
  requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>) void get(const rapidjson::Value& in,
                                                                                   const char* name, Integer* out,
                                                                                   bool required = true) {
    const rapidjson::Value* value = field(in, name, required);
    if (value == nullptr) return;
    if constexpr (std::is_signed_v<Integer>) {
      if (!value->IsInt64()) return fail(fmt::format("field \"{}\" is not an integer", name));
      *out = value->GetInt64();
    } else {
      if (!value->IsUint64() || value->GetUint64() > std::numeric_limits<Integer>::max()) {
        return fail(
            fmt::format("field \"{}\" is not a number from 0 to {}", name, std::numeric_limits<Integer>::max()));
      }
      *out = static_cast<Integer>(value->GetUint64());
    }
  }
  template <class Items, class One>
  void list(const rapidjson::Value& in, const char* name, Items* items, One&& one, bool required = true) {
    const rapidjson::Value* value = field(in, name, required);
    if (value == nullptr) return;
    if (!value->IsArray()) return fail(fmt::format("field \"{}\" is not a list", name));
    for (const rapidjson::Value& element : value->GetArray()) {
      items->emplace_back();
      one(element, items->back());
    }
  }
  void get_file(const rapidjson::Value& in, std::string* sha256, uint64_t* size) {
    get(in, "sha256", sha256);
    get(in, "size", size);
    if (problem_->empty() && !is_sha256(*sha256)) fail("field \"sha256\" is not 64 hex digits");
  }
  // Names become paths: they must not lead out of the store.
  void get_path(const rapidjson::Value& in, const char* name, std::string* out) {
    get(in, name, out);
    if (problem_->empty() && (out->empty() || out->front() == '/' || out->find("..") != std::string::npos)) {
      fail(fmt::format("field \"{}\" is not a file's name", name));
    }
  }
  void fail(std::string problem) {
    if (problem_->empty()) *problem_ = std::move(problem);
  }

 private:
  std::string* problem_;
};

void read_operator(JsonIn& in, const rapidjson::Value& json, ManifestOperator& op) {
  in.get(json, "id", &op.id);
  in.get(json, "type", &op.type);
  in.get(json, "version", &op.version);
  in.get(json, "parallelism", &op.parallelism);
  in.get(json, "key", &op.key);
  in.get(json, "timers", &op.timers);
  in.get(json, "inputs", &op.inputs, false);
  in.list(json, "states", &op.states, [&](const rapidjson::Value& s, ManifestState& state) {
    in.get(s, "name", &state.name);
    in.get(s, "kind", &state.kind);
    in.get(s, "format", &state.format);
    in.get(s, "compat", &state.compat);
    in.get(s, "oldest_format", &state.oldest_format);
    in.get(s, "ttl_ms", &state.ttl_ms);
    in.get(s, "entries", &state.entries);
  });
}

void read_source(JsonIn& in, const rapidjson::Value& json, ManifestSource& source) {
  in.get(json, "operator", &source.operator_id);
  in.list(json, "splits", &source.splits, [&](const rapidjson::Value& s, ManifestSplit& split) {
    std::string position;
    in.get(s, "id", &split.id);
    in.get(s, "position", &position);
    if (!base64_decode(position, &split.position)) in.fail("field \"position\" is not base64");
    in.get(s, "position_text", &split.position_text);
    in.get(s, "position_version", &split.position_version);
    in.get(s, "lane", &split.lane);
    in.get(s, "max_event_time_ms", &split.max_event_time_ms, false);
    in.get(s, "snapshot_complete", &split.snapshot_complete);
    in.get(s, "ended", &split.ended);
  });
  // Older checkpoints do not say it.
  source.started = std::any_of(source.splits.begin(), source.splits.end(), [](const ManifestSplit& s) { return !s.position.empty(); });
  in.get(json, "started", &source.started, false);
}

void read_body(JsonIn& in, const rapidjson::Value& json, Manifest& m) {
  in.get(json, "number", &m.number);
  in.get(json, "lineage", &m.lineage);
  in.get(json, "parent_lineage", &m.parent_lineage, false);
  in.get(json, "parent_number", &m.parent_number, false);
  in.get(json, "created_ms", &m.created_ms);
  in.get(json, "pipeline", &m.pipeline);
  in.get(json, "sluice_version", &m.sluice_version);
  in.get(json, "parallelism", &m.parallelism);
  in.get(json, "key_groups", &m.key_groups);
  in.list(json, "operators", &m.operators, [&](const auto& j, auto& op) { read_operator(in, j, op); });
  in.list(json, "sources", &m.sources, [&](const auto& j, auto& source) { read_source(in, j, source); });
  in.list(json, "watermarks", &m.watermarks, [&](const auto& j, ManifestWatermark& w) {
    in.get(j, "operator", &w.operator_id);
    in.get(j, "lane", &w.lane);
    in.get(j, "watermark_ms", &w.watermark_ms, false);
  });
  in.list(json, "gates", &m.gates, [&](const auto& j, ManifestGate& gate) {
    in.get(j, "operator", &gate.operator_id);
    in.get(j, "open", &gate.open);
  });
  in.list(json, "stores", &m.stores, [&](const auto& j, ManifestStore& store) {
    in.get(j, "lane", &store.lane);
    in.get(j, "operator", &store.operator_id);
    in.get(j, "phase", &store.phase);
    in.get(j, "operator_lane", &store.operator_lane);
    in.get(j, "operator_lanes", &store.operator_lanes);
  });
  in.list(json, "lanes", &m.lanes, [&](const auto& j, ManifestLane& lane) {
    in.get(j, "lane", &lane.lane);
    in.get(j, "key_group_begin", &lane.key_group_begin);
    in.get(j, "key_group_end", &lane.key_group_end);
    in.list(j, "files", &lane.files, [&](const auto& f, ManifestFile& file) {
      in.get_path(f, "name", &file.name);
      in.get_file(f, &file.sha256, &file.size);
    });
  });
  in.list(json, "spools", &m.spools, [&](const auto& j, ManifestSpool& spool) {
    in.get(j, "operator", &spool.operator_id);
    in.get(j, "lane", &spool.lane);
    in.get(j, "checkpoint", &spool.checkpoint);
    in.get_path(j, "file", &spool.file);
    in.get_file(j, &spool.sha256, &spool.size);
    in.get(j, "rows", &spool.rows);
  });
  in.list(json, "files", &m.files, [&](const auto& j, ManifestExtraFile& file) {
    in.get(j, "kind", &file.kind);
    in.get_path(j, "file", &file.file);
    in.get_file(j, &file.sha256, &file.size);
  });
}

}  // namespace

std::string write_manifest(const Manifest& m) {
  JsonOut out;
  out.object([&] {
    out.put("format", kManifestFormat);
    out.put("compat", kManifestCompat);
    out.put("number", m.number);
    out.put("lineage", m.lineage);
    if (!m.parent_lineage.empty()) {
      out.put("parent_lineage", m.parent_lineage);
      out.put("parent_number", m.parent_number);
    }
    out.put("created_ms", m.created_ms);
    out.put("pipeline", m.pipeline);
    out.put("sluice_version", m.sluice_version);
    out.put("parallelism", m.parallelism);
    out.put("key_groups", m.key_groups);
    out.list("operators", m.operators, [&](const ManifestOperator& op) {
      out.put("id", op.id);
      out.put("type", op.type);
      out.put("version", op.version);
      out.put("parallelism", op.parallelism);
      out.put("key", op.key);
      out.put("timers", op.timers);
      out.put("inputs", op.inputs);
      out.list("states", op.states, [&](const ManifestState& state) {
        out.put("name", state.name);
        out.put("kind", state.kind);
        out.put("format", state.format);
        out.put("compat", state.compat);
        out.put("oldest_format", state.oldest_format);
        out.put("ttl_ms", state.ttl_ms);
        out.put("entries", state.entries);
      });
    });
    out.list("sources", m.sources, [&](const ManifestSource& source) {
      out.put("operator", source.operator_id);
      out.list("splits", source.splits, [&](const ManifestSplit& split) {
        out.put("id", split.id);
        out.put("position", base64_encode(split.position));
        out.put("position_text", split.position_text);
        out.put("position_version", split.position_version);
        out.put("lane", split.lane);
        out.put_time("max_event_time_ms", split.max_event_time_ms);
        out.put("snapshot_complete", split.snapshot_complete);
        out.put("ended", split.ended);
      });
      out.put("started", source.started);
    });
    out.list("watermarks", m.watermarks, [&](const ManifestWatermark& w) {
      out.put("operator", w.operator_id);
      out.put("lane", w.lane);
      out.put_time("watermark_ms", w.watermark_ms);
    });
    out.list("gates", m.gates, [&](const ManifestGate& gate) {
      out.put("operator", gate.operator_id);
      out.put("open", gate.open);
    });
    out.list("stores", m.stores, [&](const ManifestStore& store) {
      out.put("lane", store.lane);
      out.put("operator", store.operator_id);
      out.put("phase", store.phase);
      out.put("operator_lane", store.operator_lane);
      out.put("operator_lanes", store.operator_lanes);
    });
    out.list("lanes", m.lanes, [&](const ManifestLane& lane) {
      out.put("lane", lane.lane);
      out.put("key_group_begin", lane.key_group_begin);
      out.put("key_group_end", lane.key_group_end);
      out.list("files", lane.files, [&](const ManifestFile& file) {
        out.put("name", file.name);
        write_file_fields(out, file.sha256, file.size);
      });
    });
    out.list("spools", m.spools, [&](const ManifestSpool& spool) {
      out.put("operator", spool.operator_id);
      out.put("lane", spool.lane);
      out.put("checkpoint", spool.checkpoint);
      out.put("file", spool.file);
      write_file_fields(out, spool.sha256, spool.size);
      out.put("rows", spool.rows);
    });
    out.list("files", m.files, [&](const ManifestExtraFile& file) {
      out.put("kind", file.kind);
      out.put("file", file.file);
      write_file_fields(out, file.sha256, file.size);
    });
  });
  return fmt::format("{}{}{}{}{}", kHead, sha256_of(out.text()), kMiddle, out.text(), kTail);
}

base::Result<Manifest> read_manifest(std::string_view text) {
  const auto damaged = [](const std::string& how) { return base::Status::fatal("damaged: " + how); };
  if (text.empty()) return damaged("the file is empty");
  const size_t overhead = kHead.size() + kShaChars + kMiddle.size() + kTail.size();
  if (text.size() < overhead || text.substr(0, kHead.size()) != kHead ||
      text.substr(kHead.size() + kShaChars, kMiddle.size()) != kMiddle) {
    return damaged("it does not begin as a manifest does");
  }
  if (text.substr(text.size() - kTail.size()) != kTail) return damaged("its end is missing");
  const std::string_view expected = text.substr(kHead.size(), kShaChars);
  const std::string_view body = text.substr(overhead - kTail.size(), text.size() - overhead);
  if (const std::string found = sha256_of(body); found != expected) {
    return damaged(fmt::format("expected sha256 {}, found {}", expected, found));
  }
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(body.data(), body.size());
  if (json.HasParseError()) {
    return damaged(fmt::format("not JSON at byte {}: {}", json.GetErrorOffset(),
                               rapidjson::GetParseError_En(json.GetParseError())));
  }
  std::string problem;
  JsonIn in(&problem);
  uint32_t format = 0;
  uint32_t compat = 0;
  in.get(json, "format", &format);
  in.get(json, "compat", &compat);
  if (problem.empty() && compat > kManifestFormat) {
    return base::Status::unsupported(
        fmt::format("written by a newer version of sluice: manifest format {} can be read since format {}, this "
                    "version knows format {}",
                    format, compat, kManifestFormat));
  }
  Manifest manifest;
  if (problem.empty()) read_body(in, json, manifest);
  if (!problem.empty()) return damaged(problem);
  return manifest;
}

}  // namespace sluice::checkpoint
