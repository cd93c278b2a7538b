/* Oracles: protobuf-c's generated reader, protoc --decode, zstd, and FIPS 180-4's vectors. */
#include "wire/session_writer.h"
#include "wire/sha256.h"
#include "wire/writer.h"

#include "session.pb-c.h"

#include <zstd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct fw_buf out;
    Framewatch__SessionLog *log;
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof *fx);

    fw_buf_init(&fx->out, 1 << 20);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    if (fx->log)
        framewatch__session_log__free_unpacked(fx->log, NULL);
    fw_buf_fini(&fx->out);
    free(fx);
    return 0;
}

/* The packets as protobuf-c reads them; the only body a test wants is the last. */
static const Framewatch__Packet *decoded(struct fixture *fx, size_t want)
{
    if (fx->log)
        framewatch__session_log__free_unpacked(fx->log, NULL);
    fx->log = framewatch__session_log__unpack(NULL, fx->out.len, fx->out.at);
    assert_non_null(fx->log);
    assert_int_equal(fx->log->n_packet, want);
    return fx->log->packet[want - 1];
}

static void a_header_reads_back_field_by_field(void **state)
{
    struct fixture *fx = *state;
    const struct fw_wire_cluster clusters[] = {{4, 1800000}, {4, 2840000}};
    const char *evidence[] = {"debugger: TracerPid 12"};
    struct fw_wire_header h = {
        .session_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
        .part = 3,
        .part_start_us = 1234567890123,
        .app = "Demo",
        .version_name = "2.14.0",
        .version_code = 21400,
        .build_id = "abc",
        .sdk_version = "0.1.0",
        .platform = FW_PLATFORM_ANDROID,
        .wall_start_ms = -5,
        .manufacturer = "Acme",
        .model = "X1",
        .soc = "SM8550",
        .gpu = "Adreno",
        .os_version = "14",
        .clusters = clusters,
        .n_clusters = 2,
        .ram_mb = 8192,
        .screen_width_px = 1080,
        .screen_height_px = 2400,
        .refresh_millihertz = 120000,
        .debugger = true,
        .evidence = evidence,
        .n_evidence = 1,
    };

    assert_true(fw_wire_header(&fx->out, &h));

    const Framewatch__Header *got = decoded(fx, 1)->header;
    assert_non_null(got);
    assert_int_equal(got->session_id.len, 16);
    assert_memory_equal(got->session_id.data, h.session_id, 16);
    assert_int_equal(got->part, 3);
    assert_int_equal(got->part_start_us, 1234567890123);
    assert_string_equal(got->app, "Demo");
    assert_int_equal(got->platform, FRAMEWATCH__PLATFORM__PLATFORM_ANDROID);
    assert_int_equal(got->version_code, 21400);
    assert_true(got->wall_start_ms == -5);
    assert_int_equal(got->device->n_cluster, 2);
    assert_int_equal(got->device->cluster[1]->max_khz, 2840000);
    assert_string_equal(got->device->os_version, "14");
    assert_int_equal(got->device->refresh_millihertz, 120000);
    assert_true(got->environment->debugger);
    assert_false(got->environment->rooted);
    assert_string_equal(got->environment->evidence[0], "debugger: TracerPid 12");
}

static void frame_sums_stay_exact_to_ten_microseconds(void **state)
{
    struct fixture *fx = *state;
    uint32_t interval[5000];
    uint64_t sum_us = 0, sum_10us = 0;
    int64_t last = 0;

    for (size_t i = 0; i < 5000; i++)
        interval[i] = (uint32_t)(i % 97 == 0 ? 134217 : 16663 + i % 9);
    assert_true(fw_wire_frames(&fx->out, &(struct fw_wire_frames){.start_us = 77,
                                                                  .interval_us = interval,
                                                                  .n = 5000,
                                                                  .target_interval_us = 16667,
                                                                  .dropped = 2}));

    const Framewatch__Frames *got = decoded(fx, 1)->frames;
    assert_int_equal(got->start_us, 77);
    assert_int_equal(got->n_delta, 5000);
    assert_int_equal(got->dropped, 2);
    assert_false(got->has_refresh_millihertz);
    for (size_t i = 0; i < got->n_delta; i++) {
        last += got->delta[i];
        sum_10us += (uint64_t)last;
        sum_us += interval[i];
        assert_in_range(sum_10us * 10 + 5 - sum_us, 0, 10);
    }
}

static void what_was_not_measured_is_absent_and_zero_is_kept(void **state)
{
    struct fixture *fx = *state;
    struct fw_wire_hardware h;

    fw_wire_hardware_init(&h);
    h.t_us = 0;
    h.battery_millicelsius = -4500;
    h.swap_kb = 0;
    h.core_khz[0] = 0;
    h.core_khz[1] = 2841600;
    h.n_cores = 2;
    assert_true(fw_wire_hardware(&fx->out, &h));

    const Framewatch__Hardware *got = decoded(fx, 1)->hardware;
    assert_true(got->has_t_us && got->t_us == 0);
    assert_int_equal(got->battery_millicelsius, -4500);
    assert_true(got->has_swap_kb && got->swap_kb == 0);
    assert_false(got->has_pss_kb || got->has_skin_millicelsius || got->has_burst);
    assert_int_equal(got->n_core_khz, 2);
    assert_int_equal(got->core_khz[1], 2841600);
}

static void janks_carry_samples_stacks_and_hardware(void **state)
{
    struct fixture *fx = *state;
    struct fw_wire_hardware h;
    struct fw_wire_stack_frame frames[] = {
        {.module = 1, .offset = 0x1234}, {.text = "com.acme.A.b"}, {.offset = 0xdead}};

    fw_wire_hardware_init(&h);
    h.burst = true;
    h.t_us = 9;
    assert_true(fw_wire_module(&fx->out, &(struct fw_wire_module){.id = 1,
                                                                  .name = "libgame.so",
                                                                  .arch = "arm64",
                                                                  .debug_id = {0xab, 0xcd},
                                                                  .debug_id_len = 2,
                                                                  .load_address = 1ull << 40,
                                                                  .size = 4096}));
    assert_true(fw_wire_stack(
        &fx->out, &(struct fw_wire_stack){.id = 1, .frames = frames, .n = 3, .thread = "main"}));
    assert_true(fw_wire_jank(
        &fx->out, &(struct fw_wire_jank){
                      .start_us = 5,
                      .duration_us = 260000,
                      .level = fw_wire_jank_level(260000),
                      .samples = (struct fw_wire_stack_sample[]){{.t_us = 100, .stack = 1}},
                      .n_samples = 1,
                      .hardware = &h,
                      .n_hardware = 1}));

    const Framewatch__Jank *jank = decoded(fx, 3)->jank;
    const Framewatch__Stack *stack = fx->log->packet[1]->stack;
    assert_int_equal(jank->level, 2);
    assert_int_equal(jank->sample[0]->stack, 1);
    assert_true(jank->hardware[0]->burst);
    assert_int_equal(stack->n_frame, 3);
    assert_int_equal(stack->frame[0]->offset, 0x1234);
    assert_string_equal(stack->frame[1]->text, "com.acme.A.b");
    assert_false(stack->frame[1]->has_offset || stack->frame[2]->has_module);
    assert_int_equal(fx->log->packet[0]->module->load_address, 1ull << 40);
    assert_int_equal(fx->log->packet[0]->module->debug_id.len, 2);
}

static void jank_levels_begin_past_100_250_and_500_ms(void **state)
{
    (void)state;
    assert_int_equal(fw_wire_jank_level(100000), 0);
    assert_int_equal(fw_wire_jank_level(100001), 1);
    assert_int_equal(fw_wire_jank_level(250000), 1);
    assert_int_equal(fw_wire_jank_level(250001), 2);
    assert_int_equal(fw_wire_jank_level(500001), 3);
}

static void a_summary_reads_back(void **state)
{
    struct fixture *fx = *state;
    struct fw_wire_sketch sketch = {
        .bucket = (uint32_t[]){3, 141, 551}, .count = (uint64_t[]){7, 1ull << 33, 1}, .n = 3};
    struct fw_wire_scene_summary scene = {
        .mode = "battle", .map = "frost", .foreground_ms = 9, .janks = {1, 2, 3}, .sketch = sketch};

    assert_true(
        fw_wire_summary(&fx->out, &(struct fw_wire_summary){.foreground_ms = 10,
                                                            .frames = 600,
                                                            .janks = {4, 5, 6},
                                                            .sketch = sketch,
                                                            .scenes = &scene,
                                                            .n_scenes = 1,
                                                            .max_battery_millicelsius = 41000,
                                                            .peak_memory_kb = FW_ABSENT}));

    const Framewatch__Summary *got = decoded(fx, 1)->summary;
    assert_int_equal(got->severe_janks, 6);
    assert_int_equal(got->sketch->n_bucket_step, 3);
    assert_int_equal(got->sketch->bucket_step[1], 138);
    assert_int_equal(got->sketch->count[1], 1ull << 33);
    assert_int_equal(got->scene[0]->severe_janks, 3);
    assert_string_equal(got->scene[0]->map, "frost");
    assert_false(got->has_peak_memory_kb);
}

static void a_packet_that_does_not_fit_leaves_nothing_behind(void **state)
{
    struct fixture *fx = *state;
    unsigned char small[40];
    struct fw_buf out;

    for (size_t cap = 0; cap < sizeof small; cap++) {
        fw_buf_over(&out, small, cap);
        bool whole = fw_wire_step(&out, 5, "open door");
        bool again = fw_wire_scene(&out, 6, "a-long-mode-name", "a-long-map-name", NULL, 0);

        assert_false(out.failed);
        assert_true(whole || !out.len);
        fx->log = framewatch__session_log__unpack(NULL, out.len, out.at);
        assert_non_null(fx->log);
        assert_int_equal(fx->log->n_packet, (size_t)whole + again);
        framewatch__session_log__free_unpacked(fx->log, NULL);
        fx->log = NULL;
    }
}

static void texts_are_cut_between_characters_and_made_valid(void **state)
{
    struct fixture *fx = *state;
    char text[100] = {0};

    memset(text, 'a', 63);
    memcpy(text + 63, "\xe7\x8e\xa9z", 4); /* would end at byte 66 */
    assert_true(fw_wire_step(&fx->out, 1, text));
    assert_int_equal(strlen(decoded(fx, 1)->step->name), 63);

    assert_true(fw_wire_step(&fx->out, 1, "ok\xff\xc0\xaf\xed\xa0\x80\xf5\xe7\x8e\xa9"));
    assert_string_equal(decoded(fx, 2)->step->name, "ok???????\xe7\x8e\xa9");
}

static void protoc_reads_every_kind(void **state)
{
    struct fixture *fx = *state;
    struct fw_wire_self_report report = {
        .t_us = 3,
        .off = &(struct fw_wire_collector_off){"thermal", "permission denied", 3},
        .n_off = 1};
    char file[] = "/tmp/sdk_wire_XXXXXX", command[512], text[4096];
    int fd = mkstemp(file);

    assert_true(fd >= 0);
    assert_true(fw_wire_lifecycle(&fx->out, 1, FW_LIFE_SUSPENDED, 3000));
    assert_true(fw_wire_position(&fx->out, 1, 1.5f, -2.25f));
    assert_true(fw_wire_feedback(&fx->out, 1, "lag", "it lags"));
    assert_true(fw_wire_crash(&fx->out, &(struct fw_wire_crash){.signal = 11, .reason = "x"}));
    assert_true(fw_wire_self_report(&fx->out, &report));
    assert_true(fw_wire_end(&fx->out, 8, FW_END_RECOVERED));
    assert_int_equal(write(fd, fx->out.at, fx->out.len), fx->out.len);
    close(fd);
    snprintf(command, sizeof command,
             "protoc --proto_path=%s/client-stub/wire --decode=framewatch.SessionLog session.proto "
             "< %s",
             FW_SOURCE_DIR, file);

    FILE *p = popen(command, "r");
    size_t n = fread(text, 1, sizeof text - 1, p);
    text[n] = 0;
    assert_int_equal(pclose(p), 0);
    unlink(file);
    assert_non_null(strstr(text, "kind: SUSPENDED"));
    assert_non_null(strstr(text, "duration_ms: 3000"));
    assert_non_null(strstr(text, "x: 1.5\n    y: -2.25"));
    assert_non_null(strstr(text, "reason: \"permission denied\""));
    assert_non_null(strstr(text, "reason: RECOVERED"));
}

static void a_frame_of_zstd_holds_the_bytes(void **state)
{
    struct fixture *fx = *state;
    enum { N = 100000 };
    unsigned char *raw = malloc(N), *back = malloc(N);
    struct fw_compressor *c = fw_compressor_new(N);

    for (size_t i = 0; i < N; i++)
        raw[i] = (unsigned char)(i * i >> 7);
    assert_true(fw_compress(c, raw, N, &fx->out));
    assert_true(fw_compress(c, raw, 10, &fx->out));
    assert_false(fw_compress(c, raw, N + 1, &fx->out));

    size_t first = ZSTD_findFrameCompressedSize(fx->out.at, fx->out.len);
    assert_int_equal(ZSTD_decompress(back, N, fx->out.at, first), N);
    assert_memory_equal(raw, back, N);
    assert_int_equal(ZSTD_decompress(back, N, fx->out.at + first, fx->out.len - first), 10);
    assert_in_range(fw_compressor_memory(c), 1, 1 << 20);
    fw_compressor_free(c);
    free(raw);
    free(back);
}

static void hex(const unsigned char *bytes, char out[65])
{
    for (int i = 0; i < 32; i++)
        snprintf(out + i * 2, 3, "%02x", bytes[i]);
}

static void sha256_gives_the_standards_digests(void **state)
{
    (void)state;
    unsigned char digest[32];
    char text[65];
    char *million = malloc(1000000);

    fw_sha256("abc", 3, digest);
    hex(digest, text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    fw_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, digest);
    hex(digest, text);
    assert_string_equal(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(million, 'a', 1000000);
    fw_sha256(million, 1000000, digest);
    hex(digest, text);
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void the_sessions_group_is_its_installs(void **state)
{
    (void)state;
    unsigned char id[16], hash[32];

    memset(id, 0xff, sizeof id);
    fw_sha256("install-7", 9, hash);
    fw_wire_session_id(id, "install-7");
    assert_int_equal(id[15] & 63, hash[0] % 64);
    assert_int_equal(id[15] >> 6, 3);
    assert_int_equal(id[14], 0xff);
}

#define WIRE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(a_header_reads_back_field_by_field),
        WIRE_TEST(frame_sums_stay_exact_to_ten_microseconds),
        WIRE_TEST(what_was_not_measured_is_absent_and_zero_is_kept),
        WIRE_TEST(janks_carry_samples_stacks_and_hardware),
        WIRE_TEST(jank_levels_begin_past_100_250_and_500_ms),
        WIRE_TEST(a_summary_reads_back),
        WIRE_TEST(a_packet_that_does_not_fit_leaves_nothing_behind),
        WIRE_TEST(texts_are_cut_between_characters_and_made_valid),
        WIRE_TEST(protoc_reads_every_kind),
        WIRE_TEST(a_frame_of_zstd_holds_the_bytes),
        WIRE_TEST(sha256_gives_the_standards_digests),
        WIRE_TEST(the_sessions_group_is_its_installs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
