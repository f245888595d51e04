#include "partition_key.h"

#include <algorithm>
#include <cstring>

#include "time_text.h"

namespace sluice::clickhouse {
namespace {

constexpr int64_t kDay = 86400;

std::string_view trimmed(std::string_view t) {
  while (!t.empty() && t.front() == ' ') t.remove_prefix(1);
  while (!t.empty() && t.back() == ' ') t.remove_suffix(1);
  return t;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

uint64_t unsigned_of(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < 8; ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

// Seconds since 1970 on the wall clock of the column's zone.
int64_t local_seconds(const ColumnType& type, std::string_view bytes) {
  const auto raw = static_cast<int64_t>(unsigned_of(bytes));
  switch (type.kind) {
    case TypeKind::kDate:
      return raw * kDay;
    case TypeKind::kDate32:
      return static_cast<int64_t>(static_cast<int32_t>(raw)) * kDay;
    case TypeKind::kDateTime:
      return type.clock->to_local(raw);
    default: {
      int64_t one = 1;
      for (int i = 0; i < type.scale; ++i) one *= 10;
      return type.clock->to_local(floor_div(raw, one));
    }
  }
}

bool is_time(const ColumnType& type) {
  return type.kind == TypeKind::kDate || type.kind == TypeKind::kDate32 || type.kind == TypeKind::kDateTime ||
         type.kind == TypeKind::kDateTime64;
}

// The outer parentheses belong together.
bool wrapped(std::string_view t) {
  if (t.size() < 2 || t.front() != '(' || t.back() != ')') return false;
  int depth = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    depth += t[i] == '(' ? 1 : t[i] == ')' ? -1 : 0;
    if (depth == 0 && i + 1 < t.size()) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string_view> split_key(std::string_view t) {
  t = trimmed(t);
  if (t.substr(0, 5) == "tuple" && wrapped(trimmed(t.substr(5)))) t = trimmed(t.substr(5));
  if (wrapped(t)) t = trimmed(t.substr(1, t.size() - 2));
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= t.size(); ++i) {
    if (i == t.size() || (t[i] == ',' && depth == 0)) {
      if (const auto part = trimmed(t.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
      begin = i + 1;
    } else {
      depth += t[i] == '(' ? 1 : t[i] == ')' ? -1 : 0;
    }
  }
  return parts;
}

PartitionKey PartitionKey::read(std::string_view expression, const std::vector<std::string>& names,
                                const std::vector<const ColumnType*>& types) {
  PartitionKey key;
  for (const std::string_view part : split_key(expression))
    if (!key.add_term(part, names, types)) {
      key = PartitionKey();
      key.known_ = false;
      return key;
    }
  return key;
}

bool PartitionKey::add_term(std::string_view text, const std::vector<std::string>& names,
                            const std::vector<const ColumnType*>& types) {
  static const std::pair<std::string_view, Function> kFunctions[] = {
      {"toYYYYMMDD", Function::kDay},       {"toDate", Function::kDay},
      {"toStartOfDay", Function::kDay},     {"toYYYYMM", Function::kMonth},
      {"toStartOfMonth", Function::kMonth}, {"toYear", Function::kYear},
      {"toStartOfYear", Function::kYear},   {"toStartOfQuarter", Function::kQuarter},
      {"toMonday", Function::kWeek},        {"toStartOfHour", Function::kHour}};
  Term term;
  std::string_view column = text;
  if (!text.empty() && text.back() == ')') {
    const size_t open = text.find('(');
    if (open == std::string_view::npos) return false;
    const std::string_view name = trimmed(text.substr(0, open));
    const auto* f =
        std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const auto& k) { return k.first == name; });
    if (f == std::end(kFunctions)) return false;
    term.function = f->second;
    column = trimmed(text.substr(open + 1, text.size() - open - 2));
  }
  if (column.size() > 1 && column.front() == '`' && column.back() == '`') column = column.substr(1, column.size() - 2);
  const auto at = std::find(names.begin(), names.end(), column);
  if (at == names.end()) return false;
  const auto index = static_cast<size_t>(at - names.begin());
  term.type = types[index];
  if (term.function != Function::kItself && !is_time(term.type->bare())) return false;
  const auto known = std::find(columns_.begin(), columns_.end(), index);
  term.value = static_cast<size_t>(known - columns_.begin());
  if (known == columns_.end()) columns_.push_back(index);
  terms_.push_back(term);
  return true;
}

void PartitionKey::append_partition(const std::vector<std::string_view>& values, std::string* out) const {
  for (const Term& term : terms_) {
    std::string_view bytes = values[term.value];
    if (term.function == Function::kItself) {
      const auto size = static_cast<uint32_t>(bytes.size());
      out->append(reinterpret_cast<const char*>(&size), sizeof size);
      out->append(bytes);
      continue;
    }
    if (term.type->is_nullable()) {
      if (bytes[0] != 0) {
        out->push_back('n');
        continue;
      }
      bytes.remove_prefix(1);
    }
    const int64_t seconds = local_seconds(term.type->bare(), bytes);
    int64_t days = floor_div(seconds, kDay), part = days;
    if (term.function == Function::kHour) {
      part = floor_div(seconds, 3600);
    } else if (term.function == Function::kWeek) {
      part = floor_div(days + 3, 7);  // 1970-01-01 was a Thursday
    } else if (term.function != Function::kDay) {
      int year = 0, month = 0, day = 0;
      date_of_days(days, &year, &month, &day);
      part = term.function == Function::kYear      ? year
             : term.function == Function::kQuarter ? year * 4 + (month - 1) / 3
                                                   : year * 12 + month - 1;
    }
    out->push_back('d');
    out->append(reinterpret_cast<const char*>(&part), sizeof part);
  }
}

}  // namespace sluice::clickhouse
