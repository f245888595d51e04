// sluice/field_path.hpp - paths of fields, as Needs::field() takes them: names joined by dots, `\.` is a dot in a name.
#pragma once
#include <string>
#include <string_view>

namespace sluice {

// The name of a path's last part: "a.b" is "b", "a\.b" is "a.b".
inline std::string last_name(std::string_view path) {
  std::string name;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\' && i + 1 < path.size() && path[i + 1] == '.')
      name.push_back(path[++i]);
    else if (path[i] == '.')
      name.clear();
    else
      name.push_back(path[i]);
  }
  return name;
}

}  // namespace sluice
