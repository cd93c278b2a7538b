#!/usr/bin/env bash
# Rows read and time of a slice and of the whole report at several numbers of sessions: both stay flat.
#   tests/bench/report_rows.sh [BUILD_DIR] [SESSIONS…]      build/release, 10000 100000 1000000
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd)
shift || true
[ $# -gt 0 ] || set -- 10000 100000 1000000
exec "$bin/tests/report_bench" "$@"
