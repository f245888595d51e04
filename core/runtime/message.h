// What flows between tasks, in order, beside the data and as data.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/row_batch.h"
#include "sluice/abi.h"

namespace sluice::runtime {

// A sluice_schema that owns its texts.
struct Schema {
  std::string table, extend, origin;
  std::vector<std::string> columns, key;

  static std::shared_ptr<const Schema> copy(const sluice_schema& s);
  // Calls f with a view of this as the plugin boundary has it.
  template <class F>
  auto with_abi(F&& f) const {
    std::vector<sluice_str> c, k;
    for (const auto& x : columns) c.push_back({x.data(), x.size()});
    for (const auto& x : key) k.push_back({x.data(), x.size()});
    sluice_schema s{};
    s.struct_size = sizeof s;
    s.table = {table.data(), table.size()};
    s.columns = c.data();
    s.column_count = c.size();
    s.key = k.data();
    s.key_count = k.size();
    s.extend = {extend.data(), extend.size()};
    s.origin = {origin.data(), origin.size()};
    return f(&s);
  }
};

struct Message {
  enum class Kind {
    kRows,
    kWatermark,  // number: ms
    kBarrier,    // number: checkpoint
    kMarker,     // number: SLUICE_SNAPSHOT_*
    kSchema,
    kIdle,       // this way gives nothing for now: leave it out of the minimum
    kActive,
    kEnd,        // nothing but barriers comes any more
  };
  Kind kind = Kind::kRows;
  int64_t number = 0;
  data::RowBatch rows;
  std::shared_ptr<const Schema> schema;
};

}  // namespace sluice::runtime
