#!/usr/bin/env python3
"""phoenix.py [ROWS] [ROUNDS]: upserts a second into a real Phoenix, by `sluice run` and by a plain client, in turns.

Run it with a server of its own:  PHOENIX_JVM_OPTIONS= tests/services/phoenix/phoenix.sh start
                                  tests/services/phoenix/phoenix.sh exec bench/phoenix.py

The plain client does what the sink does (executeBatch of 1,000 rows, commit, one connection) and nothing else: its requests are
made before the clock starts. Sluice reads the same rows from a file; its time is that of the whole process, from start to exit.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/services/phoenix"))
import avatica  # noqa: E402
from avatica import chunk, number, typed  # noqa: E402

SLUICE = os.environ.get("SLUICE", str(ROOT / "build/release/bin/sluice"))
BATCH = 1000
TABLE = "SLUICE_BENCH.UPSERTS"
PIPELINE = """
pipeline: bench_phoenix
checkpoint: { dir: "${OUT}/checkpoints", interval: 5s }
operators:
  - id: rows
    use: file.source
    with: { path: "${OUT}/rows.jsonl" }
  - id: phoenix
    use: phoenix.sink
    input: rows
    with: { servers: ["${PHOENIX}"], schema: SLUICE_BENCH, table: upserts, create: false }
"""


def row(i):
    return {"id": f"key-{i:08d}", "a": "some text of a usual length", "b": "你好", "n": i, "d": "1234.56"}


def make_table(client):
    client.execute("create schema if not exists SLUICE_BENCH")
    client.execute(f"drop table if exists {TABLE}")
    client.execute(f"create table {TABLE} (id varchar primary key, a varchar, b varchar, n bigint, d decimal(16,2)) SALT_BUCKETS = 3")


def plain(rows, server):
    batches = []
    for begin in range(0, rows, BATCH):
        updates = b""
        for i in range(begin, min(rows, begin + BATCH)):
            r = row(i)
            values = (r["id"], r["a"], r["b"], r["n"], avatica.Decimal(r["d"]))
            updates += chunk(3, b"".join(chunk(1, typed(v)) for v in values))
        batches.append((updates, min(rows, begin + BATCH) - begin))
    client = avatica.Client(server)
    statement = client.prepare(f"upsert into {TABLE} (ID, A, B, N, D) values (?, ?, ?, ?, ?)")
    head = chunk(1, client.id) + number(2, statement)
    begin = time.monotonic()
    for updates, n in batches:
        counts = avatica.packed(avatica.first(client.call("ExecuteBatchRequest", head + updates), 3))
        if counts != [1] * n:
            raise AssertionError("rows were lost")
        client.commit()
    seconds = time.monotonic() - begin
    client.close()
    return seconds


def sluice(folder, server):
    env = dict(os.environ, OUT=str(folder), PHOENIX=server)
    begin = time.monotonic()
    done = subprocess.run([SLUICE, "run", folder / "bench.yaml"], env=env, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    subprocess.run(["rm", "-rf", folder / "checkpoints"], check=True)
    return seconds


def main(rows=100_000, rounds=3):
    server = os.environ["PHOENIX"]
    client = avatica.Client(server)
    client.auto_commit(True)
    shares = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bench.yaml").write_text(PIPELINE)
        with open(folder / "rows.jsonl", "w", encoding="utf-8") as f:
            for i in range(rows):
                f.write(json.dumps(row(i), ensure_ascii=False) + "\n")
        make_table(client)
        plain(min(rows, 20_000), server)  # warm up
        for round_number in range(1, rounds + 1):
            rates = {}
            for who, run in (("plain client", lambda: plain(rows, server)), ("sluice", lambda: sluice(folder, server))):
                make_table(client)
                rates[who] = rows / run()
                there = client.query(f"select count(*) from {TABLE}")[0][0]
                if there != rows:
                    raise AssertionError(f"{who}: {there} rows of {rows}")
                print(f"round {round_number}: {who:12s} {rates[who]:8.0f} upserts/s  load {os.getloadavg()[0]:.1f}", flush=True)
            shares.append(rates["sluice"] / rates["plain client"])
    client.execute(f"drop table {TABLE}")
    print("sluice / plain client: " + ", ".join(f"{100 * s:.0f} %" for s in shares))


main(*map(int, sys.argv[1:]))
