"""What the cases do to the tests' MariaDB or MySQL server. FLAVOR says which one it is."""
import os
import subprocess
import time

FLAVOR = os.environ.get("FLAVOR", "mysql8")
ADDRESS = os.environ.get("MARIADB" if FLAVOR == "mariadb" else "MYSQL8", "127.0.0.1:0")
HOST, PORT = ADDRESS.rsplit(":", 1)


def sql(statements, database=None):
    """Runs statements in one session as root; rows as lists of texts, NULL as None."""
    command = ["mariadb", "--no-defaults", "--skip-ssl", "-h", HOST, "-P", PORT, "-u", "root", "--default-character-set=utf8mb4", "--batch",
               "--skip-column-names", "--raw"]
    done = subprocess.run([*command, *([database] if database else [])], input=statements.encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{done.stderr.decode(errors='replace')}\n{statements[:2000]}")
    return [[None if cell == "NULL" else cell for cell in line.split("\t")] for line in done.stdout.decode().splitlines()]


def fresh_database(name):
    sql(f"DROP DATABASE IF EXISTS `{name}`; CREATE DATABASE `{name}` DEFAULT CHARACTER SET utf8mb4")
    return name


def binlogs():
    return [row[0] for row in sql("SHOW BINARY LOGS")]


def gtids():
    """Of all that is in the binlog."""
    return sql("SELECT @@gtid_binlog_pos" if FLAVOR == "mariadb" else "SELECT REPLACE(@@global.gtid_executed, '\\n', '')")[0][0]


def purge():
    """Deletes all binlogs but the last one. A reader that has gone, but that the server still waits for, would keep them."""
    for connection in dumps():
        try:
            sql(f"KILL {connection}")
        except AssertionError:
            pass  # it is gone by now
    last = binlogs()[-1]
    deadline = time.monotonic() + 20
    while binlogs() != [last]:
        if time.monotonic() > deadline:
            raise AssertionError(f"binlogs that stay: {binlogs()}")
        sql(f"PURGE BINARY LOGS TO '{last}'")
        time.sleep(0.1)


def dumps():
    """Ids of the connections that read the binlog."""
    return {row[0] for row in sql("SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'")}
