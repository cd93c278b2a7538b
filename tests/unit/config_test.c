/* The table of settings: sources, their order, limits, and that the documentation says the same. */
#include "server/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *no_env[] = {NULL};

static bool load(struct config *c, char **env, struct err *err, const char *arg)
{
    char *argv[] = {(char *)arg, NULL};
    bool help;

    return config_load(c, arg ? 1 : 0, argv, env, &help, err);
}

static void defaults_are_within_their_limits(void **state)
{
    struct config *c = calloc(1, sizeof *c);
    struct err err = {0};

    (void)state;
    config_default(c);
#define GROUP(title)
#define TEXT(name, otherwise, help)                                                                \
    assert_true(config_set(c, #name, otherwise, "the default of " #name, &err));
#define CHOICE(name, otherwise, all, help) TEXT(name, otherwise, help)
#define INT(name, otherwise, min, max, help)                                                       \
    assert_true(c->name >= min && c->name <= max && c->name == otherwise);
    CONFIG_TABLE(GROUP, TEXT, INT, CHOICE)
#undef GROUP
#undef TEXT
#undef CHOICE
#undef INT
    free(c);
}

static void arguments_beat_the_environment_and_that_beats_the_file(void **state)
{
    struct config *c = calloc(1, sizeof *c);
    struct err err = {0};
    char path[] = "/tmp/framewatch-config-XXXXXX", arg[64];
    char *env[] = {(char *)"FW_IDLE_TIMEOUT_S=7", (char *)"FW_NOT_OURS=1", (char *)"PATH=/", NULL};
    int fd = mkstemp(path);
    static const char text[] = "# a comment\n\nidle_timeout_s = 5\n connections=99 \nrole=worker\n";
    bool help;

    (void)state;
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    snprintf(arg, sizeof arg, "--config=%s", path);

    char *argv[] = {arg, (char *)"--connections=50", NULL};

    assert_true(config_load(c, 2, argv, env, &help, &err));
    assert_int_equal(c->connections, 50);
    assert_int_equal(c->idle_timeout_s, 7);
    assert_string_equal(c->role, "worker");
    unlink(path);
    free(c);
}

static void dashes_and_underscores_are_the_same(void **state)
{
    struct config *c = calloc(1, sizeof *c);
    struct err err = {0};

    (void)state;
    assert_true(load(c, no_env, &err, "--idle-timeout-s=9"));
    assert_int_equal(c->idle_timeout_s, 9);
    assert_true(load(c, no_env, &err, "--idle_timeout-s=10"));
    assert_int_equal(c->idle_timeout_s, 10);
    free(c);
}

static void what_is_wrong_is_named_with_its_source(void **state)
{
    struct config *c = calloc(1, sizeof *c);
    struct err err = {0};
    static const char *const bad[] = {
        "--connections=many", "--connections=15",      "--connections=1000001", "--connections=",
        "--connections=16x",  "--role=boss",           "--no_such=1",           "--connections",
        "connections=20",     "--config=/no/such/file"};
    char *env[] = {(char *)"FW_ROLE=boss", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(load(c, no_env, &err, bad[i]));
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(strlen(err.text) > 0);
    }
    assert_false(load(c, env, &err, NULL));
    assert_non_null(strstr(err.text, "FW_ROLE"));
    free(c);
}

static void a_text_that_does_not_fit_is_refused(void **state)
{
    struct config *c = calloc(1, sizeof *c);
    struct err err = {0};
    char longer[CONFIG_TEXT_MAX + 1];

    (void)state;
    memset(longer, 'a', CONFIG_TEXT_MAX);
    longer[CONFIG_TEXT_MAX] = '\0';
    assert_false(config_set(c, "public_url", longer, "here", &err));
    assert_true(config_set(c, "public_url", longer + 1, "here", &err));
    free(c);
}

static char *whole_file(const char *path)
{
    FILE *f = fopen(path, "re");
    char *text = calloc(1, 256 * 1024);

    if (f) {
        (void)!fread(text, 1, 256 * 1024 - 1, f);
        fclose(f);
    }
    return text;
}

/* UPDATE_GOLDEN=1 writes the page anew. */
static void the_page_of_settings_is_the_table(void **state)
{
    static const char path[] = FW_SOURCE_DIR "/docs/configuration.md";
    struct buf b;

    (void)state;
    buf_init(&b, 256 * 1024);
    config_write_docs(&b);
    buf_byte(&b, '\0');
    assert_true(buf_ok(&b));
    if (getenv("UPDATE_GOLDEN")) {
        FILE *f = fopen(path, "we");

        assert_non_null(f);
        fputs((char *)b.at, f);
        fclose(f);
    }
    char *have = whole_file(path);

    assert_string_equal(have, (char *)b.at);
    free(have);
    buf_fini(&b);
}

static void help_names_every_setting(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 256 * 1024);
    config_write_help(&b);
    buf_byte(&b, '\0');
#define GROUP(title)
#define TEXT(name, otherwise, help) assert_non_null(strstr((char *)b.at, "--" #name "="));
#define CHOICE(name, otherwise, all, help) TEXT(name, otherwise, help)
#define INT(name, otherwise, min, max, help) TEXT(name, otherwise, help)
    CONFIG_TABLE(GROUP, TEXT, INT, CHOICE)
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_within_their_limits),
        cmocka_unit_test(arguments_beat_the_environment_and_that_beats_the_file),
        cmocka_unit_test(dashes_and_underscores_are_the_same),
        cmocka_unit_test(what_is_wrong_is_named_with_its_source),
        cmocka_unit_test(a_text_that_does_not_fit_is_refused),
        cmocka_unit_test(the_page_of_settings_is_the_table),
        cmocka_unit_test(help_names_every_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
