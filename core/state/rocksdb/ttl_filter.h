// Reclaims expired entries in compactions.
#pragma once
#include <rocksdb/compaction_filter.h>

#include <memory>

#include "state/state_decl.h"
#include "state/ttl.h"

namespace sluice::state {

// Shared by a column family's options and RocksDB's compaction threads; makes one filter per compaction.
class TtlFilterFactory final : public rocksdb::CompactionFilterFactory {
 public:
  TtlFilterFactory(std::shared_ptr<LaneTime> time, int64_t ttl_ms, TtlClock which)
      : time_(std::move(time)), ttl_ms_(ttl_ms), which_(which) {}
  const char* Name() const override { return "sluice.ttl"; }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context& context) override;

 private:
  const std::shared_ptr<LaneTime> time_;
  const int64_t ttl_ms_;
  const TtlClock which_;
};

}  // namespace sluice::state
