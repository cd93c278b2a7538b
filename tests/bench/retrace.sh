#!/usr/bin/env bash
# Retrace beside Debian's ReTrace (ProGuard's), in one run on this machine: time and memory of the
# index, frames a second when warm, seconds of a first frame. CPU seconds, so that other programs
# matter less. Prints figures and ratios; never fails for a slow machine, but where the two programs
# print different names or lines (without JSON comments, which ReTrace does not know).
#   tests/bench/retrace.sh [MAPPING_MB] [FRAMES]     55 and 200,000; the mapping is made up
# Needs Debian's proguard-cli with a Java runtime, and python3. FW_BUILD: an existing build.
set -euo pipefail
cd "$(dirname "$0")/../.."
mb=${1:-55} frames=${2:-200000}
build=${FW_BUILD:-build/bench}
jars=/usr/share/java/retrace.jar:/usr/share/java/proguard.jar

if [ -z "${FW_BUILD:-}" ]; then
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFW_WERROR=OFF -DFW_DEMO_GAME=OFF >/dev/null
    cmake --build "$build" --target framewatch -- --quiet
fi
[ -e /usr/share/java/retrace.jar ] || { echo "retrace: apt-get install proguard-cli" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "CPU_SECONDS WALL_SECONDS MEGABYTES" of a program, by the kernel's account of it.
measure() { # ARG…
    python3 - "$@" <<'PY'
import os, subprocess, sys, time
begin = time.monotonic()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
_, status, use = os.wait4(child.pid, 0)
if status:
    sys.exit("failed: " + " ".join(sys.argv[1:]))
print("%.4f %.3f %d" % (use.ru_utime + use.ru_stime, time.monotonic() - begin, use.ru_maxrss >> 10))
PY
}

best() { # N ARG…: of N runs the one with the least CPU
    local n=$1
    shift
    for _ in $(seq "$n"); do measure "$@"; done | sort -g | head -1
}

peer=(java -cp "$jars" proguard.retrace.ReTrace "$work/mapping")

echo "made up: $(python3 tests/bench/retrace_mapping.py "$mb" "$frames" "$work/mapping" "$work/stack")"
head -n 2 "$work/stack" >"$work/one"
read -r cpu wall rss < <(best 2 "$build/server/framewatch" retrace --quiet --index "$work/mapping" -o "$work/index")
size=$(stat -c %s "$work/index")
awk -v c="$cpu" -v w="$wall" -v m="$rss" -v s="$size" \
    'BEGIN {printf "index            %.2f CPU s (%.2f s), %d MB of memory, %.1f MB\n", c, w, m, s / 1e6}'
read -r our_one _ our_rss < <(best 5 "$build/server/framewatch" retrace "$work/index" "$work/one")
read -r our_all _ _ < <(best 3 "$build/server/framewatch" retrace "$work/index" "$work/stack")
read -r raw_one _ _ < <(best 2 "$build/server/framewatch" retrace "$work/mapping" "$work/one")
read -r peer_one _ peer_rss < <(best 2 "${peer[@]}" "$work/one")
read -r peer_all _ _ < <(best 2 "${peer[@]}" "$work/stack")
awk -v n="$frames" -v oo="$our_one" -v oa="$our_all" -v ro="$raw_one" -v po="$peer_one" -v pa="$peer_all" \
    -v om="$our_rss" -v pm="$peer_rss" 'BEGIN {
    our = n / (oa - oo); peer = n / (pa - po)
    printf "warm, frames/s   %.0f   ReTrace %.0f   ratio %.0f (budget: at least 30)\n", our, peer, our / peer
    printf "cold, CPU s      %.4f   ReTrace %.2f   ratio 1/%.0f (budget: at most 1/20)\n", oo, po, po / oo
    printf "cold, without an index made before: %.2f CPU s, 1/%.1f\n", ro, po / ro
    printf "memory           %d MB   ReTrace %d MB\n", om, pm
}'

sed '/^# {/d' "$work/mapping" >"$work/plain"
head -n 20000 "$work/stack" >"$work/some"
java -cp "$jars" proguard.retrace.ReTrace "$work/plain" "$work/some" >"$work/theirs"
"$build/server/framewatch" retrace "$work/plain" "$work/some" >"$work/ours"
cmp "$work/theirs" "$work/ours"
echo "output           equal to ReTrace's: $(wc -l <"$work/ours") lines"
