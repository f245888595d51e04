#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a while, from its seeds (tests/fuzz/corpus, captured binlogs) on.
#
#   scripts/fuzz.sh [SECONDS] [TARGET...]     default 20 seconds each, all targets
#
# What it finds on the way stays in build/fuzz/corpus, so that the next run goes on from there. A crash is a file
# build/fuzz/crashes/TARGET-*; run the target with it as its argument to see it again. A target that gets no further than its
# door is a failure too: the seeds must reach several times the code that an empty input reaches.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-20}
[ $# -eq 0 ] || shift
scripts/install-deps.sh build fuzz
cmake --preset fuzz --log-level=WARNING
cmake --build --preset fuzz --target fuzz_targets
mkdir -p build/fuzz/crashes

coverage() { sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$1" | tail -1; }

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s _fuzz.cpp tests/fuzz/*_fuzz.cpp)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for target in "${targets[@]}"; do
  program=build/fuzz/bin/${target}_fuzz
  seeds=build/fuzz/seeds/$target
  rm -rf "$seeds"
  mkdir -p "$seeds" "build/fuzz/corpus/$target" build/fuzz/empty
  if [ "$target" = binlog ]; then
    for captured in tests/plugins/mysql_cdc/data/*.binlog.gz; do gzip -dc "$captured" >"$seeds/$(basename -s .binlog.gz "$captured")"; done
  else
    cp "tests/fuzz/corpus/$target"/* "$seeds"
  fi
  "$program" -runs=1 build/fuzz/empty >"$log" 2>&1 || { cat "$log"; exit 1; }
  door=$(coverage "$log")
  dictionary=()
  [ ! -f "tests/fuzz/$target.dict" ] || dictionary=("-dict=tests/fuzz/$target.dict")
  # The first folder is the one that grows.
  "$program" "${dictionary[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/crashes/$target-" "build/fuzz/corpus/$target" "$seeds" >"$log" 2>&1 ||
    { tail -60 "$log"; echo "fuzz.sh: $target failed" >&2; exit 1; }
  inside=$(coverage "$log")
  echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs in $seconds s, coverage $inside (an empty input: $door)"
  [ "$inside" -ge $((door * 3)) ] || { echo "fuzz.sh: $target does not get past its first checks" >&2; exit 1; }
done
