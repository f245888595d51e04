#!/usr/bin/env python3
"""kill_test.py FOLDER ROUNDS [SEED]: both jobs run side by side while the job or one of the servers is killed with SIGKILL at a random
moment and comes back; each round kills each of them once. Phoenix and ClickHouse must then hold the oracle's rows."""
import pathlib
import random
import sys
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
for topic, kind, by in (("kills_topic_db", "topic_db", "id"), ("kills_cart_add", "cart_add", "user_id")):
    warehouse.make_topic(topic)
    warehouse.load(topic, data / f"{kind}.jsonl", by)


def trial(number, victim):
    """Kills the victim in the middle of both jobs; `victim` is a server's name, or `job`."""
    schema, database = f"KILLS_{number}", f"kills_{number}"
    warehouse.clickhouse_do(f"drop database if exists {database}")
    warehouse.clickhouse_do(f"create database {database}")
    dim = Job("dim", folder / f"dim-{number}", TOPIC="kills_topic_db", CONFIG_TABLE="kills_config.table_process", PHOENIX_SCHEMA=schema)
    dws = Job("dws", folder / f"dws-{number}", TOPIC="kills_cart_add", UNTIL="end", CLICKHOUSE_DATABASE=database)
    dim.start()
    dws.start()
    moment = round(random.uniform(0.2, 6 if victim != "clickhouse" else 1.5), 2)
    time.sleep(moment)
    if victim == "job":
        for job in (dim, dws):
            job.kill()
            job.start(random.choice((1, 2, 3)))
    else:
        warehouse.SERVERS[victim].kill()
        time.sleep(random.uniform(0, 1))
        warehouse.SERVERS[victim].start()
    what = f"{victim} killed after {moment} s"
    try:
        dws.finish()
        warehouse.wait_for(lambda: dim.has_read_all("topic_db"), "job DIM to reach the topic's end", 300)
        dim.stop()
        warehouse.check_tables(schema, config, tables, folder / f"dim-{number}" / "copy.db")
        warehouse.check_windows(windows, database)
        letters = dim.dead_letters() + dws.dead_letters()
        assert not letters, f"dead letters: {letters[:2]}"
    except BaseException as error:
        for job in (dim, dws):
            if job.process.poll() is None:
                job.kill()
        raise AssertionError(f"seed {seed}: {what}: {error}\n{dim.log()}\n{dws.log()}") from error
    print(f"{what}: equal", flush=True)


number = 0
for _ in range(rounds):
    victims = ["job", *warehouse.SERVERS]
    random.shuffle(victims)
    for victim in victims:
        number += 1
        trial(number, victim)
