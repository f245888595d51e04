// Rows on their way through a chain: columns of pointers into one arena.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/arena.h"
#include "data/json_reader.h"

namespace sluice::data {

inline constexpr uint32_t kNoSource = UINT32_MAX;

// Where a row came from.
struct Origin {
  uint32_t source = kNoSource;  // index of the source operator in the pipeline
  uint32_t split = 0;           // index of the split within the source; the same in every lane
  sluice_str position{nullptr, 0};
};

// A value type; copies are shallow and keep the arena alive. Every column has `size` entries; a null column is not there.
// Fields are addressed by their index in the pipeline's FieldSet.
struct RowBatch {
  struct Attached {
    sluice_str name;
    const sluice_value* values;
  };

  uint32_t size = 0;
  std::shared_ptr<Arena> arena;
  int64_t* event_time = nullptr;
  int64_t* watermark = nullptr;
  uint8_t* change = nullptr;
  sluice_str* raw = nullptr;      // what the source gave; also of rows that were made of such a row
  sluice_str* raw_key = nullptr;
  Origin* origin = nullptr;
  sluice_value* body = nullptr;   // SLUICE_MAP or SLUICE_OBJECT for rows that a transform made, else SLUICE_ABSENT
  uint8_t* checked = nullptr;     // 1: the payload is valid JSON throughout
  std::vector<sluice_value*> fields;
  std::vector<Attached> attached;

  bool is_made(uint32_t row) const { return body != nullptr && body[row].type != SLUICE_ABSENT; }
  bool is_tombstone(uint32_t row) const { return !is_made(row) && raw != nullptr && raw[row].data == nullptr; }
};

// The given rows of `in`, with the fields in `keep_fields` (by index; others are dropped).
RowBatch gather(const RowBatch& in, std::span<const uint32_t> rows, const std::vector<bool>& keep_fields);

// All rows but those that are `bad`, with all fields.
RowBatch without(const RowBatch& in, const std::vector<bool>& bad);

// Makes sure that fields[f] is there. Values that cannot be read are SLUICE_INVALID.
void ensure_field(RowBatch& batch, const FieldSet& set, size_t f, JsonReader& reader);

// The whole row as a SLUICE_MAP, attached columns included. False: *error says why it is no valid JSON object.
bool row_body(const RowBatch& batch, uint32_t row, JsonReader& reader, sluice_value* out, std::string* error);
// The same as JSON text; a row as the source gave it keeps its bytes.
bool row_json(const RowBatch& batch, uint32_t row, JsonReader& reader, sluice_str* out, std::string* error);
// Copies a value and everything below it into the arena.
sluice_value copy_value(const sluice_value& v, Arena& arena);

}  // namespace sluice::data
