#!/usr/bin/env bash
# Makes the secrets that docker-compose.yml hands to its services, once; existing ones stay.
#   var/secrets/db_password     of PostgreSQL
#   var/secrets/server_secret   keys the hash under which install ids are stored, and the ids of uploads:
#                               losing it means that old and new sessions of a player no longer meet
# The folder is closed to others; the files in it can be read inside the containers, whose user is
# another one than yours.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p var/secrets
chmod 700 var/secrets
for name in db_password server_secret; do
    file=var/secrets/$name
    [ ! -s "$file" ] || continue
    od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >"$file"
    chmod 444 "$file"
    echo "made $file" >&2
done
