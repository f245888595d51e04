"""Both jobs of the warehouse on a real broker, and what their sinks must hold in the end.

Each job writes to two sinks at once: SQLite by key (upsert) and files (exactly once by epoch). Rows are compared with
the oracle's, never counts alone.
"""
import collections
import glob
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import dataset  # noqa: E402
import oracle  # noqa: E402

SLUICE = os.environ.get("SLUICE", str(ROOT / "build/release/bin/sluice"))
KLOAD = os.environ.get("KLOAD", str(ROOT / "build/release/bench/kload"))
KAFKA_SH = ROOT / "tests/services/kafka/kafka.sh"


def topic(name, partitions):
    """Makes a topic and says whether it is new."""
    out = subprocess.run([KAFKA_SH, "topic", name, str(partitions)], check=True, capture_output=True, text=True).stdout
    return "Created" in out


class Job:
    """One job (`dim` or `dws`) over topics that hold `messages` messages in `partitions` partitions."""

    def __init__(self, name, messages, partitions, folder):
        self.name, self.folder = name, pathlib.Path(folder)
        self.data = dataset.folder_of(messages)
        self.kafka = os.environ["KAFKA"]
        self.topic = f"{'topic_db' if name == 'dim' else 'dwd_trade_cart_add'}_{messages}_{partitions}"
        source, by = ("topic_db", "id") if name == "dim" else ("cart_add", "user_id")
        if topic(self.topic, partitions):
            subprocess.run([KLOAD, self.kafka, self.topic, self.data / f"{source}.jsonl", by, str(partitions)], check=True, stdout=subprocess.DEVNULL)

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def start(self, parallelism, interval="100ms", batch_rows=256, failpoint=None, until="end", arguments=()):
        env = dict(os.environ, KAFKA=self.kafka, TOPIC=self.topic, OUT=str(self.folder), PARALLELISM=str(parallelism),
                   INTERVAL=interval, BATCH_ROWS=str(batch_rows), UNTIL=until, CONFIG=str(self.data / "dim_config.jsonl"))
        if failpoint:
            env["SLUICE_FAILPOINT"] = failpoint
        log = open(self.folder / "run.log", "ab")
        return subprocess.Popen([SLUICE, "run", HERE / f"{self.name}.yaml", *arguments], env=env, stdout=log, stderr=log)

    def run(self, parallelism, **more):
        process = self.start(parallelism, **more)
        if process.wait(timeout=300) != 0:
            raise AssertionError(f"{self.name}: exit code {process.returncode}\n{self.log()[-3000:]}")

    def log(self):
        return (self.folder / "run.log").read_text(errors="replace")

    # ---- what the sinks hold ----------------------------------------------------------------

    def file_rows(self):
        rows = []
        for name in sorted(glob.glob(str(self.folder / "files" / "*.jsonl"))):
            with open(name, encoding="utf-8") as f:
                rows += [line.rstrip("\n") for line in f]
        return rows

    def check(self):
        """Raises AssertionError with the first differences."""
        database = str(self.folder / "warehouse.db")
        if self.name == "dim":
            self._same_output(["check-tables", self.data, database])
            with open(self.data / "expected_dim.json", encoding="utf-8") as f:
                want = json.load(f)
            digest = oracle.Digest()
            for line in self.file_rows():
                row = oracle.numbers_marked(line)
                row.pop("sink_pk", None)
                digest.add(row)
            if digest.as_json() != want:
                raise AssertionError(f"files hold {digest.as_json()}, expected {want}")
            return
        self._same_output(["check-windows", self.data, database])
        rows = [json.loads(line) for line in self.file_rows()]
        windows = collections.Counter((r["stt"], r["edt"], int(r["cart_add_uu_ct"])) for r in rows)
        with open(self.data / "expected_dws.jsonl", encoding="utf-8") as f:
            want = collections.Counter((w["stt"], w["edt"], w["cart_add_uu_ct"]) for w in map(json.loads, f))
        if windows != want:
            raise AssertionError(f"files: missing {list((want - windows).items())[:3]}, too many {list((windows - want).items())[:3]}")

    @staticmethod
    def _same_output(arguments):
        done = subprocess.run([sys.executable, ROOT / "bench/oracle.py", *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)

    def rows_so_far(self):
        try:
            with sqlite3.connect(f"file:{self.folder}/warehouse.db?mode=ro", uri=True) as db:
                return sum(db.execute(f'select count(*) from "{t}"').fetchone()[0] for (t,) in
                           db.execute("select name from sqlite_master where type='table' and name like 'd%'").fetchall())
        except sqlite3.Error:
            return 0


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def stop(process):
    """A graceful end: with a checkpoint."""
    process.send_signal(signal.SIGTERM)
    if process.wait(timeout=120) != 0:
        raise AssertionError(f"SIGTERM: exit code {process.returncode}")


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.02)
