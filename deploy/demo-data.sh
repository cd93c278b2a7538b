#!/usr/bin/env bash
# Fills a server with synthetic sessions of two builds and their symbols, the newer build slower on low devices
# in one scene, with more janks of one cause there, and has everything judged at once instead of on schedule.
# For the quick start and the tests of the page. One upload at a time, so that sessions arrive in the same order each time.
#   deploy/demo-data.sh BUILD_DIR URL KEY_DIR [SESSIONS] [APP]       2000 sessions of app demo_game
# KEY_DIR holds the files ingest and admin. Prints nothing; a second run adds nothing.
set -euo pipefail
bin=$1 url=$2 keys=$3 sessions=${4:-2000} app=${5:-demo_game}
patience=${FW_PATIENCE:-900}

api() { # METHOD PATH [BODY]
    local body=()
    [ $# -lt 3 ] || body=(-H 'Content-Type: application/json' -d "$3")
    curl -sS -m 60 -f -X "$1" -H @- "${body[@]}" "$url$2" < <(printf 'Authorization: Bearer %s\n' "$(cat "$keys/admin")")
}
until_true() {
    local end=$((SECONDS + patience))
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || { echo "demo data: '$*' did not come true within $patience s" >&2; return 1; }
        sleep 0.3
    done
}
due() { # KINDS: how many jobs of these kinds run or are due
    local state cursor page n=0
    for state in ready running; do
        cursor=
        while :; do
            page=$(api GET "/v1/jobs?limit=200&state=$state${cursor:+&cursor=$cursor}") || return 1
            n=$((n + $(jq --arg now "$(date -u +%FT%T.999Z)" --arg kinds "$1" '[.items[] |
                select((.kind | IN($kinds | split(" ")[])) and .run_after <= $now)] | length' <<<"$page")))
            cursor=$(jq -r '.next // empty' <<<"$page")
            [ -n "$cursor" ] || break
        done
    done
    echo "$n"
}
idle() { [ "$(due "$1")" = 0 ]; }
now() { # KIND…
    local kind
    for kind; do
        api POST "/v1/schedule/$kind" >/dev/null
        until_true idle "$kind"
    done
}

symbols=$(mktemp -d)
trap 'rm -rf "$symbols"' EXIT
FW_URL=$url FW_KEY_FILE=$keys/ingest "$bin/server/framewatch" demo --app "$app" --sessions "$sessions" \
    --seconds 120 --part-seconds 3600 --seed 11 --regression 40 --more-janks 150 --tier low --scene battle \
    --admin-key-file "$keys/admin" --symbols "$symbols" --concurrency 1 >/dev/null
FW_URL=$url FW_KEY_FILE=$keys/admin "$bin/server/framewatch" symbols upload "$symbols" >/dev/null
until_true idle 'part symbols stacks restack families'
now tiers expect tiers
build=$(api GET '/v1/builds?platform=android&limit=1' | jq '.items[0].id')
frozen() { [ "$(api GET "/v1/report?build=$build" | jq '.expectation != null')" = true ]; }
until_true frozen
# What the build's sessions are placed against comes in pieces: the first look may be too early.
for ((i = 0; i < 20; i++)); do
    now alerts
    [ "$(api GET "/v1/alerts?state=live&build=$build&limit=1" | jq '.items | length')" = 0 ] || break
    sleep 3
done
counted() { [ "$(api GET '/v1/families?limit=1' | jq '(.pending | not) and (.items | length > 0)')" = true ]; }
until_true counted
now reports verdicts

# What a player said of a crash.
crashed=$(api GET '/v1/sessions?has_crash=true&limit=1' | jq -r '.items[0].id // empty')
[ -z "$crashed" ] || api POST "/v1/sessions/$crashed/feedback" \
    '{"category": "crash", "text": "It froze in the siege and then closed itself. Third time today."}' >/dev/null
