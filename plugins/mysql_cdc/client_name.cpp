#include <cstdio>

#include "cdc_options.h"

namespace sluice_mysql {
namespace {

// FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
uint64_t hash(std::string_view text, uint64_t seed) {
  uint64_t h = 14695981039346656037ull ^ seed;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h ^ h >> 32;
}

}  // namespace

ClientName client_name(std::string_view machine, std::string_view pipeline, std::string_view id, uint32_t server_id) {
  ClientName out;
  out.source = id;
  out.label = ("sluice:" + std::string(pipeline) + "." + std::string(id)).substr(0, 60);  // the protocol's limit
  std::string all;
  for (const std::string_view part : {machine, pipeline, id}) all.append(part).push_back('\0');
  const uint64_t a = hash(all, 1), b = hash(all, 2);
  // The upper half: people number their servers from 1 on.
  out.server_id = server_id != 0 ? server_id : static_cast<uint32_t>(a) | 0x80000000u;
  char text[40];  // version 8, RFC 9562: made our own way
  std::snprintf(text, sizeof text, "%08x-%04x-8%03x-8%03x-%012llx", static_cast<unsigned>(a >> 32),
                static_cast<unsigned>(a & 0xFFFF), static_cast<unsigned>(a >> 16 & 0xFFF),
                static_cast<unsigned>(b & 0xFFF), static_cast<unsigned long long>(b >> 16));
  out.uuid = text;
  return out;
}

}  // namespace sluice_mysql
