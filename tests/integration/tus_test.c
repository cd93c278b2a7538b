/* The upload protocol as docs/uploads.md tells it, over real HTTP against the real server. */
#include "support/server.h"

#include "base/digest.h"
#include "server/db/db.h"
#include "server/http/tus_headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES_TYPE "Content-Type: application/offset+octet-stream\r\n"
#define KB(n) ((size_t)(n)*1024)

/* Bytes of a test's file: they differ at every offset that matters. */
static unsigned char *file_bytes(size_t n)
{
    unsigned char *bytes = malloc(n + 1);
    uint32_t x = 2463534242u;

    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        bytes[i] = (unsigned char)x;
    }
    return bytes;
}

static const char *pair(const char *key, const char *value)
{
    static char text[4][1024];
    static unsigned next;
    char *out = text[next++ % 4];
    int n = snprintf(out, sizeof text[0], "%s ", key);

    base64_encode(value, strlen(value), out + n);
    return out;
}

/* A request of tus 1.0.0 with that key; fmt gives further header lines. */
static struct answer *tus(struct server *s, const char *key, const char *method, const char *path,
                          const void *body, size_t len, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));
static struct answer *tus(struct server *s, const char *key, const char *method, const char *path,
                          const void *body, size_t len, const char *fmt, ...)
{
    char headers[8192];
    va_list ap;
    int n = snprintf(headers, sizeof headers,
                     "Tus-Resumable: 1.0.0\r\nAuthorization: Bearer %s\r\n", key);

    va_start(ap, fmt);
    vsnprintf(headers + n, sizeof headers - (size_t)n, fmt, ap);
    va_end(ap);
    return server_call(s, method, path, headers, body, len);
}

/* Path of a new upload of that length; the text is the caller's. */
static char *created(struct server *s, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);
static char *created(struct server *s, const char *key, const char *fmt, ...)
{
    char headers[4096];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(headers, sizeof headers, fmt, ap);
    va_end(ap);

    struct answer *a = tus(s, key, "POST", "/v1/uploads", NULL, 0, "%s", headers);

    assert_int_equal(a->status, 201);

    const char *location = answer_header(a, "Location");

    assert_non_null(location);
    return strdup(strstr(location, "/v1/uploads/"));
}

static struct answer *patch(struct server *s, const char *path, size_t offset, const void *body,
                            size_t len)
{
    return tus(s, s->ingest, "PATCH", path, body, len, BYTES_TYPE "Upload-Offset: %zu\r\n", offset);
}

static int64_t offset_of(struct server *s, const char *path)
{
    struct answer *a = tus(s, s->ingest, "HEAD", path, NULL, 0, "%s", "");

    assert_int_equal(a->status, 200);
    return answer_i64(a, "Upload-Offset");
}

static const char *id_of(const char *path)
{
    return path + strlen("/v1/uploads/");
}

/* What the database holds of the upload is exactly that. */
static void assert_stored(struct server *s, const char *path, const unsigned char *bytes, size_t n)
{
    unsigned char hash[SHA256_BYTES];
    char want[2 * SHA256_BYTES + 2];
    char *have = pg_rows(s->conninfo,
                         "SELECT encode(sha256(string_agg(bytes, ''::bytea ORDER BY at)), 'hex')"
                         " FROM upload_chunk WHERE upload_id = '%s'",
                         id_of(path));

    sha256(bytes, n, hash);
    to_hex(hash, sizeof hash, want);
    memcpy(want + 2 * SHA256_BYTES, "\n", 2);
    assert_string_equal(have, want);
    free(have);
}

/* Core -------------------------------------------------------------------------------------------
 */

static void options_tells_what_is_served_without_a_key(void **state)
{
    struct server *s = *state;
    struct answer *a = server_call(s, "OPTIONS", "/v1/uploads", NULL, NULL, 0);

    assert_int_equal(a->status, 204);
    assert_string_equal(answer_header(a, "Tus-Version"), "1.0.0");
    assert_string_equal(answer_header(a, "Tus-Extension"),
                        "creation,creation-with-upload,creation-defer-length,expiration,checksum,"
                        "termination,concatenation");
    assert_string_equal(answer_header(a, "Tus-Checksum-Algorithm"), "sha1,sha256,crc32c");
    assert_int_equal(answer_i64(a, "Tus-Max-Size"), INT64_C(4) << 30);
    assert_string_equal(answer_header(a, "Tus-Resumable"), "1.0.0");
}

static void another_version_is_412_and_nothing_happens(void **state)
{
    struct server *s = *state;
    char headers[256];

    snprintf(headers, sizeof headers,
             "Tus-Resumable: 0.2.2\r\nAuthorization: Bearer %s\r\nUpload-Length: 5\r\n", s->ingest);

    struct answer *a = server_call(s, "POST", "/v1/uploads", headers, NULL, 0);

    assert_int_equal(a->status, 412);
    assert_string_equal(answer_header(a, "Tus-Version"), "1.0.0");
    assert_string_equal(answer_header(a, "Tus-Resumable"), "1.0.0");
    a = server_call(s, "POST", "/v1/uploads", strchr(headers, '\n') + 1, NULL, 0);
    assert_int_equal(a->status, 412);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload"), 0);
}

static void method_override_replaces_the_method(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 5\r\n");
    struct answer *a = tus(s, s->ingest, "POST", path, "hello", 5,
                           "X-HTTP-Method-Override: PATCH\r\n" BYTES_TYPE "Upload-Offset: 0\r\n");

    assert_int_equal(a->status, 204);
    assert_int_equal(answer_i64(a, "Upload-Offset"), 5);
    a = tus(s, s->ingest, "POST", path, NULL, 0, "X-HTTP-Method-Override: HEAD\r\n");
    assert_int_equal(a->status, 200);
    assert_int_equal(answer_i64(a, "Upload-Offset"), 5);
    free(path);
}

static void head_tells_offset_length_and_metadata(void **state)
{
    struct server *s = *state;
    const char *metadata = "filename d29ybGQ=,filetype,is_confidential";
    char *path = created(s, s->ingest, "Upload-Length: 100\r\nUpload-Metadata: %s\r\n", metadata);

    assert_int_equal(patch(s, path, 0, "0123456789", 10)->status, 204);

    struct answer *a = tus(s, s->ingest, "HEAD", path, NULL, 0, "%s", "");

    assert_int_equal(a->status, 200);
    assert_int_equal(answer_i64(a, "Upload-Offset"), 10);
    assert_int_equal(answer_i64(a, "Upload-Length"), 100);
    assert_string_equal(answer_header(a, "Upload-Metadata"), metadata);
    assert_string_equal(answer_header(a, "Cache-Control"), "no-store");
    assert_null(answer_header(a, "Upload-Defer-Length"));
    assert_non_null(answer_header(a, "Upload-Expires"));
    free(path);
}

static void an_upload_that_does_not_exist_is_404_without_offset(void **state)
{
    struct server *s = *state;
    static const char *const paths[] = {
        "/v1/uploads/00112233445566778899aabbccddeeff",
        "/v1/uploads/00112233445566778899aabbccddee",
        "/v1/uploads/not-an-id",
    };

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct answer *a = tus(s, s->ingest, "HEAD", paths[i], NULL, 0, "%s", "");

        assert_int_equal(a->status, 404);
        assert_null(answer_header(a, "Upload-Offset"));
        assert_string_equal(answer_header(a, "Cache-Control"), "no-store");
        assert_int_equal(patch(s, paths[i], 0, "x", 1)->status, 404);
        a = tus(s, s->ingest, "DELETE", paths[i], NULL, 0, "%s", "");
        assert_int_equal(a->status, 404);
        assert_non_null(strstr((const char *)a->body, "There is no such upload."));
    }
}

static void a_patch_of_another_type_is_415(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 5\r\n");
    struct answer *a = tus(s, s->ingest, "PATCH", path, "hello", 5,
                           "Content-Type: text/plain\r\nUpload-Offset: 0\r\n");

    assert_int_equal(a->status, 415);
    assert_int_equal(tus(s, s->ingest, "PATCH", path, "hello", 5, "Upload-Offset: 0\r\n")->status,
                     415);
    assert_int_equal(offset_of(s, path), 0);
    free(path);
}

static void a_patch_without_a_good_offset_is_400(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 5\r\n");
    static const char *const bad[] = {"",
                                      "Upload-Offset: -1\r\n",
                                      "Upload-Offset: x\r\n",
                                      "Upload-Offset: 99999999999999999999\r\n",
                                      "Upload-Offset: 0x0\r\n",
                                      "Upload-Offset:\r\n"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct answer *a = tus(s, s->ingest, "PATCH", path, "hello", 5, BYTES_TYPE "%s", bad[i]);

        assert_int_equal(a->status, 400);
        assert_string_equal(answer_code(a), "invalid");
    }
    assert_int_equal(offset_of(s, path), 0);
    free(path);
}

static void another_offset_is_409_with_the_true_one(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 10\r\n");

    assert_int_equal(patch(s, path, 0, "hello", 5)->status, 204);
    for (size_t wrong = 0; wrong < 10; wrong += 3) {
        struct answer *a = patch(s, path, wrong, "world", 5);

        assert_int_equal(a->status, 409);
        assert_int_equal(answer_i64(a, "Upload-Offset"), 5);
        assert_string_equal(answer_code(a), "offset_mismatch");
    }
    assert_int_equal(patch(s, path, 5, "world", 5)->status, 204);
    assert_stored(s, path, (const unsigned char *)"helloworld", 10);
    free(path);
}

static void bytes_past_the_length_are_413_and_change_nothing(void **state)
{
    struct server *s = *state;
    size_t n = KB(700);
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: 10\r\n");

    assert_int_equal(patch(s, path, 0, "0123456789A", 11)->status, 413);
    assert_int_equal(patch(s, path, 0, bytes, n)->status, 413);
    assert_int_equal(offset_of(s, path), 0);
    assert_int_equal(patch(s, path, 0, "0123456789", 10)->status, 204);
    assert_int_equal(patch(s, path, 10, "A", 1)->status, 413);
    free(path);
    free(bytes);
}

static void a_body_longer_than_a_chunk_is_stored_piece_by_piece(void **state)
{
    struct server *s = *state;
    size_t n = KB(1500) + 77;
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", n);
    struct answer *a = patch(s, path, 0, bytes, n);

    assert_int_equal(a->status, 204);
    assert_int_equal(answer_i64(a, "Upload-Offset"), (int64_t)n);
    assert_stored(s, path, bytes, n);
    free(path);
    free(bytes);
}

static void a_body_of_exactly_one_chunk_is_stored(void **state)
{
    struct server *s = *state;
    size_t n = KB(256);
    unsigned char *bytes = file_bytes(2 * n + 1);

    for (size_t extra = 0; extra < 3; extra++) {
        size_t len = n - 1 + extra;
        char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", len + n);

        assert_int_equal(patch(s, path, 0, bytes, len)->status, 204);
        assert_int_equal(patch(s, path, len, bytes + len, n)->status, 204);
        assert_stored(s, path, bytes, len + n);
        free(path);
    }
    free(bytes);
}

static void a_chunked_body_is_stored(void **state)
{
    struct server *s = *state;
    size_t n = KB(600) + 5, sent = 0;
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", n);
    int fd = server_connect(s);
    struct answer a;

    client_text(fd,
                "PATCH %s HTTP/1.1\r\nHost: h\r\nTus-Resumable: 1.0.0\r\nAuthorization: Bearer "
                "%s\r\n" BYTES_TYPE "Upload-Offset: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
                path, s->ingest);
    for (size_t step = 1; sent < n; step = step * 3 + 1) {
        size_t len = step < n - sent ? step : n - sent;

        client_text(fd, "%zx\r\n", len);
        client_send(fd, bytes + sent, len);
        client_text(fd, "\r\n");
        sent += len;
    }
    client_text(fd, "0\r\n\r\n");
    client_read(fd, false, &a);
    assert_int_equal(a.status, 204);
    assert_int_equal(answer_i64(&a, "Upload-Offset"), (int64_t)n);
    assert_stored(s, path, bytes, n);
    answer_free(&a);
    close(fd);
    free(path);
    free(bytes);
}

/* Sends the head of a PATCH and part of its body. */
static int half_a_patch(struct server *s, const char *path, size_t offset, size_t length,
                        const void *bytes, size_t n, const char *more)
{
    int fd = server_connect(s);

    client_text(fd,
                "PATCH %s HTTP/1.1\r\nHost: h\r\nTus-Resumable: 1.0.0\r\nAuthorization: Bearer "
                "%s\r\n" BYTES_TYPE "Upload-Offset: %zu\r\nContent-Length: %zu\r\n%s\r\n",
                path, s->ingest, offset, length, more);
    client_send(fd, bytes, n);
    return fd;
}

struct awaited_offset {
    struct server *s;
    const char *path;
    int64_t offset;
};

static bool offset_is_there(void *data)
{
    struct awaited_offset *o = data;

    return pg_i64(o->s->conninfo, "SELECT at FROM upload WHERE upload_id = '%s'", id_of(o->path)) ==
           o->offset;
}

static void what_came_before_the_connection_broke_is_kept(void **state)
{
    struct server *s = *state;
    size_t n = KB(200);
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", n);
    int fd = half_a_patch(s, path, 0, n, bytes, KB(100), "");

    shutdown(fd, SHUT_WR);
    server_await(offset_is_there, &(struct awaited_offset){s, path, (int64_t)KB(100)},
                 "the first half is stored");
    close(fd);
    assert_int_equal(offset_of(s, path), (int64_t)KB(100));
    assert_int_equal(patch(s, path, KB(100), bytes + KB(100), KB(100))->status, 204);
    assert_stored(s, path, bytes, n);
    free(path);
    free(bytes);
}

static void a_piece_is_durable_while_the_rest_is_on_its_way(void **state)
{
    struct server *s = *state;
    size_t n = KB(512);
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", n);
    int fd = half_a_patch(s, path, 0, n, bytes, KB(300), "");

    server_await(offset_is_there, &(struct awaited_offset){s, path, (int64_t)KB(256)},
                 "the first piece is stored");
    client_send(fd, bytes + KB(300), n - KB(300));

    struct answer a;

    client_read(fd, false, &a);
    assert_int_equal(a.status, 204);
    assert_stored(s, path, bytes, n);
    answer_free(&a);
    close(fd);
    free(path);
    free(bytes);
}

/* Creation ---------------------------------------------------------------------------------------
 */

static void creation_needs_a_length_or_its_deferral(void **state)
{
    struct server *s = *state;
    static const char *const bad[] = {"",
                                      "Upload-Length: 5\r\nUpload-Defer-Length: 1\r\n",
                                      "Upload-Defer-Length: 0\r\n",
                                      "Upload-Length: -5\r\n",
                                      "Upload-Length: five\r\n",
                                      "Upload-Length: 5 \r\nUpload-Length: 5\r\n"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0, "%s", bad[i])->status,
                         400);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload"), 0);
}

static void creation_answers_an_absolute_location(void **state)
{
    struct server *s = *state;
    char want[64];
    struct answer *a = tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0, "Upload-Length: 5\r\n");

    snprintf(want, sizeof want, "http://127.0.0.1:%u/v1/uploads/", s->port);
    assert_int_equal(a->status, 201);
    assert_memory_equal(answer_header(a, "Location"), want, strlen(want));
    assert_int_equal(strlen(answer_header(a, "Location")), strlen(want) + 32);
    assert_int_equal(answer_i64(a, "Upload-Offset"), 0);
    assert_non_null(answer_header(a, "Upload-Expires"));
}

static void a_file_too_big_for_its_kind_is_413(void **state)
{
    struct server *s = *state;
    struct answer *a =
        tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0, "Upload-Length: %zu\r\n", KB(8192) + 1);

    assert_int_equal(a->status, 413);
    assert_string_equal(answer_code(a), "too_big");
    a = tus(s, s->admin, "POST", "/v1/uploads", NULL, 0,
            "Upload-Length: %zu\r\nUpload-Metadata: %s\r\n", KB(8192) + 1, pair("kind", "symbols"));
    assert_int_equal(a->status, 201);
}

static void an_empty_file_is_complete_at_once(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 0\r\nUpload-Metadata:\r\n");
    struct answer *a = tus(s, s->ingest, "HEAD", path, NULL, 0, "%s", "");

    assert_int_equal(answer_i64(a, "Upload-Length"), 0);
    assert_null(answer_header(a, "Upload-Metadata"));
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload WHERE state = 'complete'"),
                     1);
    free(path);
}

static void bad_metadata_is_400(void **state)
{
    struct server *s = *state;
    static const char *const bad[] = {"key !!!", "a b=,a b=",   ",",         "key dmFsdWU",
                                      "key a b", " ,x",         "kind Ym9t", "kind c2Vzc2lvbgB4",
                                      "fileid ", "fileid CQ==", "install",   "k\303\244 YQ=="};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct answer *a = tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0,
                               "Upload-Length: 1\r\nUpload-Metadata: %s\r\n", bad[i]);

        assert_int_equal(a->status, 400);
        assert_non_null(strstr((const char *)a->body, "\"field\":\"Upload-Metadata\""));
    }
}

static void creation_with_the_whole_file_needs_one_request(void **state)
{
    struct server *s = *state;
    size_t n = KB(50);
    unsigned char *bytes = file_bytes(n);
    struct answer *a =
        tus(s, s->ingest, "POST", "/v1/uploads", bytes, n, BYTES_TYPE "Upload-Length: %zu\r\n", n);

    assert_int_equal(a->status, 201);
    assert_int_equal(answer_i64(a, "Upload-Offset"), (int64_t)n);

    char *path = strdup(strstr(answer_header(a, "Location"), "/v1/"));

    assert_stored(s, path, bytes, n);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload WHERE state = 'complete'"
                                         " AND completed_at IS NOT NULL"),
                     1);
    free(path);
    free(bytes);
}

static void creation_with_a_long_body_is_stored_piece_by_piece(void **state)
{
    struct server *s = *state;
    size_t n = KB(900) + 3;
    unsigned char *bytes = file_bytes(n);
    struct answer *a = tus(s, s->ingest, "POST", "/v1/uploads", bytes, n - 3,
                           BYTES_TYPE "Upload-Length: %zu\r\n", n);

    assert_int_equal(a->status, 201);
    assert_int_equal(answer_i64(a, "Upload-Offset"), (int64_t)n - 3);

    char *path = strdup(strstr(answer_header(a, "Location"), "/v1/"));

    assert_int_equal(patch(s, path, n - 3, bytes + n - 3, 3)->status, 204);
    assert_stored(s, path, bytes, n);
    free(path);
    free(bytes);
}

static void creation_with_a_body_of_another_type_or_past_the_length_is_refused(void **state)
{
    struct server *s = *state;

    assert_int_equal(tus(s, s->ingest, "POST", "/v1/uploads", "hello", 5,
                         "Upload-Length: 5\r\nContent-Type: text/plain\r\n")
                         ->status,
                     415);
    assert_int_equal(
        tus(s, s->ingest, "POST", "/v1/uploads", "hello", 5, "Upload-Length: 4\r\n" BYTES_TYPE)
            ->status,
        413);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload"), 0);
}

static void a_length_may_be_said_later_and_only_once(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Defer-Length: 1\r\n");
    struct answer *a = tus(s, s->ingest, "HEAD", path, NULL, 0, "%s", "");

    assert_string_equal(answer_header(a, "Upload-Defer-Length"), "1");
    assert_null(answer_header(a, "Upload-Length"));
    assert_int_equal(patch(s, path, 0, "hello", 5)->status, 204);
    a = tus(s, s->ingest, "PATCH", path, " wor", 4,
            BYTES_TYPE "Upload-Offset: 5\r\nUpload-Length: 10\r\n");
    assert_int_equal(a->status, 204);
    assert_int_equal(tus(s, s->ingest, "PATCH", path, "l", 1,
                         BYTES_TYPE "Upload-Offset: 9\r\nUpload-Length: 11\r\n")
                         ->status,
                     400);
    a = tus(s, s->ingest, "HEAD", path, NULL, 0, "%s", "");
    assert_int_equal(answer_i64(a, "Upload-Length"), 10);
    assert_int_equal(answer_i64(a, "Upload-Offset"), 9);
    a = tus(s, s->ingest, "PATCH", path, "l", 1,
            BYTES_TYPE "Upload-Offset: 9\r\nUpload-Length: 10\r\n");
    assert_int_equal(a->status, 204);
    assert_null(answer_header(a, "Upload-Expires"));
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM job WHERE kind = 'part'"), 1);
    free(path);
}

static void a_refused_patch_does_not_set_the_length(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Defer-Length: 1\r\n");

    assert_int_equal(tus(s, s->ingest, "PATCH", path, "hello", 5,
                         BYTES_TYPE "Upload-Offset: 3\r\nUpload-Length: 5\r\n")
                         ->status,
                     409);
    assert_int_equal(tus(s, s->ingest, "PATCH", path, "hello", 5,
                         BYTES_TYPE "Upload-Offset: 0\r\nUpload-Length: 4\r\n")
                         ->status,
                     413);
    assert_string_equal(
        answer_header(tus(s, s->ingest, "HEAD", path, NULL, 0, "%s", ""), "Upload-Defer-Length"),
        "1");
    free(path);
}

/* Idempotence: a phone that lost the answer -------------------------------------------------------
 */

static void the_same_file_is_the_same_upload_at_its_true_offset(void **state)
{
    struct server *s = *state;
    char *first = created(s, s->ingest, "Upload-Length: 10\r\nUpload-Metadata: %s\r\n",
                          pair("fileid", "5b0cfd58-6d1c-4b5e-a8e0-8a53a6ab1d0f"));

    assert_int_equal(patch(s, first, 0, "0123", 4)->status, 204);

    char *again = created(s, s->ingest, "Upload-Length: 10\r\nUpload-Metadata: %s\r\n",
                          pair("fileid", "5b0cfd58-6d1c-4b5e-a8e0-8a53a6ab1d0f"));

    assert_string_equal(first, again);
    assert_int_equal(answer_i64(&s->answer, "Upload-Offset"), 4);
    free(again);

    /* also with the whole file in the request: nothing is stored twice */
    struct answer *a = tus(s, s->ingest, "POST", "/v1/uploads", "0123456789", 10,
                           BYTES_TYPE "Upload-Length: 10\r\nUpload-Metadata: %s\r\n",
                           pair("fileid", "5b0cfd58-6d1c-4b5e-a8e0-8a53a6ab1d0f"));

    assert_int_equal(a->status, 201);
    assert_int_equal(answer_i64(a, "Upload-Offset"), 4);
    assert_int_equal(patch(s, first, 4, "456789", 6)->status, 204);
    assert_stored(s, first, (const unsigned char *)"0123456789", 10);
    free(first);
}

static void another_app_or_file_is_another_upload(void **state)
{
    struct server *s = *state;
    char *mine =
        created(s, s->ingest, "Upload-Length: 4\r\nUpload-Metadata: %s\r\n", pair("fileid", "a"));
    char *other =
        created(s, s->ingest, "Upload-Length: 4\r\nUpload-Metadata: %s\r\n", pair("fileid", "b"));
    char *theirs = created(s, s->other_ingest, "Upload-Length: 4\r\nUpload-Metadata: %s\r\n",
                           pair("fileid", "a"));
    char *none1 = created(s, s->ingest, "Upload-Length: 4\r\n");
    char *none2 = created(s, s->ingest, "Upload-Length: 4\r\n");

    assert_string_not_equal(mine, other);
    assert_string_not_equal(mine, theirs);
    assert_string_not_equal(none1, none2);
    free(mine);
    free(other);
    free(theirs);
    free(none1);
    free(none2);
}

static void a_file_id_cannot_become_another_file(void **state)
{
    struct server *s = *state;

    free(created(s, s->ingest, "Upload-Length: 4\r\nUpload-Metadata: %s\r\n", pair("fileid", "a")));

    struct answer *a = tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0,
                           "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("fileid", "a"));

    assert_int_equal(a->status, 409);
    assert_string_equal(answer_code(a), "file_id_used");
    a = tus(s, s->admin, "POST", "/v1/uploads", NULL, 0,
            "Upload-Length: 4\r\nUpload-Metadata: %s,%s\r\n", pair("fileid", "a"),
            pair("kind", "mapping"));
    assert_int_equal(a->status, 409);
}

static void a_patch_at_the_end_of_a_complete_upload_is_204(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 5\r\n");

    assert_int_equal(patch(s, path, 0, "hello", 5)->status, 204);

    struct answer *a = patch(s, path, 5, "", 0);

    assert_int_equal(a->status, 204);
    assert_int_equal(answer_i64(a, "Upload-Offset"), 5);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM job WHERE kind = 'part'"), 1);
    free(path);
}

static void a_session_becomes_one_job_when_it_is_complete(void **state)
{
    struct server *s = *state;
    char *path =
        created(s, s->ingest, "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("fileid", "f"));

    assert_int_equal(patch(s, path, 0, "hell", 4)->status, 204);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM job WHERE kind = 'part'"), 0);
    assert_int_equal(patch(s, path, 4, "o", 1)->status, 204);
    assert_int_equal(pg_i64(s->conninfo,
                            "SELECT count(*) FROM job j JOIN upload u ON u.shard = j.shard AND"
                            " u.upload_id = j.ref AND u.day = j.day AND u.app_id = j.app_id WHERE"
                            " j.kind = 'part' AND u.upload_id = '%s'",
                            id_of(path)),
                     1);
    free(path);
    free(created(s, s->ingest, "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("fileid", "f")));
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM job WHERE kind = 'part'"), 1);
    /* symbols are kept, and no session */
    assert_int_equal(tus(s, s->admin, "POST", "/v1/uploads", "hello", 5,
                         BYTES_TYPE "Upload-Length: 5\r\nUpload-Metadata: %s\r\n",
                         pair("kind", "symbols"))
                         ->status,
                     201);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM job WHERE kind = 'part'"), 1);
}

static void the_install_id_is_nowhere(void **state)
{
    struct server *s = *state;
    const char *install = "an-install-id-nobody-may-keep";
    char *path = created(s, s->ingest, "Upload-Length: 5\r\nUpload-Metadata: %s,%s\r\n",
                         pair("install", install), pair("fileid", "x"));
    struct answer *a = tus(s, s->ingest, "HEAD", path, NULL, 0, "%s", "");
    char *hash = pg_rows(s->conninfo, "SELECT encode(install_hash, 'hex') FROM upload");
    char want[256];

    assert_int_equal(strlen(hash), 65);
    hash[64] = '\0';
    snprintf(want, sizeof want, "%s,%s", pair("install", hash), pair("fileid", "x"));
    assert_string_equal(answer_header(a, "Upload-Metadata"), want);
    assert_int_equal(pg_i64(s->conninfo,
                            "SELECT count(*) FROM upload u WHERE u::text LIKE '%%%s%%' OR u::text"
                            " LIKE '%%%s%%'",
                            install, pair("install", install) + strlen("install ")),
                     0);
    assert_false(server_logged(s, install));
    free(hash);
    free(path);
}

/* Expiration and termination ----------------------------------------------------------------------
 */

static void an_upload_expires_and_may_be_taken_up_again(void **state)
{
    struct server *s = *state;
    char *path =
        created(s, s->ingest, "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("fileid", "x"));
    struct answer *a = patch(s, path, 0, "he", 2);

    assert_int_equal(a->status, 204);
    assert_int_equal(strlen(answer_header(a, "Upload-Expires")),
                     strlen("Sun, 06 Nov 1994 08:49:37 GMT"));
    pg_sql(s->conninfo, "UPDATE upload SET expires_at = now() - interval '1 second'");
    a = tus(s, s->ingest, "HEAD", path, NULL, 0, "%s", "");
    assert_int_equal(a->status, 410);
    assert_null(answer_header(a, "Upload-Offset"));
    assert_int_equal(patch(s, path, 2, "llo", 3)->status, 410);
    free(created(s, s->ingest, "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("fileid", "x")));
    assert_int_equal(answer_i64(&s->answer, "Upload-Offset"), 2);
    assert_int_equal(patch(s, path, 2, "llo", 3)->status, 204);
    assert_stored(s, path, (const unsigned char *)"hello", 5);
    free(path);
}

static void a_complete_upload_does_not_expire(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 5\r\n");

    assert_int_equal(patch(s, path, 0, "hello", 5)->status, 204);
    pg_sql(s->conninfo, "UPDATE upload SET expires_at = now() - interval '1 second'");
    assert_int_equal(offset_of(s, path), 5);
    assert_int_equal(patch(s, path, 5, "", 0)->status, 204);
    free(path);
}

static void a_deleted_upload_is_gone_with_its_bytes(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 50000\r\nUpload-Metadata: %s\r\n",
                         pair("fileid", "x"));
    unsigned char *bytes = file_bytes(20000);

    assert_int_equal(patch(s, path, 0, bytes, 20000)->status, 204);
    assert_int_equal(tus(s, s->ingest, "DELETE", path, NULL, 0, "%s", "")->status, 204);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload_chunk"), 0);
    assert_int_equal(tus(s, s->ingest, "HEAD", path, NULL, 0, "%s", "")->status, 410);
    assert_int_equal(patch(s, path, 20000, bytes, 1)->status, 410);
    assert_int_equal(tus(s, s->ingest, "DELETE", path, NULL, 0, "%s", "")->status, 410);

    /* the same file from its beginning */
    free(created(s, s->ingest, "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("fileid", "x")));
    assert_int_equal(answer_i64(&s->answer, "Upload-Offset"), 0);
    assert_int_equal(patch(s, path, 0, "hello", 5)->status, 204);
    assert_stored(s, path, (const unsigned char *)"hello", 5);
    free(path);
    free(bytes);
}

static void an_upload_that_was_handed_on_cannot_be_deleted(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 5\r\n");

    assert_int_equal(patch(s, path, 0, "hello", 5)->status, 204);
    assert_int_equal(tus(s, s->ingest, "DELETE", path, NULL, 0, "%s", "")->status, 403);
    assert_stored(s, path, (const unsigned char *)"hello", 5);
    free(path);
}

/* Checksum ----------------------------------------------------------------------------------------
 */

static const char *checksum(const char *algorithm, const void *bytes, size_t n)
{
    static char text[128];
    unsigned char hash[SHA256_BYTES];
    size_t len = SHA256_BYTES;
    int at = snprintf(text, sizeof text, "%s ", algorithm);

    if (strcmp(algorithm, "sha1") == 0) {
        struct digest *d = digest_new(DIGEST_SHA1);

        digest_add(d, bytes, n);
        len = digest_end(d, hash);
        digest_free(d);
    } else if (strcmp(algorithm, "crc32c") == 0) {
        uint32_t crc = crc32c(0, bytes, n);

        len = 4;
        for (unsigned i = 0; i < 4; i++)
            hash[i] = (unsigned char)(crc >> (24 - 8 * i));
    } else {
        sha256(bytes, n, hash);
    }
    base64_encode(hash, len, text + at);
    return text;
}

static void a_chunk_with_the_right_checksum_counts(void **state)
{
    struct server *s = *state;
    static const char *const algorithms[] = {"sha1", "sha256", "crc32c"};
    size_t n = KB(400);
    unsigned char *bytes = file_bytes(3 * n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", 3 * n);

    for (size_t i = 0; i < 3; i++) {
        struct answer *a = tus(s, s->ingest, "PATCH", path, bytes + i * n, n,
                               BYTES_TYPE "Upload-Offset: %zu\r\nUpload-Checksum: %s\r\n", i * n,
                               checksum(algorithms[i], bytes + i * n, n));

        assert_int_equal(a->status, 204);
    }
    assert_stored(s, path, bytes, 3 * n);
    free(path);
    free(bytes);
}

static void sha1_of_hello_world_is_what_the_protocol_says(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 11\r\n");

    assert_int_equal(tus(s, s->ingest, "PATCH", path, "hello world", 11,
                         BYTES_TYPE "Upload-Offset: 0\r\n"
                                    "Upload-Checksum: sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=\r\n")
                         ->status,
                     204);
    free(path);
}

static void a_damaged_chunk_is_460_and_discarded(void **state)
{
    struct server *s = *state;
    size_t n = KB(300);
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", n);
    char want[128];

    snprintf(want, sizeof want, "%s", checksum("sha256", bytes, n));
    bytes[n / 2] ^= 1;

    struct answer *a = tus(s, s->ingest, "PATCH", path, bytes, n,
                           BYTES_TYPE "Upload-Offset: 0\r\nUpload-Checksum: %s\r\n", want);

    assert_int_equal(a->status, 460);
    assert_string_equal(answer_code(a), "checksum_mismatch");
    assert_int_equal(offset_of(s, path), 0);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload_chunk"), 0);
    bytes[n / 2] ^= 1;
    assert_int_equal(tus(s, s->ingest, "PATCH", path, bytes, n,
                         BYTES_TYPE "Upload-Offset: 0\r\nUpload-Checksum: %s\r\n", want)
                         ->status,
                     204);
    assert_stored(s, path, bytes, n);
    free(path);
    free(bytes);
}

static void creation_with_upload_may_carry_a_checksum(void **state)
{
    struct server *s = *state;

    assert_int_equal(tus(s, s->ingest, "POST", "/v1/uploads", "hello", 5,
                         BYTES_TYPE "Upload-Length: 5\r\nUpload-Checksum: %s\r\n",
                         checksum("sha1", "hellO", 5))
                         ->status,
                     460);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload"), 0);
    assert_int_equal(tus(s, s->ingest, "POST", "/v1/uploads", "hello", 5,
                         BYTES_TYPE "Upload-Length: 5\r\nUpload-Checksum: %s\r\n",
                         checksum("sha1", "hello", 5))
                         ->status,
                     201);
}

static void an_unknown_or_malformed_checksum_is_400(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 5\r\n");
    static const char *const bad[] = {"md5 XUFAKrxLKna5cZ2REBfFkg==",     "sha1",      "sha1 ",
                                      "sha1 XUFAKrxLKna5cZ2REBfFkg==",    "sha1 !!!!", "",
                                      "SHA1 Kq5sNclPz7QV2+lfQIuc6R7oRu0="};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(tus(s, s->ingest, "PATCH", path, "hello", 5,
                             BYTES_TYPE "Upload-Offset: 0\r\nUpload-Checksum: %s\r\n", bad[i])
                             ->status,
                         400);
    assert_int_equal(offset_of(s, path), 0);
    free(path);
}

static void a_chunk_with_a_checksum_is_held_whole_so_it_is_bounded(void **state)
{
    struct server *s = *state;
    size_t n = KB(1024) + 1;
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", n);

    assert_int_equal(tus(s, s->ingest, "PATCH", path, bytes, n,
                         BYTES_TYPE "Upload-Offset: 0\r\nUpload-Checksum: %s\r\n",
                         checksum("sha256", bytes, n))
                         ->status,
                     413);
    assert_int_equal(offset_of(s, path), 0);
    free(path);
    free(bytes);
}

static void a_checksummed_chunk_that_breaks_off_is_not_kept(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 10\r\n");
    int fd = half_a_patch(s, path, 0, 10, "hello", 5,
                          "Upload-Checksum: sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=\r\n");

    close(fd);
    server_await_metric(s, "framewatch_http_broken_bodies_total", 1);
    assert_int_equal(offset_of(s, path), 0);
    free(path);
}

/* Concatenation -----------------------------------------------------------------------------------
 */

static void partial_uploads_become_a_whole(void **state)
{
    struct server *s = *state;
    size_t n = KB(300);
    unsigned char *bytes = file_bytes(n);
    char *a = created(s, s->ingest, "Upload-Concat: partial\r\nUpload-Length: %zu\r\n", n / 3);
    char *b = created(s, s->ingest, "Upload-Concat: partial\r\nUpload-Length: %zu\r\n", n - n / 3);
    char concat[256];

    assert_int_equal(patch(s, b, 0, bytes + n / 3, n - n / 3)->status, 204);
    snprintf(concat, sizeof concat, "final;%s http://game.example.org%s", a, b);

    /* not before all are complete */
    struct answer *answer =
        tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0, "Upload-Concat: %s\r\n", concat);

    assert_int_equal(answer->status, 409);
    assert_int_equal(patch(s, a, 0, bytes, n / 3)->status, 204);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM job WHERE kind = 'part'"), 0);

    char *whole = created(s, s->ingest, "Upload-Concat: %s\r\nUpload-Metadata: %s\r\n", concat,
                          pair("fileid", "whole"));

    assert_stored(s, whole, bytes, n);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM job WHERE ref = '%s'", id_of(whole)),
                     1);
    answer = tus(s, s->ingest, "HEAD", whole, NULL, 0, "%s", "");
    assert_string_equal(answer_header(answer, "Upload-Concat"), concat);
    assert_int_equal(answer_i64(answer, "Upload-Length"), (int64_t)n);
    assert_int_equal(answer_i64(answer, "Upload-Offset"), (int64_t)n);
    answer = tus(s, s->ingest, "HEAD", a, NULL, 0, "%s", "");
    assert_string_equal(answer_header(answer, "Upload-Concat"), "partial");
    assert_int_equal(patch(s, whole, n, "x", 1)->status, 403);

    /* again: the same */
    char *again = created(s, s->ingest, "Upload-Concat: %s\r\nUpload-Metadata: %s\r\n", concat,
                          pair("fileid", "whole"));

    assert_string_equal(whole, again);
    assert_stored(s, whole, bytes, n);
    assert_int_equal(tus(s, s->ingest, "DELETE", a, NULL, 0, "%s", "")->status, 204);
    assert_stored(s, whole, bytes, n);
    free(a);
    free(b);
    free(whole);
    free(again);
    free(bytes);
}

static void a_concatenation_of_what_is_not_there_is_refused(void **state)
{
    struct server *s = *state;
    char *whole = created(s, s->ingest, "Upload-Length: 0\r\n");
    char *theirs = created(s, s->other_ingest, "Upload-Concat: partial\r\nUpload-Length: 0\r\n");
    char *mine = created(s, s->ingest, "Upload-Concat: partial\r\nUpload-Length: 0\r\n");
    char bad[8][160];

    snprintf(bad[0], sizeof bad[0], "final;%s", whole);
    snprintf(bad[1], sizeof bad[1], "final;%s", theirs);
    snprintf(bad[2], sizeof bad[2], "final;");
    snprintf(bad[3], sizeof bad[3], "final;/v1/uploads/00112233445566778899aabbccddeeff");
    snprintf(bad[4], sizeof bad[4], "final;/elsewhere/00112233445566778899aabbccddeeff");
    snprintf(bad[5], sizeof bad[5], "Final;%s", mine);
    snprintf(bad[6], sizeof bad[6], "partial;%s", mine);
    snprintf(bad[7], sizeof bad[7], "final;%s,%s", mine, mine);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(
            tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0, "Upload-Concat: %s\r\n", bad[i])
                ->status,
            400);
    assert_int_equal(tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0,
                         "Upload-Concat: final;%s\r\nUpload-Length: 0\r\n", mine)
                         ->status,
                     400);
    free(whole);
    free(theirs);
    free(mine);
}

static void parts_of_a_file_may_all_carry_its_file_id(void **state)
{
    struct server *s = *state;
    char *part = created(s, s->ingest,
                         "Upload-Concat: partial\r\nUpload-Length: 5\r\nUpload-Metadata: %s\r\n",
                         pair("fileid", "f"));

    assert_int_equal(patch(s, part, 0, "hello", 5)->status, 204);

    char *whole = created(s, s->ingest, "Upload-Concat: final;%s\r\nUpload-Metadata: %s\r\n", part,
                          pair("fileid", "f"));

    assert_string_not_equal(part, whole);
    assert_stored(s, whole, (const unsigned char *)"hello", 5);
    free(part);
    free(whole);
}

/* Who may
 * ------------------------------------------------------------------------------------------------
 */

static void uploads_need_an_ingest_or_admin_key(void **state)
{
    struct server *s = *state;
    struct answer *a = server_call(s, "POST", "/v1/uploads",
                                   "Tus-Resumable: 1.0.0\r\nUpload-Length: 5\r\n", NULL, 0);

    assert_int_equal(a->status, 401);
    assert_non_null(answer_header(a, "WWW-Authenticate"));
    assert_int_equal(
        tus(s, "fw_nobody_issued_this_key", "POST", "/v1/uploads", NULL, 0, "Upload-Length: 5\r\n")
            ->status,
        401);
    assert_int_equal(
        tus(s, s->read, "POST", "/v1/uploads", NULL, 0, "Upload-Length: 5\r\n")->status, 403);
    assert_int_equal(
        tus(s, s->admin, "POST", "/v1/uploads", NULL, 0, "Upload-Length: 5\r\n")->status, 201);
    assert_int_equal(
        server_call(s, "GET", "/v1/sessions", "Authorization: Bearer x\r\n", NULL, 0)->status, 401);
    assert_int_equal(tus(s, s->ingest, "GET", "/v1/sessions", NULL, 0, "%s", "")->status, 403);
}

static void symbols_need_an_admin_key(void **state)
{
    struct server *s = *state;
    static const char *const kinds[] = {"symbols", "mapping"};

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0,
                             "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("kind", kinds[i]))
                             ->status,
                         403);
        assert_int_equal(tus(s, s->admin, "POST", "/v1/uploads", NULL, 0,
                             "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("kind", kinds[i]))
                             ->status,
                         201);
    }
}

static void another_apps_upload_does_not_exist(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 5\r\n");

    assert_int_equal(tus(s, s->other_ingest, "HEAD", path, NULL, 0, "%s", "")->status, 404);
    assert_int_equal(tus(s, s->other_ingest, "DELETE", path, NULL, 0, "%s", "")->status, 404);
    assert_int_equal(
        tus(s, s->other_ingest, "PATCH", path, "hello", 5, BYTES_TYPE "Upload-Offset: 0\r\n")
            ->status,
        404);
    assert_int_equal(offset_of(s, path), 0);
    free(path);
}

/* Newcomers, breaks and restarts ------------------------------------------------------------------
 */

static void a_newcomer_ends_a_hung_request_at_once(void **state)
{
    struct server *s = *state;
    size_t n = KB(100);
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", n);
    int hung = half_a_patch(s, path, 0, n, bytes, KB(40), "");

    /* all that was sent is with the server before the phone gives up on it */
    server_await_metric(s, "framewatch_body_blocks_used", 1);
    client_await_delivered(hung);
    assert_int_equal(offset_of(s, path), (int64_t)KB(40));
    assert_true(client_closed(hung));
    assert_int_equal(patch(s, path, KB(40), bytes + KB(40), n - KB(40))->status, 204);
    assert_stored(s, path, bytes, n);
    close(hung);
    free(path);
    free(bytes);
}

static void every_newcomer_ends_the_one_before(void **state)
{
    struct server *s = *state;
    size_t n = KB(64), step = KB(2);
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\nUpload-Metadata: %s\r\n", n,
                         pair("fileid", "f"));
    int fd[8];

    for (size_t i = 0; i < 8; i++) {
        fd[i] = half_a_patch(s, path, i * step, n - i * step, bytes + i * step, step, "");
        server_await_metric(s, "framewatch_body_blocks_used", 1);
        client_await_delivered(fd[i]);
        assert_int_equal(offset_of(s, path), (int64_t)((i + 1) * step));
    }
    for (size_t i = 0; i < 8; i++) {
        assert_true(client_closed(fd[i]));
        close(fd[i]);
    }
    /* a creation is a newcomer as well */
    fd[0] = half_a_patch(s, path, 8 * step, n - 8 * step, bytes + 8 * step, step, "");
    server_await_metric(s, "framewatch_body_blocks_used", 1);
    client_await_delivered(fd[0]);
    free(created(s, s->ingest, "Upload-Length: %zu\r\nUpload-Metadata: %s\r\n", n,
                 pair("fileid", "f")));
    assert_int_equal(answer_i64(&s->answer, "Upload-Offset"), (int64_t)(9 * step));
    close(fd[0]);
    free(path);
    free(bytes);
}

/* A connection of the test's own that keeps uploads from being written until it is closed. */
static struct db *writes_held_up(struct server *s)
{
    struct err err = {0};
    struct db *db = db_open(s->conninfo, &err);

    if (!db || !db_script(db, "BEGIN; LOCK TABLE upload IN SHARE MODE", &err))
        fail_msg("%s", err.text);
    return db;
}

static void of_several_that_want_to_send_the_newest_does(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 15\r\n");
    struct db *db = writes_held_up(s);
    int fd[3];
    struct answer a;

    /* the first one has sent all and waits for the database, so it is not ended */
    fd[0] = half_a_patch(s, path, 0, 5, "hello", 5, "");
    server_await_locked_out(s, 1);
    fd[1] = half_a_patch(s, path, 5, 5, "hello", 5, "");
    server_await_metric(s, "framewatch_upload_waiting_requests", 1);
    fd[2] = half_a_patch(s, path, 5, 5, "hello", 5, "");
    client_read(fd[1], false, &a);
    assert_int_equal(a.status, 423);
    assert_string_equal(answer_code(&a), "superseded");
    answer_free(&a);
    db_close(db);
    client_read(fd[0], false, &a);
    assert_int_equal(a.status, 204);
    answer_free(&a);
    client_read(fd[2], false, &a);
    assert_int_equal(a.status, 204);
    assert_int_equal(answer_i64(&a, "Upload-Offset"), 10);
    answer_free(&a);
    for (size_t i = 0; i < 3; i++)
        close(fd[i]);
    free(path);
}

static void a_deletion_ends_a_hung_request(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 100\r\n");
    int hung = half_a_patch(s, path, 0, 100, "hello", 5, "");

    server_await_metric(s, "framewatch_body_blocks_used", 1);
    assert_int_equal(tus(s, s->ingest, "DELETE", path, NULL, 0, "%s", "")->status, 204);
    assert_true(client_closed(hung));
    close(hung);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload_chunk"), 0);
    free(path);
}

static void an_upload_goes_on_after_a_restart(void **state)
{
    struct server *s = *state;
    size_t n = KB(500);
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", n);
    int fd = half_a_patch(s, path, 0, n, bytes, KB(300), "");

    server_await(offset_is_there, &(struct awaited_offset){s, path, (int64_t)KB(256)},
                 "the first piece is stored");
    server_kill9(s);
    close(fd);
    server_start(s);
    assert_int_equal(offset_of(s, path), (int64_t)KB(256));
    assert_int_equal(patch(s, path, KB(256), bytes + KB(256), n - KB(256))->status, 204);
    assert_stored(s, path, bytes, n);
    free(path);
    free(bytes);
}

static int set_up_short_drain(void **state)
{
    struct server *s = server_new(SERVER_BINARY);

    s->args[0] = "--drain-ms=500";
    *state = s;
    server_start(s);
    return 0;
}

static void sigterm_keeps_what_arrived(void **state)
{
    struct server *s = *state;
    size_t n = KB(200);
    unsigned char *bytes = file_bytes(n);
    char *path = created(s, s->ingest, "Upload-Length: %zu\r\n", n);
    int fd = half_a_patch(s, path, 0, n, bytes, KB(120), "");

    server_await_metric(s, "framewatch_body_blocks_used", 2);
    client_await_delivered(fd);
    assert_int_equal(server_stop(s), 0);
    close(fd);
    assert_int_equal(pg_i64(s->conninfo, "SELECT at FROM upload"), (int64_t)KB(120));
    server_start(s);
    assert_int_equal(patch(s, path, KB(120), bytes + KB(120), n - KB(120))->status, 204);
    assert_stored(s, path, bytes, n);
    free(path);
    free(bytes);
}

static void without_a_database_nothing_is_acknowledged(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 10\r\n");

    assert_int_equal(patch(s, path, 0, "hello", 5)->status, 204);
    pg_admit(s->conninfo, false);
    pg_end_backends(s->conninfo);

    struct answer *a = patch(s, path, 5, "world", 5);

    assert_int_equal(a->status, 503);
    assert_non_null(answer_header(a, "Retry-After"));
    pg_admit(s->conninfo, true);
    assert_int_equal(patch(s, path, 5, "world", 5)->status, 204);
    assert_stored(s, path, (const unsigned char *)"helloworld", 10);
    free(path);
}

static void a_connection_that_was_closed_while_idle_is_nobodys_loss(void **state)
{
    struct server *s = *state;
    char *path = created(s, s->ingest, "Upload-Length: 10\r\n");

    assert_int_equal(patch(s, path, 0, "hello", 5)->status, 204);
    pg_end_backends(s->conninfo);
    assert_int_equal(patch(s, path, 5, "world", 5)->status, 204);
    assert_stored(s, path, (const unsigned char *)"helloworld", 10);
    free(path);
}

/* The commit of file "slow" waits for a lock, as it would for a slow disk. */
static void an_upload_is_stored_while_another_waits_for_its_commit(void **state)
{
    struct server *s = *state;
    struct err err = {0};
    struct db *db = db_open(s->conninfo, &err);
    struct answer a;

    pg_sql(s->conninfo,
           "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
           " $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$;"
           "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON upload DEFERRABLE INITIALLY DEFERRED"
           " FOR EACH ROW WHEN (NEW.file_id = 'slow') EXECUTE FUNCTION slow()");
    if (!db || !db_script(db, "BEGIN; SELECT pg_advisory_xact_lock(7)", &err))
        fail_msg("%s", err.text);

    int fd = server_connect(s);

    client_text(fd,
                "POST /v1/uploads HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                "Tus-Resumable: 1.0.0\r\nUpload-Length: 5\r\nUpload-Metadata: %s\r\n"
                "Content-Length: 0\r\n\r\n",
                s->ingest, pair("fileid", "slow"));
    server_await_locked_out(s, 1);
    for (size_t i = 0; i < 3; i++) {
        char *path = created(s, s->ingest, "Upload-Length: 5\r\n");

        assert_int_equal(patch(s, path, 0, "hello", 5)->status, 204);
        assert_stored(s, path, (const unsigned char *)"hello", 5);
        free(path);
    }
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload WHERE file_id = 'slow'"), 0);
    db_close(db);
    client_read(fd, false, &a);
    assert_int_equal(a.status, 201);
    assert_int_equal(pg_i64(s->conninfo, "SELECT count(*) FROM upload WHERE file_id = 'slow'"), 1);
    answer_free(&a);
    close(fd);
}

static void what_the_database_refuses_does_not_stop_the_others(void **state)
{
    struct server *s = *state;

    pg_sql(s->conninfo, "ALTER TABLE upload ADD CHECK (file_id <> 'poison')");

    struct answer *a = tus(s, s->ingest, "POST", "/v1/uploads", NULL, 0,
                           "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("fileid", "poison"));

    assert_int_equal(a->status, 500);
    assert_null(strstr((const char *)a->body, "constraint"));
    free(
        created(s, s->ingest, "Upload-Length: 5\r\nUpload-Metadata: %s\r\n", pair("fileid", "ok")));
    assert_int_equal((int)server_metric(s, "framewatch_commit_poison_total"), 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)
    const struct CMUnitTest tests[] = {
        T(options_tells_what_is_served_without_a_key),
        T(another_version_is_412_and_nothing_happens),
        T(method_override_replaces_the_method),
        T(head_tells_offset_length_and_metadata),
        T(an_upload_that_does_not_exist_is_404_without_offset),
        T(a_patch_of_another_type_is_415),
        T(a_patch_without_a_good_offset_is_400),
        T(another_offset_is_409_with_the_true_one),
        T(bytes_past_the_length_are_413_and_change_nothing),
        T(a_body_longer_than_a_chunk_is_stored_piece_by_piece),
        T(a_body_of_exactly_one_chunk_is_stored),
        T(a_chunked_body_is_stored),
        T(what_came_before_the_connection_broke_is_kept),
        T(a_piece_is_durable_while_the_rest_is_on_its_way),
        T(creation_needs_a_length_or_its_deferral),
        T(creation_answers_an_absolute_location),
        T(a_file_too_big_for_its_kind_is_413),
        T(an_empty_file_is_complete_at_once),
        T(bad_metadata_is_400),
        T(creation_with_the_whole_file_needs_one_request),
        T(creation_with_a_long_body_is_stored_piece_by_piece),
        T(creation_with_a_body_of_another_type_or_past_the_length_is_refused),
        T(a_length_may_be_said_later_and_only_once),
        T(a_refused_patch_does_not_set_the_length),
        T(the_same_file_is_the_same_upload_at_its_true_offset),
        T(another_app_or_file_is_another_upload),
        T(a_file_id_cannot_become_another_file),
        T(a_patch_at_the_end_of_a_complete_upload_is_204),
        T(a_session_becomes_one_job_when_it_is_complete),
        T(the_install_id_is_nowhere),
        T(an_upload_expires_and_may_be_taken_up_again),
        T(a_complete_upload_does_not_expire),
        T(a_deleted_upload_is_gone_with_its_bytes),
        T(an_upload_that_was_handed_on_cannot_be_deleted),
        T(a_chunk_with_the_right_checksum_counts),
        T(sha1_of_hello_world_is_what_the_protocol_says),
        T(a_damaged_chunk_is_460_and_discarded),
        T(creation_with_upload_may_carry_a_checksum),
        T(an_unknown_or_malformed_checksum_is_400),
        T(a_chunk_with_a_checksum_is_held_whole_so_it_is_bounded),
        T(a_checksummed_chunk_that_breaks_off_is_not_kept),
        T(partial_uploads_become_a_whole),
        T(a_concatenation_of_what_is_not_there_is_refused),
        T(parts_of_a_file_may_all_carry_its_file_id),
        T(uploads_need_an_ingest_or_admin_key),
        T(symbols_need_an_admin_key),
        T(another_apps_upload_does_not_exist),
        T(a_newcomer_ends_a_hung_request_at_once),
        T(every_newcomer_ends_the_one_before),
        T(of_several_that_want_to_send_the_newest_does),
        T(a_deletion_ends_a_hung_request),
        T(an_upload_goes_on_after_a_restart),
        cmocka_unit_test_setup_teardown(sigterm_keeps_what_arrived, set_up_short_drain,
                                        server_teardown),
        T(without_a_database_nothing_is_acknowledged),
        T(a_connection_that_was_closed_while_idle_is_nobodys_loss),
        T(an_upload_is_stored_while_another_waits_for_its_commit),
        T(what_the_database_refuses_does_not_stop_the_others),
    };

    setenv("FW_ROLE", "server", 1); /* no worker takes the jobs that tests count */
    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
