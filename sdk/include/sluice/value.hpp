// sluice/value.hpp - JSON values and batches as plugin code sees them. Views: they die when the call into the operator returns.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/status.hpp"

namespace sluice {

// A JSON value. Numbers keep the digits they were written with.
class Value {
 public:
  Value() noexcept { raw_.type = SLUICE_ABSENT; raw_.reserved = 0; raw_.as.str = {nullptr, 0}; }
  Value(const sluice_value& raw) noexcept : raw_(raw) {}  // NOLINT(google-explicit-constructor)

  static Value null() noexcept { return typed(SLUICE_NULL); }
  static Value boolean(bool b) noexcept { Value v = typed(SLUICE_BOOL); v.raw_.as.i64 = b ? 1 : 0; return v; }
  static Value integer(int64_t i) noexcept { Value v = typed(SLUICE_INT64); v.raw_.as.i64 = i; return v; }
  static Value real(double d) noexcept { Value v = typed(SLUICE_DOUBLE); v.raw_.as.f64 = d; return v; }
  // Texts must live until the call into the operator returns. They must be what they are called: a JSON number, UTF-8, a JSON object, a
  // JSON array; a row with one that is not is rejected.
  static Value number(std::string_view lexeme) noexcept { Value v = typed(SLUICE_NUMBER); v.raw_.as.str = str(lexeme); return v; }
  static Value string(std::string_view text) noexcept { Value v = typed(SLUICE_STRING); v.raw_.as.str = str(text); return v; }
  static Value json_object(std::string_view json) noexcept { Value v = typed(SLUICE_OBJECT); v.raw_.as.str = str(json); return v; }
  static Value json_array(std::string_view json) noexcept { Value v = typed(SLUICE_ARRAY); v.raw_.as.str = str(json); return v; }

  uint32_t type() const noexcept { return raw_.type; }
  bool is_absent() const noexcept { return raw_.type == SLUICE_ABSENT; }
  bool is_null() const noexcept { return raw_.type == SLUICE_NULL; }
  bool is_missing() const noexcept { return is_absent() || is_null(); }
  bool is_string() const noexcept { return raw_.type == SLUICE_STRING; }
  bool is_number() const noexcept { return raw_.type == SLUICE_NUMBER || raw_.type == SLUICE_INT64 || raw_.type == SLUICE_DOUBLE; }
  bool is_bool() const noexcept { return raw_.type == SLUICE_BOOL; }
  bool is_object() const noexcept { return raw_.type == SLUICE_OBJECT || raw_.type == SLUICE_MAP; }
  bool is_array() const noexcept { return raw_.type == SLUICE_ARRAY || raw_.type == SLUICE_LIST; }
  const char* type_name() const noexcept {
    switch (raw_.type) {
      case SLUICE_ABSENT: return "absent";
      case SLUICE_NULL: return "null";
      case SLUICE_BOOL: return "a boolean";
      case SLUICE_NUMBER: case SLUICE_INT64: case SLUICE_DOUBLE: return "a number";
      case SLUICE_STRING: return "a string";
      case SLUICE_ARRAY: case SLUICE_LIST: return "an array";
      case SLUICE_OBJECT: case SLUICE_MAP: return "an object";
      default: return "invalid";
    }
  }

  // The text of a string, the digits of a number as they were written (SLUICE_NUMBER), the JSON text of an array or object
  // (SLUICE_ARRAY, SLUICE_OBJECT), "true" or "false", why a SLUICE_INVALID is none; else empty: also of numbers that a plugin
  // made (SLUICE_INT64, SLUICE_DOUBLE) and of what is taken apart (SLUICE_LIST, SLUICE_MAP). Operator::to_json() is for all.
  std::string_view text() const noexcept {
    switch (raw_.type) {
      case SLUICE_NUMBER: case SLUICE_STRING: case SLUICE_ARRAY: case SLUICE_OBJECT: case SLUICE_INVALID: return view(raw_.as.str);
      case SLUICE_BOOL: return raw_.as.i64 != 0 ? "true" : "false";
      default: return {};
    }
  }
  bool boolean() const noexcept { return raw_.type == SLUICE_BOOL && raw_.as.i64 != 0; }
  // A number, or a string that holds one, that is exactly a 64-bit integer.
  std::optional<int64_t> int64() const noexcept {
    if (raw_.type == SLUICE_INT64) return raw_.as.i64;
    if (raw_.type != SLUICE_NUMBER && raw_.type != SLUICE_STRING) return std::nullopt;
    const std::string_view t = view(raw_.as.str);
    int64_t out = 0;
    const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), out);
    if (error != std::errc() || end != t.data() + t.size() || t.empty()) return std::nullopt;
    return out;
  }

  const sluice_value& raw() const noexcept { return raw_; }
  // Of a SLUICE_MAP / SLUICE_LIST; 0 of everything else. i < size(): name() and member() of a map, item() of a list.
  size_t size() const noexcept { return raw_.type == SLUICE_MAP ? raw_.as.map.size : raw_.type == SLUICE_LIST ? raw_.as.list.size : 0; }
  std::string_view name(size_t i) const noexcept { return view(raw_.as.map.members[i].name); }
  Value member(size_t i) const noexcept { return raw_.as.map.members[i].value; }
  Value item(size_t i) const noexcept { return raw_.as.list.items[i]; }
  // The member of that name of a SLUICE_MAP, the last one when there are several, as with declared fields; absent when
  // there is none.
  Value find(std::string_view wanted) const noexcept {
    if (raw_.type == SLUICE_MAP)
      for (size_t i = raw_.as.map.size; i-- > 0;)
        if (name(i) == wanted) return member(i);
    return {};
  }

 private:
  static Value typed(uint32_t type) noexcept { Value v; v.raw_.type = type; return v; }
  sluice_value raw_;
};

// A field that an operator declared in needs(): an index into the batch's field columns.
struct Field {
  uint32_t index = 0;
};

// The rows of one call. row < size(); all that it gives dies when the call returns.
class Batch {
 public:
  Batch(const sluice_context* ctx, const sluice_batch& raw) noexcept : ctx_(ctx), raw_(raw) {}
  uint32_t size() const noexcept { return raw_.size; }
  // Empty when the operator has no `key:`.
  std::string_view key(uint32_t row) const noexcept { return raw_.key != nullptr ? view(raw_.key[row]) : std::string_view(); }
  // A declared field; absent, null and SLUICE_INVALID are three different things.
  Value operator()(Field f, uint32_t row) const noexcept { return raw_.fields[f.index][row]; }
  // SLUICE_NO_TIME: none.
  int64_t event_time(uint32_t row) const noexcept { return raw_.event_time != nullptr ? raw_.event_time[row] : SLUICE_NO_TIME; }
  // This operator's watermark just before the row.
  int64_t watermark(uint32_t row) const noexcept { return raw_.watermark != nullptr ? raw_.watermark[row] : SLUICE_NO_TIME; }
  sluice_change change(uint32_t row) const noexcept {
    return raw_.change != nullptr ? static_cast<sluice_change>(raw_.change[row]) : SLUICE_CHANGE_NONE;
  }
  bool is_tombstone(uint32_t row) const noexcept { return raw_.raw != nullptr && raw_.raw[row].data == nullptr; }
  // The payload as the source gave it; empty for rows that a transform made, and a tombstone's.
  std::string_view payload(uint32_t row) const noexcept { return raw_.raw != nullptr ? view(raw_.raw[row]) : std::string_view(); }
  // The source's own key; data() == nullptr: none. A row that was made has that of its from_row.
  std::string_view message_key(uint32_t row) const noexcept { return raw_.raw_key != nullptr ? view(raw_.raw_key[row]) : std::string_view(); }
  // The whole body, a map. Needs::body() must have been called. A row that is not a valid JSON object is BAD_RECORD.
  Status body(uint32_t row, Value* out) const {
    sluice_value v;
    Status s = detail::call([&](sluice_error* e) { return ctx_->body(ctx_, &raw_, row, &v, e); });
    if (s.is_ok()) *out = v;
    return s;
  }
  // The whole body as JSON text: the source's bytes, unless a transform has made or changed the row.
  Status json(uint32_t row, std::string_view* out) const {
    sluice_str t{nullptr, 0};
    Status s = detail::call([&](sluice_error* e) { return ctx_->json(ctx_, &raw_, row, &t, e); });
    if (s.is_ok()) *out = view(t);
    return s;
  }
  const sluice_batch& raw() const noexcept { return raw_; }

 private:
  const sluice_context* ctx_;
  const sluice_batch& raw_;
};

}  // namespace sluice
