#include "stacks/export.h"
#include "stacks_fixture.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#define CAP ((size_t)64 << 20)

static const struct export_about about = {.title = "build \"1.4\", jank stacks",
                                          .count_name = "janks",
                                          .weight_name = "jank time",
                                          .time_us = 1700000000000000};

static struct trie *sorted(const char *text)
{
    struct trie *t = trie_new(CAP);
    struct err err;

    assert_non_null(t);
    assert_true(fold_read(text, strlen(text), t, &err));
    assert_true(trie_sort(t, TRIE_COUNT, &err));
    return t;
}

static json_t *parse(const struct buf *b)
{
    json_error_t error;
    json_t *json;

    assert_true(buf_ok(b));
    json = json_loadb((const char *)b->at, b->len, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        fail_msg("%s: %.*s", error.text, (int)b->len, (const char *)b->at);
    return json;
}

static json_t *get(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    if (!value)
        fail_msg("%s is missing", name);
    return value;
}

/* Speedscope --------------------------------------------------------------------------------------
 */

/* What its schema asks of a file with sampled profiles, and what its reader does: weights and
 * samples side by side, frames within the list, endValue their sum. */
static void check_speedscope(const json_t *file)
{
    const json_t *profile = json_array_get(get(file, "profiles"), 0);
    const json_t *samples = get(profile, "samples"), *weights = get(profile, "weights");
    size_t frames = json_array_size(get(get(file, "shared"), "frames"));
    json_int_t sum = 0;

    assert_string_equal(json_string_value(get(file, "$schema")),
                        "https://www.speedscope.app/file-format-schema.json");
    assert_int_equal(json_array_size(get(file, "profiles")), 1);
    assert_string_equal(json_string_value(get(profile, "type")), "sampled");
    assert_true(json_is_string(get(profile, "name")));
    assert_int_equal(json_array_size(samples), json_array_size(weights));
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *stack = json_array_get(samples, i);

        sum += json_integer_value(json_array_get(weights, i));
        for (size_t k = 0; k < json_array_size(stack); k++)
            assert_true(json_integer_value(json_array_get(stack, k)) < (json_int_t)frames);
    }
    assert_int_equal(json_integer_value(get(profile, "startValue")), 0);
    assert_int_equal(json_integer_value(get(profile, "endValue")), sum);
}

static void speedscope_files_hold_every_sample(void **state)
{
    struct trie *t = sorted("main;draw 5\nmain;draw;\"upload\" 3\nmain;sound -2\n");
    struct buf b;
    json_t *file;
    const json_t *profile;

    (void)state;
    buf_init(&b, CAP);
    export_speedscope(t, TRIE_COUNT, &about, &b);
    file = parse(&b);
    check_speedscope(file);
    profile = json_array_get(get(file, "profiles"), 0);
    assert_string_equal(json_string_value(get(profile, "unit")), "none");
    assert_int_equal(json_integer_value(get(profile, "endValue")), 8);
    assert_int_equal(json_array_size(get(profile, "samples")), 2);
    json_decref(file);

    buf_reset(&b);
    export_speedscope(t, TRIE_WEIGHT, &about, &b);
    file = parse(&b);
    check_speedscope(file);
    profile = json_array_get(get(file, "profiles"), 0);
    assert_string_equal(json_string_value(get(profile, "unit")), "milliseconds");
    json_decref(file);
    buf_fini(&b);
    trie_free(t);
}

/* pprof -------------------------------------------------------------------------------------------
 */

static struct buf gunzip(const struct buf *in)
{
    unsigned char room[65536];
    z_stream z = {.next_in = in->at, .avail_in = (unsigned)in->len};
    struct buf out;
    int state;

    buf_init(&out, CAP);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    do {
        z.next_out = room;
        z.avail_out = sizeof room;
        state = inflate(&z, Z_NO_FLUSH);
        buf_put(&out, room, sizeof room - z.avail_out);
    } while (state == Z_OK);
    assert_int_equal(state, Z_STREAM_END);
    inflateEnd(&z);
    return out;
}

/* The text that protoc makes of it by the public schema; the caller frees. */
static char *decode_pprof(const struct trie *t)
{
    char name[] = "/tmp/fw_pprof_XXXXXX", command[4096], chunk[4096];
    int fd = mkstemp(name);
    struct buf b, raw;
    struct err err;
    FILE *pipe;
    size_t len;

    assert_true(fd >= 0);
    buf_init(&b, CAP);
    assert_true(export_pprof(t, &about, &b, &err));
    raw = gunzip(&b);
    assert_int_equal(write(fd, raw.at, raw.len), raw.len);
    close(fd);
    buf_fini(&raw);
    buf_reset(&b);
    snprintf(command, sizeof command,
             "protoc --decode=perftools.profiles.Profile -I %s/tests/golden pprof_subset.proto <%s",
             FW_SOURCE_DIR, name);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, pipe)) > 0;)
        buf_put(&b, chunk, n);
    assert_int_equal(pclose(pipe), 0);
    unlink(name);
    buf_byte(&b, 0);
    return (char *)buf_steal(&b, &len);
}

static void pprof_profiles_decode_by_the_public_schema(void **state)
{
    struct trie *t = sorted("main;draw 5\nmain;draw;up\xff 3\n");
    char *text = decode_pprof(t);
    static const char *const parts[] = {
        "sample_type {\n  type: 1\n  unit: 2\n}\nsample_type {\n  type: 3\n  unit: 4\n}\n",
        "sample {\n  location_id: 2\n  location_id: 1\n  value: 5\n  value: 0\n}\n",
        "sample {\n  location_id: 3\n  location_id: 2\n  location_id: 1\n  value: 3\n  value: "
        "0\n}\n",
        "location {\n  id: 3\n  line {\n    function_id: 3\n  }\n}\n",
        "function {\n  id: 3\n  name: 8\n  system_name: 8\n}\n",
        "string_table: \"\"\nstring_table: \"janks\"\nstring_table: \"count\"\n"
        "string_table: \"jank time\"\nstring_table: \"milliseconds\"\n"
        "string_table: \"build \\\"1.4\\\", jank stacks\"\nstring_table: \"main\"\n"
        "string_table: \"draw\"\nstring_table: \"up?\"\n",
        "time_nanos: 1700000000000000000\n",
        "comment: 5\n"};

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("%s\nis not in\n%s", parts[i], text);
    assert_null(strstr(text, ": 0x")); /* no field that the schema does not know */
    free(text);
    trie_free(t);
}

/* Trees -------------------------------------------------------------------------------------------
 */

static void a_tree_for_a_page_shows_the_heaviest_nodes(void **state)
{
    struct trie *t = sorted("m;a;b 50\nm;a 1\nm;c 20\nm;d 10\nq 3\n");
    struct buf b;
    struct err err;
    json_t *json;

    (void)state;
    buf_init(&b, CAP);
    assert_true(export_trie_json(t, TRIE_COUNT, 5, &b, &err));
    buf_byte(&b, 0);
    assert_string_equal(
        (char *)b.at,
        "{\"nodes\":7,\"shown\":5,\"root\":{\"name\":\"\",\"count\":84,\"weight\":0,\"self_count\":"
        "0,\"self_weight\":0,\"children\":[{\"name\":\"m\",\"count\":81,\"weight\":0,\"self_"
        "count\":0,\"self_weight\":0,\"children\":[{\"name\":\"a\",\"count\":51,\"weight\":0,"
        "\"self_count\":1,\"self_weight\":0,\"children\":[{\"name\":\"b\",\"count\":50,\"weight\":"
        "0,"
        "\"self_count\":50,\"self_weight\":0,\"children\":[]}]},{\"name\":\"c\",\"count\":20,"
        "\"weight\":0,\"self_count\":20,\"self_weight\":0,\"children\":[]}]}]}}");
    for (size_t max = 0; max < 10; max++) {
        buf_reset(&b);
        assert_true(export_trie_json(t, TRIE_COUNT, max, &b, &err));
        json = parse(&b);
        assert_int_equal(json_integer_value(get(json, "shown")), max < 1 ? 1 : max > 7 ? 7 : max);
        json_decref(json);
    }
    buf_fini(&b);
    trie_free(t);
}

static void a_diff_for_a_page_shows_shares(void **state)
{
    struct trie *a = sorted("m;x 1\nm;y 3\n"), *b = sorted("m;x 3\nm;z 1\n");
    struct trie_diff d;
    struct buf out;
    struct err err;

    (void)state;
    assert_true(trie_diff(a, b, TRIE_COUNT, CAP, &d, &err));
    buf_init(&out, CAP);
    assert_true(export_diff_json(&d, 4, &out, &err));
    buf_byte(&out, 0);
    assert_string_equal((char *)out.at,
                        "{\"nodes\":5,\"shown\":4,\"root\":{\"name\":\"\",\"a\":1,\"b\":1,\"self_"
                        "a\":0,\"self_b\":0,\"children\":[{\"name\":\"m\",\"a\":1,\"b\":1,\"self_"
                        "a\":0,\"self_b\":0,\"children\":[{\"name\":\"y\",\"a\":0.75,\"b\":0,"
                        "\"self_a\":0.75,\"self_b\":0,\"children\":[]},{\"name\":\"x\",\"a\":0.25,"
                        "\"b\":0.75,\"self_a\":0.25,\"self_b\":0.75,\"children\":[]}]}]}}");
    buf_fini(&out);
    trie_diff_fini(&d);
    trie_free(a);
    trie_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speedscope_files_hold_every_sample),
        cmocka_unit_test(pprof_profiles_decode_by_the_public_schema),
        cmocka_unit_test(a_tree_for_a_page_shows_the_heaviest_nodes),
        cmocka_unit_test(a_diff_for_a_page_shows_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
