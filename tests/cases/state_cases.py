"""Keys and what is remembered of them: over days, restarts, other parallelism, changed pipelines."""
import functools
import json

from world import case as register
from world import contains, equal

case = functools.partial(register, "state")

T = 1699286400  # 2023-11-06T16:00:00Z, midnight in Shanghai


def job(dedup="", key="user_id", parallelism="1", source="", rest=""):
    """The first row of each key and day in Shanghai, into files."""
    return f"""
pipeline: dedup
parallelism: {parallelism}
checkpoint: {{ dir: "${{OUT}}/checkpoints", interval: 200ms, keep: 5 }}
dead_letters: {{ dir: "${{OUT}}/dead-letters" }}
operators:
  - id: source
    use: file.source
    with: {{ path: "${{OUT}}/rows.jsonl", follow: "${{FOLLOW:-false}}" }}
    event_time: {{ field: ts, format: epoch_s, out_of_order: 2s {source} }}
  - id: first
    use: daily_dedup
    input: source
    key: {key}
    with: {{ date_fields: [], zone: Asia/Shanghai {dedup} }}
  - id: out
    use: file.sink
    input: first
    with: {{ dir: "${{OUT}}/out" }}
{rest}"""


def follow(w, pipeline, rows_in, *arguments):
    """Runs until `rows_in` rows have gone into the operator since this start, then stops with a checkpoint."""
    run = w.start(pipeline, *arguments, environment={"FOLLOW": "true"})
    run.wait_until(lambda: run.counters("first").get("rows_in", 0) >= rows_in, f"{rows_in} rows")
    return run.stop()


@case("ST-01", "a late row of yesterday does not let a key pass again")
def st01(w):
    for offset in (-1000, 1000, -2000, 100_000):
        w.lines("rows.jsonl", json.dumps({"common": {"mid": "m1"}, "ts": T * 1000 + offset}))
    run = w.run(job(", each_day: true", key="common.mid").replace("epoch_s", "epoch_ms"))
    equal([json.loads(r)["ts"] - T * 1000 for r in w.files()], [-1000, 1000], "rows that pass")
    equal(run.counter("first", "dropped_seen"), 2, "rows that were dropped")


@case("ST-02", "what was seen is remembered")
def st02(w):
    users = [("u1", 0), ("u1", 1), ("u2", 2), ("u1", 86400)]
    w.lines("rows.jsonl", *[json.dumps({"user_id": u, "ts": T + t}) for u, t in users],
            # the number 1 and the text "1" are one key
            json.dumps({"user_id": 1, "ts": T + 86401}), json.dumps({"user_id": "1", "ts": T + 86402}))
    w.run(job())
    passed = [(json.loads(r)["user_id"], json.loads(r)["ts"] - T) for r in w.files()]
    equal(passed, [("u1", 0), ("u2", 2), ("u1", 86400), (1, 86401)], "rows that pass")


@case("ST-04", "the time to live may be changed between runs")
def st04(w):
    users = [json.dumps({"user_id": f"u{i}", "ts": T + i % 60}) for i in range(1000)]
    w.lines("rows.jsonl", *users)
    follow(w, job(), 1000)
    equal(len(w.files()), 1000, "rows that pass at first")
    for n, ttl in enumerate((", ttl: 1d", ", ttl: 12h", "", ", ttl_clock: event"), 1):
        w.lines("rows.jsonl", *users, json.dumps({"user_id": f"new{n}", "ts": T + 50}))
        follow(w, job(ttl), 1001)
        equal([json.loads(r)["user_id"] for r in w.files()[1000:]], [f"new{i}" for i in range(1, n + 1)], f"rows that pass with {ttl or 'the default'!r}")


@case("ST-05", "another number of lanes finds every key, rule and open window again")
def st05(w):
    users = 2000
    rest = """  - id: rules
    use: file.source
    with: { path: "${OUT}/rules.jsonl" }
  - id: ruled
    use: broadcast_filter
    input: source
    broadcast: rules
  - id: kept
    use: file.sink
    input: ruled
    with: { dir: "${OUT}/kept" }
  - id: per_user
    use: tumbling_window
    input: source
    key: user_id
    with: { size: 1d, zone: Asia/Shanghai, group_by: [user_id], aggregates: { n: count }, version_column: "", start_column: "", end_column: "" }
  - id: counts
    use: file.sink
    input: per_user
    with: { dir: "${OUT}/counts" }
"""
    w.lines("rules.jsonl", *[json.dumps({"source_table": f"t{i}", "sink_table": f"d{i}", "sink_columns": "id"}) for i in range(7)])
    row = [json.dumps({"user_id": f"u{i}", "ts": T + i % 60, "database": "d", "table": f"t{i % 7}", "type": "insert", "data": {"id": i}}) for i in range(users)]
    w.lines("rows.jsonl", *row)
    follow(w, job(parallelism="2", rest=rest), users)
    new = []
    for n, parallelism in enumerate(("4", "1", "3"), 1):
        fresh = [json.dumps({"user_id": f"new{n}-{i}", "ts": T + 50, "database": "d", "table": "t0", "type": "insert", "data": {"id": 0}}) for i in range(10)]
        w.lines("rows.jsonl", *row, *fresh)
        new += [f"new{n}-{i}" for i in range(10)]
        follow(w, job(parallelism=parallelism, rest=rest), users + 10)
        equal(sorted(json.loads(r)["user_id"] for r in w.files()), sorted([f"u{i}" for i in range(users)] + new), f"rows that passed up to parallelism {parallelism}")
        equal(len(w.files("kept")), users + n * (users + 10), f"rows with a rule up to parallelism {parallelism}")
    # A bounded run over the same followed file ends with it, which closes the windows.
    w.lines("rows.jsonl", json.dumps({"user_id": "last", "ts": T + 86400 * 2, "database": "d", "table": "t0", "type": "insert", "data": {"id": 0}}))
    run = w.start(job(parallelism="3", rest=rest), environment={"FOLLOW": "true"})
    run.wait_until(lambda: len(w.files("counts")) >= users + 30, "the day's windows")
    run.stop()
    equal({(json.loads(r)["user_id"], json.loads(r)["n"]) for r in w.files("counts")},
          {(f"u{i}", 4) for i in range(users)} | {(u, 1) for u in new}, "counts of the day")


@case("ST-06", "state is not given to an operator whose key or place has changed")
def st06(w):
    def two(keys, order=("first", "second")):
        text = job().split("  - id: first")[0]
        before = "source"
        for name in order:
            text += (f"  - id: {name}\n    use: daily_dedup\n    input: {before}\n    key: {keys[name]}\n"
                     "    with: { date_fields: [], zone: Asia/Shanghai }\n")
            before = name
        return text + f'  - id: out\n    use: file.sink\n    input: {before}\n    with: {{ dir: "${{OUT}}/out" }}\n'

    keys = {"first": "user_id", "second": "device_id"}
    w.lines("rows.jsonl", *[json.dumps({"user_id": f"u{i}", "device_id": f"d{i}", "ts": T}) for i in range(20)])
    follow(w, two(keys), 20)
    run = w.run(two({**keys, "first": "device_id"}), code=3, environment={"FOLLOW": "true"})
    equal(run.messages(), ['checkpoints: checkpoint 2 does not fit the pipeline:\n      operator "first" was keyed by "user_id", is now keyed by "device_id": '
                           "its state belongs to the old keys. To give it up: --drop-state first"], "another key")
    run = w.run(two(keys, ("second", "first")), code=3, environment={"FOLLOW": "true"})
    equal(run.messages(), ['checkpoints: checkpoint 2 does not fit the pipeline:\n      operator "second" read what "first" gave, now "first" reads what '
                           '"second" gives: their state belongs to other rows. To give it up: --drop-state second --drop-state first'], "another order")
    # Only a comment and the level of the log are new: it goes on.
    w.lines("rows.jsonl", json.dumps({"user_id": "u3", "device_id": "d3", "ts": T + 1}), json.dumps({"user_id": "u20", "device_id": "d20", "ts": T + 1}))
    follow(w, two(keys) + "# a comment\n", 2, "--log-level", "debug")
    equal([json.loads(r)["user_id"] for r in w.files()], [f"u{i}" for i in range(21)], "rows that pass")


@case("ST-07", "a key that is missing, null or no scalar is refused with the reason")
def st07(w):
    w.lines("rows.jsonl", '{"id":1,"user_id":null,"ts":1699286400}', '{"id":2,"ts":1699286400}', '{"id":3,"user_id":"","ts":1699286400}',
            '{"id":4,"user_id":{"a":1},"ts":1699286400}', '{"id":5,"user_id":"u1","ts":1699286400}')
    w.run(job())
    equal([json.loads(r)["id"] for r in w.files()], [3, 5], "rows that pass")
    file = w.path("rows.jsonl")
    equal([(x["operator"], x["position"], x["reason"]) for x in w.letters()],
          [("first", f"{file}:1 (byte 0)", 'key field "user_id" of operator "first" is null'),
           ("first", f"{file}:2 (byte 40)", 'key field "user_id" of operator "first" is missing'),
           ("first", f"{file}:4 (byte 103)", 'key field "user_id" of operator "first" is not a text and not a number')], "dead letters")
