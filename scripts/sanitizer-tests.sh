#!/usr/bin/env bash
# Builds and runs the tests that a sanitizer watches.
#
#   scripts/sanitizer-tests.sh asan|tsan [--build-only]
#
#   asan   address and undefined-behaviour sanitizer over the unit and plugin tests (ctest labels unit, plugin)
#   tsan   thread sanitizer over the tests of runtime, state and checkpoints
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-}
case $preset in
  asan)
    targets=(unit_tests plugin_tests)
    chosen=(-L '^(unit|plugin)$')
    ;;
  tsan)
    targets=(tsan_tests)
    chosen=(-R '^(runtime|state|checkpoint)_test$')  # the targets behind tsan_tests
    ;;
  *)
    sed -n '3,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 64
    ;;
esac

cmake --preset "$preset" --log-level=WARNING
cmake --build --preset "$preset" --target "${targets[@]}"
[ "${2:-}" != --build-only ] || exit 0

# Without intercept_tls_get_addr=0 the leak check at the end may take a plugin's thread-local block for where it is not, and crash.
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:intercept_tls_get_addr=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp:second_deadlock_stack=1
# The thread sanitizer's shadow memory does not fit every address-space layout that newer kernels randomise to.
setarch -R ctest --test-dir "build/$preset" "${chosen[@]}" --output-on-failure --no-tests=error -j "$(nproc)"
