#!/usr/bin/env bash
# operator_pages.sh SLUICE FOLDER: docs/operators/ is what `sluice describe --all` writes.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$2"
mkdir -p "$2"
"$1" describe --all --format markdown --out "$2"
diff -r "$root/docs/operators" "$2" || {
  echo "docs/operators is not up to date: build/release/bin/sluice describe --all --format markdown --out docs/operators" >&2
  exit 1
}
