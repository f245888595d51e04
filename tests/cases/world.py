"""The world of one case: a private folder with its files, its topics, the runs of the product and what came out of them."""
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import urllib.request

import broker

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLUICE = os.environ.get("SLUICE", str(ROOT / "build/release/bin/sluice"))
PATIENCE_S = 60


class Case:
    def __init__(self, case_id, title, function, alone, fails_because):
        self.id, self.title, self.function, self.alone, self.fails_because = case_id, title, function, alone, fails_because


CASES = {}  # by area


def case(area, case_id, title, alone=False, fails_because=None):
    """Registers a function of one World as a case. `alone`: it does to a server what others would feel.

    `fails_because`: the product does not do it yet, and why. It is run all the same; once it holds, the words must go.
    """
    def register(function):
        CASES.setdefault(area, []).append(Case(case_id, title, function, alone, fails_because))
        return function
    return register


def equal(found, expected, what="rows"):
    if found != expected:
        raise AssertionError(f"{what}\n  expected {expected!r}\n  found    {found!r}")


def contains(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"expected {part!r} in\n{text}")


def wait_for(condition, what, seconds=PATIENCE_S):
    """`condition` is asked until it is true; returns what it said."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.05)


class Run:
    """A run that has ended, or goes on."""

    def __init__(self, world, process, log):
        self._world, self.process, self._log = world, process, log

    @property
    def log(self):
        return self._log.read_text(errors="replace")

    @property
    def code(self):
        return self.process.returncode

    def messages(self):
        """What the log says from warnings on, without time and level; a message may have several lines."""
        entries = re.split(r"^(?=\d{4}-\d\d-\d\dT\S+ [a-z]+ )", self.log, flags=re.M)
        found = [re.match(r"\S+ (?:warn|error)\w*\s+(.*)", entry, re.S) for entry in entries]
        return [m.group(1).rstrip() for m in found if m]

    def counter(self, operator, name):
        """From the summary at the end of a run; 0 when it is not mentioned."""
        for line in re.findall(rf"\b{re.escape(operator)}: (.*)$", self.log, re.M):
            found = re.search(rf"(?:^|, ){re.escape(name)} ([\d,]+)", line)
            if found:
                return int(found.group(1).replace(",", ""))
        return 0

    # ---- while it goes on -------------------------------------------------------------------

    def progress(self):
        return self.ask("progress")

    def ask(self, page):
        """Nothing while the endpoint is not there."""
        found = re.search(r"(http://\S+)", self.log)
        if not found:
            return None
        try:
            with urllib.request.urlopen(found.group(1).rstrip("/") + "/" + page, timeout=10) as answer:
                return json.load(answer)
        except OSError:
            return None

    def ended(self):
        return self.process.poll() is not None

    def counters(self, operator):
        for entry in (self.progress() or {}).get("operators", []):
            if entry["id"] == operator:
                return entry
        return {}

    def wait_until(self, condition, what):
        def asked():
            if condition():
                return True
            if self.ended():
                raise AssertionError(f"ended with {self.code} before {what}")
            return False
        try:
            wait_for(asked, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log[-3000:]}") from None

    def wait_counter(self, operator, name, value):
        self.wait_until(lambda: self.counters(operator).get("counters", {}).get(name, 0) >= value, f"{operator}.{name} >= {value}")

    def wait_checkpoint(self, more=1):
        """`more` checkpoints that began after this call."""
        before = wait_for(self.progress, "progress")["checkpoint"]["completed"]
        self.wait_until(lambda: (self.progress() or {"checkpoint": {"completed": 0}})["checkpoint"]["completed"] >= before + more + 1,
                        f"{more} more checkpoints")

    def wait_end(self, code=None):
        self.process.wait(timeout=PATIENCE_S)
        if code is not None and self.code != code:
            raise AssertionError(f"exit code {self.code}, expected {code}\n{self.log[-4000:]}")
        return self

    def stop(self):
        """A graceful end, with a checkpoint."""
        self.wait_until(self.progress, "the endpoint")  # before that nobody listens to signals
        self.process.send_signal(signal.SIGTERM)
        return self.wait_end(0)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return self


class World:
    def __init__(self, case_id, folder):
        self.id, self.folder = case_id, pathlib.Path(folder) / case_id
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._runs = 0
        self._open = []

    def close(self):
        for run in self._open:
            if not run.ended():
                run.kill()

    # ---- what goes in -----------------------------------------------------------------------

    def path(self, name):
        return self.folder / name

    def write(self, name, text):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def lines(self, name, *records):
        """Appends records (str or bytes), a line for each."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            file.write(b"".join((r if isinstance(r, bytes) else r.encode()) + b"\n" for r in records))
        return path

    def topic(self, name="topic", partitions=1, **configuration):
        """A topic of this run of this case alone."""
        full = f"{self.id.lower()}-{name}-{os.getpid()}-{time.time_ns() % 1_000_000_000}"
        broker.create(full, partitions, **configuration)
        return full

    # ---- runs -------------------------------------------------------------------------------

    def start(self, pipeline, *arguments, environment=None, inside=()):
        """`pipeline`: the YAML text. OUT is this case's folder, CASE its id, KAFKA the broker. `inside`: a command that runs the command behind it."""
        self._runs += 1
        file = self.write(f"pipeline-{self._runs}.yaml", pipeline)
        log = self.path(f"run-{self._runs}.log")
        env = dict(os.environ, OUT=str(self.folder), CASE=self.id.replace("-", "_"), **(environment or {}))
        with open(log, "wb") as err, open(self.path(f"run-{self._runs}.out"), "wb") as out:
            process = subprocess.Popen([*inside, SLUICE, "run", "--progress", "off", "--metrics", "0", *arguments, str(file)], env=env,
                                       cwd=self.folder, stdout=out, stderr=err)
        run = Run(self, process, log)
        self._open.append(run)
        return run

    def run(self, pipeline, *arguments, code=0, environment=None):
        """Until it ends by itself; `code`: the exit status that it must have."""
        return self.start(pipeline, *arguments, environment=environment).wait_end(code)

    def validate(self, pipeline, *arguments, environment=None, name="pipeline.yaml"):
        """(exit status, what was printed)."""
        self.write(name, pipeline)
        done = subprocess.run([SLUICE, "validate", *arguments, name], cwd=self.folder, capture_output=True, text=True, check=False,
                              env=dict(os.environ, OUT=str(self.folder), **(environment or {})))
        return done.returncode, done.stdout + done.stderr

    def command(self, *arguments):
        done = subprocess.run([SLUICE, *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
                              env=dict(os.environ, OUT=str(self.folder)))
        return done.returncode, done.stdout + done.stderr

    # ---- what came out ----------------------------------------------------------------------

    def tables(self, database="warehouse.db"):
        return sorted(name for (name,) in self.query("select name from sqlite_master where type = 'table' and name not like '\\_sluice%' escape '\\'", database))

    def query(self, sql, database="warehouse.db"):
        """Rows as tuples; none while the database or the table is not there."""
        path = self.path(database)
        if not path.exists():
            return []
        link = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)
        try:
            return link.execute(sql).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
        finally:
            link.close()

    def table(self, name, columns="*"):
        """Rows ordered by their columns."""
        return sorted(self.query(f'select {columns} from "{name}"'), key=lambda row: [(v is not None, str(v)) for v in row])

    def files(self, folder="out"):
        """Lines of file.sink, in the order of lanes and checkpoints."""
        return [line for path in sorted(self.path(folder).glob("*.jsonl")) for line in path.read_text().splitlines()]

    def letters(self):
        """Dead letters, with `bytes` for what is in raw (None: a tombstone), ordered by place."""
        found = [json.loads(line) for path in sorted(self.path("dead-letters").glob("*.jsonl")) for line in path.read_text().splitlines()]
        for letter in found:
            raw = letter.get("raw", "")
            letter["bytes"] = base64.b64decode(letter["raw_base64"]) if "raw_base64" in letter else raw.encode() if raw is not None else None
        return sorted(found, key=lambda letter: [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", letter.get("position", ""))])

    def reasons(self):
        return [letter["reason"] for letter in self.letters()]
