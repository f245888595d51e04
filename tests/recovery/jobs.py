"""Both jobs of the warehouse on a real broker, and what their sinks must hold in the end.

Each job writes to two sinks at once: SQLite by key (upsert) and files (exactly once by epoch). Rows are compared with
the oracle's, never counts alone.
"""
import collections
import glob
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests/cases"), str(ROOT / "bench")]  # in this order: each has a broker.py
import broker  # noqa: E402
import dataset  # noqa: E402
import oracle  # noqa: E402

SLUICE = os.environ.get("SLUICE", str(ROOT / "build/release/bin/sluice"))
KLOAD = os.environ.get("KLOAD", str(ROOT / "build/release/bench/kload"))
KAFKA_SH = ROOT / "tests/services/kafka/kafka.sh"


def topic(name, partitions):
    """Makes a topic and says whether it is new."""
    out = subprocess.run([KAFKA_SH, "topic", name, str(partitions)], check=True, capture_output=True, text=True).stdout
    return "Created" in out


class Checkpoint:
    """What the manifest of a complete checkpoint says."""

    def __init__(self, path):
        manifest = json.loads(path.read_text(encoding="utf-8"))["manifest"]
        self.number = manifest["number"]
        self._sources, self._operators = manifest["sources"], manifest["operators"]
        self.spooled_rows = [spool["rows"] for spool in manifest["spools"]]

    def messages(self, source):
        """How many messages the source has read: of topics, or lines of files."""
        splits = next(s["splits"] for s in self._sources if s["operator"] == source)
        ends = (re.search(r"(before )?offset (\d+)$|:(\d+) \(byte \d+\)$", split["position_text"]) for split in splits if split.get("position"))
        return sum(int(end[3]) if end[3] else int(end[2]) + (0 if end[1] else 1) for end in ends)

    def entries(self, operator):
        return sum(state["entries"] for o in self._operators if o["id"] == operator for state in o["states"])


def newest_checkpoint(folder):
    """The newest complete one of a job that writes into `folder`; none: None."""
    while True:
        manifests = sorted(folder.glob("checkpoints/chk-*/manifest.json"))
        try:
            return Checkpoint(manifests[-1]) if manifests else None
        except FileNotFoundError:  # a running job has removed it since
            pass


def restored(log, starts):
    """For each run that begins at one of these places of the log: the number of the checkpoint that it went on from; None: from none, or it
    was over before it said so."""
    text = log.read_bytes()
    said = [re.search(rb"restoring checkpoint (\d+) of lineage", text[begin:end]) for begin, end in zip(starts, [*starts[1:], None])]
    return [int(found[1]) if found else None for found in said]


def went_on_from(newest, numbers):
    """`newest`: the newest checkpoint after each run but the last; `numbers`: what all runs restored. Gives for each of the former what
    the run behind it went on from, and fails where that is another one, or the last run went on from none."""
    found = []
    for number, (checkpoint, following) in enumerate(zip(newest, numbers[1:])):
        is_last = number + 1 == len(newest)
        if following is None and (checkpoint is None or not is_last):
            found.append(None)
            continue
        if following is None or checkpoint is None or following != checkpoint.number:
            raise AssertionError(f"run {number + 2} went on from checkpoint {following}; the newest one was {checkpoint and checkpoint.number}")
        found.append(checkpoint)
    return found


class Job:
    """One job (`dim` or `dws`) over topics that hold `messages` messages in `partitions` partitions."""

    def __init__(self, name, messages, partitions, folder):
        self.name, self.folder = name, pathlib.Path(folder)
        self.messages, self.partitions = messages, partitions
        self.data = dataset.folder_of(messages)
        self.kafka = os.environ["KAFKA"]
        self.source, self.by = ("topic_db", "id") if name == "dim" else ("cart_add", "user_id")
        self.full_topic = self.topic = f"{'topic_db' if name == 'dim' else 'dwd_trade_cart_add'}_{messages}_{partitions}"
        if topic(self.topic, partitions):
            self._load(self.data / f"{self.source}.jsonl")
        self._fed_topics, self._parts = itertools.count(1), {}

    def _load(self, file):
        subprocess.run([KLOAD, self.kafka, self.topic, file, self.by, str(self.partitions)], check=True, stdout=subprocess.DEVNULL)

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._starts = []  # where the log of each run begins

    # ---- a topic that grows, for runs that must be met in the middle ------------------------

    def take_empty_topic(self):
        self.topic = f"{self.full_topic}_{os.getpid()}_{next(self._fed_topics)}"
        broker.create(self.topic, self.partitions)

    def drop_topic(self):
        broker.delete(self.topic)
        self.topic = self.full_topic

    def feed(self, first, last, of):
        """Adds the parts `first` to `last`, the end not included, `of` so many that all messages are cut into."""
        for n in range(first, last):
            self._load(self._part(n, of))

    def _part(self, n, of):
        if of not in self._parts:
            lines = (self.data / f"{self.source}.jsonl").read_bytes().splitlines(keepends=True)
            folder = self.folder.with_name(f"{self.folder.name}-parts-{of}")
            folder.mkdir(parents=True, exist_ok=True)
            self._parts[of] = [folder / f"{i}.jsonl" for i in range(of)]
            for i, file in enumerate(self._parts[of]):
                file.write_bytes(b"".join(lines[len(lines) * i // of:len(lines) * (i + 1) // of]))
        return self._parts[of][n]

    # ---- runs -------------------------------------------------------------------------------

    def start(self, parallelism, interval="100ms", batch_rows=256, failpoint=None, until="end", arguments=()):
        env = dict(os.environ, KAFKA=self.kafka, TOPIC=self.topic, OUT=str(self.folder), PARALLELISM=str(parallelism),
                   INTERVAL=interval, BATCH_ROWS=str(batch_rows), UNTIL=until, CONFIG=str(self.data / "dim_config.jsonl"))
        if failpoint:
            env["SLUICE_FAILPOINT"] = failpoint
        log = open(self.folder / "run.log", "ab")
        self._starts.append(log.tell())
        return subprocess.Popen([SLUICE, "run", HERE / f"{self.name}.yaml", *arguments], env=env, stdout=log, stderr=log)

    def run(self, parallelism, **more):
        process = self.start(parallelism, **more)
        if process.wait(timeout=300) != 0:
            raise AssertionError(f"{self.name}: exit code {process.returncode}\n{self.log()[-3000:]}")

    def run_to_the_end_of_what_was_fed(self, parallelism):
        """`until: end` alone would end where the topic ended when it was first read."""
        process = self.start(parallelism, until="none")
        self.wait_for_checkpoint(process, self.messages)
        stop(process)
        self.run(parallelism)

    def wait_for_checkpoint(self, process, messages):
        """Until the process, which has just been started, has written one behind so many messages."""
        before = self.newest_checkpoint()

        def is_there():
            if process.poll() is not None:
                raise AssertionError(f"{self.name}: exit code {process.returncode} before {messages} messages\n{self.log()[-3000:]}")
            newest = self.newest_checkpoint()
            return newest and newest.messages(self.source) >= messages and (before is None or newest.number > before.number)
        wait_for(is_there, f"a checkpoint behind {messages} messages", 120)

    def log(self):
        return (self.folder / "run.log").read_text(errors="replace")

    def newest_checkpoint(self):
        return newest_checkpoint(self.folder)

    def restored(self):
        return restored(self.folder / "run.log", self._starts)

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
