#!/usr/bin/env bash
# The one list of Debian packages, by purpose, and their installer.
#   deploy/packages.sh build run        installs what is missing (root or sudo); quick when nothing is
#   deploy/packages.sh --list build     prints the names
# Purposes: build (compile), run (private PostgreSQL, demo game), service (libraries of the installed
# programs), test (tests/run.sh), containers (tests/e2e/compose.sh, fresh.sh), bench (tests/bench).
# Needs Debian 12 and its package mirror. Starts no service.
set -euo pipefail

packages() {
    case $1 in
    build) echo gcc libc6-dev cmake ninja-build pkg-config protobuf-c-compiler libmicrohttpd-dev \
        libpq-dev libzstd-dev libjansson-dev libprotobuf-c-dev libcurl4-openssl-dev libssl-dev \
        libiberty-dev zlib1g-dev liblzma-dev libzip-dev libegl-dev libgles-dev nodejs npm zstd ca-certificates ;;
    service) echo libmicrohttpd12 libpq5 libzstd1 libjansson4 libprotobuf-c1 libcurl4 libssl3 zlib1g liblzma5 libzip4 \
        ca-certificates ;;
    run) echo postgresql-15 postgresql-client-15 libegl1 libegl-mesa0 libgles2 libgl1-mesa-dri curl jq \
        util-linux ;;
    test) echo git g++ clang clang-format llvm lld llvm-19 clang-19 lld-19 libclang-rt-14-dev libcmocka-dev valgrind libc6-dbg protobuf-compiler gcc-aarch64-linux-gnu libc6-dev-arm64-cross libc6-dev-armhf-cross qemu-user libvulkan-dev mesa-vulkan-drivers mono-mcs mono-runtime \
        binutils nodejs npm chromium jq curl python3 python3-tuspy prometheus prometheus-alertmanager procps ;;
    containers) echo podman podman-compose buildah runc debootstrap netavark aardvark-dns iptables jq curl ;;
    bench) echo nodejs npm ;;
    *) die "no such purpose: $1 (build run service test containers bench)" ;;
    esac
}

die() {
    echo "packages: $*" >&2
    exit 1
}

# nodejs and npm may come from elsewhere in a newer version; then Debian's stay out of the way.
present() {
    case $1 in
    nodejs) command -v node >/dev/null && return 0 ;;
    npm) command -v npm >/dev/null && return 0 ;;
    esac
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Percent of apt's status lines on a terminal, silence elsewhere.
progress() {
    local kind pct text
    while IFS=: read -r kind _ pct text; do
        [ -t 2 ] || continue
        case $kind in dlstatus | pmstatus) printf '\r\033[Kpackages: %3.0f %% %.60s' "$pct" "$text" >&2 ;; esac
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

apt() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
        -o Dpkg::Lock::Timeout=120 "$@"
}

[ $# -gt 0 ] || die "usage: deploy/packages.sh [--list] build|run|service|test|containers|bench …"
list=false
if [ "$1" = --list ]; then
    list=true
    shift
fi
wanted=()
for purpose in "$@"; do
    read -ra names <<<"$(packages "$purpose")"
    wanted+=("${names[@]}")
done
if $list; then
    printf '%s\n' "${wanted[@]}" | sort -u
    exit 0
fi

# A system described as something else would get half of these packages under other names.
( . /etc/os-release 2>/dev/null && [ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 12 ] ) ||
    die "this needs Debian 12 (bookworm); /etc/os-release says '$(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-unknown}")'"

missing=()
for name in $(printf '%s\n' "${wanted[@]}" | sort -u); do
    present "$name" || missing+=("$name")
done
[ ${#missing[@]} -gt 0 ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "missing: ${missing[*]}. Install them as root, or install sudo"
    sudo=sudo
fi

log=$(mktemp)
trap 'rm -f "$log"; [ -z "${policy:-}" ] || $sudo rm -f "$policy"' EXIT
echo "packages: installing ${#missing[@]} from Debian: ${missing[*]}" >&2

apt update >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    die "the package mirror does not answer; is this machine online?"
}
grep -q '^E:\|^W: Failed to fetch' "$log" && {
    grep '^[EW]:' "$log" | head -n 5 >&2
    die "the package mirror does not answer; is this machine online?"
}

# Packages of servers (postgresql, prometheus) start them at once; here nobody wants that.
if [ ! -e /usr/sbin/policy-rc.d ]; then
    policy=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
    $sudo chmod 755 "$policy"
fi
# Nor a database cluster in /var/lib/postgresql.
if [[ " ${missing[*]} " == *" postgresql-15 "* ]] && ! present postgresql-common; then
    apt install --no-install-recommends postgresql-common >"$log" 2>&1 || {
        tail -n 15 "$log" >&2
        die "postgresql-common could not be installed"
    }
    $sudo sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' \
        /etc/postgresql-common/createcluster.conf
fi
apt install --no-install-recommends -o APT::Status-Fd=3 "${missing[@]}" \
    3> >(progress) >"$log" 2>&1 || {
    tail -n 15 "$log" >&2
    die "apt-get could not install: ${missing[*]}"
}
for name in "${missing[@]}"; do
    present "$name" || die "$name is still missing after the installation"
done
