#!/usr/bin/env bash
# Late symbols, from outside: the demo game runs stripped, its janks arrive, and only then its symbols.
# The stacks must turn into the functions and lines that addr2line says, and no counter may move.
#   tests/e2e/symbols.sh [BUILD_DIR]      build/dev
# Last line: N passed, N failed, N skipped.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
bin=$(cd "${1:-$root/build/dev}" && pwd)

work=$(mktemp -d /tmp/framewatch-symbols-XXXXXX)
chmod 711 "$work"
cleanup() {
    private_begin "$work/fw" && private_server_stop || true
    private_pg_stop || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

port=$(free_port)
url=http://127.0.0.1:$port
private_begin "$work/fw"
private_pg_start 'fsync = off'
make_app "$bin"
private_server_start "$bin/server/framewatchd" "$port"
key() { cat "$private_dir/keys/$1"; }
api() { curl -sS -m 120 -f -H "Authorization: Bearer $(key read)" "$url$1"; }
tool() { # ROLE ARG…
    FW_URL=$url FW_KEY_FILE=$private_dir/keys/$1 "$bin/server/framewatch" "${@:2}"
}
no_jobs() { [ "$(sql 'SELECT count(*) FROM job WHERE run_after <= now()')" = 0 ]; }
state_is() { [ "$(api "/v1/sessions/$1" | jq -r .state)" = "$2" ]; }
counters() {
    sql 'SELECT * FROM frame_rollup ORDER BY 1, 2, 3, 4, 5'
    sql 'SELECT * FROM model_rollup ORDER BY 1, 2, 3'
    sql 'SELECT * FROM session ORDER BY 1, 2'
    sql 'SELECT * FROM jank_event ORDER BY day, shard, session_id, start_us'
}

# The game as it is shipped, and its symbols as CI keeps them.
mkdir "$work/ship" "$work/symbols"
cp "$bin/client-stub/demo_game" "$work/symbols/demo_game.whole"
objcopy --only-keep-debug "$bin/client-stub/demo_game" "$work/symbols/demo_game.debug"
cp "$bin/client-stub/demo_game" "$work/ship/demo_game"
strip --strip-all "$work/ship/demo_game"
debug_id=$(readelf -n "$work/ship/demo_game" | sed -n 's/.*Build ID: //p')

HOME=$work XDG_CACHE_HOME=$work LIBGL_ALWAYS_SOFTWARE=1 "$work/ship/demo_game" --seconds 6 --jank-every 1200 \
    --slice-ms 2000 --server "$url" --key-file "$private_dir/keys/ingest" --storage "$work/sdk" --seed 3 \
    >"$work/game" 2>"$work/game.err" || { cat "$work/game.err"; exit 1; }
id=$(tail -n 1 "$work/game")
check 'the session of the stripped game becomes final' until_true 300 state_is "$id" final
check 'its stacks were looked at' until_true 300 no_jobs
api "/v1/sessions/$id/janks" >"$work/before.json"
# A frame is the game's own if it names the game's debug id.
check 'its janks have stacks in the game' jq -e --arg id "$debug_id" \
    '[.stacks[].frames[] | select(.debug_id == $id)] | length > 3' "$work/before.json"
check 'which wait for symbols' jq -e --arg id "$debug_id" \
    '[.symbols[].frames[] | select(.debug_id == $id) | .status] | unique == ["missing"]' "$work/before.json"
build=$(api "/v1/sessions/$id" | jq -r .build.id)
needs() { api "/v1/builds/$build/symbols" | jq -r --arg id "$debug_id" ".events_waiting, (.needs[] | select(.debug_id == \$id) | .state)" | paste -sd' '; }
waiting=$(needs)
check 'and the build says so' [ "${waiting#* }" = missing ]
some_wait() { waiting=$(needs) && [ "${waiting% *}" -gt 0 ]; }
check 'with how many events wait' until_true 300 some_wait
counters >"$work/counters.before"

mv "$work/symbols/demo_game.whole" "$work/whole"
upload() {
    tool admin symbols upload "$work/symbols" "$work/ship/demo_game" --platform linux --version 1.0.0 --version-code 100 \
        --package org.example.demo --commit 0123456
}
check 'its symbols are taken' bash -c "$(declare -f tool upload); url=$url private_dir=$private_dir bin=$bin work=$work
    upload >$work/upload.out"
check 'the tool names the debug id' grep -q "$debug_id" "$work/upload.out"
check 'the stripped game itself is passed over' grep -q 'passed over' "$work/upload.out"
check 'the stacks are read again' until_true 300 no_jobs
api "/v1/sessions/$id/janks" >"$work/after.json"
check 'no frame of the game waits any more' jq -e --arg id "$debug_id" \
    '[.symbols[].frames[] | select(.debug_id == $id and .status == "missing")] | length == 0' "$work/after.json"
check 'functions of the hitches appear' jq -e \
    '[.symbols[].frames[] | select(.status == "symbolicated" and (.file // "" | endswith("hitches.c")) and .line > 0)] | length > 0' "$work/after.json"
none_waits() { [ "$(needs)" = '0 present' ]; }
check 'nothing waits for them' until_true 300 none_waits
counters >"$work/counters.after"
check 'no counter moved' cmp "$work/counters.before" "$work/counters.after"

# Each frame against binutils: the same functions, inlined ones too, at the same lines. addr2line takes
# an outer function's name from DWARF, we take the symbol table's: clones (.isra.0) differ.
jq -r --arg id "$debug_id" '.symbols[].frames[] | select(.debug_id == $id and .status == "symbolicated") |
    [.frame, .offset, .function, (.file // "??" | split("/") | last), (.line // 0)] | @tsv' "$work/after.json" |
    awk -F'\t' '{ key = $2 " " ($1 == 0); if (key != last || $1 != frame) { print "= " key; last = key; frame = $1 }
                  print $3 " " $4 ":" $5 }' | sed -E 's/\.(isra|constprop|part|cold)[.0-9]*//' >"$work/ours"
while read -r mark offset top; do
    [ "$mark" = = ] || continue
    echo "= $offset $top"
    addr2line -f -i -s -C -e "$work/whole" "$(printf '0x%x' $((offset - (1 - top))))" | sed 's/ (discriminator.*//; s/:?$/:0/' |
        paste -d' ' - -
done <"$work/ours" >"$work/theirs"
check "$(grep -c '^=' "$work/ours") frames read as addr2line reads them" diff "$work/ours" "$work/theirs"

check 'the tool shows functions and lines' bash -c "$(declare -f tool); url=$url private_dir=$private_dir bin=$bin
    tool read session $id | grep -E 'hitches.c:[0-9]+'"
check 'a second upload has nothing to send' bash -c "$(declare -f tool upload); url=$url private_dir=$private_dir bin=$bin work=$work
    upload | grep -q 'the server has it'"
objcopy --set-section-flags .debug_str=alloc "$work/symbols/demo_game.debug" "$work/conflict.debug" 2>/dev/null ||
    cp "$work/symbols/demo_game.debug" "$work/conflict.debug"
printf x >>"$work/conflict.debug"
check 'another file of that debug id is refused, with the reason' bash -c "$(declare -f tool); url=$url private_dir=$private_dir bin=$bin
    ! tool admin symbols upload $work/conflict.debug >$work/conflict.out && grep -q conflict $work/conflict.out"
check 'and counted' [ "$(sql "SELECT sum(count) FROM quarantine WHERE source = 'symbols' AND reason = 'conflict'")" = 1 ]
check 'the game may not send symbols' bash -c "$(declare -f tool); url=$url private_dir=$private_dir bin=$bin
    ! tool ingest symbols upload $work/conflict.debug"

# A large file, cut short by kill -9 and sent again: it goes on where the server stands.
head -c 50000000 /dev/urandom >"$work/noise"
objcopy --add-section .noise="$work/noise" "$bin/server/framewatch" "$work/large.so"
sent() { sql "SELECT coalesce(max(at), 0) FROM upload WHERE kind = 'symbols' AND length > 40000000"; }
begun() { [ "$(sent)" -gt 3000000 ]; }
FW_URL=$url FW_KEY_FILE=$private_dir/keys/admin "$bin/server/framewatch" symbols upload "$work/large.so" >"$work/first.out" 2>&1 &
first=$!
some_more() { # a step at a time, so that the look is not late on a busy machine
    kill -CONT "$first" && sleep 0.03 && kill -STOP "$first" && begun
}
check 'a large upload begins' until_true 300 some_more
kill -9 "$first" 2>/dev/null || true
wait "$first" 2>/dev/null || true
at=$(sent)
check 'and is cut short' [ "$at" -lt 40000000 ]
check 'a second run ends it' tool admin symbols upload "$work/large.so"
check 'as the same upload' [ "$(sql "SELECT count(*) FROM upload WHERE kind = 'symbols' AND length > 40000000 AND state = 'complete'")" = 1 ]
check 'no job died' [ "$(sql "SELECT count(*) FROM job WHERE state = 'dead'")" = 0 ]
curl -sS "$url/metrics" >"$work/metrics"
check 'the metrics count it' grep -qE '^framewatch_symbol_files_total\{outcome="stored"\} [2-9]' "$work/metrics"
check 'promtool accepts them' bash -c "promtool check metrics <$work/metrics"
check 'it ends when asked to' private_server_stop
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
