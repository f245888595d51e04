#!/usr/bin/env python3
"""topic_test.py FOLDER: dead letters go to a topic, whole, and can be read from it; while its broker is away checkpoints wait, and none is lost."""
import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
SLUICE = os.environ["SLUICE"]
FOLDER = pathlib.Path(sys.argv[1])
KAFKA = ROOT / "tests/services/kafka/kafka.sh"
DATA = f"/tmp/sluice-kafka-letters-{os.getpid()}"
PATIENCE_S = 60
TOPIC = "letters"
PIPELINE = f"""pipeline: letters
checkpoint: {{ dir: checkpoints, interval: 100ms }}
dead_letters: {{ dir: files, use: kafka.sink, with: {{ brokers: "${{KAFKA}}", topic: {TOPIC} }} }}
operators:
  - {{ id: lines, use: file.source, with: {{ path: in.jsonl, follow: true }} }}
  - {{ id: out, use: sqlite.sink, input: lines, with: {{ path: out.db, table: t, key: [id] }} }}
"""


TOMBSTONES = """pipeline: tombstones
dead_letters: { dir: files, use: kafka.sink, with: { brokers: "${KAFKA}", topic: no_values } }
operators:
  - { id: changes, use: kafka.source, with: { brokers: "${KAFKA}", topic: changes, until: end } }
  - { id: out, use: sqlite.sink, input: changes, with: { path: changes.db, table: t, key: [id] } }
"""
READ_AGAIN = """pipeline: read_again
operators:
  - { id: letters, use: kafka.source, with: { brokers: "${KAFKA}", topic: no_values, until: end } }
  - { id: out, use: sqlite.sink, input: letters, with: { path: letters.db, table: t, key: [position] } }
"""


def kafka(*arguments):
    done = subprocess.run([KAFKA, *arguments], env=dict(os.environ, KAFKA_DATA=DATA, KAFKA_HEAP="256m"), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"kafka.sh {arguments}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {PATIENCE_S} s for {what}\n" + (FOLDER / "log").read_text(errors="replace")[-3000:])
        time.sleep(0.05)
    return value


class Run:
    all = []

    def __init__(self):
        Run.all.append(self)
        self.log = FOLDER / "log"
        self.log_file = open(self.log, "wb")
        self.process = subprocess.Popen([SLUICE, "run", "--progress", "off", "--metrics", "0", "p.yaml"], cwd=FOLDER, stderr=self.log_file,
                                        env=dict(os.environ, KAFKA=ADDRESS))

    def progress(self):
        at = self.log.read_text(errors="replace").find("http://")
        if at < 0:
            return {}
        with urllib.request.urlopen(self.log.read_text(errors="replace")[at:].split()[0].rstrip("/") + "/progress", timeout=10) as answer:
            return json.load(answer)

    def end(self, how):
        self.process.send_signal(how)
        return self.process.wait(timeout=PATIENCE_S)


def letters(topic=TOPIC):
    done = subprocess.run(["kcat", "-C", "-q", "-e", "-b", ADDRESS, "-t", topic, "-o", "beginning"], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def add(*lines):
    with open(FOLDER / "in.jsonl", "ab") as file:
        file.write(b"".join(line + b"\n" for line in lines))


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"\n  expected {expected!r}\n  found    {found!r}")


BROKEN, BYTES = b'{"id": 2, "a": }', b'{"id": "\xff\xfe"}'


def test():
    kafka("topic", TOPIC, "1")
    (FOLDER / "p.yaml").write_text(PIPELINE)
    validated = subprocess.run([SLUICE, "validate", "--connect", "p.yaml"], cwd=FOLDER, capture_output=True, text=True, check=False,
                               env=dict(os.environ, KAFKA=ADDRESS))
    equal(validated.stdout, "p.yaml: ok, 2 operators, 3 of them checked outside\n")
    add(b'{"id":1}', BROKEN, BYTES)
    run = Run()
    wait_for(lambda: run.progress().get("dead_letters") == 2, "two letters")
    wait_for(lambda: len(letters()) == 2, "the letters in the topic")
    found = letters()
    times = [letter.pop("time") for letter in found]
    for when in times:
        time.strptime(when, "%Y-%m-%d %H:%M:%SZ")
    reasons = [letter.pop("reason") for letter in found]
    equal([bool(reason) for reason in reasons], [True, True])
    equal("UTF-8" in reasons[1], True)
    equal(found, [
        {"pipeline": "letters", "operator": "lines", "code": "BAD_RECORD", "source": "lines", "position": "in.jsonl:2 (byte 9)", "raw": BROKEN.decode()},
        {"pipeline": "letters", "operator": "lines", "code": "BAD_RECORD", "source": "lines", "position": "in.jsonl:3 (byte 26)",
         "raw_base64": base64.b64encode(BYTES).decode()}])

    # The broker goes; rows go on, and no checkpoint may cover them.
    kafka("kill")
    add(b'{"id":3}', b"nonsense", b'{"id":4}')
    def waits():
        seen = run.progress()
        return any(w.startswith("dead letters (kafka.sink): ") for w in seen["waiting_for"]) and "running_since_ms" in seen["checkpoint"]
    wait_for(waits, "the checkpoint to wait for the letters")
    shown = subprocess.run([SLUICE, "checkpoints", "show", "--format", "json", "checkpoints"], cwd=FOLDER, capture_output=True, text=True, check=True)
    equal("in.jsonl:6" in shown.stdout or "in.jsonl:5" in shown.stdout, False)
    equal(run.end(signal.SIGKILL), -signal.SIGKILL)

    # And again: the start waits for the broker, and nothing is read before.
    run = Run()
    wait_for(lambda: any(w.startswith("dead letters (kafka.sink): ") for w in run.progress().get("waiting_for", [])), "the start to wait")
    kafka("start")
    wait_for(lambda: [letter for letter in letters() if letter.get("raw") == "nonsense"], "the letter of the row that was read again")
    equal(run.end(signal.SIGTERM), 0)
    equal({letter["position"]: letter.get("raw") or letter["raw_base64"] for letter in letters()},
          {"in.jsonl:2 (byte 9)": BROKEN.decode(), "in.jsonl:3 (byte 26)": base64.b64encode(BYTES).decode(), "in.jsonl:5 (byte 48)": "nonsense"})
    equal((FOLDER / "files").exists(), False)
    rows = subprocess.run(["sqlite3", "out.db", "select id from t order by id"], cwd=FOLDER, capture_output=True, text=True, check=True).stdout.split()
    equal(rows, ["1", "3", "4"])


def to_end(name, pipeline):
    (FOLDER / name).write_text(pipeline)
    subprocess.run([SLUICE, "run", "--progress", "off", name], cwd=FOLDER, env=dict(os.environ, KAFKA=ADDRESS), check=True, timeout=PATIENCE_S)


def test_tombstones():
    for topic in ("changes", "no_values"):
        kafka("topic", topic, "1")
    for value in (b'k1:{"id":1}', b"k2:"):
        subprocess.run(["kcat", "-P", "-b", ADDRESS, "-t", "changes", "-K", ":", "-Z"], input=value, check=True)
    to_end("tombstones.yaml", TOMBSTONES)
    found = letters("no_values")
    for letter in found:
        del letter["time"]
    equal(found, [{"pipeline": "tombstones", "operator": "out", "code": "TOMBSTONE", "reason": "a tombstone: the message has no value", "source": "changes",
                   "position": "changes[0] offset 1", "key": "k2", "raw": None}])
    to_end("read_again.yaml", READ_AGAIN)
    rows = subprocess.run(["sqlite3", "letters.db", "select code, position, key, typeof(raw) from t"], cwd=FOLDER, capture_output=True, text=True, check=True).stdout
    equal(rows, "TOMBSTONE|changes[0] offset 1|k2|null\n")


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
kafka("start")
ADDRESS = kafka("address")
try:
    test()
    test_tombstones()
finally:
    for run in Run.all:
        if run.process.poll() is None:
            run.end(signal.SIGKILL)
    kafka("clean")
