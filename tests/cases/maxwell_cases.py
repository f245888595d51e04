"""Change records as Maxwell writes them, in all the shapes that broke other readers."""
import functools
import json

import broker
import dim
from dim import change, given, rule
from world import case as register
from world import contains, equal

case = functools.partial(register, "maxwell")


@case("MX-01", "the frame of a bootstrap is no row, its rows are")
def mx01(w):
    given(w, [rule("base_trademark", "dim_base_trademark", "id,tm_name,logo_url", "id")], [
        change("base_trademark", {}, "bootstrap-start"),
        change("base_trademark", {"id": 1, "tm_name": "first", "logo_url": "/1.png"}, "bootstrap-insert"),
        change("base_trademark", {"id": 2, "tm_name": "second", "logo_url": "/2.png"}, "bootstrap-insert"),
        change("base_trademark", {}, "bootstrap-complete")])
    run = w.run(dim.JOB)
    equal(w.table("dim_base_trademark", "id, tm_name, logo_url"), [("1", "first", "/1.png"), ("2", "second", "/2.png")])
    equal(run.counter("configured", "dropped_control"), 2, "control records")
    equal(w.letters(), [], "dead letters")


@case("MX-03", "whole numbers keep every digit: in tables, in JSON, as keys")
def mx03(w):
    big, bigger = "9007199254740993", "18446744073709551615"
    given(w, [rule("order_info", "dim_order_info", "id,out_trade_no", "id")], [
        change("order_info", f'{{"id": {big}, "out_trade_no": {bigger}}}'),
        change("order_info", '{"id": 9007199254740992, "out_trade_no": 1}')])
    w.run(dim.JOB)
    equal(w.table("dim_order_info", "id, out_trade_no"), [("9007199254740992", "1"), (big, bigger)])

    w.run("""
pipeline: keyed
parallelism: 2
checkpoint: { dir: "${OUT}/keyed" }
operators:
  - { id: topic_db, use: file.source, with: { path: "${OUT}/topic_db.jsonl" }, event_time: { field: ts, format: epoch_s } }
  - { id: first, use: daily_dedup, input: topic_db, key: data.id, with: { date_fields: [] } }
  - { id: order, use: column_pruner, input: first, with: { from: data, columns: [id, out_trade_no] } }
  - { id: out, use: file.sink, input: order, with: { dir: "${OUT}/out" } }
""")
    equal(sorted(w.files()), ['{"id":9007199254740992,"out_trade_no":1}', f'{{"id":{big},"out_trade_no":{bigger}}}'], "keys apart, digits kept")


@case("MX-04", "decimals keep their digits and add up exactly")
def mx04(w):
    given(w, [rule("order_info", "dim_order_info", "id,total_amount,feight_fee", "id")], [
        change("order_info", '{"id": 1, "total_amount": 999999999999.999998, "feight_fee": 20.00}'),
        change("order_info", '{"id": 2, "total_amount": 0.1, "feight_fee": 0.2}', ts=1699253291),
        change("order_info", '{"id": 3, "total_amount": 1E+2, "feight_fee": -0.00}', ts=1699253291)])
    w.run(dim.JOB)
    equal(w.table("dim_order_info", "id, total_amount, feight_fee"),
          [("1", "999999999999.999998", "20.00"), ("2", "0.1", "0.2"), ("3", "1E+2", "-0.00")])
    w.run("""
pipeline: total
checkpoint: { dir: "${OUT}/total" }
operators:
  - { id: topic_db, use: file.source, with: { path: "${OUT}/topic_db.jsonl" }, event_time: { field: ts, format: epoch_s } }
  - id: sum
    use: tumbling_window
    input: topic_db
    with: { size: 10s, aggregates: { total: sum(data.total_amount), fee: sum(data.feight_fee) }, start_column: "", end_column: "", version_column: "" }
  - { id: out, use: file.sink, input: sum, with: { dir: "${OUT}/out" } }
""")
    equal(w.files(), ['{"total":1000000000100.099998,"fee":20.20}'], "exact sums")


WINDOW_OF_CHANGES = """
pipeline: windows
checkpoint: { dir: "${OUT}/checkpoints" }
dead_letters: { dir: "${OUT}/dead-letters" }
operators:
  - id: topic_db
    use: file.source
    with: { path: "${OUT}/topic_db.jsonl" }
    event_time: { field: ts, format: epoch_s, out_of_order: 2s TYPES }
  - { id: per_10s, use: tumbling_window, input: topic_db, with: { size: 10s, aggregates: { n: count }, version_column: "" } }
  - { id: out, use: file.sink, input: per_10s, with: { dir: "${OUT}/out" } }
"""


@case("MX-06", "DDL records, whose time is in another unit, do not move the watermark")
def mx06(w):
    given(w, [], [
        change("cart_info", {"id": 1, "user_id": 10}),
        '{"type": "table-alter", "database": "gmall", "table": "cart_info", "ts": 1699253291000, "sql": "alter table cart_info add x int",'
        ' "def": {}, "old": {}}',
        change("cart_info", {"id": 2, "user_id": 11}, ts=1699253292),
        change("cart_info", {"id": 3, "user_id": 12}, ts=1699253302)])
    windows = ['{"stt":"2023-11-06 06:48:10","edt":"2023-11-06 06:48:20","n":2}', '{"stt":"2023-11-06 06:48:20","edt":"2023-11-06 06:48:30","n":1}']
    # Told which records carry the time, the others are rows without one ...
    run = w.run(WINDOW_OF_CHANGES.replace("TYPES", ", types: [insert, update, delete]"))
    equal(w.files(), windows, "windows")
    equal(run.counter("per_10s", "late_dropped"), 0, "late rows")
    told = w.reasons()
    # ... and even when nobody said it, such a time is refused, not believed.
    run = w.run(WINDOW_OF_CHANGES.replace("TYPES", "").replace("${OUT}/out", "${OUT}/untold").replace("${OUT}/checkpoints", "${OUT}/untold-checkpoints"))
    equal(w.files("untold"), windows, "windows without `types`")
    equal(run.counter("per_10s", "late_dropped"), 0, "late rows without `types`")
    equal(told, ["the row has no event time"], "reason")
    equal(sorted(w.reasons()), ['event time: field "ts" holds "1699253291000", expected format epoch_s; it looks like epoch_ms',
                                "the row has no event time"], "reasons of both runs")


@case("MX-07", "DDL records are counted and go nowhere")
def mx07(w):
    given(w, [rule("base_dic", "dim_base_dic", "id,dic_name", "id")], [
        '{"type": "table-create", "database": "gmall", "table": "scratch", "ts": 1699253126000, "sql": "create table scratch (id int)",'
        ' "def": {"database": "gmall", "table": "scratch", "columns": [{"type": "int", "name": "id", "signed": true}], "primary-key": []}}',
        '{"type": "database-drop", "database": "attic", "ts": 1699253127000, "sql": "drop database attic"}',
        change("base_dic", {"id": 1, "dic_name": "ok"})])
    run = w.run(dim.JOB)
    equal(w.table("dim_base_dic", "id, dic_name"), [("1", "ok")])
    equal(w.letters(), [], "dead letters")
    equal(run.counter("configured", "dropped_control") + run.counter("configured", "dropped_other_database"), 2, "DDL records")


@case("MX-08", "of two changes in one second the later one stays, also when both are written again")
def mx08(w):
    given(w, [rule("sku_info", "dim_sku_info", "id,price", "id")], [
        change("sku_info", '{"id": 9, "price": 10.00}', "update", xid=50, xoffset=0, old='{"price": 9.00}'),
        change("sku_info", '{"id": 9, "price": 12.50}', "update", xid=51, commit=True, old='{"price": 10.00}')])
    w.run(dim.JOB, environment={"BATCH_ROWS": "1"})
    equal(w.table("dim_sku_info", "id, price"), [("9", "12.50")])
    w.run(dim.JOB, "--from", "none", environment={"BATCH_ROWS": "1"})
    equal(w.table("dim_sku_info", "id, price"), [("9", "12.50")], "after both came again")


@case("MX-10", "values that are no scalars become their JSON text")
def mx10(w):
    given(w, [rule("promo", "dim_promo", "id,tags,rule,mask,img", "id")], [
        change("promo", '{"id": 1, "tags": ["bar","baz"], "rule": {"b":[1,2,{"c":"in"}],"a":123.4321}, "mask": 14913110, "img": "AAECAw=="}')])
    w.run(dim.JOB)
    equal(w.table("dim_promo", "id, tags, rule, mask, img"), [("1", '["bar","baz"]', '{"b":[1,2,{"c":"in"}],"a":123.4321}', "14913110", "AAECAw==")])


@case("MX-11", "messages without a value, of no bytes, and the literal null stop nothing")
def mx11(w):
    topic = w.topic("topic_db")
    broker.produce(topic, [""], key='{"database":"gmall","table":"base_dic","pk.id":1}', null=True)
    broker.produce(topic, [""], key="k")
    broker.produce(topic, ["null"], key="k")
    broker.produce(topic, [change("base_dic", {"id": 1, "dic_name": "ok"})])
    given(w, [rule("base_dic", "dim_base_dic", "id,dic_name", "id")], [])
    run = w.run(dim.KAFKA_JOB, environment={"TOPIC": topic})
    equal(w.table("dim_base_dic", "id, dic_name"), [("1", "ok")])
    equal(run.counter("configured", "tombstones"), 1, "tombstones")
    equal([(x["code"], x["operator"], x["source"], x["position"], x["reason"], x["bytes"], x["key"]) for x in w.letters()],
          [("TOMBSTONE", "configured", "topic_db", f"{topic}[0] offset 0", "a tombstone: the message has no value", None,
            '{"database":"gmall","table":"base_dic","pk.id":1}'),
           ("BAD_RECORD", "topic_db", "topic_db", f"{topic}[0] offset 1", "empty: no JSON text", b"", "k"),
           ("BAD_RECORD", "topic_db", "topic_db", f"{topic}[0] offset 2", 'not a JSON object: it begins with "null"', b"null", "k")], "dead letters")
    equal(broker.committed(topic, topic), 4, "offset behind all four")


@case("MX-12", "a delete brings no row back, whatever is done with deletes")
def mx12(w):
    row = {"id": 13, "tm_name": "x", "logo_url": "/a"}
    given(w, [rule("base_trademark", "dim_base_trademark", "id,tm_name,logo_url", "id")], [
        change("base_trademark", row, ts=1), change("base_trademark", row, "delete", ts=2),
        change("base_trademark", {"id": 99, "tm_name": "y", "logo_url": "/b"}, "delete", ts=3)])
    run = w.run(dim.JOB, environment={"ON_DELETE": "ignore"})
    equal(w.table("dim_base_trademark", "id, tm_name, logo_url"), [("13", "x", "/a")], "rows with on_delete: ignore")
    equal(run.counter("configured", "dropped_delete"), 2, "deletes")
    run = w.run(dim.JOB, "--from", "none", environment={"ON_DELETE": "apply"})
    equal(w.table("dim_base_trademark"), [], "rows with on_delete: apply")
    equal(run.counter("configured", "deletes_applied"), 2, "deletes")
    contains(w.command("describe", "broadcast_filter")[1], "on_delete", "`ignore` drops deletes; `apply` passes them on as deletes")


@case("MX-13", "names and values of any script")
def mx13(w):
    given(w, [rule("t_uni", "dim_uni", "id,你好,note", "id")], [
        change("t_uni", '{"id": 1, "你好": "値", "note": "Zoë 🛒 \\ud83d\\ude80 tab\\there"}'),
        # the dead letter holds what came, byte for byte
        change("t_uni", '{"你好": "無鍵", "note": "Zoë 🛒"}')])
    w.run(dim.JOB)
    equal(w.table("dim_uni", 'id, "你好", note'), [("1", "値", "Zoë 🛒 🚀 tab\there")])
    equal([x["bytes"].decode() for x in w.letters()], [change("t_uni", '{"你好": "無鍵", "note": "Zoë 🛒"}')], "dead letters")


@case("MX-14", "tables of the same name in two databases are not mixed")
def mx14(w):
    given(w, [rule("base_trademark", "dim_base_trademark", "id,tm_name", "id")], [
        change("base_trademark", {"id": 1, "tm_name": "real"}, ts=1),
        change("base_trademark", {"id": 1, "tm_name": "only a test"}, database="gmall_test", ts=2),
        change("table_process", {"source_table": "x"}, "update", database="gmall_config", ts=3)])
    run = w.run(dim.JOB, environment={"DATABASE": "gmall"})
    equal(w.table("dim_base_trademark", "id, tm_name"), [("1", "real")])
    equal(run.counter("configured", "dropped_other_database"), 2, "records of other databases")


@case("MX-15", "an update of the key moves the row")
def mx15(w):
    given(w, [rule("base_dic", "dim_base_dic", "id,dic_name", "id")], [
        change("base_dic", {"id": 13, "dic_name": "a"}, ts=1),
        change("base_dic", {"id": 14, "dic_name": "a"}, "update", ts=2, old={"id": 13})])
    w.run(dim.JOB, environment={"ON_DELETE": "apply", "PARALLELISM": "3"})
    equal(w.table("dim_base_dic", "id, dic_name"), [("14", "a")])
    # With deletes switched off the old row has to stay, and the user is told.
    run = w.run(dim.JOB, "--from", "none", environment={"ON_DELETE": "ignore"})
    equal(w.table("dim_base_dic", "id, dic_name"), [("13", "a"), ("14", "a")], "rows with on_delete: ignore")
    equal(run.counter("configured", "primary_key_changes"), 1, "key changes")
    equal(run.messages(), ["an update of `base_dic` changed its key `id`: the row of the old key stays in `dim_base_dic`, because deletes are ignored; with "
                           "on_delete: apply it is deleted"], "messages")


@case("MX-16", "what is not JSON is kept with its place and the fault in it")
def mx16(w):
    topic = w.topic("topic_db")
    bad = ['{"database":"edu","table":"user_info","type":"bootstrap-start":1775912288,"data":{}}',
           '{"database":"edu","table":"user_info","type":"insert","ts":1775912288,"data":{"id":2001,',
           "a line of plain text"]
    broker.produce(topic, [bad[0], change("user_info", {"id": 2000, "login_name": "u2000"}, database="edu"), bad[1], bad[2]])
    given(w, [rule("user_info", "dim_user_info", "id,login_name", "id")], [])
    run = w.run(dim.KAFKA_JOB, environment={"TOPIC": topic, "DATABASE": "edu"})
    equal(w.table("dim_user_info", "id, login_name"), [("2000", "u2000")])
    equal([(x["position"], x["reason"], x["bytes"].decode()) for x in w.letters()],
          [(f"{topic}[0] offset 0", 'unexpected ":" at byte 62', bad[0]), (f"{topic}[0] offset 2", "the text ends too early, at byte 88", bad[1]),
           (f"{topic}[0] offset 3", 'not a JSON object: it begins with "a"', bad[2])], "dead letters")
    contains(run.log, "3 dead letters in")
    run = w.run(dim.KAFKA_JOB.replace("pipeline: dim", "pipeline: dim\non_error: fail"), "--from", "none", code=1, environment={"TOPIC": topic, "DATABASE": "edu"})
    equal(run.messages(), [f'operator "topic_db": unexpected ":" at byte 62, at {topic}[0] offset 0; the job stops because on_error is `fail`'],
          "on_error: fail")


@case("MX-17", "columns that differ in case are named, or matched when asked for")
def mx17(w):
    given(w, [rule("test_case", "dim_test_case", "id,bar_field", "id")], [change("test_case", {"ID": 1, "bar_FIELD": "bar"}, ts=1)])
    w.run(dim.JOB)
    equal(w.table("dim_test_case"), [])
    equal(w.reasons(), ["none of the columns `id`, `bar_field` is in `data` (there is `ID`; `match: ignore_case` takes it)"], "reasons")
    w.run(dim.JOB, "--from", "none", environment={"MATCH": "ignore_case"})
    equal(w.table("dim_test_case", "id, bar_field"), [("1", "bar")])
