#!/usr/bin/env bash
# The SDK on arm64, under qemu-user: long frames and a crash carry stacks that read as the functions
# they were in, without the index of unwind information (.eh_frame_hdr) too; and where the link register
# is taken for the return address, the unwind information of all of libc says the same.
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
build() { # NAME FLAG…
    aarch64-linux-gnu-gcc -std=gnu11 -O2 -g -DFW_NO_CURL -I"$work" -I"$work/include" -Wall -Wextra -Wconversion -Werror \
        "$work/framewatch.c" "$here/zstd_store.c" "$here/game.c" -o "$work/$1" -Wl,--build-id=sha1 \
        -fno-optimize-sibling-calls -lpthread "${@:2}"
    "$tool" symbols index "$work/$1" -o "$work/$1.fwsym" --quiet
}
build game
build bare -fno-omit-frame-pointer -Wl,--no-eh-frame-hdr

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
functions() { # FILE GAME
    jq -r 'select(.packet == "stack") | .frame[] | select(.module) | .offset' "$1" | sort -un |
        while read -r offset; do printf '0x%x\n' "$offset"; done | "$tool" symbols lookup --relative "$work/$2.fwsym"
}

qemu "$work/game" "$work/played" >"$work/id"
packets "$work/played/$(cat "$work/id")-0*.fws" >"$work/packets"
functions "$work/packets" game >"$work/functions"
check 'every long frame is there' test "$(jq -c 'select(.packet == "jank")' "$work/packets" | wc -l)" -ge 3
check 'a long frame has stacks' jq -e -s 'any(.packet == "jank" and (.sample | length) > 0)' "$work/packets"
check 'its module is of arm64, with a build id' jq -e -s \
    'any(.packet == "module" and .arch == "arm64" and (.debug_id | length) == 40)' "$work/packets"
for f in find_the_way move_the_monsters main; do check "its stacks go through $f" grep -qx "$f" "$work/functions"; done

for game in game bare; do
    qemu "$work/$game" "$work/$game-leaf" leaf >"$work/id"
    packets "$work/$game-leaf/$(cat "$work/id")-0*.fws" >"$work/packets"
    functions "$work/packets" "$game" >"$work/functions"
    for f in watch_the_sky keep_watch main; do check "$game: a leaf's stacks go through $f" grep -qx "$f" "$work/functions"; done
done

rc=0
(qemu "$work/game" "$work/crashed" crash >"$work/id") 2>/dev/null || rc=$?
check 'the crash ends the game as it would without the SDK' test "$rc" -eq 139
qemu "$work/game" "$work/crashed" >/dev/null
packets "$work/crashed/$(cat "$work/id")-*.fws" >"$work/packets"
check 'the next launch tells the crash' jq -e -s 'any(.packet == "crash" and .signal == 11)' "$work/packets"
crash=$(jq 'select(.packet == "crash") | .stack' "$work/packets")
jq -c --argjson id "${crash:-0}" 'select(.packet == "stack" and .id == $id)' "$work/packets" >"$work/crash"
functions "$work/crash" game >"$work/functions"
for f in fall_off_the_map open_the_gate main; do check "the crash's stack goes through $f" grep -qx "$f" "$work/functions"; done
# Rows of readelf: an address, the CFA, registers; in column ra the return address's, u if it is in the register.
cc -std=gnu11 -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$here/../../client-stub" "$here/link_check.c" \
    "$here"/../../client-stub/platform/{link_register,peek}.c "$here/../../client-stub/platform/linux/peek.c" -o "$work/link_check"
readelf -wF /usr/aarch64-linux-gnu/lib/libc.so.6 2>"$work/readelf" | awk '
    function row() { if (at != "") print at, stop, held; at = "" }
    / FDE / { row(); stop = $NF; sub(/.*\.\./, "", stop); next }
    / CIE / || NF == 0 { row(); stop = ""; next }
    $1 == "LOC" { for (ra = NF; ra && $ra != "ra"; ra--) ; next }
    stop != "" && $1 ~ /^[0-9a-f]+$/ { if (at != "") print at, $1, held; at = $1; held = !ra || $ra == "u" }
    END { row() }' >"$work/rows"
check "the link register is right in all of libc" "$work/link_check" /usr/aarch64-linux-gnu/lib/libc.so.6 <"$work/rows"
tail -n 1 "$work/check.out"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
