#!/usr/bin/env python3
"""What both jobs must make of demo/data, computed without Sluice.

  demo/oracle.py             write demo/expected
  demo/oracle.py --check     compare demo/expected with what would be written; exit code 1 when it differs

demo/expected has the form of bench/oracle.py's answers: `bench/oracle.py check-tables demo/expected demo-out/warehouse.db` and
`bench/oracle.py check-windows demo/expected demo-out/warehouse.db` compare a run with it.

The configuration is read to its end before the first change (the gate), so its final state applies to all changes.
"""
import collections
import datetime
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))
import oracle  # noqa: E402

OUT_OF_ORDER = datetime.timedelta(seconds=2)
WINDOW = datetime.timedelta(seconds=10)
FURTHEST = datetime.datetime(2100, 1, 1)  # anything later is further ahead than max_ahead


def readable(name, required=()):
    """The JSON objects of a file, numbers as text; lines that are none, or lack what is required, are left out."""
    for line in (HERE / "data" / name).read_bytes().split(b"\n"):
        try:
            record = oracle.numbers_as_text(line.decode("utf-8"))
        except ValueError:  # broken JSON, broken UTF-8, an empty line
            continue
        if isinstance(record, dict) and all(record.get(field) is not None for field in required):
            yield record


def final_config():
    config = {}
    for change in readable("table_process.jsonl"):
        row = change["after"] or change["before"]
        if change["op"] == "d":
            config.pop(row["source_table"], None)
        elif row["sink_columns"]:
            config[row["source_table"]] = row
    return config


def timed_cart_adds():
    for record in readable("cart_add.jsonl", required=["user_id"]):
        try:
            when = datetime.datetime.fromisoformat(record.get("operate_time") or record.get("create_time") or "")
        except ValueError:
            continue
        if when < FURTHEST:
            yield when, record["user_id"]


def windows_without_late_rows():
    first_of_day, counts = oracle.FirstOfDay(), collections.Counter()
    newest, late = datetime.datetime.min, 0
    for when, user in timed_cart_adds():
        newest = max(newest, when)
        if not first_of_day(user, when.date()):
            continue
        start = oracle.window_start(str(when))
        if datetime.datetime.fromisoformat(start) + WINDOW <= newest - OUT_OF_ORDER:
            late += 1
        else:
            counts[start] += 1
    return oracle.window_rows(counts), late


def lines(records):
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def expected_files():
    config = final_config()
    tables = oracle.final_tables(readable("topic_db.jsonl", required=["type"]), config)
    windows, late = windows_without_late_rows()
    return {
        "dim_config.jsonl": lines(config.values()),
        "expected_tables.jsonl": lines(oracle.table_lines(tables)),
        "expected_dws.jsonl": lines(windows),
        "summary.json": json.dumps({"rows": {t: len(tables[t]) for t in sorted(tables)}, "windows": len(windows),
                                    "counted_users": sum(w["cart_add_uu_ct"] for w in windows), "late": late}, indent=1) + "\n",
    }


def main():
    folder, differing = HERE / "expected", 0
    folder.mkdir(exist_ok=True)
    for name, content in expected_files().items():
        path = folder / name
        if sys.argv[1:] != ["--check"]:
            path.write_text(content, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != content:
            print(f"{path} differs from what demo/oracle.py computes")
            differing = 1
    return differing


if __name__ == "__main__":
    sys.exit(main())
