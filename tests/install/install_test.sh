#!/bin/bash
# install_test.sh BUILD_DIR SOURCE_DIR CXX
set -euo pipefail
build=$1 source=$2 cxx=$3
# Nothing of the caller's may help the installed program to find its plugins.
unset SLUICE_PLUGIN_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

echo "== install the SDK"
cmake --install "$build" --component sdk --prefix "$work/prefix" > "$work/install.log"
[ -x "$work/prefix/bin/sluice" ] && fail "the SDK component brings the host along"
template=$work/prefix/share/sluice/template
[ -f "$template/CMakeLists.txt" ] || fail "the template is not installed"
[ "$(wc -l < "$template/CMakeLists.txt")" -le 12 ] || fail "the template's CMakeLists.txt has more than 12 lines"

echo "== build the template outside of the tree"
cp -r "$template" "$work/my_op"
cd "$work/my_op"
env -u CPATH -u CPLUS_INCLUDE_PATH cmake -B build -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF > "$work/configure.log" || { cat "$work/configure.log"; fail "configure"; }
cmake --build build > "$work/build.log" 2>&1 || { cat "$work/build.log"; fail "build"; }
[ -f build/libfirst_seen.so ] || fail "no libfirst_seen.so"

# What was compiled in, by the compiler's own account.
mapfile -t used < <(find build -name '*.d' -exec cat {} + | tr ' \\' '\n\n' | grep '^/' | sort -u)
[ "${#used[@]}" -gt 0 ] || fail "the build left no dependency files"
for header in "${used[@]}"; do
  case $header in
    */boost/* | */rocksdb/* | */rapidjson/* | */yaml-cpp/* | */spdlog/*) fail "the plugin's build reads $header" ;;
    "$source"/*) fail "the plugin's build reads the source tree: $header" ;;
  esac
done
symbols=$(nm -D --defined-only build/libfirst_seen.so | awk '{print $3}')
[ "$symbols" = sluice_module_v0 ] || fail "the plugin exports: $symbols"

echo "== run its test"
ctest --test-dir build --output-on-failure > "$work/ctest.log" || { cat "$work/ctest.log"; fail "the template's test"; }

echo "== install the program with its plugins"
cmake --install "$build" --prefix "$work/all" > "$work/install-all.log"
sluice=$work/all/bin/sluice
for plugin in "$build"/lib/sluice/plugins/*.so; do
  [ -f "$work/all/lib/sluice/plugins/${plugin##*/}" ] || fail "${plugin##*/} is not installed"
done
"$sluice" plugins > "$work/plugins.log" || { cat "$work/plugins.log"; fail "an installed plugin does not load"; }
[ "$("$sluice" sdk path)" = "$work/all/share/sluice" ] || fail "sluice sdk path: $("$sluice" sdk path)"
diff -r "$template" "$("$sluice" sdk path)/template" || fail "the program's template is not the SDK's"

echo "== run its pipeline with the installed program alone"
"$sluice" validate pipeline.yaml
"$sluice" run pipeline.yaml
cat out/*.jsonl | sort > "$work/rows"
cat > "$work/expected" << 'ROWS'
{"user": "ann", "order": 1, "price": 20.00}
{"user": "bob", "order": 2, "price": 9007199254740993}
{"user": "小明", "order": 4, "price": 3}
ROWS
sort -o "$work/expected" "$work/expected"
diff "$work/expected" "$work/rows" || fail "the pipeline's rows"
echo ok
