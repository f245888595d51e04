// What a fuzzer drives: binlog bytes through all of the decoder.
#include <cstring>
#include <map>
#include <string>

#include "binlog_event.h"
#include "change_writer.h"
#include "statement.h"

namespace sluice_mysql {
namespace {

class AnyBytes {
 public:
  void file(const uint8_t* data, size_t size) {
    EventParser parser;
    parser.set_max_event_bytes(1 << 20);
    parser.set_position("any", 4);
    size_t at = size >= 4 && std::memcmp(data, "\xfe" "bin", 4) == 0 ? 4 : 0;
    while (size - at >= EventHeader::kBytes) {
      const uint8_t* p = data + at;
      size_t length = static_cast<size_t>(p[9]) | static_cast<size_t>(p[10]) << 8 | static_cast<size_t>(p[11]) << 16 |
                      static_cast<size_t>(p[12]) << 24;
      if (length < EventHeader::kBytes || length > size - at) length = size - at;
      Event event;
      if (!parser.parse(p, length, &event).is_ok()) return;
      take(event);
      at += length;
    }
  }

 private:
  void take(const Event& event) {
    if (event.kind == EventKind::kQuery) read_statement(event.text, event.database, event.sql_mode);
    if (event.kind != EventKind::kRows) return;
    for (const Format format : {Format::kDebezium, Format::kMaxwell}) rows(event.rows, format);
  }

  void rows(const RowsEvent& event, Format format) {
    ValueStyle style;
    style.format = format;
    style.decimals = format == Format::kDebezium ? Decimals::kBase64 : Decimals::kNumber;
    TableCodec codec;
    RowReader reader;
    if (!TableCodec::for_stream(*event.table, nullptr, collations_, style, &codec).is_ok()) return;
    if (!reader.open(event).is_ok()) return;
    ChangeWriter writer(style, "any");
    bool found = true;
    while (reader.next(&found).is_ok() && found) {
      ChangePlace place;
      place.row = reader.index();
      writer.set_unreadable(Unreadable::kRefused);
      if (!writer.row(codec, reader, place).is_ok()) {
        writer.set_unreadable(Unreadable::kHex);
        if (!writer.row(codec, reader, place).is_ok()) continue;
      }
      for (size_t i = 0; i < writer.size(); ++i) writer.end_maxwell(&writer[i].body, 1, 0, true);
    }
  }

  Collations collations_;
};

}  // namespace

int decode_any_bytes(const uint8_t* data, size_t size) {
  AnyBytes().file(data, size);
  return 0;
}

}  // namespace sluice_mysql
