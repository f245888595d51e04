#!/usr/bin/env bash
# generated.sh OUT_DIR: the committed demo data and its expected results are exactly what the generators write.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python3 demo/make_data.py "$1"
diff -rq demo/data "$1"
python3 demo/oracle.py --check
