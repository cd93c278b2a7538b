#!/usr/bin/env bash
# tuspy (Debian's python3-tuspy) against a running server:  tuspy.sh URL KEY_FILE
set -euo pipefail
exec /usr/bin/python3 "$(dirname "$0")/tuspy.py" "$@"
