#!/usr/bin/env bash
# Installs what the tests need, builds, runs every test and ends with one line
#   N passed, N failed, N skipped
# Exit status 0 only if nothing failed. Root or sudo on Debian 12; needs no service and no terminal.
#   tests/run.sh                 everything but the stage containers, which is counted as skipped
#   tests/run.sh STAGE…          only these: dev crash headers tools clients web alloc valgrind asan tsan clang
#                                containers (podman; makes images, takes long)
# Logs: build/test-logs/STAGE.log. FW_CRASH_ROUNDS sets the rounds of the crash test (50).
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
. deploy/private.sh
logs=$root/build/test-logs
stages=(dev crash headers tools clients web alloc valgrind asan tsan clang)
by_default=true
[ $# -eq 0 ] || { stages=("$@"); by_default=false; }
jobs=$(nproc)
passed=0 failed=0 skipped=0
began=$SECONDS

mkdir -p "$logs"
rm -f "$logs"/*.log "$logs/failures"
: >"$logs/failures"

add() { # PASSED FAILED SKIPPED
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

report() { # LABEL SECONDS PASSED FAILED SKIPPED
    printf '%-28s %4d s   %d passed, %d failed, %d skipped\n' "$1" "$2" "$3" "$4" "$5"
    add "$3" "$4" "$5"
}

# What is not run, and why.
skip() { # LABEL N REASON
    report "$1" 0 0 0 "$2"
    echo "    $3"
}

# One command, one test.
one() { # NAME COMMAND…
    local name=$1 log=$logs/${1//[^a-zA-Z0-9_.-]/_}.log t=$SECONDS
    shift
    if "$@" >"$log" 2>&1 </dev/null; then
        report "$name" $((SECONDS - t)) 1 0 0
    else
        { echo "---- $name (exit $?)"; tail -n 60 "$log"; } >>"$logs/failures"
        report "$name" $((SECONDS - t)) 0 1 0
    fi
}

# A command that ends with a line of its own "N passed, N failed[, N skipped]".
counted() { # NAME COMMAND…
    local name=$1 log=$logs/${1//[^a-zA-Z0-9_.-]/_}.log t=$SECONDS rc=0 line p f s
    shift
    "$@" >"$log" 2>&1 </dev/null || rc=$?
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
    read -r p f s <<<"$(sed -E 's/[^0-9]+/ /g' <<<"${line:-0 0 0}")"
    [ "$rc" -eq 0 ] || [ "${f:-0}" -gt 0 ] || f=1
    [ "$rc" -ne 0 ] || [ -n "$line" ] || { echo "no closing line" >>"$log"; rc=1 f=1; }
    [ "$rc" -eq 0 ] || { echo "---- $name (exit $rc)"; tail -n 60 "$log"; } >>"$logs/failures"
    report "$name" $((SECONDS - t)) "${p:-0}" "${f:-0}" "${s:-0}"
}

build() { # PRESET
    local log=$logs/build-$1.log t=$SECONDS
    if cmake --preset "$1" >"$log" 2>&1 && cmake --build --preset "$1" >>"$log" 2>&1; then
        printf '%-28s %4d s\n' "build: $1" $((SECONDS - t))
        return 0
    fi
    { echo "---- build: $1"; grep -E 'error|FAILED|Error' "$log" | head -n 40; tail -n 20 "$log"; } \
        >>"$logs/failures"
    report "build: $1" $((SECONDS - t)) 0 1 0
    return 1
}

# One PostgreSQL for all test programs of a preset (tests/support/pg.h); those that kill theirs start
# their own. Fresh each time, for the databases of a run are left in it.
shared_pg_start() {
    shared=$(mktemp -d /tmp/framewatch-tests-XXXXXX) && chmod 711 "$shared" &&
        private_begin "$shared" &&
        private_pg_start 'fsync = off' 'full_page_writes = off' 'synchronous_commit = off' \
            'max_connections = 200' 'shared_buffers = 128MB' &&
        private_psql -d framewatch -c 'CREATE ROLE postgres SUPERUSER LOGIN' &&
        export FW_TEST_PG=$private_socket
}
shared_pg_stop() {
    [ -n "${shared:-}" ] || return 0
    private_pg_stop
    rm -rf "$shared"
    unset shared FW_TEST_PG FW_DB
}
trap '[ -z "$crash_pid" ] || kill "$crash_pid" 2>/dev/null; shared_pg_stop' EXIT
trap 'exit 130' INT TERM

suite() { # PRESET LABELS
    local log=$logs/ctest-$1.log t=$SECONDS p f s
    [[ "$2" != *integration* ]] || shared_pg_start || shared_pg_stop
    "${run_under[@]}" ctest --test-dir "build/$1" -L "$2" -V -j "$jobs" --no-tests=error \
        >"$log" 2>&1 </dev/null
    local rc=$?
    shared_pg_stop
    read -r p f s <<<"$(awk -v failures="$logs/failures" -f tests/count.awk "$log")"
    if [ "$rc" -ne 0 ] && [ "$f" -eq 0 ]; then
        f=1
        { echo "---- ctest $1 (exit $rc)"; tail -n 20 "$log"; } >>"$logs/failures"
    fi
    report "ctest: $1" $((SECONDS - t)) "$p" "$f" "$s"
}
run_under=()
crash_pid=

unit_programs() {
    ctest --test-dir build/dev -L unit -N -V 2>/dev/null | sed -n 's/^[0-9]*: Test command: //p' | tr -d '"'
}

stage_dev() {
    build dev && suite dev 'unit|integration|fuzz|gl'
}

# The public header alone, as C99 and C++98, pedantic; the SDK built without the rest.
stage_headers() {
    local h=client-stub/include/framewatch.h w='-Wall -Wextra -pedantic -Werror -fsyntax-only'
    one 'header: gcc C99' gcc -x c -std=c99 $w "$h"
    one 'header: clang C99' clang -x c -std=c99 $w "$h"
    one 'header: g++ C++98' g++ -x c++ -std=c++98 $w "$h"
    one 'header: clang++ C++17' clang++ -x c++ -std=c++17 $w "$h"
    one 'SDK builds alone' bash -c 'cmake -S client-stub -B build/sdk-alone -G Ninja >/dev/null &&
        cmake --build build/sdk-alone'
    one 'SDK as a package, with and without libcurl' tests/sdk-package/run.sh build/sdk-package
    counted 'SDK on Android and Apple, compiled' tests/sdk-platforms/run.sh build/sdk-platforms
    counted 'SDK in C#, under Mono' tests/sdk-engines/run.sh build/sdk-engines
    for cc in gcc clang; do
        one "SDK as one file: $cc" bash -c "client-stub/amalgamate.py build/amalgamation &&
            $cc -std=gnu11 -O2 -fPIC -Wall -Wextra -Wconversion -Werror -c build/amalgamation/framewatch.c \\
                -o build/amalgamation/$cc.o"
    done
}

stage_tools() {
    one 'layers' cmake/layers.sh
    one 'format and banned calls' ./check --fast
    one 'promtool: alert rules' promtool check rules deploy/prometheus/rules.yml
    one 'promtool: scrape config' promtool check config --syntax-only deploy/prometheus/prometheus.yml
    one 'redocly: OpenAPI document' tests/integration/openapi-lint/run.sh
}

# The real server with PostgreSQL, from outside: tus clients of others, /metrics, OpenAPI, demo.
stage_clients() {
    [ -x build/dev/server/framewatchd ] || build dev || return
    counted 'clients of the server' tests/e2e/clients.sh build/dev
    counted 'quick start beside a taken port' tests/e2e/quickstart.sh build/dev
    counted 'late symbols' tests/e2e/symbols.sh build/dev
    counted 'symbols beside llvm-symbolizer' tests/symbols/differential.sh build/dev/server/framewatch 20000 build/symbols
    counted 'the right alert' tests/e2e/alerts.sh build/dev
    counted 'reports, cell by cell' tests/e2e/reports.sh build/dev
    one 'reports read no more rows' tests/bench/report_rows.sh build/dev 10000 100000 1000000
    counted 'SDK on arm64' tests/sdk-arm64/run.sh build/dev/server/framewatch build/sdk-arm64
}

# The page: types, texts, and Debian's Chromium over every page with data of `framewatch demo`.
stage_web() {
    [ -x build/dev/server/framewatchd ] || build dev || return
    one 'page: tsc and texts' cmake --build build/dev --target web_check
    counted 'page in Chromium' tests/web/run.sh build/dev
}

# Mostly waits, so it goes on beside the stages after it; crash_end takes its result in.
stage_crash() {
    [ -x build/dev/server/framewatchd ] || build dev || return
    tests/e2e/crash.sh build/dev "${FW_CRASH_ROUNDS:-50}" >"$logs/crash.out" 2>&1 </dev/null &
    crash_pid=$!
}
crash_end() {
    [ -n "$crash_pid" ] || return 0
    local rc=0
    wait "$crash_pid" || rc=$?
    crash_pid=
    counted "kill -9, ${FW_CRASH_ROUNDS:-50} rounds" \
        bash -c 'cat "$1"; exit "$2"' crash "$logs/crash.out" "$rc"
}

stage_alloc() {
    [ -x build/dev/server/framewatchd ] || build dev || return
    counted 'allocation failures' tests/alloc_fail.sh build/dev
}

valgrind_one() { # PROGRAM LOGS
    FW_ROUNDS=200 timeout 3000 valgrind -q --fair-sched=try --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
        --suppressions=tests/valgrind.supp \
        "$1" >"$2/valgrind-${1##*/}.log" 2>&1 </dev/null
    echo "$? ${1##*/}"
}

stage_valgrind() {
    [ -d build/dev/tests ] || build dev || return
    local p=0 f=0 t=$SECONDS rc program
    export -f valgrind_one
    while read -r rc program; do
        if [ "$rc" = 0 ]; then
            p=$((p + 1))
            continue
        fi
        f=$((f + 1))
        { echo "---- valgrind $program (exit $rc)"; grep -E '^\[ +(FAILED|ERROR|LINE)' "$logs/valgrind-$program.log"; head -n 50 "$logs/valgrind-$program.log"; } >>"$logs/failures"
    done < <(unit_programs | xargs -r -P "$jobs" -I '{}' bash -c 'valgrind_one "$1" "$2"' valgrind '{}' "$logs")
    [ $((p + f)) -gt 0 ] || f=1
    report 'valgrind: unit programs' $((SECONDS - t)) "$p" "$f" 0
}

stage_asan() {
    build asan || return
    ASAN_OPTIONS=detect_stack_use_after_return=1 \
        UBSAN_OPTIONS=print_stacktrace=1 suite asan 'unit|integration|fuzz'
}

# ThreadSanitizer of gcc 12 needs the classic memory layout.
stage_tsan() {
    build tsan || return
    setarch -R true 2>/dev/null && run_under=(setarch -R)
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 suite tsan 'unit|integration'
    run_under=()
}

stage_clang() {
    build clang && FW_ROUNDS=200 suite clang 'unit'
}

# docker-compose.yml, and the README's first command in a bare Debian, for real. fresh.sh alone runs all
# tests in there too.
container_scripts=(compose.sh fresh.sh)
stage_containers() {
    local why
    if ! why=$(containers_run); then
        skip 'containers' ${#container_scripts[@]} "${why:-podman cannot run here}"
        return
    fi
    counted 'containers: docker-compose.yml' tests/e2e/compose.sh
    one 'containers: quick start in a bare Debian' tests/e2e/fresh.sh quickstart
}
containers_run() { # prints what stands in the way
    local settings
    [ "$(id -u)" = 0 ] || { echo "it needs root"; return 1; }
    settings=$(tests/e2e/containers.sh 2>"$logs/containers.log") || { tail -n 1 "$logs/containers.log"; return 1; }
    (eval "$settings" && timeout 120 podman run --rm --network=host \
        docker.io/library/debian:bookworm-slim true) >>"$logs/containers.log" 2>&1 </dev/null || {
        echo "podman runs no container here: $(tail -n 1 "$logs/containers.log")"
        return 1
    }
}

deploy/packages.sh build run test || exit 1
for stage in "${stages[@]}"; do
    declare -F "stage_$stage" >/dev/null || { echo "no such stage: $stage" >&2; exit 2; }
done
for stage in "${stages[@]}"; do
    "stage_$stage"
done
crash_end
! $by_default || skip 'containers' ${#container_scripts[@]} 'only when asked for: tests/run.sh containers'

if [ -s "$logs/failures" ]; then
    printf '\n==== output of what failed (whole logs: build/test-logs)\n'
    tail -n 400 "$logs/failures"
fi
printf '\nin %d s\n%d passed, %d failed, %d skipped\n' $((SECONDS - began)) "$passed" "$failed" "$skipped"
# A stage asked for by name may be skipped as a whole.
[ "$failed" -eq 0 ] && { [ "$passed" -gt 0 ] || { ! $by_default && [ "$skipped" -gt 0 ]; }; }
