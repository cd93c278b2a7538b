#!/usr/bin/env bash
# A debug file near the limit of 4 GB, through the real server: sent whole by tus in pieces of 64 MB, stored in
# PostgreSQL, read by the index child. The server's memory stays bounded, the look-up table is the one that the
# tool makes, and what is past the limit is refused, at creation or once unpacked.
#   tests/symbols/huge.sh [BUILD_DIR] [MEGABYTES]      build/dev, 3900
# Needs five times MEGABYTES of disk (in TMPDIR, /tmp). Not part of tests/run.sh: it takes minutes. Prints figures;
# last line: N passed, N failed, N skipped.
set -euo pipefail
. "$(dirname "$0")/../e2e/lib.sh"
bin=$(cd "${1:-$root/build/dev}" && pwd)
mb=${2:-3900}
memory_mb=128             # of framewatchd, server and worker in one process, without the mapped table
child_mb=$((64 + mb / 5)) # of the index child, without the mapped file: its hard limit, a file is refused past it

work=$(mktemp -d "${TMPDIR:-/tmp}/framewatch-huge-XXXXXX")
chmod 711 "$work"
watcher=
cleanup() {
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
    private_begin "$work/fw" && private_server_stop || true
    private_pg_stop || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

key() { cat "$private_dir/keys/admin"; }
tool() { FW_URL=$url FW_KEY_FILE=$private_dir/keys/admin "$bin/server/framewatch" "$@"; }
mb_of() { awk -v k="$1" '$1 == k ":" {print int($2 / 1024)}' "/proc/$2/status" 2>/dev/null; }

read -r functions base bytes per_unit < <(python3 "$root/tests/symbols/huge.py" "$mb" "$work/huge.so")
size=$(stat -c %s "$work/huge.so")
echo "made: $((size / 1000000)) MB, $functions functions"

port=$(free_port)
url=http://127.0.0.1:$port
private_begin "$work/fw"
private_pg_start 'fsync = off' 'full_page_writes = off' 'max_wal_size = 1GB' 'shared_buffers = 128MB'
make_app "$bin"
mkdir "$work/cache" && chmod 777 "$work/cache"
private_server_start "$bin/server/framewatchd" "$port" --cache-dir="$work/cache" --index-memory-mb="$child_mb"
server=$(private_server_pid)

# The most memory the index child had, and the server without what it maps: looked at while they live.
(
    while sleep 0.2; do
        mb_of RssAnon "$server" >>"$work/server"
        child=$(pgrep -P "$server" | head -n 1) || continue
        echo "$(mb_of VmData "$child") $(mb_of VmHWM "$child") $(mb_of RssAnon "$child")"
    done
) >"$work/child" 2>/dev/null &
watcher=$!

# As a tus client sends it, uncompressed.
send() {
    python3 - "$url" "$work/huge.so" <<'PY'
import base64, http.client, os, sys, urllib.parse
url, path = sys.argv[1:]
key = os.environ["KEY"]
head = {"Tus-Resumable": "1.0.0", "Authorization": "Bearer " + key}
word = lambda t: base64.b64encode(t.encode()).decode()
size, piece = os.path.getsize(path), 64 << 20
c = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=600)
c.request("POST", "/v1/uploads", headers=head | {"Upload-Length": str(size), "Upload-Metadata":
    f"kind {word('symbols')},fileid {word('huge')},filename {word('huge.so')}"})
r = c.getresponse()
r.read()
assert r.status == 201, r.status
where = urllib.parse.urlsplit(r.headers["Location"]).path
with open(path, "rb") as f:
    for at in range(0, size, piece):
        c.request("PATCH", where, f.read(piece), head | {"Upload-Offset": str(at), "Content-Type": "application/offset+octet-stream"})
        r = c.getresponse()
        r.read()
        assert r.status == 204, (r.status, at)
print(where.rsplit("/", 1)[1])
PY
}
began=$SECONDS
check 'the file is taken' eval 'KEY=$(key) send'
sent=$((SECONDS - began))
outcome() { sql "SELECT outcome || ' ' || reason || ' ' || detail FROM symbol_file WHERE name = '$1'"; }
settled() { # NAME
    local end=$((SECONDS + 3600))
    until [ -n "$(outcome "$1")" ]; do
        [ "$SECONDS" -lt "$end" ] || { sql 'SELECT * FROM job'; return 1; }
        sleep 0.5
    done
}
began=$SECONDS
check 'and read' settled huge.so
indexed=$((SECONDS - began))
check "stored, by a child that may have $child_mb MB" eval '[ "$(outcome huge.so)" = "stored  " ] || { outcome huge.so; false; }'
kill "$watcher" && watcher=

/usr/bin/time -o "$work/time" -f '%U %S %M' "$bin/server/framewatch" symbols index "$work/huge.so" -o "$work/table" --quiet
check 'the table is the one the tool makes' \
    [ "$(sql "SELECT encode(sha256, 'hex') FROM symcache")" = "$(sha256sum "$work/table" | cut -d' ' -f1)" ]
last=$((functions - 1))
name=$(printf 'game_system_%08d_update' $last)
file=$(printf '/game/unit_%08d.cpp:%d:0' $((last / per_unit)) $((100 * (last % per_unit) + 1)))
check 'its last function is found' [ "$("$bin/server/framewatch" symbols lookup "$work/table" \
    "$(printf '0x%x' $((base + last * bytes)))" | head -n 2 | paste -sd' ')" = "$name $file" ]

# Past the limit of 4096 MB.
post() { # LENGTH
    curl -sS -o "$work/answer" -w '%{http_code}' -X POST -H "Authorization: Bearer $(key)" -H 'Tus-Resumable: 1.0.0' \
        -H "Upload-Length: $1" -H "Upload-Metadata: kind $(printf symbols | base64),fileid $(printf "id$1" | base64)" "$url/v1/uploads"
}
check '4096 MB may be created' [ "$(post 4294967296)" = 201 ]
check 'one byte more is refused' [ "$(post 4294967297)" = 413 ]
check 'and the answer names the field and the limit' jq -e \
    '.field == "Upload-Length" and (.detail | contains("4294967296"))' "$work/answer"
cat "$work/answer" && echo
cp "$bin/server/framewatch" "$work/bomb.so" && truncate -s 4294967297 "$work/bomb.so"
check 'a file that unpacks to more is refused as well' eval '! tool symbols upload "$work/bomb.so"'
cat "$work/out"
check 'with the reason' eval '[[ "$(outcome bomb.so)" == "refused past_limit too large once unpacked" ]]'

hwm=$(mb_of VmHWM "$server")
anon=$(sort -n "$work/server" | tail -n 1)
check "the server had $anon MB of memory at most" [ "$anon" -le "$memory_mb" ]
check 'no job died' [ "$(sql "SELECT count(*) FROM job WHERE state = 'dead'")" = 0 ]
check 'its copies of the files are gone' [ "$(du -sm "$work/cache" | cut -f1)" -lt 2 ]
check 'it ends when asked to' private_server_stop
echo "sent in $sent s; read and stored in $indexed s; table $(($(stat -c %s "$work/table") / 1000000)) MB;" \
    "framewatchd $anon MB at most, $hwm MB with the mapped table; the tool's own index: $(awk '{printf "%.1f CPU s, %d MB with the mapped file", $1 + $2, $3 / 1024}' "$work/time")"
awk '{if ($1 > d) d = $1; if ($2 > h) h = $2; if ($3 > a) a = $3} END {
    printf "index child at most: %d MB private, %d MB resident with the mapped file, of which %d anonymous\n", d, h, a}' "$work/child"
for limit in $memory_mb $child_mb; do
    [ "$mb" -gt "$limit" ] || {
        skipped=$((skipped + 1))
        echo "skip  that the limit of $limit MB tells anything: all of a file of $mb MB fits into it"
    }
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
