// The column type numbers of a TABLE_MAP (enum_field_types of the servers).
#pragma once
#include <cstdint>

namespace sluice_mysql::type_code {

constexpr uint8_t kDecimalOld = 0, kTiny = 1, kShort = 2, kLong = 3, kFloat = 4, kDouble = 5, kNull = 6, kTimestamp = 7,
                  kLongLong = 8, kInt24 = 9, kDate = 10, kTime = 11, kDateTime = 12, kYear = 13, kNewDate = 14,
                  kVarchar = 15, kBit = 16, kTimestamp2 = 17, kDateTime2 = 18, kTime2 = 19, kBlobCompressed = 140,
                  kVarcharCompressed = 141, kVector = 242, kJson = 245, kNewDecimal = 246, kEnum = 247, kSet = 248,
                  kTinyBlob = 249, kMediumBlob = 250, kLongBlob = 251, kBlob = 252, kVarString = 253, kString = 254,
                  kGeometry = 255;

// Those whose sign the row image does not say.
constexpr bool is_numeric(uint8_t t) {
  return t == kTiny || t == kShort || t == kInt24 || t == kLong || t == kLongLong || t == kFloat || t == kDouble ||
         t == kNewDecimal;
}

// Those that its character sets count.
constexpr bool is_character(uint8_t t) {
  return t == kVarchar || t == kVarString || t == kString || t == kBlob || t == kTinyBlob || t == kMediumBlob ||
         t == kLongBlob || t == kBlobCompressed || t == kVarcharCompressed;
}

}  // namespace sluice_mysql::type_code
