#include "config/source_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "config/source_text.h"
#include "config/syntax_problem.h"

namespace sluice::config {
namespace {

constexpr size_t kNone = std::string_view::npos;

// Builds the tree from the parser's events, looking back at the text for what the events do not tell.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const SourceText& source, Diagnostics& diagnostics, const SourceLimits& limits)
      : source_(source), diagnostics_(diagnostics), limits_(limits) {}

  const ParseProgress& progress() const { return progress_; }
  Node take_root() && { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    const size_t offset = offset_of(mark);
    if (source_.text().substr(offset, 3) == "---") fail(offset, "several-documents", "only one YAML document per file");
    fail(offset, "indentation", "this does not belong to the list or value the file begins with",
         "the outermost level of the file must be keys, such as \"operators:\"");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const size_t offset = skip_properties(offset_of(mark));
    const std::string_view rest = source_.text().substr(offset);
    Node node;
    const bool written = rest.substr(0, 1) == "~" || rest.substr(0, 4) == "null" || rest.substr(0, 4) == "Null" ||
                         rest.substr(0, 4) == "NULL";
    if (expects_key()) {
      fail(offset, "missing-key", written ? "null cannot be a key" : "a key is missing before this");
    }
    const Frame* frame = frames_.empty() ? nullptr : &frames_.back();
    if (frame && frame->is_map()) {
      // Nothing was written: the mark stands at whatever follows, the key is the better place.
      const bool is_value = written && offset > frame->key_offset + frame->key.size();
      if (!is_value) check_colon(*frame);
      node.at = is_value ? source_.location(offset) : frame->key_location;
    } else {
      node.at = source_.location(written ? offset : dash_before(offset));
    }
    node.last_line = node.at.line;
    value(std::move(node), anchor, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const size_t offset = skip_properties(offset_of(mark));
    check_tag(tag, offset);
    Node node;
    node.kind = Node::Kind::kScalar;
    node.scalar = text;
    node.at = source_.location(offset);
    node.last_line = node.at.line;
    progress_.last_scalar = offset;
    progress_.open_at_scalar = progress_.open;
    progress_.wide_quote = kNone;
    const char first = source_.at(offset);
    if (first == '"' || first == '\'') {
      node.quoted = true;
      const size_t close = source_.closing_quote(offset);
      // yaml-cpp takes the end of the file for the missing quote.
      if (close == kNone) fail(offset, "unclosed-quote", "the quote opened here is never closed");
      node.last_line = source_.line_of(close);
      if (node.last_line != node.at.line) progress_.wide_quote = offset;
    } else if (tag == "!") {
      node.quoted = true;
      node.last_line = source_.last_line_of_block(offset);
    } else {
      node.quoted = tag == "tag:yaml.org,2002:str";
      // A plain value that goes on in the next line is nearly always a slip of the indentation.
      if (source_.text().substr(offset, text.size()) != text) throw several_lines_problem(source_, progress_, offset);
      check_unopened_quote(text, offset);
    }
    if (expects_key()) {
      take_key(text, offset, first == '"' || first == '\'');
      return;
    }
    count(1, text.size(), offset);
    value(std::move(node), anchor, 0);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const size_t offset = offset_of(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) fail(offset, "alias", "an alias cannot stand inside the value it refers to");
    const Anchored& anchored = found->second;
    if (expects_key()) {
      if (!anchored.node.is_scalar()) fail(offset, "alias", "a key must be a plain text");
      take_key(anchored.node.scalar, offset, true);
      return;
    }
    if (frames_.size() + anchored.height > limits_.depth) too_deep(offset);
    count(anchored.nodes, anchored.bytes, offset);
    value(anchored.node, 0, anchored.height);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    size_t offset = 0;
    size_t nodes_before = 0, bytes_before = 0;
    size_t height = 0;
    bool has_key = false;
    bool skip_value = false;  // of a key that was reported
    std::string key;
    size_t key_offset = 0;
    bool key_is_plain = true;
    Location key_location;
    std::unordered_map<std::string, Location> keys;

    bool is_map() const { return node.is_map(); }
  };
  struct Anchored {
    Node node;
    size_t nodes = 0, bytes = 0, height = 0;
  };

  [[noreturn]] void fail(size_t offset, std::string code, std::string message, std::string hint = {}) const {
    throw SyntaxProblem{source_.location(offset), std::move(code), std::move(message), {}, std::move(hint), {}};
  }
  [[noreturn]] void too_deep(size_t offset) const {
    fail(offset, "too-deep", "nested more than " + std::to_string(limits_.depth) + " levels deep");
  }

  size_t offset_of(const YAML::Mark& mark) const { return source_.offset_of(mark.line, mark.column); }

  // Past `&anchor` and `!tag`, to the value itself.
  size_t skip_properties(size_t offset) const {
    while (source_.at(offset) == '&' || source_.at(offset) == '!') {
      size_t end = offset;
      while (std::string_view(" \t\r\n").find(source_.at(end)) == kNone && end < source_.text().size()) ++end;
      end = source_.skip_spaces(end);
      if (source_.at(end) == '\r' || source_.at(end) == '\n' || end >= source_.text().size()) return offset;
      offset = end;
    }
    return offset;
  }

  void check_tag(const std::string& tag, size_t offset) const {
    static constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag.empty() || tag == "?" || tag == "!" || tag.compare(0, kCore.size(), kCore) == 0) return;
    fail(offset, "tag", "the YAML tag \"" + tag + "\" is not supported; remove it");
  }

  bool expects_key() const { return !frames_.empty() && frames_.back().is_map() && !frames_.back().has_key; }

  size_t dash_before(size_t offset) const {
    size_t i = std::min(offset, source_.text().size());
    while (i > 0 && std::string_view(" \t\r\n").find(source_.at(i - 1)) != kNone) --i;
    return i > 0 && source_.at(i - 1) == '-' ? i - 1 : offset;
  }

  // `topic: orders"`: to YAML the quote is a part of the value.
  void check_unopened_quote(const std::string& text, size_t offset) const {
    const char last = text.empty() ? '\0' : text.back();
    if ((last != '"' && last != '\'') || std::count(text.begin(), text.end(), last) % 2 == 0) return;
    fail(offset + text.size() - 1, "unopened-quote", "the quote that ends here was never opened",
         "a quote belongs to the value only when the whole value stands in other quotes");
  }

  void check_colon(const Frame& frame) const {
    if (!frame.key_is_plain) return;
    const size_t behind = source_.skip_spaces(frame.key_offset + frame.key.size());
    if (source_.at(behind) == ':') return;
    const bool at_end = source_.text().find_first_not_of(" \t\r\n", behind) == kNone;
    if (at_end && in_flow()) throw unclosed_bracket_problem(source_, progress_);
    throw missing_colon_problem(source_, frame.key_offset);
  }

  bool in_flow() const { return !progress_.open.empty() && progress_.open.back().flow; }

  void check_tab(size_t offset) const {
    if (in_flow() || !source_.is_first_visible(offset)) return;
    if (const size_t tab = source_.tab_in_indentation(offset); tab != kNone) throw tab_problem(source_, tab);
  }

  void take_key(const std::string& text, size_t offset, bool quoted) {
    check_tab(offset);
    Frame& frame = frames_.back();
    frame.has_key = true;
    frame.skip_value = false;
    frame.key = text;
    frame.key_offset = offset;
    frame.key_is_plain = !quoted;
    frame.key_location = source_.location(offset);
    if (text == "<<" && !quoted) {
      fail(offset, "merge-key",
           "the merge key \"<<\" is not supported; write the keys out, or use an alias for a whole value");
    }
    const auto [first, fresh] = frame.keys.emplace(text, frame.key_location);
    if (fresh) return;
    frame.skip_value = true;
    frame.node.repeated_keys.push_back(text);
    const bool in_item = frames_.size() > 1 && frames_[frames_.size() - 2].node.is_list();
    diagnostics_.add({Severity::kError,
                      frame.key_location,
                      "duplicate-key",
                      path(),
                      "the key \"" + text + "\" is given twice; first at " + line_and_column(first->second),
                      {},
                      in_item ? "or is a line missing that begins the next item with \"- \"?" : "",
                      {{first->second, "first given here"}}});
  }

  static std::string line_and_column(const Location& at) {
    return std::to_string(at.line) + ":" + std::to_string(at.column);
  }

  // Of the key that is being read.
  std::string path() const {
    std::string out;
    for (const Frame& frame : frames_) {
      if (frame.is_map()) {
        out += (out.empty() ? "" : ".") + frame.key;
      } else {
        out += "[" + std::to_string(frame.node.items.size()) + "]";
      }
    }
    return out;
  }

  void count(size_t nodes, size_t bytes, size_t offset) {
    nodes_ += nodes;
    bytes_ += bytes;
    // Aliases may repeat what the file holds once, but not without bound.
    if (nodes_ <= limits_.nodes && bytes_ <= 4 * limits_.file_bytes) return;
    fail(offset, "too-large",
         "the file holds more than " + std::to_string(limits_.nodes) + " values once its aliases are filled in");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
    const size_t offset = skip_properties(offset_of(mark));
    check_tag(tag, offset);
    if (expects_key() && (source_.at(offset) == '{' || source_.at(offset) == '[')) {
      throw bracket_as_key_problem(source_, offset);
    }
    if (expects_key()) fail(offset, "syntax", "a key must be a plain text");
    if (frames_.size() >= limits_.depth) too_deep(offset);
    const char first = source_.at(offset);
    const bool flow = first == '{' || first == '[' || in_flow();
    if (!flow) check_tab(offset);
    count(1, 0, offset);
    Frame frame;
    frame.node.kind = kind;
    frame.node.at = source_.location(offset);
    frame.anchor = anchor;
    frame.offset = offset;
    frame.nodes_before = nodes_ - 1;
    frame.bytes_before = bytes_;
    frames_.push_back(std::move(frame));
    progress_.open.push_back({offset, flow, kind == Node::Kind::kList});
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    progress_.open.pop_back();
    Node& node = frame.node;
    node.last_line = node.at.line;
    if (!node.entries.empty()) node.last_line = std::max(node.last_line, node.entries.back().node.last_line);
    if (!node.items.empty()) node.last_line = std::max(node.last_line, node.items.back().last_line);
    const YAML::anchor_t anchor = frame.anchor;
    if (anchor != 0) {
      anchors_[anchor] = {node, nodes_ - frame.nodes_before, bytes_ - frame.bytes_before, frame.height + 1};
    }
    value(std::move(node), 0, frame.height + 1);
  }

  void value(Node node, YAML::anchor_t anchor, size_t height) {
    if (anchor != 0) anchors_[anchor] = {node, 1, node.scalar.size(), height};
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    frame.height = std::max(frame.height, height);
    if (!frame.is_map()) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    frame.has_key = false;
    bytes_ += frame.key.size();
    if (!frame.skip_value) frame.node.entries.push_back({frame.key, frame.key_location, std::move(node)});
  }

  const SourceText& source_;
  Diagnostics& diagnostics_;
  const SourceLimits limits_;
  ParseProgress progress_;
  std::vector<Frame> frames_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  Node root_;
  size_t nodes_ = 0, bytes_ = 0;
  int documents_ = 0;
};

// Length of the UTF-8 character at the beginning of `text`, or 0. yaml-cpp would replace bad bytes silently.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool bad_second = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
                          (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F);
  return bad_second ? 0 : length;
}

// Bytes that no text file holds; yaml-cpp even takes 0x04 for the end of the file.
std::optional<SyntaxProblem> find_bad_character(const SourceText& source) {
  const std::string_view text = source.text();
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      return SyntaxProblem{source.location(i), "encoding", "the file is not valid UTF-8", {}, {}, {}};
    }
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      return SyntaxProblem{source.location(i), "encoding", "a control character is not allowed here", {}, {}, {}};
    }
    i += length;
  }
  return std::nullopt;
}

void report(Diagnostics& diagnostics, SyntaxProblem problem) {
  diagnostics.add({Severity::kError,
                   std::move(problem.at),
                   std::move(problem.code),
                   {},
                   std::move(problem.message),
                   std::move(problem.suggestion),
                   std::move(problem.hint),
                   std::move(problem.notes)});
}

}  // namespace

const Entry* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

std::string describe_kind(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kScalar:
      return "a single value";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a block of \"key: value\" lines";
  }
  return {};
}

std::optional<Node> parse_source(const std::string& file_name, std::string_view text, Diagnostics& diagnostics,
                                 const SourceLimits& limits) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  if (text.size() > limits.file_bytes) {
    diagnostics.error({file_name, 1, 1}, "too-large", {},
                      "the file is larger than " + std::to_string(limits.file_bytes >> 10) + " KiB");
    return std::nullopt;
  }
  diagnostics.add_source(file_name, text);
  const SourceText source(file_name, text);
  if (std::optional<SyntaxProblem> problem = find_bad_character(source)) {
    report(diagnostics, std::move(*problem));
    return std::nullopt;
  }
  TreeBuilder builder(source, diagnostics, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (SyntaxProblem& problem) {
    report(diagnostics, std::move(problem));
    return std::nullopt;
  } catch (const YAML::Exception& e) {
    const size_t offset = e.mark.is_null() ? 0 : source.offset_of(e.mark.line, e.mark.column);
    report(diagnostics, explain_syntax_error(source, builder.progress(), offset, e.msg));
    return std::nullopt;
  } catch (const std::exception& e) {
    report(diagnostics,
           {{file_name, 1, 1}, "syntax", std::string("this is not valid YAML (") + e.what() + ")", {}, {}, {}});
    return std::nullopt;
  }
  Node root = std::move(builder).take_root();
  if (!root.at.known()) root.at = {file_name, 1, 1};
  return root;
}

std::optional<Node> parse_source_file(const std::string& path, Diagnostics& diagnostics, const SourceLimits& limits) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) {
    // One byte more than is allowed tells a file that is too large from one that just fits.
    text.resize(limits.file_bytes + 4);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad() || (text.empty() && errno != 0)) {
    diagnostics.error({path, 0, 0}, "unreadable-file", {},
                      path.empty() ? "the name of a pipeline file is empty" : std::string("cannot be read: ") + std::strerror(errno));
    return std::nullopt;
  }
  return parse_source(path, text, diagnostics, limits);
}

}  // namespace sluice::config
