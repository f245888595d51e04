#pragma once
#include <rocksdb/cache.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <memory>

#include "state/hot_cache_budget.h"
#include "state/lane_store.h"

namespace sluice::state {

struct StateResources::Impl {
  const base::Clock* clock = nullptr;
  base::SystemClock system_clock;
  HotCacheBudget hot;
  std::shared_ptr<rocksdb::Cache> block_cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
};

}  // namespace sluice::state
