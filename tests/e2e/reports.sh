#!/usr/bin/env bash
# Every cell of a report, as JSON, CSV, page and text, against a recomputation from the raw files:
# reports.py, which shares no code with the product. The demo's sessions in an order that has all sides
# of a comparison: a baseline, an expectation, both builds beside each other.
#   tests/e2e/reports.sh [BUILD_DIR] [SESSIONS]      build/dev, 700
# Last line: N passed, N failed, N skipped.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
bin=$(cd "${1:-$root/build/dev}" && pwd)
sessions=${2:-700}

work=$(mktemp -d /tmp/framewatch-reports-XXXXXX)
chmod 711 "$work"
cleanup() {
    private_begin "$work/fw" && private_server_stop || true
    private_pg_stop || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

port=$(free_port)
private_begin "$work/fw"
private_pg_start 'fsync = off'
make_app "$bin"
# Nothing recurs by itself: reports.py says when, so it knows what an expectation was made of.
sql "INSERT INTO schedule_run (app_id, kind, queued_at) SELECT app_id, kind, 'infinity' FROM app,
     unnest(ARRAY['expect', 'tiers', 'alerts', 'reports', 'kin', 'verdicts', 'tickets']) AS k (kind)"
private_server_start "$bin/server/framewatchd" "$port" --session-idle-ms=1000
mkdir "$work/files"
"$bin/server/framewatch" demo --app test --sessions "$sessions" --seconds 100 --part-seconds 60 --seed 7 \
    --regression 15 --tier low --scene battle --out "$work/files" >"$work/out"
python3 "$root/tests/e2e/reports.py" "http://127.0.0.1:$port" "$work/fw" "$work/files" "$bin"
