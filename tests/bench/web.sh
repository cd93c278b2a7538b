#!/usr/bin/env bash
# The page measured in Debian's Chromium with software rendering: scripts of the first page, a session of
# 36,000 frames from a cold start until all is drawn, zoom, movement of the cursor. Medians.
#   tests/bench/web.sh [BUILD_DIR] [LOADS] [OTHER_FRAMEWATCHD]      build/release, 5
# OTHER_FRAMEWATCHD: a framewatchd with another page, of the same schema; measured in turns with the first.
set -euo pipefail
. "$(dirname "$0")/../e2e/lib.sh"
bin=$(cd "${1:-$root/build/release}" && pwd)
loads=${2:-5}

work=$(mktemp -d /tmp/framewatch-webbench-XXXXXX)
chmod 711 "$work"
other=
cleanup() {
    [ -z "$other" ] || kill "$other" 2>/dev/null || true
    private_begin "$work/fw" && private_server_stop || true
    private_pg_stop || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

modules=$bin/web-tests
mkdir -p "$modules"
if ! cmp -s "$root/tests/web/package-lock.json" "$modules/installed"; then
    cp "$root/tests/web/package.json" "$root/tests/web/package-lock.json" "$root/tests/web/.npmrc" "$modules"
    (cd "$modules" && npm ci --no-progress --loglevel=error) >&2
    cp "$root/tests/web/package-lock.json" "$modules/installed"
fi

port=$(free_port)
private_begin "$work/fw"
private_pg_start "fsync = off"
make_app "$bin"
private_server_start "$bin/server/framewatchd" "$port"
FW_URL=http://127.0.0.1:$port FW_KEY_FILE=$private_dir/keys/ingest "$bin/server/framewatch" demo --sessions 40 \
    --seconds 700 --seed 3 --app test --admin-key-file "$private_dir/keys/admin" >&2
others=
if [ -n "${3:-}" ]; then
    other_port=$(free_port)
    (
        cd "$private_dir"
        FW_LISTEN=127.0.0.1:$other_port FW_SECRET_FILE=$private_dir/keys/secret exec "${private_as[@]}" "$3" --role=server
    ) >"$work/other.log" 2>&1 </dev/null &
    other=$!
    until private_port_taken "$other_port"; do
        kill -0 "$other" || { cat "$work/other.log" >&2; exit 1; }
        sleep 0.1
    done
    others=http://127.0.0.1:$other_port
fi
FW_URL=http://127.0.0.1:$port FW_OTHER_URL=$others FW_KEYS=$private_dir/keys FW_MODULES=$modules/node_modules FW_LOADS=$loads \
    node "$root/tests/bench/web.mjs"
