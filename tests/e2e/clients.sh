#!/usr/bin/env bash
# The real server with a real database from outside: synthetic sessions and the demo game, read back
# through API and tool; the judge of /metrics.
#   tests/e2e/clients.sh [BUILD_DIR]      build/dev
# Last line: N passed, N failed, N skipped.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
bin=$(cd "${1:-$root/build/dev}" && pwd)

work=$(mktemp -d /tmp/framewatch-clients-XXXXXX)
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
private_pg_start "fsync = off"
make_app "$bin"
private_server_start "$bin/server/framewatchd" "$port"
key() { cat "$private_dir/keys/$1"; }
api() { curl -sS -m 120 -f -H "Authorization: Bearer $(key read)" "$url$1"; }
tool() { FW_URL=$url FW_KEY_FILE=$private_dir/keys/read "$bin/server/framewatch" "$@"; }
no_jobs() { [ "$(private_psql -d framewatch -Atc "SELECT count(*) FROM job WHERE kind = 'part' AND state <> 'dead'")" = 0 ]; }
state_is() { [ "$(api "/v1/sessions/$1" | jq -r .state)" = "$2" ]; }

# Synthetic sessions, twice: the second time changes nothing.
demo() {
    FW_URL=$url FW_KEY_FILE=$private_dir/keys/ingest "$bin/server/framewatch" demo --sessions 40 --seconds 90 \
        --part-seconds 60 --seed 4 --admin-key-file "$private_dir/keys/admin" --print-ids
}
demo >"$work/ids" 2>"$work/demo.err" || { cat "$work/demo.err"; exit 1; }
check '40 synthetic sessions are taken' [ "$(wc -l <"$work/ids")" = 40 ]
check 'and analysed' until_true 600 no_jobs
check 'none of their jobs died' [ "$(private_psql -d framewatch -Atc "SELECT count(*) FROM job WHERE state = 'dead'")" = 0 ]
rollups() { private_psql -d framewatch -Atc 'SELECT * FROM frame_rollup ORDER BY 1, 2, 3, 4, 5' | sha256sum; }
before=$(rollups)
check 'the same sessions again are no error' demo
until_true 600 no_jobs
check 'and count once' [ "$(rollups)" = "$before" ]
check '40 sessions are listed' [ "$(api '/v1/sessions?limit=100' | jq '.items | length')" = 40 ]
check 'with both builds registered' [ "$(api '/v1/builds?registered=true' | jq '.items | length')" = 4 ]
id=$(head -n 1 "$work/ids")
check 'a timeline' bash -c "jq -e . <<<'$(api "/v1/sessions/$id/timeline" | head -c 100000000 | jq -c 'keys' || true)'"
check 'a Chrome trace' jq -e '.traceEvents | length > 10' <(api "/v1/sessions/$id/trace")

# The demo game: rendered frames, true stacks.
game() {
    HOME=$work XDG_CACHE_HOME=$work LIBGL_ALWAYS_SOFTWARE=1 "$bin/client-stub/demo_game" --seconds 10 \
        --server "$url" --key-file "$private_dir/keys/ingest" --storage "$work/sdk" --seed 3
}
game >"$work/game" 2>"$work/game.err" || { cat "$work/game.err"; exit 1; }
id=$(tail -n 1 "$work/game")
planned=$(sed -n 's/.* \([0-9]*\) planned hitches.*/\1/p' "$work/game")
check "the demo game's session becomes final" until_true 300 state_is "$id" final
api "/v1/sessions/$id" >"$work/session.json"
api "/v1/sessions/$id/janks" >"$work/janks.json"
check 'it has frames and percentiles' jq -e '.frames > 10 and .p50_us > 1000 and .p99_us >= .p90_us' "$work/session.json"
check "each of $planned planned hitches is a jank" jq -e --argjson n "$planned" \
    '.janks_minor + .janks_normal + .janks_severe >= $n' "$work/session.json"
check 'janks carry stacks' jq -e '[.janks[] | select(.samples | length > 0)] | length >= 1' "$work/janks.json"
check 'the tool shows it' tool session "$id"
check 'the tool shows its worst janks as JSON' bash -c "$(declare -f tool); url=$url private_dir=$private_dir bin=$bin; tool session --json $id | jq -e ."

# What docs/api.md shows of posting is run as it stands there.
sed -n '/^the session.s first file/,/^```$/p' "$root/docs/api.md" | sed '1,/^```sh$/d; /^```$/d' >"$work/posts.sh"
posts() { URL=$url KEY=$(key ingest) ID=$id bash -e "$work/posts.sh" >"$work/posts"; }
crashes() { api "/v1/sessions/$id" | jq -e "$1"; }
check "the documentation's posts are made" posts
check 'three of them' [ "$(jq -s length "$work/posts")" = 3 ]
check 'and taken' jq -e -s 'all(.id and (.status | not))' "$work/posts"
check "the crash and the exception are the session's" crashes '.has_crash and (.crashes | length == 2)'
check 'the same posts again' posts
check 'change nothing' crashes '(.crashes | length == 2) and ([.feedback[] | select(.source == "posted")] | length == 1)'
check 'the exception is in a family' until_true 300 bash -c "$(declare -f key api); url=$url private_dir=$private_dir
    api '/v1/families?kind=crash&class=any&below_rate=true' | jq -e '[.items[].title] | any(test(\"Level.load\"))'"

# Judges of what the server says of itself.
curl -sS "$url/metrics" >"$work/metrics"
check 'promtool accepts /metrics' promtool check metrics <"$work/metrics"
for name in $(grep -ohE 'framewatch_[a-z_]+' "$root/deploy/prometheus/rules.yml" | sed 's/_bucket$//' | sort -u); do
    check "alerts name a real metric: $name" grep -q "^# TYPE $name " "$work/metrics"
done
check 'the document served is the document linted' cmp <(curl -sS "$url/v1/openapi.json") "$root/server/api/openapi.json"
check 'the log holds no key' bash -c "! grep -qF -e '$(key ingest)' -e '$(key read)' -e '$(key admin)' '$private_dir/log/framewatchd.log'"
check 'it ends when asked to' private_server_stop
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
