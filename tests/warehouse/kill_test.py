#!/usr/bin/env python3
"""kill_test.py FOLDER ROUNDS [SEED]: both jobs run side by side while the job or one of the servers is killed with SIGKILL at a random
moment in the middle of the stream and comes back; each round kills each of them once. Jobs that were killed go on from a checkpoint
behind the stream's beginning, with state in it. Phoenix and ClickHouse must then hold the oracle's rows."""
import itertools
import json
import pathlib
import random
import re
import sys
import threading
import time

import warehouse
from warehouse import Job, dataset, oracle

folder, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(2**32)
print(f"seed {seed}", flush=True)
random.seed(seed)
MESSAGES = 100_000
data = dataset.folder_of(MESSAGES)
config, tables = warehouse.expected_tables(data)
windows = oracle.read_lines(data / "expected_dws.jsonl")

warehouse.make_rules("kills_config", config)
INPUTS = {"topic_db": "id", "cart_add": "user_id"}  # by what a topic is spread
halves = {}
for kind in INPUTS:
    lines = (data / f"{kind}.jsonl").read_bytes().splitlines(keepends=True)
    halves[kind] = []
    for part in (lines[: MESSAGES // 2], lines[MESSAGES // 2:]):
        halves[kind].append(folder / f"{kind}-{len(halves[kind])}.jsonl")
        halves[kind][-1].parent.mkdir(parents=True, exist_ok=True)
        halves[kind][-1].write_bytes(b"".join(part))


def load(number, half):
    for kind, by in INPUTS.items():
        warehouse.load(f"kills_{kind}_{number}", halves[kind][half], by)


def is_on_its_way(job, source):
    """It has read rows, and made a checkpoint after that."""
    progress = job.progress()
    rows = sum(o["rows_in"] for o in progress["operators"] if o["id"] == source)
    return rows > 0 and progress["checkpoint"]["completed"] > 2


def rows_of_checkpoint(job):
    """How far the newest complete checkpoint's source is, in messages."""
    manifests = sorted((job.folder / "checkpoints" / job.name).glob("chk-*/manifest.json"))
    text = manifests[-1].read_text(encoding="utf-8")
    source = next(s for s in json.loads(text)["manifest"]["sources"] if s["operator"] in INPUTS)
    ends = (re.search(r"(before )?offset (\d+)$", split["position_text"]) for split in source["splits"])
    return sum(int(end[2]) + (0 if end[1] else 1) for end in ends)


def trial(number, victim):
    """Kills the victim in the middle of both jobs; `victim` is a server's name, or `job`."""
    schema, database = f"KILLS_{number}", f"kills_{number}"
    warehouse.clickhouse_do(f"drop database if exists {database}")
    warehouse.clickhouse_do(f"create database {database}")
    for kind in INPUTS:
        warehouse.make_topic(f"kills_{kind}_{number}")
    load(number, 0)
    if victim == "kafka":
        load(number, 1)
    dim = Job("dim", folder / f"dim-{number}", TOPIC=f"kills_topic_db_{number}", CONFIG_TABLE="kills_config.table_process",
              PHOENIX_SCHEMA=schema, CHECKPOINT_INTERVAL="200ms")
    dws = Job("dws", folder / f"dws-{number}", TOPIC=f"kills_cart_add_{number}", CLICKHOUSE_DATABASE=database, CHECKPOINT_INTERVAL="200ms")
    what = f"{victim} killed"
    try:
        dim.start()
        dws.start()
        for job, source in ((dim, "topic_db"), (dws, "cart_add")):
            warehouse.wait_for(lambda: is_on_its_way(job, source), f"job {job.name} to be on its way", 300)
        feeder = threading.Thread(target=load, args=(number, 1))
        if victim != "kafka":
            feeder.start()
        moment = round(random.uniform(0, 1.2), 2)
        time.sleep(moment)
        what = f"{victim} killed {moment} s after the middle"
        if victim == "job":
            for job in (dim, dws):
                job.kill()
            done = {job.name: rows_of_checkpoint(job) for job in (dim, dws)}
            assert all(0 < rows for rows in done.values()) and done["dim"] < MESSAGES, f"checkpoints in the middle were wanted, not at {done}"
            what += f", at {done}"
            for job in (dim, dws):
                job.start(random.choice((1, 2, 3)))
        else:
            warehouse.SERVERS[victim].kill()
            time.sleep(random.uniform(0, 1))
            warehouse.SERVERS[victim].start()
        if victim != "kafka":
            feeder.join()
        warehouse.wait_for(lambda: dws.has_read_all("cart_add"), "job DWS to reach the topic's end", 300)
        dws.stop()
        dws.variables["UNTIL"] = "end"  # so that the last windows close
        dws.start()
        dws.finish()
        warehouse.wait_for(lambda: dim.has_read_all("topic_db"), "job DIM to reach the topic's end", 300)
        dim.stop()
        warehouse.check_tables(schema, config, tables, folder / f"dim-{number}" / "copy.db")
        warehouse.check_windows(windows, database)
        letters = dim.dead_letters() + dws.dead_letters()
        assert not letters, f"dead letters: {letters[:2]}"
    except BaseException as error:
        for job in (dim, dws):
            if job.process is not None and job.process.poll() is None:
                job.kill()
        raise AssertionError(f"seed {seed}: {what}: {error}\n{dim.log()}\n{dws.log()}") from error
    print(f"{what}: equal", flush=True)


numbers = itertools.count(1)
for _ in range(rounds):
    victims = ["job", *warehouse.SERVERS]
    random.shuffle(victims)
    for victim in victims:
        trial(next(numbers), victim)
