#include "base/digest.h"
#include "profile/part.h"
#include "support/session_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

static struct session_builder *b;
static struct arena *mem;
static struct part part;
static struct err err;

static int begin(void **state)
{
    (void)state;
    b = sb_new(0xa1b2c3);
    mem = arena_new((size_t)256 << 20);
    memset(&part, 0, sizeof part);
    memset(&err, 0, sizeof err);
    return mem ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    sb_free(b);
    arena_free(mem);
    return 0;
}

static bool decode_with(const struct part_limits *limits)
{
    size_t n;
    const unsigned char *bytes = sb_bytes(b, &n);

    return part_decode(bytes, n, limits, mem, &part, &err);
}

static void decode(void)
{
    if (!decode_with(&part_limits_default))
        fail_msg("%s", err.text);
}

static void reads_who_played_what_on_which_device(void **state)
{
    (void)state;
    b->environment = ENV_ROOTED | ENV_DEVELOPER_MODE;
    sb_part(b, 3, 90000000);
    decode();

    const struct part_header *h = &part.header;

    assert_memory_equal(h->session_id, b->session_id, SESSION_ID_BYTES);
    assert_int_equal(h->part, 3);
    assert_int_equal(h->part_start_us, 90000000);
    assert_int_equal(h->wall_start_ms, b->wall_start_ms);
    assert_string_equal(h->app, "game");
    assert_string_equal(h->platform, "android");
    assert_string_equal(h->version_name, "1.0.0");
    assert_int_equal(h->version_code, 100);
    assert_string_equal(h->build_id, "build-100");
    assert_string_equal(h->sdk_version, "0.1.0");
    assert_string_equal(h->manufacturer, "Maker");
    assert_string_equal(h->model, "Phone 1");
    assert_string_equal(h->soc, "SoC 9");
    assert_string_equal(h->gpu, "GPU 7");
    assert_string_equal(h->os_version, "14");
    assert_int_equal(h->ram_mb, 8192);
    assert_int_equal(h->screen_width_px, 2400);
    assert_int_equal(h->refresh_millihertz, 60000);
    assert_int_equal(h->n_clusters, 2);
    assert_int_equal(h->clusters[1].cores, 4);
    assert_int_equal(h->clusters[1].max_khz, 2400000);
    assert_int_equal(h->environment, ENV_ROOTED | ENV_DEVELOPER_MODE);
    assert_int_equal(h->n_evidence, 2);
    assert_string_equal(h->evidence[0], "rooted: /system/xbin/su");
}

static void a_header_of_almost_nothing_has_empty_texts(void **state)
{
    (void)state;
    b->app = b->version_name = b->build_id = b->sdk_version = NULL;
    b->manufacturer = b->model = b->soc = b->gpu = b->os_version = NULL;
    b->platform = "other";
    sb_part(b, 0, 0);
    decode();
    assert_string_equal(part.header.app, "");
    assert_string_equal(part.header.build_id, "");
    assert_string_equal(part.header.os_version, "");
    assert_string_equal(part.header.platform, "unknown");
}

static void reads_frames_as_their_intervals(void **state)
{
    (void)state;
    b->frames_dropped = 7;
    sb_part(b, 0, 0);
    sb_frames(b, 1234567, SB_INTERVALS(16660, 16670, 16680, 999990, 8330));
    decode();
    assert_int_equal(part.n_frames, 1);

    const struct part_frames *f = &part.frames[0];

    assert_int_equal(f->start_us, 1234567);
    assert_int_equal(f->n, 5);
    assert_int_equal(f->interval_10us[0], 1666);
    assert_int_equal(f->interval_10us[3], 99999);
    assert_int_equal(f->interval_10us[4], 833);
    assert_int_equal(f->target_interval_us, 16667);
    assert_int_equal(f->refresh_millihertz, 60000);
    assert_int_equal(f->dropped, 7);
}

static void frame_sums_below_zero_are_zero_and_those_too_large_saturate(void **state)
{
    const int32_t deltas[] = {100, -150, 20, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MIN};

    (void)state;
    sb_part(b, 0, 0);
    sb_deltas(b, 0, deltas, sizeof deltas / sizeof *deltas);
    decode();

    const uint32_t *got = part.frames[0].interval_10us;

    assert_int_equal(got[0], 100);
    assert_int_equal(got[1], 0);
    assert_int_equal(got[2], 0); /* 100 - 150 + 20 */
    assert_int_equal(got[3], 2147483617);
    assert_int_equal(got[4], 4294967264);
    assert_int_equal(got[5], UINT32_MAX);
    assert_int_equal(got[6], 4294967263);
}

static void deltas_may_be_unpacked_or_come_in_pieces(void **state)
{
    /* Frames { delta: 5 (unpacked), delta: [1, -1] (packed), start_us: 7, delta: [3] (packed) } */
    const unsigned char packet[] = {0x12, 0x0c, 0x10, 0x0a, 0x12, 0x02, 0x02,
                                    0x01, 0x08, 0x07, 0x12, 0x01, 0x06, 0x00};

    (void)state;
    sb_part(b, 0, 0);
    sb_raw_packet(b, packet, sizeof packet - 1);
    decode();
    assert_true(part.damaged); /* its length speaks of one byte more */
    sb_part(b, 0, 0);

    unsigned char whole[sizeof packet - 1];

    memcpy(whole, packet, sizeof whole);
    whole[1] = 0x0b;
    sb_raw_packet(b, whole, sizeof whole);
    decode();
    assert_false(part.damaged);
    assert_int_equal(part.frames[0].start_us, 7);
    assert_int_equal(part.frames[0].n, 4);
    assert_int_equal(part.frames[0].interval_10us[0], 5);
    assert_int_equal(part.frames[0].interval_10us[1], 6);
    assert_int_equal(part.frames[0].interval_10us[2], 5);
    assert_int_equal(part.frames[0].interval_10us[3], 8);
}

static void reads_every_hardware_value_that_came_and_no_other(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_hardware(b, 42,
                SB_VALUES({HW_battery_millicelsius, -5000}, {HW_pss_kb, -1}, {HW_charging, 1},
                          {HW_thermal_status, 0}),
                SB_CORES(0, 1800000, 99000000));
    sb_hardware(b, 43, SB_NONE, SB_NONE);
    decode();
    assert_int_equal(part.n_hardware, 2);

    const struct hardware_sample *h = &part.hardware[0];

    assert_int_equal(h->t_us, 42);
    assert_int_equal(h->present, 1u << HW_battery_millicelsius | 1u << HW_pss_kb |
                                     1u << HW_charging | 1u << HW_thermal_status);
    assert_int_equal(h->value[HW_battery_millicelsius], -5000);
    assert_int_equal(h->value[HW_pss_kb], INT64_MAX); /* 2^64 - 1, saturated */
    assert_int_equal(h->value[HW_charging], 1);
    assert_int_equal(h->n_cores, 3);
    assert_int_equal(h->core_khz[2], 99000000);
    assert_int_equal(part.hardware[1].present, 0);
    assert_int_equal(part.hardware[1].n_cores, 0);
}

static void every_field_of_the_hardware_table_arrives(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    for (unsigned f = 0; f < HW_COUNT; f++)
        sb_hardware(b, f, SB_VALUES({(enum hardware_field)f, 1}), SB_NONE);
    decode();
    for (unsigned f = 0; f < HW_COUNT; f++) {
        assert_int_equal(part.hardware[f].present, 1u << f);
        assert_int_equal(part.hardware[f].value[f], 1);
    }
}

static void reads_scenes_steps_positions_lifecycle_feedback_and_the_end(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_scene_with(b, 1, "battle", "frost", SB_ATTRIBUTES({"players", 12}, {"bots", -3}));
    sb_step(b, 2, "open_inventory");
    sb_position(b, 3, 1.5f, -2.5f);
    sb_lifecycle(b, 4, LIFE_SUSPENDED, 5000);
    sb_feedback(b, 5, "lag", "it stutters");
    sb_self_report(b, 6, 777);
    sb_end(b, 7, END_RECOVERED);
    decode();
    assert_string_equal(part.scenes[0].mode, "battle");
    assert_string_equal(part.scenes[0].map, "frost");
    assert_int_equal(part.scenes[0].n_attributes, 2);
    assert_string_equal(part.scenes[0].attributes[1].key, "bots");
    assert_int_equal(part.scenes[0].attributes[1].value, -3);
    assert_string_equal(part.steps[0].name, "open_inventory");
    assert_true(part.positions[0].x == 1.5f && part.positions[0].y == -2.5f);
    assert_int_equal(part.lifecycle[0].kind, LIFE_SUSPENDED);
    assert_int_equal(part.lifecycle[0].duration_ms, 5000);
    assert_string_equal(part.feedback[0].category, "lag");
    assert_string_equal(part.feedback[0].text, "it stutters");
    assert_int_equal(part.self_reports[0].cpu_us, 777);
    assert_string_equal(part.self_reports[0].off[0].name, "thermal");
    assert_int_equal(part.self_reports[0].off[0].failures, 3);
    assert_true(part.ended);
    assert_int_equal(part.end_us, 7);
    assert_int_equal(part.end_reason, END_RECOVERED);
    assert_int_equal(part.packets, 8);
}

static void enum_values_of_a_newer_writer_are_unknown(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_lifecycle(b, 4, (enum lifecycle_kind)77, 0);
    sb_end(b, 7, (enum end_reason)77);
    decode();
    assert_int_equal(part.lifecycle[0].kind, LIFE_UNKNOWN);
    assert_int_equal(part.end_reason, END_UNKNOWN);
    assert_true(part.ended);
}

static void janks_and_crashes_find_stacks_that_come_later(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_jank_hardware(b, 1100, SB_VALUES({HW_thread_count, 90}), SB_NONE);
    sb_jank(b, 1000, 150000, 1, SB_SAMPLES({101000, 2}, {102000, 1}, {103000, 99}));
    sb_crash(b, 2000, 11, "SIGSEGV", 2);
    sb_crash(b, 3000, 6, "SIGABRT", 99);

    uint32_t game = sb_module(b, "libgame.so", "00112233", 0x7000, 0x1000);

    sb_text_stack(b, "main", "Game.tick", "Game.main", NULL);
    sb_stack(b, "render", SB_FRAMES({game, 0x123, NULL}, {7, 0x99, NULL}, {0, 0, "Lua.call"}));
    decode();
    assert_int_equal(part.n_janks, 1);
    assert_int_equal(part.janks[0].n_samples, 2); /* nothing is stack 99 */

    const struct part_stack *s = part.janks[0].samples[0].stack;

    assert_string_equal(s->thread, "render");
    assert_int_equal(s->n, 3);
    assert_string_equal(s->frames[0].module->name, "libgame.so");
    assert_memory_equal(s->frames[0].module->debug_id, "\x00\x11\x22\x33", 4);
    assert_int_equal(s->frames[0].module->base, 0x7000);
    assert_int_equal(s->frames[0].offset, 0x123);
    assert_null(s->frames[1].module); /* nothing is module 7 */
    assert_int_equal(s->frames[1].offset, 0x99);
    assert_string_equal(s->frames[2].text, "Lua.call");
    assert_string_equal(part.janks[0].samples[1].stack->frames[1].text, "Game.main");
    assert_int_equal(part.n_hardware, 1);
    assert_true(part.hardware[0].burst);
    assert_ptr_equal(part.crashes[0].stack, s);
    assert_string_equal(part.crashes[0].reason, "SIGSEGV");
    assert_null(part.crashes[1].stack);
}

static void equal_stacks_of_any_process_hash_equal(void **state)
{
    unsigned char hash[16];

    (void)state;
    sb_part(b, 0, 0);
    sb_stack(b, "main", SB_FRAMES({1, 0x10, NULL}, {0, 0x7fff1234, NULL}, {0, 0, "A.b"}));
    sb_module(b, "libgame.so", "aabb", 0x7000, 0x1000);
    decode();
    memcpy(hash, part.stacks[0].hash, sizeof hash);

    /* Another process: other ids, another load address, another address outside all modules. */
    sb_part(b, 9, 0);
    sb_module(b, "libc.so", "cc", 0x100, 0x10);
    sb_module(b, "libgame.so", "aabb", 0x9000, 0x1000);
    sb_text_stack(b, "main", "other", NULL);
    sb_stack(b, "worker", SB_FRAMES({2, 0x10, NULL}, {0, 0x55551234, NULL}, {0, 0, "A.b"}));
    sb_stack(b, "main", SB_FRAMES({2, 0x11, NULL}, {0, 0x7fff1234, NULL}, {0, 0, "A.b"}));
    decode();
    assert_memory_equal(part.stacks[1].hash, hash, sizeof hash);
    assert_memory_not_equal(part.stacks[0].hash, hash, sizeof hash);
    assert_memory_not_equal(part.stacks[2].hash, hash, sizeof hash);
}

static void of_two_stacks_with_one_id_the_first_counts(void **state)
{
    /* Stack { id: 1 frame { text: "later" } } */
    const unsigned char later[] = "\x52\x0b\x08\x01\x12\x07\x1a\x05later";

    (void)state;
    sb_part(b, 0, 0);
    sb_text_stack(b, "main", "first", NULL);
    sb_raw_packet(b, later, sizeof later - 1);
    sb_jank(b, 0, 150000, 1, SB_SAMPLES({1, 1}));
    decode();
    assert_int_equal(part.n_stacks, 2);
    assert_string_equal(part.janks[0].samples[0].stack->frames[0].text, "first");
}

static void control_characters_leave_every_text_and_are_counted(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_step(b, 1, "a\033[2Jb\177c\302\233d\n\te");
    sb_scene(b, 2, "battle\001", "fr\303\266st");
    sb_feedback(b, 3, "l\nag", "two\nlines\tand\a a bell");
    sb_text_stack(b, "ma\rin", "Game\b.tick", NULL);
    decode();
    assert_string_equal(part.steps[0].name, "a?[2Jb?c??d  e");
    assert_string_equal(part.scenes[0].mode, "battle?");
    assert_string_equal(part.scenes[0].map, "fr\303\266st");
    assert_string_equal(part.feedback[0].category, "l ag");
    assert_string_equal(part.feedback[0].text, "two\nlines\tand? a bell");
    assert_string_equal(part.stacks[0].thread, "ma?in");
    assert_string_equal(part.stacks[0].frames[0].text, "Game?.tick");
    assert_int_equal(part.tamed_texts, 5);
}

static void a_jank_has_only_so_many_stacks(void **state)
{
    struct sb_sample sample[40];

    (void)state;
    sb_part(b, 0, 0);
    for (size_t i = 0; i < 40; i++)
        sample[i] = (struct sb_sample){1000 + i, 0};
    sample[0].stack = sb_text_stack(b, "main", "Game.tick", NULL);
    for (size_t i = 1; i < 40; i++)
        sample[i].stack = sample[0].stack;
    sb_jank(b, 500, 300000, 2, sample, 40);
    sb_jank(b, 900000, 300000, 2, sample, 16);
    decode();
    assert_int_equal(part.janks[0].n_samples, 16);
    assert_int_equal(part.janks[1].n_samples, 16);
    assert_int_equal(part.samples_over_limit, 24);
}

static void texts_are_clean_utf8_within_their_limit(void **state)
{
    char longer[200];

    (void)state;
    memset(longer, 'x', sizeof longer);
    memcpy(longer + 63, "\xc3\xa9", 2); /* e acute across the 64th byte */
    longer[199] = '\0';
    sb_part(b, 0, 0);
    sb_step(b, 0, longer);
    sb_step(b, 0, "caf\xc3\xa9 \xff\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe4\xb8\xad");
    decode();
    assert_int_equal(strlen(part.steps[0].name), 63);
    assert_string_equal(part.steps[1].name, "caf\xc3\xa9 ??? ??? ???? \xe4\xb8\xad");
}

static void unknown_packets_and_fields_are_skipped(void **state)
{
    const unsigned char packet[] = {0xfa, 0x07, 0x03, 'n', 'e', 'w'}; /* Packet field 127 */
    const unsigned char log[] = {0x18, 0x05};                         /* SessionLog field 3 */
    /* Step { t_us: 9, field 100: 64 bits, field 101: 32 bits, field 102: "ab" } */
    const unsigned char step[] = {0x3a, 0x17, 0x08, 0x09, 0xa1, 0x06, 1, 2,    3,    4, 5,   6,  7,
                                  8,    0xad, 0x06, 1,    2,    3,    4, 0xb2, 0x06, 2, 'a', 'b'};

    (void)state;
    sb_raw_log(b, log, sizeof log);
    sb_part(b, 0, 0);
    sb_raw_packet(b, packet, sizeof packet);
    sb_raw_packet(b, "", 0);
    sb_raw_log(b, log, sizeof log);
    sb_raw_packet(b, step, sizeof step);
    sb_step(b, 10, "last");
    decode();
    assert_false(part.damaged);
    assert_int_equal(part.unknown_packets, 2);
    assert_int_equal(part.packets, 5);
    assert_int_equal(part.n_steps, 2);
    assert_int_equal(part.steps[0].t_us, 9);
    assert_string_equal(part.steps[1].name, "last");
}

static void malformed_bytes_end_the_reading_where_they_are(void **state)
{
    const unsigned char bad[] = {0x3a, 0x02, 0x12, 0x09}; /* Step whose name passes its end */

    (void)state;
    sb_part(b, 0, 0);
    sb_step(b, 1, "first");

    size_t whole = sb_slice(b);

    sb_step(b, 2, "second");
    sb_raw_packet(b, bad, sizeof bad);
    sb_step(b, 3, "never");
    sb_slice(b);
    sb_step(b, 4, "never");
    decode();
    assert_true(part.damaged);
    assert_true(part.truncated);
    assert_int_equal(part.n_steps, 2);
    assert_string_equal(part.steps[1].name, "second");
    assert_int_equal(part.whole_bytes, whole);
    assert_int_equal(part.zstd_frames, 1);
}

static void a_file_cut_anywhere_reads_its_whole_zstd_frames(void **state)
{
    size_t slice[5], frames[5], n;
    struct arena *own = arena_new(64 << 20);

    (void)state;
    sb_part(b, 0, 0);
    for (unsigned i = 0; i < 5; i++) {
        sb_steady(b, i * 1000000, 20 + i, 16670);
        sb_step(b, i, "step");
        frames[i] = (i ? frames[i - 1] : 0) + 20 + i;
        slice[i] = sb_slice(b);
    }

    const unsigned char *bytes = sb_bytes(b, &n);

    for (size_t cut = 0; cut <= n; cut++) {
        unsigned char *file = malloc(cut + 1); /* so that a sanitizer sees any read past it */
        struct part got;
        size_t whole = 0, sum = 0;

        memcpy(file, bytes, cut);
        while (whole < 5 && slice[whole] <= cut)
            whole++;
        arena_reset(own);

        bool ok = part_decode(file, cut, &part_limits_default, own, &got, &err);

        assert_int_equal(ok, whole > 0);
        if (ok) {
            for (size_t i = 0; i < got.n_frames; i++)
                sum += got.frames[i].n;
            assert_int_equal(got.zstd_frames, whole);
            assert_int_equal(got.whole_bytes, slice[whole - 1]);
            assert_int_equal(got.n_steps, whole);
            assert_int_equal(sum, frames[whole - 1]);
            assert_int_equal(got.truncated, cut != slice[whole - 1]);
            assert_false(got.damaged);
        } else {
            assert_int_equal(err.code, ERR_INVALID);
        }
        free(file);
    }
    arena_free(own);
}

static void bytes_after_the_frames_are_damage_and_what_came_before_stands(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_step(b, 1, "first");

    size_t whole = sb_slice(b);

    sb_raw_file(b, "this is no zstd frame", 21);
    decode();
    assert_true(part.damaged);
    assert_int_equal(part.n_steps, 1);
    assert_int_equal(part.whole_bytes, whole);
}

static void flipped_bits_never_read_as_whole(void **state)
{
    size_t n;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 3, 1);

    const unsigned char *bytes = sb_bytes(b, &n);
    unsigned char *file = malloc(n);
    struct arena *own = arena_new(64 << 20);

    for (size_t bit = 0; bit < n * 8; bit += 7) {
        struct part got = {.packets = 12345};

        memcpy(file, bytes, n);
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
        arena_reset(own);
        if (!part_decode(file, n, &part_limits_default, own, &got, &err)) {
            assert_true(err.code == ERR_INVALID || err.code == ERR_TOO_BIG);
            assert_int_equal(got.packets, 12345); /* outputs are untouched on failure */
        }
    }
    arena_free(own);
    free(file);
}

static void skippable_frames_are_passed_over(void **state)
{
    const unsigned char skippable[] = {0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};

    (void)state;
    sb_part(b, 0, 0);
    sb_raw_file(b, skippable, sizeof skippable);
    sb_step(b, 1, "after");
    decode();
    assert_false(part.damaged);
    assert_int_equal(part.n_steps, 1);
}

static void assert_refused(enum err_code code, const char *text)
{
    assert_int_equal(err.code, code);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, err.text);
}

static void what_is_no_session_file_is_refused(void **state)
{
    static const unsigned char zip[] = "PK\x03\x04 and so on";
    const unsigned char other_id[] = {0x0a, 0x04, 0x0a,
                                      0x02, 1,    2}; /* Header { session_id: 2 bytes } */

    (void)state;
    assert_false(part_decode(zip, sizeof zip, &part_limits_default, mem, &part, &err));
    assert_refused(ERR_INVALID, "no zstd frame");
    assert_false(part_decode(zip, 0, &part_limits_default, mem, &part, &err));
    assert_refused(ERR_INVALID, "not a session file");

    sb_step(b, 1, "no header before it");
    assert_false(decode_with(&part_limits_default));
    assert_refused(ERR_INVALID, "header");

    sb_part(b, 0, 0);
    struct session_builder *c = sb_new(1);
    sb_raw_packet(c, other_id, sizeof other_id);

    size_t n;
    const unsigned char *bytes = sb_bytes(c, &n);

    assert_false(part_decode(bytes, n, &part_limits_default, mem, &part, &err));
    assert_refused(ERR_INVALID, "session id");
    sb_free(c);
}

static void a_second_header_adds_nothing_and_one_of_another_session_is_damage(void **state)
{
    /* Packet { Header { session_id: 16 bytes, part: 9 } } */
    unsigned char header[2 + 2 + SESSION_ID_BYTES + 2] = {0x0a, 20, 0x0a, SESSION_ID_BYTES};

    (void)state;
    memcpy(header + 4, b->session_id, SESSION_ID_BYTES);
    header[4 + SESSION_ID_BYTES] = 0x10;
    header[5 + SESSION_ID_BYTES] = 9;
    sb_part(b, 2, 0);
    sb_raw_packet(b, header, sizeof header);
    sb_step(b, 1, "after");
    decode();
    assert_int_equal(part.header.part, 2);
    assert_int_equal(part.n_steps, 1);
    assert_false(part.damaged);
    header[4] ^= 1;
    sb_raw_packet(b, header, sizeof header);
    sb_step(b, 2, "never");
    sb_slice(b);
    decode();
    assert_true(part.damaged);
    assert_int_equal(part.n_steps, 1);
}

/* A field of `n` bytes, nearly all zeros, that no reader knows, as one zstd frame; without its size
 * told where `told` is false. */
static void put_zeros(size_t n, bool told)
{
    unsigned char *zeros = calloc(n, 1), *out = malloc(ZSTD_compressBound(n));
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    ZSTD_inBuffer in = {zeros, n, 0};
    ZSTD_outBuffer to = {out, ZSTD_compressBound(n), 0};

    zeros[0] = 15 << 3 | 2;
    for (size_t i = 0; i < 5; i++)
        zeros[1 + i] = (unsigned char)((n - 6) >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0);
    ZSTD_CCtx_setParameter(ctx, ZSTD_c_contentSizeFlag, told);
    assert_int_equal(ZSTD_compressStream2(ctx, &to, &in, ZSTD_e_end), 0);
    sb_raw_file(b, out, to.pos);
    ZSTD_freeCCtx(ctx);
    free(zeros);
    free(out);
}

static void bombs_are_refused(void **state)
{
    struct part_limits limits = part_limits_default;

    (void)state;
    for (int told = 0; told < 2; told++) {
        sb_part(b, 0, 0);
        put_zeros((size_t)32 << 20, told);
        assert_false(decode_with(&part_limits_default)); /* ratio */
        assert_refused(ERR_TOO_BIG, "zstd frame 1: decompresses past the limit");

        limits.ratio = 1000000;
        limits.decompressed_bytes = (size_t)31 << 20;
        assert_false(decode_with(&limits)); /* size */
        assert_refused(ERR_TOO_BIG, "zstd frame 1: decompresses past the limit");
    }
}

static void many_small_frames_may_not_pass_the_total(void **state)
{
    struct part_limits limits = part_limits_default;

    (void)state;
    sb_part(b, 0, 0);
    sb_slice(b);
    for (int i = 0; i < 20; i++)
        put_zeros(1000, i & 1);
    limits.decompressed_bytes = 15000;
    assert_false(decode_with(&limits));
    assert_refused(ERR_TOO_BIG, "decompresses past the limit");
    limits.decompressed_bytes = 25000;
    assert_true(decode_with(&limits));
}

static void frames_without_a_told_size_read_like_others(void **state)
{
    size_t n;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 29, 3);

    const unsigned char *bytes = sb_bytes(b, &n);
    size_t size = (size_t)ZSTD_getFrameContentSize(bytes, n);
    unsigned char *raw = malloc(size), *out = malloc(ZSTD_compressBound(size));
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    ZSTD_inBuffer in = {raw, size, 0};
    ZSTD_outBuffer to = {out, ZSTD_compressBound(size), 0};

    assert_int_equal(ZSTD_decompress(raw, size, bytes, n), size);
    decode();

    size_t packets = part.packets;

    ZSTD_CCtx_setParameter(ctx, ZSTD_c_contentSizeFlag, 0);
    ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    while (in.pos < size) { /* as a writer that flushes now and then */
        ZSTD_inBuffer piece = {raw, in.pos + 700 < size ? in.pos + 700 : size, in.pos};

        assert_int_equal(ZSTD_compressStream2(ctx, &to, &piece, ZSTD_e_flush), 0);
        in.pos = piece.pos;
    }
    assert_int_equal(ZSTD_compressStream2(ctx, &to, &in, ZSTD_e_end), 0);
    assert_true(part_decode(out, to.pos, &part_limits_default, mem, &part, &err));
    assert_int_equal(part.packets, packets);
    ZSTD_freeCCtx(ctx);
    free(raw);
    free(out);
}

static void too_many_of_a_kind_is_refused(void **state)
{
    static const struct sb_stack_frame deep[300] = {{0}};
    struct part_limits limits = part_limits_default;

    (void)state;
    sb_part(b, 0, 0);
    sb_steady(b, 0, 100, 16670);
    sb_steady(b, 2000000, 100, 16670);
    limits.frames = 199;
    assert_false(decode_with(&limits));
    assert_refused(ERR_TOO_BIG, "more than 199 frames");
    limits.frames = 200;
    assert_true(decode_with(&limits));

    limits.packets = 2;
    assert_false(decode_with(&limits));
    assert_refused(ERR_TOO_BIG, "zstd frame 1, packet 2: more than 2 packets");
    limits = part_limits_default;

    sb_part(b, 0, 0);
    for (int i = 0; i < 5; i++)
        sb_module(b, "m", "00", 0, 0);
    limits.modules = 4;
    assert_false(decode_with(&limits));
    assert_refused(ERR_TOO_BIG, "more than 4 modules");

    sb_part(b, 0, 0);
    sb_stack(b, "main", deep, 257);
    assert_false(decode_with(&part_limits_default));
    assert_refused(ERR_TOO_BIG, "more than 256 frames in a stack");
}

static void a_full_arena_is_told_and_nothing_else_happens(void **state)
{
    struct arena *small = arena_new(20000);
    size_t n;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 30, 1);

    const unsigned char *bytes = sb_bytes(b, &n);

    assert_false(part_decode(bytes, n, &part_limits_default, small, &part, &err));
    assert_refused(ERR_TOO_BIG, "memory");
    arena_free(small);
}

static void any_failed_allocation_is_told(void **state)
{
    size_t n, nth = 1;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 13, 1);
    sb_jank_hardware(b, 5, SB_VALUES({HW_pss_kb, 3}), SB_NONE);
    sb_jank(b, 0, 150000, 1, SB_SAMPLES({1, 1}));
    sb_crash(b, 1, 11, "x", 1);
    sb_feedback(b, 1, "a", "b");
    sb_self_report(b, 1, 1);

    struct sketch sketch = {.count = {[100] = 3}};
    struct part_scene_summary scene = {"battle", "frost", 1, {0}, &sketch};

    sb_summary(b, &(struct part_summary){.sketch = &sketch, .scenes = &scene, .n_scenes = 1});
    sb_end(b, 2, END_STOPPED);

    const unsigned char *bytes = sb_bytes(b, &n);

    for (;; nth++) {
        arena_reset(mem);
        arena_fail_at(mem, nth);
        err.code = ERR_NONE;
        if (part_decode(bytes, n, &part_limits_default, mem, &part, &err))
            break;
        assert_int_equal(err.code, ERR_TOO_BIG);
    }
    assert_true(nth > 100);
    assert_non_null(part.summary);
    assert_true(part.ended);
}

static void reads_a_summary_and_leaves_out_a_sketch_it_cannot_know(void **state)
{
    /* Summary { sketch { layout: 2 } }, { layout: 1, step 552, count 1 }, { layout: 1, one step
     * only } */
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {{"\x7a\x04\x4a\x02\x08\x02", 6},
               {"\x7a\x0b\x4a\x09\x08\x01\x12\x02\xa8\x04\x1a\x01\x01", 13},
               {"\x7a\x07\x4a\x05\x08\x01\x12\x01\x05", 9}};
    struct sketch sketch = {.count = {[0] = 1, [139] = 500, [551] = 2}};
    struct part_scene_summary scene = {"battle", "frost", 61000, {3, 2, 1}, &sketch};
    struct part_summary summary = {.foreground_ms = 120000,
                                   .frames = 503,
                                   .frame_sum_us = 120000000,
                                   .frame_max_us = 600000,
                                   .jank_ms = 1500,
                                   .janks = {4, 3, 2},
                                   .sketch = &sketch,
                                   .scenes = &scene,
                                   .n_scenes = 1,
                                   .max_battery_millicelsius = 39000,
                                   .peak_memory_kb = 900000};

    (void)state;
    sb_part(b, 0, 0);
    sb_summary(b, &summary);
    decode();

    const struct part_summary *s = part.summary;

    assert_int_equal(s->frames, 503);
    assert_int_equal(s->janks[2], 2);
    assert_memory_equal(s->sketch, &sketch, sizeof sketch);
    assert_string_equal(s->scenes[0].map, "frost");
    assert_int_equal(s->scenes[0].janks[0], 3);
    assert_memory_equal(s->scenes[0].sketch, &sketch, sizeof sketch);
    assert_int_equal(s->max_battery_millicelsius, 39000);
    for (size_t i = 0; i < 3; i++) {
        sb_part(b, 0, 0);
        sb_raw_packet(b, bad[i].bytes, bad[i].n);
        decode();
        assert_false(part.damaged);
        assert_non_null(part.summary);
        assert_null(part.summary->sketch);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(reads_who_played_what_on_which_device),
        T(a_header_of_almost_nothing_has_empty_texts),
        T(reads_frames_as_their_intervals),
        T(frame_sums_below_zero_are_zero_and_those_too_large_saturate),
        T(deltas_may_be_unpacked_or_come_in_pieces),
        T(reads_every_hardware_value_that_came_and_no_other),
        T(every_field_of_the_hardware_table_arrives),
        T(reads_scenes_steps_positions_lifecycle_feedback_and_the_end),
        T(enum_values_of_a_newer_writer_are_unknown),
        T(janks_and_crashes_find_stacks_that_come_later),
        T(equal_stacks_of_any_process_hash_equal),
        T(of_two_stacks_with_one_id_the_first_counts),
        T(control_characters_leave_every_text_and_are_counted),
        T(a_jank_has_only_so_many_stacks),
        T(texts_are_clean_utf8_within_their_limit),
        T(unknown_packets_and_fields_are_skipped),
        T(malformed_bytes_end_the_reading_where_they_are),
        T(a_file_cut_anywhere_reads_its_whole_zstd_frames),
        T(bytes_after_the_frames_are_damage_and_what_came_before_stands),
        T(flipped_bits_never_read_as_whole),
        T(skippable_frames_are_passed_over),
        T(what_is_no_session_file_is_refused),
        T(a_second_header_adds_nothing_and_one_of_another_session_is_damage),
        T(bombs_are_refused),
        T(many_small_frames_may_not_pass_the_total),
        T(frames_without_a_told_size_read_like_others),
        T(too_many_of_a_kind_is_refused),
        T(a_full_arena_is_told_and_nothing_else_happens),
        T(any_failed_allocation_is_told),
        T(reads_a_summary_and_leaves_out_a_sketch_it_cannot_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
