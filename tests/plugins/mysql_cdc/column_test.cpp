#include "decode/column.h"

#include <catch2/catch.hpp>

#include "decode/charset.h"

using namespace sluice_mysql;

namespace {

Column made(std::string_view data_type, std::string_view column_type, std::string_view extra = "", std::string_view nullable = "YES") {
  Column c;
  const sluice::Status status = make_column({"c", data_type, column_type, "", "", nullable, extra}, &c);
  INFO(status.message());
  REQUIRE(status.is_ok());
  return c;
}

std::string refused(std::string_view data_type, std::string_view column_type) {
  Column c;
  const sluice::Status status = make_column({"c", data_type, column_type, "", "", "YES", ""}, &c);
  CHECK(status.code() == SLUICE_BAD_RECORD);
  return status.message();
}

std::string utf8(std::string_view charset, std::string_view bytes) {
  CharsetConverter c;
  REQUIRE(CharsetConverter::open(charset, &c).is_ok());
  std::string out;
  c.convert(bytes, &out);
  return out;
}

}  // namespace

TEST_CASE("column types as information_schema writes them") {
  CHECK(made("bigint", "bigint(20) unsigned zerofill").is_unsigned);
  CHECK(made("bigint", "bigint unsigned").integer_bytes == 8);
  CHECK_FALSE(made("int", "int(11)").is_unsigned);
  const Column d = made("decimal", "decimal(20,4) unsigned");
  CHECK(d.precision == 20);
  CHECK(d.scale == 4);
  CHECK(made("DECIMAL", "decimal(10,0)").kind == ColumnKind::kDecimal);
  CHECK(made("timestamp", "timestamp(6)").fraction_digits == 6);
  CHECK(made("time", "time").fraction_digits == 0);
  CHECK(made("float", "float(7,2)").fixed_point);
  CHECK_FALSE(made("float", "float").fixed_point);
  CHECK(made("bit", "bit(10)").length == 10);
  CHECK(made("varchar", "varchar(200) /*M!100301 COMPRESSED*/").compressed);
  CHECK(made("int", "int(11)", "INVISIBLE").invisible);
  CHECK(made("int", "int", "VIRTUAL GENERATED INVISIBLE").generated);
  CHECK(made("int", "int", "STORED GENERATED").generated);
  CHECK_FALSE(made("timestamp", "timestamp", "DEFAULT_GENERATED on update CURRENT_TIMESTAMP").generated);
  CHECK_FALSE(made("int", "int(11)", "", "NO").nullable);
  CHECK(made("geomcollection", "geomcollection").kind == ColumnKind::kGeometry);
  CHECK(made("enum", "enum('it''s','a,b','back\\\\slash','x'')','')").labels ==
        std::vector<std::string>{"it's", "a,b", "back\\slash", "x')", ""});
  CHECK(made("set", "set('unsigned')").labels == std::vector<std::string>{"unsigned"});
  CHECK_FALSE(made("set", "set(' unsigned ')").is_unsigned);
}

TEST_CASE("column types that cannot be read are refused by name") {
  CHECK(refused("vector", "vector(3)") == "column 'c' of type 'vector(3)': this type is not supported");
  CHECK(refused("decimal", "decimal(66,1)") == "column 'c' of type 'decimal(66,1)': its precision cannot be read");
  CHECK(refused("decimal", "decimal(x)") == "column 'c' of type 'decimal(x)': its length cannot be read");
  CHECK(refused("enum", "enum('a") == "column 'c' of type 'enum('a': its labels cannot be read");
  CHECK(refused("set", "set('a' 'b')") == "column 'c' of type 'set('a' 'b')': its labels cannot be read");
  CHECK(refused("bit", "bit(65)") == "column 'c' of type 'bit(65)': its length cannot be read");
  CHECK(refused("datetime", "datetime(7)") == "column 'c' of type 'datetime(7)': its fraction cannot be read");
}

TEST_CASE("the SELECT list keeps all digits of FLOAT") {
  Table t;
  t.columns = {made("int", "int"), made("float", "float"), made("double", "double"), made("double", "double(10,2)")};
  t.columns[0].name = "odd ` name";
  CHECK(select_list(t) == "`odd `` name`,`c`*1e0,`c`,`c`*1e0");
}

TEST_CASE("character sets: what is no character becomes a question mark") {
  CHECK(utf8("utf8mb4", "\xC3\xA9") == "é");
  CHECK(utf8("latin1", "caf\xE9 \x80\x81") == "café €\xC2\x81");
  CHECK(utf8("gbk", "\xD6\xD0\xCE\xC4\xFF\x81") == "中文??");
  CHECK(utf8("gbk", "a\xD6") == "a?");
  CHECK(utf8("sjis", "\\\x93\xFA\x81\x5F") == "\\日\\");
  CHECK(utf8("ujis", "\xC6\xFC\x8F\xB0\xA1\x8E\xB1") == "日丂ｱ");
  CHECK(utf8("gb18030", "\x95\x32\x82\x36") == "𠀀");
  CHECK(utf8("ucs2", std::string_view("\x00" "a\x4E\x2D\xD8", 5)) == "a中?");
  CHECK(utf8("utf16", std::string_view("\xD8\x3D\xDE\x00\xDE\x00\x4E\x2D", 8)) == "😀?中");
  CHECK(utf8("utf16le", std::string_view("\x3D\xD8\x00\xDE", 4)) == "😀");
  CHECK(utf8("utf32", std::string_view("\x00\x01\xF6\x00\x00\x11\x00\x00", 8)) == "😀?");
  CHECK(utf8("swe7", "$@") == "$É");
  CharsetConverter c;
  CHECK(CharsetConverter::open("keybcs2", &c).message() == "character set 'keybcs2' is not supported; convert the column to utf8mb4");
  Collations collations;
  CHECK(collations.charset(255) == "utf8mb4");
  CHECK(collations.charset(2048).empty());
  collations.add(2048, "utf8mb3");
  CHECK(collations.charset(2048) == "utf8mb3");
}
