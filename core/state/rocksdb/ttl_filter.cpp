#include "state/rocksdb/ttl_filter.h"

#include "state/disk_format.h"

namespace sluice::state {
namespace {

class TtlFilter final : public rocksdb::CompactionFilter {
 public:
  TtlFilter(int64_t now_ms, int64_t ttl_ms, TtlClock which) : now_ms_(now_ms), ttl_ms_(ttl_ms), which_(which) {}
  const char* Name() const override { return "sluice.ttl"; }

  Decision FilterV2(int /*level*/, const rocksdb::Slice& /*key*/, ValueType type, const rocksdb::Slice& existing,
                    std::string* new_value, std::string* /*skip_until*/) const override {
    Envelope envelope;
    std::string_view value;
    if (type != ValueType::kValue || !Envelope::read({existing.data(), existing.size()}, &envelope, &value)) {
      return Decision::kKeep;  // a damaged entry is named when it is read
    }
    const bool stamped = envelope.expiry_ms != 0 && envelope.clock() == which_;
    if (stamped) return is_expired(envelope.expiry_ms, now_ms_) ? Decision::kRemove : Decision::kKeep;
    envelope.expiry_ms = expiry_from(now_ms_, ttl_ms_);
    if (envelope.expiry_ms == 0) return Decision::kKeep;
    envelope.flags = which_ == TtlClock::kEvent ? Envelope::kEventTime : 0;
    new_value->resize(Envelope::kBytes);
    envelope.write(new_value->data());
    new_value->append(value);
    return Decision::kChangeValue;
  }

 private:
  const int64_t now_ms_;
  const int64_t ttl_ms_;
  const TtlClock which_;
};

}  // namespace

std::unique_ptr<rocksdb::CompactionFilter> TtlFilterFactory::CreateCompactionFilter(
    const rocksdb::CompactionFilter::Context& /*context*/) {
  return std::make_unique<TtlFilter>(time_->now_ms(which_), ttl_ms_, which_);
}

}  // namespace sluice::state
