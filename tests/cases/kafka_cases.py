"""A Kafka source whose topic loses records, is made anew, grows, or holds bytes that nobody can read."""
import functools
import json

import broker
from world import case as register
from world import contains, equal

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
    # Dead letters that cannot be written hold the offset back.
    w.write("no-folder", "a file, not a folder")
    run = w.run(job(topic, end).replace("/dead-letters", "/no-folder").replace("/checkpoints", "/unwritable").replace("/out\"", "/unwritable-out\"")
                .replace(f'group: "{topic}"', f'group: "{topic}-x"'), code=1)
    equal(run.messages(), [f"dead letters: cannot create {w.path('no-folder')}: Not a directory"], "dead letters that cannot be written")
    if broker.committed(f"{topic}-x", topic) > 10:
        raise AssertionError("the offset passed a dead letter that was not written")
