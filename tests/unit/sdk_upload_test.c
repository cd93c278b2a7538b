/* When the uploader sends what, with the clock, the network and the server in the test's hand. */
#include "src/control/summary.h"
#include "src/report/uploader.h"

#include "stats/sketch.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define S 1000000000ull
#define DAY_S 86400ull
#define MAX_FILES 64
#define SESSION "00112233445566778899aabbccddeeff"
#define OTHER "ffeeddccbbaa99887766554433221100"

static uint64_t clock_ns;     /* of the phone, monotonic */
static int64_t wall_start_ms; /* its wall clock at 0 */

static uint64_t now(void)
{
    return clock_ns;
}

static int64_t wall(void)
{
    return wall_start_ms + (int64_t)(clock_ns / 1000000);
}

struct taken {
    char id[40];
    size_t length, have;
};

struct phone {
    char path[64];
    struct fw_log log;
    struct fw_store store;
    struct fw_uploader u;
    struct fw_hook hook;
    _Atomic uint64_t jank_ns;
    fw_network network;
    /* the server */
    bool down;
    int status; /* instead of an answer; 0 none */
    const char *retry_after, *config;
    struct taken taken[MAX_FILES];
    size_t n_taken;
    unsigned exchanges, configs, erasures;
    char erased[64];
    int configured;
    bool enabled;
    uint64_t body_bytes;
    bool lose_answer; /* of the next PATCH */
};

static const char *header(const fw_http_request *r, const char *name)
{
    size_t n = strlen(name);

    for (const char *const *h = r->headers; *h; h++)
        if (!strncasecmp(*h, name, n) && (*h)[n] == ':')
            return *h + n + 2;
    return NULL;
}

static void tell_offset(fw_http_request *r, const struct taken *t)
{
    char text[32];

    snprintf(text, sizeof text, "%zu", t->have);
    r->on_header(r->sink, "Upload-Offset", text);
}

static void create(struct phone *p, fw_http_request *r)
{
    const char *id = strstr(header(r, "Upload-Metadata"), "fileid ") + 7;
    char location[32];
    size_t i = 0;

    while (i < p->n_taken && strncmp(p->taken[i].id, id, 30) != 0)
        i++;
    assert_true(i < MAX_FILES);
    if (i == p->n_taken) {
        struct taken *t = &p->taken[p->n_taken++];

        snprintf(t->id, sizeof t->id, "%.30s", id);
        t->length = (size_t)strtoul(header(r, "Upload-Length"), NULL, 10);
        t->have = r->body_len;
    }
    snprintf(location, sizeof location, "/v1/uploads/%zu", i);
    r->on_header(r->sink, "Location", location);
    tell_offset(r, &p->taken[i]);
    r->status = 201;
}

static int patch(struct phone *p, fw_http_request *r)
{
    struct taken *t = &p->taken[strtoul(strrchr(r->url, '/') + 1, NULL, 10) % MAX_FILES];
    size_t offset = (size_t)strtoul(header(r, "Upload-Offset"), NULL, 10);

    if (offset != t->have) {
        r->status = 409;
        return 0;
    }
    t->have += r->body_len;
    if (p->lose_answer) {
        p->lose_answer = false;
        return -1;
    }
    tell_offset(r, t);
    r->status = 204;
    return 0;
}

static int exchange(void *user, fw_http_request *r)
{
    struct phone *p = user;

    p->exchanges++;
    p->body_bytes += r->body_len;
    if (p->down)
        return -1;
    if (p->status) {
        r->status = p->status;
        if (p->retry_after)
            r->on_header(r->sink, "Retry-After", p->retry_after);
        return 0;
    }
    if (strstr(r->url, "/v1/config")) {
        p->configs++;
        r->status = p->config ? 200 : 304;
        r->on_header(r->sink, "ETag", "\"1\"");
        if (p->config)
            r->on_body(r->sink, p->config, strlen(p->config));
    } else if (strstr(r->url, "/v1/erasures")) {
        p->erasures++;
        snprintf(p->erased, sizeof p->erased, "%.*s", (int)r->body_len, (const char *)r->body);
        r->status = 202;
    } else if (!strcmp(r->method, "POST")) {
        create(p, r);
    } else if (!strcmp(r->method, "HEAD")) {
        tell_offset(r, &p->taken[strtoul(strrchr(r->url, '/') + 1, NULL, 10) % MAX_FILES]);
        r->status = 200;
    } else {
        return patch(p, r);
    }
    return 0;
}

static fw_network network(void *user)
{
    return ((struct phone *)user)->network;
}

static void on_config(void *user, const struct fw_config *config)
{
    struct phone *p = user;

    p->configured++;
    p->enabled = config->enabled;
}

static void launch(struct phone *p)
{
    p->u = (struct fw_uploader){.server = {.url = "http://h",
                                           .api_key = "k",
                                           .transport = {exchange, p},
                                           .timeout_ms = 1000},
                                .store = &p->store,
                                .log = &p->log,
                                .install = "00000000000000000000000000000000",
                                .network = network,
                                .network_user = p,
                                .on_config = on_config,
                                .on_config_user = p,
                                .session = SESSION,
                                .now_ns = now,
                                .wall_ms = wall};
    fw_config_init(&p->u.base);
    assert_true(fw_uploader_prepare(&p->u));
    p->u.tus.random = 12345;
}

static int set_up(void **state)
{
    struct phone *p = calloc(1, sizeof *p);

    clock_ns = 100 * S;
    wall_start_ms = 20000 * (int64_t)DAY_S * 1000;
    snprintf(p->path, sizeof p->path, "/tmp/sdk_upload_XXXXXX");
    assert_non_null(mkdtemp(p->path));
    assert_true(fw_store_open(&p->store, p->path, &p->log));
    p->network = FW_NETWORK_WIFI;
    launch(p);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct phone *p = *state;
    DIR *d = opendir(p->path);
    struct dirent *e;

    fw_uploader_fini(&p->u);
    while ((e = readdir(d)))
        unlinkat(p->store.dir, e->d_name, 0);
    closedir(d);
    rmdir(p->path);
    fw_store_close(&p->store);
    free(p);
    return 0;
}

static void given(struct phone *p, const char *name, size_t bytes)
{
    int fd = openat(p->store.dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    close(fd);
}

static bool exists(struct phone *p, const char *name)
{
    return faccessat(p->store.dir, name, F_OK, 0) == 0;
}

/* Lets time run until `until` as the uploader's thread would; the number of wake-ups. */
static unsigned run_until(struct phone *p, uint64_t until)
{
    unsigned wakes = 0;
    bool idle;

    while (clock_ns < until && wakes < 100000) {
        uint64_t next = fw_uploader_work(&p->u, &idle);

        if (!next)
            continue;
        clock_ns = next < until ? next : until;
        wakes++;
    }
    return wakes;
}

static void run_for(struct phone *p, uint64_t seconds)
{
    run_until(p, clock_ns + seconds * S);
}

static void wifi_carries_everything_and_the_summary_goes_with_the_file(void **state)
{
    struct phone *p = *state;

    given(p, OTHER "-0000.fws", 300000);
    given(p, OTHER "-5000.sum", 900);
    run_for(p, 10);
    assert_int_equal(p->n_taken, 1);
    assert_int_equal(p->taken[0].have, 300000);
    assert_false(exists(p, OTHER "-0000.fws") || exists(p, OTHER "-5000.sum"));
}

static void a_metered_network_carries_summaries_alone(void **state)
{
    struct phone *p = *state;

    p->network = FW_NETWORK_CELLULAR;
    given(p, OTHER "-0000.fws", 300000);
    given(p, OTHER "-5000.sum", 900);
    run_for(p, 600);
    assert_int_equal(p->n_taken, 1);
    assert_int_equal(p->taken[0].have, 900);
    assert_true(exists(p, OTHER "-0000.fws"));
    assert_false(exists(p, OTHER "-5000.sum"));
    p->network = FW_NETWORK_WIFI;
    run_for(p, 120);
    assert_int_equal(p->n_taken, 2);
    assert_false(exists(p, OTHER "-0000.fws"));
}

static void a_phone_whose_game_tells_no_network_keeps_to_wifi_only_and_the_caps(void **state)
{
    struct phone *p = *state;

    p->u.network = NULL;
    p->u.untold = FW_NETWORK_UNKNOWN;
    given(p, OTHER "-0000.fws", 300000);
    given(p, OTHER "-5000.sum", 900);
    run_for(p, 600);
    assert_int_equal(p->n_taken, 1);
    assert_int_equal(p->taken[0].have, 900);
    assert_true(exists(p, OTHER "-0000.fws"));

    given(p, OTHER "-5002.sum", 900);
    p->config = "{\"version\":1,\"config_period_s\":60,"
                "\"upload\":{\"wifi_only\":false,\"daily_bytes\":0,\"monthly_bytes\":0}}";
    p->u.next_config_ns = 0;
    run_for(p, 600);
    assert_int_equal(p->n_taken, 1);
    assert_true(exists(p, OTHER "-0000.fws") && exists(p, OTHER "-5002.sum"));
}

static void while_charging_a_metered_network_carries_files_too(void **state)
{
    struct phone *p = *state;

    p->network = FW_NETWORK_CELLULAR;
    given(p, OTHER "-0000.fws", 300000);
    run_for(p, 600);
    assert_int_equal(p->n_taken, 0);
    fw_uploader_charging(&p->u, true);
    run_for(p, 120);
    assert_int_equal(p->taken[0].have, 300000);

    given(p, OTHER "-0001.fws", 300000); /* what was said ten minutes ago is not known any more */
    clock_ns += 3600 * S;
    run_for(p, 600);
    assert_int_equal(p->n_taken, 1);
}

static void off_line_nothing_is_tried(void **state)
{
    struct phone *p = *state;

    p->network = FW_NETWORK_NONE;
    given(p, OTHER "-0000.fws", 1000);
    unsigned wakes = run_until(p, clock_ns + 3600 * S);
    assert_int_equal(p->exchanges, 0);
    assert_in_range(wakes, 1, 61);
}

static void a_spent_day_waits_for_the_next_and_a_spent_month_too(void **state)
{
    struct phone *p = *state;
    char name[64];

    p->network = FW_NETWORK_CELLULAR;
    p->config = "{\"version\":1,\"upload\":{\"wifi_only\":false,\"daily_bytes\":400000,"
                "\"monthly_bytes\":900000}}";
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, OTHER "-%04d.fws", i);
        given(p, name, 250000);
    }
    run_for(p, 3600);
    assert_int_equal(p->n_taken, 1);
    fw_uploader_fini(&p->u);
    launch(p); /* the budget is that of the device, not of the launch */
    run_for(p, 7200);
    assert_int_equal(p->n_taken, 1);
    run_for(p, DAY_S);
    assert_int_equal(p->n_taken, 2);
    run_for(p, DAY_S);
    assert_int_equal(p->n_taken, 3); /* 20002 days after 1970 is the 6th of the month */
    run_for(p, 5 * DAY_S);
    assert_int_equal(p->n_taken, 3);
    run_for(p, 25 * DAY_S);
    assert_int_equal(p->n_taken, 5);
}

static void a_server_that_is_gone_for_days_is_asked_seldom_and_then_gets_all(void **state)
{
    struct phone *p = *state;

    given(p, OTHER "-0000.fws", 600000);
    p->down = true;
    run_for(p, 3 * DAY_S);
    assert_in_range(p->exchanges, 3 * 24, 3 * (24 * 60 / 5) + 3 * 24 * 4 + 20);
    p->down = false;
    run_for(p, 3600);
    assert_int_equal(p->taken[0].have, 600000);
    assert_false(exists(p, OTHER "-0000.fws"));
}

static void retry_after_is_obeyed(void **state)
{
    struct phone *p = *state;

    given(p, OTHER "-0000.fws", 1000);
    run_for(p, 0);
    p->u.next_config_ns = clock_ns + DAY_S * S;
    p->status = 503;
    p->retry_after = "120";
    run_for(p, 1);
    unsigned before = p->exchanges;
    assert_int_equal(before, 1);
    p->status = 0;
    run_for(p, 118);
    assert_int_equal(p->exchanges, before);
    run_for(p, 120);
    assert_int_equal(p->taken[0].have, 1000);
}

static void the_configuration_too_is_not_asked_for_before_retry_after(void **state)
{
    struct phone *p = *state;

    p->status = 503;
    p->retry_after = "1200";
    run_for(p, 1);
    assert_int_equal(p->exchanges, 1);
    p->status = 0;
    run_for(p, 1190); /* it would be asked after 300 s */
    assert_int_equal(p->configs, 0);
    run_for(p, 20);
    assert_int_equal(p->configs, 1);

    p->config = "{\"version\":1,\"config_period_s\":60}";
    p->u.next_config_ns = clock_ns;
    run_for(p, 1);
    p->status = 429;
    p->retry_after = "99999999"; /* for no longer than an hour */
    run_for(p, 120);
    unsigned before = p->configs;
    p->status = 0;
    run_for(p, 3400);
    assert_int_equal(p->configs, before);
    run_for(p, 200);
    assert_true(p->configs > before);
}

static void chunks_that_arrived_are_not_sent_again_after_a_restart(void **state)
{
    struct phone *p = *state;

    given(p, OTHER "-0000.fws", 3 * FW_TUS_CHUNK_BYTES);
    p->u.next_config_ns = clock_ns + DAY_S * S;
    bool idle;
    fw_uploader_work(&p->u, &idle);
    fw_uploader_work(&p->u, &idle);
    assert_int_equal(p->taken[0].have, 2 * FW_TUS_CHUNK_BYTES);
    fw_uploader_fini(&p->u); /* killed */
    launch(p);
    run_for(p, 60);
    assert_int_equal(p->n_taken, 1);
    assert_int_equal(p->taken[0].have, 3 * FW_TUS_CHUNK_BYTES);
    assert_int_equal(p->body_bytes, 3 * FW_TUS_CHUNK_BYTES);
}

static void a_lost_answer_and_a_conflict_are_resynchronised(void **state)
{
    struct phone *p = *state;

    given(p, OTHER "-0000.fws", 3 * FW_TUS_CHUNK_BYTES);
    p->u.next_config_ns = clock_ns + DAY_S * S;
    bool idle;
    fw_uploader_work(&p->u, &idle);
    p->lose_answer = true;
    run_for(p, 600);
    assert_int_equal(p->taken[0].have, 3 * FW_TUS_CHUNK_BYTES);
    assert_int_equal(p->body_bytes, 3 * FW_TUS_CHUNK_BYTES);

    given(p, OTHER "-0001.fws", 3 * FW_TUS_CHUNK_BYTES);
    fw_uploader_work(&p->u, &idle);
    p->taken[1].have += FW_TUS_CHUNK_BYTES; /* another sender of the same file was here */
    run_for(p, 600);
    assert_int_equal(p->taken[1].have, 3 * FW_TUS_CHUNK_BYTES);
}

static void a_game_that_is_played_is_left_in_peace(void **state)
{
    struct phone *p = *state;

    p->u.hook = &p->hook;
    p->u.jank_ns = &p->jank_ns;
    given(p, OTHER "-0000.fws", 5 * FW_TUS_CHUNK_BYTES);
    p->u.next_config_ns = clock_ns + DAY_S * S;
    run_until(p, clock_ns + 2 * S + S / 2);
    assert_int_equal(p->exchanges, 3); /* one a second */
    atomic_store(&p->jank_ns, clock_ns);
    run_until(p, clock_ns + 2 * S - 1);
    assert_int_equal(p->exchanges, 3);
    fw_hook_block(&p->hook, FW_BLOCK_BACKGROUND);
    run_until(p, clock_ns + 1);
    assert_int_equal(p->taken[0].have, 5 * FW_TUS_CHUNK_BYTES); /* at once */
}

static void the_running_sessions_summary_waits_until_the_game_rests(void **state)
{
    struct phone *p = *state;

    p->u.hook = &p->hook;
    p->network = FW_NETWORK_CELLULAR;
    given(p, SESSION "-5000.sum", 900);
    given(p, OTHER "-5002.sum", 700);
    run_for(p, 600);
    assert_int_equal(p->n_taken, 1);
    assert_int_equal(p->taken[0].length, 700);
    fw_hook_block(&p->hook, FW_BLOCK_BACKGROUND);
    run_for(p, 120);
    assert_int_equal(p->n_taken, 2);
}

static void the_kill_switch_acts_within_one_config_period(void **state)
{
    struct phone *p = *state;

    p->config = "{\"version\":1,\"config_period_s\":600}";
    run_for(p, 60);
    assert_int_equal(p->configured, 1);
    assert_true(p->enabled);
    p->config = "{\"version\":2,\"enabled\":false}";
    run_for(p, 600);
    assert_int_equal(p->configured, 2);
    assert_false(p->enabled);
    given(p, OTHER "-0000.fws", 1000);
    run_for(p, 3000);
    assert_int_equal(p->n_taken, 0);
}

static void an_erasure_is_asked_for_until_the_server_has_taken_it(void **state)
{
    struct phone *p = *state;
    char left[FW_INSTALL_BYTES];

    fw_store_forget(&p->store, "0123456789abcdef0123456789abcdef");
    fw_store_forget(&p->store, "fedcba9876543210fedcba9876543210");
    p->down = true;
    run_for(p, 60);
    p->down = false;
    p->u.erase_only = true;
    run_for(p, 3600);
    assert_int_equal(p->erasures, 2);
    assert_string_equal(p->erased, "{\"install\":\"fedcba9876543210fedcba9876543210\"}");
    assert_false(fw_store_first_forgotten(&p->store, left));
    p->exchanges = 0;
    given(p, OTHER "-0000.fws", 1000);
    run_for(p, 3600);
    assert_int_equal(p->exchanges, 0); /* without consent that was all */
}

/* Summaries. */

static void buckets_are_the_servers(void **state)
{
    static struct fw_summary s;

    (void)state;
    fw_summary_init(&s);
    for (unsigned k = 0; k < FW_SKETCH_BUCKETS; k++)
        assert_int_equal(s.bound_us[k], sketch_bound_us(k));
    for (uint32_t t = 100; t < 70000000; t += 1 + t / 97)
        assert_int_equal(fw_summary_bucket(&s, t), sketch_bucket(t));
}

/* Hours in as many scenes as there are room for and more. */
static void a_summary_fits_two_kilobytes_however_long_the_session(void **state)
{
    static struct fw_summary s;
    struct fw_compressor *zstd = fw_compressor_new(65536);
    unsigned char header[400], bytes[8192];
    char mode[32];
    struct fw_buf out;
    uint64_t t = 0;
    uint32_t x = 1;

    (void)state;
    for (size_t i = 0; i < sizeof header; i++)
        header[i] = (unsigned char)(x = x * 1664525u + 1013904223u) >> 3;
    fw_summary_init(&s);
    fw_buf_over(&out, bytes, sizeof bytes);
    assert_false(fw_summary_pack(&s, t, header, sizeof header, zstd, &out)); /* nothing to tell */
    fw_summary_foreground(&s, 0, true);
    for (int scene = 0; scene < 20; scene++) {
        snprintf(mode, sizeof mode, "mode %08x", x);
        fw_summary_scene(&s, t, mode, "map");
        for (int i = 0; i < 10000; i++) {
            uint32_t interval = 4000 + (x = x * 1664525u + 1013904223u) % 30000;

            fw_summary_frame(&s, i % 500 ? interval : 10 * interval);
            t += interval;
        }
    }
    fw_buf_reset(&out);
    assert_true(fw_summary_pack(&s, t, header, sizeof header, zstd, &out));
    assert_in_range(out.len, 800, FW_SUMMARY_BYTES);
    assert_int_equal(s.n_scenes, FW_SUMMARY_SCENES);
    assert_int_equal(s.whole.foreground_us, t);
    fw_compressor_free(zstd);
}

static void time_away_is_not_the_summarys(void **state)
{
    static struct fw_summary s;

    (void)state;
    fw_summary_init(&s);
    fw_summary_foreground(&s, 1000, true);
    fw_summary_scene(&s, 5000, "battle", "");
    fw_summary_foreground(&s, 9000, false);
    fw_summary_foreground(&s, 20000, true);
    fw_summary_scene(&s, 21000, "", "");
    fw_summary_foreground(&s, 30000, false);
    assert_int_equal(s.whole.foreground_us, 8000 + 10000);
    assert_int_equal(s.scene[0].tally.foreground_us, 4000 + 1000);
    fw_summary_frame(&s, 50);       /* below what a frame can be */
    fw_summary_frame(&s, 61000000); /* above */
    fw_summary_frame(&s, 260000);
    assert_int_equal(s.frames, 1);
    assert_int_equal(s.whole.janks[1], 1);
    assert_int_equal(s.jank_us, 260000);
}

#define PHONE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PHONE_TEST(wifi_carries_everything_and_the_summary_goes_with_the_file),
        PHONE_TEST(a_metered_network_carries_summaries_alone),
        PHONE_TEST(a_phone_whose_game_tells_no_network_keeps_to_wifi_only_and_the_caps),
        PHONE_TEST(while_charging_a_metered_network_carries_files_too),
        PHONE_TEST(off_line_nothing_is_tried),
        PHONE_TEST(a_spent_day_waits_for_the_next_and_a_spent_month_too),
        PHONE_TEST(a_server_that_is_gone_for_days_is_asked_seldom_and_then_gets_all),
        PHONE_TEST(retry_after_is_obeyed),
        PHONE_TEST(the_configuration_too_is_not_asked_for_before_retry_after),
        PHONE_TEST(chunks_that_arrived_are_not_sent_again_after_a_restart),
        PHONE_TEST(a_lost_answer_and_a_conflict_are_resynchronised),
        PHONE_TEST(a_game_that_is_played_is_left_in_peace),
        PHONE_TEST(the_running_sessions_summary_waits_until_the_game_rests),
        PHONE_TEST(the_kill_switch_acts_within_one_config_period),
        PHONE_TEST(an_erasure_is_asked_for_until_the_server_has_taken_it),
        cmocka_unit_test(buckets_are_the_servers),
        cmocka_unit_test(a_summary_fits_two_kilobytes_however_long_the_session),
        cmocka_unit_test(time_away_is_not_the_summarys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
