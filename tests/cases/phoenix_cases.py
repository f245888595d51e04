"""Phoenix as the sink of the dimension job: values, names, keys and tables, and a server that goes away."""
import functools
import os
import subprocess
import sys

import dim
from dim import change, given, rule, snapshot, update
from world import ROOT, case as register
from world import contains, equal

sys.path.insert(0, str(ROOT / "tests/services/phoenix"))
import avatica  # noqa: E402

case = functools.partial(register, "phoenix")
SERVER = os.environ.get("PHOENIX", "")

JOB = dim.JOB.replace('use: sqlite.sink\n    input: columns\n    with: { path: "${OUT}/warehouse.db" }',
                      f'use: phoenix.sink\n    input: columns\n    with: {{ servers: ["{SERVER}"], schema: "${{SCHEMA}}" OPTIONS }}')


def query(sql):
    """Rows as tuples; none while the table is not there."""
    client = avatica.Client(SERVER)
    try:
        client.auto_commit(True)
        result = client.execute(sql)
        return [] if isinstance(result, int) else [tuple(row) for row in result[1]]
    except avatica.Error as error:
        if "Table undefined" in str(error) or "Schema does not exist" in str(error):
            return []
        raise
    finally:
        client.close()


def schema_of(w):
    """One of this run alone: tables of an earlier one may still be there."""
    return f'{w.id.replace("-", "_")}_{os.getpid()}'


def table(w, name, columns="*"):
    return sorted(query(f'select {columns} from {schema_of(w)}.{name}'), key=lambda row: [(v is not None, str(v)) for v in row])


def run(w, *arguments, options="", code=0, **environment):
    return w.run(JOB.replace("OPTIONS", options), *arguments, code=code, environment={"SCHEMA": schema_of(w), **environment})


@case("MX-01", "the frame of a bootstrap is no row, its rows are")
def mx01(w):
    given(w, [rule("base_trademark", "dim_base_trademark", "id,tm_name,logo_url", "id")], [
        change("base_trademark", {}, "bootstrap-start"),
        change("base_trademark", {"id": 1, "tm_name": "first", "logo_url": "/1.png"}, "bootstrap-insert"),
        change("base_trademark", {"id": 2, "tm_name": "second", "logo_url": "/2.png"}, "bootstrap-insert"),
        change("base_trademark", {}, "bootstrap-complete")])
    run(w)
    equal(table(w, "dim_base_trademark", "id, tm_name, logo_url"), [("1", "first", "/1.png"), ("2", "second", "/2.png")])
    equal(w.letters(), [], "dead letters")


@case("MX-04", "numbers keep their digits, and what is no scalar its JSON text (MX-03, MX-10)")
def mx04(w):
    given(w, [rule("order_info", "dim_order_info", "id,total_amount,feight_fee,tags", "id")], [
        change("order_info", '{"id": 9007199254740993, "total_amount": 999999999999.999998, "feight_fee": 20.00, "tags": {"b":[1,{"c":"in"}],"a":1.10}}'),
        change("order_info", '{"id": 18446744073709551615, "total_amount": 1E+2, "feight_fee": -0.00, "tags": ["x"]}')])
    run(w)
    equal(table(w, "dim_order_info", "id, total_amount, feight_fee, tags"),
          [("18446744073709551615", "1E+2", "-0.00", '["x"]'), ("9007199254740993", "999999999999.999998", "20.00", '{"b":[1,{"c":"in"}],"a":1.10}')])


@case("MX-12", "a delete brings no row back, and an update of the key moves the row (MX-15)")
def mx12(w):
    row = {"id": 13, "tm_name": "x"}
    given(w, [rule("base_trademark", "dim_base_trademark", "id,tm_name", "id")], [
        change("base_trademark", row, ts=1), change("base_trademark", row, "delete", ts=2),
        change("base_trademark", {"id": 99, "tm_name": "y"}, "delete", ts=3),
        change("base_trademark", {"id": 20, "tm_name": "z"}, ts=4),
        change("base_trademark", {"id": 21, "tm_name": "z"}, "update", ts=5, old={"id": 20})])
    run(w, ON_DELETE="apply", PARALLELISM="2")
    equal(table(w, "dim_base_trademark", "id, tm_name"), [("21", "z")])


@case("MX-13", "names and values of any script")
def mx13(w):
    given(w, [rule("t_uni", "dim_uni", "id,你好,note", "id")], [change("t_uni", '{"id": 1, "你好": "値", "note": "Zoë 🛒 \\ud83d\\ude80 tab\\there"}')])
    run(w)
    equal(table(w, "dim_uni", 'id, "你好", note'), [("1", "値", "Zoë 🛒 🚀 tab\there")])


@case("BC-04", "a changed column list takes effect, also in a table that is there")
def bc04(w):
    rules = [rule("user_info", "dim_user_info", c, "id") for c in ("id,login_name", "id,login_name,email", "id,email")]
    w.lines("table_process.jsonl", snapshot(rules[0]))
    going = w.start(JOB.replace("OPTIONS", ""), environment={"SCHEMA": schema_of(w), "FOLLOW": "true"})
    for n, name in enumerate("abc"):
        if n:
            w.lines("table_process.jsonl", update(rules[n - 1], rules[n]))
            going.wait_counter("configured", "rules_changed", n)
        w.lines("topic_db.jsonl", change("user_info", {"id": n + 1, "login_name": name, "email": f"{name}@example.org"}))
        going.wait_until(lambda: len(table(w, "dim_user_info", "id")) == n + 1, f"row {n + 1}")
    going.stop()
    equal(table(w, "dim_user_info", "id, login_name, email"), [("1", "a", None), ("2", "b", "b@example.org"), ("3", None, "c@example.org")])


@case("BC-07", "no key is invented")
def bc07(w):
    given(w, [rule("product", "dim_product", "product_id,product_title"), rule("sku_info", "dim_sku_info", "id,sku_name", "", "")],
          [change("product", {"product_id": 1, "product_title": "t"}), change("sku_info", {"id": 1, "sku_name": "s"})])
    run(w)
    equal(query(f"select table_name from system.catalog where table_schem = '{schema_of(w)}' and table_type = 'u'"), [("DIM_SKU_INFO",)], "tables")
    equal(table(w, "dim_sku_info", "id, sku_name"), [("1", "s")])
    equal(w.reasons(), ["configuration of `product` cannot be used: sink_pk is empty and its default `id` is not in sink_columns"], "reasons")


@case("BC-10", "a key of several columns, and the options of the table")
def bc10(w):
    given(w, [rule("sku_sale_attr", "dim_sku_sale_attr", "sku_id,attr_id,attr_value", "sku_id,attr_id", "SALT_BUCKETS = 4")],
          [change("sku_sale_attr", {"sku_id": 1, "attr_id": a, "attr_value": v}) for a, v in ((1, "red"), (2, "XL"), (1, "blue"))])
    run(w)
    equal(table(w, "dim_sku_sale_attr", "sku_id, attr_id, attr_value"), [("1", "1", "blue"), ("1", "2", "XL")])
    equal(query(f"select salt_buckets from system.catalog where table_schem = '{schema_of(w)}' and table_name = 'DIM_SKU_SALE_ATTR' and salt_buckets is not null"),
          [(4,)], "salt buckets")
    equal(query(f"select column_name from system.catalog where table_schem = '{schema_of(w)}' and table_name = 'DIM_SKU_SALE_ATTR' and key_seq is not null "
                "and column_name is not null order by key_seq"), [("SKU_ID",), ("ATTR_ID",)], "key")


@case("PH-01", "values are bound, never pasted")
def ph01(w):
    given(w, [rule("base_trademark", "dim_base_trademark", "id,tm_name,logo_url", "id")],
          [change("base_trademark", {"id": 20, "tm_name": "L'Or \"x\" \\ %_;--", "logo_url": "') , ('99','pwn"})])
    run(w)
    equal(table(w, "dim_base_trademark", "id, tm_name, logo_url"), [("20", "L'Or \"x\" \\ %_;--", "') , ('99','pwn")])
    equal(w.letters(), [], "dead letters")


@case("PH-02", "null is NULL; the text null is a text")
def ph02(w):
    given(w, [rule("user_info", "dim_user_info", "id,login_name,email,note", "id")],
          [change("user_info", {"id": 3, "login_name": "n", "email": None, "note": "null"}), change("user_info", {"id": 4, "login_name": "m", "note": "null"})])
    run(w)
    equal(query(f"select id, login_name, note from {schema_of(w)}.dim_user_info where email is null order by id"), [("3", "n", "null"), ("4", "m", "null")])


@case("PH-03", "an empty text is NULL, an empty key is refused, and the others of the batch are written")
def ph03(w):
    given(w, [rule("base_dic", "dim_base_dic", "id,dic_name", "id")],
          [change("base_dic", {"id": 5, "dic_name": ""}), change("base_dic", {"id": "", "dic_name": "no key"}), change("base_dic", {"id": 6, "dic_name": "ok"})])
    run(w)
    equal(table(w, "dim_base_dic", "id, dic_name"), [("5", None), ("6", "ok")])
    equal(w.reasons(), ['the key column "id" is an empty text, which Phoenix takes for null'], "reasons")
    contains(w.command("describe", "phoenix.sink")[1], "an empty text is NULL")


@case("PH-04", "names: one rule for all statements; a table whose names differ in case only is not doubled")
def ph04(w):
    s = schema_of(w)
    query(f"create schema if not exists {s}")
    query(f'drop table if exists {s}."dim_case"')
    query(f'drop table if exists {s}.DIM_CASE')
    query(f'create table {s}."dim_case" ("id" varchar primary key, "Name" varchar, age varchar)')
    given(w, [rule("t_case", "dim_case", "id,Name,age", "id")], [change("t_case", {"id": 1, "Name": "n", "age": "9"})])
    upper = run(w)
    tables = query(f"select table_name from system.catalog where table_schem = '{s}' and table_type = 'u'")
    equal(tables, [("dim_case",)], "tables")
    contains("\n".join(w.reasons() + upper.messages()), '"dim_case"', "case: keep")
    run(w, "--from", "none", options=", case: keep")
    equal(query(f'select "id", "Name", "age" from {s}."dim_case"'), [("1", "n", "9")], "with case: keep")
    # One column of an upper-case table in quotes.
    query(f'drop table if exists {s}.DIM_COLUMN')
    query(f'create table {s}.DIM_COLUMN (id varchar primary key, "Name" varchar, age varchar)')
    given(w, [rule("t_case", "dim_column", "id,Name,age", "id")], [change("t_case", {"id": 1, "Name": "n", "age": "9"})])
    run(w, "--from", "none")
    columns = query(f"select column_name from system.catalog where table_schem = '{s}' and table_name = 'DIM_COLUMN' and column_name is not null")
    equal(sorted(columns), [("AGE",), ("ID",), ("Name",)], "columns")
    contains("\n".join(w.reasons()), f'the table "{s}"."DIM_COLUMN" has a column "Name", and "NAME" would be a second one')


@case("PH-06", "a schema that is not there is made, or said once; a wrong name is found before the start")
def ph06(w):
    s = schema_of(w)
    given(w, [rule("base_dic", "dim_base_dic", "id,dic_name", "id")], [change("base_dic", {"id": 1, "dic_name": "a"})])
    for t in query(f"select table_name from system.catalog where table_schem = '{s}' and table_type = 'u'"):
        query(f'drop table {s}."{t[0]}"')
    query(f"drop schema if exists {s}")
    refused = run(w, options=", create: false", code=1)
    said = w.reasons(), refused.messages()
    problem = (f'there is no schema "{s}" in Phoenix, and `create` is false: run create schema "{s}" (without namespace mapping: make its tables), '
               "or set `create: true`")
    equal(said, ([], [f'operator "warehouse" (phoenix.sink): `schema`: {problem}']), "dead letters and messages")
    connected = w.validate(JOB.replace("OPTIONS", ", create: false"), "--connect", environment={"SCHEMA": s})
    equal(connected[0], 1, "exit status of validate --connect")
    contains(connected[1], problem)
    code, out = w.validate(JOB.replace("OPTIONS", ""), environment={"SCHEMA": "GMALL:X"})
    run(w, "--from", "none", SCHEMA=s.lower())
    equal(table(w, "dim_base_dic", "id, dic_name"), [("1", "a")])
    equal(code, 2, "exit status of validate")
    contains(out, 'pipeline.yaml:26:51: error: operator "warehouse" (phoenix.sink): `schema`: the schema name "GMALL:X" has a dot or a colon in it')


@case("PH-08", "a server that goes away and comes back loses nothing", alone=True)
def ph08(w):
    w.lines("table_process.jsonl", snapshot(rule("base_dic", "dim_base_dic", "id,dic_name", "id")))
    w.lines("topic_db.jsonl", change("base_dic", {"id": 1, "dic_name": "n1"}))
    going = w.start(JOB.replace("OPTIONS", ", timeout: 5s"), environment={"SCHEMA": schema_of(w), "FOLLOW": "true"})
    going.wait_until(lambda: len(table(w, "dim_base_dic", "id")) == 1, "row 1")
    script = ROOT / "tests/services/phoenix/phoenix.sh"
    subprocess.run([script, "kill", "pqs"], check=True, stdout=subprocess.DEVNULL)
    w.lines("topic_db.jsonl", *[change("base_dic", {"id": i, "dic_name": f"n{i}"}) for i in range(2, 101)])
    going.wait_until(lambda: going.progress()["waiting_for"], "the reason why nothing comes out")
    waiting = going.progress()["waiting_for"]
    subprocess.run([script, "start"], check=True, stdout=subprocess.DEVNULL)
    going.wait_until(lambda: len(table(w, "dim_base_dic", "id")) == 100, "all rows")
    going.stop()
    equal(table(w, "dim_base_dic", "id, dic_name"), sorted((str(i), f"n{i}") for i in range(1, 101)))
    contains(waiting[0], "Phoenix away")
    equal(going.counter("warehouse", "reconnects"), 1, "reconnects")


@case("PH-09", "few rows are written soon, and a checkpoint holds only what is written")
def ph09(w):
    w.lines("table_process.jsonl", snapshot(rule("base_dic", "dim_base_dic", "id,dic_name", "id")))
    text = JOB.replace("OPTIONS", ", batch_rows: 500")
    going = w.start(text, environment={"SCHEMA": schema_of(w), "FOLLOW": "true"})
    going.wait_until(lambda: going.progress(), "the endpoint")
    w.lines("topic_db.jsonl", *[change("base_dic", {"id": i, "dic_name": f"n{i}"}) for i in range(7)])
    going.wait_until(lambda: len(table(w, "dim_base_dic", "id")) == 7, "seven rows")
    going.wait_checkpoint()
    going.kill()
    going = w.start(text, environment={"SCHEMA": schema_of(w), "FOLLOW": "true"})
    going.wait_until(lambda: "restoring checkpoint" in going.log, "the restore")
    going.stop()
    equal(table(w, "dim_base_dic", "id, dic_name"), sorted((str(i), f"n{i}") for i in range(7)))
