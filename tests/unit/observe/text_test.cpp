#include <catch2/catch.hpp>

#include "observe/number_text.h"
#include "observe/progress.h"
#include "observe/terminal_text.h"

using namespace sluice::observe;

TEST_CASE("width counts cells, not bytes or characters") {
  CHECK(display_width("") == 0);
  CHECK(display_width("abc") == 3);
  CHECK(display_width("购物车") == 6);
  CHECK(display_width("e\u0301") == 1);  // combining acute
  CHECK(display_width("ｶ") == 1);        // half-width katakana
  CHECK(display_width("Ａ") == 2);       // full-width letter
  CHECK(display_width("\U0001F680") == 2);
  CHECK(display_width("…") == 1);
}

TEST_CASE("text is cut at a character and never wider than asked") {
  CHECK(cut_to_width("operator", 8) == "operator");
  CHECK(cut_to_width("operator", 7) == "operat…");
  CHECK(cut_to_width("购物车", 6) == "购物车");
  CHECK(cut_to_width("购物车", 5) == "购物…");
  CHECK(cut_to_width("购物车", 4) == "购…");  // the second half of a wide character does not fit
  CHECK(cut_to_width("abc", 1) == "…");
  CHECK(cut_to_width("abc", 0) == "");
  CHECK(pad_right("车", 4) == "车  ");
  CHECK(pad_left("车", 4) == "  车");
  CHECK(pad_left("购物车", 4) == " 购…");
}

TEST_CASE("text from outside cannot steer the terminal or break a log line") {
  CHECK(printable("a\x1b[2Jb\r\nc\td") == "a [2Jb  c d");
  CHECK(printable("\xC2\x9B"
                  "2J") == " 2J");        // C1 control sequence introducer
  CHECK(printable("a\u202Eb") == "a b");  // right-to-left override
  CHECK(printable("a\xFFz") == "a\uFFFDz");
  CHECK(printable("\xE8\xBD") == "\uFFFD\uFFFD");            // a character that was cut off
  CHECK(printable("\xC0\xAF") == "\uFFFD\uFFFD");            // overlong '/'
  CHECK(printable("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");  // a surrogate
  CHECK(valid_utf8("line\n\xF0\x9F\x9A\x80\xF5") == "line\n\U0001F680\uFFFD");
}

TEST_CASE("numbers for people") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(18446744073709551615u) == "18,446,744,073,709,551,615");
  CHECK(rate_text(0) == "0/s");
  CHECK(rate_text(0.04) == "0/s");
  CHECK(rate_text(3.21) == "3.2/s");
  CHECK(rate_text(9.96) == "10/s");
  CHECK(rate_text(999.4) == "999/s");
  CHECK(rate_text(999.6) == "1.0k/s");
  CHECK(rate_text(25'340) == "25.3k/s");
  CHECK(rate_text(999'960) == "1.0M/s");
  CHECK(duration_text(-5) == "0ms");
  CHECK(duration_text(350) == "350ms");
  CHECK(duration_text(4'210) == "4.2s");
  CHECK(duration_text(9'960) == "9s");
  CHECK(duration_text(59'999) == "59s");
  CHECK(duration_text(65'000) == "1m05s");
  CHECK(duration_text(7'380'000) == "2h03m");
  CHECK(duration_text(273'600'000) == "3d04h");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1258291) == "1.2 MiB");
  CHECK(bytes_text(1048575) == "1.0 MiB");
  CHECK(plural(1, "row") == "1 row");
  CHECK(plural(1200, "row") == "1,200 rows");
}

TEST_CASE("times are UTC and never lie about what is not a time") {
  CHECK(time_text(1'654'077'600'000) == "2022-06-01 10:00:00");
  CHECK(time_text(-1) == "1969-12-31 23:59:59");
  CHECK(time_text(kNoTime) == "-");
  CHECK(time_text(kEndOfTime) == "end");
  CHECK(time_text(253'402'300'799'999) == "9999-12-31 23:59:59");
  CHECK(time_text(253'402'300'800'000) == "253402300800000 ms");
}
