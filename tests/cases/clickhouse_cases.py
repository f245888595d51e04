"""ClickHouse as a sink: times, nulls, fields and numbers that do not fit, and servers that are in trouble."""
import functools
import json
import shutil

import clickhouse_server as server
from clickhouse_server import rows, table
from world import case as register
from world import contains, equal

case = functools.partial(register, "clickhouse")

T = 1699286400  # 2023-11-06T16:00:00Z, midnight in Shanghai


def job(name, options="", address=None, top="", before="", interval="200ms"):
    """Rows of a file into a table."""
    return f"""
pipeline: warehouse
{top}
checkpoint: {{ dir: "${{OUT}}/checkpoints", interval: {interval} }}
dead_letters: {{ dir: "${{OUT}}/dead-letters" }}
operators:
  - id: source
    use: file.source
    with: {{ path: "${{OUT}}/rows.jsonl", follow: "${{FOLLOW:-false}}" }}
{before}
  - id: warehouse
    use: clickhouse.sink
    input: source
    with: {{ servers: ["http://{address or server.ENGINE}"], table: {name} {options} }}
"""


def refused(w):
    return [(json.loads(x["bytes"]).get("id"), x["reason"]) for x in w.letters()]


@case("MX-03", "whole numbers keep every digit in a UInt64 column")
def mx03(w):
    table("mx03", "id UInt64, n UInt64, text String, ts UInt64")
    w.lines("rows.jsonl", '{"id":9007199254740993,"n":18446744073709551615,"text":18446744073709551615,"ts":1}',
            '{"id":1,"n":18446744073709551616,"text":"x","ts":1}')
    w.run(job("mx03"))
    equal(rows("SELECT id, n, text FROM mx03 FINAL ORDER BY id"), [["9007199254740993", "18446744073709551615", "18446744073709551615"]])
    equal(refused(w), [(1, 'column "n": 18446744073709551616 is outside the range of UInt64')], "dead letters")


@case("MX-04", "decimals keep their digits and add up exactly")
def mx04(w):
    table("mx04", "id UInt64, amount Decimal(28,6), fee Decimal(10,2), ts UInt64")
    w.lines("rows.jsonl", '{"id":1,"amount":999999999999.999998,"fee":20.00,"ts":1}', '{"id":2,"amount":0.1,"fee":0.2,"ts":1}',
            '{"id":3,"amount":1E+2,"fee":-0.00,"ts":1}')
    w.run(job("mx04"))
    equal(rows("SELECT sum(amount), sum(fee), count() FROM mx04 FINAL"), [["1000000000100.099998", "20.2", "3"]])


@case("MX-08", "of two changes in one second the later one stays, when the version is the order of the source")
def mx08(w):
    table("mx08", "id UInt64, price Decimal(10,2), ts UInt64, xid UInt64", engine="ReplacingMergeTree(xid) ORDER BY id")
    w.lines("rows.jsonl", '{"id":9,"price":10.00,"ts":1699253290,"xid":50}', '{"id":9,"price":12.50,"ts":1699253290,"xid":51}')
    w.run(job("mx08", ", batch_rows: 1"))
    equal(rows("SELECT id, price FROM mx08 FINAL"), [["9", "12.5"]])
    w.run(job("mx08", ", batch_rows: 1"), "--from", "none")
    equal(rows("SELECT id, price FROM mx08 FINAL"), [["9", "12.5"]], "after both came again")


@case("MX-09", "zero dates become NULL where there is one, and no other time anywhere")
def mx09(w):
    table("mx09", "id UInt64, start_time Nullable(DateTime), end_time DateTime, ts UInt64")
    w.lines("rows.jsonl", '{"id":1,"start_time":"0000-00-00 00:00:00","end_time":"2020-00-00 00:00:00","ts":1}',
            '{"id":2,"start_time":"0000-00-00 00:00:00","end_time":"2020-01-01 00:00:00","ts":1}',
            '{"id":3,"start_time":"2020-01-01 00:00:00","end_time":"2020-00-00 00:00:00","ts":1}',
            '{"id":4,"start_time":null,"end_time":"2020-01-01 00:00:00","ts":1}')
    w.lines("rows.jsonl", '{"id":5,"start_time":null,"end_time":"0000-00-00 00:00:00","ts":1}')
    run = w.run(job("mx09"))
    equal(rows("SELECT id, start_time, end_time FROM mx09 FINAL ORDER BY id"), [["2", "\\N", "2020-01-01 00:00:00"], ["4", "\\N", "2020-01-01 00:00:00"]])
    not_there = 'column "end_time": "2020-00-00 00:00:00" is not in the calendar'
    zero = ('column "{}": "0000-00-00 00:00:00" is a zero date, which ClickHouse would turn into another one; `zero_dates: as_null` makes it NULL in a '
            "Nullable column, and in no other")
    equal(refused(w), [(1, not_there), (3, not_there), (5, zero.format("end_time"))], "dead letters")
    equal(run.counter("warehouse", "zero_dates"), 1, "zero dates that became NULL")
    shutil.rmtree(w.path("dead-letters"))
    w.run(job("mx09", ", zero_dates: reject"), "--from", "none")
    start = zero.format("start_time")
    equal(refused(w), [(1, start), (2, start), (3, not_there), (5, zero.format("end_time"))], "dead letters with zero_dates: reject")


@case("MX-13", "names and values of any script")
def mx13(w):
    table("mx13", "id UInt64, `你好` String, note String, ts UInt64")
    w.lines("rows.jsonl", '{"id":1,"你好":"値","note":"Zoë 🛒 \\ud83d\\ude80 tab\\there","ts":1}')
    w.run(job("mx13"))
    equal(rows("SELECT id, `你好`, note FROM mx13 FINAL"), [["1", "値", "Zoë 🛒 🚀 tab\\there"]])


@case("CH-01", "many small results make few inserts")
def ch01(w):
    table("ch01", "id UInt64, ts UInt64", engine="ReplacingMergeTree(ts) ORDER BY id SETTINGS parts_to_throw_insert = 300")
    run = w.start(job("ch01", ", flush_interval: 1s", top="limits: { batch_rows: 10 }", interval="2s"), environment={"FOLLOW": "true"})
    for i in range(0, 20_000, 400):
        w.lines("rows.jsonl", *[f'{{"id":{n},"ts":1}}' for n in range(i, i + 400)])
        run.wait_until(lambda: run.counters("source").get("rows_in", 0) >= i + 400, "the rows")
    run.stop()
    equal(rows("SELECT count(), uniqExact(id), min(id), max(id) FROM ch01 FINAL"), [["20000", "20000", "0", "19999"]])
    inserts = run.counter("warehouse", "inserts")
    if not 0 < inserts <= 20:
        raise AssertionError(f"{inserts} inserts")


@case("CH-02", "an insert that is sent again, refused or stored without an answer, is there once")
def ch02(w):
    columns = "id UInt64, ts UInt64"
    server.ask("DROP TABLE IF EXISTS _sluice_epochs")
    window = "MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000"
    for name, engine, delivery, spoil in (
            ("ch02a", "ReplacingMergeTree(ts) ORDER BY id", "upsert", lambda n: (500, 252) if n <= 3 else None),
            ("ch02b", "ReplacingMergeTree(ts) ORDER BY id", "upsert", lambda n: "cut" if n == 1 else None),
            ("ch02c", window, "exactly_once", lambda n: "cut" if n == 1 else None)):
        table(name, columns, engine=engine)
        gate = server.Gate(spoil)
        w.path("rows.jsonl").unlink(missing_ok=True)
        w.lines("rows.jsonl", *[f'{{"id":{n},"ts":1}}' for n in range(100)])
        try:
            w.run(job(name, f", delivery: {delivery}", address=gate.address).replace("/checkpoints", f"/checkpoints-{name}"))
        finally:
            gate.close()
        equal(rows(f"SELECT count(), uniqExact(id) FROM {name}" + ("" if delivery == "exactly_once" else " FINAL")), [["100", "100"]], name)
        if name == "ch02a":
            equal(rows(f"SELECT count() FROM {name}"), [["100"]], "without FINAL, when nothing was stored")
            equal(gate.inserts, 4, "attempts")


@case("CH-03", "a moment in every usual notation is that moment")
def ch03(w):
    table("ch03", "id UInt64, t DateTime64(3,'Asia/Shanghai'), ts UInt64")
    times = ['"2025-01-07T07:44:41.542Z"', '"2025-01-07 15:44:41"', '"2025-01-07T15:44:41+08:00"', "1736235881", '"2025-01-07T07:44:41.542123456Z"',
             '"07/01/2025"']
    w.lines("rows.jsonl", *[f'{{"id":{i},"t":{t},"ts":1}}' for i, t in enumerate(times, 1)])
    w.run(job("ch03", ", excess_fraction: cut, epoch_unit: seconds"))
    equal(rows("SELECT id, toUnixTimestamp64Milli(t) FROM ch03 FINAL ORDER BY id"),
          [["1", "1736235881542"], ["2", "1736235881000"], ["3", "1736235881000"], ["4", "1736235881000"], ["5", "1736235881542"]])
    equal(refused(w), [(6, 'column "t": "07/01/2025" is no date or time like 2024-05-01 10:00:00')], "dead letters")


@case("CH-04", "null for a column that has none: refused by name, or the column's default")
def ch04(w):
    columns = "id UInt64, province String DEFAULT 'n/a', amount Decimal(18,2), note Nullable(String), ts UInt64"
    w.lines("rows.jsonl", '{"id":1,"province":null,"amount":1.00,"note":null,"ts":1}', '{"id":2,"province":"11","amount":null,"note":null,"ts":1}',
            '{"id":3,"province":"12","ts":1}')
    table("ch04", columns)
    w.run(job("ch04"))
    equal(rows("SELECT id, province, amount, note FROM ch04 FINAL ORDER BY id"), [["3", "12", "0", "\\N"]], "rows by default")
    equal(refused(w), [(1, 'column "province": null is not allowed in String'), (2, 'column "amount": null is not allowed in Decimal(18, 2)')],
          "dead letters by default")
    table("ch04", columns)
    w.run(job("ch04", ", null_as: default"), "--from", "none")
    equal(rows("SELECT id, province, amount, note FROM ch04 FINAL ORDER BY id"),
          [["1", "n/a", "1", "\\N"], ["2", "11", "0", "\\N"], ["3", "12", "0", "\\N"]], "rows with null_as: default")


@case("CH-05", "a field that is no column is refused by name, or left out and counted")
def ch05(w):
    w.lines("rows.jsonl", '{"id":1,"name":"a","ts":1}', '{"id":2,"name":"b","extra":{"x":1},"ts":1}', '{"id":3,"ts":1}')
    table("ch05", "id UInt64, name String, ts UInt64")
    w.run(job("ch05"))
    equal(rows("SELECT id, name FROM ch05 FINAL ORDER BY id"), [["1", "a"], ["3", ""]], "rows by default")
    equal(refused(w), [(2, 'the table default.ch05 has no column "extra"')], "dead letters")
    table("ch05", "id UInt64, name String, ts UInt64")
    run = w.run(job("ch05", ", unknown_fields: ignore"), "--from", "none")
    equal(rows("SELECT id, name FROM ch05 FINAL ORDER BY id"), [["1", "a"], ["2", "b"], ["3", ""]], "rows with unknown_fields: ignore")
    equal(run.counter("warehouse", "ignored_fields"), 1, "fields that were left out")


@case("CH-07", "the start of a window is one moment, or it is said whose zone decides")
def ch07(w):
    before = """    event_time: { field: ts, format: epoch_s }
  - id: win
    use: tumbling_window
    input: source
    with: { size: 10s, zone: Asia/Shanghai, aggregates: { n: count } FORMAT }"""
    w.lines("rows.jsonl", json.dumps({"ts": T + 1}))
    found = []
    for address in (server.UTC, server.SHANGHAI):
        for form, options in (("", ""), (", time_format: epoch_ms", ", epoch_unit: milliseconds")):
            table("ch07", "stt DateTime, edt DateTime, n UInt64, ts UInt64", address, engine="ReplacingMergeTree(ts) ORDER BY (stt, edt)")
            run = w.run(job("ch07", options, address, before=before.replace("FORMAT", form)).replace("input: source\n    with: { servers", "input: win\n    with: { servers"),
                        *(["--from", "none"] if found else []))
            found.append((rows("SELECT toUnixTimestamp(stt), stt FROM ch07 FINAL", address), run.messages()))
            code, said = w.validate(job("ch07", options, address), "--connect")
            equal((code, [m for m in run.messages() if m not in said]), (0, []), "what a start warns of and validate --connect does not")
    moments = [moment for [[moment, _]], _ in found]
    equal(moments[1::2], [str(T), str(T)], "moments, with times as numbers")
    equal(moments[2], str(T), "moment of a text on a server in its zone")
    # On another one it is another moment: that must have been said.
    equal(found[0][1], ["default.ch07: the type of stt, edt has no time zone: a time without an offset is taken in the server's, Etc/UTC; a type like "
                        "DateTime('Asia/Shanghai') does not depend on it"], "messages")


@case("CH-08", "out of memory is not for ever; a wrong type is")
def ch08(w):
    said, gates = [], {}
    for code, again in ((241, True), (252, True), (202, True), (159, True), (210, True), (53, False), (60, False), (16, False)):
        name = f"ch08_{code}"
        table(name, "id UInt64, ts UInt64")
        gate = server.Gate(lambda n, code=code, again=again: (500, code) if n <= 2 or not again else None)
        gates[code] = gate.address
        w.path("rows.jsonl").unlink(missing_ok=True)
        w.lines("rows.jsonl", '{"id":1,"ts":1}')
        try:
            text = job(name, address=gate.address).replace("/checkpoints", f"/{name}")
            run = w.start(text).wait_end()
        finally:
            gate.close()
        if again:
            equal((run.code, rows(f"SELECT id FROM {name} FINAL"), gate.inserts), (0, [["1"]], 3), f"code {code}")
        else:
            said.append((code, run.code, run.messages(), gate.inserts, w.reasons()))
            shutil.rmtree(w.path("dead-letters"), ignore_errors=True)
    equal(said, [(53, 0, [], 1, ["ClickHouse refuses the row: code 53: spoiled by the gate"]),
                 (60, 1, [f'operator "warehouse" (clickhouse.sink): http://{gates[60]}: code 60: spoiled by the gate: create the table, or give its '
                          "statement in `create`"], 1, []),
                 (16, 0, [], 1, ["ClickHouse refuses the row: code 16: spoiled by the gate"])], "codes that stay")
    # A block that is too large for the server's memory, and one that is not.
    table("ch08", "id UInt64, a String, ts UInt64")
    w.path("rows.jsonl").unlink()
    w.lines("rows.jsonl", *[f'{{"id":{i},"a":"{"x" * 100}","ts":1}}' for i in range(50_000)])
    gate = server.Gate(lambda n: None)
    try:
        run = w.run(job("ch08", ', flush_interval: 0s, settings: { max_memory_usage: "6000000" }', gate.address, interval="60s").replace("/checkpoints", "/memory"))
    finally:
        gate.close()
    equal(rows("SELECT count(), uniqExact(id) FROM ch08 FINAL"), [["50000", "50000"]], "rows under a memory limit")
    failed, stored = [size for size, code in gate.outcomes if code == 241], [size for size, code in gate.outcomes if code == 0]
    equal(len(failed) + len(stored), len(gate.outcomes), f"other outcomes in {gate.outcomes}")
    equal(failed[:3], [failed[0]] * 3, "tries of the block that is too large")
    halves = [size for size, _ in gate.outcomes if abs(2 * size - failed[0]) < 1000]  # each has a head of its own
    if len(halves) < 2 or max(stored) >= max(failed):
        raise AssertionError(f"it was not halving that helped: {gate.outcomes}")
    contains(run.messages()[0], "code 241: ")
    equal((run.counter("warehouse", "inserts"), run.counter("warehouse", "retries") >= 2), (len(stored), True), "counters")
    contains(w.command("describe", "clickhouse.sink")[1], "| stays as it is: no table, no rights, wrong password")


@case("CH-09", "one bad row of a batch: the others are stored, or the job stops at it")
def ch09(w):
    w.lines("rows.jsonl", *[f'{{"id":{i},"n":{i},"ts":1}}' if i != 37 else '{"id":37,"n":"seven","ts":1}' for i in range(100)])
    table("ch09", "id UInt64, n UInt32, ts UInt64")
    run = w.run(job("ch09", top="on_error: fail"), code=1)
    equal(run.messages(), [f'operator "warehouse": column "n": "seven" is no UInt32, at {w.path("rows.jsonl")}:38 (byte 868); the job stops because '
                           "on_error is `fail`"], "on_error: fail")
    table("ch09", "id UInt64, n UInt32, ts UInt64")
    w.run(job("ch09"), "--from", "none")
    equal(rows("SELECT id, n FROM ch09 FINAL ORDER BY id"), [[str(i), str(i)] for i in range(100) if i != 37], "rows")
    equal(refused(w), [(37, 'column "n": "seven" is no UInt32')], "dead letters")
