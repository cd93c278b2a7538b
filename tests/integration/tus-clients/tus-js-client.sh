#!/usr/bin/env bash
# tus-js-client against a running server:  tus-js-client.sh URL KEY_FILE
# Installs the client first, if it is not the one of the lock file. Needs Node 18 or later and the npm
# registry.
set -euo pipefail
cd "$(dirname "$0")"
cmp -s package-lock.json node_modules/.installed ||
    { npm ci --no-progress >/dev/null && cp package-lock.json node_modules/.installed; }
exec node tus-js-client.mjs "$@"
