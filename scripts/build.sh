#!/usr/bin/env bash
# Installs what is missing and builds the release preset into build/release.
#
#   scripts/build.sh [--product]      --product: the command and its plugins only, no tests
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install-deps.sh build
cmake --preset release --log-level=WARNING
if [ "${1:-}" = --product ]; then
  cmake --build --preset release --target core/all plugins/all
else
  cmake --build --preset release
fi
