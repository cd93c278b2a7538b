/* What the listener does with requests that are hostile, slow, too many or at a bad time. */
#include "support/server.h"

#include "server/db/db.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES_TYPE "Content-Type: application/offset+octet-stream\r\n"
#define TUS "Tus-Resumable: 1.0.0\r\n"

static int start_with(void **state, const char *first, const char *second)
{
    struct server *s = server_new(SERVER_BINARY);

    s->args[0] = first;
    s->args[1] = second;
    *state = s;
    server_start(s);
    return 0;
}

static const char *bearer(const char *key)
{
    static char text[256];

    snprintf(text, sizeof text, "Authorization: Bearer %s\r\n", key);
    return text;
}

/* A connection of the test's own that holds a lock until it is closed. */
static struct db *locked(struct server *s, const char *table, const char *mode)
{
    struct err err = {0};
    char sql[128];
    struct db *db = db_open(s->conninfo, &err);

    snprintf(sql, sizeof sql, "BEGIN; LOCK TABLE %s IN %s MODE", table, mode);
    if (!db || !db_script(db, sql, &err))
        fail_msg("%s", err.text);
    return db;
}

/* Answers -----------------------------------------------------------------------------------------
 */

static void a_refusal_is_a_problem_document_with_the_request_id(void **state)
{
    struct server *s = *state;
    struct answer *a = server_call(s, "GET", "/nothing", "X-Request-Id: abc-1.2_3\r\n", NULL, 0);

    assert_int_equal(a->status, 404);
    assert_string_equal(answer_header(a, "Content-Type"), "application/problem+json");
    assert_string_equal(answer_header(a, "X-Request-Id"), "abc-1.2_3");
    assert_string_equal(answer_code(a), "not_found");
    assert_non_null(strstr((const char *)a->body, "\"request_id\":\"abc-1.2_3\""));
    a = server_call(s, "GET", "/nothing", "X-Request-Id: a b\"c\r\n", NULL, 0);
    assert_int_equal(strlen(answer_header(a, "X-Request-Id")), 16);
}

static void a_method_the_path_does_not_know_is_405_with_those_it_does(void **state)
{
    struct server *s = *state;
    struct answer *a = server_call(s, "PUT", "/v1/uploads", TUS, NULL, 0);

    assert_int_equal(a->status, 405);
    assert_string_equal(answer_header(a, "Allow"), "OPTIONS, POST");
}

static void a_head_is_a_get_without_its_body(void **state)
{
    struct server *s = *state;
    struct answer *a = server_call(s, "HEAD", "/healthz", NULL, NULL, 0);

    assert_int_equal(a->status, 200);
    assert_int_equal(answer_i64(a, "Content-Length"), 3);
    assert_int_equal(a->len, 0);
}

static void requests_on_one_connection_are_answered_in_order(void **state)
{
    struct server *s = *state;
    int fd = server_connect(s);
    struct answer a;

    client_text(fd, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    client_read(fd, false, &a);
    assert_int_equal(a.status, 200);
    assert_false(a.closes);
    answer_free(&a);
    client_text(fd, "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n");
    client_read(fd, false, &a);
    assert_int_equal(a.status, 404);
    assert_false(a.closes);
    answer_free(&a);
    close(fd);
}

static void a_body_nobody_takes_is_refused_before_it_is_read(void **state)
{
    struct server *s = *state;
    int fd = server_connect(s);
    struct answer a;

    client_text(fd, "GET /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
    client_read(fd, false, &a);
    assert_int_equal(a.status, 413);
    assert_true(client_closed(fd));
    answer_free(&a);
    close(fd);
}

static void a_client_that_asks_before_its_body_is_told(void **state)
{
    struct server *s = *state;
    int fd = server_connect(s);
    char go_on[64] = "";
    struct answer a;

    client_text(fd,
                "POST /v1/uploads HTTP/1.1\r\nHost: h\r\n" TUS "%s" BYTES_TYPE
                "Upload-Length: 5\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
                bearer(s->ingest));
    assert_true(recv(fd, go_on, sizeof go_on - 1, 0) > 0);
    assert_string_equal(go_on, "HTTP/1.1 100 Continue\r\n\r\n");
    client_text(fd, "hello");
    client_read(fd, false, &a);
    assert_int_equal(a.status, 201);
    answer_free(&a);
    close(fd);

    fd = server_connect(s);
    client_text(fd,
                "POST /v1/uploads HTTP/1.1\r\nHost: h\r\n" TUS "%s" BYTES_TYPE
                "Upload-Length: 4\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
                bearer(s->ingest));
    memset(go_on, 0, sizeof go_on);
    assert_true(recv(fd, go_on, 12, MSG_PEEK) > 0);
    assert_string_equal(go_on, "HTTP/1.1 413");
    close(fd);
}

static void an_answer_names_no_key_and_the_log_neither(void **state)
{
    struct server *s = *state;
    struct answer *a =
        server_call(s, "GET", "/v1/sessions", bearer("fw_a_key_nobody_issued"), NULL, 0);

    assert_int_equal(a->status, 401);
    assert_null(strstr((const char *)a->body, "nobody_issued"));
    server_call(s, "GET", "/v1/sessions", bearer(s->read), NULL, 0);
    assert_int_equal(server_stop(s), 0);
    assert_false(server_logged(s, "nobody_issued"));
    assert_false(server_logged(s, s->read));
    assert_true(server_logged(s, "status=401"));
}

static int set_up_public(void **state)
{
    return start_with(state, "--public-url=https://frames.example.org", NULL);
}

static void a_location_is_where_clients_reach_the_server(void **state)
{
    struct server *s = *state;
    char headers[512];

    snprintf(headers, sizeof headers, TUS "%sUpload-Length: 5\r\n", bearer(s->ingest));

    struct answer *a = server_call(s, "POST", "/v1/uploads", headers, NULL, 0);
    static const char want[] = "https://frames.example.org/v1/uploads/";

    assert_int_equal(a->status, 201);
    assert_memory_equal(answer_header(a, "Location"), want, sizeof want - 1);
}

/* Two readers of one stream -----------------------------------------------------------------------
 */

/* The request is refused and whatever follows it on the connection is not looked at. */
static void assert_refused(struct server *s, const char *request, int status)
{
    int fd = server_connect(s);
    struct answer a;

    client_text(fd, "%s", request);
    client_text(fd, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    client_read(fd, false, &a);
    if (a.status != status)
        fail_msg("%d instead of %d to: %s", a.status, status, request);
    answer_free(&a);
    client_read(fd, false, &a);
    if (a.status != 0)
        fail_msg("a second answer (%d) to: %s", a.status, request);
    answer_free(&a);
    close(fd);
}

static void what_two_servers_could_read_differently_is_refused(void **state)
{
    struct server *s = *state;
    static const char *const requests[] = {
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nX Content-Length: 3\r\n\r\n",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nContent-Length: 0x3\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 3\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: a b\r\nContent-Length: 3\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: a/b\r\nContent-Length: 3\r\n\r\nabc",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nX: a\001b\r\nContent-Length: 3\r\n\r\nabc",
    };

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        assert_refused(s, requests[i], 400);
    assert_true(server_metric(s, "framewatch_http_refused_total{reason=\"smuggling\"}") >= 12);
}

static void a_header_that_counts_may_stand_there_once(void **state)
{
    struct server *s = *state;
    static const char *const names[] = {
        "Tus-Resumable",   "Upload-Offset",   "Upload-Length",
        "Upload-Metadata", "Upload-Checksum", "Upload-Concat",
        "Authorization",   "Content-Type",    "X-HTTP-Method-Override"};
    char headers[256];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(headers, sizeof headers, "%s: 1\r\n%s: 1\r\n", names[i], names[i]);

        struct answer *a = server_call(s, "POST", "/v1/uploads", headers, NULL, 0);

        assert_int_equal(a->status, 400);
        assert_non_null(strstr((const char *)a->body, names[i]));
    }
}

static void a_target_that_is_no_path_is_refused(void **state)
{
    struct server *s = *state;
    static const char *const targets[] = {
        "http://h/healthz",     "*",         "healthz", "/v1/sessions?a=%zz", "/v1/sessions?a=%00",
        "/v1/sessions?a=1&a=2", "/healthz#x"};
    char *longer = calloc(1, 5001);

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        assert_int_equal(server_call(s, "GET", targets[i], NULL, NULL, 0)->status, 400);
    memset(longer, 'a', 5000);
    longer[0] = '/';
    assert_int_equal(server_call(s, "GET", longer, NULL, NULL, 0)->status, 414);
    free(longer);
}

static void too_many_or_too_long_headers_are_refused(void **state)
{
    struct server *s = *state;
    char *headers = calloc(1, 300000), *at = headers;

    for (unsigned i = 0; i < 70; i++)
        at += snprintf(at, 32, "X-%u: y\r\n", i);
    assert_int_equal(server_call(s, "GET", "/healthz", headers, NULL, 0)->status, 413);
    at = headers + snprintf(headers, 8, "X: ");
    memset(at, 'y', 9000);
    memcpy(at + 9000, "\r\n", 3);
    assert_int_equal(server_call(s, "GET", "/healthz", headers, NULL, 0)->status, 413);
    memset(at, 'y', 200000);
    memcpy(at + 200000, "\r\n", 3);
    assert_int_equal(server_call(s, "GET", "/healthz", headers, NULL, 0)->status, 431);
    free(headers);
}

/* Each becomes an entry of its own in what libmicrohttpd has for the connection. */
static void more_cookies_than_fit_leave_nothing_behind(void **state)
{
    struct server *s = *state;
    char cookies[4 * 2000 + 1] = "";

    for (size_t i = 0; i < 2000; i++)
        memcpy(cookies + 4 * i, "a=b;", 5);
    for (int i = 0; i < 3; i++) {
        int fd = server_connect(s);

        client_text(fd, "GET /healthz HTTP/1.1\r\nHost: h\r\nCookie: %s\r\n\r\n", cookies);
        assert_true(client_closed(fd));
        close(fd);
    }
    server_await_metric(s, "framewatch_http_refused_total{reason=\"too_big\"}", 3);
    server_await_quiet(s);
}

static void garbage_is_answered_or_closed_and_the_server_goes_on(void **state)
{
    struct server *s = *state;
    static const char *const garbage[] = {"\r\n\r\n\r\n",
                                          "GET\r\n\r\n",
                                          "\026\003\001\002",
                                          "GET / HTTP/9.9\r\nHost: h\r\n\r\n",
                                          "GET / HTTP/1.1\r\nnocolon\r\n\r\n",
                                          "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"};

    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        int fd = server_connect(s);

        client_text(fd, "%s", garbage[i]);
        shutdown(fd, SHUT_WR);
        assert_true(client_closed(fd));
        close(fd);
    }
    assert_int_equal(server_call(s, "GET", "/healthz", NULL, NULL, 0)->status, 200);
}

static void what_libmicrohttpd_refuses_is_counted(void **state)
{
    static const char *const malformed[] = {
        "GET / HTTP/1.1\r\nHost: h\r\nnocolon\r\n\r\n",
        "POST /v1/uploads HTTP/1.1\r\nHost: h\r\nContent-Length: five\r\n\r\nhello"};
    struct server *s = *state;
    char *longer = calloc(1, 200001);
    struct answer a;
    int fd;

    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        fd = server_connect(s);
        client_text(fd, "%s", malformed[i]);
        client_read(fd, false, &a);
        assert_int_equal(a.status, 400);
        answer_free(&a);
        close(fd);
    }
    server_await_metric(s, "framewatch_http_refused_total{reason=\"bad_request\"}", 2);
    memset(longer, 'y', 200000);
    fd = server_connect(s);
    client_text(fd, "GET / HTTP/1.1\r\nHost: h\r\nX: %s\r\n\r\n", longer);
    client_read(fd, false, &a);
    assert_int_equal(a.status, 431);
    answer_free(&a);
    close(fd);
    server_await_metric(s, "framewatch_http_refused_total{reason=\"too_big\"}", 1);
    assert_true(server_metric(s, "framewatch_http_refused_total{reason=\"too_big\"}") == 1);
    assert_true(server_metric(s, "framewatch_http_refused_total{reason=\"bad_request\"}") == 2);
    free(longer);
}

/* Slow readers: an answer larger than the sockets' buffers, of which nothing is read. */
static void a_client_that_does_not_read_its_answer_is_cut_and_hinders_nobody(void **state)
{
    struct server *s = *state;
    int fd = server_connect(s), small = 4096;

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    /* the document is some hundred kilobytes; asked for often enough it fills every buffer */
    for (int i = 0; i < 100; i++)
        client_text(fd, "GET /v1/openapi.json HTTP/1.1\r\nHost: h\r\n\r\n");
    server_await_metric(s, "framewatch_http_refused_total{reason=\"slow_reader\"}", 1);
    assert_int_equal(server_call(s, "GET", "/healthz", NULL, NULL, 0)->status, 200);
    assert_true(client_closed(fd));
    close(fd);
    server_await_quiet(s);
}

static void a_broken_chunk_is_refused(void **state)
{
    struct server *s = *state;
    static const char *const bodies[] = {"zz\r\nabc\r\n", "5\r\nabc\r\n0\r\n\r\nxxxxxxxx",
                                         "-1\r\n\r\n", "ffffffffffffffffff\r\n"};

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        int fd = server_connect(s);
        struct answer a;

        client_text(fd,
                    "POST /v1/uploads HTTP/1.1\r\nHost: h\r\n" TUS "%s" BYTES_TYPE
                    "Upload-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n%s",
                    bearer(s->ingest), bodies[i]);
        shutdown(fd, SHUT_WR);
        client_read(fd, false, &a);
        assert_true(a.status == 0 || a.status == 400 || a.status == 413);
        answer_free(&a);
        close(fd);
    }
    assert_int_equal(server_call(s, "GET", "/healthz", NULL, NULL, 0)->status, 200);
}

/* Slow ones ---------------------------------------------------------------------------------------
 */

/* Long enough for a request that is sent in one go, also on a machine that is busy with others. */
#define HEADER_MS 2000

static int set_up_short_of_headers(void **state)
{
    return start_with(state, "--header-timeout-ms=2000", NULL);
}

static int set_up_short_of_grace(void **state)
{
    return start_with(state, "--slow-grace-ms=1000", NULL);
}

static int set_up_quick_readers_only(void **state)
{
    return start_with(state, "--slow-grace-ms=1000", "--min-rate=1000000");
}

/* Sends the text byte by byte, a byte each 50 ms, until the server closes. */
static bool drip(int fd, const char *text)
{
    struct pollfd look = {.fd = fd, .events = POLLRDHUP};

    for (size_t i = 0; i < SERVER_PATIENCE_MS / 50; i++) {
        client_send(fd, &text[i % strlen(text)], 1);
        if (poll(&look, 1, 50) == 1)
            return true;
    }
    return false;
}

static void a_connection_may_wait_before_its_first_request(void **state)
{
    struct server *s = *state;
    int fd = server_connect(s);
    struct pollfd look = {.fd = fd, .events = POLLRDHUP};
    struct answer a;

    /* longer than headers may take, shorter than a connection may be idle */
    assert_int_equal(poll(&look, 1, HEADER_MS + 500), 0);
    client_text(fd, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    client_read(fd, false, &a);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    close(fd);
}

static void headers_that_drip_are_cut(void **state)
{
    struct server *s = *state;
    int fd = server_connect(s);

    client_text(fd, "GET /healthz HTTP/1.1\r\nHost: h\r\nX-Slow: ");
    assert_true(drip(fd, "abcdefgh"));
    assert_true(client_closed(fd));
    close(fd);
    assert_true(server_metric(s, "framewatch_http_refused_total{reason=\"slow_headers\"}") >= 1);
}

static bool bytes_are_stored(void *conninfo)
{
    return pg_i64(conninfo, "SELECT at FROM upload") >= 3;
}

static void a_body_that_drips_is_cut_and_what_came_is_kept(void **state)
{
    struct server *s = *state;
    int fd = server_connect(s);

    client_text(fd,
                "POST /v1/uploads HTTP/1.1\r\nHost: h\r\n" TUS "%s" BYTES_TYPE
                "Upload-Length: 10000\r\nContent-Length: 10000\r\n\r\nabc",
                bearer(s->ingest));
    assert_true(drip(fd, "abcdefgh"));
    assert_true(client_closed(fd));
    close(fd);
    assert_true(server_metric(s, "framewatch_http_refused_total{reason=\"slow_body\"}") >= 1);
    server_await(bytes_are_stored, s->conninfo, "the bytes that came are stored");
}

/* Too many ----------------------------------------------------------------------------------------
 */

static int begin_upload(struct server *s, size_t length, const char *body)
{
    int fd = server_connect(s);

    client_text(fd,
                "POST /v1/uploads HTTP/1.1\r\nHost: h\r\n" TUS "%s" BYTES_TYPE
                "Upload-Length: %zu\r\nContent-Length: %zu\r\n\r\n%s",
                bearer(s->ingest), length, length, body);
    return fd;
}

static void assert_created(int fd)
{
    struct answer a;

    client_read(fd, false, &a);
    assert_int_equal(a.status, 201);
    answer_free(&a);
    close(fd);
}

static int set_up_small_commit_queue(void **state)
{
    return start_with(state, "--commit-queue=1", NULL);
}

static void a_full_commit_queue_is_503_before_the_body(void **state)
{
    struct server *s = *state;

    assert_created(begin_upload(s, 5, "hello")); /* the key is known from here on */

    struct db *db = locked(s, "upload", "SHARE");
    int first = begin_upload(s, 5, "hello"), second;
    struct answer a;

    /* one is with the database, one waits, the next one is too much */
    server_await_locked_out(s, 1);
    second = begin_upload(s, 5, "hello");
    server_await_metric(s, "framewatch_commit_queue_ops", 1);

    int third = begin_upload(s, 1000000, "");

    client_read(third, false, &a);
    assert_int_equal(a.status, 503);
    assert_string_equal(answer_header(&a, "Retry-After"), "1");
    assert_string_equal(answer_code(&a), "busy");
    answer_free(&a);
    close(third);
    assert_true(server_metric(s, "framewatch_http_refused_total{reason=\"commit_queue_full\"}") ==
                1);
    db_close(db);
    assert_created(first);
    assert_created(second);
}

static int set_up_few_buffers(void **state)
{
    return start_with(state, "--body-memory-mb=4", NULL);
}

static void without_free_buffers_new_bodies_are_503(void **state)
{
    struct server *s = *state;
    int fd[56];
    struct answer a;

    for (size_t i = 0; i < 56; i++)
        fd[i] = begin_upload(s, 100, "x");
    server_await_metric(s, "framewatch_body_blocks_used", 56);

    int more = begin_upload(s, 100, "");

    client_read(more, false, &a);
    assert_int_equal(a.status, 503);
    assert_non_null(answer_header(&a, "Retry-After"));
    answer_free(&a);
    close(more);
    assert_true(server_metric(s, "framewatch_http_refused_total{reason=\"no_buffers\"}") == 1);
    for (size_t i = 0; i < 56; i++)
        close(fd[i]);
    more = begin_upload(s, 5, "hello");
    client_read(more, false, &a);
    assert_true(a.status == 201 || a.status == 503); /* the closed ones are still noticed */
    answer_free(&a);
    close(more);
}

static void bodies_share_the_buffers_there_are(void **state)
{
    struct server *s = *state;
    enum { N = 24, BYTES = 700000 };
    char *body = calloc(1, BYTES + 1);
    int fd[N];

    assert_created(begin_upload(s, 5, "hello")); /* the key is known from here on */
    /* together four times what there are buffers for */
    memset(body, 'b', BYTES);
    server_await_quiet(s);
    for (size_t i = 0; i < N; i++)
        fd[i] = begin_upload(s, BYTES, "");
    server_await_metric(s, "framewatch_http_requests_active", N + 1); /* and the one that asks */
    for (size_t at = 0; at < BYTES; at += 70000)
        for (size_t i = 0; i < N; i++)
            client_send(fd[i], body + at, 70000);
    for (size_t i = 0; i < N; i++)
        assert_created(fd[i]);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload WHERE state = 'complete'"),
                     N + 1);
    free(body);
}

static int set_up_small_request_queue(void **state)
{
    return start_with(state, "--request-queue=1", "--request-threads=2");
}

static int ask_sessions(struct server *s)
{
    int fd = server_connect(s);

    client_text(fd, "GET /v1/sessions HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s\r\n",
                bearer(s->read));
    return fd;
}

static void a_full_request_queue_is_503(void **state)
{
    struct server *s = *state;
    struct db *db;
    struct answer a;
    struct pollfd two[2];
    int running, refused;

    assert_int_equal(server_call(s, "GET", "/v1/sessions", bearer(s->read), NULL, 0)->status, 200);
    db = locked(s, "session", "ACCESS EXCLUSIVE");
    /* one thread runs requests, the other one is kept for urgent ones */
    running = ask_sessions(s);
    server_await_locked_out(s, 1);
    /* of two more one may wait; which of them comes first is the server's affair */
    for (size_t i = 0; i < 2; i++)
        two[i] = (struct pollfd){.fd = ask_sessions(s), .events = POLLIN};
    assert_int_equal(poll(two, 2, SERVER_PATIENCE_MS), 1);
    refused = two[1].revents != 0;
    client_read(two[refused].fd, false, &a);
    assert_int_equal(a.status, 503);
    assert_string_equal(answer_code(&a), "busy");
    answer_free(&a);
    assert_int_equal(server_call(s, "GET", "/healthz", NULL, NULL, 0)->status, 200);
    db_close(db);
    client_read(running, false, &a);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    client_read(two[!refused].fd, false, &a);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    close(running);
    close(two[0].fd);
    close(two[1].fd);
}

static int set_up_low_rate(void **state)
{
    return start_with(state, "--api-rate=1", NULL);
}

static void a_key_that_asks_too_much_is_429(void **state)
{
    struct server *s = *state;
    enum { N = 32 };
    int fd[N];
    unsigned served = 0, refused = 0;

    assert_int_equal(server_call(s, "GET", "/v1/sessions", bearer(s->read), NULL, 0)->status, 200);
    /* a burst of two, then one a second: so many at once are too many, however slow they are */
    for (size_t i = 0; i < N; i++)
        fd[i] = ask_sessions(s);
    for (size_t i = 0; i < N; i++) {
        struct answer a;

        client_read(fd[i], false, &a);
        served += a.status == 200;
        if (a.status == 429) {
            refused++;
            assert_string_equal(answer_header(&a, "Retry-After"), "1");
            assert_string_equal(answer_code(&a), "rate_limited");
        }
        answer_free(&a);
        close(fd[i]);
    }
    assert_int_equal(served + refused, N);
    assert_true(refused > 0);
    /* other keys have buckets of their own */
    assert_int_equal(server_call(s, "GET", "/v1/sessions", bearer(s->admin), NULL, 0)->status, 200);
}

static bool key_is_refused(void *data)
{
    struct server *s = data;

    return server_call(s, "GET", "/v1/sessions", bearer(s->read), NULL, 0)->status == 401;
}

static void a_revoked_key_soon_opens_nothing(void **state)
{
    struct server *s = *state;

    assert_int_equal(server_call(s, "GET", "/v1/sessions", bearer(s->read), NULL, 0)->status, 200);
    pg_sql(s->conninfo, "UPDATE api_key SET revoked_at = now() WHERE role = 'read'");
    server_await(key_is_refused, s, "the key is refused");
    assert_int_equal(server_call(s, "GET", "/v1/sessions", bearer(s->admin), NULL, 0)->status, 200);
}

/* Connections -------------------------------------------------------------------------------------
 */

#define PLACES 16

static int set_up_few_places(void **state)
{
    return start_with(state, "--connections=16", NULL);
}

/* One of the places is the connection on which the metric is asked. */
static void past_the_most_connections_the_next_waits_its_turn(void **state)
{
    struct server *s = *state;
    int fd[PLACES];
    struct answer a;

    server_await_metric(s, "framewatch_http_connections", 1);
    for (size_t i = 1; i < PLACES; i++)
        fd[i] = server_connect(s);
    server_await_metric(s, "framewatch_http_connections", PLACES);
    for (size_t i = 1; i < PLACES; i++) {
        int next = server_connect(s);

        client_text(next, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
        client_await_delivered(next);
        assert_int_equal((int)server_metric(s, "framewatch_http_connections"), PLACES);
        close(fd[i]);
        client_read(next, false, &a);
        assert_int_equal(a.status, 200);
        answer_free(&a);
        fd[i] = next;
    }
    for (size_t i = 1; i < PLACES; i++)
        close(fd[i]);
}

/* Stopping ----------------------------------------------------------------------------------------
 */

#define RUSH 3000

/* Connections keep coming while it stops; it ends well, as server_stop() tells. */
static void it_may_be_stopped_under_a_rush_of_connections(void **state)
{
    struct server *s = *state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    for (int round = 0; round < 3; round++) {
        pid_t rush = fork();

        if (rush == 0) {
            at.sin_port = htons((uint16_t)s->port);
            for (int i = 0; i < RUSH; i++) {
                int fd = socket(AF_INET, SOCK_STREAM, 0);

                if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
                    break;
                close(fd);
            }
            _exit(0);
        }
        assert_true(rush > 0);
        server_await_metric(s, "framewatch_http_connections_total", 50);
        assert_int_equal(server_stop(s), 0);
        kill(rush, SIGKILL); /* the port may be somebody else's soon */
        assert_int_equal(waitpid(rush, NULL, 0), rush);
        server_start(s);
    }
}

static bool it_says_stopping(void *s)
{
    return server_logged(s, "msg=stopping");
}

static void sigterm_answers_what_is_under_way(void **state)
{
    struct server *s = *state;
    struct db *db;
    struct answer a;
    int fd, status = 0;

    assert_created(begin_upload(s, 5, "hello"));
    db = locked(s, "upload", "SHARE");
    fd = begin_upload(s, 5, "hello");
    server_await_locked_out(s, 1);
    kill(s->pid, SIGTERM);
    server_await(it_says_stopping, s, "the server stops");
    db_close(db);
    client_read(fd, false, &a);
    assert_int_equal(a.status, 201);
    assert_true(a.closes);
    answer_free(&a);
    close(fd);
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    s->pid = 0;
    assert_int_equal(status, 0);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload WHERE state = 'complete'"),
                     2);
}

static int own_socket(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 64), 0);
    return fd;
}

static int set_up_inherited(void **state)
{
    struct server *s = server_new(SERVER_BINARY);

    s->listen_fd = own_socket();
    *state = s;
    server_start(s);
    return 0;
}

static void a_restart_on_an_inherited_socket_loses_no_request(void **state)
{
    struct server *s = *state;
    struct answer a;

    assert_int_equal(server_call(s, "GET", "/healthz", NULL, NULL, 0)->status, 200);
    assert_int_equal(server_stop(s), 0);

    int fd = server_connect(s); /* nobody is there, but the socket is */

    client_text(fd, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    server_start(s);
    client_read(fd, false, &a);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    close(fd);
    close(s->listen_fd);
}

/* The command line --------------------------------------------------------------------------------
 */

static int run_server(struct server *s, const char *const *args)
{
    char *argv[16] = {(char *)s->binary};
    int status = 0;
    pid_t pid;

    for (size_t i = 0; args[i]; i++)
        argv[i + 1] = (char *)args[i];
    pid = fork();
    if (pid == 0) {
        freopen("/dev/null", "w", stdout);
        freopen("/dev/null", "w", stderr);
        if (s->listen_fd) {
            char own[16];

            snprintf(own, sizeof own, "%d", (int)getpid());
            setenv("LISTEN_PID", own, 1);
            setenv("LISTEN_FDS", "1", 1);
            dup2(s->listen_fd, 3);
        }
        alarm(SERVER_PATIENCE_MS / 1000); /* one that takes what it should refuse serves on */
        execv(s->binary, argv);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void healthcheck_asks_the_own_listener(void **state)
{
    struct server *s = *state;
    char listen[64];
    const char *args[] = {"healthcheck", listen, NULL};

    snprintf(listen, sizeof listen, "--listen=0.0.0.0:%u", s->port);
    assert_int_equal(run_server(s, args), 0);
    assert_int_equal(server_stop(s), 0);
    assert_int_equal(run_server(s, args), 1);
    server_start(s);
}

static void a_wrong_command_line_is_told_before_anything_starts(void **state)
{
    struct server *s = *state;

    assert_int_equal(run_server(s, (const char *const[]){"--no-such-setting=1", NULL}), 2);
    assert_int_equal(run_server(s, (const char *const[]){"--http-threads=0", NULL}), 2);
    assert_int_equal(run_server(s, (const char *const[]){"dance", NULL}), 2);
    assert_int_equal(run_server(s, (const char *const[]){"--secret-file=/nowhere", NULL}), 1);
    assert_int_equal(run_server(s, (const char *const[]){"--help", NULL}), 0);
    assert_int_equal(run_server(s, (const char *const[]){"version", NULL}), 0);
}

static void an_address_nobody_can_reach_is_refused(void **state)
{
    static const char *const wrong[] = {
        "--listen=127.0.0.1:65536",         "--listen=7070",
        "--public-url=frames.org",          "--public-url=https://a\nb",
        "--public-url=https://frames.org/", "--public-url=https://u:pw@frames.org"};
    struct server *s = *state;
    char secret[128], db[PG_CONNINFO_BYTES + 16];

    snprintf(secret, sizeof secret, "--secret-file=%s", s->secret_file);
    snprintf(db, sizeof db, "--db=%s", s->conninfo);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(run_server(s, (const char *const[]){secret, db, "--listen=127.0.0.1:0",
                                                             wrong[i], NULL}),
                         1);
}

static void a_cache_folder_that_takes_no_files_is_told_at_start(void **state)
{
    struct server *s = *state;
    char secret[128], db[PG_CONNINFO_BYTES + 16];
    static const char *const wrong[] = {"--cache-dir=/proc", "--cache-dir=/dev/null",
                                        "--cache-dir=/nowhere/at/all"};

    snprintf(secret, sizeof secret, "--secret-file=%s", s->secret_file);
    snprintf(db, sizeof db, "--db=%s", s->conninfo);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(run_server(s, (const char *const[]){secret, db, "--listen=127.0.0.1:0",
                                                             wrong[i], NULL}),
                         1);
}

static void an_inherited_descriptor_that_does_not_listen_is_refused(void **state)
{
    struct server *s = *state;
    char db[PG_CONNINFO_BYTES + 8], secret[128];
    int not_listening[] = {socket(AF_INET, SOCK_STREAM, 0), dup(STDIN_FILENO)};

    snprintf(secret, sizeof secret, "--secret-file=%s", s->secret_file);
    snprintf(db, sizeof db, "--db=%s", s->conninfo);
    for (size_t i = 0; i < 2; i++) {
        s->listen_fd = not_listening[i];
        assert_int_equal(run_server(s, (const char *const[]){secret, db, NULL}), 1);
        close(not_listening[i]);
    }
    s->listen_fd = 0;
}

static void a_secret_that_others_may_read_is_refused(void **state)
{
    struct server *s = *state;
    char db[PG_CONNINFO_BYTES + 8], secret[128];

    snprintf(db, sizeof db, "--db=%s", s->conninfo);
    snprintf(secret, sizeof secret, "--secret-file=%s", "/etc/passwd");
    assert_int_equal(run_server(s, (const char *const[]){db, secret, "--listen=127.0.0.1:0", NULL}),
                     1);
}

static unsigned lines_with(struct server *s, const char *text)
{
    FILE *f = fopen(s->log_file, "re");
    char line[4096];
    unsigned n = 0;

    while (f && fgets(line, sizeof line, f))
        n += strstr(line, text) != NULL;
    if (f)
        fclose(f);
    return n;
}

static void an_outage_of_the_database_is_not_told_with_every_request(void **state)
{
    struct server *s = *state;
    unsigned failed = 0;
    time_t began;

    assert_int_equal(server_call(s, "GET", "/v1/sessions", bearer(s->read), NULL, 0)->status, 200);
    pg_sql(s->conninfo, "ALTER TABLE session RENAME TO away");
    began = time(NULL);
    for (int i = 0; i < 50; i++)
        failed += server_call(s, "GET", "/v1/sessions", bearer(s->read), NULL, 0)->status >= 500;
    assert_int_equal(failed, 50);
    assert_int_equal(server_stop(s), 0);
    assert_in_range(lines_with(s, "msg=\"request failed\""), 1, (unsigned)(time(NULL) - began) + 2);
}

static void another_schema_is_refused(void **state)
{
    struct server *s = *state;
    char db[PG_CONNINFO_BYTES + 8], secret[128], old[PG_CONNINFO_BYTES];

    pg_empty_db(old);
    snprintf(db, sizeof db, "--db=%s", old);
    snprintf(secret, sizeof secret, "--secret-file=%s", s->secret_file);
    assert_int_equal(run_server(s, (const char *const[]){db, secret, "--listen=127.0.0.1:0", NULL}),
                     1);
    assert_int_equal(run_server(s, (const char *const[]){"migrate", db, NULL}), 0);
    assert_int_equal(run_server(s, (const char *const[]){"migrate", db, NULL}), 0);
    pg_drop_db(old);
}

static int set_up_worker(void **state)
{
    return start_with(state, "--role=worker", NULL);
}

static void a_worker_answers_only_those_who_watch_it(void **state)
{
    struct server *s = *state;

    assert_int_equal(server_call(s, "GET", "/healthz", NULL, NULL, 0)->status, 200);
    assert_int_equal(server_call(s, "GET", "/readyz", NULL, NULL, 0)->status, 200);
    assert_int_equal(server_call(s, "GET", "/metrics", NULL, NULL, 0)->status, 200);
    assert_int_equal(server_call(s, "GET", "/v1/sessions", bearer(s->read), NULL, 0)->status, 404);
    assert_int_equal(server_call(s, "OPTIONS", "/v1/uploads", NULL, NULL, 0)->status, 404);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)
#define WITH(set_up, name) cmocka_unit_test_setup_teardown(name, set_up, server_teardown)
    const struct CMUnitTest tests[] = {
        T(a_refusal_is_a_problem_document_with_the_request_id),
        T(a_method_the_path_does_not_know_is_405_with_those_it_does),
        T(a_head_is_a_get_without_its_body),
        T(requests_on_one_connection_are_answered_in_order),
        T(a_body_nobody_takes_is_refused_before_it_is_read),
        T(a_client_that_asks_before_its_body_is_told),
        T(an_answer_names_no_key_and_the_log_neither),
        WITH(set_up_public, a_location_is_where_clients_reach_the_server),
        T(what_two_servers_could_read_differently_is_refused),
        T(a_header_that_counts_may_stand_there_once),
        T(a_target_that_is_no_path_is_refused),
        T(too_many_or_too_long_headers_are_refused),
        T(more_cookies_than_fit_leave_nothing_behind),
        T(garbage_is_answered_or_closed_and_the_server_goes_on),
        T(what_libmicrohttpd_refuses_is_counted),
        WITH(set_up_quick_readers_only,
             a_client_that_does_not_read_its_answer_is_cut_and_hinders_nobody),
        T(a_broken_chunk_is_refused),
        WITH(set_up_short_of_headers, a_connection_may_wait_before_its_first_request),
        WITH(set_up_short_of_headers, headers_that_drip_are_cut),
        WITH(set_up_short_of_grace, a_body_that_drips_is_cut_and_what_came_is_kept),
        WITH(set_up_small_commit_queue, a_full_commit_queue_is_503_before_the_body),
        WITH(set_up_few_buffers, without_free_buffers_new_bodies_are_503),
        WITH(set_up_few_buffers, bodies_share_the_buffers_there_are),
        WITH(set_up_small_request_queue, a_full_request_queue_is_503),
        WITH(set_up_low_rate, a_key_that_asks_too_much_is_429),
        T(a_revoked_key_soon_opens_nothing),
        T(sigterm_answers_what_is_under_way),
        WITH(set_up_few_places, past_the_most_connections_the_next_waits_its_turn),
        T(it_may_be_stopped_under_a_rush_of_connections),
        WITH(set_up_inherited, a_restart_on_an_inherited_socket_loses_no_request),
        T(healthcheck_asks_the_own_listener),
        T(a_wrong_command_line_is_told_before_anything_starts),
        T(an_address_nobody_can_reach_is_refused),
        T(a_cache_folder_that_takes_no_files_is_told_at_start),
        T(an_inherited_descriptor_that_does_not_listen_is_refused),
        T(a_secret_that_others_may_read_is_refused),
        T(an_outage_of_the_database_is_not_told_with_every_request),
        T(another_schema_is_refused),
        WITH(set_up_worker, a_worker_answers_only_those_who_watch_it),
    };

    setenv("FW_ROLE", "server", 1);
    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
