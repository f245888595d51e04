"""The dimension job that most cases feed: change records and configuration rows in, one table for each dimension out."""
import json

# Variables choose what a case is about; the rest is as a user would write it.
JOB = """
pipeline: dim
parallelism: ${PARALLELISM:-1}
checkpoint: { dir: "${OUT}/checkpoints", interval: 200ms, keep: 3 }
dead_letters: { dir: "${OUT}/dead-letters" }
limits: { batch_rows: "${BATCH_ROWS:-1024}" }
operators:
  - id: table_process
    use: file.source
    with: { path: "${OUT}/table_process.jsonl", follow: "${FOLLOW:-false}" }
  - id: topic_db
    use: file.source
    with: { path: "${OUT}/topic_db.jsonl", follow: "${FOLLOW:-false}" }
  - id: configured
    use: broadcast_filter
    input: topic_db
    broadcast: table_process
    with: { database: "${DATABASE:-gmall}", on_delete: "${ON_DELETE:-ignore}" }
  - id: columns
    use: column_pruner
    input: configured
    with: { from: data, columns_field: sink_columns, add: [sink_table, sink_pk], key_field: sink_pk, match: "${MATCH:-exact}" }
  - id: warehouse
    use: sqlite.sink
    input: columns
    with: { path: "${OUT}/warehouse.db" }
"""

# The same with the change records in a topic.
KAFKA_JOB = JOB.replace("""    use: file.source
    with: { path: "${OUT}/topic_db.jsonl", follow: "${FOLLOW:-false}" }
""", """    use: kafka.source
    with: { brokers: "${KAFKA}", topic: "${TOPIC}", group: "${TOPIC}", until: "${UNTIL:-end}" }
""")


def rule(source_table, sink_table, sink_columns, sink_pk=None, sink_extend=None):
    """A configuration row in the five fields of `table_process`."""
    return {"source_table": source_table, "sink_table": sink_table, "sink_columns": sink_columns, "sink_pk": sink_pk,
            "sink_extend": sink_extend}


def snapshot(row):
    return json.dumps({"op": "r", "before": None, "after": row}, ensure_ascii=False)


def update(before, after):
    return json.dumps({"op": "u", "before": before, "after": after}, ensure_ascii=False)


def delete(row):
    return json.dumps({"op": "d", "before": row, "after": None}, ensure_ascii=False)


def change(table, data, kind="insert", database="gmall", ts=1699253290, **more):
    """A change record as Maxwell writes it; `data` may be JSON text, whose digits stay as they are."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    rest = "".join(f", {json.dumps(k)}: {v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)}" for k, v in more.items())
    return f'{{"database": "{database}", "table": "{table}", "type": "{kind}", "ts": {ts}{rest}, "data": {text}}}'


def given(world, rules, records):
    """Lays down the two inputs of JOB."""
    world.lines("table_process.jsonl", *[snapshot(r) for r in rules])
    world.lines("topic_db.jsonl", *records)
