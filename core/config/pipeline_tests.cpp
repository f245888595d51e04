#include "config/pipeline_tests.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>

#include "config/nearest_name.h"
#include "config/pipeline_options.h"
#include "config/scalar_values.h"

namespace sluice::config {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

// RFC 8259, section 6.
bool is_json_number(const std::string& s) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t begin = i;
    while (i < s.size() && s[i] >= '0' && s[i] <= '9') ++i;
    return i > begin;
  };
  if (i < s.size() && s[i] == '-') ++i;
  if (i < s.size() && s[i] == '0') ++i;
  else if (!digits()) return false;
  if (i < s.size() && s[i] == '.' && (++i, !digits())) return false;
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == s.size();
}

void write_json(const Node& node, Writer& out) {
  switch (node.kind) {
    case Node::Kind::kNull:
      out.Null();
      break;
    case Node::Kind::kScalar:
      if (!node.quoted && (node.scalar == "true" || node.scalar == "false")) {
        out.Bool(node.scalar == "true");
      } else if (!node.quoted && is_json_number(node.scalar)) {
        out.RawValue(node.scalar.data(), node.scalar.size(), rapidjson::kNumberType);
      } else {
        out.String(node.scalar.data(), static_cast<rapidjson::SizeType>(node.scalar.size()));
      }
      break;
    case Node::Kind::kList:
      out.StartArray();
      for (const Node& item : node.items) write_json(item, out);
      out.EndArray();
      break;
    case Node::Kind::kMap:
      out.StartObject();
      for (const Entry& entry : node.entries) {
        out.Key(entry.key.data(), static_cast<rapidjson::SizeType>(entry.key.size()));
        write_json(entry.node, out);
      }
      out.EndObject();
      break;
  }
}

std::string json_of(const Node& node) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  write_json(node, writer);
  return {buffer.GetString(), buffer.GetSize()};
}

class TestReader {
 public:
  TestReader(const Node& node, size_t index, const PipelineDocument& document, Diagnostics& diagnostics)
      : node_(node), path_("tests[" + std::to_string(index) + "]"), document_(document), diagnostics_(diagnostics) {
    test_.at = node.at;
    who_ = "test " + std::to_string(index + 1);
  }

  // Nothing: it has errors, which are reported.
  std::optional<PipelineTest> read() {
    const size_t before = diagnostics_.error_count();
    if (!node_.is_map()) {
      error(node_.at, "wrong-type", path_, who_ + " must be a block of \"key: value\" lines, not " + describe_kind(node_));
      return std::nullopt;
    }
    read_name();
    check_keys(node_, path_, who_, test_keys());
    if (const Entry* clock = node_.find("clock")) {
      test_.clock = text_of(*clock, path_ + ".clock", "a time, such as 2022-06-01T00:00:00+08:00");
      test_.clock_at = clock->node.at;
    }
    if (const Entry* input = node_.find("input")) read_input(input->node);
    if (const Entry* expect = node_.find("expect")) read_expect(expect->node);
    if (const Entry* ignore = node_.find("ignore")) read_ignore(ignore->node);
    if (const Entry* letters = node_.find("dead_letters")) read_letters(letters->node);
    // A test that compares nothing never passes.
    if (diagnostics_.error_count() == before) {
      const bool asserts = !test_.expected.empty() || node_.find("dead_letters") != nullptr;
      if (!asserts)
        error(test_.at, "no-assertion", path_, who_ + " has no assertion: it expects nothing", {},
              "add expect: with the rows that must come out, or dead_letters:");
      else if (node_.find("input") == nullptr)
        error(test_.at, "no-input", path_, who_ + " has no \"input\"", {}, "input: [] is an input without rows");
    }
    if (diagnostics_.error_count() != before) return std::nullopt;
    return std::move(test_);
  }

 private:
  void error(Location at, const char* code, std::string path, std::string message, std::string suggestion = {}, std::string hint = {}) {
    diagnostics_.error(std::move(at), code, std::move(path), std::move(message), std::move(suggestion), std::move(hint));
  }

  void read_name() {
    const Entry* name = node_.find("name");
    if (name == nullptr) {
      error(node_.at, "missing-option", path_ + ".name", who_ + " has no \"name\"");
      return;
    }
    if (const auto text = text_of(*name, path_ + ".name", "a text"); text && !text->empty()) {
      test_.name = *text;
      who_ = "test " + quote(test_.name);
    }
  }

  std::optional<std::string> text_of(const Entry& entry, const std::string& path, const std::string& what) {
    if (entry.node.is_scalar()) return entry.node.scalar;
    if (!entry.node.unresolved)
      error(entry.node.at, "wrong-type", path, quote(entry.key) + " must be " + what + ", not " + describe_kind(entry.node));
    return std::nullopt;
  }

  void check_keys(const Node& map, const std::string& path, const std::string& owner, const std::vector<KeySpec>& keys) {
    const std::vector<std::string> known = names_of(keys);
    for (const Entry& entry : map.entries)
      if (std::find(known.begin(), known.end(), entry.key) == known.end())
        error(entry.key_location, "unknown-key", path + "." + entry.key, "unknown key " + quote(entry.key) + " of " + owner,
              nearest_name(entry.key, known), "known keys: " + list_names(known, "and"));
  }

  const OperatorSection* find_operator(const std::string& id) const {
    for (const OperatorSection& op : document_.operators)
      if (op.id == id) return &op;
    return nullptr;
  }
  std::vector<std::string> ids(std::optional<OperatorSpec::Kind> kind) const {
    std::vector<std::string> out;
    for (const OperatorSection& op : document_.operators)
      if (!kind || op.spec->kind == *kind) out.push_back(op.id);
    return out;
  }

  // ---- input ----

  bool check_source(const std::string& id, const Location& at, const std::string& path) {
    const OperatorSection* op = find_operator(id);
    if (op != nullptr && op->spec->kind == OperatorSpec::Kind::kSource) return true;
    const std::vector<std::string> sources = ids(OperatorSpec::Kind::kSource);
    error(at, "unknown-source", path,
          op != nullptr ? quote(id) + " is no source (" + op->use + "), so it cannot be given rows"
                        : "there is no source " + quote(id),
          op != nullptr ? "" : nearest_name(id, sources), "sources: " + list_names(sources, "and"));
    return false;
  }

  static bool is_step(const Node& item) { return item.is_map() && (item.find("to") != nullptr || item.find("advance") != nullptr); }

  // Rows of the one source; rows by source; or a list of what happens one after the other.
  void read_input(const Node& input) {
    const std::string path = path_ + ".input";
    if (input.is_list() && !input.items.empty() && std::all_of(input.items.begin(), input.items.end(), is_step)) {
      for (size_t i = 0; i < input.items.size(); ++i) read_step(input.items[i], path + "[" + std::to_string(i) + "]");
      return;
    }
    TestStep step;
    if (input.is_map()) {
      for (const Entry& entry : input.entries)
        if (check_source(entry.key, entry.key_location, path)) step.input.push_back({entry.key, rows_of(entry.node, path + "." + entry.key)});
    } else if (input.is_list()) {
      const std::vector<std::string> sources = ids(OperatorSpec::Kind::kSource);
      if (sources.size() > 1 && !input.items.empty()) {
        error(input.at, "which-source", path, "the pipeline has " + std::to_string(sources.size()) + " sources: say which of them is given the rows", {},
              "write input: { " + sources.front() + ": [ … ] }, or a list of { to: " + sources.front() + ", rows: [ … ] }");
        return;
      }
      if (!sources.empty()) step.input.push_back({sources.front(), rows_of(input, path)});
    } else if (!input.unresolved) {
      error(input.at, "wrong-type", path, "\"input\" must be rows, rows by source, or steps, not " + describe_kind(input));
    }
    test_.steps.push_back(std::move(step));
  }

  void read_step(const Node& node, const std::string& path) {
    TestStep step;
    check_keys(node, path, "a step of " + who_, test_step_keys());
    if (const Entry* advance = node.find("advance"); advance != nullptr) {
      const ScalarResult<int64_t> ms = parse_duration(advance->node.scalar);
      if (!advance->node.is_scalar() || !ms.ok())
        error(advance->node.at, "bad-duration", path + ".advance", "\"advance\" must be a duration, such as 10s or 1d");
      else
        step.advance_ms = ms.value;
    }
    const Entry *to = node.find("to"), *rows = node.find("rows"), *file = node.find("file");
    if (to != nullptr && to->node.is_scalar() && check_source(to->node.scalar, to->node.at, path + ".to")) {
      if ((rows != nullptr) == (file != nullptr))
        error(node.at, "which-rows", path, rows != nullptr ? "give either \"rows\" or \"file\"" : "a step has no rows: give \"rows\" or \"file\"");
      else
        step.input.push_back({to->node.scalar, rows != nullptr ? rows_of(rows->node, path + ".rows") : lines_of(file->node, path + ".file")});
    } else if (to == nullptr && (rows != nullptr || file != nullptr)) {
      error(node.at, "which-source", path, "a step has rows, but no \"to\" with the source that is given them");
    }
    test_.steps.push_back(std::move(step));
  }

  // A text is a payload as it is; everything else is written as JSON.
  std::vector<TestRow> rows_of(const Node& list, const std::string& path) {
    std::vector<TestRow> rows;
    if (!list.is_list()) {
      if (!list.unresolved) error(list.at, "wrong-type", path, "rows must be a list, not " + describe_kind(list));
      return rows;
    }
    for (const Node& item : list.items) {
      if (item.unresolved) continue;
      TestRow row;
      row.at = item.at;
      if (item.is_scalar()) row.payload = item.scalar;
      else if (!item.is_null()) row.payload = json_of(item);
      rows.push_back(std::move(row));
    }
    return rows;
  }

  std::vector<TestRow> lines_of(const Node& node, const std::string& path) {
    std::vector<TestRow> rows;
    if (!node.is_scalar() || node.unresolved) {
      if (!node.unresolved) error(node.at, "wrong-type", path, "\"file\" must be a path, not " + describe_kind(node));
      return rows;
    }
    std::ifstream in(node.scalar, std::ios::binary);
    if (!in) {
      error(node.at, "cannot-be-read", path, node.scalar + " cannot be read: " + std::strerror(errno));
      return rows;
    }
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (!line.empty()) rows.push_back({line, {node.scalar, number, 1}});
    }
    return rows;
  }

  // ---- what must come out ----

  void read_expect(const Node& expect) {
    const std::string path = path_ + ".expect";
    const std::vector<std::string> sinks = ids(OperatorSpec::Kind::kSink);
    if (expect.is_list()) {
      if (sinks.size() != 1) {
        error(expect.at, "which-sink", path, "the pipeline has " + std::to_string(sinks.size()) + " sinks: say which of them is given the rows", {},
              "write expect: { " + (sinks.empty() ? std::string("ID") : sinks.front()) + ": [ … ] }");
        return;
      }
      read_expected_rows(sinks.front(), "", expect.at, expect, path);
    } else if (expect.is_map()) {
      for (const Entry& entry : expect.entries) {
        const size_t dot = entry.key.find('.');
        const std::string id = entry.key.substr(0, dot), port = dot == std::string::npos ? "" : entry.key.substr(dot + 1);
        const OperatorSection* op = find_operator(id);
        if (op == nullptr) {
          error(entry.key_location, "unknown-operator-id", path, "there is no operator " + quote(id), nearest_name(id, ids(std::nullopt)),
                "operators: " + list_names(ids(std::nullopt), "and"));
          continue;
        }
        const auto& ports = op->spec->output_ports;
        if (!port.empty() && std::find(ports.begin(), ports.end(), port) == ports.end()) {
          error(entry.key_location, "unknown-port", path, "operator " + quote(id) + " has no output " + quote(port), nearest_name(port, ports));
          continue;
        }
        read_expected_rows(id, port, entry.key_location, entry.node, path + "." + entry.key);
      }
      if (expect.entries.empty()) error(expect.at, "no-assertion", path, "\"expect\" of " + who_ + " names no operator");
    } else if (!expect.unresolved) {
      error(expect.at, "wrong-type", path, "\"expect\" must be rows, or rows by operator, not " + describe_kind(expect));
    }
  }

  void read_expected_rows(const std::string& id, const std::string& port, const Location& at, const Node& node, const std::string& path) {
    ExpectedRows out;
    out.id = id;
    out.port = port;
    out.at = at;
    const Node* list = &node;
    if (node.is_map()) {
      check_keys(node, path, "the rows of " + quote(id), expected_rows_keys());
      const Entry* contains = node.find("contains");
      if (contains == nullptr) return;
      out.contains = true;
      list = &contains->node;
      if (list->is_list() && list->items.empty()) error(list->at, "no-assertion", path, "\"contains\" without rows holds always");
    }
    if (!list->is_list()) {
      if (!list->unresolved) error(list->at, "wrong-type", path, "rows must be a list, or { contains: [ … ] }, not " + describe_kind(*list));
      return;
    }
    for (const Node& item : list->items) {
      if (item.unresolved) continue;
      out.rows.push_back({item.is_scalar() ? item.scalar : json_of(item), item.at});
    }
    test_.expected.push_back(std::move(out));
  }

  void read_ignore(const Node& node) {
    if (node.is_scalar()) test_.ignore.push_back(node.scalar);
    for (const Node& item : node.items)
      if (item.is_scalar()) test_.ignore.push_back(item.scalar);
    if (test_.ignore.size() != (node.is_scalar() ? 1 : node.items.size()) || node.is_map())
      error(node.at, "wrong-type", path_ + ".ignore", "\"ignore\" must be a list of columns");
  }

  void read_letters(const Node& node) {
    const std::string path = path_ + ".dead_letters";
    if (node.is_scalar()) {
      const ScalarResult<int64_t> count = parse_int(node.scalar);
      if (!count.ok() || count.value < 0) error(node.at, "wrong-type", path, "\"dead_letters\" must be their number, or a list of them");
      else test_.letter_count = static_cast<size_t>(count.value);
      return;
    }
    if (!node.is_list()) {
      if (!node.unresolved) error(node.at, "wrong-type", path, "\"dead_letters\" must be their number, or a list of them, not " + describe_kind(node));
      return;
    }
    for (size_t i = 0; i < node.items.size(); ++i) {
      const Node& item = node.items[i];
      const std::string at = path + "[" + std::to_string(i) + "]";
      if (!item.is_map()) {
        error(item.at, "wrong-type", at, "a dead letter is given by operator, reason or raw");
        continue;
      }
      check_keys(item, at, "a dead letter", expected_letter_keys());
      ExpectedLetter letter;
      letter.at = item.at;
      const auto take = [&](const char* key, std::optional<std::string>* into) {
        if (const Entry* entry = item.find(key)) *into = text_of(*entry, at + "." + key, "a text");
      };
      take("operator", &letter.operator_id);
      take("reason", &letter.reason);
      take("raw", &letter.raw);
      test_.letters.push_back(std::move(letter));
    }
  }

  const Node& node_;
  const std::string path_;
  const PipelineDocument& document_;
  Diagnostics& diagnostics_;
  PipelineTest test_;
  std::string who_;
};

}  // namespace

PipelineTests read_tests(const PipelineDocument& document, Diagnostics& diagnostics) {
  PipelineTests out;
  if (!document.tests) return out;
  const Node& list = document.tests->node;
  if (!list.is_list()) {
    if (!list.unresolved)
      diagnostics.error(list.at, "wrong-type", "tests", list.is_null() ? "\"tests\" is empty" : "\"tests\" must be a list, not " + describe_kind(list), {},
                        "each test begins with \"- name: NAME\"");
    return out;
  }
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (auto test = TestReader(list.items[i], i, document, diagnostics).read()) out.valid.push_back(std::move(*test));
    else ++out.invalid;
  }
  return out;
}

}  // namespace sluice::config
