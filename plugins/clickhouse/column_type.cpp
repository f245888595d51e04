#include "column_type.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace sluice::clickhouse {
namespace {

class TypeReader {
 public:
  explicit TypeReader(std::string_view text) : text_(text) {}

  ColumnType read_all() {
    ColumnType t = read();
    blanks();
    if (at_ != text_.size()) t.kind = TypeKind::kUnsupported;
    return t;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool sees(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  std::string_view word() {
    blanks();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool integer(int* out) {
    blanks();
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), *out);
    if (error != std::errc()) return false;
    at_ = static_cast<size_t>(end - text_.data());
    return true;
  }
  // In single quotes or backquotes, with backslashes before what would end it.
  bool quoted(char quote, std::string* out) {
    if (!take(quote)) return false;
    out->clear();
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out->push_back(text_[at_++]);
    }
    return at_ < text_.size() && text_[at_++] == quote;
  }
  // To the closing parenthesis of what has been opened.
  void skip_arguments() {
    for (int depth = 1; at_ < text_.size() && depth > 0;) {
      std::string ignored;
      if (text_[at_] == '\'') {
        if (!quoted('\'', &ignored)) return;
        continue;
      }
      depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      ++at_;
    }
  }

  ColumnType read() {
    blanks();
    const size_t begin = at_;
    ColumnType t;
    const std::string_view family = word();
    const bool arguments = take('(');
    const bool understood = arguments ? with_arguments(family, &t) && take(')') : plain(family, &t);
    if (!understood) {
      t = ColumnType();
      if (arguments) skip_arguments();
    }
    t.name = std::string(text_.substr(begin, at_ - begin));
    return t;
  }

  static bool plain(std::string_view f, ColumnType* t) {
    const auto is = [&](TypeKind kind, size_t bytes) {
      t->kind = kind;
      t->bytes = bytes;
      return true;
    };
    if (f == "String") return is(TypeKind::kString, 0);
    if (f == "UInt8") return is(TypeKind::kUInt, 1);
    if (f == "UInt16") return is(TypeKind::kUInt, 2);
    if (f == "UInt32") return is(TypeKind::kUInt, 4);
    if (f == "UInt64") return is(TypeKind::kUInt, 8);
    if (f == "UInt128") return is(TypeKind::kUInt, 16);
    if (f == "UInt256") return is(TypeKind::kUInt, 32);
    if (f == "Int8") return is(TypeKind::kInt, 1);
    if (f == "Int16") return is(TypeKind::kInt, 2);
    if (f == "Int32") return is(TypeKind::kInt, 4);
    if (f == "Int64") return is(TypeKind::kInt, 8);
    if (f == "Int128") return is(TypeKind::kInt, 16);
    if (f == "Int256") return is(TypeKind::kInt, 32);
    if (f == "Float32") return is(TypeKind::kFloat32, 4);
    if (f == "Float64") return is(TypeKind::kFloat64, 8);
    if (f == "Bool") return is(TypeKind::kBool, 1);
    if (f == "Date") return is(TypeKind::kDate, 2);
    if (f == "Date32") return is(TypeKind::kDate32, 4);
    if (f == "DateTime") return is(TypeKind::kDateTime, 4);
    if (f == "UUID") return is(TypeKind::kUuid, 16);
    if (f == "IPv4") return is(TypeKind::kIpv4, 4);
    if (f == "IPv6") return is(TypeKind::kIpv6, 16);
    return false;
  }

  bool with_arguments(std::string_view f, ColumnType* t) {
    int n = 0;
    if (f == "LowCardinality") {
      *t = read();
      return t->kind != TypeKind::kUnsupported;
    }
    if (f == "SimpleAggregateFunction") {
      if (word().empty()) return false;
      if (take('(')) skip_arguments();
      if (!take(',')) return false;
      *t = read();
      return t->kind != TypeKind::kUnsupported;
    }
    if (f == "Nullable" || f == "Array") {
      t->kind = f == "Array" ? TypeKind::kArray : TypeKind::kNullable;
      t->inner.push_back(read());
      return true;
    }
    if (f == "Map") {
      t->kind = TypeKind::kMap;
      t->inner.push_back(read());
      if (!take(',')) return false;
      t->inner.push_back(read());
      return true;
    }
    if (f == "Tuple") return tuple(t);
    if (f == "FixedString") {
      t->kind = TypeKind::kFixedString;
      if (!integer(&n) || n < 1) return false;
      t->bytes = static_cast<size_t>(n);
      return true;
    }
    if (f == "Decimal") return integer(&t->precision) && take(',') && integer(&t->scale) && decimal(t);
    if (f == "DateTime") {
      t->kind = TypeKind::kDateTime;
      t->bytes = 4;
      return quoted('\'', &t->zone);
    }
    if (f == "DateTime64") {
      t->kind = TypeKind::kDateTime64;
      t->bytes = 8;
      if (!integer(&t->scale) || t->scale < 0 || t->scale > 9) return false;
      return !take(',') || quoted('\'', &t->zone);
    }
    if (f == "Enum8" || f == "Enum16") {
      t->kind = TypeKind::kEnum;
      t->bytes = f == "Enum8" ? 1 : 2;
      do {
        std::string name;
        if (!quoted('\'', &name) || !take('=') || !integer(&n)) return false;
        t->enum_values.emplace_back(std::move(name), n);
      } while (take(','));
      return true;
    }
    return false;
  }

  static bool decimal(ColumnType* t) {
    t->kind = TypeKind::kDecimal;
    if (t->precision < 1 || t->precision > 76 || t->scale < 0 || t->scale > t->precision) return false;
    t->bytes = t->precision <= 9 ? 4 : t->precision <= 18 ? 8 : t->precision <= 38 ? 16 : 32;
    return true;
  }

  bool tuple(ColumnType* t) {
    t->kind = TypeKind::kTuple;
    do {
      std::string name;
      if (sees('`')) {
        if (!quoted('`', &name)) return false;
      } else {
        // A name is a word with a type behind it: `a UInt8`.
        const size_t begin = at_;
        const std::string_view first = word();
        if (!first.empty() && sees(',') == false && sees('(') == false && sees(')') == false) {
          name = std::string(first);
        } else {
          at_ = begin;
        }
      }
      t->inner_names.push_back(std::move(name));
      t->inner.push_back(read());
    } while (take(','));
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

ColumnType parse_column_type(std::string_view text) {
  ColumnType t = TypeReader(text).read_all();
  t.name = std::string(text);
  return t;
}

bool is_time_without_zone(const ColumnType& type) {
  if (type.kind == TypeKind::kDateTime || type.kind == TypeKind::kDateTime64) return type.zone.empty();
  return std::any_of(type.inner.begin(), type.inner.end(), is_time_without_zone);
}

std::string unsupported_part(const ColumnType& type) {
  if (type.kind == TypeKind::kUnsupported) return type.name.empty() ? "no type at all" : type.name;
  for (const ColumnType& t : type.inner)
    if (std::string part = unsupported_part(t); !part.empty()) return part;
  return {};
}

bool resolve_zones(ColumnType* type, const std::string& server_zone, int64_t last_day, std::string* unknown) {
  const bool local = type->kind == TypeKind::kDate || type->kind == TypeKind::kDate32 ||
                     type->kind == TypeKind::kDateTime || type->kind == TypeKind::kDateTime64;
  if (local) {
    const std::string& zone = type->zone.empty() ? server_zone : type->zone;
    type->clock = std::make_shared<ZoneClock>();
    type->last_day = last_day;
    if (!type->clock->set(zone)) {
      *unknown = zone;
      return false;
    }
  }
  for (ColumnType& t : type->inner)
    if (!resolve_zones(&t, server_zone, last_day, unknown)) return false;
  return true;
}

}  // namespace sluice::clickhouse
