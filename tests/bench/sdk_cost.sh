#!/usr/bin/env bash
# What the SDK costs a game: the demo game with the SDK and without, in turns, all else alike.
#   tests/bench/sdk_cost.sh BUILD-FOLDER [SECONDS [ROUNDS]]      (60 s, 3 rounds of each)
# Prints figures, and a line a budget. Run it on a machine that does nothing else: on a busy one the
# differences of frame times are noise.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:?usage: sdk_cost.sh BUILD-FOLDER [SECONDS [ROUNDS]]}
seconds=${2:-60} rounds=${3:-3}
game=$build/client-stub/demo_game tool=$build/server/framewatch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LIBGL_ALWAYS_SOFTWARE=1

play() { # NAME OPTION…
    local name=$1
    shift
    "$game" --seconds "$seconds" --jank-every 0 --frame-times "$work/$name.us" --storage "$work/storage" --slice-ms 30000 --hardware-ms 5000 --fps 30 \
        "$@" >"$work/$name.out" 2>"$work/$name.err" &
    player=$!
}
# CPU (ns) and waits of the SDK's threads so far.
threads() {
    local cpu=0 waits=0 t a v
    for t in /proc/"$player"/task/*; do
        grep -q '^fw-' "$t/comm" 2>/dev/null || continue
        read -r a _ <"$t/schedstat"
        v=$(awk '$1 == "voluntary_ctxt_switches:" {print $2}' "$t/status")
        cpu=$((cpu + a)) waits=$((waits + v))
    done
    echo "$cpu $waits"
}
percentile() { # P FILE…
    local p=$1
    shift
    sort -n "$@" | awk -v p="$p" '{v[NR] = $1} END {print v[int((NR - 1) * p) + 1]}'
}
budget() { # WHAT VALUE TARGET
    awk -v w="$1" -v v="$2" -v t="$3" 'BEGIN {printf "%-36s %10s   target <= %-8s %s\n", w, v, t, v + 0 <= t + 0 ? "met" : "missed"}'
}

cpu=0 waits=0 watched=0
for ((i = 0; i < rounds; i++)); do
    play "off$i" --no-sdk
    wait "$player"
    play "on$i"
    sleep $((seconds / 4))
    read -r cpu0 waits0 <<<"$(threads)"
    began=$(date +%s%N)
    sleep $((seconds / 2))
    read -r cpu1 waits1 <<<"$(threads)"
    watched=$((watched + $(date +%s%N) - began))
    cpu=$((cpu + cpu1 - cpu0)) waits=$((waits + waits1 - waits0))
    wait "$player"
done
bytes=$(cat "$work"/storage/*.fws | wc -c)
memory=$(for f in "$work"/storage/*.fws; do "$tool" dump "$f"; done |
    jq -s '[.[] | select(.packet == "self_report" or .packet == "self") | (.memory_bytes // .memory_kb * 1024)] | max // 0')
client-stub/amalgamate.py "$work"
cc -Os -shared -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -Wl,--gc-sections -std=gnu11 -DFW_NO_CURL \
    "$work/framewatch.c" -o "$work/libframewatch.so"
library=$(size "$work/libframewatch.so" | awk 'NR == 2 {print $1 + $2}')

echo "$rounds rounds of $seconds s each, with the SDK and without"
for p in 0.5 0.99; do
    off=$(percentile $p "$work"/off*.us) on=$(percentile $p "$work"/on*.us)
    printf 'frame time at P%-4s without %6d us, with %6d us: %+d us\n' "$(awk -v p=$p 'BEGIN {print p * 100}')" "$off" "$on" $((on - off))
done
awk -v w=$waits -v t=$watched 'BEGIN {printf "wake-ups a minute %.0f\n", w * 6e10 / t}'
awk -v b="$bytes" -v s=$((seconds * rounds)) 'BEGIN {printf "bytes an hour %.0f\n", b * 3600 / s}'
budget 'CPU of its threads, % of a core' "$(awk -v c=$cpu -v t=$watched 'BEGIN {printf "%.3f", c * 100 / t}')" 0.3
budget 'its memory, bytes' "$memory" 2097152
budget 'library without zstd, -Os, bytes' "$library" 153600
