#include "support/pg.h"

#include "base/buf.h"
#include "base/digest.h"
#include "migrations.h"
#include "server/db/db.h"
#include "server/db/migrate.h"

#include <libpq-fe.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define START_SECONDS 60
#define TEMPLATE_LOCK "SELECT pg_advisory_lock(hashtext('framewatch.test.template'))"

static struct {
    bool running;
    bool shared; /* the server of FW_TEST_PG */
    pid_t postmaster, guard;
    int guard_pipe;
    char folder[64]; /* of our own: data/ and the socket */
    char socket[108];
    char bin[128];
    char template_db[64];
    unsigned next_db;
} pg;

/* Processes ---------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    remove(path);
    return 0;
}

static bool find_bin(struct err *err)
{
    const char *named = getenv("FW_PG_BIN");
    glob_t found;

    if (named) {
        snprintf(pg.bin, sizeof pg.bin, "%s", named);
        return true;
    }
    if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) != 0 || found.gl_pathc == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no /usr/lib/postgresql/*/bin: is PostgreSQL installed?"
                       " (FW_PG_BIN names another folder)");
    snprintf(pg.bin, sizeof pg.bin, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return true;
}

/* PostgreSQL refuses to run as root: root becomes `postgres`. */
static bool server_user(uid_t *uid, gid_t *gid, struct err *err)
{
    *uid = geteuid();
    *gid = getegid();
    if (*uid != 0)
        return true;

    const struct passwd *user = getpwnam("postgres");

    if (!user)
        return err_set(err, ERR_NOT_FOUND, "running as root and there is no user postgres");
    *uid = user->pw_uid;
    *gid = user->pw_gid;
    return true;
}

/* In a child: become the server's user, write to the log, die with the parent, run. */
static void become(const char *const *argv)
{
    char log[128];
    struct err err;
    uid_t uid;
    gid_t gid;

    if (!server_user(&uid, &gid, &err))
        _exit(126);
    if (geteuid() == 0 && (setgroups(1, &gid) != 0 || setgid(gid) != 0 || setuid(uid) != 0))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT); /* after setuid, which clears it */
    setpgid(0, 0);                    /* a terminal's ^C is for the test program */
    snprintf(log, sizeof log, "%s/log", pg.folder);

    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

    if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(126);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static pid_t spawn(const char *const *argv)
{
    fflush(NULL);

    pid_t pid = fork();

    if (pid == 0)
        become(argv);
    return pid;
}

static void nap(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static pid_t read_postmaster_pid(void)
{
    char path[128], line[32] = "";
    snprintf(path, sizeof path, "%s/data/postmaster.pid", pg.folder);

    FILE *f = fopen(path, "r");

    if (!f)
        return 0;
    if (!fgets(line, sizeof line, f))
        line[0] = '\0';
    fclose(f);
    return (pid_t)strtol(line, NULL, 10);
}

/* The guard outlives the test program by as long as it takes to stop the server (whichever restart
 * of it) and to remove its folder. */
static void guard(int pipe_end)
{
    char byte;

    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    while (read(pipe_end, &byte, 1) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < 100; i++) {
        pid_t pid = read_postmaster_pid();

        if (pid <= 0 || kill(pid, 0) != 0)
            break;
        kill(pid, i < 50 ? SIGQUIT : SIGKILL);
        nap(20);
    }
    nftw(pg.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    _exit(0);
}

static bool start_guard(struct err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_INTERNAL, "pipe: %s", strerror(errno));
    fflush(NULL);
    pg.guard = fork();
    if (pg.guard == 0) {
        close(ends[1]);
        guard(ends[0]);
    }
    close(ends[0]);
    pg.guard_pipe = ends[1];
    return pg.guard > 0 || err_set(err, ERR_INTERNAL, "fork: %s", strerror(errno));
}

/* Starting ----------------------------------------------------------------------------------- */

static bool make_folder(struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    uid_t uid;
    gid_t gid;

    if (!server_user(&uid, &gid, err))
        return false;
    /* a socket's path has 107 characters at most */
    snprintf(pg.folder, sizeof pg.folder, "%s/fw-pg-XXXXXX",
             tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (!mkdtemp(pg.folder))
        return err_set(err, ERR_INTERNAL, "%s: %s", pg.folder, strerror(errno));
    if (geteuid() == 0 && chown(pg.folder, uid, gid) != 0)
        return err_set(err, ERR_INTERNAL, "%s: %s", pg.folder, strerror(errno));
    snprintf(pg.socket, sizeof pg.socket, "%s", pg.folder);
    return true;
}

static bool run_initdb(struct err *err)
{
    char tool[160], data[96];
    int status = 0;

    snprintf(tool, sizeof tool, "%s/initdb", pg.bin);
    snprintf(data, sizeof data, "%s/data", pg.folder);

    const char *argv[] = {tool, "-D", data,   "-U",         "postgres",          "--auth=trust",
                          "-N", "-E", "UTF8", "--locale=C", "--no-instructions", NULL};
    pid_t pid = spawn(argv);

    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return err_set(err, ERR_INTERNAL, "initdb failed (status %d)", status);
    return true;
}

static bool write_config(struct pg_options options, struct err *err)
{
    const char *on = options.fsync ? "on" : "off";
    char path[96];

    snprintf(path, sizeof path, "%s/data/postgresql.conf", pg.folder);

    FILE *f = fopen(path, "a");

    if (!f)
        return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    fprintf(f,
            "listen_addresses = ''\nunix_socket_directories = '%s'\nfsync = %s\n"
            "synchronous_commit = %s\nfull_page_writes = %s\nshared_buffers = 64MB\n"
            "max_connections = 100\nmax_wal_size = 1GB\nlog_min_messages = fatal\n"
            "jit = off\ntimezone = 'UTC'\n%s\n",
            pg.socket, on, on, on, options.extra ? options.extra : "");
    return fclose(f) == 0 || err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
}

static void conninfo_of(const char *dbname, char out[PG_CONNINFO_BYTES])
{
    snprintf(out, PG_CONNINFO_BYTES, "host=%s port=5432 user=postgres dbname=%s", pg.socket,
             dbname);
}

/* The log goes with its folder: what PostgreSQL said last. */
static void last_words(char out[200])
{
    char path[128];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/log", pg.folder);
    f = fopen(path, "r");
    if (f) {
        if (fseek(f, -199, SEEK_END) != 0)
            rewind(f);
        n = fread(out, 1, 199, f);
        fclose(f);
    }
    out[n] = '\0';
}

static bool wait_until_ready(struct err *err)
{
    char conninfo[PG_CONNINFO_BYTES];

    conninfo_of("postgres", conninfo);
    for (int i = 0; i < START_SECONDS * 50; i++) {
        bool ready = PQping(conninfo) == PQPING_OK;
        int status;

        if (ready)
            return true;
        if (waitpid(pg.postmaster, &status, WNOHANG) == pg.postmaster) {
            char words[200];

            last_words(words);
            return err_set(err, ERR_INTERNAL, "postgres ended at once (status %d): %s", status,
                           words);
        }
        nap(20);
    }
    return err_set(err, ERR_INTERNAL, "postgres does not answer after %d s", START_SECONDS);
}

static bool start_postmaster(struct err *err)
{
    char tool[160], data[96];

    snprintf(tool, sizeof tool, "%s/postgres", pg.bin);
    snprintf(data, sizeof data, "%s/data", pg.folder);

    const char *argv[] = {tool, "-D", data, NULL};

    pg.postmaster = spawn(argv);
    if (pg.postmaster < 0)
        return err_set(err, ERR_INTERNAL, "fork: %s", strerror(errno));
    return wait_until_ready(err);
}

static bool start_own(struct pg_options options, struct err *err)
{
    return find_bin(err) && make_folder(err) && start_guard(err) && run_initdb(err) &&
           write_config(options, err) && start_postmaster(err);
}

bool pg_start(struct pg_options options, struct err *err)
{
    const char *shared = getenv("FW_TEST_PG");
    static bool registered;

    if (pg.running)
        return true;
    pg.shared = shared && *shared && !options.own;
    if (!registered)
        atexit(pg_stop);
    registered = true;
    pg.running = true;
    if (pg.shared) {
        snprintf(pg.socket, sizeof pg.socket, "%s", shared);
        return true;
    }
    return start_own(options, err);
}

void pg_stop(void)
{
    if (!pg.running)
        return;
    pg.running = false;
    pg.template_db[0] = '\0';
    if (pg.shared)
        return;
    if (pg.guard > 0) {
        close(pg.guard_pipe);
        waitpid(pg.guard, NULL, 0);
    }
    if (pg.postmaster > 0)
        waitpid(pg.postmaster, NULL, 0);
    pg.guard = pg.postmaster = 0;
}

int pg_group_setup(void **state)
{
    struct err err;

    (void)state;
    if (pg_start((struct pg_options){0}, &err))
        return 0;
    fprintf(stderr, "pg: %s\n", err.text);
    return -1;
}

int pg_group_teardown(void **state)
{
    (void)state;
    pg_stop();
    return 0;
}

/* Ad-hoc SQL --------------------------------------------------------------------------------- */

static PGresult *must(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(res);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        fprintf(stderr, "pg: %s\n  in: %.300s\n", PQerrorMessage(conn), sql);
        PQclear(res);
        PQfinish(conn);
        fail_msg("SQL failed");
    }
    return res;
}

static PGconn *must_connect(const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo);

    if (PQstatus(conn) != CONNECTION_OK) {
        fprintf(stderr, "pg: %s\n", PQerrorMessage(conn));
        PQfinish(conn);
        fail_msg("no connection to the test database");
    }
    PQclear(PQexec(conn, "SET client_min_messages = warning"));
    return conn;
}

static PGresult *query(const char *conninfo, const char *fmt, va_list ap, PGconn **conn)
{
    char *sql = NULL;

    if (vasprintf(&sql, fmt, ap) < 0)
        fail_msg("out of memory");
    *conn = must_connect(conninfo);

    PGresult *res = must(*conn, sql);

    free(sql);
    return res;
}

void pg_sql(const char *conninfo, const char *fmt, ...)
{
    PGconn *conn;
    va_list ap;

    va_start(ap, fmt);
    PQclear(query(conninfo, fmt, ap, &conn));
    va_end(ap);
    PQfinish(conn);
}

int64_t pg_i64(const char *conninfo, const char *fmt, ...)
{
    PGconn *conn;
    va_list ap;

    va_start(ap, fmt);

    PGresult *res = query(conninfo, fmt, ap, &conn);
    int64_t value = PQntuples(res) > 0 ? strtoll(PQgetvalue(res, 0, 0), NULL, 10) : 0;

    va_end(ap);
    PQclear(res);
    PQfinish(conn);
    return value;
}

char *pg_rows(const char *conninfo, const char *fmt, ...)
{
    struct buf text;
    PGconn *conn;
    va_list ap;
    size_t len;

    va_start(ap, fmt);

    PGresult *res = query(conninfo, fmt, ap, &conn);

    va_end(ap);
    buf_init(&text, 1u << 30);
    for (int r = 0; r < PQntuples(res); r++)
        for (int c = 0; c < PQnfields(res); c++) {
            buf_text(&text, PQgetisnull(res, r, c) ? "NULL" : PQgetvalue(res, r, c));
            buf_byte(&text, c + 1 < PQnfields(res) ? '|' : '\n');
        }
    buf_byte(&text, '\0');
    PQclear(res);
    PQfinish(conn);
    return (char *)buf_steal(&text, &len);
}

/* Databases ---------------------------------------------------------------------------------- */

/* Named after the migrations' text, so that a shared server never hands out an old schema. */
static void name_template(char out[64])
{
    struct digest *d = digest_new(DIGEST_SHA256);
    unsigned char hash[SHA256_BYTES];
    char hex[17];

    assert_non_null(d);
    for (int i = 0; i < MIGRATION_COUNT; i++)
        digest_add(d, migration_text[i], strlen(migration_text[i]));
    digest_end(d, hash);
    digest_free(d);
    to_hex(hash, 8, hex);
    snprintf(out, 64, "fw_template_%s", hex);
}

static void migrate_template(const char *name)
{
    char conninfo[PG_CONNINFO_BYTES];
    struct err err;

    conninfo_of(name, conninfo);

    struct db *db = db_open(conninfo, &err);

    if (!db || !migrate_run(db, NULL, &err))
        fail_msg("template database: %s", err.text);
    db_close(db);
}

static void make_template(void)
{
    char admin[PG_CONNINFO_BYTES], sql[256], name[64], half[72];

    if (pg.template_db[0])
        return;
    name_template(name);
    snprintf(half, sizeof half, "%s_new", name);
    conninfo_of("postgres", admin);

    PGconn *conn = must_connect(admin); /* holds the lock over several statements */

    PQclear(must(conn, TEMPLATE_LOCK));
    snprintf(sql, sizeof sql, "SELECT FROM pg_database WHERE datname = '%s'", name);

    PGresult *res = must(conn, sql);
    bool exists = PQntuples(res) > 0;

    PQclear(res);
    if (!exists) {
        /* renamed when whole: one cut short is never cloned */
        snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s", half);
        PQclear(must(conn, sql));
        snprintf(sql, sizeof sql, "CREATE DATABASE %s", half);
        PQclear(must(conn, sql));
        migrate_template(half);
        snprintf(sql, sizeof sql, "ALTER DATABASE %s RENAME TO %s", half, name);
        PQclear(must(conn, sql));
    }
    PQfinish(conn);
    snprintf(pg.template_db, sizeof pg.template_db, "%s", name);
}

static void create_db(const char *template_db, char conninfo[PG_CONNINFO_BYTES])
{
    char admin[PG_CONNINFO_BYTES], name[64];

    if (!pg.running)
        fail_msg("pg_start() first, or the group fixture pg_group_setup");
    conninfo_of("postgres", admin);
    snprintf(name, sizeof name, "fw_test_%ld_%u", (long)getpid(), pg.next_db++);
    pg_sql(admin, "DROP DATABASE IF EXISTS %s WITH (FORCE)", name);
    pg_sql(admin, "CREATE DATABASE %s TEMPLATE %s", name, template_db);
    conninfo_of(name, conninfo);
}

void pg_test_db(char conninfo[PG_CONNINFO_BYTES])
{
    make_template();
    create_db(pg.template_db, conninfo);
}

void pg_empty_db(char conninfo[PG_CONNINFO_BYTES])
{
    create_db("template1", conninfo);
}

static const char *name_in(const char *conninfo)
{
    const char *at = strstr(conninfo, "dbname=");

    assert_non_null(at);
    return at + strlen("dbname=");
}

void pg_drop_db(const char *conninfo)
{
    char admin[PG_CONNINFO_BYTES];

    conninfo_of("postgres", admin);
    pg_sql(admin, "DROP DATABASE IF EXISTS %s WITH (FORCE)", name_in(conninfo));
}

void pg_end_backends(const char *conninfo)
{
    char admin[PG_CONNINFO_BYTES];

    conninfo_of("postgres", admin);
    pg_sql(admin,
           "SELECT pg_terminate_backend(pid, 120000) FROM pg_stat_activity WHERE datname = '%s'",
           name_in(conninfo));
}

void pg_admit(const char *conninfo, bool on)
{
    char admin[PG_CONNINFO_BYTES];

    conninfo_of("postgres", admin);
    pg_sql(admin, "ALTER DATABASE %s ALLOW_CONNECTIONS %s", name_in(conninfo),
           on ? "true" : "false");
}

/* Crashes ------------------------------------------------------------------------------------ */

struct proc {
    pid_t pid, parent;
    char state;             /* as proc(5) has it: T stopped, Z ended and not waited for */
    double cpu_s, buried_s; /* own, and of children it has waited for */
};

static bool read_proc(const char *name, struct proc *out)
{
    char path[300], line[1024] = "";
    long pid = strtol(name, NULL, 10), parent;
    unsigned long t[4];
    char state;
    FILE *f;

    if (pid <= 0)
        return false;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    f = fopen(path, "r");
    if (!f)
        return false;
    if (!fgets(line, sizeof line, f))
        line[0] = '\0';
    fclose(f);

    const char *after = strrchr(line, ')'); /* the name before it may hold anything */
    double tick = (double)sysconf(_SC_CLK_TCK);

    if (!after || sscanf(after, ") %c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
                         &state, &parent, &t[0], &t[1], &t[2], &t[3]) != 6)
        return false;
    *out = (struct proc){(pid_t)pid, (pid_t)parent, state, (double)(t[0] + t[1]) / tick,
                         (double)(t[2] + t[3]) / tick};
    return true;
}

static void each_proc(void (*visit)(const struct proc *p, double *sum), double *sum)
{
    DIR *proc = opendir("/proc");
    struct proc p;

    assert_non_null(proc);
    for (struct dirent *e; (e = readdir(proc));)
        if (read_proc(e->d_name, &p))
            visit(&p, sum);
    closedir(proc);
}

static void add_cpu(const struct proc *p, double *sum)
{
    if (p->pid == pg.postmaster)
        *sum += p->cpu_s + p->buried_s;
    else if (p->parent == pg.postmaster)
        *sum += p->cpu_s;
}

double pg_cpu_s(void)
{
    double sum = 0;

    each_proc(add_cpu, &sum);
    return sum;
}

static void count_awake(const struct proc *p, double *sum)
{
    *sum += p->pid == pg.postmaster && p->state != 'T';
}

/* Backends notice the postmaster's death by themselves, but only when they wait: killing them too
 * is what pulling the plug does. */
static void kill_child(const struct proc *p, double *sum)
{
    if (p->parent != pg.postmaster || p->state == 'Z')
        return;
    kill(p->pid, SIGKILL);
    *sum += 1;
}

static void repeat_until_none(void (*visit)(const struct proc *p, double *sum))
{
    for (int i = 0; i < START_SECONDS * 1000; i++) {
        double left = 0;

        each_proc(visit, &left);
        if (left == 0)
            return;
        nap(1);
    }
    fail_msg("a process of PostgreSQL survives SIGKILL");
}

/* The postmaster is stopped first, lest it starts the children again; they are gone before it is,
 * for a new one refuses memory that a process of the old one still holds. */
void pg_kill9(void)
{
    if (pg.shared || pg.postmaster <= 0)
        fail_msg("pg_kill9 needs a server of its own: pg_start({.own = true})");
    kill(pg.postmaster, SIGSTOP);
    repeat_until_none(count_awake);
    repeat_until_none(kill_child);
    kill(pg.postmaster, SIGKILL);
    waitpid(pg.postmaster, NULL, 0);
    pg.postmaster = 0;
}

void pg_restart(void)
{
    struct err err;

    if (pg.postmaster > 0)
        pg_kill9();
    if (!start_postmaster(&err))
        fail_msg("%s", err.text);
}
