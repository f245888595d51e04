// Properties that hold for any bytes, tried on valid messages with a few bytes changed:
//   - no text crashes the reader
//   - what check() accepts, read() accepts
//   - what read() gives for a text that check() accepts is what RapidJSON finds there
//   - a field's text is valid JSON, or the field is SLUICE_INVALID
//   - whether read() accepts a text does not depend on which fields were declared
// The seed is printed; SLUICE_TEST_SEED repeats it.
#include <catch2/catch.hpp>

#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "data/json_reader.h"
#include "json_fields.h"

namespace sluice::data {
namespace {

using testing::Fixture;
using testing::show;

unsigned seed() {
  if (const char* text = std::getenv("SLUICE_TEST_SEED"); text != nullptr) return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  return std::random_device{}();
}

const std::vector<std::string>& messages() {
  static const std::vector<std::string> texts = {
      R"({"database":"gmall","table":"order_info","type":"update","ts":1693569600,"xid":18446744073709551615,"commit":true,)"
      R"("data":{"id":101,"total":20.00,"note":"a \"b\"\\ \u00e9\ud83d\ude00","tags":["x",null,{"y":[1,-2.5e+3]}]},"old":{"total":1E-2}})",
      R"({"common":{"uid":"9","vc":"v2.1.134"},"page":{"page_id":"home","during_time":13968},"ts":1693569600000,"err":null,"displays":[]})",
      R"( { "a" : { "b" : { "c" : [ [ ] , { } , "" ] } } , "data" : { "id" : "7" } , "a" : 1 , "type" : "\u0061" } )",
      R"({"data":{"id":1},"data":{"id":2,"id":3},"table":"t","type":false})",
      R"({})",
  };
  return texts;
}
const std::vector<std::string>& paths() {
  static const std::vector<std::string> p = {"table", "type", "data", "data.id", "data.note", "data.tags", "a.b.c", "a.b", "page.during_time", "old.total", "missing"};
  return p;
}

std::string mutate(std::string text, std::mt19937& random) {
  static const std::string alphabet = "{}[]:,\"\\ \n\t0123456789-+.eEutrfalsn/\x01\x7f\x80\xbf\xc3\xe2\xed\xf0\xff";
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  for (size_t times = 1 + below(3); times > 0; --times) {
    const size_t at = below(text.size() + 1);
    switch (below(5)) {
      case 0: text.insert(at, 1, alphabet[below(alphabet.size())]); break;
      case 1:
        if (at < text.size()) text[at] = alphabet[below(alphabet.size())];
        break;
      case 2:
        if (at < text.size()) text.erase(at, 1 + below(4));
        break;
      case 3: text.insert(at, text.substr(below(text.size() + 1), below(12))); break;
      default:
        if (at < text.size()) text.resize(at);
        break;
    }
  }
  return text;
}

// What RapidJSON has at a path; of equal names the last one.
const rapidjson::Value* find(const rapidjson::Value& root, const std::string& path) {
  const rapidjson::Value* at = &root;
  for (const std::string& name : split_path(path)) {
    if (!at->IsObject()) return nullptr;
    const rapidjson::Value* next = nullptr;
    for (const auto& m : at->GetObject())
      if (name == std::string(m.name.GetString(), m.name.GetStringLength())) next = &m.value;
    if (next == nullptr) return nullptr;
    at = next;
  }
  return at;
}

constexpr unsigned kFlags = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag;

std::string json(const rapidjson::Value& v) {
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer> writer(out);
  v.Accept(writer);
  return {out.GetString(), out.GetSize()};
}
bool same(const sluice_value& ours, const rapidjson::Value* theirs, bool* number) {
  const auto text = [&] { return std::string(ours.as.str.data, ours.as.str.size); };
  const auto string = [&] { return std::string(theirs->GetString(), theirs->GetStringLength()); };
  *number = false;
  if (theirs == nullptr) return ours.type == SLUICE_ABSENT;
  if (theirs->IsNull()) return ours.type == SLUICE_NULL;
  if (theirs->IsBool()) return ours.type == SLUICE_BOOL && (ours.as.i64 != 0) == theirs->GetBool();
  if (theirs->IsString()) {  // a number, too: its lexeme
    *number = ours.type == SLUICE_NUMBER;
    return (ours.type == SLUICE_STRING || ours.type == SLUICE_NUMBER) && text() == string();
  }
  rapidjson::Document copy;
  copy.Parse<kFlags>(text());
  return !copy.HasParseError() && (theirs->IsObject() ? ours.type == SLUICE_OBJECT : ours.type == SLUICE_ARRAY) && json(copy) == json(*theirs);
}

TEST_CASE("mutations of valid messages") {
  const unsigned start = seed();
  CAPTURE(start);
  std::mt19937 random(start);
  FieldSet all, none, one;
  for (const auto& p : paths()) all.add(p);
  one.add("type");
  size_t valid = 0, structural = 0;
  auto f = std::make_unique<Fixture>();
  for (int round = 0; round < 20000; ++round) {
    if (round % 1000 == 0) f = std::make_unique<Fixture>();
    const std::string& original = messages()[static_cast<size_t>(round) % messages().size()];
    const std::string text = round < 10 ? original : mutate(original, random);
    std::vector<sluice_value> values, ignored;
    const bool is_valid = f->check(text);
    const bool reads = f->read(text, all, &values);
    // Compared without Catch in the loop: a report for each would take longer than the work.
    const auto must = [&](bool holds, const char* what) {
      if (holds) return;
      CAPTURE(round, text, what, f->error);
      FAIL();
    };
    must(f->read(text, none, &ignored) == reads, "acceptance depends on the declared fields (none)");
    must(f->read(text, one, &ignored) == reads, "acceptance depends on the declared fields (one)");
    if (reads) ++structural;
    for (size_t i = 0; reads && i < values.size(); ++i) {
      const sluice_value& v = values[i];
      if (v.type == SLUICE_NUMBER) must(is_json_number({v.as.str.data, v.as.str.size}), "a number that is none");
      if (v.type == SLUICE_INVALID) must(!is_valid, "an invalid field in a valid text");
    }
    if (!is_valid) continue;
    ++valid;
    rapidjson::Document theirs;
    theirs.Parse<kFlags>(text);
    if (theirs.GetParseError() == rapidjson::kParseErrorNumberTooBig) continue;  // it has only so much room for an exponent
    must(!theirs.HasParseError(), "RapidJSON refuses what check() accepts");
    must(reads == theirs.IsObject(), "read() must accept valid objects and nothing else");
    for (size_t i = 0; reads && i < values.size(); ++i) {
      bool number = false;
      if (same(values[i], find(theirs, paths()[i]), &number)) continue;
      CAPTURE(round, text, paths()[i], show(values[i]));
      FAIL("another value than RapidJSON's");
    }
    if (!reads) continue;
    sluice_value map;
    must(f->reader.parse(f->padded(text), &map, *f->arena, &f->error), "parse() must accept valid objects");
    must(map.as.map.size == theirs.MemberCount(), "parse() must give every member");
  }
  // The mutations reach all three kinds.
  CHECK(valid > 1000);
  CHECK(structural > valid);
}

TEST_CASE("check() and RapidJSON agree on what is valid, lone surrogates apart") {
  const unsigned start = seed();
  CAPTURE(start);
  std::mt19937 random(start);
  Fixture f;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = mutate(messages()[static_cast<size_t>(round) % messages().size()], random);
    if (!text.empty() && std::string("\xef\xbb\xbf").find(text[0]) != std::string::npos) continue;  // RapidJSON: any byte of a byte order mark is one
    rapidjson::Document theirs;
    theirs.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag>(text.data(), text.size());
    if (f.check(text) == !theirs.HasParseError() || theirs.GetParseError() == rapidjson::kParseErrorNumberTooBig) continue;
    // The second half of a surrogate pair alone: RapidJSON lets it pass, as broken UTF-8.
    if (f.error.rfind("a wrong escape", 0) == 0 && (text.find("\\ud") != std::string::npos || text.find("\\uD") != std::string::npos)) continue;
    CAPTURE(round, text, f.error, theirs.GetParseError());
    FAIL();
  }
}

}  // namespace
}  // namespace sluice::data
