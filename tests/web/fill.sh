#!/usr/bin/env bash
# Fills a server for the page's tests: deploy/demo-data.sh, and somebody to tell of alerts.
#   tests/web/fill.sh BUILD_DIR URL KEY_DIR HOOK_URL [SESSIONS]
set -euo pipefail
bin=$1 url=$2 keys=$3 hook=$4

curl -sS -m 60 -f -o /dev/null -H "Authorization: Bearer $(cat "$keys/admin")" -H 'Content-Type: application/json' \
    -d '{"name": "release-chat", "kind": "webhook", "secrets": {"url": "'"$hook"'", "key": "0123456789abcdef"}}' "$url/v1/channels"
exec "$(dirname "$0")/../../deploy/demo-data.sh" "$bin" "$url" "$keys" "${5:-2000}" test
