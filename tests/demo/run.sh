#!/usr/bin/env bash
# run.sh SLUICE OUT_DIR: runs the demo into OUT_DIR and compares its tables with what demo/oracle.py computed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
SLUICE=$1 scripts/demo.sh "$2"
python3 bench/oracle.py check-tables demo/expected "$2/warehouse.db"
python3 bench/oracle.py check-windows demo/expected "$2/warehouse.db"
