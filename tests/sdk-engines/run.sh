#!/usr/bin/env bash
# The C# file as Unity compiles it, and a game in C# under Mono against the native library: what it
# says is in its session files, its transport reaches a server, and a collection of garbage at the end
# waits for none of the SDK's threads. Unreal's module needs Unreal: only its JSON is read here.
#   tests/sdk-engines/run.sh WORK-FOLDER
# Needs mono-mcs, mono-runtime, python3, zstd, jq.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:?usage: run.sh WORK-FOLDER}
rm -rf "$work"
mkdir -p "$work"
passed=0 failed=0
check() { # WHAT COMMAND…
    local what=$1
    shift
    if "$@" >"$work/check.out" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        printf 'failed: %s\n' "$what"
        head -c 2000 "$work/check.out"
    fi
}
client-stub/amalgamate.py "$work"
cc -shared -fPIC -O2 -fvisibility=hidden -std=gnu11 -DFW_NO_CURL "$work/framewatch.c" -lzstd -lpthread \
    -o "$work/libframewatch.so"
check 'C# 6 without warnings' mcs -langversion:6 -warnaserror -out:"$work/game.exe" tests/sdk-engines/Game.cs \
    client-stub/engines/unity/Framewatch.cs
python3 - "$work/port" 2>"$work/http.log" <<'PY' &
import http.server, sys
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
open(sys.argv[1] + ".new", "w").write(str(server.server_port))
import os
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
PY
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 600); do [ -s "$work/port" ] && break; sleep 0.1; done
play() { # FOLDER
    LD_LIBRARY_PATH=$work timeout 300 mono "$work/game.exe" "http://127.0.0.1:$(cat "$work/port")" "$1" >"$work/said"
}
contents() { for f in "$work"/played/*.fws; do zstd -dcq "$f"; done; }
check 'a game in C# plays and ends' play "$work/played"
check 'it has a session' grep -qE '^[0-9.]+ [0-9a-f]{32}$' "$work/said"
contents >"$work/contents"
for text in 'Überfall' 'Телефон' 'Rennen' 'Straße' 'Spieler' 'lädt' 'Die Brücke fehlt' \
    "rennen.lua:31: in function 'Brücke'" 'repackaged.installer: com.example.märkte' 'developer.settings: '; do
    check "its files say $text" grep -qaF "$text" "$work/contents"
done
check 'its transport has asked the server' grep -q 'GET' "$work/http.log"
check 'it plays once more on the same folder' play "$work/played"
check 'Unreal: the plug-in is described' jq -e '.Modules[0].Name == "Framewatch"' \
    client-stub/engines/unreal/Framewatch/Framewatch.uplugin
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
