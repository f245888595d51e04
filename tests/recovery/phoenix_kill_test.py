#!/usr/bin/env python3
"""phoenix_kill_test.py FOLDER JOB_KILLS SERVER_KILLS [SEED]: job DIM into a real Phoenix, with kill -9 of the job, of the Query Server and
of HBase at random moments; after the last restart every row of every table is compared with the oracle.

The servers are those of phoenix.sh with PHOENIX_DATA; SERVER_KILLS is how often each of the two is killed.
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/services/phoenix")]
import avatica  # noqa: E402
import dataset  # noqa: E402
import oracle  # noqa: E402

SLUICE = os.environ.get("SLUICE", str(ROOT / "build/release/bin/sluice"))
PHOENIX_SH = str(ROOT / "tests/services/phoenix/phoenix.sh")
MESSAGES = 20_000


def phoenix_sh(*arguments):
    done = subprocess.run([PHOENIX_SH, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"phoenix.sh {arguments}: {done.stdout}{done.stderr}")


def split_by_key(source, folder, parts):
    """Changes of one row stay in one file, in order."""
    folder.mkdir(parents=True)
    files = [open(folder / f"{i}.jsonl", "w", encoding="utf-8") for i in range(parts)]
    with open(source, encoding="utf-8") as lines:
        for line in lines:
            files[zlib.crc32(str(json.loads(line)["data"].get("id")).encode()) % parts].write(line)
    for f in files:
        f.close()


class Job:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.data = dataset.folder_of(MESSAGES)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.input = self.folder / "input"
        split_by_key(self.data / "topic_db.jsonl", self.input, 3)
        self.schema = None

    def clean(self, schema):
        self.schema = schema
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "out").mkdir(parents=True)

    def start(self, parallelism):
        env = dict(os.environ, OUT=str(self.folder / "out"), PARALLELISM=str(parallelism), INTERVAL="200ms", BATCH_ROWS="128",
                   CONFIG=str(self.data / "dim_config.jsonl"), INPUT=str(self.input), SCHEMA=self.schema,
                   SERVERS="http://" + os.environ["PHOENIX"])
        with open(self.folder / "out" / "run.log", "ab") as log:
            return subprocess.Popen([SLUICE, "run", HERE / "phoenix.yaml"], env=env, stdout=log, stderr=log)

    def finish(self, process):
        if process.wait(timeout=300) != 0:
            raise AssertionError(f"exit code {process.returncode}\n{self.log()}")

    def log(self):
        return (self.folder / "out" / "run.log").read_text(errors="replace")[-3000:]

    def check(self):
        config, want = oracle.read_config(f"{self.data}/dim_config.jsonl"), oracle.expected_tables(self.data)
        client = avatica.Client(os.environ["PHOENIX"])
        rows = 0
        for row in config.values():
            table, columns, key = row["sink_table"], oracle.sink_columns(row), oracle.sink_key(row)
            expected = {r[key]: r for r in want[table]}
            quoted = ", ".join(f'"{c.upper()}"' for c in columns)
            got = {}
            if expected or client.query(f"select 1 from SYSTEM.CATALOG where TABLE_SCHEM = '{self.schema}' and TABLE_NAME = '{table.upper()}' limit 1"):
                for values in client.query(f'select {quoted} from {self.schema}."{table.upper()}"'):
                    got[values[columns.index(key)]] = dict(zip(columns, values))
            for value, r in expected.items():
                full = {c: r.get(c) or None for c in columns}  # Phoenix: an empty text is NULL
                if got.pop(value, None) != full:
                    raise AssertionError(f"{table} {key}={value}: expected {full}, got another row or none")
            if got:
                raise AssertionError(f"{table}: not expected: {list(got.items())[:3]}")
            rows += len(expected)
        letters = list((self.folder / "out" / "dead-letters").glob("*.jsonl"))
        if any(p.stat().st_size for p in letters):
            raise AssertionError("there are dead letters: " + letters[0].read_text()[:500])
        client.close()
        return rows

    def drop(self):
        client = avatica.Client(os.environ["PHOENIX"])
        client.auto_commit(True)
        for (table,) in client.query(f"select distinct TABLE_NAME from SYSTEM.CATALOG where TABLE_SCHEM = '{self.schema}' and TABLE_TYPE = 'u'"):
            client.execute(f'drop table {self.schema}."{table}"')
        client.execute(f"drop schema if exists {self.schema}")
        client.close()


def trial(job, name, victims, length):
    """One run of the job to its end, with these victims on the way."""
    job.clean(name)
    process, history = job.start(random.choice((1, 2, 3))), []
    starters = []
    for victim in victims:
        moment = round(random.uniform(0.2, max(0.5, length / len(victims))), 2)
        history.append(f"{victim} after {moment} s")
        time.sleep(moment)
        if victim == "job":
            process.send_signal(signal.SIGKILL)
            process.wait()
            process = job.start(random.choice((1, 2, 3)))
            continue
        for s in starters:
            s.join()
        phoenix_sh("kill", victim)
        pause = random.uniform(0, 3)
        starters.append(threading.Thread(target=lambda p=pause: (time.sleep(p), phoenix_sh("start"))))
        starters[-1].start()
    for s in starters:
        s.join()
    job.finish(process)
    try:
        rows = job.check()
    except AssertionError as error:
        raise AssertionError(f"{'; '.join(history)}: {error}\n{job.log()}") from error
    print(f"{'; '.join(history)}: {rows} rows equal", flush=True)
    job.drop()


def main(folder, job_kills, server_kills, seed):
    print(f"seed {seed}", flush=True)
    random.seed(seed)
    job = Job(folder)
    name = f"R{os.getpid()}_"
    job.clean(name + "0")
    begin = time.monotonic()
    job.finish(job.start(2))
    length = time.monotonic() - begin
    print(f"undisturbed in {length:.2f} s: {job.check()} rows equal", flush=True)
    job.drop()
    number = 0
    while job_kills > 0 or server_kills > 0:
        victims = ["job"] * min(job_kills, random.randint(1, 3))
        job_kills -= len(victims)
        if server_kills > 0:
            victims += ["pqs", "hbase"]
            server_kills -= 1
        random.shuffle(victims)
        number += 1
        trial(job, name + str(number), victims, length)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().randrange(2**32))
