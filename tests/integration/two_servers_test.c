/* Two servers on one database: either serves what the other began, and what the other's worker
 * analysed. */
#include "support/server.h"
#include "support/session_builder.h"

#include "server/http/tus_headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES_TYPE "Content-Type: application/offset+octet-stream\r\n"
#define SECOND UINT64_C(1000000)

struct pair {
    struct server *a, b; /* b borrows the database, keys and secret of a */
};

static int set_up(void **state)
{
    struct pair *p = calloc(1, sizeof *p);

    p->a = server_new(SERVER_BINARY);
    p->b = *p->a;
    snprintf(p->b.log_file, sizeof p->b.log_file, "%s/log-b", p->b.folder);
    server_start(p->a);
    server_start(&p->b);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct pair *p = *state;
    int code = server_stop(&p->b) + server_stop(p->a);

    answer_free(&p->b.answer);
    unlink(p->b.log_file);
    server_free(p->a);
    free(p);
    return code;
}

static const char *headers_of(const struct server *s, const char *more)
{
    static char text[1024];

    snprintf(text, sizeof text, "Tus-Resumable: 1.0.0\r\nAuthorization: Bearer %s\r\n%s", s->ingest,
             more);
    return text;
}

static void make(struct server *s, size_t length, char path[64])
{
    char length_header[64];

    snprintf(length_header, sizeof length_header, "Upload-Length: %zu\r\n", length);

    struct answer *a = server_call(s, "POST", "/v1/uploads", headers_of(s, length_header), NULL, 0);

    assert_int_equal(a->status, 201);
    snprintf(path, 64, "%s", strstr(answer_header(a, "Location"), "/v1/uploads/"));
}

static struct answer *patch(struct server *s, const char *path, size_t at, const void *bytes,
                            size_t n)
{
    char more[256];

    snprintf(more, sizeof more, BYTES_TYPE "Upload-Offset: %zu\r\n", at);
    return server_call(s, "PATCH", path, headers_of(s, more), bytes, n);
}

static int64_t offset_at(struct server *s, const char *path)
{
    struct answer *a = server_call(s, "HEAD", path, headers_of(s, ""), NULL, 0);

    assert_int_equal(a->status, 200);
    return answer_i64(a, "Upload-Offset");
}

static void an_upload_goes_back_and_forth_between_them(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    struct pair *p = *state;
    char path[64];

    make(p->a, 26, path);
    for (size_t at = 0; at < 26; at += 2) {
        struct server *now = at % 4 ? &p->b : p->a, *other = at % 4 ? p->a : &p->b;

        assert_int_equal(patch(now, path, at, &letters[at], 2)->status, 204);
        assert_int_equal(offset_at(other, path), (int64_t)at + 2);
    }
    assert_int_equal(pg_i64(p->a->conninfo,
                            "SELECT count(*) FROM upload u WHERE state = 'complete' AND "
                            "(SELECT string_agg(encode(bytes, 'escape'), '' ORDER BY at) FROM "
                            "upload_chunk) = 'abcdefghijklmnopqrstuvwxyz'"),
                     1);
}

/* The same bytes at the same offset through both at once: they are stored once. */
static void of_two_at_once_one_is_told_the_true_offset(void **state)
{
    struct pair *p = *state;
    struct answer a[2];
    char path[64];
    int fd[2];

    make(p->a, 10, path);
    for (int i = 0; i < 2; i++) {
        fd[i] = server_connect(i ? &p->b : p->a);
        client_text(fd[i],
                    "PATCH %s HTTP/1.1\r\nHost: h\r\n%sUpload-Offset: 0\r\nContent-Length: 5\r\n"
                    "\r\nhello",
                    path, headers_of(p->a, BYTES_TYPE));
    }
    for (int i = 0; i < 2; i++) {
        client_read(fd[i], false, &a[i]);
        close(fd[i]);
    }
    assert_int_equal(a[0].status + a[1].status, 204 + 409);
    assert_int_equal(answer_i64(&a[0], "Upload-Offset"), 5);
    assert_int_equal(answer_i64(&a[1], "Upload-Offset"), 5);
    assert_int_equal(pg_i64(p->a->conninfo, "SELECT count(*) FROM upload_chunk"), 1);
    answer_free(&a[0]);
    answer_free(&a[1]);
}

struct awaited_session {
    struct server *s;
    char path[96];
    const char *text;
};

static bool session_says(void *data)
{
    struct awaited_session *w = data;
    char key[256];

    snprintf(key, sizeof key, "Authorization: Bearer %s\r\n", w->s->read);

    struct answer *a = server_call(w->s, "GET", w->path, key, NULL, 0);

    assert_true(a->status == 200 || a->status == 404);
    return a->status == 200 && strstr((const char *)a->body, w->text);
}

static void a_session_whose_files_came_through_both_is_one(void **state)
{
    struct pair *p = *state;
    struct session_builder *b = sb_new(77);
    struct awaited_session w = {.text = "\"state\":\"final\""};
    int n = snprintf(w.path, sizeof w.path, "/v1/sessions/");

    for (int i = 0; i < 16; i++)
        n += snprintf(w.path + n, sizeof w.path - (size_t)n, "%02x", b->session_id[i]);
    for (uint32_t part = 0; part < 4; part++) {
        struct server *s = part % 2 ? &p->b : p->a;
        char path[64];
        size_t len;

        sb_part(b, part, part * 10 * SECOND);
        uint64_t t = sb_play(b, part * 10 * SECOND, 10, part);
        if (part == 3)
            sb_end(b, t, END_STOPPED);

        const unsigned char *bytes = sb_bytes(b, &len);

        make(s, len, path);
        assert_int_equal(patch(s, path, 0, bytes, len)->status, 204);
    }
    for (int i = 0; i < 2; i++) {
        w.s = i ? &p->b : p->a;
        server_await(session_says, &w, "the session is final");
    }
    assert_int_equal(pg_i64(p->a->conninfo, "SELECT count(*) FROM job WHERE state = 'dead'"), 0);
    sb_free(b);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(an_upload_goes_back_and_forth_between_them),
        T(of_two_at_once_one_is_told_the_true_offset),
        T(a_session_whose_files_came_through_both_is_one),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
