#!/usr/bin/env bash
# Lints the API's document with Redocly's recommended rules. Installs the linter first, if it is not
# the one of the lock file. Needs Node 18 or later and the npm registry.
set -euo pipefail
cd "$(dirname "$0")"
cmp -s package-lock.json node_modules/.installed ||
    { npm ci --no-progress >/dev/null && cp package-lock.json node_modules/.installed; }
npm run --silent lint
