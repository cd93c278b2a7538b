#!/usr/bin/env bash
# The SDK on arm64, under qemu-user: long frames and a crash carry stacks that read as the functions
# they were in.
#   tests/sdk-arm64/run.sh FRAMEWATCH WORK-FOLDER
# FRAMEWATCH: the tool, of this machine. Needs gcc-aarch64-linux-gnu and qemu-user.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tool=$(realpath "${1:?usage: run.sh FRAMEWATCH WORK-FOLDER}")
work=${2:?usage: run.sh FRAMEWATCH WORK-FOLDER}
rm -rf "$work"
mkdir -p "$work/include"
work=$(realpath "$work")
"$here/../../client-stub/amalgamate.py" "$work"
cp /usr/include/zstd.h /usr/include/zstd_errors.h "$work/include"
aarch64-linux-gnu-gcc -std=gnu11 -O2 -g -DFW_NO_CURL -I"$work" -I"$work/include" -Wall -Wextra -Wconversion -Werror \
    "$work/framewatch.c" "$here/zstd_store.c" "$here/game.c" -o "$work/game" -Wl,--build-id=sha1 \
    -fno-optimize-sibling-calls -lpthread
"$tool" symbols index "$work/game" -o "$work/game.fwsym" --quiet

qemu() { qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"; }
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
packets() { # GLOB: of all files of that name
    local f
    for f in $1; do "$tool" dump "$f"; done
}
# The functions of the stacks in a file of packets, as look-ups say.
functions() { # FILE
    jq -r 'select(.packet == "stack") | .frame[] | select(.module) | .offset' "$1" | sort -un |
        while read -r offset; do printf '0x%x\n' "$offset"; done | "$tool" symbols lookup --relative "$work/game.fwsym"
}

qemu "$work/game" "$work/played" >"$work/id"
packets "$work/played/$(cat "$work/id")-0*.fws" >"$work/packets"
functions "$work/packets" >"$work/functions"
check 'every long frame is there' test "$(jq -c 'select(.packet == "jank")' "$work/packets" | wc -l)" -ge 3
check 'a long frame has stacks' jq -e -s 'any(.packet == "jank" and (.sample | length) > 0)' "$work/packets"
check 'its module is of arm64, with a build id' jq -e -s \
    'any(.packet == "module" and .arch == "arm64" and (.debug_id | length) == 40)' "$work/packets"
for f in find_the_way move_the_monsters main; do check "its stacks go through $f" grep -qx "$f" "$work/functions"; done

rc=0
(qemu "$work/game" "$work/crashed" crash >"$work/id") 2>/dev/null || rc=$?
check 'the crash ends the game as it would without the SDK' test "$rc" -eq 139
qemu "$work/game" "$work/crashed" >/dev/null
packets "$work/crashed/$(cat "$work/id")-*.fws" >"$work/packets"
check 'the next launch tells the crash' jq -e -s 'any(.packet == "crash" and .signal == 11)' "$work/packets"
crash=$(jq 'select(.packet == "crash") | .stack' "$work/packets")
jq -c --argjson id "${crash:-0}" 'select(.packet == "stack" and .id == $id)' "$work/packets" >"$work/crash"
functions "$work/crash" >"$work/functions"
for f in fall_off_the_map open_the_gate main; do check "the crash's stack goes through $f" grep -qx "$f" "$work/functions"; done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
