#!/usr/bin/env python3
"""clickhouse_kill_test.py FOLDER KILLS OUTAGES [SEED]: kill -9 of job DWS and of its ClickHouse server at random moments.

Messages come while that happens. Of the job's kills those count after which it goes on from a checkpoint with messages in it.
The upserted table, read with FINAL, must equal the oracle's windows row by row (`ts` aside): on the 18.16 server, and on
a 26.9 engine, where a second sink appends to a plain table exactly once, in many blocks a checkpoint. OUTAGES of the
engine are longer than that sink waits in a commit, while checkpoints go on; in every other one the job is killed, too.
"""
import collections
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
import urllib.request

import jobs
from jobs import HERE, ROOT, dataset

SLUICE = os.environ.get("SLUICE", str(ROOT / "build/release/bin/sluice"))
SCRIPT = ROOT / "tests/services/clickhouse/clickhouse.sh"
TABLE = "dws_trade_cart_add_uu_window"


class Server:
    """A ClickHouse of this test's own, since it is killed."""

    def __init__(self, instance, folder):
        self.instance, self.home = instance, folder / "servers"

    def script(self, *arguments):
        done = subprocess.run([SCRIPT, *arguments], env=dict(os.environ, CLICKHOUSE_HOME=str(self.home)), capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"clickhouse.sh {arguments}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def start(self, *options):
        self.script("start", *options, self.instance)
        self.address = self.script("address", self.instance)

    def kill(self):
        self.script("kill", self.instance)

    def sql(self, query):
        request = urllib.request.Request(f"http://{self.address}/", data=query.encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()


class Job:
    def __init__(self, server, folder, sinks):
        self.server, self.folder = server, folder / server.instance
        self.sinks = sinks
        self.tables = {"upsert": TABLE, "once": "dws_once"}
        self.all_data = self.data = dataset.folder_of(20_000)
        with open(self.data / "expected_dws.jsonl", encoding="utf-8") as f:
            self.want = collections.Counter((w["stt"], w["edt"], w["cart_add_uu_ct"]) for w in map(json.loads, f))

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.starts = []  # where the log of each run begins
        parts = [HERE / f"clickhouse_{name}.yaml" for name in ["dws", *self.sinks]]
        (self.folder / "job.yaml").write_text("".join(p.read_text() for p in parts))
        for table in [*self.tables.values(), "_sluice_epochs"]:
            self.server.sql(f"drop table if exists {table}")

    def rows(self, table):
        return int(self.server.sql(f"select count() from {table}")) if self.server.sql(f"exists table {table}").strip() == "1" else 0

    def start(self, parallelism, follow=False):
        """Reads what there is to its end, or goes on with what comes."""
        env = dict(os.environ, CLICKHOUSE=self.server.address, OUT=str(self.folder), DATA=str(self.data),
                   FOLLOW="true" if follow else "false", PARALLELISM=str(parallelism))
        log = open(self.folder / "run.log", "ab")
        self.starts.append(log.tell())
        return subprocess.Popen([SLUICE, "run", self.folder / "job.yaml"], env=env, stdout=log, stderr=log)

    def newest_number(self):
        newest = jobs.newest_checkpoint(self.folder)
        return newest.number if newest else 0

    def wait_for_checkpoint(self, process, after):
        def is_there():
            if process.poll() is not None:
                raise AssertionError(f"exit code {process.returncode}\n{self.log()}")
            return self.newest_number() > after
        jobs.wait_for(is_there, f"a checkpoint after {after}", 120)

    def finish(self, process):
        if process.wait(timeout=300) != 0:
            raise AssertionError(f"exit code {process.returncode}\n{self.log()}")

    def log(self):
        return (self.folder / "run.log").read_text(errors="replace")[-3000:]

    def check(self):
        for table in (self.tables[sink] for sink in self.sinks):
            final = "final" if table == TABLE else ""
            lines = self.server.sql(f"select stt, edt, cart_add_uu_ct from {table} {final} order by stt, edt").splitlines()
            got = collections.Counter((stt, edt, int(n)) for stt, edt, n in (line.split("\t") for line in lines))
            if got != self.want:
                raise AssertionError(f"{table}: missing {list((self.want - got).items())[:3]}, too many {list((got - self.want).items())[:3]}\n{self.log()}")
        letters = [p for p in self.folder.glob("dead-letters/**/*") if p.is_file() and p.stat().st_size > 0]
        if letters:
            raise AssertionError(f"dead letters: {letters[0].read_text()[:500]}")


def kill_server(server, moment, down):
    """Kills the server after `moment` seconds and starts it again `down` seconds later; gives the thread."""
    def run():
        time.sleep(moment)
        server.kill()
        time.sleep(down)
        server.start()
    thread = threading.Thread(target=run)
    thread.start()
    return thread


class Growth:
    """The messages come within `seconds`."""

    def __init__(self, job, seconds):
        job.data = job.folder / "data"
        job.data.mkdir()
        self.file = job.data / "cart_add.jsonl"
        lines = (job.all_data / "cart_add.jsonl").read_bytes().splitlines(keepends=True)
        self.thread = threading.Thread(target=self.run, args=(lines, seconds))
        self.thread.start()

    def run(self, lines, seconds):
        steps = int(seconds * 20)
        with open(self.file, "ab") as f:
            for step in range(steps):
                f.writelines(lines[len(lines) * step // steps:len(lines) * (step + 1) // steps])
                f.flush()
                time.sleep(seconds / steps)


def trial(job):
    """Some lives of the job with what is done to them. Says what that was, and how many kills count."""
    job.clean()
    lives = random.randint(1, 3)
    growth = Growth(job, 1.5 * lives)
    done, newest, killed = [], [], []
    for life in range(lives):
        after = job.newest_number()
        process = job.start(random.choice((1, 2, 3)), follow=True)
        server = None
        if random.random() < 0.6:
            moment, down = round(random.uniform(0, 1.5), 3), round(random.uniform(0, 0.5), 3)
            done.append(f"server at {moment} for {down}")
            server = kill_server(job.server, moment, down)
        early = random.random() < 0.2
        if not early:
            job.wait_for_checkpoint(process, after)
        moment = round(random.uniform(0, 0.7), 3)
        time.sleep(moment)
        if process.poll() is not None:
            raise AssertionError(f"exit code {process.returncode}\n{job.log()}")
        # A server's kill is enough for some lives; the last one ends by a kill, so that there is one.
        killed.append(life == lives - 1 or server is None or random.random() < 0.7)
        done.append(f"job {'killed' if killed[-1] else 'stopped'} {moment} after its {'start' if early else 'first checkpoint'}")
        if server is not None and not killed[-1]:
            server.join()
        process.send_signal(signal.SIGKILL if killed[-1] else signal.SIGTERM)
        process.wait(timeout=300)
        newest.append(jobs.newest_checkpoint(job.folder))
        if server is not None:
            server.join()
    growth.thread.join()
    job.finish(job.start(2))
    went_on = jobs.went_on_from(newest, jobs.restored(job.folder / "run.log", job.starts))
    counted = [c.messages("cart_add") for c, by_kill in zip(went_on, killed) if by_kill and c and c.messages("cart_add") > 0]
    return done + [f"went on behind {counted} messages"], len(counted)


def outage(job, kill_job):
    """The server is away for longer than a commit waits, while messages and checkpoints go on."""
    job.clean()
    growth = Growth(job, 7)
    process = job.start(random.choice((1, 2, 3)), follow=True)
    begin, down = time.monotonic(), round(random.uniform(3.5, 5), 2)
    while job.rows("dws_once") == 0:
        if process.poll() is not None or time.monotonic() > begin + 60:
            raise AssertionError(f"no rows\n{job.log()}")
        time.sleep(0.05)
    time.sleep(random.uniform(0, 2))
    in_before = job.rows("dws_once")
    checkpoint_before = job.newest_number()
    job.server.kill()
    away_until = time.monotonic() + down
    done = f"server after {in_before} rows for {down}"
    if kill_job:
        time.sleep(random.uniform(0, down))
        process.send_signal(signal.SIGKILL)
        process.wait()
        done += f", job {away_until - time.monotonic():.2f} before its end"
        if random.random() < 0.5:
            process = job.start(random.choice((1, 2, 3)), follow=True)
    time.sleep(max(0, away_until - time.monotonic()))
    if not kill_job and (process.poll() is not None or job.newest_number() < checkpoint_before + 2):
        raise AssertionError(f"no checkpoints in the outage: {checkpoint_before}, then {job.newest_number()}\n{job.log()}")
    job.server.start()
    growth.thread.join()
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)  # one that is not up yet says that it is not
        process.wait(timeout=300)
    job.finish(job.start(2))
    return [done], 0


def main(folder, kills, outages, seed):
    print(f"seed {seed}", flush=True)
    random.seed(seed)
    for instance in ("utc", "engine"):
        server = Server(instance, folder)
        server.start("--fresh")
        try:
            job = Job(server, folder, ["upsert"] if instance == "utc" else ["upsert", "once"])
            job.clean()
            job.finish(job.start(2))
            job.check()
            print(f"{instance}: undisturbed, equals the oracle ({len(job.want)} windows)", flush=True)

            def run(of, case):
                try:
                    done, counted = case()
                    of.check()
                except AssertionError as error:
                    raise AssertionError(f"{instance}: seed {seed}: {error}\n{of.log()}") from error
                print(f"{instance}: {', '.join(done)}: equal", flush=True)
                return counted

            counted = trials = 0
            while counted < kills:
                trials += 1
                if trials > 3 * kills:
                    raise AssertionError(f"{instance}: seed {seed}: only {counted} kills after which the job went on behind messages")
                counted += run(job, lambda: trial(job))
            if instance == "engine":
                once = Job(server, folder, ["once"])
                for number in range(outages):
                    run(once, lambda: outage(once, number % 2 == 1))
        finally:
            server.script("clean", instance)


main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().randrange(2**32))
