#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test with the real servers; ends with ctest's summary.
#
#   scripts/test.sh [--long]      --long: the tests labelled `long` too
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

excluded=(-LE '^long$')
[ "${1:-}" != --long ] || excluded=()

log=$(mktemp)
finished=()
finish() {
  rm -f "$log"
  # ctest stops the servers itself unless it was interrupted.
  tests/services/clean.sh build/release/services >/dev/null 2>&1 || true
}
trap finish EXIT
trap 'exit 130' INT TERM

minutes() { awk -v s="$1" 'BEGIN { printf "%6.1f min", s / 60 }'; }

stage() {  # stage NAME COMMAND...
  local name=$1 from=$SECONDS
  shift
  echo "==== $name"
  "$@" || { echo "==== $name FAILED after $(minutes $((SECONDS - from)))" >&2; exit 1; }
  finished+=("$(minutes $((SECONDS - from)))  $name")
  echo "==== $name: $(minutes $((SECONDS - from)))"
}

build_release() {
  cmake --preset release --log-level=WARNING && cmake --build --preset release
}

run_tests() {
  ctest --test-dir build/release "${excluded[@]}" --output-on-failure --no-tests=error -j "$(nproc)" 2>&1 | tee "$log"
}

stage "dependencies" scripts/install-deps.sh build test
stage "release build" build_release
stage "address and undefined-behaviour sanitizer build" scripts/sanitizer-tests.sh asan --build-only
stage "thread sanitizer build" scripts/sanitizer-tests.sh tsan --build-only

result=0
from=$SECONDS
echo "==== tests"
run_tests || result=$?
finished+=("$(minutes $((SECONDS - from)))  tests, of which (tests run side by side)")

# From the last one on: a sanitizer's test that fails shows the summary of its own ctest.
summary=$(awk '/% tests passed/ { summary = "" } { summary = summary $0 "\n" } END { printf "%s", summary }' "$log")
# ctest counts the seconds of each label: `unit   =  12.34 sec*proc (56 tests)`.
while read -r label seconds count; do
  finished+=("$(minutes "$seconds")    $label ($count tests)")
done < <(sed -n 's/^\([a-z]*\) *= *\([0-9.]*\) sec\*proc (\([0-9]*\) tests*)$/\1 \2 \3/p' <<<"$summary")

echo
printf '%s\n' "${finished[@]}" "$(minutes "$SECONDS")  all"
echo
printf '%s\n' "$summary"
exit "$result"
