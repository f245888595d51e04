// Geometries: well-known binary → well-known text.
#pragma once
#include <cstdint>
#include <string>

namespace sluice_mysql {

// "POINT (1 2)", "POLYGON ((0 0, 1 0, 1 1, 0 0))". Two dimensions, either byte order. False: it is broken.
bool append_wkt(const uint8_t* wkb, size_t size, std::string* out);

}  // namespace sluice_mysql
