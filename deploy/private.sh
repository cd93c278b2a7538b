# Private services in a folder of their own, for deploy/quickstart.sh and the tests: a PostgreSQL
# cluster on a unix socket only, and framewatchd on a loopback port. Sourced, not run:
#   . deploy/private.sh
#   private_begin DIR                  chooses whom to run as; makes DIR
#   private_pg_start [CONF_LINE…]
#   private_server_start BIN PORT [ARG…]
#   private_server_stop, private_pg_stop
# FW_DB then names the database for framewatch and framewatchd. Each function prints a
# message on stderr and returns 1 on failure. PostgreSQL refuses to run as root: started by root, both
# run as its system user `postgres`.

private_die() {
    echo "$*" >&2
    return 1
}

private_bin=/usr/lib/postgresql/15/bin

# How to run a command as the services' user, in private_as.
private_begin() { # DIR
    local grant='' try
    private_dir=$1
    mkdir -p "$private_dir" || return 1
    private_dir=$(cd "$private_dir" && pwd) || return 1
    private_as=()
    if [ "$(id -u)" = 0 ]; then
        id postgres >/dev/null 2>&1 || { private_die "no system user postgres: is postgresql-15 installed?"; return 1; }
        # A checkout under a closed home (/root) is out of reach for another user, unless it may
        # search folders that are not its own.
        for try in '' dac_read_search dac_override; do
            private_as=(setpriv --reuid=postgres --regid=postgres --init-groups)
            [ -z "$try" ] || private_as+=(--inh-caps "+$try" --ambient-caps "+$try")
            # cd, for access(2) would look at the user alone
            "${private_as[@]}" sh -c 'cd "$1"' sh "$private_dir" 2>/dev/null && grant=yes && break
        done
        [ -n "$grant" ] || { private_die "user postgres cannot reach $private_dir: clone into a folder open to all, such as /opt or /srv"; return 1; }
    fi
    mkdir -p "$private_dir"/{log,run,keys,demo} || return 1
    chmod 711 "$private_dir" && chmod 700 "$private_dir"/{run,keys,demo}
    [ ${#private_as[@]} -eq 0 ] || chown postgres "$private_dir"/{log,run,keys,demo} || return 1

    # A socket's path holds 107 bytes.
    private_socket=$private_dir/run
    if [ ${#private_socket} -gt 85 ]; then
        private_socket=$(cat "$private_dir/socket_dir" 2>/dev/null || true)
        [ -d "$private_socket" ] || {
            private_socket=$("${private_as[@]}" mktemp -d /tmp/framewatch-XXXXXX) || return 1
            echo "$private_socket" >"$private_dir/socket_dir"
        }
    fi
    export FW_DB="host=$private_socket user=framewatch dbname=framewatch"
}

private_pg_pid() {
    local pid
    pid=$(head -n 1 "$private_dir/pg/postmaster.pid" 2>/dev/null) && kill -0 "$pid" 2>/dev/null &&
        grep -qa postgres "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"
}

private_psql() {
    "${private_as[@]}" psql -X -q -v ON_ERROR_STOP=1 -h "$private_socket" -U framewatch "$@"
}

private_pg_start() { # CONF_LINE…
    local data=$private_dir/pg log=$private_dir/log/postgresql.log
    [ -x "$private_bin/postgres" ] || { private_die "no PostgreSQL 15 in $private_bin"; return 1; }
    if [ ! -s "$data/PG_VERSION" ]; then
        rm -rf "$data"
        mkdir -m 700 "$data" && { [ ${#private_as[@]} -eq 0 ] || chown postgres "$data"; } || return 1
        (cd "$private_dir" && "${private_as[@]}" "$private_bin/initdb" -D "$data" -U framewatch \
            --auth=trust -E UTF8 --locale=C.UTF-8 --no-instructions) >"$private_dir/log/initdb.log" 2>&1 || {
            tail -n 5 "$private_dir/log/initdb.log" >&2
            rm -rf "$data"
            private_die "PostgreSQL's cluster could not be made in $data"
            return 1
        }
    fi
    if [ -z "$(private_pg_pid)" ]; then
        {
            echo "listen_addresses = ''"
            echo "unix_socket_directories = '$private_socket'"
            echo "unix_socket_permissions = 0700"
            printf '%s\n' "$@"
        } | "${private_as[@]}" tee "$data/postgresql.auto.conf" >/dev/null
        (cd "$private_dir" && "${private_as[@]}" "$private_bin/pg_ctl" -D "$data" -l "$log" -w -t 300 start) \
            >/dev/null 2>&1 </dev/null || {
            tail -n 5 "$log" >&2
            private_die "PostgreSQL did not start; its log: $log"
            return 1
        }
    fi
    [ -n "$(private_psql -d postgres -Atc "SELECT 1 FROM pg_database WHERE datname = 'framewatch'")" ] ||
        private_psql -d postgres -c 'CREATE DATABASE framewatch' || {
        private_die "the database could not be made"
        return 1
    }
}

private_pg_stop() {
    [ -z "$(private_pg_pid)" ] ||
        (cd "$private_dir" && "${private_as[@]}" "$private_bin/pg_ctl" -D "$private_dir/pg" -m fast -w -t 300 stop) \
            >/dev/null 2>&1 </dev/null
}

private_server_pid() {
    local pid
    pid=$(cat "$private_dir/framewatchd.pid" 2>/dev/null) && kill -0 "$pid" 2>/dev/null &&
        grep -qa framewatchd "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"
}

private_port_taken() { # PORT
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# A file of 32 random bytes in hexadecimal, made once: install ids are stored hashed with it.
private_secret() {
    [ -s "$private_dir/keys/secret" ] || {
        (umask 077 && od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >"$private_dir/keys/secret") &&
            { [ ${#private_as[@]} -eq 0 ] || chown postgres "$private_dir/keys/secret"; }
    }
}

private_server_start() { # BIN PORT [ARG…]
    local bin=$1 port=$2 i pid log=$private_dir/log/framewatchd.log
    shift 2
    private_secret || return 1
    (
        cd "$private_dir" || exit 1
        FW_LISTEN=127.0.0.1:$port FW_SECRET_FILE=$private_dir/keys/secret \
            exec setsid "${private_as[@]}" "$bin" "$@" >>"$log" 2>&1 </dev/null
    ) &
    pid=$!
    disown "$pid" 2>/dev/null || true
    echo "$pid" >"$private_dir/framewatchd.pid"
    for ((i = 0; i < 1200; i++)); do
        kill -0 "$pid" 2>/dev/null || {
            tail -n 5 "$log" >&2
            private_die "framewatchd ended at once; its log: $log"
            return 1
        }
        [ "$(curl -s -m 10 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/readyz")" = 200 ] && return 0
        sleep 0.1
    done
    tail -n 5 "$log" >&2
    private_die "framewatchd is not ready after 120 s; its log: $log"
}

# A process that has ended but that nobody has waited for (PID 1 of a container may be no init) is gone.
private_runs() { # PID
    kill -0 "$1" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
}

private_server_stop() {
    local pid i
    pid=$(private_server_pid) || return 0
    kill -TERM "$pid" 2>/dev/null || true
    for ((i = 0; i < 600; i++)); do
        private_runs "$pid" || break
        sleep 0.1
    done
    rm -f "$private_dir/framewatchd.pid"
    ! private_runs "$pid" || ! kill -KILL "$pid" 2>/dev/null || private_die "framewatchd did not end within 60 s and was killed"
}
