#include "support/api.h"

#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t size_of(const json_t *object, const char *name)
{
    return json_array_size(json_object_get(object, name));
}

static void shows_every_frame_or_buckets(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 1, 60, id);

    const json_t *t = api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s/timeline", id);
    int64_t frames = api_i64(t, "frame_count");

    assert_true(frames > 3000);
    assert_int_equal(size_of(json_object_get(t, "frames"), "interval_us"), frames);
    assert_null(json_object_get(t, "buckets"));
    assert_true(size_of(t, "hardware") > 0);
    assert_true(size_of(t, "janks") > 0);

    t = api_get(api, 0, ROLE_READ, 200,
                "/v1/sessions/%s/timeline?from_us=10000000&to_us=20000000&buckets=50", id);
    assert_int_equal(size_of(json_object_get(t, "buckets"), "max_us"), 50);
    assert_null(json_object_get(t, "frames"));
    assert_int_equal(api_i64(t, "from_us"), 10000000);
}

static void names_the_argument_of_the_timeline_that_is_wrong(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 1, 5, id);
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/%s/timeline?from_us=99000000", id),
                "invalid", "from_us");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/%s/timeline?from_us=9&to_us=5", id),
                "invalid", "to_us");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/%s/timeline?buckets=50001", id),
                "invalid", "buckets");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/%s/timeline?zoom=2", id), "invalid",
                "zoom");
}

static void shows_janks_with_the_stacks_that_they_name(void **state)
{
    struct api *api = *state;
    const json_t *jank, *sample, *stack;
    size_t i, j, k, samples = 0;
    char id[33];

    api_play(api, 0, 1, 60, id);

    const json_t *answer = api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s/janks", id);

    json_array_foreach(json_object_get(answer, "janks"), i, jank)
        json_array_foreach(json_object_get(jank, "samples"), j, sample)
    {
        bool found = false;

        json_array_foreach(json_object_get(answer, "stacks"), k, stack) found |=
            strcmp(api_text(stack, "hash"), api_text(sample, "stack")) == 0;
        assert_true(found);
        samples++;
    }
    assert_true(i > 0);
    assert_true(samples > 0);
}

static void gives_traces_for_other_tools(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 1, 20, id);

    const json_t *chrome = api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s/trace", id);

    assert_true(size_of(chrome, "traceEvents") > 1000);
    api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s/trace?format=perfetto", id);
    assert_string_equal(api->answer.type, "application/octet-stream");
    assert_true(api->answer.len > 10000);
    assert_int_equal(api->answer.body[0], 0x0a); /* Trace.packet, length-delimited */
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/%s/trace?format=svg", id), "invalid",
                "format");
}

static void gives_back_the_bytes_that_were_uploaded(void **state)
{
    struct api *api = *state;
    struct session_builder *b = sb_new(9);
    unsigned char sum[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1], href[512];
    size_t n;

    sb_part(b, 0, 0);
    sb_play(b, 0, 60, 3);
    api_upload(api, 0, b, "phone");
    sb_part(b, 1, 60000000);
    sb_end(b, sb_play(b, 60000000, 60, 4), END_STOPPED);
    api_upload(api, 0, b, "phone");

    const unsigned char *bytes = sb_bytes(b, &n);

    sha256(bytes, n, sum);
    to_hex(sum, sizeof sum, hex);

    const json_t *list = api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%032d/raw", 9);
    const json_t *second = json_array_get(json_object_get(list, "items"), 1);

    assert_int_equal(size_of(list, "items"), 2);
    assert_int_equal(api_i64(second, "part"), 1);
    assert_int_equal(api_i64(second, "size"), n);
    assert_string_equal(api_text(second, "sha256"), hex);
    snprintf(href, sizeof href, "%s", api_text(second, "href"));
    api_get(api, 0, ROLE_READ, 200, "%s", href);
    assert_string_equal(api->answer.type, "application/zstd");
    assert_int_equal(api->answer.len, n);
    assert_memory_equal(api->answer.body, bytes, n);
    assert_memory_equal(api->answer.etag + 1, hex, 64);
    api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%032d/raw/1", 9);
    assert_int_equal(api->answer.len, n);
    sb_free(b);
}

static void tells_which_part_is_not_there(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 9, 5, id);
    api_problem(api_get(api, 0, ROLE_READ, 404, "/v1/sessions/%s/raw/7", id), "not_found", "");
    api_problem(api_get(api, 0, ROLE_READ, 404, "/v1/sessions/%s/raw/0?sha256=%064d", id, 1),
                "not_found", "");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/%s/raw/first", id), "invalid",
                "part");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/%s/raw/99999999999", id), "invalid",
                "part");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/%s/raw/0?sha256=12", id), "invalid",
                "sha256");
    for (unsigned i = 0; i < 4; i++) {
        static const char *const below[] = {"timeline", "janks", "trace", "raw"};

        api_problem(api_get(api, 0, ROLE_READ, 404, "/v1/sessions/%032d/%s", 8, below[i]),
                    "not_found", "");
    }
}

static void says_gone_when_the_raw_bytes_are_past_retention(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 9, 5, id);
    pg_sql(api->conninfo, "DELETE FROM upload_chunk");
    pg_sql(api->conninfo, "UPDATE upload SET state = 'deleted'");
    api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s", id);
    api_problem(api_get(api, 0, ROLE_READ, 410, "/v1/sessions/%s/timeline", id), "gone", "");
    api_problem(api_get(api, 0, ROLE_READ, 410, "/v1/sessions/%s/raw/0", id), "gone", "");
}

/* What differs is what the rows do not hold. */
static void forget_what_rows_do_not_hold(json_t *answer)
{
    json_t *jank, *of_jank, *stack;
    size_t i, j;

    json_array_foreach(json_object_get(answer, "janks"), i, jank)
    {
        json_array_foreach(json_object_get(jank, "samples"), j, of_jank)
            json_object_set_new(of_jank, "t_us", json_null());
        json_array_foreach(json_object_get(jank, "cores"), j, of_jank)
            json_object_set_new(of_jank, "cluster_max_khz", json_integer(0));
    }
    json_array_foreach(json_object_get(answer, "stacks"), i, stack)
        json_object_set_new(stack, "thread", json_string(""));
}

static void shows_the_same_janks_from_rows_when_the_files_are_gone(void **state)
{
    struct api *api = *state;
    json_t *before, *after;
    char id[33];

    api_play(api, 0, 9, 60, id);
    before = json_deep_copy(api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s/janks", id));
    pg_sql(api->conninfo, "DELETE FROM upload_chunk");
    pg_sql(api->conninfo, "UPDATE upload SET state = 'deleted'");
    after = api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s/janks", id);
    forget_what_rows_do_not_hold(before);
    assert_true(json_array_size(json_object_get(after, "janks")) > 0);
    assert_true(json_equal(json_object_get(before, "janks"), json_object_get(after, "janks")));
    assert_int_equal(json_array_size(json_object_get(before, "stacks")),
                     json_array_size(json_object_get(after, "stacks")));
    json_decref(before);
}

static void never_hands_out_bytes_that_changed(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 9, 5, id);
    pg_sql(api->conninfo,
           "UPDATE upload_chunk SET bytes = set_byte(bytes, 100, 255 - get_byte(bytes, 100))");
    api_problem(api_get(api, 0, ROLE_READ, 500, "/v1/sessions/%s/raw/0", id), "internal", "");
    api_problem(api_get(api, 0, ROLE_READ, 500, "/v1/sessions/%s/timeline", id), "internal", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shows_every_frame_or_buckets),
        TEST(names_the_argument_of_the_timeline_that_is_wrong),
        TEST(shows_janks_with_the_stacks_that_they_name),
        TEST(gives_traces_for_other_tools),
        TEST(gives_back_the_bytes_that_were_uploaded),
        TEST(tells_which_part_is_not_there),
        TEST(says_gone_when_the_raw_bytes_are_past_retention),
        TEST(shows_the_same_janks_from_rows_when_the_files_are_gone),
        TEST(never_hands_out_bytes_that_changed),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
