#!/usr/bin/env python3
"""phoenix_kill_test.py FOLDER JOB_KILLS SERVER_KILLS [SEED]: job DIM into a real Phoenix, with kill -9 of the job, of the Query Server and
of HBase at random moments; after the last restart every row of every table is compared with the oracle.

The servers are those of phoenix.sh with PHOENIX_DATA; SERVER_KILLS is how often each of the two is killed. JOB_KILLS are counted that the
job goes on from, at a checkpoint with messages in it.
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

import jobs
from jobs import HERE, ROOT, dataset, oracle

sys.path.insert(0, str(ROOT / "tests/services/phoenix"))
import avatica  # noqa: E402

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
        self.starts = []  # where the log of each run begins
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "out").mkdir(parents=True)

    def start(self, parallelism):
        env = dict(os.environ, OUT=str(self.folder / "out"), PARALLELISM=str(parallelism), INTERVAL="200ms", BATCH_ROWS="128",
                   CONFIG=str(self.data / "dim_config.jsonl"), INPUT=str(self.input), SCHEMA=self.schema,
                   SERVERS="http://" + os.environ["PHOENIX"])
        with open(self.folder / "out" / "run.log", "ab") as log:
            self.starts.append(log.tell())
            return subprocess.Popen([SLUICE, "run", HERE / "phoenix.yaml"], env=env, stdout=log, stderr=log)

    def newest_checkpoint(self):
        return jobs.newest_checkpoint(self.folder / "out")

    def wait_for_checkpoint(self, process):
        """A new one of this run, or its end."""
        before = self.newest_checkpoint()

        def is_there():
            newest = self.newest_checkpoint()
            return process.poll() is not None or (newest and (before is None or newest.number > before.number))
        jobs.wait_for(is_there, "a checkpoint", 120)

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
    """One run of the job to its end, with these victims on the way. Gives how many of the job's kills count, and whether one came too late."""
    job.clean(name)
    process, history, newest = job.start(random.choice((1, 2, 3))), [], []
    starters = []
    try:
        for victim in victims:
            early = victim != "job" or random.random() < 0.2
            if not early:
                job.wait_for_checkpoint(process)
            moment = round(random.uniform(0, max(0.3, length / len(victims) * (1 if early else 0.5))), 2)
            history.append(f"{victim} {moment} s after the {'one before' if early else 'next checkpoint'}")
            time.sleep(moment)
            if victim == "job":
                if process.poll() is not None:
                    history[-1] = "the job was over"
                    continue
                process.send_signal(signal.SIGKILL)
                process.wait()
                newest.append(job.newest_checkpoint())
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
        went_on = jobs.went_on_from(newest, jobs.restored(job.folder / "out" / "run.log", job.starts))
        rows = job.check()
    except AssertionError as error:
        raise AssertionError(f"{'; '.join(history)}: {error}\n{job.log()}") from error
    counted = [c.messages("topic_db") for c in went_on if c and c.messages("topic_db") > 0]
    print(f"{'; '.join(history)}: went on behind {counted} messages, {rows} rows equal", flush=True)
    job.drop()
    return len(counted), "the job was over" in history


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
    number, most = 0, job_kills * 6 + server_kills
    while job_kills > 0 or server_kills > 0:
        victims = ["job"] * min(max(job_kills, 0), random.randint(1, 3))
        if server_kills > 0:
            victims += ["pqs", "hbase"]
            server_kills -= 1
        random.shuffle(victims)
        number += 1
        if number > most:
            raise AssertionError(f"seed {seed}: {job_kills} more kills of the job were wanted that it goes on from")
        try:
            counted, late = trial(job, name + str(number), victims, length)
            job_kills -= counted
            if late:  # the first run, which makes everything, is no measure for the others
                length = max(0.5, length * 0.7)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().randrange(2**32))
