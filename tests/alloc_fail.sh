#!/usr/bin/env bash
# Runs programs again and again, each time with another allocation failing (once, then from there on):
# they may fail, but never by a signal. Programs: the fuzz replayers over some of their corpus, and
# `framewatch dump`. Each of the first FW_ALLOC_POINTS (150) allocations fails, and of those after them up to the
# program's last every so manyth: each step is an eighth of the way so far.
#   tests/alloc_fail.sh [BUILD_DIR] [PART OF A NAME]
set -uo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${1:-build/dev}" && pwd)
limit=${FW_ALLOC_POINTS:-150}
most=100000000 # a program that makes more never ends
only=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

gcc -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -o "$work/fail.so" tests/e2e/fail_malloc.c || exit 1

try() { # NAME PROGRAM ARG…
    local name=$1 n rc points=0 bad=0 spread=0 on
    shift
    [[ "$name" == *"$only"* ]] || return 0
    for on in '' 1; do
        for ((n = 1; ; n += n < limit ? 1 : n / 8 + 1)); do
            rm -f "$work/note"
            { env ${on:+FW_FAIL_ON=1} FW_FAIL_AT=$n FW_FAIL_NOTE="$work/note" LD_PRELOAD="$work/fail.so" \
                timeout 300 "$@" >"$work/out" 2>&1 </dev/null; } 2>/dev/null
            rc=$?
            points=$((points + 1))
            [ "$n" -le "$limit" ] || spread=$((spread + 1))
            # 124: hung; 128 and more: killed by a signal. A fuzz target's own claim about whole results
            # ("does not hold", then abort) says nothing where memory ran out.
            if [ "$rc" -ge 124 ] && { [ "$rc" != 134 ] || ! grep -q 'does not hold' "$work/out"; }; then
                bad=$((bad + 1))
                echo "      $name: allocation $n${on:+ and all after}: exit $rc: $(tail -n 1 "$work/out" | cut -c1-200)"
            fi
            [ ! -e "$work/note" ] || break # there was no such allocation: this was all
            if [ "$n" -gt "$most" ]; then
                bad=$((bad + 1))
                echo "      $name: more than $most allocations${on:+ after the first that failed}"
                break
            fi
        done
    done
    if [ "$bad" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok    $name: $points allocation failures, $spread of them spread over those past $limit"
    else
        failed=$((failed + 1))
        echo "FAIL  $name: $bad of $points"
    fi
}

mkdir "$work/files"
"$build/server/framewatch" demo --sessions 2 --seconds 20 --seed 5 --out "$work/files" >/dev/null || exit 1
sample=$(find "$work/files" -name '*.fws' | sort | head -n 1)
try 'framewatch dump' "$build/server/framewatch" dump "$sample"
try 'framewatch demo' "$build/server/framewatch" demo --sessions 1 --seconds 10 --concurrency 1 --out "$work/files"
for program in "$build"/tests/*_fuzz; do
    [ -x "$program" ] || continue
    name=$(basename "$program")
    corpus=tests/fuzz/corpus/${name%_fuzz}
    # The largest, one in the middle and the smallest file show most of the ways through.
    mapfile -t files < <(ls -S "$corpus" 2>/dev/null | awk '{a[NR] = $0} END {print a[1]; print a[int((NR + 1) / 2)]; print a[NR]}' | sort -u)
    for file in "${files[@]}"; do
        [ -f "$corpus/$file" ] && try "$name $file" "$program" "$corpus/$file"
    done
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
