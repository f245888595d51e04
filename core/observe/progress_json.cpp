#include "observe/progress_json.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "observe/progress_view.h"
#include "observe/terminal_text.h"

namespace sluice::observe {
namespace {

class JsonText {
 public:
  void open() { writer_.StartObject(); }
  void open(const char* key) {
    writer_.Key(key);
    writer_.StartObject();
  }
  void close() { writer_.EndObject(); }
  void open_list(const char* key) {
    writer_.Key(key);
    writer_.StartArray();
  }
  void close_list() { writer_.EndArray(); }
  void item(const std::string& value) { string(value); }

  void put(const std::string& key, const std::string& value) {
    name(key);
    string(value);
  }
  void put(const std::string& key, uint64_t value) {
    name(key);
    writer_.Uint64(value);
  }
  void put(const std::string& key, int64_t value) {
    name(key);
    writer_.Int64(value);
  }
  void put(const std::string& key, bool value) {
    name(key);
    writer_.Bool(value);
  }
  void put_null(const std::string& key) {
    name(key);
    writer_.Null();
  }
  // kEndOfTime does not fit into a JavaScript number; it is told apart by "input_ended" or "ended".
  void put_time(const std::string& key, int64_t ms) {
    if (ms == kNoTime || ms == kEndOfTime) return put_null(key);
    put(key, ms);
  }
  std::string text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  void name(const std::string& key) {
    const std::string clean = valid_utf8(key);
    writer_.Key(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  }
  void string(const std::string& value) {
    const std::string clean = valid_utf8(value);
    writer_.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

void write_operator(JsonText& out, const Progress& progress, const OperatorProgress& op, const Graph& graph) {
  out.open();
  out.put("id", op.id);
  out.put("type", op.type);
  out.put("source", graph.is_source(op.id));
  out.put("sink", graph.is_sink(op.id));
  out.put("lanes", static_cast<uint64_t>(op.lanes));
  out.put("rows_in", op.rows_in);
  out.put("rows_out", op.rows_out);
  out.put("rejected", op.rejected);
  out.put("bytes_in", op.bytes_in);
  out.put_time("watermark_ms", op.watermark_ms);
  out.put("input_ended", op.watermark_ms == kEndOfTime);
  const SplitProgress* holder = watermark_holder(progress, op.id);
  if (holder != nullptr) {
    out.put("watermark_holder", holder->split);
  } else {
    out.put_null("watermark_holder");
  }
  out.put("busy_ns", op.busy_ns);
  out.put("state_entries", op.state_entries);
  out.put("state_bytes", op.state_bytes);
  out.open("counters");
  for (const auto& [name, value] : op.counters) out.put(name, value);
  out.close();
  out.put("note", op.note);
  out.put("last_error", op.last_error);
  out.close();
}

void write_split(JsonText& out, const SplitProgress& split) {
  out.open();
  out.put("source", split.source_id);
  out.put("split", split.split);
  out.put("lane", static_cast<uint64_t>(split.lane));
  out.put("position", split.position);
  if (split.lag >= 0) {
    out.put("lag", split.lag);
  } else {
    out.put_null("lag");
  }
  out.put_time("watermark_ms", split.watermark_ms);
  out.put("idle", split.idle);
  out.put("caught_up", split.caught_up);
  out.put("ended", split.ended);
  out.put("gated", split.gated);
  out.close();
}

void write_checkpoint(JsonText& out, const CheckpointProgress& c) {
  out.open("checkpoint");
  if (c.completed > 0) {
    out.put("last_number", c.last_number);
    out.put("last_completed_ms", c.last_completed_ms);
    out.put("last_duration_ms", c.last_duration_ms);
    out.put("last_bytes", c.last_bytes);
  } else {
    for (const char* key : {"last_number", "last_completed_ms", "last_duration_ms", "last_bytes"}) out.put_null(key);
  }
  out.put("completed", c.completed);
  out.put("failed", c.failed);
  out.put("failed_in_a_row", c.failed_in_a_row);
  if (c.running) {
    out.put("running_since_ms", c.running_since_ms);
  } else {
    out.put_null("running_since_ms");
  }
  out.put("last_error", c.last_error);
  out.put("restored_from", c.restored_from);
  out.close();
}

}  // namespace

std::string progress_json(const Progress& progress, const Graph& graph) {
  JsonText out;
  out.open();
  out.put("pipeline", progress.pipeline);
  out.put("phase", progress.phase);
  out.put("started_ms", progress.started_ms);
  out.put("now_ms", progress.now_ms);
  out.open_list("operators");
  for (const OperatorProgress& op : progress.operators) write_operator(out, progress, op, graph);
  out.close_list();
  out.open_list("links");
  for (const Link& link : graph.links) {
    out.open();
    out.put("from", link.from);
    out.put("port", link.port);
    out.put("to", link.to);
    out.put("broadcast", link.broadcast);
    out.close();
  }
  out.close_list();
  out.open_list("splits");
  for (const SplitProgress& split : progress.splits) write_split(out, split);
  out.close_list();
  write_checkpoint(out, progress.checkpoint);
  out.put("dead_letters", progress.dead_letters);
  out.put("dead_letters_dir", progress.dead_letters_dir);
  out.open_list("waiting_for");
  for (const std::string& reason : progress.waiting_for) out.item(reason);
  out.close_list();
  out.close();
  return out.text();
}

}  // namespace sluice::observe
