#!/usr/bin/env bash
# Fuzzes under ASan and UBSan with libFuzzer (clang): each target until it was given RUNS mutated inputs. A crash, an
# input that takes over 2 s by the clock, or 2 GB of memory ends a target as failed and leaves the input in
# build/fuzz/found. Begins with tests/fuzz/corpus; inputs that reach new code are kept in build/fuzz/new/TARGET.
#   tests/fuzz/run.sh [RUNS [TARGET…]]     1,000,000, and all of tests/fuzz/*_fuzz.c, as many at once as there are cores
# FW_FUZZ_TIMEOUT: seconds instead of 2, for a machine that does other things as well. Not part of tests/run.sh, which
# replays the corpora. Last line: N passed, N failed.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-1000000}
shift $(($# < 1 ? $# : 1))
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cd tests/fuzz && ls ./*_fuzz.c | sed -E 's|^\./||; s/_fuzz\.c$//')
out=$PWD/build/fuzz
mkdir -p "$out"/{found,new,log}
cmake --preset fuzz >"$out/log/cmake"
cmake --build --preset fuzz --target "${targets[@]/%/_fuzz}" >"$out/log/build" || { tail -n 20 "$out/log/build"; exit 2; }

one() { # OUT RUNS TARGET
    local rc=0 log=$1/log/$3 n peak
    mkdir -p "$1/new/$3"
    "$1/tests/${3}_fuzz" "-runs=$2" "-timeout=${FW_FUZZ_TIMEOUT:-2}" -rss_limit_mb=2048 -print_final_stats=1 \
        "-artifact_prefix=$1/found/$3-" "$1/new/$3" "tests/fuzz/corpus/$3" >"$log" 2>&1 || rc=$?
    n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
    [ "$rc" -eq 0 ] || { grep -m 1 'ERROR\|runtime error' "$log" || tail -n 1 "$log"; } | sed "s/^/$3: /"
    echo "$3 ${n:-0} inputs, ${peak:-?} MB at most: $([ "$rc" -eq 0 ] && echo ok || echo FAILED)"
}
export -f one
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I '{}' bash -c 'one "$1" "$2" "$3"' one "$out" "$runs" '{}' | tee "$out/log/all"
failed=$(grep -c ': FAILED$' "$out/log/all" || true)
echo "$((${#targets[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
