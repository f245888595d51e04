#include "charset.h"

#include <iconv.h>

#include <array>
#include <mutex>
#include <vector>

namespace sluice_mysql {
namespace {

constexpr uint32_t kNone = 0xFFFFFFFF;

struct IconvName {
  std::string_view charset;
  const char* iconv;
  bool multi_byte;
};

// Compared with the servers character by character (MariaDB 10.11; gb18030: MySQL 8.0.31); kFixes has the differences.
constexpr IconvName kNames[] = {
    {"latin1", "CP1252", false},          {"latin2", "ISO-8859-2", false},  {"latin5", "ISO-8859-9", false},
    {"latin7", "ISO-8859-13", false},     {"greek", "ISO-8859-7", false},   {"hebrew", "ISO-8859-8", false},
    {"cp1250", "CP1250", false},          {"cp1251", "CP1251", false},      {"cp1256", "CP1256", false},
    {"cp1257", "CP1257", false},          {"cp850", "CP850", false},        {"cp852", "CP852", false},
    {"cp866", "CP866", false},            {"koi8r", "KOI8-R", false},       {"koi8u", "KOI8-U", false},
    {"tis620", "TIS-620", false},         {"macroman", "MACINTOSH", false}, {"macce", "MAC-CENTRALEUROPE", false},
    {"armscii8", "ARMSCII-8", false},     {"dec8", "DEC-MCS", false},       {"hp8", "HP-ROMAN8", false},
    {"swe7", "SEN_850200_B", false},      {"gbk", "GBK", true},             {"gb2312", "EUC-CN", true},
    {"big5", "BIG5", true},               {"sjis", "SHIFT_JIS", true},      {"cp932", "CP932", true},
    {"ujis", "EUC-JP", true},             {"eucjpms", "EUC-JP-MS", true},   {"euckr", "UHC", true},
    {"gb18030", "GB18030", true},
};

struct Fix {
  std::string_view charset;
  uint16_t first, last;  // bytes
  uint32_t code_point;   // of the first
};

constexpr Fix kFixes[] = {
    {"latin1", 0x81, 0x81, 0x81},     {"latin1", 0x8d, 0x8d, 0x8d},     {"latin1", 0x8f, 0x90, 0x8f},
    {"latin1", 0x9d, 0x9d, 0x9d},     {"greek", 0xa1, 0xa1, 0x2bd},     {"greek", 0xa2, 0xa2, 0x2bc},
    {"greek", 0xa4, 0xa4, kNone},     {"greek", 0xa5, 0xa5, kNone},     {"greek", 0xaa, 0xaa, kNone},
    {"cp1256", 0x8a, 0x8a, kNone},    {"cp1256", 0x8f, 0x8f, kNone},    {"cp1256", 0x98, 0x98, kNone},
    {"cp1256", 0x9a, 0x9a, kNone},    {"cp1256", 0x9f, 0x9f, kNone},    {"cp1256", 0xaa, 0xaa, kNone},
    {"cp1256", 0xc0, 0xc0, kNone},    {"cp1256", 0xff, 0xff, kNone},    {"gbk", 0x80, 0x80, kNone},
    {"swe7", 0x7f, 0x7f, kNone},
    {"hebrew", 0xaf, 0xaf, 0x203e},   {"cp866", 0xfc, 0xfc, 0x207f},    {"cp866", 0xfd, 0xfd, 0xb2},
    {"tis620", 0xa0, 0xa0, 0xfffd},   {"tis620", 0xdb, 0xdb, 0xfffd},   {"tis620", 0xdc, 0xdc, 0xfffd},
    {"tis620", 0xdd, 0xdd, 0xfffd},   {"tis620", 0xde, 0xde, 0xfffd},   {"tis620", 0xfc, 0xfc, 0xfffd},
    {"tis620", 0xfd, 0xfd, 0xfffd},   {"tis620", 0xfe, 0xfe, 0xfffd},   {"tis620", 0xff, 0xff, 0xfffd},
    {"koi8u", 0x95, 0x95, 0x2022},    {"tis620", 0x80, 0x9f, 0x80},     {"macroman", 0xc6, 0xc6, 0x2206},
    {"macroman", 0xf0, 0xf0, 0xf8ff}, {"armscii8", 0xa1, 0xa1, 0x2741}, {"armscii8", 0xa2, 0xa2, 0xa7},
    {"armscii8", 0xad, 0xad, 0x55f},  {"armscii8", 0xfe, 0xfe, 0x2019}, {"armscii8", 0xff, 0xff, 0x27},
    {"dec8", 0xa0, 0xa0, 0xa0},       {"swe7", 0x24, 0x24, 0x24},       {"swe7", 0x40, 0x40, 0xc9},
    {"swe7", 0x5e, 0x5e, 0xdc},       {"swe7", 0x60, 0x60, 0xe9},       {"swe7", 0x7e, 0x7e, 0xfc},
    {"sjis", 0x5c, 0x5c, 0x5c},       {"sjis", 0x7e, 0x7e, 0x7e},       {"sjis", 0x815f, 0x815f, 0x5c},
    {"ujis", 0xa1c0, 0xa1c0, 0x5c},
    {"big5", 0xa145, 0xa145, 0x2022}, {"big5", 0xa14e, 0xa14e, 0xff64}, {"big5", 0xa15a, 0xa15a, 0xfffd},
    {"big5", 0xa1c2, 0xa1c2, 0x203e}, {"big5", 0xa1c3, 0xa1c3, 0xfffd}, {"big5", 0xa1c5, 0xa1c5, 0xfffd},
    {"big5", 0xa1e3, 0xa1e3, 0x223c}, {"big5", 0xa1f2, 0xa1f2, 0x2641}, {"big5", 0xa1f3, 0xa1f3, 0x2609},
    {"big5", 0xa1fe, 0xa1fe, 0xfffd}, {"big5", 0xa240, 0xa240, 0xfffd}, {"big5", 0xa241, 0xa241, 0xff0f},
    {"big5", 0xa242, 0xa242, 0xff3c}, {"big5", 0xa244, 0xa244, 0xa5},   {"big5", 0xa246, 0xa247, 0xa2},
    {"big5", 0xa2cc, 0xa2cc, 0xfffd}, {"big5", 0xa2ce, 0xa2ce, 0xfffd},
    {"gb18030", 0xa6d9, 0xa6df, 0xe78d}, {"gb18030", 0xa6ec, 0xa6ed, 0xe794}, {"gb18030", 0xa6f3, 0xa6f3, 0xe796},
    {"gb18030", 0xfe51, 0xfe53, 0xe816}, {"gb18030", 0xfe59, 0xfe59, 0xe81e}, {"gb18030", 0xfe61, 0xfe61, 0xe826},
    {"gb18030", 0xfe66, 0xfe67, 0xe82b}, {"gb18030", 0xfe6c, 0xfe6d, 0xe831}, {"gb18030", 0xfe76, 0xfe76, 0xe83b},
    {"gb18030", 0xfe7e, 0xfe7e, 0xe843}, {"gb18030", 0xfe90, 0xfe91, 0xe854}, {"gb18030", 0xfea0, 0xfea0, 0xe864},
};

struct Moved {
  uint32_t first, last, to;
};

// Big5's ETEN extension (0xc6a1..0xc7fc): glibc puts it into the private use area.
constexpr Moved kBig5Eten[] = {
    {0xf6b1, 0xf6b1, 0x30fe}, {0xf6b2, 0xf6b3, 0x309d}, {0xf6b4, 0xf6b4, 0x3005}, {0xf6b5, 0xf707, 0x3041},
    {0xf708, 0xf75d, 0x30a1}, {0xf75e, 0xf75f, 0x414},  {0xf760, 0xf760, 0x401},  {0xf761, 0xf767, 0x416},
    {0xf768, 0xf774, 0x423},  {0xf775, 0xf77a, 0x430},  {0xf77b, 0xf77b, 0x451},  {0xf77c, 0xf795, 0x436},
    {0xf796, 0xf79f, 0x2460}, {0xf7a0, 0xf7a9, 0x2474},
};

void append_utf8(uint32_t c, std::string* out) {
  if (c < 0x80) {
    *out += static_cast<char>(c);
  } else if (c < 0x800) {
    *out += static_cast<char>(0xC0 | c >> 6);
    *out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    *out += static_cast<char>(0xE0 | c >> 12);
    *out += static_cast<char>(0x80 | (c >> 6 & 63));
    *out += static_cast<char>(0x80 | (c & 63));
  } else {
    *out += static_cast<char>(0xF0 | c >> 18);
    *out += static_cast<char>(0x80 | (c >> 12 & 63));
    *out += static_cast<char>(0x80 | (c >> 6 & 63));
    *out += static_cast<char>(0x80 | (c & 63));
  }
}

// Exactly one character in `size` bytes → its code point.
uint32_t one_character(iconv_t handle, const uint8_t* bytes, size_t size) {
  uint8_t result[16];
  char* in = reinterpret_cast<char*>(const_cast<uint8_t*>(bytes));
  char* out = reinterpret_cast<char*>(result);
  size_t in_left = size, out_left = sizeof result;
  iconv(handle, nullptr, nullptr, nullptr, nullptr);
  if (iconv(handle, &in, &in_left, &out, &out_left) != 0 || in_left != 0 || sizeof result - out_left != 4) return kNone;
  return static_cast<uint32_t>(result[0]) << 24 | result[1] << 16 | result[2] << 8 | result[3];
}

uint16_t unit_at(std::string_view s, size_t i, bool little) {
  const auto a = static_cast<uint8_t>(s[i]), b = static_cast<uint8_t>(s[i + 1]);
  return static_cast<uint16_t>(little ? b << 8 | a : a << 8 | b);
}

void convert_utf16(std::string_view s, bool little, std::string* out) {
  size_t i = 0;
  while (i + 2 <= s.size()) {
    const uint32_t high = unit_at(s, i, little);
    i += 2;
    if (high < 0xD800 || high > 0xDFFF) {
      append_utf8(high, out);
      continue;
    }
    const uint32_t low = high < 0xDC00 && i + 2 <= s.size() ? unit_at(s, i, little) : 0;
    if (low >= 0xDC00 && low <= 0xDFFF) {
      append_utf8(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), out);
      i += 2;
    } else {
      *out += '?';
    }
  }
  if (i < s.size()) *out += '?';
}

void convert_utf32(std::string_view s, std::string* out) {
  size_t i = 0;
  for (; i + 4 <= s.size(); i += 4) {
    const uint32_t c = static_cast<uint32_t>(unit_at(s, i, false)) << 16 | unit_at(s, i + 2, false);
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
      *out += '?';
    } else {
      append_utf8(c, out);
    }
  }
  if (i < s.size()) *out += '?';
}

}  // namespace

struct CharsetConverter::Table {
  std::array<uint32_t, 256> single{};
  std::vector<uint32_t> pairs;                           // by lead << 8 | trail; empty: single bytes only
  bool four_byte_ranges = false;                         // GB18030
  iconv_t handle = reinterpret_cast<iconv_t>(-1);        // for those; used under the lock
  mutable std::mutex lock;

  ~Table() {
    if (handle != reinterpret_cast<iconv_t>(-1)) iconv_close(handle);
  }
};

std::shared_ptr<const CharsetConverter::Table> CharsetConverter::make_table(std::string_view charset,
                                                                            const char* iconv_name, bool multi_byte) {
  auto table = std::make_shared<Table>();
  table->handle = iconv_open("UTF-32BE", iconv_name);
  if (table->handle == reinterpret_cast<iconv_t>(-1)) return nullptr;
  for (unsigned b = 0; b < 256; ++b) {
    const uint8_t byte[] = {static_cast<uint8_t>(b)};
    table->single[b] = one_character(table->handle, byte, 1);
  }
  if (multi_byte) {
    // User-defined characters of EUC-JP are where its Microsoft variant has them.
    const iconv_t second = charset == "ujis" ? iconv_open("UTF-32BE", "EUC-JP-MS") : reinterpret_cast<iconv_t>(-1);
    table->pairs.assign(65536, kNone);
    for (unsigned lead = 0x81; lead < 0xFF; ++lead) {
      if (table->single[lead] != kNone) continue;
      for (unsigned trail = 0x40; trail < 0xFF; ++trail) {
        const uint8_t pair[] = {static_cast<uint8_t>(lead), static_cast<uint8_t>(trail)};
        uint32_t c = one_character(table->handle, pair, 2);
        if (c == kNone && second != reinterpret_cast<iconv_t>(-1)) c = one_character(second, pair, 2);
        if (charset == "big5") {
          for (const Moved& m : kBig5Eten) {
            if (c >= m.first && c <= m.last) {
              c = m.to + (c - m.first);
              break;
            }
          }
        }
        table->pairs[lead << 8 | trail] = c;
      }
    }
    if (second != reinterpret_cast<iconv_t>(-1)) iconv_close(second);
  }
  for (const Fix& fix : kFixes) {
    if (fix.charset != charset) continue;
    for (uint32_t at = fix.first; at <= fix.last; ++at) {
      (at < 256 ? table->single[at] : table->pairs[at]) = fix.code_point + (at - fix.first);
    }
  }
  table->four_byte_ranges = charset == "gb18030";
  return table;
}

sluice::Status CharsetConverter::open(std::string_view charset, CharsetConverter* out) {
  *out = CharsetConverter();
  if (charset == "utf8mb4" || charset == "utf8mb3" || charset == "utf8" || charset == "ascii") return sluice::Status::ok();
  if (charset == "ucs2" || charset == "utf16") {
    out->kind_ = Kind::kUtf16;
  } else if (charset == "utf16le") {
    out->kind_ = Kind::kUtf16Le;
  } else if (charset == "utf32") {
    out->kind_ = Kind::kUtf32;
  } else {
    static std::mutex lock;
    static std::map<std::string, std::shared_ptr<const Table>, std::less<>> tables;
    const std::lock_guard<std::mutex> guard(lock);
    auto found = tables.find(charset);
    if (found == tables.end()) {
      std::shared_ptr<const Table> made;
      for (const IconvName& name : kNames) {
        if (name.charset == charset) made = make_table(charset, name.iconv, name.multi_byte);
      }
      if (!made) {
        return sluice::Status::bad_record("character set '" + std::string(charset) +
                                          "' is not supported; convert the column to utf8mb4");
      }
      found = tables.emplace(charset, std::move(made)).first;
    }
    out->kind_ = Kind::kTable;
    out->table_ = found->second;
  }
  return sluice::Status::ok();
}

void CharsetConverter::convert(std::string_view s, std::string* out) const {
  switch (kind_) {
    case Kind::kIdentity:
      out->append(s);
      return;
    case Kind::kUtf16:
    case Kind::kUtf16Le:
      return convert_utf16(s, kind_ == Kind::kUtf16Le, out);
    case Kind::kUtf32:
      return convert_utf32(s, out);
    case Kind::kTable:
      break;
  }
  const Table& t = *table_;
  for (size_t i = 0; i < s.size();) {
    const auto lead = static_cast<uint8_t>(s[i]);
    if (t.single[lead] != kNone) {
      append_utf8(t.single[lead], out);
      ++i;
      continue;
    }
    if (!t.pairs.empty() && i + 1 < s.size()) {
      const uint32_t c = t.pairs[lead << 8 | static_cast<uint8_t>(s[i + 1])];
      if (c != kNone) {
        append_utf8(c, out);
        i += 2;
        continue;
      }
      const size_t length = t.four_byte_ranges ? 4 : lead == 0x8F ? 3 : 0;
      if (length != 0 && i + length <= s.size()) {
        const std::lock_guard<std::mutex> guard(t.lock);
        const uint32_t longer = one_character(t.handle, reinterpret_cast<const uint8_t*>(s.data()) + i, length);
        if (longer != kNone) {
          append_utf8(longer, out);
          i += length;
          continue;
        }
      }
    }
    *out += '?';
    ++i;
  }
}

// Ids that have meant the same since MySQL 5.5 and in all MariaDB versions.
Collations::Collations() {
  struct Known {
    uint32_t id;
    std::string_view charset;
  };
  static constexpr Known kKnown[] = {
      {1, "big5"},      {3, "dec8"},     {4, "cp850"},    {6, "hp8"},      {7, "koi8r"},    {8, "latin1"},
      {9, "latin2"},    {10, "swe7"},    {11, "ascii"},   {12, "ujis"},    {13, "sjis"},    {14, "cp1251"},
      {16, "hebrew"},   {18, "tis620"},  {19, "euckr"},   {22, "koi8u"},   {24, "gb2312"},  {25, "greek"},
      {26, "cp1250"},   {28, "gbk"},     {30, "latin5"},  {32, "armscii8"}, {33, "utf8mb3"}, {35, "ucs2"},
      {36, "cp866"},    {37, "keybcs2"}, {38, "macce"},   {39, "macroman"}, {40, "cp852"},   {41, "latin7"},
      {45, "utf8mb4"},  {46, "utf8mb4"}, {51, "cp1251"},  {54, "utf16"},   {55, "utf16"},   {56, "utf16le"},
      {57, "cp1256"},   {59, "cp1257"},  {60, "utf32"},   {61, "utf32"},   {62, "utf16le"}, {63, "binary"},
      {5, "latin1"},    {15, "latin1"},  {31, "latin1"},  {47, "latin1"},  {48, "latin1"},  {49, "latin1"},
      {94, "latin1"},   {65, "ascii"},   {83, "utf8mb3"}, {84, "big5"},    {87, "gbk"},     {90, "ucs2"},
      {92, "geostd8"},  {93, "geostd8"}, {95, "cp932"},   {96, "cp932"},   {97, "eucjpms"}, {98, "eucjpms"},
      {248, "gb18030"}, {249, "gb18030"}, {250, "gb18030"}, {255, "utf8mb4"},
  };
  for (const Known& k : kKnown) charsets_.emplace(k.id, k.charset);
  for (uint32_t id = 192; id <= 215; ++id) charsets_.emplace(id, "utf8mb3");
  for (uint32_t id = 224; id <= 247; ++id) charsets_.emplace(id, "utf8mb4");
}

std::string_view Collations::charset(uint32_t id) const {
  const auto found = charsets_.find(id);
  return found == charsets_.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace sluice_mysql
