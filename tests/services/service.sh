# What the scripts of the tests' servers share; sourced at their beginning.
self=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)/$(basename "${BASH_SOURCE[1]}")
here=$(dirname "$self")
host=127.0.0.1
cache=${SLUICE_CACHE:-${HOME:-/tmp}/.cache/sluice}

fail() { echo "$(basename "$self"): $*" >&2; exit 1; }

# The comment at the script's beginning.
usage() {
  sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$self"
  exit 64
}

# A changed pom.xml is another set of jars.
pom_sum() { cksum < "$here/pom.xml" | cut -d' ' -f1; }

# FOLDER WHAT COMMAND...: fills FOLDER, of the cache, by COMMAND with the folder to fill behind it, unless it is there. Two at once
# wait for each other, and half a download is never taken for a whole one.
fetch_once() {
  local folder=$1 what=$2
  shift 2
  [ -d "$folder" ] && return
  command -v mvn >/dev/null || fail "mvn is needed to fetch $what (scripts/install-deps.sh test)"
  mkdir -p "$cache"
  exec 9>"$cache/$(basename "$self" .sh).lock"
  flock 9
  if [ ! -d "$folder" ]; then
    echo "fetching $what into $folder"
    rm -rf "$folder.part"
    "$@" "$folder.part" || fail "could not fetch $what"
    mv "$folder.part" "$folder"
  fi
  exec 9>&-
}

# FOLDER: the jars that pom.xml names.
fetch_dependencies() { mvn -B -q -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies "-Dlibs=$1"; }

free_ports() { # N ports that are free now
  python3 -c 'import socket, sys
s = [socket.socket() for _ in range(int(sys.argv[1]))]
[x.bind(("127.0.0.1", 0)) for x in s]
print(*[x.getsockname()[1] for x in s])' "$1"
}

memory_mib() { awk '/VmRSS/ {print int($2 / 1024)}' "/proc/$1/status"; } # PID

# SIGNAL PID SECONDS: says what became of it.
end_process() {
  local i
  kill "-$1" "$2"
  for ((i = 0; i < $3 * 20; i++)); do
    kill -0 "$2" 2>/dev/null || break
    sleep 0.05
  done
  if kill -0 "$2" 2>/dev/null; then
    kill -KILL "$2"
    echo "killed: it did not stop within $3 s"
  else
    echo stopped
  fi
}
