#include "gtid_set.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace sluice_mysql {
namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  T out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return out;
}

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') out.push_back(c);
  return out;
}

std::string_view take_until(std::string_view* text, char c) {
  const size_t at = text->find(c);
  const std::string_view out = text->substr(0, at);
  *text = at == std::string_view::npos ? std::string_view() : text->substr(at + 1);
  return out;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

void append_u64(uint64_t v, std::string* out) {
  for (int i = 0; i < 8; ++i) out->push_back(static_cast<char>(v >> (8 * i) & 0xFF));
}

}  // namespace

std::optional<GtidSet> GtidSet::parse(bool mariadb, std::string_view text) {
  GtidSet out(mariadb);
  const std::string plain = without_blanks(text);
  std::string_view rest = plain;
  while (!rest.empty()) {
    const std::string_view one = take_until(&rest, ',');
    if (!out.add(one)) return std::nullopt;
  }
  return out;
}

bool GtidSet::add(std::string_view gtid) {
  if (mariadb_) {
    std::string_view rest = gtid;
    const auto domain = number<uint32_t>(take_until(&rest, '-'));
    const auto server = number<uint32_t>(take_until(&rest, '-'));
    if (!domain || !server || !number<uint64_t>(rest)) return false;
    domains_[*domain] = gtid;
    return true;
  }
  std::string_view rest = gtid;
  const std::string uuid = lower(take_until(&rest, ':'));
  if (!is_uuid(uuid) || rest.empty()) return false;
  Intervals* intervals = &servers_[uuid];
  while (!rest.empty()) {
    std::string_view one = take_until(&rest, ':');
    const auto first = number<uint64_t>(take_until(&one, '-'));
    const auto last = one.empty() ? first : number<uint64_t>(one);
    if (!first || !last || *first == 0 || *last < *first || *last == UINT64_MAX) return false;
    insert(intervals, *first, *last + 1);
  }
  return true;
}

void GtidSet::add_all(const GtidSet& later) {
  for (const auto& [domain, gtid] : later.domains_) domains_[domain] = gtid;
}

bool GtidSet::contains(std::string_view gtid) const {
  if (mariadb_) {
    std::string_view rest = gtid;
    const auto domain = number<uint32_t>(take_until(&rest, '-'));
    if (!domain) return false;
    const auto it = domains_.find(*domain);
    if (it == domains_.end()) return false;
    std::string_view ours = it->second;
    take_until(&ours, '-');
    if (take_until(&ours, '-') != take_until(&rest, '-')) return false;
    const auto a = number<uint64_t>(rest), b = number<uint64_t>(ours);
    return a && b && *a <= *b;
  }
  std::string_view rest = gtid;
  const auto it = servers_.find(lower(take_until(&rest, ':')));
  const auto n = number<uint64_t>(rest);
  return it != servers_.end() && n && std::any_of(it->second.begin(), it->second.end(), [&](const auto& i) {
           return i.first <= *n && *n < i.second;
         });
}

void GtidSet::insert(Intervals* in, uint64_t begin, uint64_t end) {
  if (!in->empty() && in->back().second == begin) {  // the usual one: the next transaction
    in->back().second = end;
    return;
  }
  auto first = std::find_if(in->begin(), in->end(), [&](const auto& i) { return i.second >= begin; });
  auto last = first;
  for (; last != in->end() && last->first <= end; ++last) {
    begin = std::min(begin, last->first);
    end = std::max(end, last->second);
  }
  in->insert(in->erase(first, last), {begin, end});
}

std::string GtidSet::text() const {
  std::string out;
  for (const auto& [domain, gtid] : domains_) out.append(out.empty() ? "" : ",").append(gtid);
  for (const auto& [uuid, intervals] : servers_) {
    out.append(out.empty() ? "" : ",").append(uuid);
    for (const auto& [begin, end] : intervals) {
      out.append(":").append(std::to_string(begin));
      if (end - 1 != begin) out.append("-").append(std::to_string(end - 1));
    }
  }
  return out;
}

std::string GtidSet::encoded() const {
  std::string out;
  append_u64(servers_.size(), &out);
  for (const auto& [uuid, intervals] : servers_) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    std::string hex;
    for (const char c : uuid)
      if (c != '-') hex.push_back(c);
    for (size_t i = 0; i < 32; i += 2) out.push_back(static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1])));
    append_u64(intervals.size(), &out);
    for (const auto& [begin, end] : intervals) {
      append_u64(begin, &out);
      append_u64(end, &out);
    }
  }
  return out;
}

bool GtidSet::continues(const GtidSet& there) const {
  bool same = false;
  for (const auto& [domain, gtid] : there.domains_) {
    const auto ours = domains_.find(domain);
    if (ours == domains_.end()) continue;
    if (ours->second == gtid) {
      same = true;
      continue;
    }
    const auto number = [](const std::string& g) { return std::strtoull(g.c_str() + g.rfind('-') + 1, nullptr, 10); };
    if (number(gtid) > number(ours->second)) return false;
  }
  return same;
}

bool GtidSet::has_all_last(const GtidSet& other) const {
  return std::all_of(other.domains_.begin(), other.domains_.end(), [&](const auto& d) {
    const auto ours = domains_.find(d.first);
    return ours != domains_.end() && ours->second == d.second;
  });
}

std::vector<uint32_t> GtidSet::domains() const {
  std::vector<uint32_t> out;
  for (const auto& [domain, gtid] : domains_) out.push_back(domain);
  return out;
}

}  // namespace sluice_mysql
