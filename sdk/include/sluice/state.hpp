// sluice/state.hpp - typed state. A handle is a member of the operator; declaring it there is all it takes:
//
//   sluice::ValueState<int64_t> last_day_{this, "last_day", sluice::StateOptions().ttl("ttl")};
//
// The host keeps the state, snapshots it at every checkpoint and restores it. On disk its identity is the
// operator's YAML `id` and the state's name. [operator]
//
// All of it from open() on, in calls of the host. Keys and subkeys may hold any bytes; of keyed state the key is that of a row or
// timer of this instance. put() writes or replaces, and begins the time to live anew, which get() does not. erase() of
// what is not there is OK. Views that are given out live until the call into the operator returns. A Status that is not
// OK (no space: retry; unreadable entry: fatal; more than 1 GiB: bad_record) is returned to the host.
#pragma once
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/value.hpp"

namespace sluice {

// How a type is written into state. Specialise it for your own types; change the state's format version when
// the bytes change. Numbers are little-endian. write() appends; read() gives false for bytes that it cannot read, which stops
// the job with a message that names the state.
template <class T, class = void>
struct Codec;
template <>
struct Codec<std::string> {
  static void write(const std::string& v, std::string* out) { out->append(v); }
  static bool read(std::string_view bytes, std::string* out) { out->assign(bytes); return true; }
};
template <class T>
struct Codec<T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>>> {
  static void write(T v, std::string* out) { out->append(reinterpret_cast<const char*>(&v), sizeof v); }
  static bool read(std::string_view bytes, T* out) {
    if (bytes.size() != sizeof *out) return false;
    std::memcpy(out, bytes.data(), sizeof *out);
    return true;
  }
};

class StateOptions {
 public:
  // Version of the values' bytes, and the oldest version that read() still understands. Default: 1 and 1.
  StateOptions&& format(uint32_t version, uint32_t oldest_readable) && { format_ = version; compat_ = oldest_readable; return std::move(*this); }
  // The duration option that gives the time to live; `required`: a pipeline without one is refused.
  StateOptions&& ttl(std::string option, bool required = false) && { ttl_option_ = std::move(option); ttl_required_ = required; return std::move(*this); }
  // The enum option (`processing`, `event`) that says whose clock the time to live follows.
  StateOptions&& ttl_clock(std::string option) && { ttl_clock_option_ = std::move(option); return std::move(*this); }

  uint32_t format_ = 1, compat_ = 1;
  bool ttl_required_ = false;
  std::string ttl_option_, ttl_clock_option_;
};

class StateHandle;

// What operators derive from to own state handles.
class StateOwner {
 public:
  const std::vector<StateHandle*>& state_handles() const noexcept { return handles_; }

 protected:
  StateOwner() = default;
  ~StateOwner() = default;
  StateOwner(const StateOwner&) = delete;
  StateOwner& operator=(const StateOwner&) = delete;

 private:
  friend class StateHandle;
  std::vector<StateHandle*> handles_;
};

// One declared state: a member of its operator, in all instances in the same order.
class StateHandle {
 public:
  StateHandle(StateOwner* owner, uint32_t kind, std::string name, StateOptions options)
      : kind_(kind), index_(static_cast<uint32_t>(owner->handles_.size())), name_(std::move(name)), options_(std::move(options)) {
    owner->handles_.push_back(this);
  }
  StateHandle(const StateHandle&) = delete;
  StateHandle& operator=(const StateHandle&) = delete;
  void bind(const sluice_context* ctx) noexcept { ctx_ = ctx; }
  uint32_t kind() const noexcept { return kind_; }
  const std::string& name() const noexcept { return name_; }
  const StateOptions& state_options() const noexcept { return options_; }

 protected:
  ~StateHandle() = default;

  Status get_raw(std::string_view key, std::string_view subkey, std::string_view* value) const {
    const sluice_str k = str(key), sub = str(subkey);
    sluice_str v{nullptr, 0};
    Status s = detail::call([&](sluice_error* e) { return ctx_->state_get(ctx_, index_, 1, &k, subkeys(&sub), &v, e); });
    *value = v.data == nullptr ? std::string_view() : std::string_view(v.data, v.size);
    return s;
  }
  Status get_many_raw(size_t count, const sluice_str* keys, const sluice_str* subkeys, sluice_str* values) const {
    return detail::call([&](sluice_error* e) { return ctx_->state_get(ctx_, index_, count, keys, subkeys, values, e); });
  }
  Status put_raw(std::string_view key, std::string_view subkey, std::string_view value) const {
    const sluice_str k = str(key), sub = str(subkey), v = str(value);
    return detail::call([&](sluice_error* e) { return ctx_->state_put(ctx_, index_, 1, &k, subkeys(&sub), &v, e); });
  }
  Status erase_raw(std::string_view key, std::string_view subkey) const {
    const sluice_str k = str(key), sub = str(subkey);
    return detail::call([&](sluice_error* e) { return ctx_->state_erase(ctx_, index_, 1, &k, subkeys(&sub), e); });
  }
  // visit(key, bytes) -> bool: false ends the scan.
  template <class F>
  Status scan_raw(std::string_view key, F&& visit) const {
    struct Visit {
      std::remove_reference_t<F>& visitor;
      std::exception_ptr thrown;  // must not pass through the host
    } visiting{visit, nullptr};
    const sluice_visit thunk = [](void* user, sluice_str k, sluice_str v) -> int32_t {
      Visit& self = *static_cast<Visit*>(user);
      try {
        return self.visitor(view(k), view(v)) ? 1 : 0;
      } catch (...) {
        self.thrown = std::current_exception();
        return 0;
      }
    };
    Status s = detail::call([&](sluice_error* e) { return ctx_->state_scan(ctx_, index_, str(key), thunk, &visiting, e); });
    if (visiting.thrown) std::rethrow_exception(visiting.thrown);
    return s;
  }
  Status unreadable() const { return Status::fatal("state `" + name_ + "` holds bytes that this version of the operator cannot read"); }
  template <class V>
  Status decode(std::string_view bytes, bool* found, V* value) const {
    *found = bytes.data() != nullptr;
    if (!*found) return Status::ok();
    return Codec<V>::read(bytes, value) ? Status::ok() : unreadable();
  }
  template <class V>
  std::string_view encode(const V& value) const {
    buffer_.clear();
    Codec<V>::write(value, &buffer_);
    // An empty value is still a value: a view with data.
    return {buffer_.data(), buffer_.size()};
  }

 private:
  const sluice_str* subkeys(const sluice_str* sub) const noexcept { return kind_ == SLUICE_STATE_MAP ? sub : nullptr; }
  const sluice_context* ctx_ = nullptr;
  uint32_t kind_, index_;
  std::string name_;
  StateOptions options_;
  mutable std::string buffer_;
};

// Keyed: one value for each key.
template <class V>
class ValueState final : public StateHandle {
 public:
  ValueState(StateOwner* owner, std::string name, StateOptions options = {})
      : StateHandle(owner, SLUICE_STATE_VALUE, std::move(name), std::move(options)) {}
  // *found is false for what is absent or expired; *value is then as it was.
  Status get(std::string_view key, bool* found, V* value) const {
    std::string_view bytes;
    SLUICE_CHECK_OK(get_raw(key, {}, &bytes));
    return decode(bytes, found, value);
  }
  // Values of many keys in one call: the fast way. `values[i].data == nullptr`: absent. Decode with Codec<V>.
  Status get_many(size_t count, const sluice_str* keys, sluice_str* values) const { return get_many_raw(count, keys, nullptr, values); }
  Status put(std::string_view key, const V& value) const { return put_raw(key, {}, encode(value)); }
  Status erase(std::string_view key) const { return erase_raw(key, {}); }
};

// Keyed: a map for each key.
template <class V>
class MapState final : public StateHandle {
 public:
  MapState(StateOwner* owner, std::string name, StateOptions options = {})
      : StateHandle(owner, SLUICE_STATE_MAP, std::move(name), std::move(options)) {}
  Status get(std::string_view key, std::string_view subkey, bool* found, V* value) const {
    std::string_view bytes;
    SLUICE_CHECK_OK(get_raw(key, subkey, &bytes));
    return decode(bytes, found, value);
  }
  // Of many pairs of key and subkey in one call, as ValueState::get_many.
  Status get_many(size_t count, const sluice_str* keys, const sluice_str* subkeys, sluice_str* values) const {
    return get_many_raw(count, keys, subkeys, values);
  }
  Status put(std::string_view key, std::string_view subkey, const V& value) const { return put_raw(key, subkey, encode(value)); }
  Status erase(std::string_view key, std::string_view subkey) const { return erase_raw(key, subkey); }
  // visit(subkey, value) -> bool, in the order of the subkeys' bytes; false ends it. Those that exist at the call; visit may
  // write to the state.
  template <class F>
  Status scan(std::string_view key, F&& visit) const {
    Status inner;
    SLUICE_CHECK_OK(scan_raw(key, [&](std::string_view k, std::string_view bytes) {
      V v{};
      if (!Codec<V>::read(bytes, &v)) { inner = unreadable(); return false; }
      return static_cast<bool>(visit(k, v));
    }));
    return inner;
  }
};

namespace detail {
// A map without a key before it: broadcast and operator state. scan() is in the order of the keys' bytes, as MapState::scan.
template <class V, uint32_t Kind>
class PlainMapState : public StateHandle {
 public:
  PlainMapState(StateOwner* owner, std::string name, StateOptions options = {})
      : StateHandle(owner, Kind, std::move(name), std::move(options)) {}
  Status get(std::string_view key, bool* found, V* value) const {
    std::string_view bytes;
    SLUICE_CHECK_OK(get_raw(key, {}, &bytes));
    return decode(bytes, found, value);
  }
  Status put(std::string_view key, const V& value) const { return put_raw(key, {}, encode(value)); }
  Status erase(std::string_view key) const { return erase_raw(key, {}); }
  template <class F>
  Status scan(F&& visit) const {
    Status inner;
    SLUICE_CHECK_OK(scan_raw({}, [&](std::string_view k, std::string_view bytes) {
      V v{};
      if (!Codec<V>::read(bytes, &v)) { inner = unreadable(); return false; }
      return static_cast<bool>(visit(k, v));
    }));
    return inner;
  }
};
}  // namespace detail

// One map, the same in every lane. Written in process_broadcast() only; everywhere else it is read. While a snapshot is read
// anew, reads see the old map and writes go to the new one, which replaces it at SLUICE_SNAPSHOT_END.
template <class V>
using BroadcastState = detail::PlainMapState<V, SLUICE_STATE_BROADCAST>;
// One map for each lane. After a restore with another number of lanes, old lane i's entries are in lane i mod n. Their
// names must be unique over lanes (a split's id, the lane's number): two values of one name would stop the start.
template <class V>
using OperatorState = detail::PlainMapState<V, SLUICE_STATE_OPERATOR>;

}  // namespace sluice
