// Nanoseconds per operation of keyed state. Prints, asserts nothing: state_bench [keys] [accesses per key] [memory MiB]
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "state/lane_store.h"

namespace {

using sluice::base::Status;
using namespace sluice::state;
using Time = std::chrono::steady_clock;

void must(const Status& status) {
  if (status.is_ok()) return;
  fmt::print(stderr, "{}\n", status.message());
  std::exit(1);
}

double thread_cpu_ns() {
  timespec t;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// CPU time of this thread beside the time on the clock: a busy machine changes only the latter.
template <class Body>
void measure(const char* name, size_t operations, Body&& body) {
  const auto start = Time::now();
  const double cpu_start = thread_cpu_ns();
  body();
  const double cpu = thread_cpu_ns() - cpu_start;
  const double wall = std::chrono::duration<double, std::nano>(Time::now() - start).count();
  const auto n = static_cast<double>(operations);
  fmt::print("{:<54} {:>8} ops {:>8.1f} ns/op cpu {:>8.1f} ns/op wall\n", name, operations, cpu / n, wall / n);
}

constexpr size_t kBatch = 512;

// As daily_dedup does it: get a batch, put where something changed.
void pass(StateTable& table, const std::vector<std::string>& keys, const std::vector<uint32_t>& order,
          std::string_view value) {
  std::string_view batch[kBatch];
  std::string_view values[kBatch];
  for (size_t start = 0; start < order.size(); start += kBatch) {
    const size_t count = std::min(kBatch, order.size() - start);
    for (size_t i = 0; i < count; ++i) batch[i] = keys[order[start + i]];
    must(table.get_many({batch, count}, {}, values));
    for (size_t i = 0; i < count; ++i) {
      if (values[i] != value) must(table.put(batch[i], {}, value));
    }
    table.end_call();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const size_t key_count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 500000;
  const size_t accesses = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 5;
  const uint64_t memory = (argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 64) << 20;
  const auto dir = std::filesystem::temp_directory_path() / fmt::format("sluice-state-bench-{}", ::getpid());
  std::filesystem::create_directories(dir);
  {
    StateResourcesOptions resource_options;
    resource_options.memory_bytes = memory;
    StateResources resources(resource_options);
    LaneOptions options;
    StateDecl decl;
    decl.operator_id = "first_today";
    decl.name = "last_date";
    decl.ttl_ms = 86400000;
    options.states = {decl};
    auto opened = LaneStore::open(dir / "lane", resources, options);
    must(opened.status());
    LaneStore& lane = *opened.value();
    StateTable& table = *lane.table("first_today", "last_date");

    std::vector<std::string> keys;
    for (size_t i = 0; i < key_count; ++i) keys.push_back(fmt::format("u{}", i * 7919 % 10000019));
    std::vector<uint32_t> order(key_count);
    std::mt19937 random(42);
    for (size_t i = 0; i < key_count; ++i) order[i] = static_cast<uint32_t>(i);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<uint32_t> hot(key_count);
    for (auto& i : hot) i = random() % 1000;

    measure("new keys (get_many absent + put)", key_count, [&] { pass(table, keys, order, "2022-11-07"); });
    for (size_t a = 1; a < accesses; ++a) {
      std::shuffle(order.begin(), order.end(), random);
      measure("known keys, random order (get_many)", key_count, [&] { pass(table, keys, order, "2022-11-07"); });
    }
    measure("1000 hot keys (get_many)", key_count, [&] { pass(table, keys, hot, "2022-11-07"); });
    measure("1000 hot keys (get one by one)", key_count, [&] {
      std::string_view value;
      for (size_t i = 0; i < key_count; ++i) {
        must(table.get(keys[hot[i]], {}, &value));
        if (i % kBatch == 0) table.end_call();
      }
    });
    measure("known keys, all changed (get_many + put)", key_count, [&] { pass(table, keys, order, "2022-11-08"); });
    measure("snapshot (flush + RocksDB checkpoint), per key", key_count, [&] {
      auto snapshot = lane.snapshot(dir / "snapshot");
      must(snapshot.status());
    });
    measure("new keys when the disk is full of others", key_count, [&] {
      std::vector<std::string> others;
      for (size_t i = 0; i < key_count; ++i) others.push_back(fmt::format("v{}", i));
      pass(table, others, order, "2022-11-07");
    });
    measure("first keys again (evicted ones are read from RocksDB)", key_count,
            [&] { pass(table, keys, order, "2022-11-08"); });
    const TableStats stats = lane.stats()[0];
    fmt::print("cache: {} entries, {} MiB; {} hits, {} misses; all caches {} MiB\n", stats.cached_entries,
               stats.cached_bytes >> 20, stats.hits, stats.misses, resources.hot_cache_bytes() >> 20);
  }
  std::filesystem::remove_all(dir);
  return 0;
}
