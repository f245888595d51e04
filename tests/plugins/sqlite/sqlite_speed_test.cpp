// What an upserted row costs in sqlite.sink; printed, not asserted: machines differ.
#include <ctime>

#include "sink_under_test.h"

using namespace sluice::tests;

namespace {

double cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// The rows of a batch as the host would have taken them apart; everything else costs nothing.
struct PreparedHost {
  static PreparedHost& of(const sluice_context* c) { return *static_cast<PreparedHost*>(c->impl); }
  sluice_host host{};
  sluice_context context{};
  std::vector<sluice_member> members;  // of all rows, one after the other
  size_t members_per_row = 0;

  PreparedHost() {
    host.struct_size = sizeof host;
    host.log = [](const sluice_host*, uint32_t, sluice_str) {};
    context.struct_size = sizeof context;
    context.host = &host;
    context.impl = this;
    context.lanes = 1;
    context.body = [](const sluice_context* c, const sluice_batch*, uint32_t row, sluice_value* v,
                      sluice_error*) -> sluice_code {
      v->type = SLUICE_MAP;
      v->as.map.members = of(c).members.data() + row * of(c).members_per_row;
      v->as.map.size = of(c).members_per_row;
      return SLUICE_OK;
    };
    context.reject = [](const sluice_context*, uint32_t, sluice_str, sluice_error*) -> sluice_code {
      return SLUICE_BUG;
    };
  }
};

}  // namespace

TEST_CASE("200,000 upserts of 5 columns", "[sqlite.sink][speed]") {
  const uint32_t batch_size = GENERATE(10u, 200u, 1000u);
  Target t;
  PreparedHost host;
  sluice::sqlite::SqliteSink sink;
  sluice::sqlite::SqliteSinkConfig config;
  config.path = t.path();
  config.table_field = "sink_table";
  config.key_field = "sink_pk";
  config.key = {"id"};
  sink.attach(&host.context, config);
  sluice_needs needs{};
  REQUIRE(sink.run_needs(&needs).is_ok());
  REQUIRE(sink.open().is_ok());

  constexpr uint32_t kRows = 200000;
  std::vector<std::string> ids(batch_size);
  uint32_t seed = 1;
  const double begin = cpu_ns();
  for (uint32_t done = 0; done < kRows; done += batch_size) {
    host.members.clear();
    host.members_per_row = 6;
    for (uint32_t r = 0; r < batch_size; ++r) {
      seed = seed * 1664525u + 1013904223u;
      ids[r] = std::to_string(seed % 20000);
      const auto add = [&](const char* name, std::string_view value) {
        host.members.push_back({sluice::str(name), sluice::Value::string(value).raw()});
      };
      add("id", ids[r]);
      add("name", "a name of some length");
      add("region_id", "7");
      add("area_code", "110000");
      add("iso_code", "CN-11");
      add("sink_table", "dim_base_province");
    }
    sluice_batch batch{};
    batch.struct_size = sizeof batch;
    batch.size = batch_size;
    uint32_t consumed = 0;
    REQUIRE(sink.write(sluice::Batch(&host.context, batch), &consumed).is_ok());
  }
  REQUIRE(sink.prepare(1).is_ok());
  std::printf("sqlite.sink: %.1f us per upserted row, batches of %u (CPU)\n", (cpu_ns() - begin) / kRows / 1000,
              batch_size);
  CHECK(t.query("select count(*) > 19000 from dim_base_province") == Rows{"int 1"});
}
