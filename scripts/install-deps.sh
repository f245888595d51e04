#!/usr/bin/env bash
# Installs what Sluice needs from Debian 12's own packages; does nothing, quickly, when all of it is there.
#
#   scripts/install-deps.sh [GROUP...]      groups: build (default), test, fuzz, bench, format
#
#   build   compiler, CMake, the libraries that Sluice links, and the tools that the demo shows its tables with
#   test    what runs the real servers of the integration tests: Java 17 or newer, Maven, kcat, jq, MariaDB, ClickHouse's
#           libraries, Python's venv
#   fuzz    clang with libFuzzer
#   bench   what builds and runs the Flink side of the benchmark: a JDK, Maven, kcat, Python's venv
#   format  clang-format
#
# Needs root, or sudo, only when something is missing.
set -euo pipefail

declare -A groups=(
  [build]="build-essential cmake ninja-build ccache pkg-config make
    libboost-dev libyaml-cpp-dev librdkafka-dev rapidjson-dev librocksdb-dev catch2 libsimdjson-dev libcli11-dev
    libspdlog-dev libfmt-dev libsqlite3-dev libcpp-httplib-dev prometheus-cpp-dev libhowardhinnant-date-dev
    libcurl4-openssl-dev libmariadb-dev libprotobuf-dev protobuf-compiler libssl-dev zlib1g-dev tzdata sqlite3 python3"
  [test]="java maven kcat util-linux mariadb-server mariadb-client libaio1 libnuma1 unzip
    clickhouse-common python3-venv openssl curl jq"
  [fuzz]="clang-14 libclang-rt-14-dev"
  [bench]="jdk maven kcat python3-venv"
  [format]="clang-format"
)

# A Java that is already there, from wherever it came, is as good as Debian's.
java_major() {
  command -v "$1" >/dev/null || { echo 0; return; }
  "$1" -version 2>&1 | sed -n 's/^[a-z]* *\(version \)\{0,1\}"\{0,1\}\([0-9]*\).*/\2/p' | head -1
}

wanted=()
for group in "${@:-build}"; do
  [[ -v "groups[$group]" ]] || { echo "install-deps.sh: no group '$group' (have: ${!groups[*]})" >&2; exit 64; }
  for package in ${groups[$group]}; do
    case $package in
      java) [ "$(java_major java)" -ge 17 ] || wanted+=(default-jre-headless) ;;
      jdk) [ "$(java_major javac)" -ge 17 ] || wanted+=(default-jdk-headless) ;;
      maven) command -v mvn >/dev/null || wanted+=(maven) ;;
      kcat) command -v kcat >/dev/null || wanted+=(kcat) ;;
      *) wanted+=("$package") ;;
    esac
  done
done
[ ${#wanted[@]} -gt 0 ] || exit 0

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps.sh: this is not a Debian system; install these yourself: ${wanted[*]}" >&2
  exit 1
fi
# dpkg-query fails for names it has never heard of; those are missing as well.
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' || true)
mapfile -t missing < <(printf '%s\n' "${wanted[@]}" | sort -u | grep -vxFf <(printf '%s\n' "$installed" | sort -u) || true)
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
else
  echo "install-deps.sh: these packages are missing and need root (or sudo) to be installed:" >&2
  echo "  apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
