#!/usr/bin/env bash
# The right alert, and only that: two builds, the second slower on low-tier devices in one scene. The
# demo sends sessions over HTTP, the server finds the tiers, freezes the expectation, looks, and pushes
# to a real Alertmanager.
#   tests/e2e/alerts.sh [BUILD_DIR] [SESSIONS]      build/dev, 2400
# Last line: N passed, N failed, N skipped.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
bin=$(cd "${1:-$root/build/dev}" && pwd)
sessions=${2:-2400}
scene=battle/arena_5v5

work=$(mktemp -d /tmp/framewatch-alerts-XXXXXX)
chmod 711 "$work"
manager=
cleanup() {
    [ -z "$manager" ] || kill "$manager" 2>/dev/null || true
    private_begin "$work/fw" && private_server_stop || true
    private_pg_stop || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

finish() {
    echo "$passed passed, $failed failed, ${1:-0} skipped"
    [ "$failed" = 0 ]
}
command -v prometheus-alertmanager >/dev/null || {
    echo "no prometheus-alertmanager here"
    finish 1
    exit 0
}

port=$(free_port)
url=http://127.0.0.1:$port
private_begin "$work/fw"
private_pg_start 'fsync = off'
make_app "$bin"
private_server_start "$bin/server/framewatchd" "$port" --notify-reach=loopback
key() { cat "$private_dir/keys/$1"; }
api() { # METHOD PATH [BODY]
    curl -sS -m 120 -f -X "$1" -H "Authorization: Bearer $(key admin)" \
        ${3:+-H 'Content-Type: application/json' --data "$3"} "$url$2"
}

# Alertmanager ------------------------------------------------------------------------------------
manager_port=$(free_port)
mkdir "$work/manager"
printf 'route: {receiver: none}\nreceivers: [{name: none}]\n' >"$work/manager/config.yml"
prometheus-alertmanager --config.file="$work/manager/config.yml" --storage.path="$work/manager/data" \
    --web.listen-address="127.0.0.1:$manager_port" --cluster.listen-address= >"$work/manager/log" 2>&1 &
manager=$!
at_manager() { curl -sS -m 30 -f "http://127.0.0.1:$manager_port/api/v2/alerts"; }
check "Alertmanager answers" until_true 60 at_manager

cat >"$work/channel.json" <<JSON
{"name": "on-call", "kind": "alertmanager", "settings": {"url": "http://127.0.0.1:$manager_port", "resend_s": 10}}
JSON
check "a channel to it" env "FW_URL=$url" "FW_KEY_FILE=$private_dir/keys/admin" \
    "${private_as[@]}" "$bin/server/framewatch" channels create - <"$work/channel.json"
check "+15 % is an alert on low devices" api PUT /v1/alert-rules '{"items": [{"tier": 3, "theta": 0.15}]}'

# Two builds --------------------------------------------------------------------------------------
check "$sessions sessions" env "FW_URL=$url" "FW_KEY_FILE=$private_dir/keys/ingest" "${private_as[@]}" \
    "$bin/server/framewatch" demo --app test --sessions "$sessions" --seconds 150 --part-seconds 3600 \
    --seed 7 --regression 15 --tier low --scene "$scene" --admin-key-file "$private_dir/keys/admin" \
    --concurrency 4
no_kind() { [ "$(sql "SELECT count(*) FROM job WHERE kind IN ($1) AND run_after <= now()")" = 0 ]; }
check "all are analysed" until_true 1800 no_kind "'part'"
run_now() { # KIND…
    local kind
    for kind; do
        api POST "/v1/schedule/$kind" && until_true 600 no_kind "'$kind'" || return 1
    done
}
check "tiers are fitted, the expectation is frozen" run_now tiers expect tiers
frozen() { [ "$(sql "SELECT count(*) FROM expectation WHERE phase = 'done'")" -ge 1 ]; }
check "for the build that spreads" until_true 300 frozen
check "a look" run_now alerts

# What arrived ------------------------------------------------------------------------------------
labels() { at_manager | jq -c '[.[] | .labels | {tier, scene, metric, build}] | unique'; }
arrived() { [ "$(labels | jq length)" -ge 1 ]; }
check "an alert arrives" until_true 120 arrived
expected="[{\"tier\":\"low\",\"scene\":\"$scene\",\"metric\":\"p90\",\"build\":\"2.14.0 (21400)\"}]"
the_right_one() {
    labels
    sql "SELECT tier, scene, metric, level, reason, state, round(change::numeric, 3), sessions FROM alert
         WHERE level <> 'none' ORDER BY 1, 2, 3"
    [ "$(labels)" = "$expected" ]
}
check "the right one, and only that" the_right_one
change_is() {
    local change
    change=$(api GET '/v1/alerts?state=live' | tee "$work/alerts" | jq '.items[0].change')
    cat "$work/alerts"
    jq -e ".items | length == 1" "$work/alerts" && awk -v c="$change" 'BEGIN {exit !(c > 0.1 && c < 0.3)}'
}
check "it says by how much" change_is
again() { run_now alerts && [ "$(labels)" = "$expected" ]; }
check "another look changes nothing" again

id=$(api GET '/v1/alerts?state=live' | jq '.items[0].id')
silence() { api POST "/v1/alerts/$id/silence" '{"days": 1, "note": "known"}' | jq -e '.state == "silenced"'; }
check "it can be silenced" silence
gone() { [ "$(at_manager | jq '[.[] | select(.status.state == "active")] | length')" = 0 ]; }
check "and is over at Alertmanager then" until_true 120 gone
report() { api GET "/v1/report?build=$(sql "SELECT build_id FROM alert WHERE alert_id = $id")&format=html" | grep -q "$scene"; }
check "the report shows the scene" report
finish
