# For the end-to-end scripts: a private server with its database in a folder that goes away, and checks that
# are counted. Sourced.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/deploy/private.sh"

# A loopback port that nobody listens on just now, below those that the system gives to connections: a
# server that is killed and started again must find it free.
free_port() {
    local port
    for ((port = 20000 + RANDOM % 12000; ; port = 20000 + RANDOM % 12000)); do
        private_port_taken "$port" || { echo "$port"; return; }
    done
}

# Schema, app "test" and its three keys for the cluster begun last.
make_app() { # BIN
    local as=("${private_as[@]}" env -C "$private_dir" "FW_DB=$FW_DB") role
    "${as[@]}" "$1/server/framewatchd" migrate >/dev/null || return 1
    "${as[@]}" "$1/server/framewatch" app create test --if-missing >/dev/null || return 1
    for role in ingest read admin; do
        "${as[@]}" "$1/server/framewatch" key create --app test --role "$role" --label test |
            "${private_as[@]}" sh -c 'umask 077 && cat >"$1"' sh "$private_dir/keys/$role" || return 1
    done
}

passed=0 failed=0 skipped=0
# Counts in $passed or $failed; what it said is shown if it failed. Needs a folder $work.
check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1))
        echo "ok    $name"
    else
        failed=$((failed + 1))
        echo "FAIL  $name"
        tail -n 25 "$work/out"
    fi
}

until_true() { # SECONDS COMMAND…
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.2
    done
}

sql() { private_psql -d framewatch -Atc "$1"; }

# CPU milliseconds of a process, its children and those it has already buried.
cpu_ms() { # PID
    local pid tick=10 total=0 n
    for pid in "$1" $(pgrep -P "$1" || true); do
        n=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | awk '{print $12 + $13 + $14 + $15}') || n=0
        total=$((total + ${n:-0} * tick))
    done
    echo "$total"
}
