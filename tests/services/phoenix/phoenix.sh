#!/usr/bin/env bash
# A real Phoenix for tests and benchmarks: HBase (master, region server and ZooKeeper in one JVM) and a Phoenix Query Server
# in another, private to their data folder. HBase listens on the loopback interface; the Query Server has no setting for that.
#
#   phoenix.sh start [--fresh]         start what does not run yet; --fresh: with no tables (a running one is kept)
#   phoenix.sh stop                    end both, cleanly: tables stay
#   phoenix.sh kill hbase|pqs|pqs2     end one with SIGKILL; `start` brings the dead ones back on the same ports
#   phoenix.sh second [NAME=VALUE...]  start another Query Server beside the first, on its own port; with properties of its own it
#                                      need not be able to open a connection. HADOOP_USER_NAME: its user in HBase
#   phoenix.sh drop-in-hbase TABLE...  delete tables (SCHEMA:NAME) behind Phoenix's back, as somebody with HBase's shell can
#   phoenix.sh clean                   stop all and remove the data
#   phoenix.sh status                  exit code 0 up, 2 starting or sick, 3 down
#   phoenix.sh address | url           HOST:PORT of the Query Server | the same as http://HOST:PORT (of both, with a comma)
#   phoenix.sh pid hbase|pqs|pqs2      process id
#   phoenix.sh exec COMMAND...         run COMMAND with PHOENIX=HOST:PORT in its environment
#
# Environment:
#   PHOENIX_DATA        tables, logs, pids, ports; default ${TMPDIR:-/tmp}/sluice-phoenix-UID
#   PHOENIX_PORT        of the Query Server; default: a free one, chosen at the first start and kept on the same data
#   PHOENIX_ZK_PORT     ZooKeeper's; likewise
#   PHOENIX_HBASE_HEAP, PHOENIX_PQS_HEAP   largest Java heaps; default 1g and 512m
#   PHOENIX_JVM_OPTIONS default -XX:TieredStopAtLevel=1, which starts sooner; empty for benchmarks
#   PHOENIX_PROPERTIES  more hbase-site properties of both JVMs: "name=value name=value"
#   PHOENIX_WAIT_S      patience for a start or a stop; default 180
#   SLUICE_CACHE        where the jars are kept; default ~/.cache/sluice. With the jars there, nothing is fetched.
set -euo pipefail
# shellcheck source=tests/services/service.sh
. "$(dirname "${BASH_SOURCE[0]}")/../service.sh"
data=${PHOENIX_DATA:-${TMPDIR:-/tmp}/sluice-phoenix-$(id -u)}
[[ $data == /* ]] || data=$PWD/$data
wait_s=${PHOENIX_WAIT_S:-180}
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
names=(pqs2 pqs hbase)

jars=$cache/phoenix-$(sed -n 's|.*<phoenix.version>\(.*\)</phoenix.version>.*|\1|p' "$here/pom.xml")-$(pom_sum)

pid() { cat "$data/$1.pid" 2>/dev/null; }

# The recorded process is that very JVM: a process id may have been given to another one since.
alive() {
  local p
  p=$(pid "$1") && [ -n "$p" ] || return 1
  { tr '\0' ' ' < "/proc/$p/cmdline"; } 2>/dev/null | grep -q -- "-Dsluice.phoenix=$1 -Dsluice.data=$data "
}

port_of() { cat "$data/$1.port" 2>/dev/null || fail "nothing has been started in $data"; }

fetch_jars() { mvn -B -q -Dstyle.color=never -f "$here/pom.xml" generate-resources "-Dlibs=$1"; } # FOLDER

# Hadoop asks for something that Java 24 has taken away.
check_java() {
  local major
  major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1)
  [ "${major:-0}" -ge 11 ] && [ "$major" -le 21 ] || fail "Java 11 to 21 is needed (tested: 17), found ${major:-none}; set JAVA_HOME"
}

write_configuration() { # FOLDER PORT
  local property properties=
  for property in ${PHOENIX_PROPERTIES:-}; do
    properties+="  <property><name>${property%%=*}</name><value>${property#*=}</value></property>"
  done
  mkdir -p "$1"
  sed "s#@DATA@#$data#g; s#@ZK_PORT@#$(port_of zookeeper)#; s#@PORT@#$2#; s#@PROPERTIES@#$properties#" \
    "$here/hbase-site.xml.in" > "$1/hbase-site.xml"
  cp "$here/log4j2.properties" "$1/"
}

launch() { # NAME HEAP CLASSPATH MAIN ARGS...
  local name=$1 heap=$2 class_path=$3 opened options
  shift 3
  options=(-Xms64m "-Xmx$heap" -Xss512k -XX:+UseSerialGC -Djava.net.preferIPv4Stack=true -Djava.awt.headless=true
    -Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true
    --add-exports java.base/jdk.internal.misc=ALL-UNNAMED)
  for opened in java.nio sun.nio.ch java.lang java.lang.reflect java.util java.util.concurrent jdk.internal.ref; do
    options+=(--add-opens "java.base/$opened=ALL-UNNAMED")
  done
  # shellcheck disable=SC2206  # words on purpose
  options+=(${PHOENIX_JVM_OPTIONS--XX:TieredStopAtLevel=1})
  (cd "$data" && exec setsid "$java" "${options[@]}" "-Dsluice.phoenix=$name" "-Dsluice.data=$data" -cp "$class_path" "$@") \
    > "$data/$name.log" 2>&1 < /dev/null 9>&- &
  echo $! > "$data/$name.pid"
}

launch_hbase() {
  launch hbase "${PHOENIX_HBASE_HEAP:-1g}" \
    "$data/conf:$(printf '%s:' "$jars"/log4j-*.jar "$jars"/commons-collections-*.jar "$jars"/javax.servlet-api-*.jar)$(echo "$jars"/phoenix-client-embedded-*.jar)" \
    org.apache.hadoop.hbase.master.HMaster start
}

# The Query Server's jar comes first: its Jetty must not mix with the parts of another one in the client's jar.
launch_query_server() { # NAME CONFIGURATION
  launch "$1" "${PHOENIX_PQS_HEAP:-512m}" \
    "$2:$(echo "$jars"/phoenix-queryserver-*.jar):$(printf '%s:' "$jars"/log4j-*.jar "$jars"/commons-collections-*.jar)$(echo "$jars"/phoenix-client-embedded-*.jar)" \
    org.apache.phoenix.queryserver.server.QueryServer
}

# openConnection or closeConnection, as protobuf by hand (all texts are shorter than 128 bytes): the HTTP status.
call() { # openConnection|closeConnection PORT ID
  local id=$3 name="org.apache.calcite.avatica.proto.Requests\$${1^}Request"
  printf '\x0a%b%s\x12%b\x0a%b%s' "$(printf '\\x%02x' ${#name})" "$name" "$(printf '\\x%02x' $((${#id} + 2)))" \
    "$(printf '\\x%02x' ${#id})" "$id" |
    curl -s -o /dev/null -w '%{http_code}' --max-time "$wait_s" --data-binary @- "http://$host:$2/" || true
}

# The first connection makes Phoenix's own tables, which takes its time; later a 200 says nothing about HBase, hence the look at the
# log. Each look has a connection of its own: one whose answer was not waited for stays open, and its name would be refused.
healthy() { # NAME of a Query Server
  local id=phoenix-sh-$BASHPID-$RANDOM
  alive hbase && alive "$1" && grep -q 'Master has completed initialization' "$data/hbase.log" 2>/dev/null &&
    [ "$(call openConnection "$(port_of "$1")" "$id")" = 200 ] && call closeConnection "$(port_of "$1")" "$id" > /dev/null
}

answers() { # NAME of a Query Server
  [ "$(call openConnection "$(port_of "$1")" "phoenix-sh-$BASHPID-$RANDOM")" != 000 ]
}

wait_until() { # healthy|answers NAME of a Query Server. 0: it is. 1: one of the two ended or is not up in time.
  local begin=$SECONDS
  until "$1" "$2"; do
    alive hbase && alive "$2" && [ $((SECONDS - begin)) -lt "$wait_s" ] || return 1
    sleep 0.2
  done
}

choose_ports() {
  local zookeeper pqs
  read -r zookeeper pqs < <(free_ports 2)
  [ -s "$data/zookeeper.port" ] || echo "${PHOENIX_ZK_PORT:-$zookeeper}" > "$data/zookeeper.port"
  [ -s "$data/pqs.port" ] || echo "${PHOENIX_PORT:-$pqs}" > "$data/pqs.port"
}

start() {
  if healthy pqs; then
    echo "up already: $host:$(port_of pqs), pids $(pid hbase) and $(pid pqs)"
    return
  fi
  check_java
  fetch_once "$jars" "Phoenix's jars" fetch_jars
  mkdir -p "$data/tmp"
  if [ "${1:-}" = --fresh ]; then
    end_all TERM
    rm -rf "$data"/{hbase,zookeeper,tmp,conf,conf2} "$data"/*.port
    mkdir -p "$data/tmp"
  fi
  # Between the choice of a free port and its use somebody else may take it: then choose again.
  for attempt in 1 2 3; do
    choose_ports
    write_configuration "$data/conf" "$(port_of pqs)"
    alive hbase || launch_hbase
    alive pqs || launch_query_server pqs "$data/conf"
    if wait_until healthy pqs; then
      echo "up: $host:$(port_of pqs), pids $(pid hbase) and $(pid pqs), logs in $data"
      return
    fi
    tail -n 25 "$data/hbase.log" "$data/pqs.log" >&2
    grep -qE 'Address already in use|BindException' "$data/hbase.log" "$data/pqs.log" && [ ! -d "$data/hbase/data" ] || break
    end_all KILL
    rm -rf "$data"/{hbase,zookeeper} "$data"/*.port
    echo "phoenix.sh: a port was taken (attempt $attempt)" >&2
  done
  end_all KILL
  fail "not up within $wait_s s"
}

second() {
  healthy pqs || fail "the first one of $data is not up"
  [ -s "$data/pqs2.port" ] || free_ports 1 > "$data/pqs2.port"
  PHOENIX_PROPERTIES="${PHOENIX_PROPERTIES:-} $*" write_configuration "$data/conf2" "$(port_of pqs2)"
  alive pqs2 || launch_query_server pqs2 "$data/conf2"
  local check=healthy
  [ $# -eq 0 ] || check=answers
  wait_until "$check" pqs2 || { tail -n 25 "$data/pqs2.log" >&2; fail "the second Query Server did not come up"; }
  echo "up: $host:$(port_of pqs2), pid $(pid pqs2)"
}

drop_in_hbase() { # TABLE...
  "$java" -XX:TieredStopAtLevel=1 --add-opens java.base/java.nio=ALL-UNNAMED \
    -cp "$data/conf:$(printf '%s:' "$jars"/log4j-*.jar)$(echo "$jars"/phoenix-client-embedded-*.jar)" "$here/DropInHBase.java" "$@"
}

end() { # SIGNAL NAME
  alive "$2" || { rm -f "$data/$2.pid"; return 0; }
  echo "$2 $(end_process "$1" "$(pid "$2")" 30)"
  rm -f "$data/$2.pid"
}

end_all() { for name in "${names[@]}"; do end "$1" "$name"; done; }

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
  start) start "$@" ;;
  second) second "$@" ;;
  drop-in-hbase) drop_in_hbase "$@" ;;
  stop) end_all TERM ;;
  kill) end KILL "$1" ;;
  clean)
    end_all TERM
    rm -rf "$data"
    ;;
  status)
    if healthy pqs; then
      echo "up: $host:$(port_of pqs)"
      for name in "${names[@]}"; do
        ! alive "$name" || echo "$name: pid $(pid "$name"), $(memory_mib "$(pid "$name")") MiB"
      done
    elif alive hbase || alive pqs; then
      echo "starting or sick"
      exit 2
    else
      echo down
      exit 3
    fi
    ;;
  address) echo "$host:$(port_of pqs)" ;;
  url) echo "http://$host:$(port_of pqs)$(! alive pqs2 || echo ",http://$host:$(port_of pqs2)")" ;;
  pid) alive "$1" && pid "$1" ;;
  exec)
    healthy pqs || fail "Phoenix of $data is not up"
    PHOENIX=$host:$(port_of pqs) exec "$@"
    ;;
  *) usage ;;
esac
