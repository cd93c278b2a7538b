#!/usr/bin/env bash
# Checks that docs/decisions/README.md lists every decision once, by its title, and nothing else.
#   cmake/decisions.sh [ROOT]    prints each difference; exit 1 if there is one
set -euo pipefail
cd "${1:-$(cd "$(dirname "$0")/.." && pwd)}/docs/decisions"

# "- [12](0012-a-page-a-row.md) Bytes of uploads are stored a page a row"
lines=$(for file in [0-9][0-9][0-9][0-9]-*.md; do
    title=$(head -n 1 "$file" | sed -E 's/^# +([0-9]+\. +)?//')
    echo "- [$((10#${file:0:4}))]($file) $title"
done)
listed=$(grep -E '^- \[[0-9]+\]\(' README.md || true)
lacking=$(sort <<<"$lines" | comm -23 - <(sort <<<"$listed"))
strange=$(sort <<<"$lines" | comm -13 - <(sort <<<"$listed"))
[ -z "$lacking" ] || printf 'docs/decisions/README.md lacks, below the heading of its theme:\n%s\n' "$lacking" >&2
[ -z "$strange" ] || printf 'docs/decisions/README.md has what is no decision, not its title, or there twice:\n%s\n' "$strange" >&2
[ -z "$lacking$strange" ] || exit 1
echo "decisions: $(wc -l <<<"$lines") listed"
