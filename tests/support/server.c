#include "support/server.h"

#include "base/buf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ANSWER_MAX (64u * 1024 * 1024)

static int64_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void server_await(bool (*fn)(void *data), void *data, const char *what)
{
    int64_t until = clock_ms() + SERVER_PATIENCE_MS;

    while (!fn(data)) {
        if (clock_ms() > until)
            fail_msg("waited in vain: %s", what);
        poll(NULL, 0, 5);
    }
}

/* Process ----------------------------------------------------------------------------------------
 */

static void write_secret(const char *path)
{
    static const char secret[] = "a secret of the tests, as long as the server wants it\n";
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, secret, sizeof secret - 1) != sizeof secret - 1)
        fail_msg("cannot write %s", path);
    close(fd);
}

static void add_key(struct server *s, int64_t app, const char *role, const char *key)
{
    pg_sql(s->conninfo,
           "INSERT INTO api_key (key_hash, app_id, role, hint)"
           " VALUES (sha256('%s'), %lld, '%s', left('%s', 10))",
           key, (long long)app, role, key);
}

struct server *server_new(const char *binary)
{
    struct server *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->binary = binary;
    pg_test_db(s->conninfo);
    snprintf(s->folder, sizeof s->folder, "/tmp/framewatch-test-XXXXXX");
    if (!mkdtemp(s->folder))
        fail_msg("mkdtemp: %s", strerror(errno));
    snprintf(s->secret_file, sizeof s->secret_file, "%s/secret", s->folder);
    snprintf(s->log_file, sizeof s->log_file, "%s/log", s->folder);
    write_secret(s->secret_file);
    s->app = pg_i64(s->conninfo, "INSERT INTO app (name) VALUES ('game') RETURNING app_id");
    s->other_app = pg_i64(s->conninfo, "INSERT INTO app (name) VALUES ('other') RETURNING app_id");
    s->ingest = "fw_test_ingest_key_of_game";
    s->read = "fw_test_read_key_of_game";
    s->admin = "fw_test_admin_key_of_game";
    s->other_ingest = "fw_test_ingest_key_of_other";
    add_key(s, s->app, "ingest", s->ingest);
    add_key(s, s->app, "read", s->read);
    add_key(s, s->app, "admin", s->admin);
    add_key(s, s->other_app, "ingest", s->other_ingest);
    return s;
}

/* No timeout is met because the machine is slow. */
static void be_patient(void)
{
    static const char *const names[] = {"FW_HEADER_TIMEOUT_MS", "FW_SLOW_GRACE_MS", "FW_DB_WAIT_MS",
                                        "FW_DRAIN_MS"};
    char ms[16];

    snprintf(ms, sizeof ms, "%d", SERVER_PATIENCE_MS);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        setenv(names[i], ms, 0);
    setenv("PGCONNECT_TIMEOUT", "120", 0);
}

/* In the child: the server, its log in a file. */
static void become_server(struct server *s, int ready)
{
    char db[PG_CONNINFO_BYTES + 8], secret[128], fd[32];
    char *argv[SERVER_ARGS_MAX + 8];
    int n = 0, log = open(s->log_file, O_WRONLY | O_CREAT | O_APPEND, 0600);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    be_patient();
    if (s->listen_fd) {
        char pid[16];

        ready = fcntl(ready, F_DUPFD, 16); /* 3 is the socket's */
        snprintf(pid, sizeof pid, "%d", (int)getpid());
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", "1", 1);
        dup2(s->listen_fd, 3);
    }
    dup2(log, STDERR_FILENO);
    dup2(log, STDOUT_FILENO);
    snprintf(db, sizeof db, "--db=%s", s->conninfo);
    snprintf(secret, sizeof secret, "--secret-file=%s", s->secret_file);
    snprintf(fd, sizeof fd, "--ready-fd=%d", ready);
    argv[n++] = (char *)s->binary;
    argv[n++] = db;
    argv[n++] = secret;
    argv[n++] = fd;
    argv[n++] = "--listen=127.0.0.1:0";
    for (size_t i = 0; s->args[i]; i++)
        argv[n++] = (char *)s->args[i];
    argv[n] = NULL;
    execv(s->binary, argv);
    _exit(127);
}

static void show_log(struct server *s)
{
    FILE *f = fopen(s->log_file, "re");
    char line[2048];

    while (f && fgets(line, sizeof line, f))
        print_error("    %s", line);
    if (f)
        fclose(f);
}

void server_start(struct server *s)
{
    int ready[2];
    char text[16] = "";
    struct pollfd wait;

    if (pipe(ready) != 0)
        fail_msg("pipe: %s", strerror(errno));
    s->pid = fork();
    if (s->pid == 0) {
        close(ready[0]);
        become_server(s, ready[1]);
    }
    close(ready[1]);
    wait = (struct pollfd){.fd = ready[0], .events = POLLIN};
    if (s->pid < 0 || poll(&wait, 1, SERVER_PATIENCE_MS) != 1 ||
        read(ready[0], text, sizeof text - 1) <= 0) {
        show_log(s);
        fail_msg("%s did not start", s->binary);
    }
    close(ready[0]);
    s->port = (unsigned)strtoul(text, NULL, 10);
}

static void forget_metrics_connection(struct server *s)
{
    if (s->metrics_fd)
        close(s->metrics_fd);
    s->metrics_fd = 0;
}

static int wait_exit(struct server *s)
{
    int status = 0;

    forget_metrics_connection(s);
    if (waitpid(s->pid, &status, 0) != s->pid)
        fail_msg("waitpid: %s", strerror(errno));
    s->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int server_stop(struct server *s)
{
    if (!s->pid)
        return 0;
    kill(s->pid, SIGTERM);

    int code = wait_exit(s);

    if (code)
        show_log(s);
    return code;
}

void server_kill9(struct server *s)
{
    kill(s->pid, SIGKILL);
    wait_exit(s);
}

void server_free(struct server *s)
{
    if (!s)
        return;
    if (s->pid)
        server_kill9(s);
    answer_free(&s->answer);
    unlink(s->log_file);
    unlink(s->secret_file);
    rmdir(s->folder);
    pg_drop_db(s->conninfo);
    free(s);
}

int server_setup_with(void **state, const char *binary)
{
    struct server *s = server_new(binary);

    *state = s;
    server_start(s);
    return 0;
}

int server_teardown(void **state)
{
    struct server *s = *state;
    int code = server_stop(s);

    server_free(s);
    return code;
}

bool server_logged(struct server *s, const char *text)
{
    FILE *f = fopen(s->log_file, "re");
    char line[4096];
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, text) != NULL;
    if (f)
        fclose(f);
    return found;
}

static void ask_metrics(struct server *s, struct answer *out)
{
    if (!s->metrics_fd)
        s->metrics_fd = server_connect(s);
    client_text(s->metrics_fd, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
    client_read(s->metrics_fd, false, out);
    if (out->closes)
        forget_metrics_connection(s);
}

static double metric_in(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            return strtod(line + n, NULL);
    }
    return -1;
}

double server_metric(struct server *s, const char *name)
{
    struct answer a;
    double value;

    ask_metrics(s, &a);
    /* the connection was idle for too long, or a server with short timeouts is slow itself */
    for (int tries = 0; !a.status && tries < 20; tries++)
        ask_metrics(s, &a);
    assert_int_equal(a.status, 200);
    value = metric_in((const char *)a.body, name);
    answer_free(&a);
    return value;
}

struct awaited_metric {
    struct server *s;
    const char *name;
    double at_least;
};

static bool metric_is_there(void *data)
{
    struct awaited_metric *m = data;

    return server_metric(m->s, m->name) >= m->at_least;
}

void server_await_metric(struct server *s, const char *name, double at_least)
{
    server_await(metric_is_there, &(struct awaited_metric){s, name, at_least}, name);
}

static bool only_the_one_that_asks(void *s)
{
    return server_metric(s, "framewatch_http_requests_active") == 1;
}

void server_await_quiet(struct server *s)
{
    server_await(only_the_one_that_asks, s, "no request is left");
}

struct awaited_locks {
    struct server *s;
    int64_t at_least;
};

static bool backends_are_locked_out(void *data)
{
    struct awaited_locks *l = data;

    return pg_i64(l->s->conninfo,
                  "SELECT count(*) FROM pg_stat_activity WHERE datname ="
                  " current_database() AND wait_event_type = 'Lock'") >= l->at_least;
}

void server_await_locked_out(struct server *s, int64_t at_least)
{
    server_await(backends_are_locked_out, &(struct awaited_locks){s, at_least},
                 "the database makes them wait");
}

/* Connections ------------------------------------------------------------------------------------
 */

int server_connect(struct server *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)s->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = SERVER_PATIENCE_MS / 1000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        fail_msg("connect: %s", strerror(errno));
    return fd;
}

/* A server that refuses early closes: what it does not read is not an error of the test. */
void client_send(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n) {
        ssize_t done = send(fd, at, n, MSG_NOSIGNAL);

        if (done <= 0)
            return;
        at += done;
        n -= (size_t)done;
    }
}

static bool all_is_delivered(void *fd)
{
    int left = 1;

    return ioctl(*(int *)fd, SIOCOUTQ, &left) != 0 || left == 0;
}

void client_await_delivered(int fd)
{
    server_await(all_is_delivered, &fd, "what was sent is delivered");
}

void client_text(int fd, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    assert_true(n >= 0);
    client_send(fd, text, (size_t)n);
    free(text);
}

void answer_free(struct answer *a)
{
    free(a->head);
    free(a->body);
    *a = (struct answer){0};
}

static char *header_of(const char *head, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);

    for (const char *line = strchr(head, '\n'); line; line = strchr(line, '\n')) {
        line++;
        if (strncasecmp(line, name, n) != 0 || line[n] != ':')
            continue;
        line += n + 1;
        line += strspn(line, " ");
        snprintf(out, size, "%.*s", (int)strcspn(line, "\r\n"), line);
        return out;
    }
    return NULL;
}

const char *answer_header(const struct answer *a, const char *name)
{
    static char value[16384];

    return a->head ? header_of(a->head, name, value, sizeof value) : NULL;
}

int64_t answer_i64(const struct answer *a, const char *name)
{
    const char *value = answer_header(a, name);

    return value ? strtoll(value, NULL, 10) : -1;
}

const char *answer_code(const struct answer *a)
{
    static char code[64];
    const char *at = a->body ? strstr((const char *)a->body, "\"code\":\"") : NULL;

    if (!at)
        return "";
    at += 8;
    snprintf(code, sizeof code, "%.*s", (int)strcspn(at, "\""), at);
    return code;
}

static bool read_some(int fd, struct buf *b)
{
    char bytes[16384];
    ssize_t n = recv(fd, bytes, sizeof bytes, 0);

    if (n > 0)
        buf_put(b, bytes, (size_t)n);
    return n > 0;
}

/* The head in `b` ends at this offset; 0 if the connection ended before. 100 Continue is skipped.
 */
static size_t read_head(int fd, struct buf *b)
{
    for (;;) {
        char *end = b->len ? memmem(b->at, b->len, "\r\n\r\n", 4) : NULL;
        size_t n = end ? (size_t)(end + 4 - (char *)b->at) : 0;

        if (n && memcmp(b->at, "HTTP/1.1 100", 12) == 0) {
            memmove(b->at, b->at + n, b->len - n);
            b->len -= n;
            continue;
        }
        if (n)
            return n;
        if (!read_some(fd, b))
            return 0;
    }
}

static void keep_head(struct buf *b, size_t n, struct answer *out)
{
    out->head = strndup((char *)b->at, n);
    assert_non_null(out->head);
    out->status = (int)strtol(out->head + 9, NULL, 10);
    memmove(b->at, b->at + n, b->len - n);
    b->len -= n;
}

void client_read(int fd, bool to_head, struct answer *out)
{
    struct buf b;
    size_t n;

    *out = (struct answer){.closes = true};
    buf_init(&b, ANSWER_MAX);
    n = read_head(fd, &b);
    if (n) {
        keep_head(&b, n, out);

        int64_t length = answer_i64(out, "Content-Length");
        const char *connection = answer_header(out, "Connection");

        out->closes = connection && strcasecmp(connection, "close") == 0;
        if (to_head || out->status == 204 || length < 0)
            length = 0;
        while (b.len < (size_t)length && read_some(fd, &b))
            ;
        if (b.len < (size_t)length)
            out->status = 0;
        buf_byte(&b, '\0');
        out->body = buf_steal(&b, &out->len);
        out->len--;
    }
    buf_fini(&b);
}

bool client_closed(int fd)
{
    char bytes[4096];
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        ;
    return n == 0 || errno == ECONNRESET;
}

struct answer *server_call(struct server *s, const char *method, const char *path,
                           const char *headers, const void *body, size_t len)
{
    int fd = server_connect(s);

    answer_free(&s->answer);
    client_text(fd, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n%s", method, path,
                s->port, headers ? headers : "");
    if (body)
        client_text(fd, "Content-Length: %zu\r\n", len);
    client_text(fd, "\r\n");
    client_send(fd, body, len);
    client_read(fd, strcmp(method, "HEAD") == 0, &s->answer);
    close(fd);
    return &s->answer;
}
