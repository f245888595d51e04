#!/usr/bin/env python3
"""real.py FOLDER: the warehouse on the real servers that scripts/demo-real.sh has started. Shows each step and the tables by query."""
import pathlib
import sys
import time
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/warehouse"))
import warehouse  # noqa: E402
from warehouse import avatica, oracle  # noqa: E402

DATA = ROOT / "demo/data"
folder = pathlib.Path(sys.argv[1])
CONFIG, SCHEMA = "gmall_config", "GMALL"


def step(text):
    print(f"\n---- {text}", flush=True)


def columns(text):
    """Of a terminal: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def show(title, labels, rows, limit=5):
    """A table as text; long values are cut."""
    print(f"{title}: {len(rows)} rows")
    cells = [[" ".join(str("" if v is None else v).split()) for v in row] for row in [labels, *rows[:limit]]]
    cells = [[c if len(c) <= 16 else c[:15] + "…" for c in row] for row in cells]
    widths = [max(columns(row[i]) for row in cells) for i in range(len(labels))]
    for row in cells:
        print("  " + "  ".join(c + " " * (w - columns(c)) for c, w in zip(row, widths)).rstrip())


def show_phoenix(table, where="", limit=5):
    client = avatica.Client(warehouse.os.environ["PHOENIX"])
    labels, rows = client.execute(f"select * from {SCHEMA}.{table} {where}")
    client.close()
    show(f"Phoenix {SCHEMA}.{table} {where}".rstrip(), labels, rows, limit)
    return rows


def windows(zone):
    return warehouse.clickhouse(f"select stt, edt, cart_add_uu_ct from {warehouse.WINDOW_TABLE} final order by stt, edt",
                                warehouse.os.environ[f"CLICKHOUSE_{zone}"])


def counts(rows):
    return [(row["stt"], row["edt"], int(row["cart_add_uu_ct"])) for row in rows]


def show_windows(zone, limit=5):
    rows = windows(zone)
    labels = ["stt", "edt", "cart_add_uu_ct"]
    show(f"ClickHouse in the time zone {zone}: {warehouse.WINDOW_TABLE}", labels, [[row[c] for c in labels] for row in rows], limit)
    return rows


def rule(source, sink, columns, key="", extend=""):
    return {"source_table": source, "sink_table": sink, "sink_columns": columns, "sink_pk": key, "sink_extend": extend}


def client_can_read(table, condition):
    def check():
        client = avatica.Client(warehouse.os.environ["PHOENIX"])
        try:
            return client.query(f"select 1 from {SCHEMA}.{table} where {condition}")
        except avatica.Error:
            return None  # no such table or column yet
        finally:
            client.close()
    return check


step("MySQL: the shop's tables, and table_process with ten rules")
warehouse.mysql((ROOT / "demo/shop.sql").read_text(encoding="utf-8"))
warehouse.make_rules(CONFIG, oracle.read_config(ROOT / "demo/expected/dim_config.jsonl").values())
print(warehouse.mysql(f"select source_table, sink_table, left(sink_columns, 60) from {CONFIG}.table_process"))

step("Kafka: Maxwell's messages of 46 tables in topic_db, cart messages in dwd_trade_cart_add")
# One partition of cart messages: which rows are late depends on the order in which several are read.
for topic, kind, by, partitions in (("topic_db", "topic_db", "id", 2), ("dwd_trade_cart_add", "cart_add", "user_id", 1)):
    warehouse.make_topic(topic, partitions)
    warehouse.load(topic, DATA / f"{kind}.jsonl", by, partitions)

step("sluice run pipelines/maxwell.yaml, dim.yaml and dws.yaml (the last one twice: one ClickHouse in UTC, one in Asia/Shanghai)")
jobs = {
    "maxwell": warehouse.Job("maxwell", folder / "maxwell"),
    "dim": warehouse.Job("dim", folder / "dim", CONFIG_TABLE=f"{CONFIG}.table_process", PHOENIX_SCHEMA=SCHEMA),
    "dws": warehouse.Job("dws", folder / "dws", CLOSE_WHEN_IDLE="2s"),
    "dws in Shanghai": warehouse.Job("dws", folder / "dws-shanghai", CLOSE_WHEN_IDLE="2s",
                                     CLICKHOUSE="http://" + warehouse.os.environ["CLICKHOUSE_SHANGHAI"]),
}
for name, job in jobs.items():
    job.start()
    print(f"{name}: dashboard at http://127.0.0.1:{job.port}/, log in {job.folder}/run.log")
warehouse.wait_for(lambda: jobs["dim"].has_read_all("topic_db", 2), "job DIM to reach the end of topic_db")
expected = oracle.read_lines(ROOT / "demo/expected/expected_dws.jsonl")
for zone in ("UTC", "SHANGHAI"):
    warehouse.wait_for(lambda zone=zone: len(windows(zone)) == len(expected), f"all windows in the ClickHouse in {zone}")

step("MySQL, while the jobs run: one rule more, one column more, one rule deleted; then changes in the shop")
warehouse.mysql(
    warehouse.rule_sql(CONFIG, rule("base_dic", "dim_base_dic", "dic_code,parent_code,dic_name", "dic_code")),
    warehouse.rule_sql(CONFIG, rule("base_trademark", "dim_base_trademark", "id,tm_name,logo_url,operate_time")),
    f"delete from {CONFIG}.table_process where source_table = 'base_province'")
warehouse.wait_for(lambda: jobs["dim"].counter("configured", "rules_removed") >= 1, "the rules to arrive")
changes = """use gmall;
insert into base_dic values ('1201', '12', '天猫', now(), null), ('1202', '12', 'O''Reilly & Söhne', now(), null);
insert into base_trademark values (901, '新品牌', '/new.png', '2022-06-09 10:00:00', '2022-06-09 10:00:01');
update base_trademark set tm_name = '改名' where id = 901;
insert into base_province values (901, 'after the rule', '1', '000', 'CN-00', 'CN-XX', now(), null)"""
print(changes)
warehouse.mysql(changes)
warehouse.wait_for(client_can_read("dim_base_trademark", "id = '901' and tm_name = '改名'"), "the shop's change in Phoenix")
time.sleep(1)
for job in jobs.values():
    job.stop()

step("What Phoenix and ClickHouse hold")
rules, tables = warehouse.expected_tables(ROOT / "demo/expected")
untouched = [row for row in rules if row["source_table"] not in ("base_trademark", "base_province")]
warehouse.check_tables(SCHEMA, untouched, tables, folder / "copy.db")
print(f"{sum(len(tables[row['sink_table']]) for row in untouched)} rows of {len(untouched)} tables are those that demo/expected has")
for row in oracle.read_config(ROOT / "demo/expected/dim_config.jsonl").values():
    show_phoenix(row["sink_table"], limit=3)
added = show_phoenix("dim_base_dic")
renamed = show_phoenix("dim_base_trademark", "where id = '901'")
gone = show_phoenix("dim_base_province", "where id = '901'")
utc, shanghai = show_windows("UTC"), show_windows("SHANGHAI")
letters = jobs["dim"].dead_letters() + jobs["dws"].dead_letters()
print(f"\n{len(letters)} messages could not be used; each is in {folder}/*/dead-letters with its reason" +
      (f", such as:\n  {letters[0]['reason']}" if letters else ""))

problems = [text for ok, text in (
    (len(added) == 2, "dim_base_dic must have two rows"),
    (len(renamed) == 1 and "改名" in renamed[0], "the renamed trademark must be in Phoenix"),
    (not gone, "a province after its rule was deleted must not be in Phoenix"),
    (utc == shanghai, "both ClickHouse servers must show the same windows"),
    (counts(utc) == counts(expected), "the windows must be those of demo/expected/expected_dws.jsonl"),
) if not ok]
sys.exit("\n".join(problems) or None)
