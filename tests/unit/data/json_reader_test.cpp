// What is JSON and what is not (RFC 8259), and which values come out of it.
#include "data/json_reader.h"

#include <catch2/catch.hpp>

#include <string>
#include <thread>
#include <vector>

#include "json_fields.h"

namespace sluice::data {
namespace {

using testing::Fixture;
using Texts = std::vector<std::string>;

std::string nested(size_t levels, const std::string& open, const std::string& inner, const std::string& close) {
  std::string text;
  for (size_t i = 0; i < levels; ++i) text += open;
  text += inner;
  for (size_t i = 0; i < levels; ++i) text += close;
  return text;
}

// ---- structure: every message --------------------------------------------------------------------------

TEST_CASE("texts that RFC 8259 accepts") {
  Fixture f;
  const Texts accepted = {
      "{}", "[]", "null", "true", "false", "0", "-0", "\"\"", "\"a\"", " \t\r\n{ } \n", "[1,2,3]", "{\"a\":1}", "[[],{},[{}]]",
      "{\"\":0}", "{\"a\":{\"b\":[1,{\"c\":null}]}}", "-0.00", "1E+2", "1e-2", "0e0", "0.0e+00", "123456789012345678901234567890",
      "18446744073709551615", "1e999999", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0000\"", "\"\\ud83d\\ude00\"", "\"\\uD834\\uDD1E\"",
      "\"\xf0\x9f\x98\x80\"", "\"\x7f\"", "\"\xe2\x80\xa8\"", "{\"a\":1,\"a\":2}", "[\"{\",\"}\",\"[\",\"]\",\",\",\":\"]",
      "[1 , 2\n]", "{\"a\"\n:\t1}",
  };
  for (const auto& text : accepted) {
    INFO(text);
    CHECK(f.check(text));
    INFO(f.error);
  }
}

TEST_CASE("texts that RFC 8259 refuses") {
  Fixture f;
  const Texts refused = {
      "", " ", "{", "}", "[", "]", "{]", "[}", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "{\"a\":1,}", "{,}", "{\"a\"}", "{\"a\":}",
      "{\"a\" 1}", "{\"a\"::1}", "{:1}", "{1:1}", "{a:1}", "{'a':1}", "{\"a\":1 \"b\":2}", "{\"a\":1}}", "[1]]", "{}{}", "[] []", "1 2",
      "nul", "nulll", "True", "tru e", "NaN", "Infinity", "-Infinity", "undefined", "-", "+1", "01", "-01", "1.", ".5", "1.e1", "1e", "1e+",
      "1e1.5", "0x10", "1_000", "--1", "1-", "\"", "\"a", "a\"", "\"a\"b", "\"a\"\"b\"", "'a'", "\"\\\"", "\"\\x41\"", "\"\\a\"", "\"\\u12\"",
      "\"\\u12g4\"", "\"\\U0041\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\ud800\"", "\"\\ud800x\"", "\"\\ud83d\\u0041\"", "\"a\nb\"",
      "\"a\tb\"", std::string("\"a\0b\"", 5), "\"\x1f\"", "\xef\xbb\xbf{}", "{}//c", "/*c*/{}", "[1]#", "{\"a\":1};", std::string("{}\0", 3),
      std::string("[\0]", 3), "\xff", "\"\xff\"", "\"\xc0\xaf\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\x80\"",
      "{\"\xff\":1}", "[1\x0b]", "[1\xc2\xa0]", "{\"a\":1,\"b\"}",
  };
  for (const auto& text : refused) {
    INFO(text);
    f.error.clear();
    CHECK_FALSE(f.check(text));
    CHECK_FALSE(f.error.empty());
  }
}

TEST_CASE("a record is one object") {
  Fixture f;
  CHECK(f.field("{}", "a") == "absent");
  for (const char* text : {"[]", "1", "\"a\"", "null", "", "  ", "{} {}", "{}x", "[{}]"}) {
    INFO(text);
    CHECK(f.field(text, "a").rfind("error: ", 0) == 0);
  }
}

TEST_CASE("a beginning that cannot be seen is named") {
  Fixture f;
  CHECK(f.field("\xEF\xBB\xBF{}", "a") == "error: not a JSON object: it begins with a byte order mark (U+FEFF)");
  CHECK(f.field("\x01{}", "a") == "error: not a JSON object: it begins with the byte 0x01");
  CHECK(f.field("oops", "a") == "error: not a JSON object: it begins with \"oops\"");
}

TEST_CASE("structure counts in what nobody declared, values do not") {
  Fixture f;
  // Broken structure, strings or UTF-8 anywhere: a bad record.
  for (const char* text : {"{\"x\":[1,],\"a\":1}", "{\"x\":{\"y\"},\"a\":1}", "{\"x\":[1,2,\"a\":1}", "{\"a\":1,\"x\":\"\xff\"}",
                           "{\"a\":1,\"x\":\"\n\"}", "{\"a\":1,\"x\":\"open}", "{\"a\":1,}", "{\"a\":1 2}", "{\"x\":}", "{\"a\":1,\"x\"}"}) {
    INFO(text);
    // A trailing comma inside a list that nobody declared is a matter of commas, too.
    CHECK(f.field(text, "a").rfind("error: ", 0) == 0);
  }
  // Values that are no JSON: only a declared field notices, and only that field.
  for (const char* bad : {"nope", "01", "-", "\"\\q\"", "\"\\ud800\"", "1e"}) {
    INFO(bad);
    const std::string text = std::string("{\"a\":1,\"x\":") + bad + ",\"z\":[" + bad + "]}";
    CHECK(f.field(text, "a") == "n:1");
    CHECK(f.fields(text, {"a", "x"}) == Texts{"n:1", "invalid"});
    CHECK_FALSE(f.check(text));
  }
}

TEST_CASE("512 levels of nesting are allowed, whatever was declared") {
  Fixture f;
  const std::string at_limit = "{\"a\":{\"b\":" + nested(510, "[", "1", "]") + "},\"z\":1}";
  const std::string beyond = "{\"a\":{\"b\":" + nested(511, "[", "1", "]") + "},\"z\":1}";
  CHECK(f.check(at_limit));
  CHECK_FALSE(f.check(beyond));
  CHECK(f.error.find("nested deeper than 512") != std::string::npos);
  for (const Texts& declared : {Texts{"z"}, Texts{"a", "z"}, Texts{"a.b", "z"}, Texts{"a.b.c", "z"}}) {
    INFO(declared[0]);
    CHECK(f.fields(at_limit, declared).back() == "n:1");
    CHECK(f.fields(beyond, declared)[0].rfind("error: nested deeper", 0) == 0);
  }
  CHECK(f.parse(at_limit).rfind("{a=", 0) == 0);
  CHECK(f.parse(beyond).rfind("error: nested deeper", 0) == 0);
  CHECK(f.check(nested(512, "[", "", "]")));
  CHECK_FALSE(f.check(nested(513, "[", "", "]")));
  CHECK_FALSE(f.check(nested(10000, "[", "", "]")));
  CHECK_FALSE(f.check(nested(10000, "{\"a\":", "1", "}")));
  CHECK(f.field("{\"a\":" + nested(10000, "[", "1", "]") + "}", "z").rfind("error: nested deeper", 0) == 0);
  // An opening without end is found by depth or by the end, not by the stack.
  CHECK_FALSE(f.check(std::string(1 << 20, '[')));
}

// ---- values --------------------------------------------------------------------------------------------

TEST_CASE("numbers keep their digits") {
  Fixture f;
  for (const char* lexeme : {"0", "-0", "-0.00", "1E+2", "1e-07", "18446744073709551615", "9007199254740993", "20.00", "0.1",
                             "123456789012345678901234567890.000000000000000000001"}) {
    INFO(lexeme);
    CHECK(f.field(std::string("{\"a\": ") + lexeme + " }", "a") == std::string("n:") + lexeme);
    CHECK(f.parse(std::string("[") + lexeme + "]") == std::string("[n:") + lexeme + "]");
  }
}

TEST_CASE("a number of at most 255 characters") {
  Fixture f;
  const std::string longest(255, '7'), longer(256, '7'), huge(400, '7');
  CHECK(f.field("{\"a\":" + longest + "}", "a") == "n:" + longest);
  CHECK(f.check("[" + longest + "]"));
  for (const std::string& n : {longer, huge}) {
    CHECK(f.fields("{\"b\":1,\"a\":" + n + "}", {"b", "a"}) == Texts{"n:1", "invalid"});
    CHECK(f.field("{\"b\":1,\"a\":" + n + "}", "b") == "n:1");
    CHECK_FALSE(f.check("[" + n + "]"));
    CHECK(f.error.find("a number of " + std::to_string(n.size()) + " characters") != std::string::npos);
  }
}

TEST_CASE("strings are unescaped, and their bytes stay otherwise") {
  Fixture f;
  CHECK(f.field("{\"a\":\"x\\\"\\\\\\/\\b\\f\\n\\r\\ty\"}", "a") == "s:x\"\\/\b\f\n\r\ty");
  CHECK(f.field("{\"a\":\"\\u00e9\\u20AC\\ud83d\\ude00\"}", "a") == "s:\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(f.field("{\"a\":\"\\u0000\"}", "a") == std::string("s:\0", 3));
  CHECK(f.field("{\"a\":\"\xc3\xa9\"}", "a") == "s:\xc3\xa9");
  CHECK(f.field("{\"a\":\"\"}", "a") == "s:");
  CHECK(f.field("{\"a\" : \" b \" }", "a") == "s: b ");
}

TEST_CASE("every type of value") {
  Fixture f;
  CHECK(f.fields("{\"n\":null,\"t\":true,\"f\":false,\"o\":{\"k\": [1]},\"l\":[1, {}],\"eo\":{},\"el\":[ ]}",
                 {"n", "t", "f", "o", "l", "eo", "el", "gone"}) ==
        Texts{"null", "b:true", "b:false", "o:{\"k\": [1]}", "a:[1, {}]", "o:{}", "a:[ ]", "absent"});
}

TEST_CASE("paths") {
  Fixture f;
  CHECK(split_path("a") == Texts{"a"});
  CHECK(split_path("data.id") == Texts{"data", "id"});
  CHECK(split_path("a\\.b.c") == Texts{"a.b", "c"});
  CHECK(split_path("a\\\\.b") == Texts{"a\\", "b"});
  CHECK(split_path("a\\x") == Texts{"a\\x"});

  const char* text = "{\"data\":{\"id\":7,\"in\":{\"er\":\"x\"}},\"a.b\":1,\"a\":{\"b\":2},\"id\":9,\"s\":\"t\"}";
  CHECK(f.fields(text, {"data.id", "data.in.er", "a\\.b", "a.b", "id"}) == Texts{"n:7", "s:x", "n:1", "n:2", "n:9"});
  // A path and one that begins with it.
  CHECK(f.fields(text, {"data.in", "data.in.er", "data"}) == Texts{"o:{\"er\":\"x\"}", "s:x", "o:{\"id\":7,\"in\":{\"er\":\"x\"}}"});
  // Through what is no object.
  CHECK(f.fields(text, {"s.x", "id.x", "gone.x", "data.id.x"}) == Texts{"absent", "absent", "absent", "absent"});
  CHECK(f.field("{\"a\":[{\"b\":1}]}", "a.b") == "absent");
  CHECK(f.field("{\"\":{\"\":3}}", ".") == "n:3");

  FieldSet set;
  CHECK(set.add("a.b") == 0);
  CHECK(set.add("c") == 1);
  CHECK(set.add("a.b") == 0);
  CHECK(set.size() == 2);
}

TEST_CASE("of duplicate keys the last one counts") {
  Fixture f;
  CHECK(f.field("{\"a\":1,\"b\":0,\"a\":2}", "a") == "n:2");
  CHECK(f.field("{\"a\":1,\"a\":null}", "a") == "null");
  CHECK(f.field("{\"a\":1,\"a\":nope}", "a") == "invalid");
  CHECK(f.field("{\"a\":nope,\"a\":1}", "a") == "n:1");
  CHECK(f.field("{\"\\u0061\":1,\"a\":2}", "a") == "n:2");
  CHECK(f.field("{\"a\":1,\"\\u0061\":2}", "a") == "n:2");
  // Also of what lies inside them.
  CHECK(f.field("{\"d\":{\"id\":1},\"d\":{\"id\":2}}", "d.id") == "n:2");
  CHECK(f.fields("{\"d\":{\"id\":1,\"x\":{\"y\":1}},\"d\":{\"no\":2}}", {"d.id", "d.x.y", "d.no"}) == Texts{"absent", "absent", "n:2"});
  CHECK(f.fields("{\"d\":{\"id\":1},\"d\":5}", {"d.id", "d"}) == Texts{"absent", "n:5"});
  CHECK(f.field("{\"d\":{\"id\":1},\"d\":[{\"id\":2}]}", "d.id") == "absent");
}

TEST_CASE("keys that spell their characters as escapes") {
  Fixture f;
  CHECK(f.field("{\"\\u0064ata\":1}", "data") == "n:1");
  CHECK(f.field("{\"dat\\u0061\":1}", "data") == "n:1");
  CHECK(f.field("{\"data\\u0000\":1}", "data") == "absent");
  CHECK(f.field("{\"dat\":1,\"dataa\":2}", "data") == "absent");
  CHECK(f.field("{\"d\\/a\":1}", "d/a") == "n:1");
  // Names with a quote or a backslash are compared by what the key means, not by its bytes.
  CHECK(f.field("{\"a\\\"b\":1}", "a\"b") == "n:1");
  CHECK(f.field("{\"a\\\\b\":1}", "a\\b") == "n:1");
  CHECK(f.field("{\"a\\nb\":1}", "a\\nb") == "absent");
  CHECK(f.field("{\"a\\nb\":1}", "a\nb") == "n:1");
  CHECK(f.field("{\"a\":\"\"}", "a\":") == "absent");
  CHECK(f.field("{\"a\":\"\\\"\"}", "a\":\"\\") == "absent");
}

TEST_CASE("a container is taken apart, one level") {
  Fixture f;
  CHECK(f.parse("{\"a\":1,\"b\":\"x\\n\",\"c\":{\"d\":1},\"e\":[1],\"a\":2}") == "{a=n:1,b=s:x\n,c=o:{\"d\":1},e=a:[1],a=n:2}");
  CHECK(f.parse("[1,\"x\",null,[],{}]") == "[n:1,s:x,null,a:[],o:{}]");
  CHECK(f.parse("{}") == "{}");
  CHECK(f.parse("[]") == "[]");
  CHECK(f.parse("{\"\\u0061\":1}") == "{a=n:1}");
  for (const char* text : {"1", "\"a\"", "", "[1,]", "[,]", "{,}", "{\"a\":1,}", "{\"a\"}", "[1}", "{\"a\":1]", "[1]x", "[nope]", "[[nope]]",
                           "{\"a\":{\"b\":\"\\q\"}}", "{\"\\q\":1}", "[", "{"}) {
    INFO(text);
    CHECK(f.parse(text).rfind("error: ", 0) == 0);
  }
}

TEST_CASE("errors say what and where") {
  Fixture f;
  const auto error_of = [&](const char* text) {
    CHECK_FALSE(f.check(text));
    return f.error;
  };
  CHECK(error_of("{\"a\":1,\"b\" 2}") == "unexpected \"2\" at byte 11");
  CHECK(error_of("{\"a\":") == "the text ends too early, at byte 5");
  CHECK(error_of("{\"a\":tru}") == "\"tru\" at byte 5 is no JSON value");
  CHECK(error_of("[\"\\q\"]") == "a wrong escape in the string at byte 1");
  CHECK(error_of("{} {}") == "text behind the end of the value, at byte 3");
  CHECK(error_of("[\"a\xff\"]") == "invalid UTF-8 near byte 3");
  CHECK(error_of("[\"a") == "a string is not closed");
  CHECK(error_of("[\"a\n\"]") == "a control character inside a string");
  CHECK(error_of(" ") == "empty: no JSON text");
  // An error leaves nothing behind for the next text.
  CHECK(f.check("{}"));
  CHECK(f.field("{\"a\":1}", "a") == "n:1");
}

TEST_CASE("a broken row leaves no values of it") {
  Fixture f;
  FieldSet set;
  set.add("a");
  std::vector<sluice_value> values;
  CHECK_FALSE(f.read("{\"a\":1,", set, &values));
  CHECK(testing::show(values[0]) == "absent");
}

TEST_CASE("readers of several threads do not meet") {  // for the thread sanitizer
  const auto work = [] {
    Fixture f;
    for (int i = 0; i < 200; ++i) {
      if (!f.check("{\"a\":\"\\u00e9\\ud83d\\ude00\"}")) throw std::logic_error(f.error);
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST_CASE("is_json_number") {
  for (const char* t : {"0", "-0", "10", "1.5", "1e5", "1E-5", "-0.0e+0"}) CHECK(is_json_number(t));
  for (const char* t : {"", "-", "01", "1.", ".1", "1e", "+1", "1 ", " 1", "0x1", "1e+", "NaN"}) CHECK_FALSE(is_json_number(t));
}

}  // namespace
}  // namespace sluice::data
