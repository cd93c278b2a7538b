#!/usr/bin/env bash
# Compares `framewatch symbols lookup` with llvm-symbolizer, line by line, over random addresses of real files.
#   tests/symbols/differential.sh FRAMEWATCH [ADDRESSES [FOLDER [FILE ARCH ORACLE-VERSION]…]]
# ADDRESSES in all, spread over the files: 200,000. Below that the files are built small: calls are inlined 6 deep
# instead of 12. They are built once and kept in FOLDER; each FILE is compared as well. SEED may be set.
# Last line: N passed, N failed, N skipped, by files; skipped are those whose tools are not installed. Exit 1 when a
# difference has no explanation in docs/symbols.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
framewatch=$(realpath "${1:?usage: differential.sh FRAMEWATCH [ADDRESSES [FOLDER [FILE ARCH VERSION]...]]}")
addresses=${2:-200000} work=${3:-}
shift $(($# < 3 ? $# : 3))
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
work=$(realpath -m "${work:-$scratch/files}")
mkdir -p "$work"
export PYTHONDONTWRITEBYTECODE=1
depth=12
[ "$addresses" -ge 200000 ] || depth=6
"$here/build.sh" "$work" "$depth" >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 2; }
cp "$work/list" "$work/all"
while [ $# -ge 3 ]; do
    echo "$(realpath "$1") $2 $3" >>"$work/all"
    shift 3
done
files=$(wc -l <"$work/all")
[ "$files" -gt 0 ] || { echo "no file could be built"; exit 2; }
rc=0
"$here/compare.py" "$framewatch" "$work/all" $(((addresses + files - 1) / files)) "${SEED:-1}" >"$work/compared" || rc=$?
sed '$d' "$work/compared"
sed 's/^/not built: /' "$work/skipped"
echo "$(tail -n 1 "$work/compared"), $(wc -l <"$work/skipped") skipped"
exit "$rc"
