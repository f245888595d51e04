"""Checkpoints: cut off, damaged, on a full disk, cleaned up, or of a pipeline that has changed."""
import base64
import functools
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import time

from world import case as register
from world import contains, equal, wait_for

case = functools.partial(register, "restore")

T = 1699286400  # 2023-11-06T16:00:00Z


def job(parts=("first", "win"), top="", interval="50ms", keep=3):
    """Unique users of ten seconds each, into a table."""
    operators = {
        "source": '  - id: source\n    use: file.source\n    with: { path: "${OUT}/rows.jsonl", follow: "${FOLLOW:-false}" }\n'
                  "    event_time: { field: ts, format: epoch_s, out_of_order: 2s }\n",
        "first": "  - id: first\n    use: daily_dedup\n    input: INPUT\n    key: user_id\n    with: { date_fields: [], ttl_clock: event }\n",
        "only": "  - id: only\n    use: column_pruner\n    input: INPUT\n    with: { columns: [user_id, ts] }\n",
        "win": "  - id: win\n    use: tumbling_window\n    input: INPUT\n    with: { size: 10s, aggregates: { n: count }, time_format: epoch_ms, version_column: '' }\n",
        "w2": "  - id: w2\n    use: tumbling_window\n    input: INPUT\n    with: { size: 10s, aggregates: { n: count }, time_format: epoch_ms, version_column: '' }\n",
        "out": '  - id: out\n    use: file.sink\n    input: INPUT\n    with: { dir: "${OUT}/out" }\n'}
    text, before = "", "source"
    for name in ("source", *parts, "out"):
        text += operators[name].replace("INPUT", before)
        before = name
    return (f'pipeline: users\n{top}\ncheckpoint: {{ dir: "${{OUT}}/checkpoints", interval: {interval}, keep: {keep} }}\n'
            f'dead_letters: {{ dir: "${{OUT}}/dead-letters" }}\noperators:\n{text}')


def users(first, last):
    return [json.dumps({"user_id": f"user-{i}", "ts": T + i // 100}) for i in range(first, last)]


def windows(w):
    return sorted((r["stt"] // 1000 - T, r["n"]) for r in map(json.loads, w.files()))


def follow(w, pipeline, rows, *arguments):
    run = w.start(pipeline, *arguments, environment={"FOLLOW": "true"})
    run.wait_until(lambda: run.counters("source").get("rows_in", 0) >= rows, f"{rows} rows")
    return run.stop()


def numbers(w, folder="checkpoints"):
    return sorted(int(p.name[4:]) for p in w.path(folder).glob("chk-*"))


def digests(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


def begun(w):
    """The largest number of a checkpoint, complete or not."""
    return max([*numbers(w), *(int(p.name[5:]) for p in w.path("checkpoints").glob(".tmp-*"))])


def kill_in_checkpoints(w, users, least_bytes, kills):
    """Kills in the middle of checkpoints of a state of `users` entries; each restart takes the newest complete one, and none changes the result."""
    random_bytes = random.Random(17)
    dice = random.Random(18)
    print_width = 1000  # rows of a second, so 10,000 users in each window

    def rows(first, last):
        # Does not compress: what is in memory is on disk, too.
        return [json.dumps({"user_id": base64.b64encode(random_bytes.randbytes(150)).decode(), "ts": T + i // print_width}) for i in range(first, last)]

    store = w.path("checkpoints")
    text = job(top="limits: { batch_rows: 64 }", interval="10ms")
    w.lines("rows.jsonl", *rows(0, users))
    follow(w, text, users)
    manifest = json.loads((store / f"chk-{numbers(w)[-1]:010}" / "manifest.json").read_text())["manifest"]
    size = sum(file["size"] for lane in manifest["lanes"] for file in lane["files"])
    if size < least_bytes:
        raise AssertionError(f"the state has {size} bytes, {least_bytes} are wanted")
    cut_off, more = 0, 10_000
    for kill in range(kills):
        w.lines("rows.jsonl", *rows(users + more * kill, users + more * (kill + 1)))
        newest, used = numbers(w)[-1], begun(w)
        run = w.start(text, environment={"FOLLOW": "true"})
        run.wait_until(lambda: begun(w) > used, "a checkpoint of this run")
        time.sleep(dice.uniform(0, 0.3))
        run.kill()
        contains(run.log, f"restoring checkpoint {newest} of lineage")
        cut_off += any(store.glob(".tmp-*"))
    total = users + more * kills
    w.run(text)
    equal(windows(w), [(10 * i, 10 * print_width) for i in range(total // 10 // print_width)], f"windows after {kills} kills")
    left = sorted(p.name for p in store.iterdir() if not re.fullmatch(r"chk-\d{10}|shared|work|LOCK|STORE", p.name))
    equal(left, [], "what is left of checkpoints that were cut off")
    print(f"{w.id}: {cut_off} of {kills} kills cut a checkpoint off; the state had {size // 1_000_000} MB", flush=True)
    if cut_off < kills // 5:
        raise AssertionError(f"only {cut_off} of {kills} kills cut a checkpoint off")


@case("RS-01", "killed in the middle of checkpoints, it goes on from the last complete one")
def rs01(w):
    kill_in_checkpoints(w, users=100_000, least_bytes=15_000_000, kills=12)


def damaged(w, name, damage):
    """Three checkpoints, of which `damage(folder of the newest)` breaks the newest."""
    shutil.rmtree(w.path("checkpoints"), ignore_errors=True)
    shutil.copytree(w.path("sound"), w.path("checkpoints"))
    newest, before = numbers(w)[-1], numbers(w)[-2]
    damage(w.path("checkpoints") / f"chk-{newest:010}")
    others = {n: digests(w.path("checkpoints") / f"chk-{n:010}") for n in numbers(w)[:-1]}
    shutil.rmtree(w.path("out"), ignore_errors=True)
    shutil.copytree(w.path("sound-out"), w.path("out"))
    run = w.run(job(), code=3, environment={"FOLLOW": "true"})
    equal(len(run.messages()), 1, f"{name}: messages")
    equal({n: digests(w.path("checkpoints") / f"chk-{n:010}") for n in others}, others, f"{name}: the other checkpoints")
    return newest, before, run.messages()[0]


@case("RS-02", "a damaged checkpoint stops the start, with the file, the checksums and the way out")
def rs02(w):
    w.lines("rows.jsonl")
    for i in range(3):
        run = w.start(job(interval="0"), environment={"FOLLOW": "true"})
        run.wait_until(lambda: (run.progress() or {"checkpoint": {"completed": 0}})["checkpoint"]["completed"] == 1, "the checkpoint at the start")
        w.lines("rows.jsonl", *users(2000 * i, 2000 * i + 2000))
        run.wait_until(lambda: run.counters("first")["rows_in"] == 2000, "the rows")
        run.stop()
    shutil.copytree(w.path("checkpoints"), w.path("sound"))
    shutil.copytree(w.path("out"), w.path("sound-out"))

    def flip(path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    def newest_sst(folder):
        files = re.findall(r'"name": "\d+\.sst",\s+"sha256": "([0-9a-f]{64})",\s+"size": (\d+)', (folder / "manifest.json").read_text())
        older = "".join((f / "manifest.json").read_text() for f in folder.parent.glob("chk-*") if f != folder)
        return folder.parent / "shared" / next(f"{digest}-{size}.sst" for digest, size in files if digest not in older)

    broken = re.compile(r"shared/([0-9a-f]{64})-(\d+)\.sst \(lane \d: \d+\.sst\): expected sha256 ([0-9a-f]{64}), (\d+) bytes, found (.*)")
    manifest = "chk-{:010}/manifest.json: expected a manifest that can be read, found damaged: "
    for name, damage, found in (
            ("a byte of a state file", lambda f: flip(newest_sst(f)), r"sha256 [0-9a-f]{64}, \d+ bytes"),
            ("a state file is gone", lambda f: newest_sst(f).unlink(), "no such file"),
            ("a byte of the manifest", lambda f: flip(f / "manifest.json"), None),
            ("an empty manifest", lambda f: (f / "manifest.json").write_bytes(b""), None)):
        newest, before, message = damaged(w, name, damage)
        first, way_out = message.splitlines()
        equal(way_out.strip(), f"the newest usable checkpoint before it is {before}: --from {before}", f"{name}: the way out")
        start = f"checkpoints: checkpoint {newest} is damaged: "
        equal(first[:len(start)], start, f"{name}: the checkpoint")
        what = first[len(start):]
        if found:
            parts = broken.fullmatch(what)
            if not parts or parts[1] != parts[3] or parts[2] != parts[4] or not re.fullmatch(found, parts[5]):
                raise AssertionError(f"{name}: {what}")
        elif name == "an empty manifest":
            equal(what, manifest.format(newest) + "the file is empty", name)
        else:
            if not re.fullmatch(re.escape(manifest.format(newest)) + "expected sha256 [0-9a-f]{64}, found [0-9a-f]{64}", what):
                raise AssertionError(f"{name}: {what}")
    # Told so, it goes on from the one before, and reads again what came after.
    w.lines("rows.jsonl", json.dumps({"user_id": "last", "ts": T + 1000}))
    run = w.start(job(), "--from", str(before), "--accept-duplicates", environment={"FOLLOW": "true"})
    run.wait_until(lambda: set(windows(w)) == {(10 * i, 1000) for i in range(6)}, "all windows")
    contains(run.log, f"restoring checkpoint {before} of lineage")
    run.stop()


class SmallDisk:
    """A file system of its own for one folder, seen by those alone who run inside it."""

    def __init__(self, folder, size):
        self.folder = folder
        folder.mkdir()
        unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
        self.keeper = subprocess.Popen([*unshare, "sh", "-c", f'mount -t tmpfs -o size={size} tmpfs "{folder}" && echo mounted && exec sleep 600'],
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = self.keeper.stdout.readline()
        if said != "mounted\n":
            self.close()
            raise AssertionError(f"cannot mount a small file system at {folder}: {said.strip()}. This case needs root with CAP_SYS_ADMIN, or user "
                                 "namespaces (user.max_user_namespaces above 0)")
        enter = ["nsenter", "--target", str(self.keeper.pid), "--mount"]
        self.inside = enter if os.geteuid() == 0 else [*enter, "--user", "--preserve-credentials"]
        self.seen = pathlib.Path(f"/proc/{self.keeper.pid}/root{folder}")

    def fill(self):
        with open(self.seen / "filler", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def free(self):
        (self.seen / "filler").unlink()

    def close(self):
        self.keeper.kill()
        self.keeper.wait()


@case("RS-03", "a disk that is full stops checkpoints, not the job; with room again it goes on")
def rs03(w):
    disk = SmallDisk(w.path("disk"), "32m")
    text = job(interval="200ms").replace("${OUT}/checkpoints", "${OUT}/disk/checkpoints")
    table = text + """  - id: table
    use: sqlite.sink
    input: first
    with: { path: "${OUT}/warehouse.db", table: users, key: [user_id] }
"""
    try:
        w.lines("rows.jsonl", *users(0, 3000))
        run = w.start(table, environment={"FOLLOW": "true"}, inside=disk.inside)
        run.wait_until(lambda: len(w.table("users")) == 3000, "the first rows")
        run.wait_checkpoint()
        disk.fill()
        w.lines("rows.jsonl", *users(3000, 6000))
        run.wait_until(lambda: run.progress()["checkpoint"]["failed"] >= 3, "three failed checkpoints")
        w.lines("rows.jsonl", *users(6000, 7000))
        run.wait_until(lambda: len(w.table("users")) == 7000, "rows that come while the disk is full")
        said = run.progress()["checkpoint"]["last_error"], run.messages()
        disk.free()
        run.wait_checkpoint()
        w.lines("rows.jsonl", *users(7000, 9000))
        run.wait_until(lambda: len(w.table("users")) == 9000, "all rows")
        run.kill()
        run = w.start(table, environment={"FOLLOW": "true"}, inside=disk.inside)
        w.lines("rows.jsonl", json.dumps({"user_id": "last", "ts": T + 1000}))
        run.wait_until(lambda: sum(n for _, n in windows(w)) == 9000, "all windows")
        contains(run.log, "restoring checkpoint")
        run.stop()
    finally:
        disk.close()
    equal(windows(w), [(10 * i, 1000) for i in range(9)], "windows")
    equal(w.table("users", "user_id"), sorted([("last",)] + [(f"user-{i}",) for i in range(9000)]), "users")
    full = f"no space: cannot write {w.path('disk')}/checkpoints/STORE.tmp: No space left on device"
    equal(said, (full, [f"no checkpoint: {full}; the newest complete one stays in force, the job goes on and tries again"]), "messages")


@case("RS-05", "state of an operator that is gone or renamed is not thrown away unasked")
def rs05(w):
    w.lines("rows.jsonl", *users(0, 1000), json.dumps({"user_id": "user-0", "ts": T + 9}))
    follow(w, job(), 1001)
    gone = w.run(job(("win",)), code=3, environment={"FOLLOW": "true"})
    renamed = w.run(job(("first", "w2")), code=3, environment={"FOLLOW": "true"})
    newest = max(numbers(w))
    equal(gone.messages(), [f"checkpoints: checkpoint {newest} does not fit the pipeline:\n      the checkpoint has state of operator \"first\" (value state "
                            '"last_date", about 1000 entries; map state "days", about 0 entries), but the pipeline has no such operator. To give '
                            "the state up: --drop-state first"], "the operator is gone")
    equal(renamed.messages(), [f"checkpoints: checkpoint {newest} does not fit the pipeline:\n      the checkpoint has state of operator \"win\" (operator state "
                               '"windows", about 1 entries; map state "keyed_windows", about 0 entries; operator state "keyed_options", about 0 entries), but the pipeline '
                               'has no such operator. '
                               'Operator "w2" is new, of the same type and with the same state: if it was renamed, write `id: win`. To give the '
                               "state up: --drop-state win"], "the operator has another name")
    # A filter without state changes nothing.
    w.lines("rows.jsonl", *users(0, 10), json.dumps({"user_id": "late", "ts": T + 30}))
    follow(w, job(("first", "only", "win")), 11)
    equal(windows(w), [(0, 1000)], "windows")
    # Told so, it goes on without the state.
    follow(w, job(("win",)), 0, "--drop-state", "first")


@case("RS-06", "cleaning up leaves what another checkpoint, or a copy of one, needs")
def rs06(w):
    text = job(interval="30ms")
    w.lines("rows.jsonl", *users(0, 500))
    run = w.start(text, environment={"FOLLOW": "true"})
    # One copied while the job goes on: a hard-linked or byte copy of the whole folder is what people make.
    for i in range(1, 31):
        w.lines("rows.jsonl", *users(500 * i, 500 * i + 500))
        run.wait_checkpoint()
        if i == 15:
            run.stop()
            shutil.copytree(w.path("checkpoints"), w.path("saved"))
            shutil.copytree(w.path("out"), w.path("saved-out"))
            run = w.start(text, environment={"FOLLOW": "true"})
            run.wait_until(lambda: run.progress(), "the endpoint")
    run.wait_until(lambda: sum(n for _, n in windows(w)) == 15_000, "all closed windows")
    for _ in range(3):  # so that the oldest that is kept is behind the last window
        run.wait_checkpoint()
    run.stop()
    kept = numbers(w)
    equal(len(kept), 3, "checkpoints that are kept")
    shutil.copytree(w.path("checkpoints"), w.path("end"))
    expected = [(10 * i, 1000) for i in range(15)] + [(150, 500)]
    for name, folder, out, arguments in (("newest", "end", None, ()), ("oldest kept", "end", None, ("--from", str(kept[0]), "--accept-duplicates")),
                                         ("saved copy", "saved", "saved-out", ())):
        shutil.rmtree(w.path("checkpoints"))
        shutil.copytree(w.path(folder), w.path("checkpoints"))
        if out:
            shutil.rmtree(w.path("out"))
            shutil.copytree(w.path(out), w.path("out"))
        code, said = w.command("checkpoints", "verify", str(w.path("checkpoints")))
        equal(code, 0, f"{name}: verify said {said}")
        w.lines("rows.jsonl")
        run = w.start(text, *arguments, environment={"FOLLOW": "true"})
        run.wait_until(lambda: sum(n for _, n in windows(w)) >= 15_000, "all closed windows")
        run.stop()
        equal(windows(w), expected[:15], f"{name}: windows")
