"""A Kafka source whose topic loses records, is made anew, grows, or holds bytes that nobody can read."""
import functools
import json
import os
import re
import subprocess
import sys

import broker
from world import ROOT, contains, equal
from world import case as register

case = functools.partial(register, "kafka")


def job(topic, options="", top="", source_top=""):
    """Rows of a topic into files."""
    return f"""
pipeline: copy
{top}
checkpoint: {{ dir: "${{OUT}}/checkpoints", interval: 200ms, keep: 3 }}
dead_letters: {{ dir: "${{OUT}}/dead-letters" }}
operators:
  - id: topic_db
    use: kafka.source
    with: {{ brokers: "${{KAFKA}}", topic: "{topic}", group: "{topic}" {options} }}
  - id: out
    use: file.sink
    input: topic_db
    with: {{ dir: "${{OUT}}/out" }}
"""


def numbered(first, last):
    return [f'{{"n":{i}}}' for i in range(first, last)]


def numbers(w):
    return sorted(json.loads(line)["n"] for line in w.files())


def read(w, pipeline, rows, *arguments):
    """Runs until so many rows have been read since this start, then stops with a checkpoint."""
    run = w.start(pipeline, *arguments)
    run.wait_until(lambda: run.counters("topic_db").get("rows_in", 0) >= rows, f"{rows} rows")
    return run.stop()


@case("KF-01", "records that retention deleted behind our back are missed aloud")
def kf01(w):
    topic = w.topic()
    broker.produce(topic, numbered(0, 50))
    read(w, job(topic), 50)
    broker.produce(topic, numbered(50, 100))
    broker.delete_records(topic, 0, 80)
    run = w.run(job(topic), code=1)
    equal(run.messages(), [f'operator "topic_db" (kafka.source): {topic}-0: checkpoint offset 50, earliest available 80, 30 offsets lost (deleted by '
                           "retention); set `on_gap: earliest` to go on at 80 or `on_gap: latest` to go on at 100"], "the default")
    equal(numbers(w), list(range(50)), "rows")
    run = read(w, job(topic, ", on_gap: earliest"), 20)
    equal(numbers(w), list(range(50)) + list(range(80, 100)), "rows with on_gap: earliest")
    equal(run.counter("topic_db", "lost_records"), 30, "lost records")
    equal(run.messages(), [f"{topic}-0: checkpoint offset 50, earliest available 80, 30 offsets lost (deleted by retention); going on at 80 (on_gap: "
                           "earliest)"], "with on_gap: earliest")


@case("KF-02", "partitions that are added are read from their beginning, also in a lane that had none")
def kf02(w):
    topic = w.topic()
    broker.produce(topic, numbered(-5, 0))  # before the start: not wanted
    latest = job(topic, ", start: latest, discover_interval: 500ms")
    run = w.start(latest, "--parallelism", "2")
    run.wait_until(lambda: (run.progress() or {}).get("splits"), "the partition")
    broker.add_partitions(topic, 3)
    for partition in range(3):
        broker.produce(topic, numbered(40 * partition, 40 * partition + 40), partition=partition)
    run.wait_until(lambda: run.counters("topic_db").get("rows_in") == 120, "all rows")
    run.stop()
    equal(numbers(w), list(range(120)), "rows")
    broker.produce(topic, numbered(120, 130), partition=2)
    broker.add_partitions(topic, 4)
    broker.produce(topic, numbered(130, 140), partition=3)
    run = read(w, latest, 20, "--parallelism", "4")
    contains(run.log, f"{topic}-3: from offset 0 (new partition), it holds 0 to 10")
    equal(numbers(w), list(range(140)), "rows after the restart")

    # Windows wait for what is in the new partitions, also from one run to the next.
    topic = w.topic("timed")
    windowed = job(topic, ", discover_interval: 500ms").replace("    with: { brokers", """    event_time: { field: ts, format: epoch_s, out_of_order: 2s, idle_timeout: 0 }
    with: { brokers""").replace("/checkpoints", "/timed-checkpoints").replace("/out\"", "/timed\"").replace("    input: topic_db", "    input: win") + """
  - id: win
    use: tumbling_window
    input: topic_db
    with: { size: 10s, aggregates: { n: count }, start_column: "", end_column: second, time_format: ss, version_column: "" }
"""
    first = 1699286400

    def timed(*seconds):
        return [f'{{"ts":{first + s}}}' for s in seconds]

    def splits(run):
        return {s["split"] for s in (run.progress() or {"splits": []})["splits"]}

    def held(run, by):
        text = f"the watermark is held by split {topic}-{by} of topic_db: it has given no rows yet"
        run.wait_until(lambda: text in (run.progress() or {"waiting_for": []})["waiting_for"], f"partition {by} to be waited for")

    broker.produce(topic, timed(1, 2, 13))
    run = w.start(windowed, "--parallelism", "2")
    run.wait_until(lambda: w.files("timed") == ['{"second":"10","n":2}'], "the first window")
    broker.add_partitions(topic, 3)
    run.wait_until(lambda: len(splits(run)) == 3, "the new partitions")
    broker.produce(topic, timed(14, 33))
    broker.produce(topic, timed(15, 33), partition=1)
    run.wait_until(lambda: run.counters("win").get("rows_in") == 7, "the rows of two partitions")
    held(run, 2)
    run.stop()
    run = w.start(windowed, "--parallelism", "2")
    held(run, 2)
    equal(w.files("timed"), ['{"second":"10","n":2}'], "windows that the third partition holds")
    broker.produce(topic, timed(11, 12, 33), partition=2)
    run.wait_until(lambda: len(w.files("timed")) == 2, "the second window")
    run.stop()
    equal(w.files("timed"), ['{"second":"10","n":2}', '{"second":"20","n":5}'], "windows")
    equal(run.counter("win", "late_dropped"), 0, "late rows")


@case("KF-03", "a topic that was deleted and made anew is noticed, running and at a start")
def kf03(w):
    topic = w.topic()
    broker.produce(topic, numbered(0, 1000))
    run = w.start(job(topic))
    run.wait_until(lambda: run.counters("topic_db").get("rows_in") == 1000, "all rows")
    run.wait_checkpoint()
    broker.delete(topic)
    broker.create(topic)
    broker.produce(topic, numbered(1000, 1010))
    run.wait_end(1)
    # How far the new one has been filled by then is a matter of luck.
    contains(run.messages()[-1], f'operator "topic_db" (kafka.source): {topic}-0: offset 1000, but the partition ends at ',
             ": the topic was made anew or cut off; set `on_gap: earliest` to go on at 0 or `on_gap: latest` to go on at ")
    run = w.run(job(topic), code=1)
    equal(run.messages(), [f'operator "topic_db" (kafka.source): {topic}-0: checkpoint offset 1000, but the partition ends at 10: the topic was made anew or '
                           "cut off; set `on_gap: earliest` to go on at 0 or `on_gap: latest` to go on at 10"], "at the next start")
    run = read(w, job(topic, ", on_gap: earliest"), 10)
    equal(numbers(w), list(range(1010)), "rows with on_gap: earliest")
    run = w.start(job(topic, ", on_gap: earliest"))
    run.wait_until(run.progress, "the job")
    broker.delete(topic)
    gone = f"topic_db: {topic}-0 does not exist any more: waiting for it"
    run.wait_until(lambda: gone in (run.ask("health") or {}).get("waiting_for", []), "the topic to be missed by /health")
    run.stop()


@case("KF-04", "the checkpoint wins over the group's offsets, whoever moved them")
def kf04(w):
    topic = w.topic()
    broker.produce(topic, numbered(0, 40))
    run = read(w, job(topic), 40)
    equal(broker.committed(topic, topic), 40, "committed by the checkpoint")
    broker.produce(topic, numbered(40, 100))
    broker.commit(topic, topic, 60)
    run = read(w, job(topic), 60)
    contains(run.log, f"{topic}-0: from offset 40 (checkpoint), it holds 0 to 100")
    equal(numbers(w), list(range(100)), "rows that the checkpoint misses")
    broker.commit(topic, topic, 60)
    run = read(w, job(topic, ", start: committed").replace("/out\"", "/again\"").replace("/checkpoints", "/again"), 40)
    equal(sorted(json.loads(line)["n"] for line in w.files("again")), list(range(60, 100)), "rows from the group's offset")
    broker.commit(topic, topic, 0)
    broker.produce(topic, numbered(100, 110))
    run = read(w, job(topic), 10)
    equal(numbers(w), list(range(110)), "rows after the group was set back")


@case("KF-06", "bytes that are not UTF-8 are kept as they are, whatever the locale")
def kf06(w):
    topic = w.topic()
    gbk = '{"database":"gmall","table":"base_dic","type":"insert","ts":1,"data":{"id":1,"dic_name":"'.encode() + b"\xc4\xe3\xba\xc3" + b'"}}'
    good = '{"database":"gmall","table":"base_dic","type":"insert","ts":1,"data":{"id":2,"dic_name":"你好"}}'
    broker.produce(topic, [gbk, good])
    w.run(job(topic, ", until: end"), environment={"LANG": "C", "LC_ALL": "C"})
    equal(w.files(), [good], "rows")
    equal([(x["reason"], x["bytes"], "raw_base64" in x) for x in w.letters()], [(f"invalid UTF-8 near byte {gbk.index(0xc4)}", gbk, True)], "dead letters")


@case("KF-07", "every compression that producers use")
def kf07(w):
    topic = w.topic()
    for n, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        broker.produce(topic, [f'{{"n":{i},"filler":"{"x" * 50}"}}' for i in range(100 * n, 100 * n + 100)], compression=codec)
    w.run(job(topic, ", until: end"))
    equal(numbers(w), list(range(500)), "rows")


@case("KF-08", "one bad message: stop, leave it out, or keep it")
def kf08(w):
    topic = w.topic()
    good = {i for i in range(1000) if i not in (10, 500, 999)}
    broker.produce(topic, [f'{{"n":{i}}}' if i in good else f"broken {i}" for i in range(1000)])
    end = ", until: end"
    for attempt in ("first", "second"):
        run = w.run(job(topic, end, top="on_error: fail").replace("/checkpoints", "/fail").replace("/out\"", "/fail-out\""), code=1)
        equal(run.messages(), [f'operator "topic_db": not a JSON object: it begins with "broken", at {topic}[0] offset 10; the job stops because '
                               "on_error is `fail`"], f"on_error: fail, {attempt} attempt")
    run = w.run(job(topic, end, top="on_error: drop").replace("/checkpoints", "/drop").replace("/out\"", "/drop-out\""))
    equal(sorted(json.loads(line)["n"] for line in w.files("drop-out")), sorted(good), "rows with on_error: drop")
    contains(run.log, "rejected")
    run = w.run(job(topic, end))
    equal(numbers(w), sorted(good), "rows with on_error: dead_letter")
    equal([(x["position"], x["bytes"].decode()) for x in w.letters()], [(f"{topic}[0] offset {i}", f"broken {i}") for i in (10, 500, 999)], "dead letters")
    # As docs/operating.md says: out of the letters, with the fix, into the topic again.
    recipe = re.search(r"```sh\n(jq .*?)```", (ROOT / "docs/operating.md").read_text(), re.S)[1]
    recipe = recipe.replace("FIX", """sed -E 's/broken ([0-9]+)/{"n":\\1}/g'""").replace("TOPIC", topic)
    subprocess.run(["bash", "-euo", "pipefail", "-c", recipe], cwd=w.folder, env=dict(os.environ, KAFKA=broker.ADDRESS), check=True)
    equal(broker.end_offset(topic), 1003, "the topic's end")
    read(w, job(topic), 3)
    equal(numbers(w), list(range(1000)), "rows after the letters were fed again")
    # Dead letters that cannot be written hold the offset back.
    w.write("no-folder", "a file, not a folder")
    run = w.run(job(topic, end).replace("/dead-letters", "/no-folder").replace("/checkpoints", "/unwritable").replace("/out\"", "/unwritable-out\"")
                .replace(f'group: "{topic}"', f'group: "{topic}-x"'), code=1)
    equal(run.messages(), [f"dead letters: cannot create {w.path('no-folder')}: Not a directory"], "dead letters that cannot be written")
    if broker.committed(f"{topic}-x", topic) > 10:
        raise AssertionError("the offset passed a dead letter that was not written")


# Runs a command and writes how much memory it had at most, in KiB.
MEASURED = "import os, resource, subprocess, sys\n" \
           "code = subprocess.call(sys.argv[2:])\n" \
           "open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))\n" \
           "sys.exit(code)"


@case("BAD-01", "bad input of every kind: dead letters with place and reason, nothing else lost, memory bounded")
def bad01(w):
    first = 1699286400  # 2023-11-06T16:00:00Z

    def good(user, amount="1.50"):
        return f'{{"user_id":"{user}","ts":{first + 1},"amount":{amount}}}'

    def bad(n):
        """Each kind: (operator that refuses it, reason, message)."""
        return (
            ("topic_db", "a record of 10000054 bytes; limits.max_record_size is 8388608",
             f'{{"user_id":"big-{n:02}","ts":{first},"amount":1,"x":"{"b" * 10_000_000}"}}'),
            ("topic_db", "the text ends too early, at byte 20", '{"user_id":"x","ts":'),
            ("topic_db", "invalid UTF-8 near byte 12", b'{"user_id":"\xff\xfe","ts":1699286401,"amount":1}'),
            ("topic_db", "nested deeper than 512 levels, at byte 563",
             f'{{"user_id":"deep-{n:02}","ts":{first},"amount":1,"x":{"[" * 10_000}{"]" * 10_000}}}'),
            ("win", 'field "amount": a number of 400 characters at byte 48; at most 255 are allowed', good(f"digits-{n:02}", "7" * 400)),
            ("first", 'key field "user_id" of operator "first" is missing', f'{{"ts":{first},"amount":1}}'),
            ("topic_db", 'event time: field "ts" holds "253370764800", further ahead of the clock than max_ahead (1d)',
             '{"user_id":"far","ts":253370764800,"amount":1}'))

    topic = w.topic(max_message_bytes="20000000")
    expected, at = [], 0
    for n in range(24):
        messages = [good(n)]
        for operator, reason, message in bad(n):
            expected.append((operator, f"{topic}[0] offset {at + len(messages)}", reason, message if isinstance(message, bytes) else message.encode()))
            messages += [message, good(f"{n}-{len(messages)}")]
        broker.produce(topic, messages)
        at += len(messages)
    pipeline = job(topic, ", until: end").replace("    with: { brokers", """    event_time: { field: ts, format: epoch_s, out_of_order: 2s }
    with: { brokers""").replace("  - id: out\n    use: file.sink\n    input: topic_db", """  - id: first
    use: daily_dedup
    input: topic_db
    key: user_id
    with: { date_fields: [] }
  - id: win
    use: tumbling_window
    input: first
    with: { size: 10s, aggregates: { n: count, amount: sum(amount) }, time_format: epoch_ms, version_column: "" }
  - id: out
    use: file.sink
    input: win""")
    run = w.start(pipeline, inside=[sys.executable, "-c", MEASURED, str(w.path("memory"))]).wait_end(0)
    rows = 24 * 8
    equal(w.files(), [f'{{"stt":{first}000,"edt":{first + 10}000,"n":{rows},"amount":{rows * 3 // 2}.00}}'], "rows")
    found = [(x["operator"], x["position"], x["reason"], x["bytes"]) for x in w.letters()]
    equal([x[:3] for x in found], [x[:3] for x in expected], "dead letters")
    equal([len(x[3]) for x in found if x not in expected], [], "sizes of letters that hold other bytes than the message")
    contains(run.log, f"{len(expected)} dead letters in")
    rejected = {name: int(n.replace(",", "")) for name, n in re.findall(r" info +(\w+) +[a-z_.]+ +[\d,]+ +[\d,]+ +([\d,]+)$", run.log, re.M)}
    equal(rejected, {"topic_db": 24 * 5, "first": 24, "win": 24}, "rejected rows")
    memory = int(w.path("memory").read_text()) // 1024
    if memory > 250:
        raise AssertionError(f"{memory} MiB of memory")
