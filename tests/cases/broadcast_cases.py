"""The configuration of the dimension job: late, repeated, changed, removed and unusable rows."""
import functools
import json
import socket
import threading
import time

import broker
import dim
from dim import change, delete, rule, snapshot, update
from world import case as register
from world import contains, equal

case = functools.partial(register, "broadcast")


def followed(w):
    return w.start(dim.JOB, environment={"FOLLOW": "true"})


class LateServer:
    """An address that refuses connections until `open()`; from then on it leads to the broker."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]

    def open(self):
        self.listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            host, port = broker.ADDRESS.rsplit(":", 1)
            server = socket.create_connection((host, int(port)))
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=(a, b), daemon=True).start()

    @staticmethod
    def _copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        target.close()

    def close(self):
        self.listener.close()


@case("BC-01", "rows wait for a configuration that comes late")
def bc01(w):
    rules, data, late = w.topic("table_process"), w.topic("topic_db"), LateServer()
    broker.produce(rules, [snapshot(rule("base_province", "dim_base_province", "id,name", "id"))])
    broker.produce(data, [change("base_province", {"id": i, "name": f"p{i}", "area": "x"}) for i in range(1, 1001)] + [change("order_info", {"id": 1})])
    run = w.start(dim.KAFKA_JOB.replace('use: file.source\n    with: { path: "${OUT}/table_process.jsonl", follow: "${FOLLOW:-false}" }',
                                        f'use: kafka.source\n    with: {{ brokers: "{late.address}", topic: "{rules}", until: end }}'),
                  environment={"TOPIC": data})
    closed = "the gate of configured is closed: the snapshot of its broadcast side is not complete"
    run.wait_until(lambda: closed in (run.progress() or {"waiting_for": []})["waiting_for"], "the reason why nothing comes out")
    time.sleep(1)
    equal(w.tables(), [], "tables before the configuration")
    late.open()
    run.wait_end(0)
    late.close()
    equal(w.table("dim_base_province", "id, name"), sorted((str(i), f"p{i}") for i in range(1, 1001)))
    equal(run.counter("configured", "dropped_not_configured"), 1, "rows of tables without a rule")


@case("BC-02", "the same configuration row again and again changes nothing")
def bc02(w):
    row = rule("base_dic", "dim_base_dic", "id,dic_name", "id", "SALT_BUCKETS = 3")
    w.lines("table_process.jsonl", snapshot(row))
    w.lines("topic_db.jsonl", change("base_dic", {"id": 0, "dic_name": "d0"}))
    run = followed(w)
    run.wait_until(lambda: w.table("dim_base_dic"), "the first row")
    schema = w.query("pragma schema_version")  # SQLite counts what changes a table
    for i in range(1, 500):
        w.lines("table_process.jsonl", update(row, row))
        w.lines("topic_db.jsonl", change("base_dic", {"id": i, "dic_name": f"d{i}"}))
    run.wait_counter("configured", "rules_unchanged", 499)
    run.wait_until(lambda: len(w.table("dim_base_dic")) == 500, "all rows")
    run.wait_checkpoint()
    state = [entry["state_entries"] for entry in run.progress()["operators"] if entry["id"] == "configured"]
    run.stop()
    equal(w.table("dim_base_dic", "id, dic_name"), sorted((str(i), f"d{i}") for i in range(500)))
    equal(state, [1], "entries of the configuration")
    equal(run.log.count("created the table"), 1, "tables that were created")
    equal(w.query("pragma schema_version"), schema, "changes of tables")
    # The sink says so whenever it is given the table's description: with the row, and once more at the snapshot's end.
    described = run.log.count('dim_base_dic: the table options "SALT_BUCKETS = 3" are not for SQLite')
    equal(described in (1, 2), True, f"the table was described {described} times")
    equal([run.counter("configured", c) for c in ("rules_added", "rules_changed", "kept")], [1, 0, 500], "added, changed, kept")


@case("BC-03", "a deleted rule stops its table, and nothing else")
def bc03(w):
    row = rule("base_dic", "dim_base_dic", "id,dic_name", "id")
    w.lines("table_process.jsonl", snapshot(row), snapshot(rule("base_region", "dim_base_region", "id", "id")))
    w.lines("topic_db.jsonl", change("base_dic", {"id": 1, "dic_name": "a"}))
    run = followed(w)
    run.wait_until(lambda: w.table("dim_base_dic"), "the first row")
    w.lines("table_process.jsonl", delete(row))
    run.wait_counter("configured", "rules_removed", 1)
    w.lines("topic_db.jsonl", change("base_dic", {"id": 2, "dic_name": "b"}), change("base_region", {"id": 3}))
    run.wait_until(lambda: w.table("dim_base_region"), "the other table's row")
    run.stop()
    equal(w.table("dim_base_dic", "id, dic_name"), [("1", "a")])
    equal(w.table("dim_base_region", "id"), [("3",)])
    equal(run.counter("configured", "dropped_not_configured"), 1, "rows without a rule")
    contains(run.log, "rule base_dic removed")


@case("BC-04", "a changed column list takes effect, also in a table that is there")
def bc04(w):
    rules = [rule("user_info", "dim_user_info", c, "id") for c in ("id,login_name", "id,login_name,email", "id,email")]
    w.lines("table_process.jsonl", snapshot(rules[0]))
    run = followed(w)
    for n, name in enumerate("abc"):
        if n:
            w.lines("table_process.jsonl", update(rules[n - 1], rules[n]))
            run.wait_counter("configured", "rules_changed", n)
        w.lines("topic_db.jsonl", change("user_info", {"id": n + 1, "login_name": name, "email": f"{name}@example.org"}))
        run.wait_until(lambda: len(w.table("dim_user_info")) == n + 1, f"row {n + 1}")
    run.stop()
    equal(w.table("dim_user_info", "id, login_name, email"), [("1", "a", None), ("2", "b", "b@example.org"), ("3", None, "c@example.org")])


@case("BC-05", "columns are compared as whole names")
def bc05(w):
    w.lines("table_process.jsonl", snapshot(rule("activity_info", "dim_activity_info", "activity_id,activity_name,activity_type", "activity_id")))
    w.lines("topic_db.jsonl", change("activity_info", {"id": 77, "activity_id": 5, "name": "leak", "activity_name": "sale", "type": "leak",
                                                       "activity_type": "x", "activity": "leak"}))
    w.run(dim.JOB)
    equal([c[1] for c in w.query("pragma table_info(dim_activity_info)")], ["activity_id", "activity_name", "activity_type"], "columns")
    equal(w.table("dim_activity_info"), [("5", "sale", "x")])


@case("BC-07", "no key is invented: the default id must be among the columns")
def bc07(w):
    w.lines("table_process.jsonl", *[snapshot(r) for r in (
        rule("product", "dim_product", "product_id,product_title"), rule("pub", "dim_pub", "pub_id,pub_name", "null", "null"),
        rule("sku_info", "dim_sku_info", "id,sku_name", "", ""))])
    w.lines("topic_db.jsonl", change("product", {"product_id": 1, "product_title": "t"}), change("pub", {"pub_id": 1, "pub_name": "p"}),
            change("sku_info", {"id": 1, "sku_name": "s"}))
    run = w.run(dim.JOB)
    equal(w.tables(), ["dim_sku_info"], "tables")
    equal(w.table("dim_sku_info"), [("1", "s")])
    equal([c[1] for c in w.query("pragma table_info(dim_sku_info)") if c[5]], ["id"], "key")
    equal(w.reasons(), [f"configuration of `{t}` cannot be used: sink_pk is empty and its default `id` is not in sink_columns" for t in ("product", "pub")],
          "reasons")
    equal(run.counter("configured", "rules_invalid"), 2, "invalid rules")


@case("BC-08", "rules without columns or table are named and do not stop the job")
def bc08(w):
    w.lines("table_process.jsonl", *[snapshot(r) for r in (
        rule("region", "dim_region", None), rule("product", "dim_product", ""), rule("base_dic", None, "id,dic_name", "id"),
        rule("sku_info", "dim_sku_info", "id"))])
    w.lines("topic_db.jsonl", *[change(t, {"id": 1, "dic_name": "x"}) for t in ("region", "product", "base_dic", "sku_info")])
    run = w.run(dim.JOB)
    equal(w.tables(), ["dim_sku_info"], "tables")
    equal(w.reasons(), ["configuration of `region` cannot be used: no sink_columns", "configuration of `product` cannot be used: no sink_columns",
                        "configuration of `base_dic` cannot be used: no sink_table"], "reasons")
    equal(run.counter("configured", "rules_invalid"), 3, "invalid rules")


@case("BC-10", "a key of several columns")
def bc10(w):
    w.lines("table_process.jsonl", snapshot(rule("sku_sale_attr", "dim_sku_sale_attr", "sku_id,attr_id,attr_value", "sku_id,attr_id", "SALT_BUCKETS = 4")))
    w.lines("topic_db.jsonl", *[change("sku_sale_attr", {"sku_id": 1, "attr_id": a, "attr_value": v}) for a, v in ((1, "red"), (2, "XL"), (1, "blue"))])
    w.run(dim.JOB)
    equal(w.table("dim_sku_sale_attr"), [("1", "1", "blue"), ("1", "2", "XL")])
    equal([c[1] for c in sorted(w.query("pragma table_info(dim_sku_sale_attr)"), key=lambda c: c[5]) if c[5]], ["sku_id", "attr_id"], "key")
