"""A MySQL or MariaDB server as a source: values, DDL, lost logs, and all that happens while it is read."""
import datetime
import functools
import json
import random
import re
import threading
import time

import mysql_server as server
from mysql_server import sql
from world import case as register
from world import contains, equal, wait_for

case = functools.partial(register, "cdc")
MARIADB = server.FLAVOR == "mariadb"
LONG_RECURSION = "SET SESSION max_recursive_iterations=1000000;" if MARIADB else "SET SESSION cte_max_recursion_depth=1000000;"


def job(tables, options="", interval="100ms", sink=None, top=""):
    """Changes of tables into files, or into what `sink` says."""
    return f"""
pipeline: cdc_${{CASE}}
{top}
checkpoint: {{ dir: "${{OUT}}/checkpoints", interval: {interval}, keep: 3 }}
dead_letters: {{ dir: "${{OUT}}/dead-letters" }}
operators:
  - id: cdc
    use: mysql.cdc
    with: {{ host: {server.HOST}, port: {server.PORT}, user: cdc, password: cdcpw, tables: [{tables}] {options} }}
""" + (sink or '  - { id: out, use: file.sink, input: cdc, with: { dir: "${OUT}/out", on_delete: write } }\n')


# The newest content of a table `t` with the key `id`, and nothing else.
TABLE = """  - { id: row, use: column_pruner, input: cdc, with: { from: after, columns: [id, a, b] } }
  - { id: out, use: sqlite.sink, input: row, with: { path: "${OUT}/warehouse.db", table: t, key: [id] } }
"""


def changes(w, folder="out"):
    """`op before after` of each event, as it was written, digit for digit."""
    found = []
    for line in w.files(folder):
        parts = re.match(r'\{"before":(null|\{.*?\}),"after":(null|\{.*?\}),"source":\{.*"op":"(\w)"', line)
        if not parts:
            raise AssertionError(f"no change: {line}")
        found.append(f"{parts[3]} {parts[1]} {parts[2]}")
    return found


def wait_changes(w, run, count, folder="out"):
    run.wait_until(lambda: len(w.files(folder)) >= count, f"{count} changes")


def snapshot_and_binlog(w, table, before, after, count, options="", statements=""):
    """Rows before the start, the same kind of rows after it: all changes, `count` of each."""
    db = server.fresh_database(w.id.lower().replace("-", "_"))
    sql(f"{table}; {before}", db)
    run = w.start(job(f"{db}.*", options))
    wait_changes(w, run, count)
    sql(f"{statements}; {after}" if statements else after, db)
    return db, run


@case("CD-02", "unsigned whole numbers are what they are, in the snapshot as in the binlog")
def cd02(w):
    _, run = snapshot_and_binlog(
        w, "CREATE TABLE un (id BIGINT UNSIGNED PRIMARY KEY, a TINYINT UNSIGNED, b MEDIUMINT UNSIGNED ZEROFILL, c INT UNSIGNED)",
        "INSERT INTO un VALUES (18446744073709551615,255,16777215,4294967295),(9007199254740993,0,1,2147483648)",
        "INSERT INTO un VALUES (18446744073709551614,255,16777215,4294967295)", 2)
    wait_changes(w, run, 3)
    run.stop()
    equal(changes(w), ['r null {"id":9007199254740993,"a":0,"b":1,"c":2147483648}',
                       'r null {"id":18446744073709551615,"a":255,"b":16777215,"c":4294967295}',
                       'c null {"id":18446744073709551614,"a":255,"b":16777215,"c":4294967295}'], "changes")


@case("CD-03", "decimals keep all digits, as text unless something else is wanted")
def cd03(w):
    table = "CREATE TABLE de (id INT PRIMARY KEY, a DECIMAL(16,2), b DECIMAL(38,18), c DECIMAL(65,1))"
    values = "INSERT INTO de VALUES ({},7.90,0.000000000000000001,-34567892.1),({},NULL,-0.5,0)"
    _, run = snapshot_and_binlog(w, table, values.format(1, 2), values.format(11, 12), 2)
    wait_changes(w, run, 4)
    run.stop()
    equal(changes(w), [f'{op} null {{"id":{i}{row}' for op, i, row in (
        ("r", 1, ',"a":"7.90","b":"0.000000000000000001","c":"-34567892.1"}'), ("r", 2, ',"a":null,"b":"-0.500000000000000000","c":"0.0"}'),
        ("c", 11, ',"a":"7.90","b":"0.000000000000000001","c":"-34567892.1"}'), ("c", 12, ',"a":null,"b":"-0.500000000000000000","c":"0.0"}'))], "changes")
    contains(w.command("describe", "mysql.cdc")[1], "decimals", "as a string of its digits")


@case("CD-04", "dates and times are the same from both ways, whatever the zones of host and server")
def cd04(w):
    for zone in ("UTC", "America/New_York"):
        out = zone.replace("/", "-")
        db = server.fresh_database("cd_04")
        sql("SET time_zone='+08:00'; CREATE TABLE tz (id INT PRIMARY KEY, dt DATETIME(3), ts TIMESTAMP(3) NULL);"
            "INSERT INTO tz VALUES (1,'2023-11-07 00:00:00.123','2023-11-07 00:00:00.123')", db)
        run = w.start(job(f"{db}.tz").replace("/out\"", f"/{out}\"").replace("/checkpoints", f"/checkpoints-{out}"), environment={"TZ": zone})
        wait_changes(w, run, 1, out)
        sql("INSERT INTO tz SELECT 2, dt, ts FROM tz WHERE id=1", db)
        wait_changes(w, run, 2, out)
        run.stop()
        # The moment as such; the wall clock, which has no zone, as if it were UTC.
        row = '"dt":1699315200123,"ts":"2023-11-06T16:00:00.123Z"}'
        equal(changes(w, out), [f'r null {{"id":1,{row}', f'c null {{"id":2,{row}'], f"changes with TZ={zone}")


@case("CD-05", "labels of ENUM and SET, over a change of their list")
def cd05(w):
    db, run = snapshot_and_binlog(
        w, "CREATE TABLE en (id INT PRIMARY KEY, s ENUM('unpaid','paid'), f SET('a','b','c'))", "INSERT INTO en VALUES (1,'paid','a,c')",
        "INSERT INTO en VALUES (2,'unpaid','b'); ALTER TABLE en MODIFY s ENUM('paid','unpaid','refunded'); INSERT INTO en VALUES (3,'paid','');"
        "UPDATE en SET s='refunded' WHERE id=2; SET SESSION sql_mode=''; INSERT IGNORE INTO en VALUES (4,'nonsense','c,a')", 1)
    wait_changes(w, run, 5)
    run.stop()
    equal(changes(w), ['r null {"id":1,"s":"paid","f":"a,c"}', 'c null {"id":2,"s":"unpaid","f":"b"}', 'c null {"id":3,"s":"paid","f":""}',
                       'u {"id":2,"s":"unpaid","f":"b"} {"id":2,"s":"refunded","f":"b"}', 'c null {"id":4,"s":"","f":"a,c"}'], "changes")


@case("CD-07", "times of day below zero and above a day")
def cd07(w):
    values = ("INSERT INTO ti VALUES ({},'-00:00:01','-12:30:00.500000'),({},'838:59:59','00:00:00.000001'),({},'-838:59:59','-00:00:00.000001')")
    _, run = snapshot_and_binlog(w, "CREATE TABLE ti (id INT PRIMARY KEY, a TIME, b TIME(6))", values.format(1, 2, 3), values.format(11, 12, 13), 3)
    wait_changes(w, run, 6)
    run.stop()
    rows = ('"a":-1000000,"b":-45000500000}', '"a":3020399000000,"b":1}', '"a":-3020399000000,"b":-1}')  # microseconds
    equal(changes(w), [f'{op} null {{"id":{first + i},{row}' for op, first in (("r", 1), ("c", 11)) for i, row in enumerate(rows)], "changes")


@case("CD-08", "zero dates and very old ones are neither 1970 nor this century")
def cd08(w):
    values = ("SET SESSION sql_mode='', time_zone='+08:00'; INSERT INTO zd VALUES ({},'0000-00-00','0000-00-00 00:00:00',NULL),"
              "({},'0017-08-12','0001-01-01 00:00:00.000001','1970-01-01 08:00:01'),({},'2023-00-00','9999-12-31 23:59:59.999999',NULL)")
    _, run = snapshot_and_binlog(w, "CREATE TABLE zd (id INT PRIMARY KEY, d DATE, dt DATETIME(6), ts TIMESTAMP NULL)", values.format(1, 2, 3),
                                 values.format(11, 12, 13), 3)
    wait_changes(w, run, 6)
    run.stop()
    day = datetime.date(17, 8, 12).toordinal() - datetime.date(1970, 1, 1).toordinal()  # days, microseconds
    rows = ('"d":null,"dt":null,"ts":null}', f'"d":{day},"dt":-62135596799999999,"ts":"1970-01-01T00:00:01Z"}}', '"d":null,"dt":253402300799999999,"ts":null}')
    equal(changes(w), [f'{op} null {{"id":{first + i},{row}' for op, first in (("r", 1), ("c", 11)) for i, row in enumerate(rows)], "changes")


if not MARIADB:  # there JSON is a text
    @case("CD-09", "numbers in JSON columns keep sign and digits; partial updates are refused", alone=True)
    def cd09(w):
        db = server.fresh_database("cd_09")
        sql("CREATE TABLE js (id INT PRIMARY KEY, j JSON)", db)
        run = w.start(job(f"{db}.js"))
        run.wait_until(lambda: (run.progress() or {"checkpoint": {"completed": 0}})["checkpoint"]["completed"] > 1, "checkpoints")
        sql("INSERT INTO js VALUES (1, JSON_OBJECT('v', CAST(2147483648 AS UNSIGNED), 'big', 18446744073709551615, 'd', CAST('1.10' AS DECIMAL(10,2)),"
            "'x', '你'))", db)
        wait_changes(w, run, 1)
        found = changes(w)
        try:
            sql("SET SESSION binlog_row_value_options='PARTIAL_JSON'; UPDATE js SET j=JSON_SET(j,'$.v',7) WHERE id=1", db)
            run.wait_end(1)
            while_running = run.messages()
            sql("SET GLOBAL binlog_row_value_options='PARTIAL_JSON'")
            run = w.run(job(f"{db}.js").replace("/checkpoints", "/second").replace("/out\"", "/second-out\""), code=1)
        finally:
            sql("SET GLOBAL binlog_row_value_options=''")
        equal(found, ['c null {"id":1,"j":"{\\"d\\": 1.10, \\"v\\": 2147483648, \\"x\\": \\"你\\", \\"big\\": 18446744073709551615}"}'], "changes")
        contains("\n".join(while_running), 'operator "cdc" (mysql.cdc): binlog event PARTIAL_UPDATE_ROWS at ',
                 ": partial JSON updates cannot be read; set binlog_row_value_options='' at the server")
        equal(run.messages(), ['operator "cdc" (mysql.cdc): binlog_row_value_options is PARTIAL_JSON: the binlog has only parts of JSON values. Set '
                               "it to ''"], "at the start")


@case("CD-10", "a change that does not show all columns wipes none")
def cd10(w):
    db, run = snapshot_and_binlog(w, "CREATE TABLE mi (id INT PRIMARY KEY, a VARCHAR(9), b VARCHAR(9))", "INSERT INTO mi VALUES (1,'a1','b1')",
                                  "SET SESSION binlog_row_image='MINIMAL'; UPDATE mi SET a='a2' WHERE id=1; DELETE FROM mi WHERE id=1", 1)
    run.wait_end()
    equal((changes(w), run.code), (['r null {"id":1,"a":"a1","b":"b1"}'], 1), "changes, exit status")
    contains("\n".join(run.messages()), f'operator "cdc" (mysql.cdc): the rows of {db}.mi lack columns; set binlog_row_image=FULL at the server, for all its sessions (',
             "Set `on_gap: snapshot` and start again: a new snapshot is taken, and the changes after it follow.")


@case("CD-12", "a table without a primary key is read, duplicates and all")
def cd12(w):
    db, run = snapshot_and_binlog(w, "CREATE TABLE nopk (account INT, txt VARCHAR(20))", "INSERT INTO nopk VALUES (1,'x'),(1,'x'),(2,'y')",
                                  "UPDATE nopk SET txt='z' WHERE account=2; DELETE FROM nopk WHERE account=1 LIMIT 1", 3)
    wait_changes(w, run, 5)
    run.stop()
    equal(changes(w), ['r null {"account":1,"txt":"x"}', 'r null {"account":1,"txt":"x"}', 'r null {"account":2,"txt":"y"}',
                       'u {"account":2,"txt":"y"} {"account":2,"txt":"z"}', 'd {"account":1,"txt":"x"} null'], "changes")


@case("CD-13", "a table that is exchanged under its name (gh-ost) goes on by its new columns")
def cd13(w):
    db = server.fresh_database("cd_13")
    sql("CREATE TABLE t (id INT PRIMARY KEY, a INT); INSERT INTO t VALUES (1,10)", db)
    run = w.start(job(f"{db}.t"))
    wait_changes(w, run, 1)
    sql("CREATE TABLE _t_gho LIKE t; ALTER TABLE _t_gho ADD COLUMN b INT FIRST; INSERT INTO _t_gho (id,a,b) SELECT id,a,0 FROM t;"
        "RENAME TABLE t TO _t_del, _t_gho TO t; INSERT INTO t (id,a,b) VALUES (2,20,5); DROP TABLE _t_del", db)
    wait_changes(w, run, 2)
    run.wait_checkpoint()
    run.kill()
    run = w.start(job(f"{db}.t"))
    run.wait_until(lambda: "restoring checkpoint" in run.log, "the restore")
    sql("INSERT INTO t (id,a,b) VALUES (3,30,6)", db)
    wait_changes(w, run, 3)
    run.stop()
    equal(changes(w), ['r null {"id":1,"a":10}', 'c null {"b":5,"id":2,"a":20}', 'c null {"b":6,"id":3,"a":30}'], "changes")


@case("CD-15", "DDL of any kind does not stop the reader")
def cd15(w):
    db = server.fresh_database("cd_15")
    sql("DROP DATABASE IF EXISTS cd_15_other; CREATE TABLE base_dic (id INT PRIMARY KEY, dic_name VARCHAR(20)); INSERT INTO base_dic VALUES (1,'first')", db)
    run = w.start(job(f"{db}.*"))
    wait_changes(w, run, 1)
    user, host = sql("SELECT CURRENT_USER()")[0][0].split("@")
    sql("CREATE DATABASE /*!32312 IF NOT EXISTS*/ cd_15_other; CREATE TABLE cd_15_other.v (n VARCHAR(40));"
        "ALTER TABLE cd_15_other.v MODIFY n VARCHAR(40) NOT NULL" + ("" if MARIADB else ", ADD CONSTRAINT nn CHECK (n <> '')") + ";"
        f"CREATE DEFINER=`{user}`@`{host}` TRIGGER cd_15.tr BEFORE INSERT ON cd_15.base_dic FOR EACH ROW SET @x=1;"
        "CREATE TABLE cd_15.cc (one INT PRIMARY KEY) AS SELECT 1 AS one; ALTER TABLE cd_15.base_dic COMMENT='it''s; -- fine';"
        "INSERT INTO cd_15.base_dic (id,dic_name) VALUES (9,'after ddl')")
    wait_changes(w, run, 3)
    run.stop()
    equal(changes(w), ['r null {"id":1,"dic_name":"first"}', 'c null {"one":1}', 'c null {"id":9,"dic_name":"after ddl"}'], "changes")
    # It is no worse to start behind it.
    run = w.start(job(f"{db}.*"))
    sql("INSERT INTO cd_15.base_dic (id,dic_name) VALUES (10,'restarted')")
    wait_changes(w, run, 4)
    run.stop()


@case("CD-16", "columns in every character set come out in UTF-8, or the start says which one does not")
def cd16(w):
    _, run = snapshot_and_binlog(
        w, "CREATE TABLE cs (id INT PRIMARY KEY, l VARCHAR(20) CHARACTER SET latin1, g VARCHAR(20) CHARACTER SET gbk, u VARCHAR(20) CHARACTER SET utf8mb4,"
        " b VARBINARY(8))", "INSERT INTO cs VALUES (1,'é“€”','镕乪','🛒é',x'00ff')", "INSERT INTO cs VALUES (11,'é“€”','镕乪','🛒é',x'00ff')", 1)
    wait_changes(w, run, 2)
    run.stop()
    equal(changes(w), ['r null {"id":1,"l":"é“€”","g":"镕乪","u":"🛒é","b":"AP8="}', 'c null {"id":11,"l":"é“€”","g":"镕乪","u":"🛒é","b":"AP8="}'], "changes")
    # Another one is an error at the start, with table and column.
    db = server.fresh_database("cd_16_unsupported")
    sql("CREATE TABLE g (id INT PRIMARY KEY, a VARCHAR(9) CHARACTER SET latin1, s VARCHAR(9) CHARACTER SET geostd8)", db)
    said = (f"column 's' of {db}.g: character set 'geostd8' is not supported", "Convert the column to utf8mb4, or leave the table out of `tables`")
    text = job(f"{db}.g").replace("/out\"", "/converted\"").replace("/checkpoints", "/checkpoints-converted")
    contains("\n".join(w.run(text, code=1).messages()), *said)
    code, out = w.validate(text, "--connect", environment={"CASE": "cd_16"})
    equal(code, 1, "exit status of validate")
    contains(out, *said)
    sql("ALTER TABLE g MODIFY s VARCHAR(9) CHARACTER SET utf8mb4; INSERT INTO g VALUES (1,'ä','ა')", db)
    run = w.start(text)
    wait_changes(w, run, 1, "converted")
    run.stop()
    equal(changes(w, "converted"), ['r null {"id":1,"a":"ä","s":"ა"}'], "changes")


@case("CD-17", "a checkpoint in the middle of a big transaction, and kill -9")
def cd17(w):
    db = server.fresh_database("cd_17")
    rows = 200_000
    sql("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(40)); CREATE TABLE side (id INT PRIMARY KEY)", db)
    text = job(f"{db}.t", sink=TABLE, interval="50ms")
    run = w.start(text)
    run.wait_until(lambda: (run.progress() or {"checkpoint": {"completed": 0}})["checkpoint"]["completed"] > 0, "a checkpoint")
    sql(LONG_RECURSION + f"BEGIN; INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i+1 FROM n WHERE i < {rows}) SELECT i, i*2, CONCAT('row ', i) FROM n;"
        "INSERT INTO side VALUES (1); COMMIT", db)
    run.wait_until(lambda: 0 < len(w.query("select 1 from t limit 1")) and w.query("select count(*) from t")[0][0] > 20_000, "a part of it")
    run.wait_checkpoint()
    part = w.query("select count(*) from t")[0][0]
    run.kill()
    run = w.start(text)
    run.wait_until(lambda: w.query("select count(*) from t")[0][0] == rows, "all rows")
    memory = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{run.process.pid}/status").read())[1]) // 1024
    contains(run.log, "restoring checkpoint")
    run.stop()
    equal(w.query("select count(*), count(distinct id), min(cast(id as int)), max(cast(id as int)), sum(a), sum(b = 'row ' || id) from t"),
          [(rows, rows, 1, rows, rows * (rows + 1), rows)], "the table")
    if part == rows:
        raise AssertionError("it was not killed in the middle")
    if memory > 512:
        raise AssertionError(f"{memory} MiB of memory")


@case("CD-18", "generated columns shift nothing")
def cd18(w):
    _, run = snapshot_and_binlog(
        w, "CREATE TABLE ge (id INT PRIMARY KEY, a INT, v INT AS (a+1) VIRTUAL, s INT AS (a*2) STORED, z VARCHAR(9))",
        "INSERT INTO ge (id,a,z) VALUES (1,15,'last')", "INSERT INTO ge (id,a,z) VALUES (2,15,'last'); UPDATE ge SET a=16 WHERE id=2", 1)
    wait_changes(w, run, 3)
    run.stop()
    equal(changes(w), ['r null {"id":1,"a":15,"v":16,"s":30,"z":"last"}', 'c null {"id":2,"a":15,"v":16,"s":30,"z":"last"}',
                       'u {"id":2,"a":15,"v":16,"s":30,"z":"last"} {"id":2,"a":16,"v":17,"s":32,"z":"last"}'], "changes")


@case("CD-21", "a value that cannot be read is one dead letter, and stops only a job that wants to stop")
def cd21(w):
    db = server.fresh_database("cd_21")
    sql("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET keybcs2)", db)
    run = w.start(job(f"{db}.t", ", start: latest"))
    run.wait_until(lambda: (run.progress() or {"checkpoint": {"completed": 0}})["checkpoint"]["completed"] > 1, "checkpoints")
    sql("INSERT INTO t VALUES (1,NULL),(2,'abc'),(3,NULL)", db)
    wait_changes(w, run, 2)
    run.stop()
    equal(changes(w), ['c null {"id":1,"s":null}', 'c null {"id":3,"s":null}'], "changes")
    letters = w.letters()
    equal(len(letters), 1, "dead letters")
    contains(letters[0]["reason"], f"column 's' of {db}.t: character set 'keybcs2' is not supported; convert the column to utf8mb4 (binlog.")
    contains(letters[0]["raw"], '"after":{"id":2,"s":"0x616263"}')
    contains(letters[0]["position"], " row 1 of the transaction at ")
    sql("INSERT INTO t VALUES (4,'abc')", db)
    run = w.run(job(f"{db}.t", ", start: latest", top="on_error: fail"), code=1)
    contains("\n".join(run.messages()), f"column 's' of {db}.t: character set 'keybcs2' is not supported")


@case("CD-20", "changes while the snapshot is read, and kill -9 in the middle of it")
def cd20(w):
    db = server.fresh_database("cd_20")
    rows = 60_000
    sql(LONG_RECURSION + "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(40)); INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i+1 FROM n "
        f"WHERE i < {rows}) SELECT i, 0, CONCAT('row ', i) FROM n", db)
    # Deletes take rows out again: the pruner takes the key from `before` then.
    sink = """  - id: changed
    use: broadcast_filter
    input: cdc
    broadcast: rules
    with: { on_delete: apply }
  - { id: rules, use: file.source, with: { path: "${OUT}/rules.jsonl" } }
  - { id: row, use: column_pruner, input: changed, with: { from: data, columns_field: sink_columns, add: [sink_table, sink_pk] } }
  - { id: out, use: sqlite.sink, input: row, with: { path: "${OUT}/warehouse.db" } }
"""
    w.lines("rules.jsonl", json.dumps({"source_table": "t", "sink_table": "t", "sink_columns": "id,a,b", "sink_pk": "id"}))
    text = job(f"{db}.t", ", format: maxwell, max_queue: 64KiB", interval="50ms", sink=sink)
    stop = threading.Event()

    def write(seed):
        dice = random.Random(seed)
        while not stop.is_set():
            statements = [f"UPDATE t SET a=a+1 WHERE id={dice.randrange(1, rows)}" for _ in range(50)]
            statements += [f"DELETE FROM t WHERE id={dice.randrange(1, rows)}" for _ in range(10)]
            statements += [f"INSERT IGNORE INTO t VALUES ({dice.randrange(rows, 2 * rows)},1,'new {seed}')" for _ in range(10)]
            statements += [f"UPDATE IGNORE t SET id={dice.randrange(2 * rows, 3 * rows)} WHERE id={dice.randrange(1, rows)}"]
            sql(";".join(statements), db)

    writers = [threading.Thread(target=write, args=(i,)) for i in range(3)]
    for writer in writers:
        writer.start()
    try:
        run = w.start(text)
        run.wait_until(lambda: (run.counters("cdc") or {"rows_in": 0})["rows_in"] > 5000 and run.progress()["checkpoint"]["completed"] > 0,
                       "a part of the snapshot, and a checkpoint: without one a start knows of no run before it")
        run.kill()
        run = w.start(text)
        run.wait_until(lambda: len(w.query("select 1 from t limit 1")) > 0, "rows")
        time.sleep(1)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    truth = sorted((r[0], r[1], r[2]) for r in sql("SELECT * FROM t", db))
    total = sum(int(r[0]) for r in sql("SELECT SUM(a) FROM t", db))
    try:
        wait_for(lambda: w.query("select sum(a) from t")[0][0] == total and len(w.query("select 1 from t")) == len(truth), "the same content", 10)
    except AssertionError:
        pass  # told row by row below
    run.stop()
    equal(w.table("t", "id, a, b"), truth, "content")


@case("CD-11", "two readers with one server id do not push each other out for ever", alone=True)
def cd11(w):
    db = server.fresh_database("cd_11")
    sql("CREATE TABLE t (id INT PRIMARY KEY)", db)
    text = job(f"{db}.t", ", server_id: 5408")
    first = w.start(text)
    first.wait_until(lambda: first.progress() and first.progress()["checkpoint"]["completed"] > 1, "checkpoints")
    second = w.start(text.replace("pipeline: cdc", "pipeline: twin").replace("/checkpoints", "/twin"))
    seen, end = set(server.dumps()), time.monotonic() + 10
    while time.monotonic() < end:
        seen |= server.dumps()
        time.sleep(0.1)
    said = [run.messages() + ([run.progress()["waiting_for"]] if not run.ended() else [run.code]) for run in (first, second)]
    for run in (first, second):
        run.kill()
    # MySQL shows who reads: the second one does not even begin. On MariaDB the first one is cut off.
    going, ended = (said[1], said[0]) if MARIADB else (said[0], said[1])
    equal((going, ended[-1]), ([[]], 1), "the one that goes on, the exit status of the other")
    contains(ended[0], *(["another client reads this server's binlog under the same server id", "Give one of them another `server_id`"] if MARIADB else
                         ["server id 5408 is used by another reader of this server's binlog (sluice:cdc_CD_11.cdc): choose another `server_id`"]))
    if len(seen) > 3:
        raise AssertionError(f"{len(seen)} binlog connections in 10 s")


@case("CD-01", "a binlog that has been purged is one clear error, or a new snapshot", alone=True)
def cd01(w):
    db = server.fresh_database("cd_01")
    sql("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT); INSERT INTO t VALUES (1,1,1),(2,2,2),(3,3,3)", db)
    text = job(f"{db}.t", sink=TABLE)
    run = w.start(text)
    run.wait_until(lambda: len(w.table("t")) == 3, "the snapshot")
    run.stop()
    needed, gtid = server.binlogs()[-1], server.gtids()
    sql("UPDATE t SET a=22 WHERE id=2; DELETE FROM t WHERE id=3; INSERT INTO t VALUES (4,4,4); FLUSH LOGS; FLUSH LOGS", db)
    server.purge()
    sql("FLUSH LOGS")
    there = f"; the server has {server.binlogs()[0]} to {server.binlogs()[-1]}"
    run = w.run(text, code=1)
    contains("\n".join(run.messages()), 'operator "cdc" (mysql.cdc): cannot read the binlog: ',
             f": the server has deleted the binlog that comes next (needed: {needed}:", f"(after {gtid}){there})",
             "Set `on_gap: snapshot` and start again: a new snapshot is taken, and the changes after it follow.")
    # By GTIDs nothing is there, either; `validate --connect` says so, too.
    by_gtid = job(f"{db}.t", f", start: gtid, start_gtid: '{gtid}'", sink=TABLE).replace("/checkpoints", "/checkpoints-gtid")
    said = (f"nothing can be read from `{gtid}` on: cannot read the binlog: ", f"(1236): the server has deleted the binlog that comes next{there}")
    contains("\n".join(w.run(by_gtid, code=1).messages()), *said)
    code, out = w.validate(by_gtid, "--connect", environment={"CASE": "cd_01"})
    equal(code, 1, "exit status of validate")
    contains(out, *said)
    run = w.start(job(f"{db}.t", ", on_gap: snapshot", sink=TABLE))
    run.wait_until(lambda: any(r[0] == "4" for r in w.table("t", "id, a")), "the new snapshot")
    run.stop()
    # A row that went away meanwhile stays in an upsert sink, as the warning says: the new snapshot does not know it.
    equal(w.table("t", "id, a"), [("1", "1"), ("2", "22"), ("3", "3"), ("4", "4")], "rows after a new snapshot")
    contains("\n".join(run.messages()), f"{there}). Changes are lost; a new snapshot is taken (`on_gap: snapshot`). It says nothing of rows that have been "
             "deleted since: a target that has them keeps them")


@case("CD-19", "the position goes on while only other tables change", alone=True)
def cd19(w):
    db = server.fresh_database("cd_19")
    sql("CREATE TABLE quiet (id INT PRIMARY KEY); CREATE TABLE busy (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(100)); INSERT INTO quiet VALUES (1)", db)
    run = w.start(job(f"{db}.quiet"))
    wait_changes(w, run, 1)
    for _ in range(3):
        sql("INSERT INTO busy (a) VALUES ('x'),('y'),('z'); FLUSH LOGS", db)
    time.sleep(0.5)
    run.wait_checkpoint(2)
    run.kill()
    server.purge()
    run = w.start(job(f"{db}.quiet"))
    sql("INSERT INTO quiet VALUES (2)", db)
    wait_changes(w, run, 2)
    run.stop()
    equal(changes(w), ['r null {"id":1}', 'c null {"id":2}'], "changes")


@case("RS-04", "a table that is added to the list is snapshotted, or the start says why not")
def rs04(w):
    db = server.fresh_database("rs_04")
    sql("CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY);" + ";".join(f"INSERT INTO a VALUES ({i})" for i in range(100)) + ";" +
        ";".join(f"INSERT INTO b VALUES ({i})" for i in range(50)), db)
    run = w.start(job(f"{db}.a"))
    wait_changes(w, run, 100)
    run.stop()
    run = w.start(job(f"{db}.a, {db}.b").replace("/out\"", "/second\""), "--accept-duplicates")
    wait_changes(w, run, 50, "second")
    sql(";".join(f"INSERT INTO {t} VALUES ({i})" for t in "ab" for i in range(100, 105)), db)
    wait_changes(w, run, 60, "second")
    time.sleep(0.5)
    run.stop()
    equal(sorted(changes(w, "second")), sorted([f'r null {{"id":{i}}}' for i in range(50)] + 2 * [f'c null {{"id":{i}}}' for i in range(100, 105)]), "changes")


@case("BC-11", "rules that changed while the job was down, their log purged, are those of the table", alone=True)
def bc11(w):
    db = server.fresh_database("bc_11")
    sql("CREATE TABLE table_process (source_table VARCHAR(99) PRIMARY KEY, sink_table VARCHAR(99), sink_columns VARCHAR(999), sink_pk VARCHAR(99), "
        "sink_extend VARCHAR(99)); INSERT INTO table_process VALUES ('a','dim_a','id','id',NULL),('b','dim_b','id','id',NULL)", db)
    text = job(f"{db}.table_process", "ON_GAP", sink="""  - { id: topic_db, use: file.source, with: { path: "${OUT}/topic_db.jsonl", follow: true } }
  - { id: configured, use: broadcast_filter, input: topic_db, broadcast: cdc }
  - { id: columns, use: column_pruner, input: configured, with: { from: data, columns_field: sink_columns, add: [sink_table, sink_pk] } }
  - { id: warehouse, use: sqlite.sink, input: columns, with: { path: "${OUT}/warehouse.db" } }
""")
    record = '{{"database":"d","table":"{}","type":"insert","ts":1,"data":{{"id":{},"name":"n{}"}}}}'
    w.lines("topic_db.jsonl", *[record.format(t, 1, 1) for t in "abc"])
    run = w.start(text.replace("ON_GAP", ""))
    run.wait_until(lambda: w.table("dim_a") and w.table("dim_b"), "the first rows")
    run.stop()
    sql("DELETE FROM table_process WHERE source_table='a'; UPDATE table_process SET sink_columns='id,name' WHERE source_table='b';"
        "INSERT INTO table_process VALUES ('c','dim_c','id','id',NULL); FLUSH LOGS", db)
    server.purge()
    run = w.run(text.replace("ON_GAP", ""), code=1)  # never silently with the old ones
    run = w.start(text.replace("ON_GAP", ", on_gap: snapshot"))
    run.wait_until(lambda: "rule bc_11.a removed" in run.log or "rule a removed (not in the new snapshot)" in run.log, "the new rules")
    w.lines("topic_db.jsonl", *[record.format(t, 2, 2) for t in "abc"])
    run.wait_until(lambda: w.table("dim_c") and len(w.table("dim_b")) == 2, "rows by the new rules")
    run.stop()
    equal([w.table("dim_a", "id"), w.table("dim_b", "id, name"), w.table("dim_c", "id")], [[("1",)], [("1", None), ("2", "n2")], [("2",)]], "rows")
