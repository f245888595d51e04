// Hands the spooled rows of an epoch to its sink: after a checkpoint, and once more after a crash when the sink does
// not have them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "data/json_reader.h"
#include "runtime/operator.h"
#include "runtime/spool.h"

namespace sluice::runtime {

using RefuseRow = std::function<base::Status(std::string_view json, const SpoolOrigin& origin, const std::string& reason)>;

// One transaction of the sink: epoch_begin(n), the rows of all files in order, commit(n). RETRY: nothing is known; ask
// last_committed() before trying again. `refused` is called for rows that the sink rejects, `arena` gives the memory of
// one batch (bound to the operator as well).
base::Status write_epoch(Operator& op, const Plan& plan, uint64_t checkpoint, const std::vector<std::string>& files,
                         data::JsonReader& reader, const std::function<std::shared_ptr<data::Arena>()>& next_arena,
                         const RefuseRow& refused);

}  // namespace sluice::runtime
