#!/usr/bin/env bash
# Both commands of README.md in a bare Debian 12 container, from a clean clone of this repository.
#   tests/e2e/fresh.sh              deploy/quickstart.sh --once, again, then tests/run.sh
#   tests/e2e/fresh.sh quickstart   the first only
# Root; uses podman as containers.sh sets it up. The container shares the host's network, so that it
# reaches the same package mirror and npm registry.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
eval "$("$here/containers.sh")"

work=$(mktemp -d /tmp/framewatch-fresh-XXXXXX)
name=framewatch-fresh-$$
cleanup() {
    podman rm -f -t 2 "$name" >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
git clone -q "$root" "$work/framewatch"

settings=()
if command -v npm >/dev/null; then
    settings+=(-e "NPM_CONFIG_REGISTRY=$(npm config get registry)")
fi
# seccomp=unconfined: ThreadSanitizer asks for the classic memory layout (personality).
podman run -d --name "$name" --network=host --security-opt seccomp=unconfined --cap-add=SYS_PTRACE \
    "${settings[@]}" -v "$work/framewatch:/srv/framewatch" \
    docker.io/library/debian:bookworm-slim sleep 7200 >/dev/null
inside() { podman exec -w /srv/framewatch "$name" "$@"; }

echo "== deploy/quickstart.sh --once, first time"
first=$(inside deploy/quickstart.sh --once --port "${FW_FRESH_PORT:-17070}" | tail -n 1)
echo "$first"
jq -e '.frames > 0 and .janks > 0 and .parts > 0' <<<"$first" >/dev/null

echo "== again"
began=$SECONDS
inside deploy/quickstart.sh --once --port "${FW_FRESH_PORT:-17070}" | tail -n 1
echo "in $((SECONDS - began)) s"

if [ "${1:-all}" != quickstart ]; then
    echo "== tests/run.sh"
    inside tests/run.sh
fi
