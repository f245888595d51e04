#!/usr/bin/env python3
"""dim_job_test.py FOLDER: job DIM with its configuration in a real MySQL, read by mysql.cdc, and its messages in a real Kafka.

First everything is interrupted while it runs (the job, the server, the connections), and rules come and go that concern no
message: the tables must equal the oracle's, row by row. Then rules change that do concern messages: each takes effect. Last they
change while their messages come: every message is treated by one rule, and behind it in its partition none by an older one.
"""
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import dataset  # noqa: E402

SLUICE, KLOAD, KAFKA = os.environ["SLUICE"], os.environ["KLOAD"], os.environ["KAFKA"]
FLAVOR, MYSQL_SH = os.environ["FLAVOR"], os.environ["MYSQL_SH"]
HOST, PORT = os.environ["MARIADB" if FLAVOR == "mariadb" else "MYSQL8"].split(":")
UNIQUE = f"{FLAVOR}_{os.getpid()}"
DATABASE, TOPIC = f"cfg_{os.getpid()}", f"topic_db_cdc_{UNIQUE}"
MESSAGES = 100_000
FIELDS = ("source_table", "sink_table", "sink_columns", "sink_pk", "sink_extend")


def mysql(command, *arguments, check=True):
    return subprocess.run([MYSQL_SH, FLAVOR, command, *arguments], check=check, capture_output=True, text=True).stdout


def sql(text):
    return mysql("sql", "-N", "-e", text)


def rule(**fields):
    quoted = ", ".join("'" + fields.get(f, "").replace("'", "''") + "'" for f in FIELDS)
    sql(f"insert into {DATABASE}.table_process values ({quoted})")


class Job:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        subprocess.run(["rm", "-rf", folder], check=True)
        self.folder.mkdir(parents=True)
        self.process = None

    def start(self):
        env = dict(os.environ, OUT=str(self.folder), TOPIC=TOPIC, MYSQL_HOST=HOST, MYSQL_PORT=PORT, CONFIG_DATABASE=DATABASE)
        log = open(self.folder / "run.log", "ab")
        self.process = subprocess.Popen([SLUICE, "run", HERE / "dim.yaml"], env=env, stdout=log, stderr=log)

    def end(self, how):
        self.process.send_signal(how)
        return self.process.wait(timeout=120)

    def alive(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the job ended with {self.process.returncode}\n{self.log()[-4000:]}")

    def log(self):
        return (self.folder / "run.log").read_text(errors="replace")

    def differences(self, data):
        done = subprocess.run([sys.executable, ROOT / "bench/oracle.py", "check-tables", data, self.folder / "warehouse.db"], capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def rows(self, table, key):
        try:
            with sqlite3.connect(f"file:{self.folder}/warehouse.db?mode=ro", uri=True) as db:
                db.row_factory = sqlite3.Row
                return [dict(r) for r in db.execute(f'select * from "{table}" where id=?', (str(key),))]
        except sqlite3.Error:
            return []


def wait_for(job, condition, what, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        job.alive()
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}\n{job.log()[-4000:]}")
        time.sleep(0.1)


def produce(messages):
    lines = "".join(json.dumps(m) + "\n" for m in messages)
    subprocess.run(["kcat", "-P", "-b", KAFKA, "-t", TOPIC, "-p", "0"], input=lines, text=True, check=True)


def message(table, key, **data):
    return {"database": "gmall", "table": table, "type": "insert", "ts": 1654012800, "xid": 1, "commit": True, "data": {"id": key, **data}}


def interrupted(job, data, seed):
    random.seed(seed)
    for round_number in range(4):
        job.start()
        until = time.monotonic() + random.uniform(0.3, 2.5)
        while time.monotonic() < until:
            n = random.randrange(10**6)
            rule(source_table=f"nothing_{n}", sink_table=f"dim_nothing_{n}", sink_columns="id,a")
            sql(f"update {DATABASE}.table_process set sink_columns='id,a,b' where source_table='nothing_{n}'")
            for one in sql("select id from information_schema.processlist where command like 'Binlog Dump%'").split():
                mysql("sql", "-e", f"kill {one}", check=False)
            if n % 2:
                sql(f"delete from {DATABASE}.table_process where source_table='nothing_{n}'")
            time.sleep(0.3)
        job.alive()
        if round_number == 1:
            mysql("kill")
            time.sleep(0.5)
            job.alive()
            mysql("start")
        else:
            job.end(signal.SIGKILL)
            continue
        job.end(signal.SIGKILL)
    job.start()
    wait_for(job, lambda: job.differences(data) == "", "the oracle's tables")
    if job.end(signal.SIGTERM) != 0:
        raise AssertionError(f"SIGTERM\n{job.log()[-4000:]}")
    if job.differences(data):
        raise AssertionError(job.differences(data))


def changes_take_effect(job):
    # Once open the gate stays open: the job starts without the configuration's server.
    mysql("stop")
    job.start()
    produce([message("base_trademark", 900001, tm_name="open", logo_url="x")])
    wait_for(job, lambda: job.rows("dim_base_trademark", 900001), "a row while the server is away")
    mysql("start")

    sql(f"update {DATABASE}.table_process set sink_columns=concat(sink_columns, ',operate_time') where source_table='base_trademark'")
    rule(source_table="brand_new", sink_table="dim_brand_new", sink_columns="id,v", sink_pk="id")
    keys = iter(range(910_000, 990_000))

    def more_column():
        key = next(keys)
        produce([message("base_trademark", key, tm_name="n", logo_url="l", operate_time="T")])
        return wait_row("dim_base_trademark", key).get("operate_time") == "T"

    def wait_row(table, key):
        wait_for(job, lambda: job.rows(table, key), f"{table} {key}")
        return job.rows(table, key)[0]

    wait_for(job, more_column, "the new column")
    produce([message("brand_new", 1, v="first")])  # its rule is older than the one that is in force
    wait_for(job, lambda: job.rows("dim_brand_new", 1) == [{"id": "1", "v": "first"}], "the new table's row")

    sql(f"delete from {DATABASE}.table_process where source_table='brand_new'")

    def gone():
        key = next(keys)
        produce([message("brand_new", key, v="late"), message("base_trademark", key, tm_name="n", logo_url="l")])
        wait_row("dim_base_trademark", key)
        return not job.rows("dim_brand_new", key)

    wait_for(job, gone, "the deleted rule")
    if job.end(signal.SIGTERM) != 0:
        raise AssertionError(f"SIGTERM\n{job.log()[-4000:]}")


def changes_meet_their_messages(job):
    versions, per_version = 8, 5000
    job.start()

    def change(version):
        sql(f"replace into {DATABASE}.table_process values ('moving', 'dim_moving_{version}', 'id,{'a' if version % 2 else 'b'}', 'id', null)")

    change(0)
    probes = iter(range(10_000_000, 11_000_000))

    def in_force():
        produce([message("moving", next(probes), a="x", b="y")])
        return tables(job)

    wait_for(job, in_force, "the first rule")
    file = job.folder / "moving.jsonl"
    for version in range(versions):
        if version > 0:
            change(version)
        keys = range(version * per_version, (version + 1) * per_version)
        file.write_text("".join(json.dumps(message("moving", key, a=f"a{key}", b=f"b{key}")) + "\n" for key in keys), encoding="utf-8")
        subprocess.run([KLOAD, KAFKA, TOPIC, file, "id", "4"], check=True, stdout=subprocess.DEVNULL)
    total = versions * per_version
    wait_for(job, lambda: sum(1 for key, _ in moved_rows(job) if key < total) >= total, "all messages")
    if job.end(signal.SIGTERM) != 0:
        raise AssertionError(f"SIGTERM\n{job.log()[-4000:]}")
    version_of = {}
    for key, (version, value) in moved_rows(job):
        assert key not in version_of, f"{key} is in dim_moving_{version_of[key]} and in dim_moving_{version}"
        column = "a" if version % 2 else "b"
        assert key >= total or value == f"{column}{key}", f"dim_moving_{version}: {key} has {value}"
        version_of[key] = version
    newest = {}
    for line in subprocess.run(["kcat", "-C", "-e", "-q", "-b", KAFKA, "-t", TOPIC, "-o", "beginning", "-f", "%p %s\n"], check=True, capture_output=True, text=True).stdout.splitlines():
        partition, text = line.split(" ", 1)
        if '"moving"' not in text:
            continue
        key = json.loads(text)["data"]["id"]
        if key not in version_of:
            assert key >= total, f"{key} is in no table"
            continue  # a probe that came before the first rule
        assert version_of[key] >= newest.get(partition, 0), f"partition {partition}: {key} by rule {version_of[key]}, after one by {newest[partition]}"
        newest[partition] = version_of[key]
    seen = {version_of[key] for key in range(total)}
    assert len(seen) >= 4, f"the rules changed beside the messages, not among them: {seen}"
    return len(seen)


def tables(job):
    try:
        with sqlite3.connect(f"file:{job.folder}/warehouse.db?mode=ro", uri=True) as db:
            return sorted(int(name[len("dim_moving_"):]) for name, in db.execute("select name from sqlite_master where name glob 'dim_moving_*' and type = 'table'"))
    except sqlite3.Error:
        return []


def moved_rows(job):
    """(key, (version of the rule, value)) of all tables that the rule has pointed to."""
    with sqlite3.connect(f"file:{job.folder}/warehouse.db?mode=ro", uri=True) as db:
        return [(int(key), (version, value)) for version in tables(job)
                for key, value in db.execute(f"select id, {'a' if version % 2 else 'b'} from dim_moving_{version}")]


def main():
    folder = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    print(f"seed {seed}", flush=True)
    data = dataset.folder_of(MESSAGES)
    subprocess.run([ROOT / "tests/services/kafka/kafka.sh", "topic", TOPIC, "4"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([KLOAD, KAFKA, TOPIC, data / "topic_db.jsonl", "id", "4"], check=True, stdout=subprocess.DEVNULL)
    sql(f"create database {DATABASE}")
    sql(f"create table {DATABASE}.table_process (source_table varchar(200) primary key, sink_table varchar(200), sink_columns varchar(2000), "
        "sink_pk varchar(200), sink_extend varchar(200)) default charset utf8mb4")
    for line in (data / "dim_config.jsonl").read_text(encoding="utf-8").splitlines():
        rule(**json.loads(line))
    job = Job(folder)
    begin = time.monotonic()
    try:
        interrupted(job, data, seed)
        print(f"interrupted: equals the oracle after {time.monotonic() - begin:.1f} s", flush=True)
        changes_take_effect(job)
        print(f"changed rules take effect, {time.monotonic() - begin:.1f} s", flush=True)
        seen = changes_meet_their_messages(job)
        print(f"{seen} rules changed among their messages, {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        if job.process is not None and job.process.poll() is None:
            job.end(signal.SIGKILL)
        sql(f"drop database if exists {DATABASE}")


main()
