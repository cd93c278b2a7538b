#!/usr/bin/env bash
# Jank families: the whole analysis of a generated beta held against its planted causes, and folding
# beside a text pipeline, in one run.
#   tests/bench/families.sh BENCH [SEED…]      BENCH: the built families_bench
# JANKS (60000), INSTALLS (200000), CAUSES (40): of the beta; STACKS (200000): folded beside awk, sort and
# uniq; TRIE (1000000): in one trie. CI runs it small. Seeds: 1. Fails if a beta's families miss 0.98 of
# precision or recall, or if the two ways of folding differ.
set -euo pipefail
bench=$(realpath "${1:?usage: families.sh BENCH [SEED…]}")
shift
[ $# -gt 0 ] || set -- 1
janks=${JANKS:-60000} installs=${INSTALLS:-200000} causes=${CAUSES:-40} stacks=${STACKS:-200000} trie=${TRIE:-1000000}
work=$(mktemp -d /tmp/framewatch-families-XXXXXX)
trap 'rm -rf "$work"' EXIT
status=0

echo "families against planted causes"
for seed; do
    "$bench" proof "$seed" "$janks" "$installs" "$causes" || status=1
done

# CPU seconds and peak MB of a whole pipeline.
measure() { # NAME, OUTPUT, COMMAND…
    local name=$1 out=$2
    shift 2
    /usr/bin/time -o "$work/time" -f '%U %S %M %e' "$@" >"$out"
    awk -v name="$name" '{printf "  %-28s %7.2f CPU s  %7.2f s  %6.0f MB peak\n", name, $1 + $2, $4, $3 / 1024}' "$work/time"
    awk '{print $1 + $2}' "$work/time" >"$out.cpu"
}

# What stackcollapse does: frames of a block turned around and joined; then counted.
cat >"$work/collapse" <<'EOF'
awk 'NF == 0 && !/./ { if (n) { line = f[n]; for (i = n - 1; i; i--) line = line ";" f[i]; print line } n = 0; next }
     { f[++n] = $0 }' "$1" | LC_ALL=C sort | uniq -c
EOF
"$bench" stacks 1 "$stacks" >"$work/stacks"
printf '\nfolding and merging %d stacks (%d MB of text)\n' "$stacks" $(($(stat -c %s "$work/stacks") / 1000000))
cat "$work/stacks" >/dev/null
measure "framewatch" "$work/ours" "$bench" fold "$work/stacks"
measure "awk | sort | uniq -c" "$work/peer" bash "$work/collapse" "$work/stacks"
LC_ALL=C sort "$work/ours" >"$work/a"
sed -E 's/^ *([0-9]+) (.*)$/\2 \1/' "$work/peer" | LC_ALL=C sort >"$work/b"
if cmp -s "$work/a" "$work/b"; then
    awk -v n="$(wc -l <"$work/a")" 'FNR == NR {a = $1; next} {printf "  the same %d lines; %.1f times faster in CPU\n", n, $1 / (a > 0 ? a : 0.01)}' \
        "$work/ours.cpu" "$work/peer.cpu"
else
    echo "  the results differ" >&2
    status=1
fi

printf '\none trie\n'
"$bench" trie 1 "$trie"
exit $status
