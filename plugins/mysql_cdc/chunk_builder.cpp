#include "chunk_builder.h"

namespace sluice_mysql {

void ChunkBuilder::add(const Change& change, const std::string& position, int64_t time, bool with_next) {
  close_row(false);
  RowChunk::Row row;
  row.key = chunk_.bytes.size();
  chunk_.bytes += change.key;
  row.position = chunk_.bytes.size();
  chunk_.bytes += position;
  row.raw = chunk_.bytes.size();
  chunk_.bytes += change.body;
  row.end = chunk_.bytes.size();
  row.time = time;
  row.change = static_cast<uint8_t>(change.type);
  row.with_next = with_next;
  if (!reason_.empty()) {
    chunk_.reasons.push_back(reason_);
    row.refused = static_cast<uint32_t>(chunk_.reasons.size());
  }
  chunk_.rows.push_back(row);
}

void ChunkBuilder::add_open(const Change& change, const std::string& position, int64_t time, uint64_t transaction,
                            uint64_t offset) {
  add(change, position, time, false);
  if (!maxwell_) return;
  open_ = true;
  transaction_ = transaction;
  offset_ = offset;
}

void ChunkBuilder::close_row(bool last) {
  if (!open_) return;
  open_ = false;
  writer_->end_maxwell(&chunk_.bytes, transaction_, offset_, last);
  chunk_.rows.back().end = chunk_.bytes.size();
}

RowChunk ChunkBuilder::take(RowChunk&& spare) {
  RowChunk out = std::move(chunk_);
  chunk_ = std::move(spare);
  if (!open_) return out;
  RowChunk::Row row = out.rows.back();
  out.rows.pop_back();
  const size_t begin = row.key;
  chunk_.bytes.assign(out.bytes, begin, std::string::npos);
  out.bytes.resize(begin);
  row.key -= begin;
  row.position -= begin;
  row.raw -= begin;
  row.end -= begin;
  if (row.refused != 0) {
    chunk_.reasons.push_back(std::move(out.reasons.back()));
    out.reasons.pop_back();
    row.refused = static_cast<uint32_t>(chunk_.reasons.size());
  }
  chunk_.rows.push_back(row);
  return out;
}

}  // namespace sluice_mysql
