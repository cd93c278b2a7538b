#!/usr/bin/env bash
# Makes Dockerfile and docker-compose.yml run where no image registry can be reached: podman from Debian,
# and the two base images made from Debian packages under the names those files use:
#   docker.io/library/debian:bookworm-slim    a minimal Debian 12
#   docker.io/library/postgres:15-bookworm    PostgreSQL 15 with the official image's POSTGRES_USER,
#                                             POSTGRES_PASSWORD(_FILE), POSTGRES_DB and PGDATA
# An image that is already there, or that the registry gives, is used as it is.
#   eval "$(tests/e2e/containers.sh)"     then podman, podman-compose
# Root only. Some minutes the first time, a second afterwards. Messages go to stderr.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${FW_CONTAINERS_WORK:-/var/tmp/framewatch-containers}
log=$work/log

die() {
    echo "containers: $*" >&2
    [ ! -s "$log" ] || tail -n 15 "$log" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || { echo "containers: this needs root" >&2; exit 1; }
mkdir -p "$work"
: >"$log"
"$here/../../deploy/packages.sh" containers >&2 || die "podman could not be installed"

# runc and plain cgroups: for machines without systemd and inside other containers. netavark: containers
# find each other by name.
cat >"$work/containers.conf" <<'C'
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
C
export CONTAINERS_CONF=$work/containers.conf BUILDAH_ISOLATION=chroot

debian_image() {
    local root=$work/root mirror
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
        grep -E '/debian/?$' | head -n 1)
    rm -rf "$root"
    debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror" >>"$log" 2>&1 ||
        die "debootstrap failed"
    # The authorities this machine trusts, so that package clients inside trust the same.
    mkdir -p "$root/usr/local/share/ca-certificates"
    cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
    chroot "$root" update-ca-certificates >>"$log" 2>&1
    tar -C "$root" -c . | podman import \
        --change 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt' \
        - docker.io/library/debian:bookworm-slim >>"$log" 2>&1 || die "the Debian image failed"
    rm -rf "$root"
}

postgres_image() {
    mkdir -p "$work/postgres"
    cat >"$work/postgres/docker-entrypoint.sh" <<'P'
#!/bin/sh
set -e
export PGDATA=${PGDATA:-/var/lib/postgresql/data}
user=${POSTGRES_USER:-postgres}
db=${POSTGRES_DB:-$user}
bin=/usr/lib/postgresql/15/bin
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA" /var/run/postgresql
    chown -R postgres "$PGDATA" /var/run/postgresql
    chmod 700 "$PGDATA"
    [ -z "$POSTGRES_PASSWORD_FILE" ] || POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    export POSTGRES_PASSWORD
    unset POSTGRES_PASSWORD_FILE
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    [ -n "$POSTGRES_PASSWORD" ] || { echo "POSTGRES_PASSWORD is not set" >&2; exit 1; }
    umask 077
    printf %s "$POSTGRES_PASSWORD" >/tmp/password
    $bin/initdb -U "$user" --pwfile=/tmp/password -A scram-sha-256 -E UTF8 >/dev/null
    rm /tmp/password
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    $bin/pg_ctl -w -o "-c listen_addresses=''" start >/dev/null
    [ "$db" = postgres ] ||
        PGPASSWORD=$POSTGRES_PASSWORD psql -U "$user" -d postgres -qc "CREATE DATABASE \"$db\""
    $bin/pg_ctl -w -m fast stop >/dev/null
fi
if [ "$1" = postgres ]; then shift; fi
exec $bin/postgres -c listen_addresses='*' "$@"
P
    chmod 755 "$work/postgres/docker-entrypoint.sh"
    cat >"$work/postgres/Dockerfile" <<'D'
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update -qq && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-15 && \
    rm -rf /var/lib/apt/lists/*
ENV PATH=/usr/lib/postgresql/15/bin:$PATH
COPY docker-entrypoint.sh /usr/local/bin/
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
EXPOSE 5432
STOPSIGNAL SIGINT
D
    buildah bud --isolation chroot -t docker.io/library/postgres:15-bookworm "$work/postgres" \
        >>"$log" 2>&1 || die "the PostgreSQL image failed"
}

image() { # NAME MAKER
    podman image exists "$1" && return
    timeout 60 podman pull -q "$1" >>"$log" 2>&1 && return
    echo "containers: making $1 from Debian packages" >&2
    "$2"
}
image docker.io/library/debian:bookworm-slim debian_image
image docker.io/library/postgres:15-bookworm postgres_image
echo "export CONTAINERS_CONF=$CONTAINERS_CONF BUILDAH_ISOLATION=chroot"
