#include "state/state_table.h"

#include <fmt/format.h>

#include "state/persistent_table.h"

namespace sluice::state {

base::Status StateTable::begin_snapshot_load() {
  return base::Status::bug(
      fmt::format("state \"{}\" of operator \"{}\" is not broadcast state: it has no snapshot to load", decl_.name,
                  decl_.operator_id));
}
base::Status StateTable::end_snapshot_load() { return StateTable::begin_snapshot_load(); }

Envelope PersistentTable::envelope_for(std::string_view value, int64_t expiry_ms) const noexcept {
  Envelope envelope;
  envelope.flags = expiry_ms != 0 && clock_.which() == TtlClock::kEvent ? Envelope::kEventTime : 0;
  envelope.format_version = static_cast<uint16_t>(decl_.format_version);
  envelope.compat_version = static_cast<uint16_t>(decl_.compat_version);
  envelope.expiry_ms = expiry_ms;
  envelope.size = static_cast<uint32_t>(value.size());
  return envelope;
}

base::Status PersistentTable::open_envelope(std::string_view bytes, int64_t* expiry_ms, std::string_view* value) const {
  Envelope envelope;
  if (!Envelope::read(bytes, &envelope, value)) {
    return base::Status::fatal(name_for_messages() + " is damaged: an entry cannot be read");
  }
  if (envelope.compat_version > decl_.format_version || envelope.format_version < decl_.compat_version) {
    return base::Status::fatal(fmt::format(
        "{}: an entry has format {} (readable since format {}), the operator reads {} to {}", name_for_messages(),
        envelope.format_version, envelope.compat_version, decl_.compat_version, decl_.format_version));
  }
  *expiry_ms = envelope.clock() == clock_.which() ? envelope.expiry_ms : 0;
  return base::Status::ok();
}

std::string PersistentTable::name_for_messages() const {
  return fmt::format("operator \"{}\", state \"{}\"", decl_.operator_id, decl_.name);
}

}  // namespace sluice::state
