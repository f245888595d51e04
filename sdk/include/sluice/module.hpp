// sluice/module.hpp - turns operator classes into the tables of sluice/abi.h.
//
//   SLUICE_MODULE("acme-first-seen", "1.0.0", FirstSeen, OtherOperator)
//
// An operator class needs, as static members: kType (what YAML writes after `use:`), kVersion, kSummary (one line; const char*
// all), options(); optional: kDoc (Markdown), kFlags (SLUICE_OP_*), output_ports() (names of the outputs after the first).
// It is made by its default constructor, also to be asked for its states only: that constructor opens nothing.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "sluice/ext/added_splits.h"
#include "sluice/ext/ended_splits.h"
#include "sluice/ext/plan.h"
#include "sluice/operator.hpp"

namespace sluice::detail {

template <class Op, class = void>
struct DocOf { static constexpr const char* kText = ""; };
template <class Op>
struct DocOf<Op, std::void_t<decltype(Op::kDoc)>> { static constexpr const char* kText = Op::kDoc; };
template <class Op, class = void>
struct PortsOf { static std::vector<std::string> get() { return {}; } };
template <class Op>
struct PortsOf<Op, std::void_t<decltype(Op::output_ports())>> { static std::vector<std::string> get() { return Op::output_ports(); } };

template <class Op>
class Binding {
 public:
  static const sluice_operator_desc* desc() {
    static const Tables t;
    return &t.desc;
  }

 private:
  using Config = typename Op::Config;
  static_assert(std::is_default_constructible_v<Op>, "an operator is made by its default constructor");

  // The descriptor and everything that it points to.
  struct Tables {
    Options<Config> options = Op::options();
    Op probe;  // never attached: its members say which states there are
    std::vector<std::string> port_names = PortsOf<Op>::get();
    std::deque<sluice_option> option_structs;
    std::vector<const sluice_option*> option_pointers;
    std::deque<std::vector<sluice_str>> choices;
    std::deque<sluice_state_decl> state_structs;
    std::vector<const sluice_state_decl*> state_pointers;
    std::vector<sluice_str> ports;
    sluice_operator_desc desc;

    Tables() {
      for (const auto& o : options) {
        choices.emplace_back();
        for (const auto& c : o.choice_names) choices.back().push_back(str(c));
        sluice_option s;
        std::memset(&s, 0, sizeof s);
        s.struct_size = sizeof s;
        s.type = o.type;
        s.flags = o.flags;
        s.name = str(o.name_text);
        if (o.has_default) s.default_yaml = str(o.default_yaml);
        s.unit = str(o.unit_text);
        s.doc = str(o.doc_text);
        s.example = str(o.example_text);
        s.since = str(o.since_text);
        s.choices = choices.back().data();
        s.choice_count = choices.back().size();
        option_structs.push_back(s);
        option_pointers.push_back(&option_structs.back());
      }
      for (const StateHandle* h : probe.state_handles()) {
        const StateOptions& so = h->state_options();
        sluice_state_decl s;
        std::memset(&s, 0, sizeof s);
        s.struct_size = sizeof s;
        s.kind = h->kind();
        s.name = str(h->name());
        s.format_version = so.format_;
        s.compat_version = so.compat_;
        s.ttl_required = so.ttl_required_ ? 1 : 0;
        s.ttl_option = str(so.ttl_option_);
        s.ttl_clock_option = str(so.ttl_clock_option_);
        state_structs.push_back(s);
        state_pointers.push_back(&state_structs.back());
      }
      for (const auto& p : port_names) ports.push_back(str(p));
      std::memset(&desc, 0, sizeof desc);
      desc.struct_size = sizeof desc;
      desc.kind = Op::kKind;
      desc.flags = Op::kFlags;
      desc.type = str(Op::kType);
      desc.version = str(Op::kVersion);
      desc.summary = str(Op::kSummary);
      desc.doc = str(DocOf<Op>::kText);
      desc.options = option_pointers.data();
      desc.option_count = option_pointers.size();
      desc.states = state_pointers.data();
      desc.state_count = state_pointers.size();
      desc.output_ports = ports.data();
      desc.output_port_count = ports.size();
      desc.create = &create;
    }
  };

  // The instance, and what must outlive one call into it.
  struct Holder {
    Op op;
    std::string lineage, text;
    std::vector<Split> splits;
    std::deque<sluice_split> split_structs;
    std::vector<const sluice_split*> split_pointers;
  };
  static Op& op(void* self) { return static_cast<Holder*>(self)->op; }

  static sluice_code create(const sluice_context* ctx, const sluice_value* config, const sluice_operator_vtbl** vtbl_out, void** self,
                            sluice_error* err) noexcept {
    return guard(err, [&] {
      Config c{};
      static const Options<Config> options = Op::options();
      const Value given(*config);
      for (size_t i = 0; i < given.size(); ++i)
        for (const auto& o : options)
          if (given.name(i) == o.name_text) o.set(c, given.member(i));
      auto holder = std::make_unique<Holder>();
      holder->op.attach(ctx, std::move(c));
      *vtbl_out = vtbl();
      *self = holder.release();
      return Status::ok();
    });
  }

  // Runs `body(op, out)` and hands over what it put into `out`.
  template <class F>
  static Status with_output(void* self, F&& body) {
    Op& o = op(self);
    Output out = o.output();
    SLUICE_CHECK_OK(body(o, out));
    return out.flush();
  }

  static const sluice_operator_vtbl* vtbl() {
    static const sluice_operator_vtbl v = make_vtbl();
    return &v;
  }
  static sluice_operator_vtbl make_vtbl() {
    sluice_operator_vtbl t;
    std::memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    t.destroy = [](void* s) { delete static_cast<Holder*>(s); };
    t.needs = [](void* s, sluice_needs* out, sluice_error* e) { return guard(e, [&] { return op(s).run_needs(out); }); };
    t.open = [](void* s, sluice_error* e) { return guard(e, [&] { return op(s).open(); }); };
    t.close = [](void* s, sluice_error* e) { return guard(e, [&] { return op(s).close(); }); };
    t.prepare = [](void* s, uint64_t n, sluice_error* e) { return guard(e, [&] { return op(s).prepare(n); }); };
    t.commit = [](void* s, uint64_t n, sluice_error* e) { return guard(e, [&] { return op(s).commit(n); }); };
    // The type of &Op::check names the class that has it.
    if constexpr (!std::is_same_v<decltype(&Op::check), Status (Operator<Config>::*)(Problems&)>) {
      t.check = [](void* s, sluice_report report, void* user, sluice_error* e) {
        return guard(e, [&] {
          Problems problems(report, user);
          return op(s).check(problems);
        });
      };
    }
    if constexpr (Op::kKind == SLUICE_TRANSFORM) {
      t.process = [](void* s, uint32_t port, const sluice_batch* in, uint32_t*, sluice_error* e) {
        return guard(e, [&] {
          return with_output(s, [&](Op& o, Output& out) {
            const Batch batch(o.context(), *in);
            if constexpr ((Op::kFlags & SLUICE_OP_BROADCAST) != 0) {
              if (port == SLUICE_PORT_BROADCAST) return o.process_broadcast(batch, out);
            }
            static_cast<void>(port);
            return o.process(batch, out);
          });
        });
      };
      t.on_watermark = [](void* s, int64_t w, sluice_error* e) {
        return guard(e, [&] { return with_output(s, [&](Op& o, Output& out) { return o.on_watermark(w, out); }); });
      };
      t.on_timer = [](void* s, uint32_t clock, sluice_str key, int64_t at, uint64_t tag, sluice_error* e) {
        return guard(e, [&] { return with_output(s, [&](Op& o, Output& out) { return o.on_timer(clock, view(key), at, tag, out); }); });
      };
      t.on_idle = [](void* s, uint32_t idle, int64_t since, sluice_error* e) {
        return guard(e, [&] { return with_output(s, [&](Op& o, Output& out) { return o.on_idle(idle != 0, since, out); }); });
      };
      if constexpr ((Op::kFlags & SLUICE_OP_BROADCAST) != 0) {
        t.on_marker = [](void* s, uint32_t, uint32_t marker, sluice_error* e) {
          return guard(e, [&] { return with_output(s, [&](Op& o, Output& out) { return o.on_marker(marker, out); }); });
        };
      }
    } else if constexpr (Op::kKind == SLUICE_SINK) {
      t.process = [](void* s, uint32_t, const sluice_batch* in, uint32_t* consumed, sluice_error* e) {
        return guard(e, [&] { return op(s).write(Batch(op(s).context(), *in), consumed); });
      };
      t.on_schema = [](void* s, const sluice_schema* schema, sluice_error* e) { return guard(e, [&] { return op(s).on_schema(*schema); }); };
      t.epoch_begin = [](void* s, uint64_t n, sluice_error* e) { return guard(e, [&] { return op(s).epoch_begin(n); }); };
      t.last_committed = [](void* s, uint64_t* n, sluice_str* lineage, sluice_error* e) {
        return guard(e, [&] {
          auto* h = static_cast<Holder*>(s);
          SLUICE_CHECK_OK(h->op.last_committed(n, &h->lineage));
          *lineage = str(h->lineage);
          return Status::ok();
        });
      };
    } else {
      t.discover = [](void* s, const sluice_split* const** splits, size_t* count, sluice_error* e) {
        return guard(e, [&] {
          auto* h = static_cast<Holder*>(s);
          h->splits.clear();
          h->split_structs.clear();
          h->split_pointers.clear();
          SLUICE_CHECK_OK(h->op.discover(&h->splits));
          for (const Split& sp : h->splits) {
            h->split_structs.push_back({sizeof(sluice_split), 0, str(sp.id), sp.ordinal, {nullptr, 0}});
            h->split_pointers.push_back(&h->split_structs.back());
          }
          *splits = h->split_pointers.data();
          *count = h->split_pointers.size();
          return Status::ok();
        });
      };
      t.assign = [](void* s, const sluice_split* const* splits, size_t count, sluice_error* e) {
        return guard(e, [&] {
          const sluice_context* context = op(s).context();
          const auto* history = static_cast<const sluice_added_splits*>(
              context->host->get_extension(context->host, str(std::string_view(SLUICE_EXT_ADDED_SPLITS))));
          std::vector<AssignedSplit> given;
          for (size_t i = 0; i < count; ++i)
            given.push_back({splits[i]->index, std::string(view(splits[i]->id)), splits[i]->position.data != nullptr,
                             std::string(view(splits[i]->position)),
                             SLUICE_HAS(history, sluice_added_splits, is_added) && history->is_added(context, splits[i]->index) != 0});
          return op(s).assign(given);
        });
      };
      t.poll = [](void* s, uint32_t max_rows, sluice_error* e) { return guard(e, [&] { return op(s).poll(max_rows); }); };
      t.describe_position = [](void* s, sluice_str split, sluice_str position, sluice_str* text, sluice_error* e) {
        return guard(e, [&] {
          auto* h = static_cast<Holder*>(s);
          h->text = h->op.describe_position(view(split), view(position));
          *text = str(h->text);
          return Status::ok();
        });
      };
    }
    t.get_extension = [](void*, sluice_str id) { return extension(view(id)); };
    return t;
  }
  static const void* extension(std::string_view id) {
    if (id == SLUICE_EXT_PLAN) {
      static const sluice_plan plan = {sizeof(sluice_plan), 0, [](void* s, sluice_plan_facts* out, sluice_error* e) {
                                         return guard(e, [&] {
                                           op(s).tell_planner(out);
                                           return Status::ok();
                                         });
                                       }};
      return &plan;
    }
    if constexpr (Op::kKind == SLUICE_SOURCE) {
      static const sluice_ended_splits ended_splits = {
          sizeof(sluice_ended_splits), 0, [](void* s, sluice_str split, uint32_t* yes, sluice_error* e) {
            return guard(e, [&] {
              *yes = op(s).may_have_grown(view(split)) ? 1 : 0;
              return Status::ok();
            });
          }};
      if (id == SLUICE_EXT_ENDED_SPLITS) return &ended_splits;
    }
    return nullptr;
  }
};

template <class... Ops>
const sluice_module* module(const char* name, const char* version, const char* vendor) {
  static const sluice_operator_desc* const ops[] = {Binding<Ops>::desc()...};
  static const sluice_module m = [&] {
    sluice_module x;
    std::memset(&x, 0, sizeof x);
    x.struct_size = sizeof x;
    x.abi_major = SLUICE_ABI_MAJOR;
    x.abi_minor = SLUICE_ABI_MINOR;
    x.abi_min_minor = SLUICE_ABI_MINOR;
    x.name = str(name);
    x.version = str(version);
    x.vendor = str(vendor);
    x.build = str("C++ SDK, compiler " __VERSION__);
    x.operators = ops;
    x.operator_count = sizeof...(Ops);
    return x;
  }();
  return &m;
}

}  // namespace sluice::detail

// Once in each shared library. The only symbol that it exports. `name` and `version` (of the library, not of its operators) are
// shown by `sluice plugins` and in messages.
#define SLUICE_MODULE(name, version, ...)                                                            \
  extern "C" __attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) {    \
    try {                                                                                            \
      return ::sluice::detail::module<__VA_ARGS__>(name, version, "");                               \
    } catch (...) {                                                                                  \
      return nullptr;                                                                                \
    }                                                                                                \
  }
