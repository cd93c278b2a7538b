#!/usr/bin/env bash
# The budgets of docs/budgets.md, measured beside their floors and peers in one run on this machine.
# Prints figures and ratios; never fails for a slow machine, only when a bench cannot run.
#   tests/bench/run.sh [accept|analysis|hook|timeline|api …]     all of these
#   tests/bench/run.sh symbols retrace       beside their peers; these fetch a debug file of 100 MB
#   tests/bench/run.sh sdk                   a game with the SDK and without, in turns
#   tests/bench/run.sh families              against planted causes, and beside a text pipeline
#   tests/bench/run.sh families-server       the same beta through a whole server, and questions about it
# FW_BENCH_SECONDS: of each accept run (10). Needs Debian 12 and Node >= 20 for the accept path's peer.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/lib.sh
seconds=${FW_BENCH_SECONDS:-10}
what=("$@")
[ $# -gt 0 ] || what=(accept analysis hook timeline api)

deploy/packages.sh build run test bench
bin=$root/build/bench
echo "building" >&2
cmake -S . -B "$bin" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFW_WERROR=OFF -DFW_DEMO_GAME=OFF >/dev/null
cmake --build "$bin" -- --quiet

work=$(mktemp -d /tmp/framewatch-bench-XXXXXX)
chmod 711 "$work"
peer_pid=
cleanup() {
    [ -z "$peer_pid" ] || kill "$peer_pid" 2>/dev/null || true
    if [ -d "$work/fw" ]; then
        private_begin "$work/fw" && private_server_stop
        private_pg_stop || true
    fi
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

field() { # NAME, JSON on stdin
    jq -r ".$1"
}

median() { printf '%s\n' "$@" | sort -g | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }

# One load: sets rate, p99 and cpu (seconds per 1,000 uploads) of the processes PID… together; prints the
# share of each as well.
load() { # PORT PATH KEY_FILE PID…
    local port=$1 path=$2 key=$3 before=() sum=0 ms pid answer uploads i=0 shares=
    shift 3
    for pid in "$@"; do before+=("$(cpu_ms "$pid")"); done
    answer=$("$bin/tests/upload_load_bench" --port "$port" --path "$path" --seconds "$seconds" \
        ${key:+--key-file "$key"})
    uploads=$(field uploads <<<"$answer")
    for pid in "$@"; do
        ms=$(($(cpu_ms "$pid") - before[i]))
        sum=$((sum + ms)) i=$((i + 1))
        shares+="${shares:+ + }$(awk -v ms=$ms -v n="$uploads" 'BEGIN {printf "%.3f", ms / n}')"
    done
    rate=$(field per_s <<<"$answer") p99=$(field p99_ms <<<"$answer")
    cpu=$(awk -v ms=$sum -v n="$uploads" 'BEGIN {printf "%.3f", ms / n}')
    printf '  %-32s %6s uploads/s   p99 %7s ms   %s CPU s per 1,000 (%s)\n' \
        "$label" "$rate" "$p99" "$cpu" "$shares"
}

start_peer() {
    local port=$1 i
    rm -rf "$work/peer"
    mkdir -p "$work/peer" "$root/build/bench-tus-server"
    cp tests/bench/tus-server/* "$root/build/bench-tus-server"
    [ -d "$root/build/bench-tus-server/node_modules" ] ||
        (cd "$root/build/bench-tus-server" && npm install --no-audit --no-fund --no-package-lock --loglevel=error >&2)
    (cd "$root/build/bench-tus-server" && exec node server.mjs "$port" "$work/peer") >"$work/peer.log" 2>&1 &
    peer_pid=$!
    for ((i = 0; i < 100; i++)); do
        private_port_taken "$port" && return 0
        sleep 0.1
    done
    tail -n 5 "$work/peer.log" >&2
    return 1
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }

bench_accept() {
    local port peer_port i rates=() p99s=() cpus=() peer_rates=() peer_p99s=() peer_cpus=()
    echo "accept: 50 KB creation-with-upload, 32 keep-alive connections, $seconds s each, 5 rounds in turn"
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || {
        echo "  skipped: the peer needs Node 20 or newer" >&2
        return 0
    }
    port=$(free_port) peer_port=$(free_port)
    private_begin "$work/fw"
    private_pg_start "shared_buffers = 512MB" "max_wal_size = 4GB" "min_wal_size = 2GB" "wal_compression = lz4" \
        "checkpoint_timeout = 15min" "huge_pages = try" "fsync = on" "synchronous_commit = on"
    make_app "$bin"
    private_server_start "$bin/server/framewatchd" "$port" --role=server
    start_peer "$peer_port"
    # Neither side is measured fresh. Node compiles what is hot; PostgreSQL touches its memory and has as many log files
    # to use again as the rounds will fill, as one that has run for a day.
    label='to warm up'
    load "$peer_port" /files "" "$peer_pid"
    seconds=$((5 * seconds)) load "$port" /v1/uploads "$private_dir/keys/ingest" "$(private_server_pid)" "$(private_pg_pid)"
    private_psql -d framewatch -c CHECKPOINT
    for i in 1 2 3 4 5; do
        label='@tus/server, file store, no fsync'
        load "$peer_port" /files "" "$peer_pid"
        peer_rates+=("$rate") peer_p99s+=("$p99") peer_cpus+=("$cpu")
        label='framewatchd + PostgreSQL, fsync'
        load "$port" /v1/uploads "$private_dir/keys/ingest" "$(private_server_pid)" "$(private_pg_pid)"
        rates+=("$rate") p99s+=("$p99") cpus+=("$cpu")
    done
    kill "$peer_pid" && peer_pid=
    private_server_stop
    private_pg_stop
    local r=$(ratio "$(median "${rates[@]}")" "$(median "${peer_rates[@]}")")
    local c=$(ratio "$(median "${peer_cpus[@]}")" "$(median "${cpus[@]}")")
    echo "  medians: $(median "${rates[@]}")/s against $(median "${peer_rates[@]}")/s," \
        "p99 $(median "${p99s[@]}") ms against $(median "${peer_p99s[@]}") ms," \
        "CPU $(median "${cpus[@]}") s against $(median "${peer_cpus[@]}") s per 1,000"
    verdict "accept rate, times the peer's" "$r" '>=' 4
    verdict "accept CPU, times less than the peer's" "$c" '>=' 6
}

verdicts=()
verdict() { # WHAT VALUE >=|<= TARGET
    local met
    met=$(awk -v v="$2" -v t="$4" -v o="$3" 'BEGIN {print (o == ">=" ? v >= t : v <= t) ? "met" : "missed"}')
    verdicts+=("$(printf '%-44s %8s   target %s %-6s %s' "$1" "$2" "$3" "$4" "$met")")
}

# Programs that print their own figures and lines "RATIO name value target-operator target".
bench_program() { # TITLE PROGRAM
    local line name value op target
    echo "$1:"
    [ -x "$bin/tests/$2" ] || { echo "  no program $2 in $bin/tests" >&2; return 1; }
    "$bin/tests/$2" >"$work/$2.out"
    sed 's/^/  /' "$work/$2.out"
    while read -r _ name value op target; do
        verdict "${name//_/ }" "$value" "$op" "$target"
    done < <(grep '^RATIO ' "$work/$2.out" || true)
}

for bench in "${what[@]}"; do
    case $bench in
    accept) bench_accept ;;
    analysis) bench_program 'analysis of a 10-minute session' analysis_bench ;;
    hook) bench_program 'SDK frame hook' frame_hook_bench ;;
    sdk) tests/bench/sdk_cost.sh "$bin" ;;
    timeline) bench_program 'timeline of a 10-minute session' timeline_bench ;;
    api) bench_program 'questions over HTTP' api_bench ;;
    symbols) tests/bench/symbols.sh "$bin/server/framewatch" ;;
    retrace) FW_BUILD=$bin tests/bench/retrace.sh ;;
    families) tests/bench/families.sh "$bin/tests/families_bench" ;;
    families-server) tests/bench/families_server.sh "$bin" ;;
    *) echo "no such bench: $bench" >&2; exit 2 ;;
    esac
done
[ ${#verdicts[@]} -eq 0 ] || printf '\nbudgets\n'
[ ${#verdicts[@]} -eq 0 ] || printf '  %s\n' "${verdicts[@]}"
