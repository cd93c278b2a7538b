#include "profile/part.h"

#include "base/buf.h"
#include "support/golden.h"
#include "support/session_builder.h"

#include "session.pb-c.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

/* All lines of a dump, each parsed as JSON. */
struct lines {
    json_t *array;
    struct buf text; /* joined by newlines */
    size_t stop_after;
};

static bool take_line(void *user, const char *text, size_t len)
{
    struct lines *l = user;
    json_error_t error;
    json_t *tree = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

    if (!tree)
        fail_msg("not JSON: %s: %.*s", error.text, (int)len, text);
    assert_null(memchr(text, '\n', len));
    json_array_append_new(l->array, tree);
    buf_put(&l->text, text, len);
    buf_byte(&l->text, '\n');
    return !l->stop_after || json_array_size(l->array) < l->stop_after;
}

static bool dump(const void *bytes, size_t n, struct lines *l, struct err *err)
{
    *l = (struct lines){.array = json_array()};
    buf_init(&l->text, (size_t)256 << 20);
    return part_dump(bytes, n, &part_limits_default, take_line, l, err);
}

static void release(struct lines *l)
{
    json_decref(l->array);
    buf_fini(&l->text);
}

static struct lines dumped(struct session_builder *b)
{
    struct lines l;
    struct err err = {0};
    size_t n;
    const unsigned char *bytes = sb_bytes(b, &n);

    if (!dump(bytes, n, &l, &err))
        fail_msg("%s", err.text);
    return l;
}

static const json_t *line(const struct lines *l, size_t i)
{
    return json_array_get(l->array, i);
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

static void is(const struct lines *l, size_t i, const char *kind)
{
    assert_string_equal(text(line(l, i), "packet"), kind);
}

static void prints_one_line_a_packet_in_the_files_order(void **state)
{
    struct session_builder *b = *state;

    sb_part(b, 3, 60000000);
    sb_scene(b, 60000000, "battle", "frost");
    sb_frames(b, 60000000, SB_INTERVALS(16670, 16660, 300000));
    sb_slice(b);
    sb_hardware(b, 60100000, SB_VALUES({HW_pss_kb, 800000}), SB_CORES(1800000, 0));
    sb_step(b, 60200000, "open_door");
    sb_end(b, 60400000, END_STOPPED);

    struct lines l = dumped(b);

    assert_int_equal(json_array_size(l.array), 6);
    is(&l, 0, "header");
    assert_int_equal(number(line(&l, 0), "part"), 3);
    assert_string_equal(text(line(&l, 0), "platform"), "PLATFORM_ANDROID");
    assert_int_equal(strlen(text(line(&l, 0), "session_id")), 32);
    is(&l, 1, "scene");
    assert_string_equal(text(line(&l, 1), "map"), "frost");
    is(&l, 2, "frames");
    assert_int_equal(number(line(&l, 2), "start_us"), 60000000);
    is(&l, 3, "hardware");
    assert_int_equal(number(line(&l, 3), "pss_kb"), 800000);
    assert_int_equal(json_array_size(json_object_get(line(&l, 3), "core_khz")), 2);
    is(&l, 4, "step");
    is(&l, 5, "end");
    assert_string_equal(text(line(&l, 5), "reason"), "STOPPED");
    release(&l);
}

static void keeps_frame_deltas_as_they_came(void **state)
{
    static const int32_t wanted[] = {1667, -1, 28334, -28333, 0};
    struct session_builder *b = *state;

    sb_part(b, 0, 0);
    sb_deltas(b, 0, wanted, 5);

    struct lines l = dumped(b);
    const json_t *deltas = json_object_get(line(&l, 1), "delta");

    assert_int_equal(json_array_size(deltas), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(json_integer_value(json_array_get(deltas, i)), wanted[i]);
    release(&l);
}

/* One value of that type, as it stands on the wire. */
static void put_sample(struct buf *b, const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        buf_varint(b, (uint64_t)f->id << 3 | 5);
        buf_put(b, "\0\0\x80\x3f", 4);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        buf_varint(b, (uint64_t)f->id << 3 | 1);
        buf_put(b, "\0\0\0\0\0\0\xf0\x3f", 8);
        break;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        buf_varint(b, (uint64_t)f->id << 3 | 2);
        buf_varint(b, 1);
        buf_byte(b, 'z');
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        buf_varint(b, (uint64_t)f->id << 3 | 2);
        buf_varint(b, 0);
        break;
    default:
        buf_varint(b, (uint64_t)f->id << 3);
        buf_varint(b, 1);
    }
}

static void check_value(const ProtobufCFieldDescriptor *f, const json_t *v)
{
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        assert_int_equal(json_array_size(v), 1);
        v = json_array_get(v, 0);
    }
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        assert_string_equal(json_string_value(v), "z");
        break;
    case PROTOBUF_C_TYPE_BYTES:
        assert_string_equal(json_string_value(v), "7a");
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        assert_true(json_is_object(v));
        break;
    case PROTOBUF_C_TYPE_BOOL:
        assert_true(json_is_true(v));
        break;
    case PROTOBUF_C_TYPE_ENUM:
        assert_true(json_is_string(v) || json_is_integer(v));
        break;
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
        assert_true(json_number_value(v) == 1);
        break;
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SINT64:
        assert_int_equal(json_integer_value(v), -1);
        break;
    default:
        assert_int_equal(json_integer_value(v), 1);
    }
}

/* A packet of that kind with every field of its message. */
static void check_kind(struct session_builder *b, const ProtobufCFieldDescriptor *kind)
{
    const ProtobufCMessageDescriptor *m = kind->descriptor;
    struct buf body, packet;

    buf_init(&body, 65536);
    buf_init(&packet, 65536);
    for (unsigned i = 0; i < m->n_fields; i++)
        put_sample(&body, &m->fields[i]);
    buf_varint(&packet, (uint64_t)kind->id << 3 | 2);
    buf_varint(&packet, body.len);
    buf_put(&packet, body.at, body.len);
    sb_part(b, 0, 0);
    sb_raw_packet(b, packet.at, packet.len);

    struct lines l = dumped(b);

    is(&l, 1, kind->name);
    assert_int_equal(json_object_size(line(&l, 1)), m->n_fields + 1);
    for (unsigned i = 0; i < m->n_fields; i++)
        check_value(&m->fields[i], json_object_get(line(&l, 1), m->fields[i].name));
    release(&l);
    buf_fini(&body);
    buf_fini(&packet);
}

static void every_field_of_the_schema_prints_by_its_name(void **state)
{
    const ProtobufCMessageDescriptor *packet = &framewatch__packet__descriptor;

    for (unsigned i = 0; i < packet->n_fields; i++)
        check_kind(*state, &packet->fields[i]);
}

static void shows_packets_and_fields_that_it_does_not_know(void **state)
{
    struct session_builder *b = *state;

    sb_part(b, 0, 0);
    sb_raw_packet(b, "\xa2\x06\x02hi", 5);                   /* body 100: "hi" */
    sb_raw_packet(b, "\x3a\x06\x08\x07\xf8\x06\x96\x01", 8); /* Step {t_us: 7, 111: 150} */
    sb_raw_packet(b, "\x3a\x02\x10\x05", 4);                 /* Step with a number as its name */
    sb_raw_packet(b, "", 0);
    sb_raw_log(b, "\x12\x01x", 3); /* SessionLog's field 2 */

    struct lines l = dumped(b);
    const json_t *unknown;

    assert_int_equal(json_array_size(l.array), 6);
    is(&l, 1, "unknown");
    unknown = json_array_get(json_object_get(line(&l, 1), "unknown"), 0);
    assert_int_equal(number(unknown, "field"), 100);
    assert_string_equal(text(unknown, "bytes"), "6869");
    is(&l, 2, "step");
    assert_int_equal(number(line(&l, 2), "t_us"), 7);
    unknown = json_array_get(json_object_get(line(&l, 2), "unknown"), 0);
    assert_int_equal(number(unknown, "field"), 111);
    assert_int_equal(number(unknown, "varint"), 150);
    assert_int_equal(number(json_array_get(json_object_get(line(&l, 3), "unknown"), 0), "varint"),
                     5);
    is(&l, 4, "empty");
    is(&l, 5, "unknown");
    release(&l);
}

static void numbers_too_long_for_json_are_strings(void **state)
{
    struct session_builder *b = *state;

    sb_part(b, 0, 0);
    sb_module(b, "libgame.so", "00ff", UINT64_MAX, 4096);

    struct lines l = dumped(b);

    assert_string_equal(text(line(&l, 1), "load_address"), "18446744073709551615");
    assert_int_equal(number(line(&l, 1), "size"), 4096);
    assert_string_equal(text(line(&l, 1), "debug_id"), "00ff");
    release(&l);
}

static void hostile_text_stays_json(void **state)
{
    struct session_builder *b = *state;

    sb_part(b, 0, 0);
    sb_raw_packet(b, "\x3a\x0a\x12\x08\0\"\\\n\x1b\xff\xc3z", 12); /* Step {name: …} */

    struct lines l = dumped(b);

    is(&l, 1, "step");
    assert_string_equal(text(line(&l, 1), "name"),
                        "\xef\xbf\xbd\"\\\n\x1b\xef\xbf\xbd\xef\xbf\xbdz");
    release(&l);
}

static void a_file_cut_anywhere_prints_its_whole_frames_and_says_that_it_is_cut(void **state)
{
    struct session_builder *b = *state;

    sb_part(b, 0, 0);
    sb_play(b, 0, 61, 5);

    size_t n;
    const unsigned char *bytes = sb_bytes(b, &n);
    struct lines whole, cut;
    struct err err = {0};

    assert_true(dump(bytes, n, &whole, &err));
    for (size_t at = 4; at < n; at += 1 + n / 150) {
        assert_true(dump(bytes, at, &cut, &err));

        size_t lines = json_array_size(cut.array);
        const json_t *last = line(&cut, lines - 1);

        if (json_object_get(last, "end")) { /* not cut between two frames */
            assert_string_equal(text(last, "end"), "truncated");
            assert_int_equal(number(last, "file_bytes"), at);
            assert_true(number(last, "whole_bytes") < (int64_t)at);
            assert_int_equal(number(last, "packets"), lines - 1);
            lines--;
        }
        for (size_t i = 0; i < lines; i++)
            assert_true(json_equal((json_t *)line(&whole, i), (json_t *)line(&cut, i)));
        release(&cut);
    }
    release(&whole);
}

static void a_malformed_packet_ends_the_reading_with_a_line_that_says_so(void **state)
{
    struct session_builder *b = *state;

    sb_part(b, 0, 0);
    sb_step(b, 5, "before");
    sb_slice(b);
    sb_raw_packet(b, "\x3a\x09\x12\x02hi", 6); /* Step longer than its packet */
    sb_slice(b);
    sb_step(b, 9, "after");

    struct lines l = dumped(b);

    assert_int_equal(json_array_size(l.array), 3);
    assert_string_equal(text(line(&l, 2), "end"), "damaged");
    assert_true(json_is_true(json_object_get(line(&l, 2), "malformed_packet")));
    assert_int_equal(number(line(&l, 2), "packets"), 2);
    release(&l);
}

static void bytes_after_the_last_frame_are_damage(void **state)
{
    struct session_builder *b = *state;

    sb_part(b, 0, 0);
    sb_slice(b);
    sb_raw_file(b, "not zstd at all", 15);

    struct lines l = dumped(b);

    assert_string_equal(text(line(&l, 1), "end"), "damaged");
    release(&l);
}

static void refuses_what_is_no_session_file(void **state)
{
    static const char *const inputs[] = {"", "x", "hello, world", "{\"packet\":\"header\"}"};
    struct lines l;

    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct err err = {0};

        assert_false(dump(inputs[i], strlen(inputs[i]), &l, &err));
        assert_int_equal(err.code, ERR_INVALID);
        release(&l);
    }
}

static void refuses_a_bomb(void **state)
{
    size_t size = (size_t)65 << 20;
    char *zeros = calloc(1, size), *small = malloc(ZSTD_compressBound(size));
    struct lines l;
    struct err err = {0};

    (void)state;
    assert_true(zeros && small);

    size_t n = ZSTD_compress(small, ZSTD_compressBound(size), zeros, size, 1);

    assert_false(dump(small, n, &l, &err));
    assert_int_equal(err.code, ERR_TOO_BIG);
    release(&l);
    free(zeros);
    free(small);
}

static void refuses_too_many_packets(void **state)
{
    struct session_builder *b = *state;
    struct part_limits few = part_limits_default;
    struct lines l = {.array = json_array()};
    struct err err = {0};
    size_t n;

    few.packets = 2;
    sb_part(b, 0, 0);
    sb_step(b, 1, "one");
    sb_step(b, 2, "two");

    const unsigned char *bytes = sb_bytes(b, &n);

    buf_init(&l.text, 65536);
    assert_false(part_dump(bytes, n, &few, take_line, &l, &err));
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_int_equal(json_array_size(l.array), 2);
    release(&l);
}

static void stops_when_the_caller_has_enough(void **state)
{
    struct session_builder *b = *state;
    struct lines l = {.array = json_array(), .stop_after = 2};
    struct err err = {0};
    size_t n;

    sb_part(b, 0, 0);
    sb_step(b, 1, "one");
    sb_step(b, 2, "two");

    const unsigned char *bytes = sb_bytes(b, &n);

    buf_init(&l.text, 65536);
    assert_true(part_dump(bytes, n, &part_limits_default, take_line, &l, &err));
    assert_int_equal(json_array_size(l.array), 2);
    release(&l);
}

static void survives_any_flipped_byte(void **state)
{
    struct session_builder *b = *state;
    unsigned seed = 11;
    size_t n;

    sb_part(b, 0, 0);
    sb_play(b, 0, 5, 9);

    const unsigned char *bytes = sb_bytes(b, &n);
    unsigned char *copy = malloc(n);

    assert_non_null(copy);
    for (int round = 0; round < 400; round++) {
        struct lines l;
        struct err err = {0};

        memcpy(copy, bytes, n);
        for (int k = 0; k < 3; k++)
            copy[(size_t)rand_r(&seed) % n] = (unsigned char)rand_r(&seed);
        if (!dump(copy, n, &l, &err))
            assert_int_not_equal(err.code, ERR_NONE);
        release(&l);
    }
    free(copy);
}

/* The same inside: damage that zstd's checksum does not stand before. */
static void survives_any_content_of_a_frame(void **state)
{
    struct session_builder *b = *state;
    unsigned seed = 12;

    for (int round = 0; round < 2000; round++) {
        unsigned char bytes[64];
        size_t n = 1 + (size_t)rand_r(&seed) % sizeof bytes;
        struct lines l;

        for (size_t i = 0; i < n; i++)
            bytes[i] = (unsigned char)(rand_r(&seed) % (i % 3 ? 256 : 16));
        sb_part(b, 0, 0);
        sb_raw_packet(b, bytes, n);
        l = dumped(b);
        release(&l);
    }
}

static void matches_its_golden_text(void **state)
{
    struct session_builder *b = *state;

    sb_part(b, 0, 0);
    sb_scene_with(b, 0, "battle", "frost", SB_ATTRIBUTES({"players", 12}));
    sb_frames(b, 0, SB_INTERVALS(16670, 16660, 300000, 16670));

    uint32_t module = sb_module(b, "libgame.so", "deadbeef", 0x7f0000001000, 65536);
    uint32_t stack = sb_stack(b, "main", SB_FRAMES({module, 0x1f30, NULL}, {0, 0, "Game.Tick"}));

    sb_jank(b, 33330, 300000, 2, SB_SAMPLES({140000, stack}));
    sb_slice(b);
    sb_position(b, 40000, 1.5f, -0.1f);
    sb_lifecycle(b, 50000, LIFE_SUSPENDED, 1200);
    sb_crash(b, 60000, 11, "SIGSEGV", stack);
    sb_feedback(b, 70000, "lag", "slow");
    sb_self_report(b, 80000, 1500);
    sb_end(b, 90000, END_RECOVERED);

    struct lines l = dumped(b);

    golden_check("views", "dump.jsonl", l.text.at, l.text.len);
    release(&l);
}

static int begin(void **state)
{
    *state = sb_new(7);
    return 0;
}

static int end(void **state)
{
    sb_free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(prints_one_line_a_packet_in_the_files_order),
        TEST(keeps_frame_deltas_as_they_came),
        TEST(every_field_of_the_schema_prints_by_its_name),
        TEST(shows_packets_and_fields_that_it_does_not_know),
        TEST(numbers_too_long_for_json_are_strings),
        TEST(hostile_text_stays_json),
        TEST(a_file_cut_anywhere_prints_its_whole_frames_and_says_that_it_is_cut),
        TEST(a_malformed_packet_ends_the_reading_with_a_line_that_says_so),
        TEST(bytes_after_the_last_frame_are_damage),
        TEST(refuses_what_is_no_session_file),
        TEST(refuses_a_bomb),
        TEST(refuses_too_many_packets),
        TEST(stops_when_the_caller_has_enough),
        TEST(survives_any_flipped_byte),
        TEST(survives_any_content_of_a_frame),
        TEST(matches_its_golden_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
