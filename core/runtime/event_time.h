// Event time of a source's rows, out of the fields that `event_time:` names or as the source gives it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "config/pipeline_document.h"
#include "data/row_batch.h"
#include "data/time_reader.h"
#include "runtime/plan.h"

namespace sluice::runtime {

// Used by its task's thread only.
class EventTime {
 public:
  static base::Result<EventTime> make(const config::EventTimeSection& section, const Plan& plan);
  // Of row `row`; SLUICE_NO_TIME when its type carries none. Nothing: *error says why the row is bad.
  std::optional<int64_t> read(const data::RowBatch& batch, uint32_t row, int64_t now_ms, std::string* error);
  // Marks the plan's fields that read() looks at.
  void mark_fields(std::vector<bool>* wanted) const {
    for (size_t f : fields_) (*wanted)[f] = true;
    if (type_field_ != SIZE_MAX) (*wanted)[type_field_] = true;
  }

 private:
  EventTime(const config::EventTimeSection& section, data::TimeReader reader) : section_(&section), reader_(std::move(reader)) {}
  bool is_too_far_ahead(int64_t ms, int64_t now_ms) const;
  std::string too_far_ahead() const;

  const config::EventTimeSection* section_;
  data::TimeReader reader_;
  std::vector<size_t> fields_;  // plan fields
  size_t type_field_ = SIZE_MAX;
};

}  // namespace sluice::runtime
