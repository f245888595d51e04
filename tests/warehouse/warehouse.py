"""The whole warehouse on its real servers: MySQL and Kafka in, Phoenix and ClickHouse out, and both jobs as pipelines/ has them.

Addresses come from the servers' scripts (KAFKA, MYSQL8, PHOENIX, CLICKHOUSE_UTC, CLICKHOUSE_SHANGHAI). Tables are read back by
SQL and compared with the oracle's, row by row.
"""
import atexit
import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/services/phoenix")]
import avatica  # noqa: E402
import dataset  # noqa: E402,F401
import oracle  # noqa: E402

SLUICE = os.environ.get("SLUICE", str(ROOT / "build/release/bin/sluice"))
KLOAD = os.environ.get("KLOAD", str(ROOT / "build/release/bench/kload"))
SERVICES = ROOT / "tests/services"
WINDOW_TABLE = oracle.WINDOW_TABLE

TABLE_PROCESS = """
create table table_process (
  source_table varchar(200) not null primary key comment 'table of the changes',
  sink_table varchar(200) comment 'table of the warehouse',
  sink_columns varchar(2000) comment 'columns to keep, with commas between them',
  sink_pk varchar(200) comment 'key columns; empty: id',
  sink_extend varchar(200) comment 'options of the table'
) default charset = utf8mb4"""


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_for(condition, what, seconds=120):
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.1)


# ---- servers

class Server:
    """One of the servers, through its script: can be killed and brought back."""

    def __init__(self, name, script, *kill, start=("start",)):
        self.name, self.script, self.kill_arguments, self.start_arguments = name, SERVICES / script, kill, start

    def kill(self):
        run(self.script, *self.kill_arguments)

    def start(self):
        run(self.script, *self.start_arguments)


SERVERS = {server.name: server for server in (
    Server("kafka", "kafka/kafka.sh", "kill"),
    Server("mysql", "mysql/mysql.sh", "mysql8", "kill", start=("mysql8", "start")),
    Server("query server", "phoenix/phoenix.sh", "kill", "pqs"),
    Server("hbase", "phoenix/phoenix.sh", "kill", "hbase"),
    Server("clickhouse", "clickhouse/clickhouse.sh", "kill", "utc", start=("start", "utc")),
)}


def mysql(*statements):
    return run(SERVICES / "mysql/mysql.sh", "mysql8", "sql", "--default-character-set=utf8mb4", "-N", "-e", ";\n".join(statements))


def quoted(value):
    return "null" if value is None else "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def rule_sql(database, row):
    names = ("source_table", "sink_table", "sink_columns", "sink_pk", "sink_extend")
    return f"replace into {database}.table_process ({', '.join(names)}) values ({', '.join(quoted(row[n]) for n in names)})"


def make_rules(database, rows):
    mysql(f"drop database if exists {database}", f"create database {database}", f"use {database}", TABLE_PROCESS,
          *(rule_sql(database, row) for row in rows))


def make_topic(name, partitions=4):
    run(SERVICES / "kafka/kafka.sh", "topic", name, partitions)


def load(topic, path, by, partitions=4):
    """Sends a file's lines; `by` is the column that they are spread by."""
    run(KLOAD, os.environ["KAFKA"], topic, path, by, partitions)


def clickhouse(sql, address=None):
    """Rows of a query, as objects."""
    url = f"http://{address or os.environ['CLICKHOUSE_UTC']}/?output_format_json_quote_64bit_integers=0"
    with urllib.request.urlopen(urllib.request.Request(url, data=f"{sql} format JSONEachRow".encode()), timeout=60) as answer:
        return [json.loads(line) for line in answer.read().decode().splitlines()]


def clickhouse_do(sql, address=None):
    with urllib.request.urlopen(f"http://{address or os.environ['CLICKHOUSE_UTC']}/", data=sql.encode(), timeout=60) as answer:
        answer.read()


# ---- jobs

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Job:
    """pipelines/NAME.yaml with its variables set."""

    def __init__(self, name, folder, **variables):
        self.name, self.folder, self.variables = name, pathlib.Path(folder), variables
        self.process = self.port = None
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def start(self, parallelism=2):
        host, port = os.environ["MYSQL8"].split(":")
        env = dict(os.environ, MYSQL_HOST=host, MYSQL_PORT=port, MYSQL_USER="cdc", MYSQL_PASSWORD="cdcpw",
                   PHOENIX="http://" + os.environ["PHOENIX"], CLICKHOUSE="http://" + os.environ["CLICKHOUSE_UTC"],
                   CHECKPOINTS=str(self.folder / "checkpoints"), DEAD_LETTERS=str(self.folder / "dead-letters"),
                   PARALLELISM=str(parallelism)) | self.variables
        self.port = free_port()
        log = open(self.folder / "run.log", "ab")
        self.process = subprocess.Popen([SLUICE, "run", "--metrics", str(self.port), ROOT / f"pipelines/{self.name}.yaml"],
                                        env=env, stdout=log, stderr=log)
        atexit.register(self.process.kill)  # nothing outlives a test that fails

    def progress(self):
        """What /progress says; nothing while the job is not up."""
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name}: it ended, exit code {self.process.returncode}\n{self.log()}")
        with contextlib.suppress(OSError, urllib.error.URLError, ValueError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/progress", timeout=5) as answer:
                return json.load(answer)
        return {"operators": [], "splits": []}

    def has_read_all(self, source, partitions=4):
        splits = [s for s in self.progress()["splits"] if s["source"] == source]
        return len(splits) == partitions and all(s["caught_up"] and s["lag"] == 0 for s in splits)

    def counter(self, operator, name):
        for entry in self.progress()["operators"]:
            if entry["id"] == operator:
                return entry["counters"].get(name, 0)
        return 0

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=120):
        """A graceful end: everything that was read is in the sink, and in a checkpoint."""
        self.process.send_signal(signal.SIGTERM)
        self.finish(seconds)

    def finish(self, seconds=300):
        if self.process.wait(timeout=seconds) != 0:
            raise AssertionError(f"{self.name}: exit code {self.process.returncode}\n{self.log()}")

    def log(self):
        return (self.folder / "run.log").read_text(errors="replace")[-4000:]

    def dead_letters(self):
        return [json.loads(line) for path in sorted((self.folder / "dead-letters").rglob("*.jsonl")) for line in open(path, encoding="utf-8")]


# ---- what the warehouse holds

def phoenix_copy(schema, tables, path):
    """Phoenix's tables as an SQLite file, names in lower case: what the oracle compares."""
    pathlib.Path(path).unlink(missing_ok=True)
    client = avatica.Client(os.environ["PHOENIX"])
    with contextlib.closing(client), contextlib.closing(sqlite3.connect(path)) as copy:
        for table in tables:
            labels, rows = client.execute(f'select * from "{schema}"."{table.upper()}"')
            copy.execute(f'create table "{table}" ({", ".join(chr(34) + label.lower() + chr(34) for label in labels)})')
            copy.executemany(f'insert into "{table}" values ({", ".join("?" * len(labels))})', rows)
        copy.commit()
    database = oracle.open_database(path)
    return database


def check_tables(schema, config, tables, path):
    """`tables`: {sink_table: {key: row}} as oracle.final_tables gives them. Phoenix has no empty text: it is NULL there."""
    want = {table: [{c: None if v == "" else v for c, v in row.items()} for row in rows.values()] for table, rows in tables.items()}
    with contextlib.closing(phoenix_copy(schema, [row["sink_table"] for row in config], path)) as database:
        differences = [d for row in config for d in oracle.table_differences(database, row, want.get(row["sink_table"], []))]
    if differences:
        raise AssertionError(f"{len(differences)} differences in Phoenix:\n" + "\n".join(differences[:10]))


def check_windows(want, database, address=None):
    rows = clickhouse(f"select stt, edt, cart_add_uu_ct from {database}.{WINDOW_TABLE} final", address)
    differences = list(oracle.window_differences(want, rows))
    if differences:
        raise AssertionError(f"{len(differences)} differences in ClickHouse:\n" + "\n".join(map(str, differences[:10])))


def expected_tables(data):
    """{sink_table: {key: row}} that oracle.py made for a folder of data."""
    config = oracle.read_config(f"{data}/dim_config.jsonl")
    tables = collections.defaultdict(dict)
    keys = {row["sink_table"]: oracle.sink_key(row) for row in config.values()}
    for line in oracle.read_lines(f"{data}/expected_tables.jsonl"):
        if "row" in line:
            tables[line["table"]][line["row"][keys[line["table"]]]] = line["row"]
    return list(config.values()), tables
