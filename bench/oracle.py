#!/usr/bin/env python3
"""The right answers of both jobs, computed from the plain input files and nothing of Sluice, and comparisons with them.

  oracle.py make DATA_DIR                       compute expected_{dim.json,tables.jsonl,dws.jsonl} from DATA_DIR's
                                                topic_db.jsonl, cart_add.jsonl and dim_config.jsonl
  oracle.py check-dim DATA_DIR < LINES          job DIM's output records, in any order, each exactly once
  oracle.py check-dws DATA_DIR < LINES          job DWS's output records, in any order, each window exactly once
  oracle.py check-tables DATA_DIR DATABASE      every row and column of every dimension table of an SQLite database
  oracle.py check-windows DATA_DIR DATABASE     every row of dws_trade_cart_add_uu_window of an SQLite database,
  oracle.py check-windows DATA_DIR JSONL...     or every line of these files

Exit code 0: equal. 1: different; the first differences are printed.

In tables, a number is the text it was written with, null and an absent field are NULL; an upsert changes the columns that came.
"""
import collections
import datetime
import hashlib
import json
import sqlite3
import sys

KEPT_TYPES = ("insert", "update", "bootstrap-insert")
WINDOW_TABLE = "dws_trade_cart_add_uu_window"
DIFFERENCES_SHOWN = 10
SQLITE_MAGIC = b"SQLite format 3\0"


# ---- job DIM

def sink_columns(config_row):
    return [c.strip() for c in config_row["sink_columns"].split(",")]


def sink_key(config_row):
    return config_row["sink_pk"] or "id"


def read_config(path):
    """{source_table: configuration row}"""
    with open(path, encoding="utf-8") as f:
        return {row["source_table"]: row for row in map(json.loads, f)}


def kept_changes(changes, config):
    """(configuration row, data) of each change that the row filter keeps."""
    for change in changes:
        row = config.get(change.get("table"))
        if row and change["type"] in KEPT_TYPES:
            yield row, change["data"]


def final_tables(changes, config):
    """{sink_table: {key: row}} after all changes; `changes` have numbers as text."""
    tables = {row["sink_table"]: {} for row in config.values()}
    for row, data in kept_changes(changes, config):
        columns = sink_columns(row)
        table = tables[row["sink_table"]]
        table.setdefault(data[sink_key(row)], {}).update((c, data[c]) for c in columns if c in data)
    return tables


def numbers_as_text(line):
    return json.loads(line, parse_float=str, parse_int=str)


def numbers_marked(line):
    """Numbers as text that no string is confused with: every digit counts."""
    return json.loads(line, parse_float=lambda n: "\0" + n, parse_int=lambda n: "\0" + n)


class Digest:
    """Of records in any order: their number and the sum of 64 bits of each one's hash."""

    def __init__(self):
        self.count = 0
        self.sum = 0

    def add(self, record):
        text = json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
        self.count += 1
        self.sum = (self.sum + int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")) % 2**64

    def as_json(self):
        return {"count": self.count, "digest": "%016x" % self.sum}


def dim_digest(changes, config):
    digest = Digest()
    for row, data in kept_changes(changes, config):
        columns = set(sink_columns(row))
        digest.add({k: v for k, v in data.items() if k in columns} | {"sink_table": row["sink_table"]})
    return digest


# ---- job DWS

def event_time_text(record):
    return record["operate_time"] or record["create_time"]


class FirstOfDay:
    """The course's daily dedup: true when the user's last date is missing or another one."""

    def __init__(self):
        self.last_date = {}

    def __call__(self, user, date):
        first = self.last_date.get(user) != date
        self.last_date[user] = date
        return first


def window_rows(counts):
    """{start text: count} -> rows in order of time."""
    rows = []
    for start in sorted(counts):
        end = datetime.datetime.fromisoformat(start) + datetime.timedelta(seconds=10)
        rows.append({"stt": start, "edt": str(end), "cart_add_uu_ct": counts[start]})
    return rows


def window_start(time_text):
    return time_text[:18] + "0"  # windows of ten seconds


def final_windows(records):
    """Windows of input in which nothing is late."""
    first_of_day, counts = FirstOfDay(), collections.Counter()
    for record in records:
        time_text = event_time_text(record)
        if first_of_day(record["user_id"], time_text[:10]):
            counts[window_start(time_text)] += 1
    return window_rows(counts)


# ---- files

def lines_of(path):
    with open(path, encoding="utf-8") as f:
        yield from f


def write_lines(path, records):
    with open(path, "w", encoding="utf-8") as f:
        for record in records:
            f.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_lines(path):
    return [json.loads(line) for line in lines_of(path)]


def table_lines(tables):
    """Final tables as lines of expected_tables.jsonl. A table without rows has one line without a row."""
    for table in sorted(tables):
        for key in sorted(tables[table]):
            yield {"table": table, "row": tables[table][key]}
        if not tables[table]:
            yield {"table": table}


def make(data_dir):
    config = read_config(f"{data_dir}/dim_config.jsonl")
    changes = f"{data_dir}/topic_db.jsonl"
    with open(f"{data_dir}/expected_dim.json", "w", encoding="utf-8") as f:
        json.dump(dim_digest(map(numbers_marked, lines_of(changes)), config).as_json(), f)
    tables = final_tables(map(numbers_as_text, lines_of(changes)), config)
    write_lines(f"{data_dir}/expected_tables.jsonl", table_lines(tables))
    write_lines(f"{data_dir}/expected_dws.jsonl", final_windows(map(json.loads, lines_of(f"{data_dir}/cart_add.jsonl"))))


# ---- comparisons: each returns what was compared and an iterator of differences

def check_dim(data_dir):
    with open(f"{data_dir}/expected_dim.json", encoding="utf-8") as f:
        want = json.load(f)
    digest = Digest()
    for line in sys.stdin.buffer:
        digest.add(numbers_marked(line))
    got = digest.as_json()
    return f"{got['count']} records", [f"expected {want}, got {got}"] if got != want else []


def window_differences(want, got):
    by_start = collections.defaultdict(list)
    for row in map(dict, got):
        window = {name: row.get(name) for name in ("stt", "edt", "cart_add_uu_ct")}
        by_start[window["stt"]].append(window)
    for row in want:
        same_start = by_start.pop(row["stt"], [])
        if same_start != [row]:
            yield f"window {row['stt']}: expected {row}, got {same_start or 'nothing'}"
    for start, rows in by_start.items():
        yield f"window {start}: not expected, got {rows}"


def check_dws(data_dir):
    want = read_lines(f"{data_dir}/expected_dws.jsonl")
    return f"{len(want)} windows", window_differences(want, map(json.loads, sys.stdin))


def is_sqlite(path):
    with open(path, "rb") as f:
        return f.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def open_database(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    return database


def check_windows(data_dir, *paths):
    want = read_lines(f"{data_dir}/expected_dws.jsonl")
    if len(paths) == 1 and is_sqlite(paths[0]):
        got = open_database(paths[0]).execute(f"select stt, edt, cart_add_uu_ct from {WINDOW_TABLE}").fetchall()
    else:
        got = [row for path in paths for row in read_lines(path)]
    return f"{len(want)} windows", window_differences(want, got)


def expected_tables(data_dir):
    tables = collections.defaultdict(list)
    for line in read_lines(f"{data_dir}/expected_tables.jsonl"):
        tables[line["table"]] += [line["row"]] if "row" in line else []
    return tables


def table_differences(database, config_row, want):
    table, key, columns = config_row["sink_table"], sink_key(config_row), sink_columns(config_row)
    have_columns = [row["name"] for row in database.execute("select name from pragma_table_info(?)", (table,))]
    if set(have_columns) != set(columns):
        yield f"{table}: expected columns {sorted(columns)}, got {sorted(have_columns) or 'no such table'}"
        return
    got = collections.defaultdict(list)
    for row in database.execute(f'select * from "{table}"'):
        got[row[key]].append(dict(row))
    for row in want:
        full = {c: row.get(c) for c in columns}
        same_key = got.pop(row[key], [])
        if len(same_key) != 1:
            yield f"{table} {key}={row[key]}: expected one row {full}, got {same_key or 'nothing'}"
            continue
        for column in columns:
            if full[column] != same_key[0][column]:
                yield f"{table} {key}={row[key]} {column}: expected {full[column]!r}, got {same_key[0][column]!r}"
    for value, rows in got.items():
        yield f"{table} {key}={value}: not expected, got {rows}"


def check_tables(data_dir, path):
    config, want, database = read_config(f"{data_dir}/dim_config.jsonl"), expected_tables(data_dir), open_database(path)

    def differences():
        for row in config.values():
            yield from table_differences(database, row, want[row["sink_table"]])

    return f"{sum(map(len, want.values()))} rows of {len(config)} tables", differences()


CHECKS = {"check-dim": check_dim, "check-dws": check_dws, "check-tables": check_tables, "check-windows": check_windows}


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in (*CHECKS, "make"):
        sys.exit(__doc__)
    if arguments[0] == "make":
        make(arguments[1])
        return 0
    compared, differences = CHECKS[arguments[0]](*arguments[1:])
    count = 0
    for difference in differences:
        count += 1
        if count <= DIFFERENCES_SHOWN:
            print(difference)
    print(f"{arguments[0]}: {'EQUAL' if count == 0 else f'DIFFERS ({count} differences)'}, {compared} expected")
    return 0 if count == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
