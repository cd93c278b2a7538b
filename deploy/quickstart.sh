#!/usr/bin/env bash
# From a fresh Debian 12 to a recorded session, by one command (root or sudo):
#   deploy/quickstart.sh           installs, builds, starts PostgreSQL and framewatchd under var/, plays
#                                  the demo game, fills the page with two builds and a regression; leaves
#                                  the server running
#   deploy/quickstart.sh --once    without filling it: checks the answer, stops what it started, prints one
#                                  JSON line last
#   deploy/quickstart.sh --stop    stops the server and its PostgreSQL; the data stay in var/
# Options: --port N (7070), --seconds N (of the demo game, 20). Running it again is safe and quick.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
. deploy/private.sh

port=${FW_PORT:-7070} seconds=20 mode=keep
usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
fail() {
    echo "quickstart: $*" >&2
    exit 1
}
while [ $# -gt 0 ]; do
    case $1 in
    --once) mode=once ;;
    --stop) mode=stop ;;
    --port | --seconds)
        [[ "${2:-}" =~ ^[0-9]{1,5}$ ]] || fail "$1 needs a number"
        [ "$1" = --port ] && port=$2 || seconds=$2
        shift
        ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
[ "$port" -ge 1 ] && [ "$port" -le 65535 ] || fail "no such port: $port"
[ "$seconds" -ge 8 ] && [ "$seconds" -le 600 ] || fail "--seconds: 8 to 600"

[ "$mode" = keep ] && steps=8 || steps=7
began=$SECONDS at=0
step() {
    at=$((at + 1))
    printf '[%d/%d] %s\n' "$at" "$steps" "$*" >&2
}

if [ "$mode" = stop ]; then
    [ -d var ] || { echo "nothing is running" >&2; exit 0; }
    private_begin "$root/var"
    private_server_stop
    private_pg_stop
    echo "stopped; the data stay in var/" >&2
    exit 0
fi

free_mb=$(df -Pm "$root" | awk 'NR == 2 {print $4}')
[ "$free_mb" -ge 1500 ] || fail "only $free_mb MB free on the disk of $root; 1500 are needed"
[ -w "$root" ] || fail "$root is not writable for you"

step "Debian packages"
deploy/packages.sh build run

step "build"
build_log=$(mktemp)
build_failed() {
    tail -n 30 "$build_log" >&2
    fail "the build failed"
}
cmake --preset release >"$build_log" 2>&1 || build_failed
if [ -t 2 ]; then
    cmake --build --preset release >&2 || fail "the build failed"
else
    cmake --build --preset release >"$build_log" 2>&1 || build_failed
fi
rm -f "$build_log"
bin=$root/build/release

step "PostgreSQL (private, var/pg)"
private_begin "$root/var" || exit 1
# Before anything that runs or stands there is touched: whose the port is.
running=$(private_server_pid || true)
[ -n "$running" ] && [ "$(cat "$private_dir/port" 2>/dev/null)" = "$port" ] || ! private_port_taken "$port" ||
    fail "port $port is taken by another program; choose one with --port"
started_pg=false started_server=false
cleanup() { # what this run started goes when it fails, and after --once
    local rc=$?
    if [ "$rc" -ne 0 ] || [ "$mode" = once ]; then
        $started_server && private_server_stop
        $started_pg && private_pg_stop
    fi
    exit "$rc"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
[ -n "$(private_pg_pid)" ] || started_pg=true
private_pg_start "shared_buffers = 128MB" "max_wal_size = 1GB" || exit 1

as=("${private_as[@]}" env -C "$private_dir" "FW_DB=$FW_DB")
tool=("${as[@]}" "$bin/server/framewatch")

step "schema, app and keys"
"${as[@]}" "$bin/server/framewatchd" migrate >&2
"${tool[@]}" app create demo_game --if-missing >/dev/null
for role in ingest read admin; do
    [ -s "$private_dir/keys/$role" ] && continue
    "${tool[@]}" key create --app demo_game --role "$role" --label quickstart |
        "${private_as[@]}" sh -c 'umask 077 && cat >"$1.new" && mv "$1.new" "$1"' sh "$private_dir/keys/$role"
done

step "framewatchd on http://127.0.0.1:$port"
if [ -n "$running" ] && { [ "$(cat "$private_dir/port" 2>/dev/null)" != "$port" ] ||
    [ "$bin/server/framewatchd" -nt "$private_dir/framewatchd.pid" ]; }; then
    private_server_stop # another port, or a newer build
    running=
fi
if [ -z "$running" ]; then
    started_server=true
    private_server_start "$bin/server/framewatchd" "$port" || exit 1
    echo "$port" >"$private_dir/port"
fi
printf 'url = http://127.0.0.1:%s\nkey_file = %s\n' "$port" "$private_dir/keys/read" |
    "${private_as[@]}" tee "$private_dir/keys/client.conf" >/dev/null

step "demo game, $seconds s"
game_log=$private_dir/log/demo_game.log
"${as[@]}" env HOME="$private_dir/demo" XDG_CACHE_HOME="$private_dir/demo/cache" LIBGL_ALWAYS_SOFTWARE=1 \
    "$bin/client-stub/demo_game" --seconds "$seconds" --server "http://127.0.0.1:$port" \
    --key-file "$private_dir/keys/ingest" --storage "$private_dir/demo/sdk" 2>"$game_log.err" |
    tee "$game_log" | { [ -t 2 ] && cat >&2 || cat >/dev/null; } || {
    tail -n 5 "$game_log.err" >&2
    fail "the demo game failed"
}
session=$(tail -n 1 "$game_log")
[[ "$session" =~ ^[0-9a-f]{32}$ ]] || fail "the demo game gave no session id; its log: $game_log"

step "analysis"
get() { # PATH: JSON from the API
    curl -sS -m 60 -H @- "http://127.0.0.1:$port$1" \
        < <(printf 'Authorization: Bearer %s\n' "$("${private_as[@]}" cat "$private_dir/keys/read")")
}
answer=
for ((i = 0; i < 1500; i++)); do
    answer=$(get "/v1/sessions/$session" 2>/dev/null || true)
    [ "$(jq -r '.state // ""' <<<"$answer" 2>/dev/null)" = final ] && break
    sleep 0.2
done
[ "$(jq -r '.state // ""' <<<"$answer" 2>/dev/null)" = final ] || {
    printf '%.600s\n' "$answer" >&2
    grep -h 'level=error' "$private_dir/log/framewatchd.log" | tail -n 3 >&2 || true
    tail -n 3 "$game_log.err" >&2
    fail "the session was not analysed within 300 s; the server's log: $private_dir/log/framewatchd.log"
}

janks=$(get "/v1/sessions/$session/janks")
summary=$(jq -c --arg id "$session" '{session: $id, frames: .frames,
    p50_ms: (.p50_us / 1000), p90_ms: (.p90_us / 1000),
    janks: (.janks_minor + .janks_normal + .janks_severe), parts: .parts}' <<<"$answer")
with_stacks=$(jq '[.janks[] | select(.samples | length > 0)] | length' <<<"$janks")

if [ "$mode" = once ]; then
    planned=$(sed -n 's/.* \([0-9]*\) planned hitches.*/\1/p' "$game_log")
    jq -e --argjson s "$seconds" --argjson n "$planned" --argjson w "$with_stacks" '
        def check(ok; what): if ok then empty else what end;
        [check(.frames > $s; "frames"), check(.parts >= 1; "parts"),
         check(.p50_ms > 1 and .p50_ms < 1000; "p50"), check(.p90_ms >= .p50_ms; "p90"),
         check(.janks >= $n; "janks"), check($w > 0; "stacks")]
        | if length == 0 then true else "wrong: " + join(", ") | halt_error end' <<<"$summary" >/dev/null ||
        { echo >&2; fail "the session does not look as it should: $summary, $planned hitches, $with_stacks with stacks"; }
    trap - EXIT
    $started_server && private_server_stop
    $started_pg && private_pg_stop
    echo "done in $((SECONDS - began)) s" >&2
    echo "$summary"
    exit 0
fi

step "two builds, the newer one slower on low devices in one scene"
private_keys=$private_dir/keys
"${as[@]}" FW_URL="http://127.0.0.1:$port" FW_KEY_FILE="$private_keys/admin" "$bin/server/framewatch" symbols upload \
    "$bin/client-stub/demo_game" >"$private_dir/log/symbols.log" 2>&1 || true # the page tells what is missing
"${as[@]}" "$root/deploy/demo-data.sh" "$bin" "http://127.0.0.1:$port" "$private_keys" >&2 ||
    fail "the page could not be filled"
api() { # PATH: JSON from the API
    get "$1" 2>/dev/null || echo '{}'
}
alert=$(api '/v1/alerts?state=live&limit=1' | jq -r '.items[0].id // empty')
family=$(api '/v1/families?limit=1' | jq -r '.items[0].id // empty')
[ -n "$alert" ] && worse=alerts/$alert || worse=compare

jq -r '"", "  session  \(.session)", "  frames   \(.frames)   P50 \(.p50_ms) ms, P90 \(.p90_ms) ms",
    "  janks    \(.janks), \($stacks) of them with the main thread'"'"'s stack", "  files    \(.parts)"' \
    --arg stacks "$with_stacks" <<<"$summary"
cat <<HINT

Open, with the key in var/keys/admin:
  the session just played   http://127.0.0.1:$port/sessions/$session
  what got worse, and where http://127.0.0.1:$port/$worse
  what janks, and why       http://127.0.0.1:$port/janks${family:+/$family}

In the terminal:
  FW_CONFIG=var/keys/client.conf build/release/server/framewatch session $session
Ask the API:
  curl -H "Authorization: Bearer \$(cat var/keys/read)" http://127.0.0.1:$port/v1/sessions/$session
Keys are in var/keys, logs in var/log. Stop it all: deploy/quickstart.sh --stop
done in $((SECONDS - began)) s
HINT
