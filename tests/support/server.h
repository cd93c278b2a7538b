/*
 * server: the real framewatchd as a child process, with an app and keys on a database of its own,
 * and an HTTP client that sends exactly what the test says.
 *
 *     static void says_ok(void **state)
 *     {
 *         struct server *s = *state;
 *         struct answer *a = server_call(s, "GET", "/healthz", NULL, NULL, 0);
 *         assert_int_equal(a->status, 200);
 *     }
 *     cmocka_unit_test_setup_teardown(says_ok, server_setup, server_teardown)
 *
 * The group needs pg_group_setup and pg_group_teardown. Single-threaded; failures are fail_msg().
 * The server listens on a free loopback port and dies with the test program. At its end it must
 * have stopped on SIGTERM with exit code 0: sanitizers speak through that.
 */
#pragma once
#include "support/pg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SERVER_ARGS_MAX 16

/* Longest wait for anything the server should do at once, also under sanitizers on a machine that
 * is busy with other things. The server's own timeouts are as long, unless a test's args say
 * otherwise.
 */
#define SERVER_PATIENCE_MS 120000

struct answer {
    int status; /* 0: the connection ended without an answer */
    char *head; /* status line and headers */
    unsigned char *body;
    size_t len;
    bool closes; /* the server said it will close, or did */
};

struct server {
    char conninfo[PG_CONNINFO_BYTES];
    char folder[64], secret_file[96], log_file[96];
    const char *binary;
    const char *args[SERVER_ARGS_MAX]; /* further settings, "--name=value"; NULL at the end */
    unsigned port;
    pid_t pid;
    int listen_fd;  /* handed to the server as systemd does, if not 0 */
    int metrics_fd; /* the connection that server_metric() asks on, 0: none yet */
    int64_t app, other_app;
    const char *ingest, *read, *admin, *other_ingest; /* keys */
    struct answer answer;                             /* of the last server_call() */
};

/* A database with two apps and keys; the server is not started. */
struct server *server_new(const char *binary);
void server_free(struct server *s); /* stops it; NULL is fine */
void server_start(struct server *s);
/* SIGTERM; the exit code. */
int server_stop(struct server *s);
void server_kill9(struct server *s);

/* CMocka fixtures: a server with default settings; ended with exit code 0. */
int server_setup_with(void **state, const char *binary);
#ifdef FW_BINARY_DIR /* the build's, in test programs */
#define SERVER_BINARY FW_BINARY_DIR "/server/framewatchd"
static inline int server_setup(void **state)
{
    return server_setup_with(state, SERVER_BINARY);
}
#endif
int server_teardown(void **state);

/* Waits until fn(data) is true, without a fixed sleep; fails the test after SERVER_PATIENCE_MS. */
void server_await(bool (*fn)(void *data), void *data, const char *what);
/* A metric of /metrics by its whole name with labels; -1 if it is not there. Asked on a connection
 * kept for it, so an earlier look is never counted among the requests that are active. */
double server_metric(struct server *s, const char *name);
/* Waits until the metric is at least that. */
void server_await_metric(struct server *s, const char *name, double at_least);
/* Waits until no request is active but the one that asks: an answer is there a moment before its
 * request is over. */
void server_await_quiet(struct server *s);
/* Waits until so many backends of this database wait for a lock. */
void server_await_locked_out(struct server *s, int64_t at_least);
/* True if the log file holds the text. */
bool server_logged(struct server *s, const char *text);

/* Connections ------------------------------------------------------------------------------------
 */

int server_connect(struct server *s);
void client_send(int fd, const void *bytes, size_t n);
void client_text(int fd, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Waits until all that was sent lies with the server, read or not. */
void client_await_delivered(int fd);
/* Reads one answer; `to_head`: of a HEAD request, without body. The caller frees it. */
void client_read(int fd, bool to_head, struct answer *out);
/* True if the server closes the connection within the patience, whatever it sends before. */
bool client_closed(int fd);
void answer_free(struct answer *a);

/* Value of a header, NULL if absent; into a buffer of the next call. */
const char *answer_header(const struct answer *a, const char *name);
int64_t answer_i64(const struct answer *a, const char *name); /* -1 if absent */
/* The problem's stable code, "" if the body is none. */
const char *answer_code(const struct answer *a);

/* One request on a connection of its own; Host and Content-Length (if body is not NULL) are added,
 * the other header lines come as "Name: value\r\n"… The answer lives until the next call. */
struct answer *server_call(struct server *s, const char *method, const char *path,
                           const char *headers, const void *body, size_t len);
