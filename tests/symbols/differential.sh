#!/usr/bin/env bash
# Compares `framewatch symbols lookup` with llvm-symbolizer, line by line, over random addresses of
# real files: at least 200,000 in all. Exit 1 when a difference has no explanation in docs/symbols.md.
#   tests/symbols/differential.sh FRAMEWATCH [WORK-FOLDER] [EXTRA-FILE ARCH ORACLE-VERSION]...
# SEED and COUNT (addresses a file) may be set. The files are built once and kept in WORK-FOLDER.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
framewatch=$(realpath "${1:?usage: differential.sh FRAMEWATCH [WORK-FOLDER] [FILE ARCH VERSION]...}")
work=${2:-}
shift $(($# < 2 ? $# : 2))
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
export PYTHONDONTWRITEBYTECODE=1
seed=${SEED:-1} count=${COUNT:-5000}
"$here/build.sh" "$work" >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 2; }
cp "$work/list" "$work/all"
while [ $# -ge 3 ]; do
    echo "$(realpath "$1") $2 $3" >>"$work/all"
    shift 3
done

run() { # EXTRA-OPTIONS COUNT
    while read -r file arch version; do
        [ "${file#/}" != "$file" ] || file=$work/$file
        # shellcheck disable=SC2086
        "$here/compare.py" "$framewatch" "$file" "$arch" "$version" "$2" "$seed" $1 || echo "$file" >>"$work/failed"
    done <"$work/all"
}
rm -f "$work/failed"
echo "== names as they are stored"
run "" "$count" | tee "$work/raw.txt"
echo "== names for people"
run --demangle $((count / 10)) | tee "$work/demangled.txt"
awk '{ n += $3; for (i = 4; i <= NF; i++) { split($i, kv, "="); c[kv[1]] += kv[2] } }
     END { printf "%d addresses of %d files:", n, NR; for (k in c) printf " %s=%d", k, c[k]; print "" }' "$work/raw.txt"
sed 's/^/not built: /' "$work/skipped"
[ ! -e "$work/failed" ] || { echo "unexplained differences in:"; sort -u "$work/failed"; exit 1; }
