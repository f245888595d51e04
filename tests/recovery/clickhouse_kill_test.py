#!/usr/bin/env python3
"""clickhouse_kill_test.py FOLDER TRIALS OUTAGES [SEED]: kill -9 of job DWS and of its ClickHouse server at random moments.

The upserted table, read with FINAL, must equal the oracle's windows row by row (`ts` aside): on the 18.16 server, and on
a 26.9 engine, where a second sink appends to a plain table exactly once, in many blocks a checkpoint. OUTAGES of the
engine are longer than that sink waits in a commit, while checkpoints go on; in every other one the job is killed, too.
"""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import dataset  # noqa: E402

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
        return subprocess.Popen([SLUICE, "run", self.folder / "job.yaml"], env=env, stdout=log, stderr=log)

    def newest_checkpoint(self):
        return max((int(m[1]) for p in self.folder.glob("checkpoints/*") if (m := re.fullmatch(r"chk-0*(\d+)", p.name))), default=0)

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


def trial(job, length):
    """One life of the job with what is done to it; says what that was."""
    done = []
    job.clean()
    for _ in range(random.randint(1, 2)):
        process = job.start(random.choice((1, 2, 3)))
        server = None
        if random.random() < 0.6:
            moment, down = round(random.uniform(0, length), 3), round(random.uniform(0, 0.5), 3)
            done.append(f"server at {moment} for {down}")
            server = kill_server(job.server, moment, down)
        if random.random() < 0.7 or server is None:
            moment = round(random.uniform(0, length), 3)
            done.append(f"job at {moment}")
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.wait()
        elif process.wait(timeout=300) != 0:
            raise AssertionError(f"exit code {process.returncode}\n{job.log()}")
        if server is not None:
            server.join()
    job.finish(job.start(2))
    return done


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
    checkpoint_before = job.newest_checkpoint()
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
    if not kill_job and (process.poll() is not None or job.newest_checkpoint() < checkpoint_before + 2):
        raise AssertionError(f"no checkpoints in the outage: {checkpoint_before}, then {job.newest_checkpoint()}\n{job.log()}")
    job.server.start()
    growth.thread.join()
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)  # one that is not up yet says that it is not
        process.wait(timeout=300)
    job.finish(job.start(2))
    return [done]


def main(folder, trials, outages, seed):
    print(f"seed {seed}", flush=True)
    random.seed(seed)
    for instance in ("utc", "engine"):
        server = Server(instance, folder)
        server.start("--fresh")
        try:
            job = Job(server, folder, ["upsert"] if instance == "utc" else ["upsert", "once"])
            job.clean()
            begin = time.monotonic()
            job.finish(job.start(2))
            length = time.monotonic() - begin
            job.check()
            print(f"{instance}: undisturbed in {length:.2f} s, equals the oracle ({len(job.want)} windows)", flush=True)
            cases = [lambda: trial(job, length)] * trials
            if instance == "engine":
                once = Job(server, folder, ["once"])
                cases += [lambda n=n: outage(once, n % 2 == 1) for n in range(outages)]
            for number, case in enumerate(cases):
                done = case()
                try:
                    (job if number < trials else once).check()
                except AssertionError as error:
                    raise AssertionError(f"{instance}: seed {seed}, killed {done}: {error}") from error
                print(f"{instance}: killed {', '.join(done)}: equal", flush=True)
        finally:
            server.script("clean", instance)


main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().randrange(2**32))
