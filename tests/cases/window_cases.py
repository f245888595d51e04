"""Event time, watermarks and windows: who is late, what closes a window, and what must not."""
import functools
import json
import time

import broker
from world import case as register
from world import contains, equal

case = functools.partial(register, "window")

T = 1699286400  # 2023-11-06T16:00:00Z, midnight in Shanghai


def rows(*times, **more):
    return [json.dumps({"user_id": i, "ts": t, **more}) for i, t in enumerate(times, 1)]


def job(source, event_time="", window="size: 10s", top=""):
    """Rows with `ts` in seconds, counted in windows of ten seconds; results with times in ms in files."""
    return f"""
pipeline: windows
{top}
checkpoint: {{ dir: "${{OUT}}/checkpoints", interval: 200ms, keep: 3 }}
dead_letters: {{ dir: "${{OUT}}/dead-letters" }}
operators:
  - id: source
    use: {source}
    event_time: {{ field: ts, format: epoch_s, out_of_order: 2s {event_time} }}
  - id: win
    use: tumbling_window
    input: source
    with: {{ {window}, aggregates: {{ n: count }}, time_format: epoch_ms, version_column: "" }}
  - id: out
    use: file.sink
    input: win
    with: {{ dir: "${{OUT}}/out" }}
"""


FILE = 'file.source\n    with: { path: "${OUT}/rows.jsonl", follow: "${FOLLOW:-false}" }'


def kafka(topic, until="none"):
    return f'kafka.source\n    with: {{ brokers: "${{KAFKA}}", topic: "{topic}", group: "{topic}", until: {until} }}'


def counts(w, folder="out"):
    """(start of the window in seconds, its count) in the order in which they came out."""
    found = [json.loads(line) for line in w.files(folder)]
    return [(r["stt"] // 1000, r["n"]) for r in found]


@case("WM-01", "a partition without rows holds windows only until it counts as idle")
def wm01(w):
    topic = w.topic(partitions=3)
    broker.produce(topic, rows(T, T + 5, T + 13), partition=0)
    run = w.start(job(kafka(topic), ", idle_timeout: 2s"))
    run.wait_until(lambda: counts(w) == [(T, 2)], "the first window")
    before = run.counters("win")["watermark_ms"]
    broker.produce(topic, rows(T + 14), partition=1)
    run.wait_until(lambda: run.counters("source")["rows_in"] == 4, "the row of partition 1")
    if run.counters("win")["watermark_ms"] < before:
        raise AssertionError("the watermark went back")
    # Both belong to the second window, which closes when the two partitions with rows are behind it.
    broker.produce(topic, rows(T + 30), partition=0)
    broker.produce(topic, rows(T + 31), partition=1)
    run.wait_until(lambda: counts(w) == [(T, 2), (T + 10, 2)], "the second window")
    run.stop()

    # Never idle: then it is said who holds the watermark.
    run = w.start(job(kafka(topic), ", idle_timeout: 0").replace("/out\"", "/held\"").replace("/checkpoints", "/held-checkpoints"))
    run.wait_until(lambda: run.counters("source").get("rows_in") == 6, "all rows")
    held = f"the watermark is held by split {topic}-2 of source: it has given no rows yet"
    run.wait_until(lambda: held in run.progress()["waiting_for"], "the reason why nothing comes out")
    time.sleep(1)
    run.stop()
    equal(counts(w, "held"), [], "windows that are held")

    # So it is by the messages' own times.
    topic = w.topic("own", partitions=3)
    own = job(kafka(topic).replace("until: none", "timestamps: true"), window="size: 1s, close_windows_when_idle: 1s").replace(
        "field: ts, format: epoch_s, out_of_order: 2s", "out_of_order: 1s, idle_timeout: 1s")
    run = w.start(own.replace("/out\"", "/own\"").replace("/checkpoints", "/own-checkpoints"))
    broker.produce(topic, rows(1, 1), partition=0)
    run.wait_until(lambda: sum(n for _, n in counts(w, "own")) == 2, "windows of the messages' own times")
    if any(abs(start - time.time()) > 600 for start, _ in counts(w, "own")):
        raise AssertionError(f"windows of other times: {counts(w, 'own')}")
    run.stop()


@case("WM-03", "a clock in the far future is refused and makes nobody else late")
def wm03(w):
    w.lines("rows.jsonl", *rows(T, T + 3, 4102444800, T + 4, T + 9, T + 13))
    run = w.run(job(FILE, ", max_ahead: 1h"))
    equal(counts(w), [(T, 4), (T + 10, 1)], "windows")
    equal(run.counter("win", "late_dropped"), 0, "late rows")
    equal([(x["operator"], x["reason"], x["position"]) for x in w.letters()],
          [("source", 'event time: field "ts" holds "4102444800", further ahead of the clock than max_ahead (1h)',
            f"{w.path('rows.jsonl')}:3 (byte 66)")], "dead letters")
    contains(run.log, "1 dead letter in")


@case("WM-04", "the end of the input closes the last window")
def wm04(w):
    w.lines("rows.jsonl", *rows(T, T + 1, T + 11, T + 12))
    w.run(job(FILE))
    equal(counts(w), [(T, 2), (T + 10, 2)], "windows")


@case("WM-05", "a stop closes no window; it goes on after the restart")
def wm05(w):
    w.lines("rows.jsonl", *rows(T, T + 1))
    run = w.start(job(FILE), environment={"FOLLOW": "true"})
    run.wait_until(lambda: run.counters("win").get("rows_in") == 2, "both rows")
    run.stop()
    equal(counts(w), [], "windows at the stop")
    w.lines("rows.jsonl", *rows(T + 2, T + 13))
    run = w.start(job(FILE), environment={"FOLLOW": "true"})
    run.wait_until(lambda: counts(w), "the window")
    run.stop()
    equal(counts(w), [(T, 3)], "windows after the restart")


@case("WM-06", "a partition that is idle, empty or old at the end holds nothing back")
def wm06(w):
    for old in ([], rows(T - 100)):
        topic = w.topic(partitions=2)
        # Long enough that the other partition is idle meanwhile.
        broker.produce(topic, rows(*[T + i % 10 for i in range(20_000)]), partition=0)
        broker.produce(topic, old, partition=1)
        out = f"out-{len(old)}"
        run = w.run(job(kafka(topic, "end"), ", idle_timeout: 10ms", top="limits: { batch_rows: 16 }").replace("/out\"", f"/{out}\"")
                    .replace("/checkpoints", f"/checkpoints-{len(old)}"))
        # The old row comes before its partition is idle, or after: then it is late. Neither may touch the others.
        equal(sorted(counts(w, out))[-1], (T, 20_000), "the last window")
        equal(len(counts(w, out)) - 1 + run.counter("win", "late_dropped"), len(old), "the old row: counted or late")


@case("WM-07", "late rows are not counted in closed windows, and never without a trace")
def wm07(w):
    w.lines("rows.jsonl", *rows(T, T + 12, T + 5, T + 11, T + 22))
    run = w.run(job(FILE))
    equal(counts(w), [(T, 1), (T + 10, 2), (T + 20, 1)], "windows")
    equal(run.counter("win", "late_dropped"), 1, "late rows")
    w.run(job(FILE, window="size: 10s, late: dead_letter").replace("/out\"", "/second\"").replace("/checkpoints", "/checkpoints-2"))
    equal(counts(w, "second"), [(T, 1), (T + 10, 2), (T + 20, 1)], "windows with late: dead_letter")
    equal([(x["operator"], x["reason"], x["bytes"].decode()) for x in w.letters()],
          [("win", f"late: its window [{T}000, {T + 10}000) is closed; the row is 5000 ms behind the watermark", rows(0, 0, T + 5)[2])], "dead letters")
    side = job(FILE, window="size: 10s, late: output").replace("/out\"", "/third\"").replace("/checkpoints", "/checkpoints-3")
    w.run(side + '  - { id: late, use: file.sink, input: win.late, with: { dir: "${OUT}/late" } }\n')
    equal(counts(w, "third"), [(T, 1), (T + 10, 2), (T + 20, 1)], "windows with late: output")
    equal(w.files("late"), rows(T, T + 12, T + 5)[2:], "late rows")


@case("WM-09", "days begin at local midnight, wherever the program runs")
def wm09(w):
    w.lines("rows.jsonl", *rows(T - 1, T, T + 86400))
    day = """
pipeline: days
checkpoint: { dir: "${OUT}/${TZ}/checkpoints" }
operators:
  - { id: source, use: file.source, with: { path: "${OUT}/rows.jsonl" }, event_time: { field: ts, format: epoch_s } }
  - { id: win, use: tumbling_window, input: source, with: { size: 1d, zone: "${ZONE}", aggregates: { n: count }, version_column: "" } }
  - { id: out, use: file.sink, input: win, with: { dir: "${OUT}/${TZ}/out" } }
  - id: dates
    use: tumbling_window
    input: source
    with: { size: 1d, zone: "${ZONE}", start_column: cur_date, end_column: "", time_format: yyyyMMdd, aggregates: { n: count }, version_column: "" }
  - { id: out_dates, use: file.sink, input: dates, with: { dir: "${OUT}/${TZ}/dates" } }
"""
    for zone in ("UTC", "America/New_York"):
        w.run(day, environment={"TZ": zone, "ZONE": "Asia/Shanghai"})
        equal(w.files(f"{zone}/out"), ['{"stt":"2023-11-06 00:00:00","edt":"2023-11-07 00:00:00","n":1}',
                                       '{"stt":"2023-11-07 00:00:00","edt":"2023-11-08 00:00:00","n":1}',
                                       '{"stt":"2023-11-08 00:00:00","edt":"2023-11-09 00:00:00","n":1}'], f"days with TZ={zone}")
        equal(w.files(f"{zone}/dates"), ['{"cur_date":"20231106","n":1}', '{"cur_date":"20231107","n":1}', '{"cur_date":"20231108","n":1}'], f"dates with TZ={zone}")
    # 5 November 2023 has 25 hours in New York: its last second is 86399 + 3600 s after its first.
    first = 1699156800
    w.path("rows.jsonl").unlink()
    w.lines("rows.jsonl", *rows(first, first + 86400 + 3599, first + 86400 + 3600))
    w.run(day, environment={"TZ": "Asia/Tokyo", "ZONE": "America/New_York"})
    equal(w.files("Asia/Tokyo/out"), ['{"stt":"2023-11-05 00:00:00","edt":"2023-11-06 00:00:00","n":2}',
                                      '{"stt":"2023-11-06 00:00:00","edt":"2023-11-07 00:00:00","n":1}'], "a day of 25 hours")


@case("WM-10", "old data gives windows like new data")
def wm10(w):
    old = 1667750400
    topic = w.topic(partitions=3)
    for partition in range(3):
        broker.produce(topic, rows(*[old + s for s in range(100) if s % 3 == partition], old + 113), partition=partition)
    run = w.start(job(kafka(topic), ", max_ahead: 1h"))
    run.wait_until(lambda: len(counts(w)) == 10, "ten windows")
    run.stop()
    equal(sorted(counts(w)), [(old + 10 * i, 10) for i in range(10)], "windows")
    equal(run.counter("win", "late_dropped"), 0, "late rows")
    equal(w.letters(), [], "dead letters")


@case("WM-11", "a time that is missing, no number or in another unit is refused with the reason")
def wm11(w):
    w.lines("rows.jsonl", '{"user_id":1,"ts":1699286400}', '{"user_id":2}', '{"user_id":3,"ts":null}', '{"user_id":4,"ts":"1699286401"}',
            '{"user_id":5,"ts":1699286402123}', '{"user_id":6,"ts":"2023-11-07 00:00:03"}', '{"user_id":7,"ts":-1}', '{"user_id":8,"ts":1699286413}')
    w.run(job(FILE))
    equal(counts(w), [(T, 2), (T + 10, 1)], "windows")
    holds = 'event time: field "ts" holds "{}", expected format epoch_s'
    equal([(json.loads(x["bytes"])["user_id"], x["reason"]) for x in w.letters()],
          [(2, 'event time: "ts" is null or missing'), (3, 'event time: "ts" is null or missing'),
           (5, holds.format("1699286402123") + "; it looks like epoch_ms"), (6, holds.format("2023-11-07 00:00:03")),
           (7, 'event time: field "ts" holds "-1", which is before 1970')], "dead letters")
