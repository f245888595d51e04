#include "tumbling_window/group_key.h"

#include <charconv>

namespace sluice::tumbling_window {

bool append_group_value(const Value& value, std::string* key) {
  const auto append = [key](char type, std::string_view text) {
    key->push_back(type);
    char size[24];
    key->append(size, std::to_chars(size, size + sizeof size, text.size()).ptr);
    key->push_back(':');
    key->append(text);
  };
  char number[64];
  switch (value.type()) {
    case SLUICE_ABSENT:
    case SLUICE_NULL:
      append('z', {});
      return true;
    case SLUICE_BOOL:
      append('b', value.text());
      return true;
    case SLUICE_NUMBER:
      append('n', value.text());
      return true;
    case SLUICE_STRING:
      append('s', value.text());
      return true;
    case SLUICE_INT64: {
      const char* end = std::to_chars(number, number + sizeof number, value.raw().as.i64).ptr;
      append('n', {number, static_cast<size_t>(end - number)});
      return true;
    }
    case SLUICE_DOUBLE: {
      const char* end = std::to_chars(number, number + sizeof number, value.raw().as.f64).ptr;
      append('n', {number, static_cast<size_t>(end - number)});
      return true;
    }
    default:
      return false;
  }
}

std::vector<Value> group_values(std::string_view key) {
  std::vector<Value> out;
  while (!key.empty()) {
    size_t size = 0;
    const char* digits_end = std::from_chars(key.data() + 1, key.data() + key.size(), size).ptr;
    const std::string_view text(digits_end + 1, size);
    switch (key[0]) {
      case 'b':
        out.push_back(Value::boolean(text == "true"));
        break;
      case 'n':
        out.push_back(Value::number(text));
        break;
      case 's':
        out.push_back(Value::string(text));
        break;
      default:
        out.push_back(Value::null());
        break;
    }
    key.remove_prefix(static_cast<size_t>(text.data() + text.size() - key.data()));
  }
  return out;
}

}  // namespace sluice::tumbling_window
