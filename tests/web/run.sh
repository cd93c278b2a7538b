#!/usr/bin/env bash
# The page in Debian's Chromium, on the real server with data from `framewatch demo`.
#   tests/web/run.sh [BUILD_DIR] [PART OF A NAME]       build/dev; last line: N passed, N failed, N skipped
#   UPDATE_GOLDEN=1                    writes the reference screenshots anew, and the pictures of README.md
#   PAGES=family,compare               only those of the pages that are compared with references
#   KEEP=DIR                           screenshots stay there, for a look
# Needs a build with the page (-DFW_WEB=ON), chromium, node and npm.
set -euo pipefail
. "$(dirname "$0")/../e2e/lib.sh"
bin=$(cd "${1:-$root/build/dev}" && pwd)
here=$root/tests/web

work=$(mktemp -d /tmp/framewatch-web-XXXXXX)
chmod 711 "$work"
hook=
cleanup() {
    [ -z "$hook" ] || kill "$hook" 2>/dev/null || true
    private_begin "$work/fw" && private_server_stop || true
    private_pg_stop || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# Beside the build, so that the sources stay clean and clones do not fight.
modules=$bin/web-tests
mkdir -p "$modules"
if ! cmp -s "$here/package-lock.json" "$modules/installed"; then
    cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$modules"
    (cd "$modules" && npm ci --no-progress --loglevel=error) >&2
    cp "$here/package-lock.json" "$modules/installed"
fi

port=$(free_port)
private_begin "$work/fw"
private_pg_start "fsync = off"
make_app "$bin"
private_server_start "$bin/server/framewatchd" "$port" --notify-reach=loopback

# Takes what alerts are told.
node -e "require('http').createServer((q, a) => q.resume().on('end', () => a.end('ok'))).listen(0, '127.0.0.1', function () { console.log(this.address().port) })" >"$work/hook" &
hook=$!
until [ -s "$work/hook" ]; do
    kill -0 "$hook"
    sleep 0.1
done
"$here/fill.sh" "$bin" "http://127.0.0.1:$port" "$private_dir/keys" "http://127.0.0.1:$(cat "$work/hook")/" >&2

mkdir -p "${KEEP:-$work/shots}"
FW_URL=http://127.0.0.1:$port FW_KEYS=$private_dir/keys FW_SHOTS=${KEEP:-$work/shots} FW_BIN=$bin \
    FW_PSQL=$(printf '%s\n' "${private_as[@]}" psql -X -q -v ON_ERROR_STOP=1 -h "$private_socket" -U framewatch) \
    FW_MODULES=$modules/node_modules node "$here/main.mjs" "${2:-}"
