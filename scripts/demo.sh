#!/usr/bin/env bash
# Runs both jobs on the bundled data with embedded parts only (files in, SQLite out) and shows the resulting tables.
#
#   scripts/demo.sh [OUT_DIR]      default demo-out, which is removed first
#
# SLUICE names another command than build/release/bin/sluice, which `make demo` builds first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sluice=${SLUICE:-build/release/bin/sluice}
[ -x "$sluice" ] || { echo "demo.sh: $sluice is not there; run 'make build'" >&2; exit 1; }
[ $# -le 1 ] || { echo "usage: scripts/demo.sh [OUT_DIR]" >&2; exit 64; }
export DEMO_OUT=${1:-demo-out}
database=$DEMO_OUT/warehouse.db

rm -rf "$DEMO_OUT"
mkdir -p "$DEMO_OUT"
for job in dim dws; do
  echo "---- sluice run demo/$job.yaml"
  "$sluice" run "demo/$job.yaml"
done

query() { sqlite3 -readonly "$@"; }
mapfile -t tables < <(query "$database" "select name from sqlite_master where type = 'table' order by name" |
  grep -E '^(dim_|dws_trade_cart_add_uu_window$)')
[ ${#tables[@]} -gt 0 ] || { echo "demo.sh: $database holds no table" >&2; exit 1; }

for table in "${tables[@]}"; do
  echo
  echo "$table: $(query "$database" "select count(*) from \"$table\"") rows"
  # Wide tables stay readable when long texts are cut.
  columns=$(query "$database" \
    "select group_concat('substr(\"' || name || '\", 1, 19) as \"' || name || '\"') from pragma_table_info('$table')")
  query -box "$database" "select $columns from \"$table\" order by 1 limit 3"
done
echo
echo "The tables are in $(realpath "$database"); look around with: sqlite3 -box $database 'select * from dim_base_trademark'"
dead_letters=$(find "$DEMO_OUT" -name '*.jsonl' -size +0 | sort)
[ -z "$dead_letters" ] || printf 'Rows that could not be used, each with its reason:\n%s\n' "$dead_letters"
