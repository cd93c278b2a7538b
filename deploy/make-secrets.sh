#!/usr/bin/env bash
# Makes the secrets that docker-compose.yml hands to its services, once; existing ones stay.
#   var/secrets/db_password    of PostgreSQL
#   var/secrets/server_secret  keys the hash under which install ids are stored, and the ids of
#                              uploads: without it old and new sessions of a player no longer meet
# The folder is closed to others; the files in it can be read inside the containers, whose user is
# another one than yours.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p var/secrets
chmod 700 var/secrets
make() { # NAME, contents on stdin
    local file=var/secrets/$1
    cat >"$file.new"
    chmod 444 "$file.new"
    mv "$file.new" "$file"
    echo "made $file" >&2
}
for name in db_password server_secret; do
    [ -s "var/secrets/$name" ] || od -An -tx1 -N32 /dev/urandom | tr -d ' \n' | make "$name"
done
