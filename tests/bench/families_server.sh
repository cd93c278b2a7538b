#!/usr/bin/env bash
# The generated beta of tests/bench/families.sh through the real server: session files over HTTP, PostgreSQL,
# analysis, symbols of which a part comes late, families, kin; then questions about them at a tenth of the
# janks, at all of them, and at COPIES times as many.
#   tests/bench/families_server.sh [BUILD [JANKS]]      build/release 60000
# INSTALLS (200000), CAUSES (40), SEED (1): of the beta; COPIES (1): 10 sends the same janks nine times more, in
# other sessions of other installs. ROUNDS (15): of each question. Fails if families miss 0.98 of precision or
# recall over pairs of janks, if a jank was not counted under its stack, or if a stack's family changed with late
# symbols though it was not called provisional. Times are told, not judged. FW_KEEP: the folder stays.
set -euo pipefail
. "$(dirname "$0")/../e2e/lib.sh"
bin=$(cd "${1:-$root/build/release}" && pwd)
janks=${2:-60000}
seed=${SEED:-1} installs=${INSTALLS:-200000} causes=${CAUSES:-40} copies=${COPIES:-1} rounds=${ROUNDS:-15}
few=$((janks / 10))
beta=("$seed" "$janks" "$installs" "$causes")

work=$(mktemp -d /tmp/framewatch-beta-XXXXXX)
chmod 711 "$work"
watcher=
cleanup() {
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
    private_begin "$work/fw" && private_server_stop || true
    private_pg_stop || true
    [ -n "${FW_KEEP:-}" ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

port=$(free_port)
url=http://127.0.0.1:$port
private_begin "$work/fw"
private_pg_start 'shared_buffers = 256MB' 'max_wal_size = 4GB' \
    'logging_collector = on' "log_directory = '$private_dir/log'" "log_filename = 'plans'" 'log_destination = jsonlog' \
    "session_preload_libraries = 'auto_explain'" 'auto_explain.log_min_duration = -1' 'auto_explain.log_analyze = on' \
    'auto_explain.log_timing = off' 'auto_explain.log_format = json' 'auto_explain.log_nested_statements = on'
make_app "$bin"
private_server_start "$bin/server/framewatchd" "$port" --log-level=warn --api-rate=0
key() { cat "$private_dir/keys/$1"; }
api() { curl -sS -m 120 -f -H "Authorization: Bearer $(key read)" "$url$1"; }
admin() { curl -sS -m 120 -f -o /dev/null -H "Authorization: Bearer $(key admin)" -H 'Content-Type: application/json' "$@"; }
tool() { FW_URL=$url FW_KEY_FILE=$private_dir/keys/admin "$bin/server/framewatch" "$@"; }

# Nothing waits to be read, counted or grouped.
settled() {
    [ "$(sql "SELECT NOT EXISTS (SELECT FROM job WHERE kind <> 'finish' AND state <> 'dead')
                 AND NOT EXISTS (SELECT FROM stack_delta) AND NOT EXISTS (SELECT FROM stack_regroup)
                 AND NOT EXISTS (SELECT FROM stack WHERE symbols IS NULL)")" = t ]
}
until_settled() {
    local i
    for ((i = 0; i < 7200; i++)); do
        settled && break
        sleep 1
    done
    [ "$i" -lt 7200 ] && [ "$(sql "SELECT count(*) FROM job WHERE state = 'dead'")" = 0 ] || {
        sql "SELECT kind, state, last_error, count(*) FROM job GROUP BY 1, 2, 3" >&2
        return 1
    }
}

# Highest sum of what the server's processes and PostgreSQL's hold, shared pages once. MB
watch_memory() {
    local server=0 database=0 n
    pss() { # PID
        local pid
        for pid in "$1" $(pgrep -P "$1" || true); do
            cat "/proc/$pid/smaps_rollup" 2>/dev/null || true
        done | awk '/^Pss:/ {n += $2} END {print int(n / 1024)}'
    }
    while sleep 1; do
        n=$(pss "$(private_server_pid)") && [ "$n" -gt "$server" ] && server=$n
        n=$(pss "$(private_pg_pid)") && [ "$n" -gt "$database" ] && database=$n
        echo "$server $database" >"$work/memory.new" && mv "$work/memory.new" "$work/memory"
    done
}
watch_memory 2>/dev/null &
watcher=$!

begin=0 server_ms=0 database_ms=0
start() {
    begin=$(date +%s%N)
    server_ms=$(cpu_ms "$(private_server_pid)") database_ms=$(cpu_ms "$(private_pg_pid)")
}
tell() { # WHAT
    local ms=$((($(date +%s%N) - begin) / 1000000))
    printf '  %-44s %7.1f s   CPU s: server %6.1f  PostgreSQL %6.1f   peak MB: %s and %s\n' "$1" \
        "$(awk -v n=$ms 'BEGIN {print n / 1000}')" \
        "$(awk -v n=$(($(cpu_ms "$(private_server_pid)") - server_ms)) 'BEGIN {print n / 1000}')" \
        "$(awk -v n=$(($(cpu_ms "$(private_pg_pid)") - database_ms)) 'BEGIN {print n / 1000}')" $(cat "$work/memory")
}

# Symbols ------------------------------------------------------------------------------------------------------
mkdir -p "$work"/symbols/{early,late}
"$bin/tests/families_server_bench" symbols "${beta[@]}" "$work/symbols" >"$work/libraries"
while read -r name id folder; do
    cc -shared -nostdlib -Wl,--build-id="0x$id" -Wl,--section-start=.text=0x100000 -o "$work/symbols/$folder/${name%.s}" \
        "$work/symbols/$folder/$name"
    rm "$work/symbols/$folder/$name"
done <"$work/libraries"
version() { # BUILD
    echo --platform android --version "2.$1.0" --version-code $((200 + 10 * $1)) --build-uid "beta-$1"
}
make_known() { # builds, with their mappings, before anybody plays them; and the app's rules
    local i
    for i in 0 1; do
        admin -X POST "$url/v1/builds" -d "{\"platform\": \"android\", \"version_name\": \"2.$i.0\",
            \"version_code\": $((200 + 10 * i)), \"build_uid\": \"beta-$i\", \"mapping_id\": \"beta$i\"}"
    done
    admin -X PUT "$url/v1/family-rules" -d @"$work/symbols/rules.json"
}
make_known
tool symbols upload "$work/symbols/early" $(version 0) >"$work/early.out" || { cat "$work/early.out"; exit 1; }

send() { # FROM TO COPY TRUTH
    "$bin/tests/families_server_bench" upload "${beta[@]}" "$1" "$2" "$3" "$port" "$private_dir/keys/ingest" "$4"
}

# Questions ----------------------------------------------------------------------------------------------------
ms_of() { # PATH
    local i
    for ((i = 0; i < rounds; i++)); do
        curl -sS -m 120 -f -o /dev/null -w '%{time_total}\n' -H "Authorization: Bearer $(key read)" "$url$1"
    done | sort -g | awk '{a[NR] = $1} END {printf "%.1f", 1000 * a[int((NR + 1) / 2)]}'
}

# Rows that the statements of one answer read from tables, and pairs that their joins compared in vain, by their
# plans; the least of three, for other work of the server's may fall in between.
rows_of() { # PATH
    local i from mark
    sql "ALTER SYSTEM SET auto_explain.log_min_duration = 0" && sql 'SELECT pg_reload_conf()' >/dev/null
    for i in 1 2 3; do
        from=$(stat -c %s "$private_dir/log/plans.json")
        api "$1" >/dev/null
        mark="mark $RANDOM$RANDOM"
        sql "SELECT '$mark'" >/dev/null
        until_true 60 grep -q "$mark" "$private_dir/log/plans.json"
        tail -c +$((from + 1)) "$private_dir/log/plans.json" | jq -s '
            def rows: .["Actual Loops"] * ((.["Rows Removed by Join Filter"] // 0) + if has("Relation Name") then
                .["Actual Rows"] + (.["Rows Removed by Filter"] // 0) + (.["Rows Removed by Index Recheck"] // 0)
                else 0 end) + ([.Plans[]? | rows] | add // 0);
            [.[].message | select(test("plan:\n")) | sub("^[^\n]*plan:\n"; "") | fromjson | .Plan | rows] | add // 0'
    done | sort -g | head -n 1
    sql "ALTER SYSTEM SET auto_explain.log_min_duration = -1" && sql 'SELECT pg_reload_conf()' >/dev/null
}

ask_all() { # SIZE
    local build baseline family small path name
    sql ANALYZE
    baseline=$(sql "SELECT build_id FROM build WHERE version_code = 200")
    build=$(sql "SELECT build_id FROM build WHERE version_code = 210")
    family=$(api '/v1/families?limit=30' | jq -r '.items[0].id')
    small=$(api '/v1/families?limit=30' | jq -r '.items[24].id // .items[-1].id')
    while read -r path name <&3; do
        printf '%s\t%s\t%s\t%s\n' "$name" "$1" "$(ms_of "$path")" "$(rows_of "$path")"
    done 3<<END >>"$work/answers"
/v1/families ranking
/v1/families?build=$build&sort=jank_ms ranking, one build, by time
/v1/families?scene=race/&below_rate=true ranking, one scene
/v1/families/$family the largest family
/v1/families/$small the 25th family
/v1/families/$family/stacks its stacks
/v1/families/$family/sessions its sessions
/v1/families/$family/verdicts its verdicts
/v1/families/$family/paths its paths
/v1/families/$small/paths paths of the 25th
/v1/flame flame trie of all
/v1/flame?build=$build flame trie of a build
/v1/flame/diff?a=$baseline&b=$build flame diff of two builds
/v1/families/$family/flame flame trie of the largest family
/v1/families/$small/flame flame trie of the 25th
/v1/families/$small/flame?build=$build flame trie of the 25th in a build
END
}

# The beta -----------------------------------------------------------------------------------------------------
echo "seed $seed: $installs installs, $janks janks, $causes causes; COPIES=$copies; load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores"
verdicts_due() { # both builds compared, as the schedule does
    admin -X POST "$url/v1/schedule/verdicts"
    until_settled
}
start
send 0 "$few" 0 "$work/truth" >"$work/sent.few"
until_settled
admin -X POST "$url/v1/schedule/kin"
verdicts_due
tell "$few janks, read, counted, grouped"
ask_all "$few"

start
send "$few" "$janks" 1 "$work/truth" >"$work/sent"
tell "$((janks - few)) more janks, uploaded"
until_settled
tell "and read, counted, grouped"
jq -r '"  \(.sessions) sessions (\(.clean) without janks), \(.bytes / 1e6 | floor) MB, \(.sessions / .seconds | floor) a second"' "$work/sent"
sql "CREATE TABLE bench_before AS SELECT hash, prints[3] AS print, class, provisional FROM stack_family"
start
tool symbols upload "$work/symbols/late" $(version 1) >"$work/late.out" || { cat "$work/late.out"; exit 1; }
until_settled
tell "late symbols of 40 % of the installs"
start
admin -X POST "$url/v1/schedule/kin"
until_settled
tell "kin"

# Against what was planted: pairs of janks of the app. What is not in-app by the analysis is in no family.
sql "CREATE TABLE bench_truth (hash text, cause bigint, class text)"
private_psql -d framewatch -c "\\copy bench_truth FROM '/dev/stdin'" <"$work/truth"
sql "ANALYZE bench_truth"
score() { # what a jank's family is, of columns f.*
    sql "WITH placed AS (
             SELECT t.cause, CASE WHEN f.class = 'in_app' THEN encode($1, 'hex') ELSE 'none ' || row_number() OVER () END AS family
             FROM bench_truth t LEFT JOIN stack_family f ON f.hash = decode(t.hash, 'hex') AND f.kind = 0
             WHERE t.class = 'in_app'),
         one AS (SELECT cause, family, count(*) AS n FROM placed GROUP BY 1, 2),
         causes AS (SELECT cause, sum(n) AS n FROM one GROUP BY 1),
         families AS (SELECT family, sum(n) AS n FROM one GROUP BY 1),
         found AS (SELECT DISTINCT c.cause FROM one JOIN causes c USING (cause) JOIN families f USING (family)
                   WHERE c.n * 1000 >= $installs AND one.n * 10 >= c.n * 9 AND one.n * 10 >= f.n * 9)
         SELECT round((SELECT sum(n * (n - 1)) FROM one) / (SELECT sum(n * (n - 1)) FROM families), 4),
                round((SELECT sum(n * (n - 1)) FROM one) / (SELECT sum(n * (n - 1)) FROM causes), 4),
                (SELECT count(*) FROM families WHERE family NOT LIKE 'none%'),
                (SELECT count(*) FROM found), (SELECT count(*) FROM causes WHERE n * 1000 >= $installs)"
}
IFS='|' read -r precision recall families found above <<<"$(score f.family)"
IFS='|' read -r plain_precision plain_recall plain_families _ <<<"$(score 'f.prints[3]')"
miscounted=$(sql "SELECT count(*) FROM (SELECT decode(hash, 'hex') AS hash, count(*) AS n FROM bench_truth GROUP BY 1) t
    FULL JOIN (SELECT hash, sum(events) AS n FROM stack_total WHERE kind = 0 GROUP BY 1) s USING (hash)
    WHERE t.n IS DISTINCT FROM s.n")
moved=$(sql "SELECT count(*) FROM bench_before b JOIN stack_family f USING (hash)
    WHERE b.class = 'in_app' AND NOT b.provisional AND b.print <> f.prints[3]")
read -r stacks late <<<"$(sql "SELECT count(*) || ' ' || count(*) FILTER (WHERE b.print <> f.prints[3])
    FROM stack_family f LEFT JOIN bench_before b USING (hash)")"
class_right=$(sql "SELECT round(avg((f.class = t.class)::int), 4) FROM bench_truth t JOIN stack_family f ON f.hash = decode(t.hash, 'hex')")
printf '\nagainst planted causes\n'
printf '  fingerprints          precision %s  recall %s  %s families\n' "$plain_precision" "$plain_recall" "$plain_families"
printf '  fingerprints and kin  precision %s  recall %s  %s families; %s of %s causes above the report rate found\n' \
    "$precision" "$recall" "$families" "$found" "$above"
printf '  class right %s; %s stacks, %s read otherwise with late symbols, %s of them not provisional before\n' \
    "$class_right" "$stacks" "$late" "$moved"
printf '  stacks whose events are not the janks that were sent: %s\n\n' "$miscounted"

verdicts_due
ask_all "$janks"
if [ "$copies" -gt 1 ]; then
    start
    for ((i = 1; i < copies; i++)); do
        send 0 "$janks" $((2 * i)) "$work/truth.more" >>"$work/sent.more"
        until_settled
    done
    admin -X POST "$url/v1/schedule/kin"
    verdicts_due
    tell "$((janks * (copies - 1))) janks more, in other sessions"
    ask_all $((janks * copies))
fi
printf '\nquestions: median ms, and rows read\n'
awk -F'\t' -v rounds="$rounds" '
    !($1 in seen) {seen[$1] = 1; order[++n] = $1}
    !($2 in size) {size[$2] = 1; sizes[++m] = $2}
    {ms[$1, $2] = $3; rows[$1, $2] = $4}
    END {
        printf "  %-34s", "janks"
        for (k = 1; k <= m; k++) printf " %18s", sizes[k]
        print ""
        for (i = 1; i <= n; i++) {
            printf "  %-34s", order[i]
            for (k = 1; k <= m; k++) printf " %8s ms %6s", ms[order[i], sizes[k]], rows[order[i], sizes[k]]
            print ""
        }
    }' "$work/answers"

awk -v p="$precision" -v r="$recall" -v m="$miscounted" -v l="$moved" 'BEGIN {exit !(p >= 0.98 && r >= 0.98 && m == 0 && l == 0)}' ||
    { echo "families miss what was planted" >&2; exit 1; }
