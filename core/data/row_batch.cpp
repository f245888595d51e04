#include "data/row_batch.h"

#include <algorithm>

#include "data/json_writer.h"
#include "data/text_view.h"

namespace sluice::data {
namespace {

template <class T>
T* pick(const T* column, std::span<const uint32_t> rows, Arena& arena) {
  if (column == nullptr) return nullptr;
  T* out = arena.array<T>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) out[i] = column[rows[i]];
  return out;
}

const sluice_value* find_member(const sluice_value& map, std::string_view name) {
  for (size_t i = map.as.map.size; i > 0; --i)  // the last of equal names wins, as in a parsed text
    if (view(map.as.map.members[i - 1].name) == name) return &map.as.map.members[i - 1].value;
  return nullptr;
}

// Follows `names` from the second on into `value`.
sluice_value descend(sluice_value value, const std::vector<std::string>& names, size_t from, JsonReader& reader, Arena& arena) {
  for (size_t n = from; n < names.size(); ++n) {
    if (value.type == SLUICE_OBJECT) {
      std::string error;
      sluice_value map;
      if (!reader.parse(view(value.as.str), &map, arena, &error)) return {SLUICE_INVALID, 0, {.str = arena.copy(std::string_view(error))}};
      value = map;
    }
    const sluice_value* next = value.type == SLUICE_MAP ? find_member(value, names[n]) : nullptr;
    if (next == nullptr) return {SLUICE_ABSENT, 0, {}};
    value = *next;
  }
  return value;
}

}  // namespace

RowBatch gather(const RowBatch& in, std::span<const uint32_t> rows, const std::vector<bool>& keep_fields) {
  RowBatch out;
  out.arena = in.arena;
  out.size = static_cast<uint32_t>(rows.size());
  Arena& arena = *in.arena;
  out.event_time = pick(in.event_time, rows, arena);
  out.watermark = pick(in.watermark, rows, arena);
  out.change = pick(in.change, rows, arena);
  out.raw = pick(in.raw, rows, arena);
  out.raw_key = pick(in.raw_key, rows, arena);
  out.origin = pick(in.origin, rows, arena);
  out.body = pick(in.body, rows, arena);
  out.checked = pick(in.checked, rows, arena);
  out.fields.assign(in.fields.size(), nullptr);
  for (size_t f = 0; f < in.fields.size(); ++f)
    if (in.fields[f] != nullptr && f < keep_fields.size() && keep_fields[f]) out.fields[f] = pick(in.fields[f], rows, arena);
  for (const auto& a : in.attached) out.attached.push_back({a.name, pick(a.values, rows, arena)});
  return out;
}

RowBatch without(const RowBatch& in, const std::vector<bool>& bad) {
  std::vector<uint32_t> keep;
  for (uint32_t r = 0; r < in.size; ++r)
    if (!bad[r]) keep.push_back(r);
  return gather(in, keep, std::vector<bool>(in.fields.size(), true));
}

void ensure_field(RowBatch& batch, const FieldSet& set, size_t f, JsonReader& reader) {
  if (batch.fields.size() < set.size()) batch.fields.resize(set.size(), nullptr);
  if (batch.fields[f] != nullptr) return;
  Arena& arena = *batch.arena;
  const std::vector<std::string>& names = set.names(f);
  auto* column = arena.array<sluice_value>(batch.size);
  batch.fields[f] = column;
  for (const auto& a : batch.attached) {
    if (view(a.name) != names[0]) continue;
    for (uint32_t r = 0; r < batch.size; ++r) column[r] = descend(a.values[r], names, 1, reader, arena);
    return;
  }
  FieldSet single;  // for rows whose payload was not read for this field before
  single.add(set.path(f));
  for (uint32_t r = 0; r < batch.size; ++r) {
    std::string error;
    if (batch.is_made(r)) {
      sluice_value v = batch.body[r];
      column[r] = descend(v, names, 0, reader, arena);
    } else if (batch.raw == nullptr || batch.raw[r].data == nullptr) {
      column[r] = {SLUICE_ABSENT, 0, {}};
    } else {
      sluice_value* columns[] = {column};
      if (!reader.read(view(batch.raw[r]), single, columns, r, arena, &error))
        column[r] = {SLUICE_INVALID, 0, {.str = arena.copy(std::string_view(error))}};
    }
  }
}

bool row_body(const RowBatch& batch, uint32_t row, JsonReader& reader, sluice_value* out, std::string* error) {
  sluice_value map{SLUICE_MAP, 0, {}};
  if (batch.is_made(row) && batch.body[row].type == SLUICE_MAP) {
    map = batch.body[row];
  } else {
    const sluice_str text = batch.is_made(row) ? batch.body[row].as.str : batch.raw != nullptr ? batch.raw[row] : sluice_str{nullptr, 0};
    if (text.data == nullptr) {
      *error = "a row without a body";
      return false;
    }
    if (!reader.parse(view(text), &map, *batch.arena, error)) return false;
    if (map.type != SLUICE_MAP) {
      *error = "an array; a record must be a JSON object";
      return false;
    }
  }
  if (!batch.attached.empty()) {
    const size_t n = map.as.map.size;
    auto* members = batch.arena->array<sluice_member>(n + batch.attached.size());
    size_t count = 0;
    for (size_t i = 0; i < n; ++i) {
      const bool replaced = std::any_of(batch.attached.begin(), batch.attached.end(),
                                        [&](const auto& a) { return view(a.name) == view(map.as.map.members[i].name); });
      if (!replaced) members[count++] = map.as.map.members[i];
    }
    for (const auto& a : batch.attached)
      if (a.values[row].type != SLUICE_ABSENT) members[count++] = {a.name, a.values[row]};
    map.as.map.members = members;
    map.as.map.size = count;
  }
  *out = map;
  return true;
}

bool row_json(const RowBatch& batch, uint32_t row, JsonReader& reader, sluice_str* out, std::string* error) {
  if (batch.attached.empty()) {
    if (batch.is_made(row)) {
      if (batch.body[row].type == SLUICE_OBJECT) {
        *out = batch.body[row].as.str;
        return true;
      }
    } else if (batch.raw != nullptr && batch.raw[row].data != nullptr) {
      if ((batch.checked == nullptr || batch.checked[row] == 0) && !reader.check(view(batch.raw[row]), error)) return false;
      *out = batch.raw[row];
      return true;
    }
  }
  sluice_value body;
  if (!row_body(batch, row, reader, &body, error)) return false;
  std::string text;
  append_json(body, &text);
  *out = batch.arena->copy(std::string_view(text));
  return true;
}

sluice_value copy_value(const sluice_value& v, Arena& arena) {
  sluice_value out = v;
  switch (v.type) {
    case SLUICE_NUMBER: case SLUICE_STRING: case SLUICE_ARRAY: case SLUICE_OBJECT: case SLUICE_INVALID:
      out.as.str = arena.copy(view(v.as.str));
      break;
    case SLUICE_LIST: {
      auto* items = arena.array<sluice_value>(v.as.list.size);
      for (size_t i = 0; i < v.as.list.size; ++i) items[i] = copy_value(v.as.list.items[i], arena);
      out.as.list.items = items;
      break;
    }
    case SLUICE_MAP: {
      auto* members = arena.array<sluice_member>(v.as.map.size);
      for (size_t i = 0; i < v.as.map.size; ++i)
        members[i] = {arena.copy(view(v.as.map.members[i].name)), copy_value(v.as.map.members[i].value, arena)};
      out.as.map.members = members;
      break;
    }
    default: break;
  }
  return out;
}

}  // namespace sluice::data
