// One declared state in one lane, as operators see it.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "state/state_decl.h"

namespace sluice::state {

// Visits an entry; returns false to end the scan.
using StateVisitor = std::function<bool(std::string_view key, std::string_view value)>;

// Owned by its LaneStore and valid as long as that. Used by one thread at a time, the lane's.
//
// Keys: kValue `key`; kMap `key` and `subkey`; kBroadcast `key` is the map's key; kOperator `key` is a name.
// `subkey` is ignored unless the kind is kMap. All keys and values may hold any bytes; an empty key or value is legal.
//
// Views that are handed out (values, visited keys) stay valid until the next end_call() of this table, whatever is
// written in between. "Now" of the TTL clock is read once between two end_call()s.
//
// Expiry is stored with each entry and renewed by every put(). An entry without one (its state had no TTL when it was
// written) gets one when it is next got or put, or when a compaction meets it. Expiry of the other TTL clock counts as
// none.
//
// Errors: kRetry (no space), kFatal (corruption, other I/O errors, an entry of a format that cannot be read).
class StateTable {
 public:
  virtual ~StateTable() = default;
  StateTable(const StateTable&) = delete;
  StateTable& operator=(const StateTable&) = delete;

  const StateDecl& decl() const noexcept { return decl_; }

  // values[i].data() == nullptr: absent or expired (a present empty value has data). `subkeys` may be empty unless
  // kMap; otherwise as long as `keys`. The fast way: misses of a batch go to the disk together.
  virtual base::Status get_many(std::span<const std::string_view> keys, std::span<const std::string_view> subkeys,
                                std::string_view* values) = 0;
  virtual base::Status get(std::string_view key, std::string_view subkey, std::string_view* value) = 0;
  virtual base::Status put(std::string_view key, std::string_view subkey, std::string_view value) = 0;
  virtual base::Status erase(std::string_view key, std::string_view subkey) = 0;  // absent: OK

  // kMap: the entries of `key`, in the byte order of their subkeys. kBroadcast, kOperator: all entries in the byte
  // order of their keys, `key` is ignored. kValue: unsupported. What exists when scan() is called is visited; the
  // visitor may write to the table.
  virtual base::Status scan(std::string_view key, const StateVisitor& visit) = 0;

  // Removes everything in this table (during a snapshot load: everything in the map that is being loaded).
  virtual base::Status clear() = 0;

  // kBroadcast: from begin to end writes go to a new, empty map and reads still see the old one; end makes the new map
  // the current one at once. A second begin starts again with an empty map. A load in progress is not part of a
  // snapshot: after a restore the old map is there and no load is in progress. Other kinds: kBug.
  virtual base::Status begin_snapshot_load();
  virtual base::Status end_snapshot_load();
  virtual bool snapshot_load_in_progress() const noexcept { return false; }

  // Releases the views handed out, lets the hot cache evict. Errors of the eviction's writes are returned by the next
  // operation that can fail, at the latest by flush().
  virtual void end_call() noexcept = 0;

  virtual TableStats stats() const = 0;

 protected:
  explicit StateTable(StateDecl decl) : decl_(std::move(decl)) {}
  const StateDecl decl_;
};

}  // namespace sluice::state
