/*
 * framewatchd: accepts uploads, answers the API and runs jobs, as its configuration says.
 *
 * This file wires the parts together and is the only one that knows the configuration.
 */
#include "server/api/api.h"
#include "server/config.h"
#include "server/db/migrate.h"
#include "server/http/log.h"
#include "server/http/server.h"
#include "server/jobs/symbols/index_file.h"
#include "server/jobs/worker.h"
#include "server/notify/notifier.h"
#include "server/web/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define FAMILIES_MS 5000 /* counts of stacks gather for so long */
#define MEGABYTE (1024 * 1024)
#define HEALTHCHECK_S 3
#define SYSTEMD_FIRST_FD 3
#define PUBLIC_URL_MAX 400 /* so that a Location has room */
#define OTHER_FILES 64     /* descriptors that are no connections */

extern char **environ;

/* What runs, in the order it is started; stopped in the other. */
struct service {
    struct config config;
    struct secret secret;
    struct context context;
    struct db_pool *pool;
    struct worker *worker;
    struct seal_key seal_key;
    struct notifier *notifier;
    struct http_server *http;
    size_t n_routes;
    struct route *routes; /* of a process without uploads: what watches it */
    char program[1024];   /* this one: it reads symbol files, as a child process */
};

static bool serves(const struct config *c)
{
    return strcmp(c->role, "worker") != 0;
}

static bool works(const struct config *c)
{
    return strcmp(c->role, "server") != 0;
}

static enum log_level level_of(const char *name)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum log_level)i;
    return LOG_INFO;
}

/* Database ----------------------------------------------------------------------------------------
 */

static bool read_password(const char *path, struct err *err)
{
    char password[1024] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, password, sizeof password - 1);

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return err_field(err, ERR_INVALID, "db_password_file", "cannot read %s: %s", path,
                         strerror(errno));
    password[strcspn(password, "\r\n")] = '\0';
    setenv("PGPASSWORD", password, 1);
    return true;
}

/* libpq takes from the environment what the connection string leaves open. */
static bool prepare_database(const struct config *c, struct err *err)
{
    char options[128];

    snprintf(options, sizeof options,
             "-c statement_timeout=%" PRId64 " -c idle_in_transaction_session_timeout=%" PRId64,
             c->db_statement_timeout_ms, c->db_statement_timeout_ms);
    setenv("PGOPTIONS", options, 0);
    setenv("PGCONNECT_TIMEOUT", "5", 0);
    setenv("PGAPPNAME", "framewatchd", 0);
    return !c->db_password_file[0] || read_password(c->db_password_file, err);
}

static bool check_schema(const struct config *c, struct err *err)
{
    struct db *db = db_open(c->db, err);
    bool ok = db && migrate_check(db, err);

    db_close(db);
    return ok;
}

static int migrate(const struct config *c, struct err *err)
{
    struct db *db;
    unsigned applied = 0;

    /* a migration may take long, so the limit on statements is not for it */
    setenv("PGOPTIONS", "", 1);
    db = db_open(c->db, err);
    if (!db || !migrate_run(db, &applied, err)) {
        db_close(db);
        return 1;
    }
    db_close(db);
    printf("%u migrations applied; the schema is that of framewatchd " FW_VERSION "\n", applied);
    return 0;
}

/* Parts ------------------------------------------------------------------------------------------
 */

static void log_worker(void *user, const char *line)
{
    (void)user;
    log_fields(LOG_INFO, "job", "%s", line);
}

static void wake_worker(void *user)
{
    struct service *s = user;

    if (s->worker)
        worker_wake(s->worker);
    notifier_wake(s->notifier);
}

/* Where this program lies: it reads symbol files, as a child of its own. */
static bool find_program(struct service *s, struct err *err)
{
    ssize_t n = readlink("/proc/self/exe", s->program, sizeof s->program - 1);

    s->program[n > 0 ? n : 0] = '\0';
    return n > 0 || err_set(err, ERR_INTERNAL, "/proc/self/exe: %s", strerror(errno));
}

static bool start_worker(struct service *s, struct err *err)
{
    const struct config *c = &s->config;

    if (!find_program(s, err))
        return false;

    struct worker_config w = worker_config_default(c->db);

    w.threads = works(c) ? (unsigned)c->worker_threads : 0;
    w.idle_ms = c->session_idle_ms;
    w.max_session_bytes = (size_t)c->session_parts_max_mb * MEGABYTE;
    w.lease_ms = c->job_lease_ms;
    w.max_attempts = c->job_attempts;
    w.index = (struct index_settings){.program = s->program,
                                      .memory_bytes = c->index_memory_mb * MEGABYTE,
                                      .cpu_s = c->index_cpu_s,
                                      .wall_ms = c->index_time_ms,
                                      .max_bytes = c->symbols_max_mb * MEGABYTE};
    w.cache_dir = c->cache_dir;
    w.cache_bytes = c->cache_mb * MEGABYTE;
    w.public_url = c->public_url;
    w.families_ms = FAMILIES_MS;
    w.retention.raw_days = (int)c->raw_days;
    w.retention.session_days = (int)c->session_days;
    w.log = log_worker;
    s->worker = worker_start(&w, err);
    s->context.worker = s->worker;
    return s->worker != NULL;
}

static void log_notifier(void *user, const char *line)
{
    (void)user;
    log_fields(LOG_INFO, "delivery", "%s", line);
}

/* Without the secret nothing can be sent: channels' tokens are sealed with it. */
static bool start_notifier(struct service *s, struct err *err)
{
    const struct config *c = &s->config;
    struct notifier_config n = notifier_config_default(c->db, &s->seal_key);

    if (!works(c) || !c->notify_threads)
        return true;
    if (!c->secret_file[0]) {
        log_fields(LOG_WARN, "this worker sends no alerts and no tickets: it has no secret_file",
                   "notify_threads=0");
        return true;
    }
    n.threads = (unsigned)c->notify_threads;
    n.reach = http_out_reach(c->notify_reach);
    n.ca_file = c->notify_ca_file;
    n.timeout_ms = c->notify_timeout_ms;
    n.log = log_notifier;
    s->notifier = notifier_start(&n, err);
    s->context.notifier = s->notifier;
    return s->notifier != NULL;
}

/* systemd's socket activation: one socket, handed over as descriptor 3. */
static int inherited_socket(void)
{
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

    if (!pid || !n || strtol(pid, NULL, 10) != getpid() || strtol(n, NULL, 10) < 1)
        return -1;
    fcntl(SYSTEMD_FIRST_FD, F_SETFD, FD_CLOEXEC);
    return SYSTEMD_FIRST_FD;
}

/* A worker answers only those who watch it. */
static bool choose_routes(struct service *s, struct err *err)
{
    s->routes = calloc(api_routes_n + web_routes_n, sizeof *s->routes);
    if (!s->routes)
        return err_memory(err);
    for (size_t i = 0; i < api_routes_n; i++)
        if (serves(&s->config) || strcmp(api_routes[i].pattern, "/metrics") == 0 ||
            strcmp(api_routes[i].pattern, "/readyz") == 0)
            s->routes[s->n_routes++] = api_routes[i];
    for (size_t i = 0; i < web_routes_n && serves(&s->config); i++)
        s->routes[s->n_routes++] = web_routes[i];
    return true;
}

/* As many connections as configured, or as many as the system gives descriptors for. */
static unsigned connection_limit(const struct config *c)
{
    struct rlimit files;
    uint64_t most = (uint64_t)c->connections;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return (unsigned)most;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max < most + OTHER_FILES) {
        most = files.rlim_max > 2 * OTHER_FILES ? files.rlim_max - OTHER_FILES : OTHER_FILES;
        log_fields(LOG_WARN, "fewer connections than configured: raise the limit of open files",
                   "connections=%" PRIu64 " configured=%" PRId64, most, c->connections);
    }
    return (unsigned)most;
}

static bool start_http(struct service *s, struct err *err)
{
    const struct config *c = &s->config;
    struct http_config h = {
        .listen = c->listen,
        .listen_fd = inherited_socket(),
        .threads = (unsigned)c->http_threads,
        .connections = connection_limit(c),
        .idle_s = (unsigned)c->idle_timeout_s,
        .header_ms = c->header_timeout_ms,
        .grace_ms = c->slow_grace_ms,
        .min_bytes_per_s = c->min_rate,
        .drain_ms = c->drain_ms,
        .body_memory = (size_t)c->body_memory_mb * MEGABYTE,
        .request_memory = (size_t)c->request_memory_mb * MEGABYTE,
        .dispatch_threads = (unsigned)c->request_threads,
        .dispatch_queue = (unsigned)c->request_queue,
        .borrow_ms = (unsigned)c->db_wait_ms,
        .commit_queue = (size_t)c->commit_queue,
        .keys = {.ingest_per_s = c->ingest_rate, .api_per_s = c->api_rate},
        .uploads = {.session_max = c->session_max_mb * MEGABYTE,
                    .symbols_max = c->symbols_max_mb * MEGABYTE,
                    .expire_s = c->upload_expiry_s},
        .conninfo = c->db,
        .accepts_uploads = serves(c),
        .pool = s->pool,
        .context = &s->context,
    };

    if (!choose_routes(s, err))
        return false;
    h.routes = s->routes;
    h.n_routes = s->n_routes;
    s->http = http_start(&h, err);
    return s->http != NULL;
}

/* It begins Location headers, before "/v1/uploads/…", and the links that workers tell. */
static bool check_public_url(const char *url, struct err *err)
{
    size_t n = strlen(url);
    bool ok = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;

    ok = ok && n <= PUBLIC_URL_MAX;
    for (size_t i = 0; i < n; i++)
        ok = ok && url[i] > ' ' && url[i] < 0x7f && url[i] != '@'; /* everybody gets to see it */
    return !n || (ok && url[n - 1] != '/') ||
           err_field(
               err, ERR_INVALID, "public_url",
               "--public-url is like https://frames.example.org, without user, password and a "
               "/ at its end");
}

static bool start(struct service *s, struct err *err)
{
    const struct config *c = &s->config;

    if (serves(c) && !c->secret_file[0])
        return err_field(err, ERR_INVALID, "secret_file", "a server needs --secret-file");
    if (!check_public_url(c->public_url, err))
        return false;
    if (c->secret_file[0] && !secret_load(c->secret_file, &s->secret, err))
        return false;
    secret_derive(&s->secret, SEAL_LABEL, 0, "", 0, s->seal_key.bytes);
    if (!check_schema(c, err))
        return false;
    s->context = (struct context){.version = FW_VERSION,
                                  .public_url = c->public_url,
                                  .secret = &s->secret,
                                  .login_s = c->login_hours * 3600,
                                  .max_session_bytes = (size_t)c->session_parts_max_mb * MEGABYTE,
                                  .started_at_s = time(NULL),
                                  .jobs_added = wake_worker,
                                  .jobs_user = s};
    s->pool = db_pool_new(c->db, (unsigned)c->db_connections, err);
    s->context.pool = s->pool;
    return s->pool && start_worker(s, err) && start_notifier(s, err) && start_http(s, err);
}

/* False: requests are stuck in the database, nothing may be freed. */
static bool stop(struct service *s)
{
    if (!http_stop(s->http))
        return false;
    notifier_stop(s->notifier);
    worker_stop(s->worker);
    db_pool_free(s->pool);
    free(s->routes);
    return true;
}

static void say_ready(const struct service *s)
{
    char port[16];
    int n = snprintf(port, sizeof port, "%u\n", http_port(s->http));

    log_fields(LOG_INFO, "ready", "role=%s port=%u version=%s", s->config.role, http_port(s->http),
               FW_VERSION);
    if (s->config.ready_fd < 0)
        return;
    if (write((int)s->config.ready_fd, port, (size_t)n) != n)
        log_fields(LOG_WARN, "nobody reads ready_fd", "fd=%" PRId64, s->config.ready_fd);
    close((int)s->config.ready_fd);
}

/* Signals are blocked in all threads and taken here, so nothing is interrupted by them. */
static int serve(struct service *s, const sigset_t *signals, struct err *err)
{
    int signal_number;

    if (!log_open(STDERR_FILENO, level_of(s->config.log_level), err))
        return 1;
    if (!start(s, err)) {
        stop(s);
        log_close();
        return 1;
    }
    say_ready(s);
    sigwait(signals, &signal_number);
    log_fields(LOG_INFO, "stopping", "signal=%d", signal_number);
    if (!stop(s)) {
        log_fields(LOG_ERROR, "stopped with requests that the database did not answer", "code=1");
        log_close();
        _exit(1);
    }
    log_fields(LOG_INFO, "stopped", "code=0");
    log_close();
    return 0;
}

/* Health check ------------------------------------------------------------------------------------
 */

/* The address to reach our own listener at. */
static bool own_address(const struct config *c, char host[256], char port[8], struct err *err)
{
    const char *colon = strrchr(c->listen, ':');
    size_t n = colon ? (size_t)(colon - c->listen) : 0;
    const char *at = c->listen;

    if (!colon || n >= 256 || strlen(colon + 1) >= 8)
        return err_field(err, ERR_INVALID, "listen", "\"%s\" is not HOST:PORT", c->listen);
    if (n >= 2 && at[0] == '[') {
        at++;
        n -= 2;
    }
    memcpy(host, at, n);
    host[n] = '\0';
    if (!n || strcmp(host, "0.0.0.0") == 0)
        memcpy(host, "127.0.0.1", 10);
    else if (strcmp(host, "::") == 0)
        memcpy(host, "::1", 4);
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return true;
}

static int connect_to(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    struct timeval limit = {.tv_sec = HEALTHCHECK_S};

    if (getaddrinfo(host, port, &hints, &list) != 0)
        return -1;
    int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (connect(fd, list->ai_addr, list->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

static int healthcheck(const struct config *c, struct err *err)
{
    static const char question[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n"
                                   "Connection: close\r\n\r\n";
    char host[256], port[8], answer[64] = "";

    if (!own_address(c, host, port, err))
        return 1;
    int fd = connect_to(host, port);

    if (fd < 0) {
        err_set(err, ERR_BUSY, "nobody listens on %s:%s", host, port);
        return 1;
    }
    bool asked = write(fd, question, sizeof question - 1) == (ssize_t)sizeof question - 1 &&
                 read(fd, answer, sizeof answer - 1) > 0;

    close(fd);
    if (asked && strncmp(answer, "HTTP/1.1 200", 12) == 0)
        return 0;
    answer[strcspn(answer, "\r\n")] = '\0';
    err_set(err, ERR_BUSY, "not ready: %s", answer[0] ? answer : "no answer");
    return 1;
}

static void print_help(void)
{
    struct buf b;

    buf_init(&b, MEGABYTE);
    config_write_help(&b);
    fwrite(b.at, 1, b.len, stdout);
    buf_fini(&b);
}

static int run(struct service *s, const char *command, const sigset_t *signals, struct err *err)
{
    if (strcmp(command, "healthcheck") == 0)
        return healthcheck(&s->config, err);
    if (!prepare_database(&s->config, err))
        return 1;
    if (strcmp(command, "migrate") == 0)
        return migrate(&s->config, err);
    if (strcmp(command, "serve") == 0)
        return serve(s, signals, err);
    err_set(err, ERR_INVALID, "there is no command \"%s\"; try --help", command);
    return 2;
}

int main(int argc, char **argv)
{
    struct service *s = calloc(1, sizeof *s);
    struct err err = {0};
    const char *command = "serve";
    bool help = false;
    int first = 1, code;
    sigset_t signals;

    if (argc > 1 && strcmp(argv[1], "index") == 0) {
        free(s);
        return index_main(argc - 1, argv + 1);
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGPIPE); /* a peer that went away is an error of write() */
    sigprocmask(SIG_BLOCK, &signals, NULL);
    sigdelset(&signals, SIGPIPE);
    /* freed memory goes back to the system at every large free() otherwise, and costs page faults
     * at the next request */
    mallopt(M_TRIM_THRESHOLD, 256 * MEGABYTE);
    mallopt(M_MMAP_THRESHOLD, 16 * MEGABYTE);
    if (argc > 1 && argv[1][0] != '-')
        command = argv[first++];
    if (strcmp(command, "version") == 0 || (argc > 1 && strcmp(argv[1], "--version") == 0)) {
        puts("framewatchd " FW_VERSION);
        free(s);
        return 0;
    }
    if (!s || !config_load(&s->config, argc - first, argv + first, environ, &help, &err)) {
        code = 2;
    } else if (help) {
        print_help();
        code = 0;
    } else {
        code = run(s, command, &signals, &err);
    }
    if (code && err.code)
        fprintf(stderr, "framewatchd: %s\n", err.text);
    free(s);
    return code;
}
