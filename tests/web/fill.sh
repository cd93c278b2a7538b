#!/usr/bin/env bash
# Fills a server for the page's tests, and waits until every session is analysed.
#   tests/web/fill.sh BUILD_DIR URL KEY_DIR
set -euo pipefail
bin=$1 url=$2 keys=$3

FW_URL=$url FW_KEY_FILE=$keys/ingest "$bin/server/framewatch" demo --sessions 160 --seconds 240 --seed 7 \
    --regression 25 --tier low --scene battle --app test --admin-key-file "$keys/admin" --concurrency 2

api() { curl -sS -m 60 -f -H "Authorization: Bearer $(cat "$keys/admin")" "$url$1"; }
end=$((SECONDS + 300))
until [ "$(api '/v1/jobs?limit=1' | jq '.items | length')" = 0 ]; do
    [ "$SECONDS" -lt "$end" ] || { echo "jobs are still waiting" >&2; exit 1; }
    sleep 0.3
done
