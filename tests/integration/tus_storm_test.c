/* Phones that send parts, vanish, come back, and come twice at once: whatever they do, offsets
 * never decrease and in the end every file is what it was. */
#include "support/server.h"

#include "base/digest.h"
#include "server/http/tus_headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FILES 5
#define SLOTS 12
#define STEPS 400

struct storm_file {
    char id[32], path[64];
    unsigned char *bytes;
    size_t len;
    int64_t seen; /* the largest offset that was answered */
};

struct slot {
    int fd; /* 0: free */
    const struct storm_file *file;
    size_t at, end; /* of the bytes still to be sent */
};

struct storm {
    struct server *s;
    uint32_t seed;
    struct storm_file file[FILES];
    struct slot slot[SLOTS];
};

static uint32_t next(struct storm *w)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 17;
    w->seed ^= w->seed << 5;
    return w->seed;
}

static size_t below(struct storm *w, size_t n)
{
    return n ? next(w) % n : 0;
}

static const char *file_metadata(const struct storm_file *f)
{
    static char text[128];
    char id[64];

    base64_encode(f->id, strlen(f->id), id);
    snprintf(text, sizeof text, "Upload-Metadata: fileid %s\r\n", id);
    return text;
}

static const char *common(struct storm *w)
{
    static char text[256];

    snprintf(text, sizeof text, "Tus-Resumable: 1.0.0\r\nAuthorization: Bearer %s\r\n",
             w->s->ingest);
    return text;
}

static void create(struct storm *w, struct storm_file *f)
{
    char headers[512];

    snprintf(headers, sizeof headers, "%s%sUpload-Length: %zu\r\n", common(w), file_metadata(f),
             f->len);

    struct answer *a = server_call(w->s, "POST", "/v1/uploads", headers, NULL, 0);

    assert_int_equal(a->status, 201);
    snprintf(f->path, sizeof f->path, "%s", strstr(answer_header(a, "Location"), "/v1/uploads/"));
}

static int64_t look(struct storm *w, struct storm_file *f)
{
    struct answer *a = server_call(w->s, "HEAD", f->path, common(w), NULL, 0);
    int64_t at = answer_i64(a, "Upload-Offset");

    assert_int_equal(a->status, 200);
    assert_true(at >= f->seen);
    f->seen = at;
    return at;
}

static void let_go(struct slot *slot)
{
    if (slot->fd)
        close(slot->fd);
    slot->fd = 0;
}

static void send_more(struct storm *w, struct slot *slot)
{
    size_t n = below(w, slot->end - slot->at + 1);

    client_send(slot->fd, slot->file->bytes + slot->at, n);
    slot->at += n;
}

/* A PATCH, or a POST with bytes, of which some are sent now; mostly at the true offset. */
static void begin(struct storm *w, struct slot *slot)
{
    struct storm_file *f = &w->file[below(w, FILES)];
    bool creates = below(w, 4) == 0;
    size_t at = creates ? 0 : below(w, 5) ? (size_t)look(w, f) : below(w, f->len);
    size_t length = below(w, f->len - at + 1);

    let_go(slot);
    *slot = (struct slot){server_connect(w->s), f, at, at + length};
    client_text(slot->fd, "%s %s HTTP/1.1\r\nHost: h\r\n%s", creates ? "POST" : "PATCH",
                creates ? "/v1/uploads" : f->path, common(w));
    if (creates)
        client_text(slot->fd, "%sUpload-Length: %zu\r\n", file_metadata(f), f->len);
    else
        client_text(slot->fd, "Upload-Offset: %zu\r\n", at);
    client_text(slot->fd, "Content-Type: application/offset+octet-stream\r\n");
    client_text(slot->fd, "Content-Length: %zu\r\n\r\n", length);
    send_more(w, slot);
}

static void step(struct storm *w)
{
    struct slot *slot = &w->slot[below(w, SLOTS)];

    switch (slot->fd ? below(w, 6) : 0) {
    case 0:
        begin(w, slot);
        break;
    case 1:
        let_go(slot);
        break;
    case 2:
        look(w, &w->file[below(w, FILES)]);
        break;
    default:
        send_more(w, slot);
    }
}

static void finish(struct storm *w, struct storm_file *f)
{
    char headers[512];
    int64_t at;

    while ((at = look(w, f)) < (int64_t)f->len) {
        snprintf(headers, sizeof headers,
                 "%sContent-Type: application/offset+octet-stream\r\nUpload-Offset: %lld\r\n",
                 common(w), (long long)at);
        server_call(w->s, "PATCH", f->path, headers, f->bytes + at, f->len - (size_t)at);
    }
}

static void assert_whole(struct storm *w, const struct storm_file *f)
{
    const char *id = f->path + strlen("/v1/uploads/");
    unsigned char hash[SHA256_BYTES];
    char want[2 * SHA256_BYTES + 2];
    char *have = pg_rows(w->s->conninfo,
                         "SELECT encode(sha256(string_agg(bytes, ''::bytea ORDER BY at)), 'hex')"
                         " FROM upload_chunk WHERE upload_id = '%s'",
                         id);

    sha256(f->bytes, f->len, hash);
    to_hex(hash, sizeof hash, want);
    memcpy(want + 2 * SHA256_BYTES, "\n", 2);
    assert_string_equal(have, want);
    free(have);
    assert_int_equal(pg_i64(w->s->conninfo, "SELECT count(*) FROM job WHERE ref = '%s'", id), 1);
}

static void storm(struct server *s, uint32_t seed)
{
    struct storm *w = calloc(1, sizeof *w);

    w->s = s;
    w->seed = seed;
    for (size_t i = 0; i < FILES; i++) {
        struct storm_file *f = &w->file[i];

        snprintf(f->id, sizeof f->id, "storm-%u-%zu", seed, i);
        f->len = 1 + below(w, 900000);
        f->bytes = malloc(f->len);
        for (size_t b = 0; b < f->len; b++)
            f->bytes[b] = (unsigned char)next(w);
        create(w, f);
    }
    for (unsigned i = 0; i < STEPS; i++)
        step(w);
    for (size_t i = 0; i < SLOTS; i++)
        let_go(&w->slot[i]);
    for (size_t i = 0; i < FILES; i++) {
        finish(w, &w->file[i]);
        assert_whole(w, &w->file[i]);
        free(w->file[i].bytes);
    }
    free(w);
}

static void every_file_arrives_whole_whatever_the_phones_do(void **state)
{
    for (uint32_t seed = 1; seed <= 4; seed++)
        storm(*state, seed * 2654435761u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_file_arrives_whole_whatever_the_phones_do,
                                        server_setup, server_teardown),
    };

    setenv("FW_ROLE", "server", 1);
    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
