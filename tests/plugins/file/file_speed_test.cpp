// What a line costs in file.source and file.sink; printed, not asserted: machines differ.
#include <catch2/catch.hpp>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "file_sink.h"
#include "file_source.h"
#include "support/temp_folder.h"

namespace {

// The least that a host must do with a source: counts rows and bytes, keeps nothing.
struct CountingHost {
  static CountingHost& of(const sluice_context* c) { return *static_cast<CountingHost*>(c->impl); }
  sluice_host host{};
  sluice_context context{};
  uint64_t rows = 0, bytes = 0;
  uint32_t flags = 0;
  std::string json;  // of every row of a batch

  CountingHost() {
    host.struct_size = sizeof host;
    host.log = [](const sluice_host*, uint32_t, sluice_str) {};
    context.struct_size = sizeof context;
    context.host = &host;
    context.impl = this;
    context.lanes = 1;
    context.emit = [](const sluice_context* c, uint32_t, const sluice_rows* r, sluice_error*) -> sluice_code {
      of(c).rows += r->size;
      for (uint32_t i = 0; i < r->size; ++i) of(c).bytes += r->raw[i].size;
      return SLUICE_OK;
    };
    context.split_status = [](const sluice_context* c, uint32_t, uint32_t f) { of(c).flags = f; };
    context.split_lag = [](const sluice_context*, uint32_t, int64_t) {};
    context.split_position = [](const sluice_context*, uint32_t, sluice_str) {};
    context.now = [](const sluice_context*) -> int64_t { return 0; };
    context.count = [](const sluice_context*, sluice_str, int64_t) {};
    context.json = [](const sluice_context* c, const sluice_batch*, uint32_t, sluice_str* text,
                      sluice_error*) -> sluice_code {
      *text = sluice::str(of(c).json);
      return SLUICE_OK;
    };
    context.operator_id = sluice::str("op");
    context.status_note = [](const sluice_context*, sluice_str) {};
  }
};

// Others may be using the machine: what counts is what this thread used.
double cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

}  // namespace

TEST_CASE("a million lines of 500 bytes", "[file.source][speed]") {
  sluice::tests::TempFolder folder;
  constexpr int kLines = 1000000;
  {
    const std::string line = "{\"id\":" + std::string(490, '7') + "}\n";
    std::ofstream out(folder.path("a.jsonl"));
    for (int i = 0; i < kLines; ++i) out << line;
  }
  CountingHost host;
  sluice::file::FileSource source;
  sluice::file::FileSourceConfig config;
  config.path = folder.path("a.jsonl");
  config.max_line.bytes = 16 << 20;
  source.attach(&host.context, config);
  std::vector<sluice::Split> splits;
  REQUIRE(source.discover(&splits).is_ok());
  REQUIRE(source.assign({{0, splits[0].id, false, ""}}).is_ok());
  const double begin = cpu_ns();
  while ((host.flags & SLUICE_SPLIT_END) == 0) REQUIRE(source.poll(1024).is_ok());
  const double took = cpu_ns() - begin;
  CHECK(host.rows == kLines);
  CHECK(host.bytes == uint64_t{kLines} * 497);
  std::printf("file.source: %.1f ns per line of 498 bytes (CPU)\n", took / kLines);
}

TEST_CASE("a million rows of 500 bytes in one epoch", "[file.sink][speed]") {
  sluice::tests::TempFolder folder;
  constexpr uint32_t kRows = 1000000, kBatch = 1000;
  CountingHost host;
  host.json = "{\"id\":" + std::string(490, '7') + "}";
  sluice::file::FileSink sink;
  sluice::file::FileSinkConfig config;
  config.dir = folder.path();
  sink.attach(&host.context, config);
  sluice_needs needs{};
  REQUIRE(sink.run_needs(&needs).is_ok());
  REQUIRE(sink.open().is_ok());
  sluice_batch batch{};
  batch.struct_size = sizeof batch;
  batch.size = kBatch;
  const double begin = cpu_ns();
  REQUIRE(sink.epoch_begin(1).is_ok());
  uint32_t consumed = 0;
  for (uint32_t done = 0; done < kRows; done += kBatch)
    REQUIRE(sink.write(sluice::Batch(&host.context, batch), &consumed).is_ok());
  REQUIRE(sink.commit(1).is_ok());
  std::printf("file.sink: %.1f ns per row of 497 bytes (CPU)\n", (cpu_ns() - begin) / kRows);
  CHECK(std::filesystem::file_size(folder.path("op-00-0000000001.jsonl")) == uint64_t{kRows} * 498);
}
