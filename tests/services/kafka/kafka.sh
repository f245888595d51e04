#!/usr/bin/env bash
# A real one-node Kafka broker (KRaft) for tests and benchmarks, private to its data folder and to the loopback interface. Beside the
# plain listener, where everybody may do everything, it has others that ask who is there (server.properties.in).
#
#   kafka.sh start [--fresh]           start it unless it runs already; --fresh: with no topics (a running one is kept)
#   kafka.sh stop | kill               end it: cleanly (topics stay) | with SIGKILL
#   kafka.sh clean                     stop it and remove its data
#   kafka.sh status                    exit code 0 up, 2 starting or sick, 3 down
#   kafka.sh address | pid             HOST:PORT | process id of the running broker
#   kafka.sh exec COMMAND...           run COMMAND with the addresses of the listeners in its environment: KAFKA (plain),
#                                      KAFKA_SASL_PLAINTEXT, KAFKA_SASL_SSL, KAFKA_SSL, and the certificates' folder in KAFKA_TLS
#   kafka.sh topic NAME PARTITIONS [TOPIC-COMMAND ARGS]     create a topic, kept if it is there already
#   kafka.sh tool CLASS ARGS...        any command-line class of Kafka's, e.g. org.apache.kafka.tools.TopicCommand
#
# Environment:
#   KAFKA_DATA         topics, log, pid, address; default ${TMPDIR:-/tmp}/sluice-kafka-UID
#   KAFKA_PORT         default: a free one, chosen at the first start and kept for the later starts on the same data
#   KAFKA_HEAP         largest Java heap; default 512m
#   KAFKA_AUTO_CREATE  true: topics come into being when they are used; default false
#   KAFKA_WAIT_S       patience for a start or a stop; default 60
#   SLUICE_CACHE       where the jars are kept; default ~/.cache/sluice. With the jars there, nothing is fetched.
set -euo pipefail
# shellcheck source=tests/services/service.sh
. "$(dirname "${BASH_SOURCE[0]}")/../service.sh"
data=${KAFKA_DATA:-${TMPDIR:-/tmp}/sluice-kafka-$(id -u)}
[[ $data == /* ]] || data=$PWD/$data
wait_s=${KAFKA_WAIT_S:-60}
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
pid_file=$data/pid
port_file=$data/port
ports_file=$data/other-ports # of the controller, SASL_PLAINTEXT, SASL_SSL and SSL
tls=$data/tls
log=$data/broker.log

jars=$cache/kafka-$(sed -n 's|.*<kafka.version>\(.*\)</kafka.version>.*|\1|p' "$here/pom.xml")-$(pom_sum)

alive() { [ -s "$pid_file" ] && kill -0 "$(cat "$pid_file")" 2>/dev/null; }

port() { cat "$port_file" 2>/dev/null || fail "no broker has been started in $data"; }

listening() { (exec 3<>"/dev/tcp/$host/$1") 2>/dev/null; }

# The log says started, the port answers, and (where kcat is) a metadata request names the broker.
healthy() {
  alive && grep -q 'Kafka Server started' "$log" 2>/dev/null && listening "$(port)" || return 1
  command -v kcat >/dev/null || return 0
  [[ $(kcat -b "$host:$(port)" -L -m 1 2>/dev/null) == *" 1 brokers"* ]]
}

# A class-data archive halves the start. The first broker that stops cleanly leaves one; it fits one Java only.
class_archive() {
  local binary
  binary=$(readlink -f "$(command -v "$java")")
  echo "$jars-$(stat -c '%n %Y %s' "$binary" "${binary%/bin/java}/lib/modules" 2>/dev/null | cksum | cut -d' ' -f1).jsa"
}

run_tool() {
  exec "$java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx256m "-Dlog4j2.configurationFile=$here/log4j2-tools.xml" \
    -cp "$jars/*" "$@"
}

write_configuration() {
  local client controller sasl_plaintext sasl_ssl ssl
  [ -s "$port_file" ] && [ -s "$ports_file" ] || {
    read -r client controller sasl_plaintext sasl_ssl ssl < <(free_ports 5)
    echo "$client" > "$port_file"
    echo "$controller $sasl_plaintext $sasl_ssl $ssl" > "$ports_file"
  }
  read -r controller sasl_plaintext sasl_ssl ssl < "$ports_file"
  client=${KAFKA_PORT:-$(cat "$port_file")}
  echo "$client" > "$port_file"
  sed -e "s|@HOST@|$host|g; s|@PORT@|$client|g; s|@CTRL_PORT@|$controller|g; s|@DATA@|$data|g; s|@TLS@|$tls|g" \
    -e "s|@SASL_PLAINTEXT_PORT@|$sasl_plaintext|g; s|@SASL_SSL_PORT@|$sasl_ssl|g; s|@SSL_PORT@|$ssl|g" \
    -e "s|@AUTO_CREATE@|${KAFKA_AUTO_CREATE:-false}|g" "$here/server.properties.in" > "$data/server.properties"
}

certificate() { # NAME OPENSSL-ARGS...: NAME.key and NAME.pem
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 3650 -keyout "$1.key" -out "$1.pem" "${@:2}" \
    2>>"$data/openssl.log" || { cat "$data/openssl.log" >&2; fail "could not make a certificate"; }
}

# Of the broker; of a client that is named etl, its key with the password key-secret; and of an authority that has signed nothing.
make_certificates() {
  [ -d "$tls" ] && return
  mkdir -p "$tls.part"
  cd "$tls.part"
  certificate ca -nodes -subj /CN=authority
  certificate other-ca -nodes -subj /CN=stranger
  certificate broker -CA ca.pem -CAkey ca.key -nodes -subj /CN=broker -addext "subjectAltName=IP:$host"
  certificate client -CA ca.pem -CAkey ca.key -passout pass:key-secret -subj /CN=etl
  cat broker.pem >> broker.key # the broker takes both out of one file
  cd - >/dev/null
  mv "$tls.part" "$tls"
}

format_storage() {
  [ -f "$data/log/meta.properties" ] && return
  "$java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx128m "-Dlog4j2.configurationFile=$here/log4j2.xml" -cp "$jars/*" \
    kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAQ -c "$data/server.properties" --ignore-formatted \
    --add-scram 'SCRAM-SHA-256=[name=etl,password=etl-secret]' --add-scram 'SCRAM-SHA-256=[name=guest,password=guest-secret]' \
    > "$data/format.log" 2>&1 || { cat "$data/format.log" >&2; fail "could not format $data/log"; }
}

# 0: up. 1: it ended or did not come up in time.
launch() {
  local options archive
  archive=$(class_archive)
  options=(-Xms128m "-Xmx${KAFKA_HEAP:-512m}" -XX:+UseG1GC -XX:MaxGCPauseMillis=50)
  if [ -f "$archive" ]; then
    options+=("-XX:SharedArchiveFile=$archive" -Xshare:auto)
  else
    options+=("-XX:ArchiveClassesAtExit=$data/classes.jsa")
  fi
  : > "$log"
  setsid "$java" "${options[@]}" "-Dlog4j2.configurationFile=$here/log4j2.xml" -cp "$jars/*" \
    kafka.Kafka "$data/server.properties" >> "$log" 2>&1 < /dev/null &
  echo $! > "$pid_file"
  for ((i = 0; i < wait_s * 20; i++)); do
    healthy && return 0
    alive || { rm -f "$pid_file"; return 1; }
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
  fetch_once "$jars" "Kafka's jars" fetch_dependencies
  mkdir -p "$data"
  [ "${1:-}" = --fresh ] && rm -rf "$data/log" "$port_file"
  make_certificates
  # Between the choice of a free port and its use somebody else may take it: then choose again.
  for attempt in 1 2 3; do
    write_configuration
    format_storage
    if launch; then
      echo "up: $host:$(port), pid $(cat "$pid_file"), log $log"
      return
    fi
    tail -20 "$log" >&2
    alive && { kill -KILL "$(cat "$pid_file")"; fail "not up within $wait_s s"; }
    grep -q 'Address already in use' "$log" && [ -z "${KAFKA_PORT:-}" ] || break
    rm -f "$port_file"
    echo "kafka.sh: a port was taken (attempt $attempt)" >&2
  done
  fail "the broker ended"
}

end() {  # end SIGNAL
  alive || { rm -f "$pid_file"; echo "not running"; return; }
  end_process "$1" "$(cat "$pid_file")" "$wait_s"
  rm -f "$pid_file"
  [ ! -s "$data/classes.jsa" ] || mv "$data/classes.jsa" "$(class_archive)"
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
      echo "up: $host:$(port), pid $(cat "$pid_file"), $(memory_mib "$(cat "$pid_file")") MiB"
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
  exec)
    healthy || fail "the broker of $data is not up"
    read -r _ sasl_plaintext sasl_ssl ssl < "$ports_file"
    export KAFKA_SASL_PLAINTEXT=$host:$sasl_plaintext KAFKA_SASL_SSL=$host:$sasl_ssl KAFKA_SSL=$host:$ssl KAFKA_TLS=$tls
    KAFKA=$host:$(port) exec "$@"
    ;;
  topic)
    name=$1
    partitions=${2:-1}
    run_tool org.apache.kafka.tools.TopicCommand --bootstrap-server "$host:$(port)" --create --if-not-exists \
      --topic "$name" --partitions "$partitions" --replication-factor 1 "${@:3}"
    ;;
  tool)
    fetch_once "$jars" "Kafka's jars" fetch_dependencies
    run_tool "$@"
    ;;
  *) usage ;;
esac
