#!/usr/bin/env bash
# run.sh SLUICE OUT_DIR: runs the demo into OUT_DIR and compares its tables with what demo/oracle.py computed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mkdir -p "$2"
SLUICE=$1 scripts/demo.sh "$2" | tee "$2.log"
grep -qF "The tables are in $(cd "$2" && pwd -P)/warehouse.db; look around" "$2.log" || { echo "run.sh: the demo does not say where its tables are" >&2; exit 1; }
python3 bench/oracle.py check-tables demo/expected "$2/warehouse.db"
python3 bench/oracle.py check-windows demo/expected "$2/warehouse.db"
