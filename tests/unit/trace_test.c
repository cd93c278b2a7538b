#include "profile/trace.h"

#include "support/golden.h"
#include "unit/views_fixture.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define CAP ((size_t)64 << 20)

/* Chrome --------------------------------------------------------------------------------------- */

static json_t *chrome(const struct fixture *f)
{
    struct buf b;
    json_error_t error;

    buf_init(&b, CAP);
    trace_chrome(&f->s, &f->r, &b);
    assert_true(buf_ok(&b));

    json_t *tree = json_loadb((const char *)b.at, b.len, JSON_REJECT_DUPLICATES, &error);

    if (!tree)
        fail_msg("not JSON at %d: %s", error.position, error.text);
    buf_fini(&b);
    return tree;
}

static const char *text(const json_t *o, const char *name)
{
    const char *s = json_string_value(json_object_get(o, name));

    return s ? s : "";
}

static int64_t number(const json_t *o, const char *name)
{
    assert_true(json_is_integer(json_object_get(o, name)));
    return json_integer_value(json_object_get(o, name));
}

static const json_t *events_of(const json_t *tree)
{
    assert_true(json_array_size(json_object_get(tree, "traceEvents")) > 0);
    return json_object_get(tree, "traceEvents");
}

/* Events of that phase and name ("" any); *first is the first of them. */
static size_t find(const json_t *tree, const char *phase, const char *name, const json_t **first)
{
    const json_t *events = events_of(tree);
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);

        if (strcmp(text(e, "ph"), phase) || (name[0] && strcmp(text(e, "name"), name)))
            continue;
        if (!n++ && first)
            *first = e;
    }
    return n;
}

/* Thread id of the track with this name. */
static int64_t chrome_track(const json_t *tree, const char *name)
{
    const json_t *events = events_of(tree);

    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);

        if (strcmp(text(e, "name"), "thread_name") == 0 &&
            strcmp(text(json_object_get(e, "args"), "name"), name) == 0)
            return number(e, "tid");
    }
    fail_msg("no track '%s'", name);
    return 0;
}

static void chrome_has_a_slice_for_every_frame_that_does_not_overlap(void **state)
{
    struct fixture *f = *state;
    json_t *t = chrome(f);
    const json_t *events = events_of(t);
    int64_t track = chrome_track(t, "Frames"), total = 0, wanted = 0;
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);

        if (strcmp(text(e, "ph"), "X") || number(e, "tid") != track)
            continue;
        total += number(e, "dur");
        n++;
    }
    for (size_t i = 0; i < FIXTURE_FRAMES; i++)
        wanted += f->frames[i].interval_us;
    assert_int_equal(n, FIXTURE_FRAMES);
    assert_int_equal(total, wanted);
    assert_int_equal(find(t, "X", "missed frame", NULL), 1);
    assert_int_equal(find(t, "X", "frame", NULL), FIXTURE_FRAMES - 3 - 6 - 2);
    json_decref(t);
}

static void chrome_times_are_microseconds_of_the_session(void **state)
{
    json_t *t = chrome(*state);
    const json_t *crash = NULL, *heat = NULL;

    assert_int_equal(find(t, "i", "crash", &crash), 1);
    assert_int_equal(number(crash, "ts"), 10900000);
    assert_int_equal(find(t, "C", "battery_millicelsius", &heat), FIXTURE_HARDWARE - 1);
    assert_int_equal(number(heat, "ts"), 0);
    assert_int_equal(number(json_object_get(heat, "args"), "value"), 31000);
    json_decref(t);
}

static void chrome_janks_carry_cause_and_stack(void **state)
{
    json_t *t = chrome(*state);
    const json_t *events = events_of(t), *found = NULL;
    int64_t track = chrome_track(t, "Janks");

    for (size_t i = 0; i < json_array_size(events) && !found; i++) {
        const json_t *e = json_array_get(events, i);

        if (strcmp(text(e, "ph"), "X") == 0 && number(e, "tid") == track)
            found = e;
    }
    assert_non_null(found);
    assert_string_equal(text(found, "name"), "normal jank");

    const json_t *args = json_object_get(found, "args");
    const json_t *stack = json_object_get(args, "stack");

    assert_string_equal(text(args, "cause"), "throttled");
    assert_int_equal(json_array_size(stack), 3);
    assert_string_equal(json_string_value(json_array_get(stack, 0)), "libgame.so+0x1f30");
    assert_string_equal(json_string_value(json_array_get(stack, 2)), "0x7f0011223344");
    json_decref(t);
}

static void chrome_slices_of_one_track_never_overlap(void **state)
{
    json_t *t = chrome(*state);
    const json_t *events = events_of(t);
    int64_t end[64] = {0};

    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);

        if (strcmp(text(e, "ph"), "X"))
            continue;

        int64_t tid = number(e, "tid");

        assert_in_range(tid, 1, 63);
        assert_true(number(e, "ts") >= end[tid]);
        assert_true(number(e, "dur") >= 0);
        end[tid] = number(e, "ts") + number(e, "dur");
    }
    json_decref(t);
}

static void chrome_leaves_out_values_out_of_bounds(void **state)
{
    json_t *t = chrome(*state);

    assert_int_equal(find(t, "C", "battery_millicelsius", NULL), FIXTURE_HARDWARE - 1);
    assert_int_equal(find(t, "C", "core_2_khz", NULL), FIXTURE_HARDWARE - 1);
    assert_int_equal(find(t, "C", "core_3_khz", NULL), FIXTURE_HARDWARE);
    json_decref(t);
}

static void chrome_matches_its_golden_text(void **state)
{
    struct fixture *f = *state;
    struct buf b;

    f->s.n_frames = 12;
    buf_init(&b, CAP);
    trace_chrome(&f->s, &f->r, &b);
    golden_check("views", "chrome.json", b.at, b.len);
    buf_fini(&b);
}

/* Perfetto, decoded by protoc ---------------------------------------------------------------------
 */

static char *decode(const struct fixture *f)
{
    char trace[] = "/tmp/fw_trace_XXXXXX", command[4096];
    int fd = mkstemp(trace);
    struct buf b;
    FILE *pipe;

    assert_true(fd >= 0);
    buf_init(&b, CAP);
    trace_perfetto(&f->s, &f->r, &b);
    assert_true(buf_ok(&b));
    assert_int_equal(write(fd, b.at, b.len), b.len);
    close(fd);
    buf_reset(&b);
    snprintf(command, sizeof command,
             "protoc --decode=perfetto.protos.Trace -I %s/tests/golden perfetto_subset.proto <%s",
             FW_SOURCE_DIR, trace);
    pipe = popen(command, "r");
    assert_non_null(pipe);

    char chunk[65536];

    for (size_t n; (n = fread(chunk, 1, sizeof chunk, pipe)) > 0;)
        buf_put(&b, chunk, n);
    assert_int_equal(pclose(pipe), 0);
    unlink(trace);
    buf_byte(&b, 0);

    size_t len;
    char *out = (char *)buf_steal(&b, &len);

    assert_non_null(out);
    return out;
}

/* The text of one packet, in a list. */
struct packets {
    char *text;
    const char **at;
    size_t n;
};

static struct packets split(char *decoded)
{
    struct packets p = {.text = decoded};
    size_t room = 1;

    for (const char *s = decoded; (s = strstr(s, "packet {\n")); s++)
        room++;
    p.at = calloc(room, sizeof *p.at);
    assert_non_null(p.at);
    for (char *s = decoded; (s = strstr(s, "packet {\n"));) {
        if (s != decoded)
            s[-1] = 0;
        p.at[p.n++] = s;
        s += 9;
    }
    return p;
}

static struct packets perfetto(const struct fixture *f)
{
    return split(decode(f));
}

static void release(struct packets *p)
{
    free(p->at);
    free(p->text);
}

static bool has(const char *packet, const char *line)
{
    return strstr(packet, line) != NULL;
}

static size_t count2(const struct packets *p, const char *a, const char *b)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        n += has(p->at[i], a) && has(p->at[i], b);
    return n;
}

static uint64_t value_of(const char *packet, const char *key)
{
    const char *s = strstr(packet, key);

    return s ? strtoull(s + strlen(key), NULL, 10) : 0;
}

/* Of the track whose descriptor has this name. */
static uint64_t uuid_of(const struct packets *p, const char *name)
{
    char line[128];

    snprintf(line, sizeof line, "    name: \"%s\"\n", name);
    for (size_t i = 0; i < p->n; i++)
        if (has(p->at[i], "track_descriptor {") && has(p->at[i], line))
            return value_of(p->at[i], "\n    uuid: ");
    fail_msg("no track '%s'", name);
    return 0;
}

static void perfetto_has_no_field_outside_the_published_schema(void **state)
{
    char *text = decode(*state);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += strspn(line, " \n");
        assert_false(*line >= '0' && *line <= '9');
    }
    free(text);
}

static void perfetto_is_one_sequence_that_begins_with_cleared_state(void **state)
{
    struct packets p = perfetto(*state);

    assert_int_equal(count2(&p, "trusted_packet_sequence_id: 1\n", ""), p.n);
    assert_true(has(p.at[0], "sequence_flags: 1\n"));
    assert_true(has(p.at[0], "first_packet_on_sequence: true\n"));
    assert_int_equal(count2(&p, "sequence_flags:", ""), 1);
    assert_true(has(p.at[0], "timestamp: 1714971600123000000\n"));
    release(&p);
}

static void perfetto_tracks_hang_below_one_process_with_a_name(void **state)
{
    struct packets p = perfetto(*state);
    size_t tracks = count2(&p, "track_descriptor {", "");

    assert_int_equal(count2(&p, "process_name: \"dungeon 2.14.0 on Phone 9\"", "child_ordering"),
                     1);
    for (size_t i = 0; i < p.n; i++)
        if (has(p.at[i], "process {")) {
            char parent[64];

            snprintf(parent, sizeof parent, "parent_uuid: %llu\n",
                     (unsigned long long)value_of(p.at[i], "\n    uuid: "));
            assert_int_equal(count2(&p, parent, "sibling_order_rank"), tracks - 1);
        }
    /* 8 tracks, the frame time, 3 hardware fields, 8 cores */
    assert_int_equal(tracks, 1 + 8 + 1 + 3 + 8);
    release(&p);
}

static void perfetto_events_name_tracks_that_were_described_before(void **state)
{
    struct packets p = perfetto(*state);
    bool events = false;

    for (size_t i = 0; i < p.n; i++) {
        char line[64];

        if (has(p.at[i], "track_descriptor {")) {
            assert_false(events);
            continue;
        }
        if (!has(p.at[i], "track_event {"))
            continue;
        events = true;
        snprintf(line, sizeof line, "\n    uuid: %llu\n",
                 (unsigned long long)value_of(p.at[i], "track_uuid: "));
        assert_int_equal(count2(&p, "track_descriptor {", line), 1);
    }
    release(&p);
}

/* Begins and ends take turns, times never go back: what a viewer needs to draw a flat track. */
static size_t check_slices(const struct packets *p, uint64_t uuid)
{
    uint64_t last = 0;
    size_t open = 0, slices = 0;
    char line[64];

    snprintf(line, sizeof line, "track_uuid: %llu\n", (unsigned long long)uuid);
    for (size_t i = 0; i < p->n; i++) {
        if (!has(p->at[i], "track_event {") || !has(p->at[i], line) ||
            has(p->at[i], "TYPE_INSTANT"))
            continue;
        assert_true(value_of(p->at[i], "timestamp: ") >= last);
        last = value_of(p->at[i], "timestamp: ");
        if (has(p->at[i], "TYPE_SLICE_BEGIN"))
            open++;
        else
            open--, slices++;
        assert_true(open <= 1);
    }
    assert_int_equal(open, 0);
    return slices;
}

static void perfetto_slices_are_flat_and_in_order_on_every_track(void **state)
{
    struct packets p = perfetto(*state);

    assert_int_equal(check_slices(&p, uuid_of(&p, "Session")), 1);
    assert_int_equal(check_slices(&p, uuid_of(&p, "Scenes")), 2);
    assert_int_equal(check_slices(&p, uuid_of(&p, "Frames")), FIXTURE_FRAMES);
    assert_int_equal(check_slices(&p, uuid_of(&p, "Janks")), 3);
    assert_int_equal(check_slices(&p, uuid_of(&p, "Lifecycle")), 1);
    assert_int_equal(count2(&p, "TYPE_SLICE_BEGIN", "name: \"severe jank\""), 2);
    release(&p);
}

static void perfetto_janks_carry_their_stack_as_an_array(void **state)
{
    struct packets p = perfetto(*state);

    for (size_t i = 0; i < p.n; i++)
        if (has(p.at[i], "string_value: \"throttled\"")) {
            assert_true(has(p.at[i], "timestamp: 3000220000\n"));
            assert_true(has(p.at[i], "name: \"stack\""));
            assert_true(has(p.at[i], "array_values {\n        string_value: "
                                     "\"libgame.so+0x1f30\""));
        }
    assert_int_equal(count2(&p, "string_value: \"throttled\"", "TYPE_SLICE_BEGIN"), 1);
    assert_int_equal(count2(&p, "TYPE_INSTANT", "name: \"libgame.so+0x1f30\""), 1);
    release(&p);
}

static size_t samples_of(const struct packets *p, const char *counter)
{
    char line[64];

    snprintf(line, sizeof line, "track_uuid: %llu\n", (unsigned long long)uuid_of(p, counter));
    return count2(p, "TYPE_COUNTER", line);
}

static void perfetto_counters_have_units_and_every_value_in_bounds(void **state)
{
    struct packets p = perfetto(*state);

    assert_int_equal(count2(&p, "name: \"pss_kb\"",
                            "unit: UNIT_SIZE_BYTES\n      "
                            "unit_multiplier: 1024"),
                     1);
    assert_int_equal(count2(&p, "name: \"frame_time_us\"",
                            "unit: UNIT_TIME_NS\n      "
                            "unit_multiplier: 1000"),
                     1);
    assert_int_equal(count2(&p, "name: \"battery_millicelsius\"", "unit_name: "), 1);
    assert_int_equal(samples_of(&p, "battery_millicelsius"), FIXTURE_HARDWARE - 1);
    assert_int_equal(samples_of(&p, "pss_kb"), FIXTURE_HARDWARE);
    assert_int_equal(samples_of(&p, "core_2_khz"), FIXTURE_HARDWARE - 1);
    assert_int_equal(samples_of(&p, "frame_time_us"), FIXTURE_FRAMES - 6 - 2);
    release(&p);
}

static void perfetto_tracks_of_two_sessions_differ(void **state)
{
    struct fixture *f = *state;
    struct packets one = perfetto(f);

    f->s.header.session_id[5] ^= 0x10;

    struct packets two = perfetto(f);

    assert_int_not_equal(uuid_of(&one, "Frames"), uuid_of(&two, "Frames"));
    release(&one);
    release(&two);
}

static void perfetto_matches_its_golden_text(void **state)
{
    struct fixture *f = *state;

    f->s.n_frames = 12;

    char *text = decode(f);

    golden_check("views", "perfetto.txt", text, strlen(text));
    free(text);
}

static void both_survive_an_empty_session_and_a_full_buffer(void **state)
{
    struct fixture *f = *state;
    struct session nothing = {.header = f->s.header};
    struct session_result none = {0};
    struct buf b;

    buf_init(&b, CAP);
    trace_chrome(&nothing, &none, &b);
    trace_perfetto(&nothing, &none, &b);
    assert_true(buf_ok(&b));
    buf_fini(&b);
    buf_init(&b, 5000);
    trace_chrome(&f->s, &f->r, &b);
    assert_false(buf_ok(&b));
    buf_fini(&b);
    buf_init(&b, 5000);
    trace_perfetto(&f->s, &f->r, &b);
    assert_false(buf_ok(&b));
    buf_fini(&b);
}

static int begin(void **state)
{
    struct fixture *f = malloc(sizeof *f);

    if (f)
        fixture_fill(f);
    *state = f;
    return f ? 0 : -1;
}

static int end(void **state)
{
    free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chrome_has_a_slice_for_every_frame_that_does_not_overlap),
        TEST(chrome_times_are_microseconds_of_the_session),
        TEST(chrome_janks_carry_cause_and_stack),
        TEST(chrome_slices_of_one_track_never_overlap),
        TEST(chrome_leaves_out_values_out_of_bounds),
        TEST(chrome_matches_its_golden_text),
        TEST(perfetto_has_no_field_outside_the_published_schema),
        TEST(perfetto_is_one_sequence_that_begins_with_cleared_state),
        TEST(perfetto_tracks_hang_below_one_process_with_a_name),
        TEST(perfetto_events_name_tracks_that_were_described_before),
        TEST(perfetto_slices_are_flat_and_in_order_on_every_track),
        TEST(perfetto_janks_carry_their_stack_as_an_array),
        TEST(perfetto_counters_have_units_and_every_value_in_bounds),
        TEST(perfetto_tracks_of_two_sessions_differ),
        TEST(perfetto_matches_its_golden_text),
        TEST(both_survive_an_empty_session_and_a_full_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
