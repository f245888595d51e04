#!/usr/bin/env python3
"""warehouse_test.py FOLDER [MESSAGES]: both jobs as pipelines/ has them, over 100,000 messages a topic from the real servers into the
real servers; then the configuration changes while job DIM runs. Phoenix and ClickHouse must hold the oracle's rows."""
import copy
import json
import pathlib
import sys

import warehouse
from warehouse import Job, dataset, oracle

folder = pathlib.Path(sys.argv[1])
messages = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
data = dataset.folder_of(messages)
config, tables = warehouse.expected_tables(data)
NEW_COLUMN = "operate_time"  # of base_province


def test_dim():
    """The initial configuration, and four kinds of change to it between two parts of the stream."""
    database, schema, topic = "warehouse_config", "WAREHOUSE", "warehouse_topic_db"
    warehouse.make_rules(database, config)
    warehouse.make_topic(topic)
    warehouse.load(topic, data / "topic_db.jsonl", "id")
    job = Job("dim", folder / "dim", TOPIC=topic, CONFIG_TABLE=f"{database}.table_process", PHOENIX_SCHEMA=schema)
    job.start()
    warehouse.wait_for(lambda: job.has_read_all("topic_db"), "the topic's end", 300)
    job.stop()
    warehouse.check_tables(schema, config, tables, folder / "dim" / "first.db")
    print(f"dim: {sum(map(len, tables.values()))} rows of {len(config)} tables equal the oracle's", flush=True)

    # The same job goes on: a column more, a new rule, a rule that is gone, one that moves to another table.
    job.start()
    warehouse.wait_for(lambda: job.has_read_all("topic_db"), "the job to be up again")
    rules = {row["source_table"]: copy.deepcopy(row) for row in config}
    wider = rules["base_province"]
    assert NEW_COLUMN not in oracle.sink_columns(wider)
    wider["sink_columns"] += f",{NEW_COLUMN}"
    gone = rules.pop("base_region")
    moved = rules["base_trademark"]
    moved["sink_table"] = "dim_brand"
    added = {"source_table": "base_dic", "sink_table": "dim_base_dic", "sink_columns": "id,dic_name,parent_code", "sink_pk": None, "sink_extend": None}
    rules["base_dic"] = added
    warehouse.mysql(*(warehouse.rule_sql(database, row) for row in (wider, moved, added)),
                    f"delete from {database}.table_process where source_table = 'base_region'")
    warehouse.wait_for(lambda: job.counter("configured", "rules_removed") >= 1, "the rules' change to arrive")
    with open(data / "topic_db.jsonl", encoding="utf-8") as f:
        again = [line for line in f if json.loads(line)["table"] in ("base_province", "base_region", "base_trademark", "base_dic")]
    (folder / "again.jsonl").write_text("".join(again), encoding="utf-8")
    read_before = next(o["rows_in"] for o in job.progress()["operators"] if o["id"] == "topic_db")
    warehouse.load(topic, folder / "again.jsonl", "id")
    warehouse.wait_for(lambda: next(o["rows_in"] for o in job.progress()["operators"] if o["id"] == "topic_db") == read_before + len(again), "the new messages")
    job.stop()
    expected = copy.deepcopy(tables)
    for row, change in oracle.kept_changes(map(oracle.numbers_as_text, again), rules):
        target = expected[row["sink_table"]].setdefault(change[oracle.sink_key(row)], {})
        target.update((c, change[c]) for c in oracle.sink_columns(row) if c in change)
    every_rule = list(rules.values()) + [gone, next(row for row in config if row["source_table"] == "base_trademark")]
    assert expected["dim_brand"] and expected["dim_base_dic"]
    warehouse.check_tables(schema, every_rule, expected, folder / "dim" / "second.db")
    print(f"dim: {len(again)} messages under changed rules equal the oracle's", flush=True)
    assert not job.dead_letters(), job.dead_letters()[:2]


def test_dws():
    """Servers in two time zones show the same windows."""
    topic = "warehouse_cart_add"
    warehouse.make_topic(topic)
    warehouse.load(topic, data / "cart_add.jsonl", "user_id")
    want = oracle.read_lines(data / "expected_dws.jsonl")
    for zone in ("UTC", "SHANGHAI"):
        address = warehouse.os.environ[f"CLICKHOUSE_{zone}"]
        warehouse.clickhouse_do("drop database if exists warehouse", address)
        warehouse.clickhouse_do("create database warehouse", address)
        job = Job("dws", folder / f"dws-{zone}", TOPIC=topic, UNTIL="end", CLICKHOUSE_DATABASE="warehouse")
        job.variables["CLICKHOUSE"] = "http://" + address
        job.start()
        job.finish()
        warehouse.check_windows(want, "warehouse", address)
        assert not job.dead_letters(), job.dead_letters()[:2]
        print(f"dws: {len(want)} windows in the zone {zone} equal the oracle's", flush=True)


test_dim()
test_dws()
