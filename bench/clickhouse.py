#!/usr/bin/env python3
"""clickhouse.py [ROWS]: rows a second from files through clickhouse.sink, beside bare inserts of ready-made bodies.

Both write windows of job DWS into the same kind of table on the same servers (18.16, and a 26.9 engine), client and server
on this machine. The bare inserts are what the servers can take from one connection: nothing is read, parsed or checked.
Sluice's figure is of the whole run, start and end included.
"""
import http.client
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
SLUICE = os.environ.get("SLUICE", str(ROOT / "build/release/bin/sluice"))
SCRIPT = ROOT / "tests/services/clickhouse/clickhouse.sh"
BATCH = 100_000
FIRST = 1709200800  # 2024-02-29 10:00:00 UTC
TABLE = ("(stt DateTime('UTC'), edt DateTime('UTC'), cart_add_uu_ct UInt64, ts UInt64) engine = ReplacingMergeTree(ts) "
         "partition by toYYYYMMDD(stt) order by (stt, edt)")


def window(i):
    start = FIRST + 10 * (i % 8000)
    return start, start + 10, i, 1700000000000 + i


def text(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def json_line(i):
    stt, edt, count, ts = window(i)
    return f'{{"stt":"{text(stt)}","edt":"{text(edt)}","cart_add_uu_ct":{count},"ts":{ts}}}\n'


BODIES = {
    "JSONEachRow": lambda: "".join(json_line(i) for i in range(BATCH)).encode(),
    "RowBinary": lambda: b"".join(struct.pack("<IIQQ", *window(i)) for i in range(BATCH)),
}


class Server:
    def __init__(self, instance, home):
        self.instance, self.home = instance, home

    def script(self, *arguments):
        return subprocess.run([SCRIPT, *arguments], env=dict(os.environ, CLICKHOUSE_HOME=str(self.home)), check=True, capture_output=True, text=True).stdout.strip()

    def __enter__(self):
        self.script("start", "--fresh", self.instance)
        self.address = self.script("address", self.instance)
        return self

    def __exit__(self, *_):
        self.script("clean", self.instance)

    def post(self, connection, query, body=b""):
        connection.request("POST", "/?" + urllib.parse.urlencode({"query": query}), body)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(content[:300])
        return content

    def fresh_table(self, name):
        connection = http.client.HTTPConnection(self.address)
        self.post(connection, f"drop table if exists {name}")
        self.post(connection, f"create table {name} {TABLE}")
        return connection


def bare(server, form, rows):
    body = BODIES[form]()
    connection = server.fresh_table("bare")
    begin = time.monotonic()
    for _ in range(rows // BATCH):
        server.post(connection, f"insert into bare format {form}", body)
    return rows / (time.monotonic() - begin)


def through_sluice(server, rows, out, parallelism):
    server.fresh_table("through").close()
    shutil.rmtree(out / "checkpoints", ignore_errors=True)
    env = dict(os.environ, OUT=str(out), CLICKHOUSE=server.address, TABLE="through", PARALLELISM=str(parallelism))
    begin = time.monotonic()
    subprocess.run([SLUICE, "run", BENCH / "clickhouse.yaml"], env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rate = rows / (time.monotonic() - begin)
    # The newest row of each window, by an answer that was not computed by the sink.
    want = sum(max(range(k, rows, 8000)) for k in range(min(8000, rows)))
    got = server.post(http.client.HTTPConnection(server.address), "select count(), sum(cart_add_uu_ct), min(stt), max(edt) from through final").decode().split("\t")
    if [int(got[0]), int(got[1])] != [min(8000, rows), want]:
        raise RuntimeError(f"the table holds {got}, expected {min(8000, rows)} windows with the sum {want}")
    return rate


def main(rows):
    out = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-clickhouse-"))
    try:
        (out / "rows").mkdir()
        for part in range(2):
            with open(out / "rows" / f"{part}.jsonl", "w", encoding="ascii") as f:
                f.writelines(json_line(i) for i in range(part, rows, 2))
        for instance in ("utc", "engine"):
            with Server(instance, out) as server:
                for form in BODIES:
                    print(f"{instance:7} bare inserts, {form:12} {bare(server, form, rows):12,.0f} rows/s", flush=True)
                for parallelism in (1, 2):
                    print(f"{instance:7} sluice, parallelism {parallelism}       {through_sluice(server, rows, out, parallelism):12,.0f} rows/s", flush=True)
    finally:
        shutil.rmtree(out)


main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000)
