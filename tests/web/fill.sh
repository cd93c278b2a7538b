#!/usr/bin/env bash
# Fills a server for the page's tests: a session that the SDK recorded in the demo game, on a device that tells
# neither maker nor model; deploy/demo-data.sh; and somebody to tell of alerts.
#   tests/web/fill.sh BUILD_DIR URL KEY_DIR HOOK_URL [SESSIONS]
set -euo pipefail
bin=$1 url=$2 keys=$3 hook=$4

curl -sS -m 60 -f -o /dev/null -H "Authorization: Bearer $(cat "$keys/admin")" -H 'Content-Type: application/json' \
    -d '{"name": "release-chat", "kind": "webhook", "secrets": {"url": "'"$hook"'", "key": "0123456789abcdef"}}' "$url/v1/channels"

play=$(mktemp -d)
trap 'rm -rf "$play"' EXIT
session=$(HOME=$play XDG_CACHE_HOME=$play LIBGL_ALWAYS_SOFTWARE=1 "$bin/client-stub/demo_game" --seconds 12 \
    --server "$url" --key-file "$keys/ingest" --storage "$play/sdk" | tail -n 1)
for ((i = 0; i < 3000; i++)); do
    state=$(curl -sS -m 60 -H "Authorization: Bearer $(cat "$keys/read")" "$url/v1/sessions/$session" | jq -r '.state // ""')
    [ "$state" != final ] || break
    sleep 0.2
done
[ "$state" = final ] || { echo "fill: the session of the demo game, $session, did not arrive" >&2; exit 1; }

"$(dirname "$0")/../../deploy/demo-data.sh" "$bin" "$url" "$keys" "${5:-2000}" test
