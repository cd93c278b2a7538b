#!/usr/bin/env bash
# docker-compose.yml for real: builds the image, brings everything up, posts sessions with the demo,
# reads them back, kills and restarts each service, tears down. Runs on podman as containers.sh sets it
# up; root. Last line: N passed, N failed, 0 skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/lib.sh"
eval "$("$here/containers.sh")"

work=$(mktemp -d /tmp/framewatch-compose-XXXXXX)
git clone -q "$root" "$work/framewatch"
cd "$work/framewatch"
project=framewatch-e2e
FW_PORT=$(free_port)
FW_PUBLIC_URL=http://server:7070 # as the tool's container knows it
export FW_PORT FW_PUBLIC_URL
compose() { podman-compose -p "$project" "$@"; }
cleanup() {
    compose down -v -t 10 >/dev/null 2>&1 || true
    podman ps -aq --filter "label=io.podman.compose.project=$project" | xargs -r podman rm -f -t 2 >/dev/null 2>&1 || true
    podman network rm -f "${project}_default" >/dev/null 2>&1 || true
    podman volume rm -f "${project}_pgdata" "${project}_symbols" >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

container() { # SERVICE
    podman ps -a --filter "label=io.podman.compose.project=$project" \
        --filter "label=com.docker.compose.service=$1" --format '{{.Names}}' | head -n 1
}


ready() { [ "$(curl -s -m 3 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$FW_PORT/readyz")" = 200 ]; }

tool() { # KEY ARG…: the tool, in the project's network
    local key=$1
    shift
    podman run --rm --network "$network" -e FW_URL=http://server:7070 -e FW_KEY="$key" \
        -e FW_DB="host=postgres user=framewatch dbname=framewatch password=$(cat var/secrets/db_password)" \
        --entrypoint framewatch "$image" "$@"
}

api() { # PATH
    curl -sS -m 10 -H "Authorization: Bearer $read_key" "http://127.0.0.1:$FW_PORT$1"
}

is_final() { [ "$(api "/v1/sessions/$1" | jq -r .state)" = final ]; }

seed=100
post_and_read() {
    local id ids
    seed=$((seed + 1))
    ids=$(tool "$ingest_key" demo --sessions 5 --seconds 40 --seed $seed --print-ids 2>"$work/demo") ||
        { cat "$work/demo"; return 1; }
    [ "$(wc -l <<<"$ids")" = 5 ] || return 1
    # One session in twenty has no end and stays open for a while: the rest must be final.
    local final=0
    for id in $ids; do until_true 20 is_final "$id" && final=$((final + 1)); done
    echo "$final of 5 final"
    [ "$final" -ge 3 ] || return 1
    api "/v1/sessions/$id" | jq -e '.frames > 0'
}

# The process of a service dies as if killed by the kernel; the restart policy must bring it back.
kill_service() { # SERVICE
    local name pid
    name=$(container "$1")
    pid=$(podman inspect -f '{{.State.Pid}}' "$name")
    [ "$pid" -gt 1 ] && kill -KILL "$pid"
}
alive() { # SERVICE OLD_PID
    local pid
    pid=$(podman inspect -f '{{.State.Pid}}' "$(container "$1")")
    [ "$pid" -gt 1 ] && [ "$pid" != "$2" ]
}
kill_and_return() { # SERVICE
    local before
    before=$(podman inspect -f '{{.State.Pid}}' "$(container "$1")")
    kill_service "$1"
    until_true 40 alive "$1" "$before" && until_true 40 ready
}

deploy/make-secrets.sh
check 'the image builds' compose build
[ "$failed" -eq 0 ] || { echo "$passed passed, $failed failed, 0 skipped"; exit 1; }
image=$(podman images --format '{{.Repository}}:{{.Tag}}' | grep -E '(^|/)framewatch:latest$' | head -n 1)
check 'it comes up' compose up -d
check 'the server becomes ready' until_true 90 ready
network=$(podman inspect -f '{{range $k, $v := .NetworkSettings.Networks}}{{$k}} {{end}}' "$(container server)" | awk '{print $1}')
check 'nothing runs as root' bash -c "[ \"\$(podman exec '$(container server)' id -u)\" != 0 ]"
check 'the image checks its own health' podman exec "$(container server)" framewatchd healthcheck
check 'the worker is healthy' podman exec "$(container worker)" framewatchd healthcheck
for service in server worker; do
    check "$service knows the address for links" podman exec "$(container "$service")" \
        sh -c "[ \"\$FW_PUBLIC_URL\" = '$FW_PUBLIC_URL' ]"
done
check 'an app is made' tool '' app create e2e
ingest_key=$(tool '' key create --app e2e --role ingest 2>/dev/null | tail -n 1)
read_key=$(tool '' key create --app e2e --role read 2>/dev/null | tail -n 1)
check 'sessions posted are read back' post_and_read
for service in server worker postgres; do
    check "$service returns after kill -9" kill_and_return "$service"
    check "sessions are read back after that" post_and_read
done
for service in worker server postgres; do
    check "$service restarts" podman restart -t 20 "$(container "$service")"
done
check 'the server becomes ready again' until_true 60 ready
check 'sessions are read back after the restarts' post_and_read
check 'it goes down' compose down -v -t 10
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
