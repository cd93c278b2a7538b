#!/usr/bin/env bash
# deploy/quickstart.sh beside a server of its own that runs: on a port of another program it fails and
# leaves that server, and where the tool finds it, as they were. A copy of deploy/ with the programs of a
# build in place of the release build; nothing is installed or built.
#   tests/e2e/quickstart.sh [BUILD_DIR]
# Last line: N passed, N failed, N skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(cd "${1:-build/dev}" && pwd)
. tests/e2e/lib.sh

work=$(mktemp -d /tmp/framewatch-quickstart-XXXXXX)
chmod 711 "$work"
other_pid=
cleanup() {
    [ -z "$other_pid" ] || kill "$other_pid" 2>/dev/null || true
    private_server_stop || true
    private_pg_stop || true
    rm -rf "$work"
}
cp -r deploy "$work/deploy"
mkdir -p "$work/build/release" "$work/bin"
ln -s "$build/server" "$work/build/release/server"
printf '#!/bin/sh\n' | tee "$work/deploy/packages.sh" >"$work/bin/cmake"
chmod 755 "$work/deploy/packages.sh" "$work/bin/cmake"

private_begin "$work/var"
trap cleanup EXIT
trap 'exit 130' INT TERM
own=$(free_port)
private_pg_start
make_app "$build"
private_server_start "$build/server/framewatchd" "$own"
echo "$own" >"$private_dir/port"
echo "url = http://127.0.0.1:$own" | "${private_as[@]}" tee "$private_dir/keys/client.conf" >/dev/null
python3 -c 'import socket, sys, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(3600)' >"$work/other" &
other_pid=$!
until_true 60 test -s "$work/other"
other=$(cat "$work/other")
before=$(private_server_pid)

refused() {
    ! PATH=$work/bin:$PATH "$work/deploy/quickstart.sh" --port "$other" >"$work/said" 2>&1 </dev/null &&
        grep "port $other is taken" "$work/said" || { cat "$work/said"; return 1; }
}
check 'a port of another program is refused' refused
check 'the server that ran runs on' test "$(private_server_pid)" = "$before"
check 'and answers' curl -sfS -m 60 "http://127.0.0.1:$own/healthz"
check 'the tool still finds it' grep -q "127.0.0.1:$own\$" "$private_dir/keys/client.conf"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
