// `${NAME}` in scalar values; see source_tree.h.
#include <cstdlib>

#include "config/source_tree.h"

namespace sluice::config {
namespace {

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return true;
}

class Replacer {
 public:
  Replacer(const VariableLookup& lookup, Diagnostics& diagnostics) : lookup_(lookup), diagnostics_(diagnostics) {}

  void visit(Node& node, const std::string& path) {
    if (node.is_scalar()) replace(node, path);
    for (Entry& entry : node.entries) visit(entry.node, path.empty() ? entry.key : path + "." + entry.key);
    for (size_t i = 0; i < node.items.size(); ++i) visit(node.items[i], path + "[" + std::to_string(i) + "]");
  }

 private:
  void replace(Node& node, const std::string& path) {
    const std::string& text = node.scalar;
    size_t dollar = text.find("${");
    if (dollar == std::string::npos) return;
    node.replaced = true;
    std::string out;
    size_t done = 0;
    for (; dollar != std::string::npos; dollar = text.find("${", done)) {
      out.append(text, done, dollar - done);
      if (dollar > done && text[dollar - 1] == '$') {  // $${ stands for ${
        out += "{";
        done = dollar + 2;
        continue;
      }
      const size_t end = text.find('}', dollar);
      if (end == std::string::npos) {
        malformed(node, path);
        return;
      }
      if (!append_value(node, path, std::string_view(text).substr(dollar + 2, end - dollar - 2), out)) return;
      done = end + 1;
    }
    out.append(text, done);
    node.scalar = std::move(out);
  }

  // `reference` is what stands between the braces.
  bool append_value(Node& node, const std::string& path, std::string_view reference, std::string& out) {
    const size_t colon = reference.find(":-");
    const std::string name(reference.substr(0, colon));
    if (!is_name(name)) {
      malformed(node, path);
      return false;
    }
    const std::optional<std::string> value = lookup_ ? lookup_(name) : std::nullopt;
    if (colon != std::string_view::npos) {
      out += value && !value->empty() ? *value : std::string(reference.substr(colon + 2));
      return true;
    }
    if (!value) {
      diagnostics_.error(node.at, "undefined-variable", path, "environment variable " + name + " is not set", {},
                         "set it, or give a default: ${" + name + ":-value}");
      node.unresolved = true;
      return false;
    }
    out += *value;
    return true;
  }

  // The text itself is not shown: it may be a secret.
  void malformed(Node& node, const std::string& path) {
    diagnostics_.error(node.at, "bad-variable", path, "\"${\" begins no variable here", {},
                       "write ${NAME} or ${NAME:-default}; $${ stands for a literal ${");
    node.unresolved = true;
  }

  const VariableLookup& lookup_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

void replace_variables(Node& root, const VariableLookup& lookup, Diagnostics& diagnostics) {
  Replacer(lookup, diagnostics).visit(root, {});
}

}  // namespace sluice::config
