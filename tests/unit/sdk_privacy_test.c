/* Consent, deletion, and what may not be in free text. */
#include "src/clock.h"
#include "src/control/context.h"
#include "src/scrub.h"
#include "support/scrub_vectors.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull

static void assert_scrubs(const struct scrub_vector *v, size_t n)
{
    char text[256];

    for (size_t i = 0; i < n; i++) {
        fw_scrub(v[i].in, text, sizeof text);
        assert_string_equal(text, v[i].out);
    }
}
#define ASSERT_SCRUBS(list) assert_scrubs(list, sizeof(list) / sizeof *(list))

static void mail_addresses_go(void **state)
{
    (void)state;
    ASSERT_SCRUBS(scrub_mails);
}

static void numbers_of_seven_digits_and_more_go(void **state)
{
    (void)state;
    ASSERT_SCRUBS(scrub_numbers);
}

static void queries_of_urls_go(void **state)
{
    (void)state;
    ASSERT_SCRUBS(scrub_urls);
}

static void texts_of_any_length_are_cut_and_end(void **state)
{
    static char in[40000];
    char out[16];

    (void)state;
    for (size_t i = 0; i < sizeof in - 1; i++)
        in[i] = "?#@1 .:/a"[i % 9];
    fw_scrub(in, out, sizeof out);
    assert_in_range(strlen(out), 1, sizeof out - 1);
    fw_scrub(NULL, out, sizeof out);
    assert_string_equal(out, "");
    fw_scrub("abcdefghijklmnopqrstuvwxyz", out, sizeof out);
    assert_string_equal(out, "abcdefghijklmno");
    fw_scrub("abc \xff\xfe\x80 jane@x.example", out, sizeof out); /* no UTF-8 */
    assert_int_equal(strlen(out), 14);
}

/* Consent. */

struct game {
    char path[64];
    fw_options options;
    _Atomic unsigned requests, erasures;
    char erased[80];
};

static int exchange(void *user, fw_http_request *r)
{
    struct game *g = user;

    atomic_fetch_add(&g->requests, 1);
    r->status = 503;
    if (strstr(r->url, "/v1/erasures")) {
        snprintf(g->erased, sizeof g->erased, "%.*s", (int)r->body_len, (const char *)r->body);
        r->status = 202;
        atomic_fetch_add(&g->erasures, 1);
    }
    return 0;
}

static int set_up(void **state)
{
    struct game *g = calloc(1, sizeof *g);

    snprintf(g->path, sizeof g->path, "/tmp/sdk_privacy_XXXXXX");
    assert_non_null(mkdtemp(g->path));
    assert_int_equal(rmdir(g->path), 0);
    fw_options_init(&g->options);
    g->options.server_url = "http://server.example";
    g->options.api_key = "key";
    g->options.storage_path = g->path;
    g->options.transport = exchange;
    g->options.user = g;
    g->options.flags = FW_WAIT_FOR_CONSENT | FW_NO_STACKS | FW_NO_CRASHES;
    *state = g;
    return 0;
}

static unsigned files(const struct game *g)
{
    DIR *d = opendir(g->path);
    struct dirent *e;
    unsigned n = 0;

    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static int tear_down(void **state)
{
    struct game *g = *state;
    DIR *d = opendir(g->path);
    struct dirent *e;

    while (d && (e = readdir(d)))
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(g->path);
    free(g);
    return 0;
}

static void play(fw_context *fw)
{
    uint64_t t = fw_now_ns();

    fw_scene(fw, "battle", "frost", NULL, 0);
    fw_step(fw, "step");
    fw_position(fw, 1, 2);
    fw_feedback(fw, "lag", "text");
    fw_low_memory(fw);
    fw_gpu_time(fw, 5);
    fw_target(fw, 16667, 60000);
    for (int i = 0; i < 50; i++)
        fw_frame_at(fw, t += MS);
}

static void nothing_happens_before_consent(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);
    char id[33];

    assert_non_null(fw);
    play(fw);
    fw_background(fw);
    fw_foreground(fw);
    fw_session_id(fw, id);
    assert_string_equal(id, "");
    assert_int_equal(access(g->path, F_OK), -1); /* not even the folder */
    assert_int_equal(atomic_load(&fw->hook.ring.head), 0);
    assert_int_equal(atomic_load(&fw->events.reserved), 0);
    fw_consent(fw, 0);
    fw_delete_data(fw);
    fw_reset_install_id(fw);
    assert_int_equal(access(g->path, F_OK), -1);
    fw_stop(fw);
    assert_int_equal(g->requests, 0);
}

static void the_session_begins_with_consent_and_texts_need_not_outlive_the_start(void **state)
{
    struct game *g = *state;
    char *path = strdup(g->path), id[33];

    g->options.storage_path = path;
    fw_context *fw = fw_start(&g->options);
    memset(path, 'x', strlen(path));
    free(path);
    fw_consent(fw, 1);
    fw_consent(fw, 1); /* once is enough */
    fw_session_id(fw, id);
    assert_int_equal(strlen(id), 32);
    play(fw);
    fw_stop(fw);
    assert_in_range(files(g), 2, 5); /* the install id, the session, its summary */
}

/* Standard input is not ours to close, nor is any other descriptor. */
static void a_session_leaves_the_descriptors_as_they_were(void **state)
{
    struct game *g = *state;
    int first = dup(0), after;

    close(first);
    fw_context *fw = fw_start(&g->options);
    fw_consent(fw, 1);
    fw_consent(fw, 0);
    fw_consent(fw, 1);
    fw_stop(fw);
    assert_true(fcntl(0, F_GETFD) >= 0);
    after = dup(0);
    close(after);
    assert_int_equal(after, first);
}

static void a_withdrawal_leaves_nothing_behind(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);

    fw_consent(fw, 1);
    play(fw);
    fw_consent(fw, 0);
    assert_int_equal(files(g), 0);
    play(fw);
    fw_stop(fw);
    assert_int_equal(files(g), 0);
}

static void a_reset_begins_a_session_of_another_install(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);
    char before[33], after[33], install[FW_INSTALL_BYTES];

    fw_consent(fw, 1);
    play(fw);
    fw_session_id(fw, before);
    memcpy(install, fw->install, sizeof install);
    fw_reset_install_id(fw);
    fw_session_id(fw, after);
    assert_string_not_equal(before, after);
    assert_string_not_equal(fw->install, install);
    play(fw);
    fw_stop(fw);

    DIR *d = opendir(g->path);
    struct dirent *e;
    while ((e = readdir(d)))
        assert_int_not_equal(strncmp(e->d_name, before, 32), 0);
    closedir(d);
}

static void the_server_is_asked_to_forget_now_or_at_a_later_launch(void **state)
{
    struct game *g = *state;
    char install[FW_INSTALL_BYTES], body[80];
    fw_context *fw;

    g->options.flags |= FW_NO_UPLOAD; /* the network is not there */
    fw = fw_start(&g->options);
    fw_consent(fw, 1);
    memcpy(install, fw->install, sizeof install);
    play(fw);
    fw_delete_data(fw);
    assert_int_equal(files(g), 1); /* the request alone */
    fw_stop(fw);

    g->options.flags &= ~FW_NO_UPLOAD;
    g->options.flags |= FW_UPLOAD_AT_STOP;
    fw = fw_start(&g->options); /* waits for consent; the promise is kept all the same */
    fw_stop(fw);
    assert_int_equal(g->erasures, 1);
    snprintf(body, sizeof body, "{\"install\":\"%s\"}", install);
    assert_string_equal(g->erased, body);
    assert_int_equal(g->requests, 1);
    assert_int_equal(files(g), 0);
}

static void *chatter(void *user)
{
    fw_context *fw = user;

    for (int i = 0; i < 20000; i++) {
        fw_step(fw, "step");
        fw_background(fw);
        fw_foreground(fw);
        fw_gpu_time(fw, 3);
    }
    return NULL;
}

static void calls_from_any_thread_may_meet_a_change_of_consent(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);
    pthread_t thread[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, chatter, fw);
    for (int i = 0; i < 10; i++) {
        fw_consent(fw, 1);
        fw_reset_install_id(fw);
        fw_consent(fw, 0);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    fw_stop(fw);
    assert_int_equal(files(g), 0);
}

#define GAME_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mail_addresses_go),
        cmocka_unit_test(numbers_of_seven_digits_and_more_go),
        cmocka_unit_test(queries_of_urls_go),
        cmocka_unit_test(texts_of_any_length_are_cut_and_end),
        GAME_TEST(nothing_happens_before_consent),
        GAME_TEST(the_session_begins_with_consent_and_texts_need_not_outlive_the_start),
        GAME_TEST(a_session_leaves_the_descriptors_as_they_were),
        GAME_TEST(a_withdrawal_leaves_nothing_behind),
        GAME_TEST(a_reset_begins_a_session_of_another_install),
        GAME_TEST(the_server_is_asked_to_forget_now_or_at_a_later_launch),
        GAME_TEST(calls_from_any_thread_may_meet_a_change_of_consent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
