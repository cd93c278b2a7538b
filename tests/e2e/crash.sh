#!/usr/bin/env bash
# kill -9 of framewatchd and of PostgreSQL at random moments under upload load; afterwards nothing that
# was acknowledged may be missing and nothing may be counted twice. See crash.py.
#   tests/e2e/crash.sh [BUILD_DIR [ROUNDS]]      build/dev, 50; FW_CRASH_SEED varies the moments
set -euo pipefail
. "$(dirname "$0")/lib.sh"
bin=$(cd "${1:-$root/build/dev}" && pwd) rounds=${2:-50}

work=$(mktemp -d /tmp/framewatch-crash-XXXXXX)
chmod 711 "$work"
cleanup() {
    for dir in "$work"/second "$work"/first; do
        [ -d "$dir" ] || continue
        private_begin "$dir" && private_server_stop || true
        private_pg_stop || true
    done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

mkdir "$work/files"
"$bin/server/framewatch" demo --sessions 3000 --seconds 75 --part-seconds 60 --seed 11 --out "$work/files" >&2

port=$(free_port) second_port=$(free_port)
for dir in second first; do
    private_begin "$work/$dir"
    private_pg_start "shared_buffers = 64MB"
    make_app "$bin"
    private_pg_stop
done

python3 "$root/tests/e2e/crash.py" --root "$root" --bin "$bin" --files "$work/files" \
    --folder "$work/first" --port "$port" --second "$work/second" --second-port "$second_port" \
    --rounds "$rounds" --seed "${FW_CRASH_SEED:-1}"
