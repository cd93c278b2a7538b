#!/usr/bin/env bash
# Native symbolication beside its peers, in one run on one file: CPU and memory of indexing beside
# llvm-gsymutil, warm and cold lookups beside llvm-symbolizer and addr2line.
#   tests/bench/symbols.sh FRAMEWATCH [DEBUG-FILE]
# Without DEBUG-FILE: the debug half of Debian's ceph-mds (C++17, DWARF 5; 266 MB unpacked), fetched
# with apt-get download. FW_BENCH_CACHE keeps it. Prints figures and ratios; medians of RUNS (3) runs.
set -euo pipefail
framewatch=$(realpath "${1:?usage: symbols.sh FRAMEWATCH [DEBUG-FILE]}")
file=${2:-}
runs=${RUNS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

newest() { # a tool's newest installed version
    local v
    for v in "" -19 -18 -17 -16 -15 -14; do
        command -v "$1$v" >/dev/null && { echo "$1$v"; return; }
    done
    echo "$1 is not installed" >&2
    return 1
}

if [ -z "$file" ]; then
    cache=${FW_BENCH_CACHE:-$work}
    file=$cache/ceph-mds.debug
    if [ ! -e "$file" ]; then
        echo "fetching Debian's ceph-mds-dbg (101 MB)" >&2
        (cd "$work" && apt-get download -q ceph-mds-dbg >/dev/null 2>&1 && dpkg-deb -x ceph-mds-dbg_*.deb dbg)
        objcopy --decompress-debug-sections "$(find "$work/dbg" -name '*.debug' -size +20M)" "$file" 2>/dev/null
        rm -rf "$work/dbg"
    fi
fi
file=$(realpath "$file")

median() { sort -g | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }

# Runs a command RUNS times; sets cpu_s and peak_mb to the medians.
measure() { # COMMAND... (stdin: $in, stdout thrown away)
    local i
    : >"$work/cpu"
    : >"$work/mb"
    for ((i = 0; i < runs; i++)); do
        /usr/bin/time -o "$work/time" -f '%U %S %M' "$@" <"${in:-/dev/null}" >/dev/null 2>"$work/stderr"
        awk '{print $1 + $2}' "$work/time" >>"$work/cpu"
        awk '{print $3 / 1024}' "$work/time" >>"$work/mb"
    done
    cpu_s=$(median <"$work/cpu")
    peak_mb=$(median <"$work/mb")
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }

gsymutil=$(newest llvm-gsymutil) symbolizer=$(newest llvm-symbolizer) readobj=$(newest llvm-readobj)
printf '%s: %d MB\n\nindex\n' "$(basename "$file")" $(($(stat -c %s "$file") / 1000000))
cat "$file" >/dev/null # into the page cache, for all alike
measure "$framewatch" symbols index "$file" -o "$work/cache" --quiet
our_cpu=$cpu_s our_mb=$peak_mb
measure "$gsymutil" "--convert=$file" "--out-file=$work/gsym" --num-threads=1
printf '  %-22s %6.2f CPU s  %5.0f MB peak  %5.1f MB written\n' framewatch "$our_cpu" "$our_mb" \
    "$(($(stat -c %s "$work/cache") / 100000))e-1" "$gsymutil" "$cpu_s" "$peak_mb" "$(($(stat -c %s "$work/gsym") / 100000))e-1"
printf '  ratio %s of its CPU (budget 0.50), %s of its memory (budget 0.50)\n\n' \
    "$(ratio "$our_cpu" "$cpu_s")" "$(ratio "$our_mb" "$peak_mb")"

# Addresses of the largest executable section, at random.
"$readobj" --sections "$file" >"$work/sections"
python3 - "$work" <<'PY'
import random, re, sys
work = sys.argv[1]
best = (0, 0)
for block in open(work + "/sections").read().split("Section {")[1:]:
    address, size = re.search(r"Address: 0x(\w+)", block), re.search(r"(?m)^\s*Size: (\w+)", block)
    if address and size and ("EXECINSTR" in block or "Instructions" in block):
        best = max(best, (int(size[1], 0), int(address[1], 16)))
rng = random.Random(1)
for name, n in (("few", 20000), ("many", 120000), ("flood", 1000000), ("one", 1)):
    with open(f"{work}/{name}", "w") as f:
        f.writelines(f"{best[1] + rng.randrange(best[0]):#x}\n" for _ in range(n))
PY
frames() { # ADDRESSES: how many frames they come to
    "$framewatch" symbols lookup "$work/cache" <"$1" | awk 'NF == 0 {b++} END {print (NR - b) / 2}'
}
echo "warm lookups, names demangled, written out"
in=$work/few measure "$symbolizer" "--obj=$file"
few=$cpu_s
in=$work/many measure "$symbolizer" "--obj=$file"
theirs=$(awk -v n="$(($(frames "$work/many") - $(frames "$work/few")))" -v s="$cpu_s" -v f="$few" 'BEGIN {print n / (s - f)}')
in=$work/one measure "$framewatch" symbols lookup "$work/cache"
one=$cpu_s
in=$work/flood measure "$framewatch" symbols lookup "$work/cache"
ours=$(awk -v n="$(frames "$work/flood")" -v s="$cpu_s" -v o="$one" 'BEGIN {print n / (s - o)}')
printf '  %-22s %9.0f frames/s\n' framewatch "$ours" "$symbolizer" "$theirs"
printf '  ratio %s (budget 25); of %s frames on 1,000,000 addresses\n\n' "$(ratio "$ours" "$theirs")" "$(frames "$work/flood")"

echo "cold, one address"
in=$work/one measure "$framewatch" symbols lookup "$work/cache"
printf '  %-22s %6.2f CPU s  %5.0f MB\n' "framewatch, indexed" "$cpu_s" "$peak_mb"
in=$work/one measure "$symbolizer" "--obj=$file"
printf '  %-22s %6.2f CPU s  %5.0f MB\n' "$symbolizer" "$cpu_s" "$peak_mb"
in=$work/one measure addr2line -i -f -C -e "$file"
printf '  %-22s %6.2f CPU s  %5.0f MB\n' addr2line "$cpu_s" "$peak_mb"
