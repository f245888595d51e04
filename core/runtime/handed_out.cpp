#include "runtime/handed_out.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace sluice::runtime {
namespace {

std::atomic<bool>& flag() {
  static std::atomic<bool> on = [] {
    const char* wanted = std::getenv("SLUICE_DEBUG_PLUGINS");
    return wanted != nullptr && *wanted != '\0' && std::strcmp(wanted, "0") != 0;
  }();
  return on;
}

bool is_text(const sluice_value& v) {
  return v.type == SLUICE_NUMBER || v.type == SLUICE_STRING || v.type == SLUICE_ARRAY || v.type == SLUICE_OBJECT || v.type == SLUICE_INVALID;
}

}  // namespace

void debug_plugins(bool on) { flag() = on; }
bool debug_plugins() { return flag(); }

sluice_value HandedOut::value(const sluice_value& v) {
  sluice_value out = v;
  if (is_text(v)) {
    out.as.str = text(v.as.str);
  } else if (v.type == SLUICE_LIST) {
    auto* items = memory_.array<sluice_value>(v.as.list.size);
    for (size_t i = 0; i < v.as.list.size; ++i) items[i] = value(v.as.list.items[i]);
    out.as.list.items = items;
  } else if (v.type == SLUICE_MAP) {
    auto* members = memory_.array<sluice_member>(v.as.map.size);
    for (size_t i = 0; i < v.as.map.size; ++i) members[i] = {text(v.as.map.members[i].name), value(v.as.map.members[i].value)};
    out.as.map.members = members;
  }
  return out;
}

bool HandedOut::is_dead(const sluice_value& v) const {
  if (is_text(v)) return is_dead(v.as.str);
  if (v.type == SLUICE_LIST) {
    if (v.as.list.size > 0 && memory_.is_dead(v.as.list.items)) return true;
    for (size_t i = 0; i < v.as.list.size; ++i)
      if (is_dead(v.as.list.items[i])) return true;
  } else if (v.type == SLUICE_MAP) {
    if (v.as.map.size > 0 && memory_.is_dead(v.as.map.members)) return true;
    for (size_t i = 0; i < v.as.map.size; ++i)
      if (is_dead(v.as.map.members[i].name) || is_dead(v.as.map.members[i].value)) return true;
  }
  return false;
}

}  // namespace sluice::runtime
