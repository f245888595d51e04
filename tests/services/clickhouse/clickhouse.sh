#!/usr/bin/env bash
# Real ClickHouse servers for tests, private to a folder and to the loopback interface.
#
#   clickhouse.sh start [--fresh] [INSTANCE...]   start them unless they run; --fresh: without data. Default: all three
#   clickhouse.sh stop | kill | clean [INSTANCE...]  end them: cleanly | with SIGKILL | and remove their data
#   clickhouse.sh status INSTANCE                 exit code 0 up, 3 down
#   clickhouse.sh address | https | pid INSTANCE  HOST:PORT | HOST:PORT of https | process id
#   clickhouse.sh sql INSTANCE 'QUERY'            run a query as the user default
#   clickhouse.sh exec COMMAND...                 run COMMAND with the addresses of those that were started in CLICKHOUSE_UTC,
#                                                 _SHANGHAI and _ENGINE
#
# INSTANCE  utc, shanghai   Debian's clickhouse-server 18.16 in that time zone. Users default, etl (password etlpw), reader
#                           (may only read), stranger (may not see the database default); all but default have the
#                           password etlpw
#           engine          a ClickHouse 26.9 engine (chdb) behind a small HTTP front, in the zone Asia/Shanghai
#           engine-locked   the same, with the user etl and the password etlpw only
#
# Environment:
#   CLICKHOUSE_HOME   folders of the instances; default ${TMPDIR:-/tmp}/sluice-clickhouse-UID
#   SLUICE_CACHE      where server and engine are kept; default ~/.cache/sluice. With them there, nothing is fetched.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
host=127.0.0.1
home=${CLICKHOUSE_HOME:-${TMPDIR:-/tmp}/sluice-clickhouse-$(id -u)}
[[ $home == /* ]] || home=$PWD/$home
cache=${SLUICE_CACHE:-${HOME:-/tmp}/.cache/sluice}
engine_version=26.9.0
engine=$cache/clickhouse-engine-$engine_version
package=$cache/clickhouse-server-18.16
wait_tenths=600

fail() { echo "clickhouse.sh: $*" >&2; exit 1; }

use() {  # use INSTANCE: sets dir, pid_file, log
  case $1 in
    utc | shanghai | engine | engine-locked) ;;
    *) fail "no instance '$1' (have: utc, shanghai, engine, engine-locked)" ;;
  esac
  instance=$1
  dir=$home/$1
  pid_file=$dir/pid
  log=$dir/out.log
}

alive() { [ -s "$pid_file" ] && kill -0 "$(cat "$pid_file")" 2>/dev/null; }
port() { sed -n "${1}p" "$dir/ports" 2>/dev/null | grep . || fail "$instance has not been started in $home"; }
answers() { [ "$(curl -s -m 5 "http://$host:$(port 1)/ping" 2>/dev/null)" = Ok. ]; }

# Two callers wait for each other, and half of it is never taken for the whole.
once() {  # once PLACE FUNCTION
  [ -d "$1" ] && return
  mkdir -p "$cache"
  exec 9>"$cache/clickhouse.lock"
  flock 9
  if [ ! -d "$1" ]; then
    echo "fetching into $1" >&2
    rm -rf "$1.part"
    "$2" "$1.part" >&2 || fail "could not make $1"
    mv "$1.part" "$1"
  fi
  exec 9>&-
}

# Only the program is taken out of the package: installing it would start a server as well. Its libraries come with
# clickhouse-common (scripts/install-deps.sh test).
unpack_server() {
  mkdir -p "$1"
  cd "$1"
  apt-get download clickhouse-server || { { [ "$(id -u)" -eq 0 ] || sudo -n true; } && { apt-get update -qq || sudo -n apt-get update -qq; } && apt-get download clickhouse-server; }
  dpkg-deb -x clickhouse-server_*.deb .
  rm clickhouse-server_*.deb
  cd - >/dev/null
}
fetch_server() {
  command -v clickhouse-server >/dev/null && return
  once "$package" unpack_server
}
server_binary() { command -v clickhouse-server || echo "$package/usr/sbin/clickhouse-server"; }

make_engine() {
  python3 -m venv "$1" && "$1/bin/python" -m pip install --quiet --no-deps "chdb-core==$engine_version"
}

free_ports() {
  python3 -c 'import socket
s = [socket.socket() for _ in "abcd"]
[x.bind(("127.0.0.1", 0)) for x in s]
print(*[x.getsockname()[1] for x in s], sep="\n")'
}

write_configuration() {
  local zone=UTC
  [ "$instance" = shanghai ] && zone=Asia/Shanghai
  mkdir -p "$dir"/{data,tmp,user_files,format_schemas}
  if [ ! -s "$dir/server.pem" ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=localhost \
      -addext "subjectAltName=IP:$host" -keyout "$dir/server.key" -out "$dir/server.pem" 2>"$dir/openssl.log" || { cat "$dir/openssl.log" >&2; fail "could not make a certificate"; }
  fi
  sed -e "s|@HTTP@|$(port 1)|; s|@TCP@|$(port 2)|; s|@INTERSERVER@|$(port 3)|; s|@HTTPS@|$(port 4)|; s|@ZONE@|$zone|; s|@DIR@|$dir|g; s|@HOST@|$host|g" \
    "$here/config.xml.in" > "$dir/config.xml"
  cp "$here/users.xml" "$dir/users.xml"
}

launch() {
  # A checkout may change below a server that runs; its own folder does not.
  cd "$dir"
  case $instance in
    engine*)
      local credentials=()
      [ "$instance" = engine ] || credentials=(FRONT_USER=etl FRONT_PASSWORD=etlpw)
      setsid env TZ=Asia/Shanghai "${credentials[@]}" "$engine/bin/python" "$here/engine_front.py" "$(port 1)" "$dir/data" >>"$log" 2>&1 </dev/null 9>&- &
      ;;
    *)
      write_configuration
      setsid "$(server_binary)" --config-file="$dir/config.xml" >>"$log" 2>&1 </dev/null 9>&- &
      ;;
  esac
  echo $! > "$pid_file"
  for ((i = 0; i < wait_tenths; i++)); do
    answers && return 0
    alive || { rm -f "$pid_file"; return 1; }
    sleep 0.1
  done
  return 1
}

start_one() {  # start_one INSTANCE FRESH
  use "$1"
  if alive && answers; then
    echo "$instance is up already: $host:$(port 1), pid $(cat "$pid_file")"
    return
  fi
  case $instance in
    engine*) once "$engine" make_engine ;;
    *) fetch_server ;;
  esac
  [ "$2" = no ] || rm -rf "$dir"
  mkdir -p "$dir"
  # Between the choice of a free port and its use somebody else may take it: then choose again.
  for attempt in 1 2 3; do
    [ -s "$dir/ports" ] || free_ports > "$dir/ports"
    : > "$log"
    if launch; then
      echo "$instance is up: $host:$(port 1), pid $(cat "$pid_file"), log $dir"
      return
    fi
    tail -20 "$log" "$dir/server.err.log" >&2 2>/dev/null || true
    alive && { kill -KILL "$(cat "$pid_file")"; fail "$instance is not up after $((wait_tenths / 10)) s"; }
    grep -qs 'Address already in use' "$log" "$dir/server.err.log" || break
    rm -f "$dir/ports"
    echo "clickhouse.sh: a port was taken (attempt $attempt)" >&2
  done
  fail "$instance ended"
}

end() {  # end SIGNAL INSTANCE
  use "$2"
  alive || { rm -f "$pid_file"; return 0; }
  local pid
  pid=$(cat "$pid_file")
  kill "-$1" "$pid"
  for ((i = 0; i < wait_tenths; i++)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  kill -KILL "$pid" 2>/dev/null && echo "killed: $instance did not stop" >&2
  rm -f "$pid_file"
}

all=(utc shanghai engine)
command=${1:-}
[ $# -eq 0 ] || shift
case $command in
  start)
    fresh=no
    [ "${1:-}" != --fresh ] || { fresh=yes; shift; }
    for name in "${@:-${all[@]}}"; do start_one "$name" $fresh; done
    ;;
  stop) for name in "${@:-${all[@]}}"; do end TERM "$name"; done ;;
  kill) for name in "${@:-${all[@]}}"; do end KILL "$name"; done ;;
  clean) for name in "${@:-${all[@]}}"; do end KILL "$name"; rm -rf "$dir"; done ;;
  status)
    use "$1"
    alive && answers || { echo down; exit 3; }
    echo "up: $host:$(port 1), pid $(cat "$pid_file"), $(awk '/VmRSS/ {print int($2 / 1024)}' "/proc/$(cat "$pid_file")/status") MiB"
    ;;
  address) use "$1"; echo "$host:$(port 1)" ;;
  https) use "$1"; echo "$host:$(port 4)" ;;
  pid) use "$1"; alive && cat "$pid_file" ;;
  sql) use "$1"; curl -sS "http://$host:$(port 1)/" --data-binary "$2" ;;
  exec)
    for name in "${all[@]}"; do
      use "$name"
      [ -e "$pid_file" ] || continue # has not been started
      alive && answers || fail "$name of $home is not up"
      export "CLICKHOUSE_${name^^}=$host:$(port 1)"
    done
    export CLICKHOUSE_HOME=$home
    exec "$@"
    ;;
  *)
    sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit 64
    ;;
esac
