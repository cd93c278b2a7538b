/* The client against a small tus server in memory that can lose requests and answers. */
#include "src/report/tus.h"
#include "wire/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#define FILE_BYTES 700000u
#define MAX_SCRIPT 64

enum fault { SERVE, LOSE_REQUEST, LOSE_ANSWER, FORGET_UPLOAD, NO_OFFSET, LIE_ABOUT_OFFSET };

struct turn {
    enum fault fault;
    int status;              /* not 0: answer this and do nothing */
    const char *retry_after; /* with status */
};

struct peer {
    unsigned char *bytes;
    size_t have, length;
    bool exists;
    const char *location; /* what a creation answers */
    struct turn script[MAX_SCRIPT];
    size_t n_script, at;
    unsigned posts, heads, patches;
    size_t largest_body;
    char metadata[512], last_url[512];
};

static const char *header(const fw_http_request *r, const char *name)
{
    size_t n = strlen(name);

    for (const char *const *h = r->headers; *h; h++)
        if (!strncasecmp(*h, name, n) && (*h)[n] == ':')
            return *h + n + 2;
    return NULL;
}

static void answer_offset(struct peer *p, fw_http_request *r, size_t offset)
{
    char text[32];

    (void)p;
    snprintf(text, sizeof text, "%zu", offset);
    r->on_header(r->sink, "upload-offset", text);
}

static void append(struct peer *p, fw_http_request *r)
{
    assert_true(p->have + r->body_len <= p->length);
    memcpy(p->bytes + p->have, r->body, r->body_len);
    p->have += r->body_len;
}

static void serve_post(struct peer *p, fw_http_request *r, bool tell_offset)
{
    p->posts++;
    assert_string_equal(header(r, "Content-Type"), "application/offset+octet-stream");
    snprintf(p->metadata, sizeof p->metadata, "%s", header(r, "Upload-Metadata"));
    if (!p->exists) {
        p->exists = true;
        p->length = (size_t)strtoul(header(r, "Upload-Length"), NULL, 10);
        p->have = 0;
        append(p, r);
    }
    r->status = 201;
    r->on_header(r->sink, "Location", p->location);
    if (tell_offset)
        answer_offset(p, r, p->have);
}

static void serve_upload(struct peer *p, fw_http_request *r, enum fault fault)
{
    bool head = !strcmp(r->method, "HEAD");

    *(head ? &p->heads : &p->patches) += 1;
    if (!p->exists) {
        r->status = 404;
        return;
    }
    if (!head && strtoul(header(r, "Upload-Offset"), NULL, 10) != p->have) {
        r->status = 409;
        return;
    }
    if (!head)
        append(p, r);
    r->status = head ? 200 : 204;
    if (fault != NO_OFFSET)
        answer_offset(p, r, fault == LIE_ABOUT_OFFSET ? p->length + 1 : p->have);
}

static int exchange(void *user, fw_http_request *r)
{
    struct peer *p = user;
    struct turn turn = p->at < p->n_script ? p->script[p->at++] : (struct turn){0};

    assert_string_equal(header(r, "Tus-Resumable"), "1.0.0");
    assert_string_equal(header(r, "Authorization"), "Bearer k");
    snprintf(p->last_url, sizeof p->last_url, "%s", r->url);
    if (r->body_len > p->largest_body)
        p->largest_body = r->body_len;
    if (turn.status) {
        r->status = turn.status;
        if (turn.retry_after)
            r->on_header(r->sink, "Retry-After", turn.retry_after);
        return 0;
    }
    if (turn.fault == LOSE_REQUEST)
        return -1;
    if (turn.fault == FORGET_UPLOAD)
        p->exists = false;
    if (!strcmp(r->method, "POST"))
        serve_post(p, r, turn.fault != NO_OFFSET);
    else
        serve_upload(p, r, turn.fault);
    return turn.fault == LOSE_ANSWER ? -1 : 0;
}

struct fixture {
    struct peer peer;
    struct fw_server server;
    unsigned char *file, *chunk;
    struct fw_tus tus;
};

static const struct fw_tus_field fields[] = {
    {"kind", "session"}, {"fileid", "f-1"}, {"install", "i"}};

static void begin(struct fixture *fx)
{
    fx->tus = (struct fw_tus){.server = &fx->server,
                              .fields = fields,
                              .n_fields = 3,
                              .length = FILE_BYTES,
                              .read = fw_tus_read_memory,
                              .user = fx->file,
                              .chunk = fx->chunk,
                              .chunk_bytes = FW_TUS_CHUNK_BYTES,
                              .random = 7};
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof *fx);

    fx->file = malloc(FILE_BYTES);
    fx->chunk = malloc(FW_TUS_CHUNK_BYTES);
    fx->peer.bytes = calloc(1, FILE_BYTES);
    fx->peer.location = "http://elsewhere.example/v1/uploads/abc";
    for (size_t i = 0; i < FILE_BYTES; i++)
        fx->file[i] = (unsigned char)(i * 2654435761u >> 13);
    fx->server = (struct fw_server){.url = "http://h.example:81/base",
                                    .api_key = "k",
                                    .transport = {exchange, &fx->peer},
                                    .timeout_ms = 1000};
    begin(fx);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    free(fx->file);
    free(fx->chunk);
    free(fx->peer.bytes);
    free(fx);
    return 0;
}

static void script(struct fixture *fx, const struct turn *turns, size_t n)
{
    memcpy(fx->peer.script, turns, n * sizeof *turns);
    fx->peer.n_script = n;
    fx->peer.at = 0;
}
#define SCRIPT(fx, ...)                                                                            \
    script(fx, (struct turn[]){__VA_ARGS__},                                                       \
           sizeof((struct turn[]){__VA_ARGS__}) / sizeof(struct turn))

/* Steps without sleeping until the upload ends; the number of waits asked for. */
static unsigned run(struct fixture *fx, enum fw_tus_result expected)
{
    enum fw_tus_result result = FW_TUS_MORE;
    unsigned waits = 0;

    for (int i = 0; i < 100 && (result == FW_TUS_MORE || result == FW_TUS_WAIT); i++) {
        result = fw_tus_step(&fx->tus);
        waits += result == FW_TUS_WAIT;
    }
    assert_int_equal(result, expected);
    return waits;
}

static void assert_arrived(struct fixture *fx)
{
    assert_int_equal(fx->peer.have, fx->tus.length);
    assert_memory_equal(fx->peer.bytes, fx->file, fx->tus.length);
}

static void sends_in_chunks_of_256_kb(void **state)
{
    struct fixture *fx = *state;

    assert_int_equal(run(fx, FW_TUS_DONE), 0);
    assert_arrived(fx);
    assert_int_equal(fx->peer.posts, 1);
    assert_int_equal(fx->peer.patches, 2);
    assert_int_equal(fx->peer.heads, 0);
    assert_int_equal(fx->peer.largest_body, FW_TUS_CHUNK_BYTES);
    assert_int_equal(fx->tus.sent_bytes, FILE_BYTES);
    assert_string_equal(fx->peer.metadata, "kind c2Vzc2lvbg==,fileid Zi0x,install aQ==");
}

static void the_key_stays_with_the_configured_origin(void **state)
{
    struct fixture *fx = *state;

    run(fx, FW_TUS_DONE);
    assert_string_equal(fx->peer.last_url, "http://h.example:81/v1/uploads/abc");
}

static void a_lost_answer_costs_no_byte_and_sends_none_twice(void **state)
{
    struct fixture *fx = *state;

    SCRIPT(fx, {.fault = SERVE}, {.fault = LOSE_ANSWER});
    assert_int_equal(run(fx, FW_TUS_DONE), 1);
    assert_arrived(fx);
    assert_int_equal(fx->peer.heads, 1);
    assert_int_equal(fx->tus.sent_bytes, FILE_BYTES);
}

static void a_lost_answer_to_the_creation_leads_to_the_same_upload(void **state)
{
    struct fixture *fx = *state;

    SCRIPT(fx, {.fault = LOSE_ANSWER}, {.fault = LOSE_ANSWER}, {.fault = SERVE});
    assert_int_equal(run(fx, FW_TUS_DONE), 2);
    assert_arrived(fx);
    assert_int_equal(fx->peer.posts, 3);
}

static void any_row_of_losses_ends_with_every_byte_in_place(void **state)
{
    struct fixture *fx = *state;
    const enum fault faults[] = {SERVE,         LOSE_REQUEST, LOSE_ANSWER,
                                 FORGET_UPLOAD, NO_OFFSET,    LIE_ABOUT_OFFSET};
    uint32_t random = 1;

    for (int round = 0; round < 300; round++) {
        struct turn turns[20] = {0};

        for (size_t i = 0; i < 20; i++) {
            random = random * 1664525u + 1013904223u;
            turns[i].fault = faults[(random >> 16) % 6];
            if ((random >> 24) % 10 == 0)
                turns[i] = (struct turn){.status = (random >> 12 & 1) ? 460 : 500};
        }
        fx->peer.exists = false;
        begin(fx);
        fx->tus.length = 11000;
        fx->tus.chunk_bytes = 4096;
        script(fx, turns, 20);
        run(fx, FW_TUS_DONE);
        assert_arrived(fx);
    }
}

static void a_damaged_chunk_is_sent_again(void **state)
{
    struct fixture *fx = *state;

    SCRIPT(fx, {.fault = SERVE}, {.status = 460});
    assert_int_equal(run(fx, FW_TUS_DONE), 1);
    assert_arrived(fx);
}

static void a_conflict_is_settled_by_asking(void **state)
{
    struct fixture *fx = *state;

    SCRIPT(fx, {.fault = SERVE}, {.status = 409});
    assert_int_equal(run(fx, FW_TUS_DONE), 0);
    assert_arrived(fx);
    assert_int_equal(fx->peer.heads, 1);
}

static void an_expired_upload_is_made_anew(void **state)
{
    struct fixture *fx = *state;

    SCRIPT(fx, {.fault = SERVE}, {.status = 410}, {.fault = FORGET_UPLOAD});
    assert_int_equal(run(fx, FW_TUS_DONE), 0);
    assert_arrived(fx);
    assert_int_equal(fx->peer.posts, 2);
}

/* What a broken proxy may do: the answer to another file's creation named this address. */
static void an_upload_of_another_length_is_not_this_files_and_is_made_anew(void **state)
{
    struct fixture *fx = *state;

    SCRIPT(fx, {.status = 0}, {.status = 413});
    run(fx, FW_TUS_DONE);
    assert_int_equal(fx->peer.posts, 2);
    assert_arrived(fx);
}

static void an_upload_that_is_always_gone_is_not_made_for_ever(void **state)
{
    struct fixture *fx = *state;
    struct turn turns[MAX_SCRIPT];
    unsigned waits = 0;

    for (size_t i = 0; i < MAX_SCRIPT; i++)
        turns[i] = i % 2 ? (struct turn){.status = 404} : (struct turn){.fault = FORGET_UPLOAD};
    script(fx, turns, MAX_SCRIPT);
    for (size_t i = 0; i < MAX_SCRIPT; i++)
        waits += fw_tus_step(&fx->tus) == FW_TUS_WAIT;
    assert_in_range(waits, MAX_SCRIPT / 4, MAX_SCRIPT);
}

static void a_busy_servers_retry_after_is_kept(void **state)
{
    struct fixture *fx = *state;

    SCRIPT(fx, {.status = 503, .retry_after = "17"}, {.status = 429, .retry_after = "99999999"},
           {.status = 503, .retry_after = "soon"});
    assert_int_equal(fw_tus_step(&fx->tus), FW_TUS_WAIT);
    assert_in_range(fx->tus.wait_ms, 17000, 18800);
    assert_int_equal(fw_tus_step(&fx->tus), FW_TUS_WAIT);
    assert_in_range(fx->tus.wait_ms, 3600000, 3600000 + 360100);
    assert_int_equal(fw_tus_step(&fx->tus), FW_TUS_WAIT);
    assert_in_range(fx->tus.wait_ms, 500, 8000);
    run(fx, FW_TUS_DONE);
    assert_arrived(fx);
}

static void waits_grow_and_differ_between_phones(void **state)
{
    struct fixture *fx = *state;
    struct turn turns[MAX_SCRIPT];
    uint32_t first[2];

    for (size_t i = 0; i < MAX_SCRIPT; i++)
        turns[i] = (struct turn){.status = 502};
    for (int phone = 0; phone < 2; phone++) {
        begin(fx);
        fx->tus.random = phone ? 99 : 7;
        script(fx, turns, MAX_SCRIPT);
        assert_int_equal(fw_tus_step(&fx->tus), FW_TUS_WAIT);
        first[phone] = fx->tus.wait_ms;
        for (int i = 0; i < 20; i++)
            fw_tus_step(&fx->tus);
        assert_in_range(fx->tus.wait_ms, 900000, 1800000);
    }
    assert_in_range(first[0], 500, 1000);
    assert_int_not_equal(first[0], first[1]);
}

static void resumes_after_a_restart_from_the_url_alone(void **state)
{
    struct fixture *fx = *state;
    char url[FW_URL_BYTES];

    assert_int_equal(fw_tus_step(&fx->tus), FW_TUS_MORE);
    memcpy(url, fx->tus.url, sizeof url);
    begin(fx); /* the process ended here */
    memcpy(fx->tus.url, url, sizeof url);
    run(fx, FW_TUS_DONE);
    assert_arrived(fx);
    assert_int_equal(fx->peer.posts, 1);
    assert_int_equal(fx->peer.heads, 1);
    assert_int_equal(fx->tus.sent_bytes, FILE_BYTES - FW_TUS_CHUNK_BYTES);
}

static void a_bad_key_and_a_refusal_end_the_upload(void **state)
{
    struct fixture *fx = *state;

    SCRIPT(fx, {.status = 401});
    run(fx, FW_TUS_DENIED);
    begin(fx);
    SCRIPT(fx, {.status = 413});
    run(fx, FW_TUS_REFUSED);
    assert_int_equal(fx->tus.status, 413);
}

static bool read_nothing(void *user, uint64_t offset, void *out, size_t n)
{
    (void)user, (void)offset, (void)out, (void)n;
    return false;
}

static void an_unreadable_file_says_so(void **state)
{
    struct fixture *fx = *state;

    fx->tus.read = read_nothing;
    run(fx, FW_TUS_UNREADABLE);
}

static void counts_are_digits_alone(void **state)
{
    (void)state;
    assert_int_equal(fw_parse_count("0"), 0);
    assert_int_equal(fw_parse_count("262144"), 262144);
    assert_int_equal(fw_parse_count(""), -1);
    assert_int_equal(fw_parse_count("-1"), -1);
    assert_int_equal(fw_parse_count("1 "), -1);
    assert_int_equal(fw_parse_count("9999999999999999999"), -1);
}

#define TUS_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TUS_TEST(sends_in_chunks_of_256_kb),
        TUS_TEST(the_key_stays_with_the_configured_origin),
        TUS_TEST(a_lost_answer_costs_no_byte_and_sends_none_twice),
        TUS_TEST(a_lost_answer_to_the_creation_leads_to_the_same_upload),
        TUS_TEST(any_row_of_losses_ends_with_every_byte_in_place),
        TUS_TEST(a_damaged_chunk_is_sent_again),
        TUS_TEST(a_conflict_is_settled_by_asking),
        TUS_TEST(an_expired_upload_is_made_anew),
        TUS_TEST(an_upload_of_another_length_is_not_this_files_and_is_made_anew),
        TUS_TEST(an_upload_that_is_always_gone_is_not_made_for_ever),
        TUS_TEST(a_busy_servers_retry_after_is_kept),
        TUS_TEST(waits_grow_and_differ_between_phones),
        TUS_TEST(resumes_after_a_restart_from_the_url_alone),
        TUS_TEST(a_bad_key_and_a_refusal_end_the_upload),
        TUS_TEST(an_unreadable_file_says_so),
        TUS_TEST(counts_are_digits_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
