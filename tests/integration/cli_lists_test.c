/* framewatch build, job, channels, deliveries and rules: the real tool as a process, against a real
 * server. */
#include "support/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define TOOL FW_BINARY_DIR "/server/framewatch"
#define CHANNEL                                                                                    \
    "{\"name\":\"%s\",\"kind\":\"webhook\",\"secrets\":{\"url\":\"http://127.0.0.1:9/hook\","      \
    "\"key\":\"0123456789abcdef\"}}"

static char out[1 << 20]; /* of the last run: stdout and stderr */

/* Runs the tool as an admin, with `input`, and expects the exit code. */
static void run(struct api *api, int want, const char *input, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static void run(struct api *api, int want, const char *input, const char *fmt, ...)
{
    char command[1024], line[4096];
    va_list ap;
    size_t len;
    FILE *f;
    int code;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    setenv("FW_URL", api->base, 1);
    setenv("FW_KEY", api->key[0][ROLE_ADMIN], 1);
    setenv("INPUT", input, 1);
    assert_true(snprintf(line, sizeof line, "printf %%s \"$INPUT\" | %s %s 2>&1", TOOL, command) <
                (int)sizeof line);
    f = popen(line, "r");
    assert_non_null(f);
    len = fread(out, 1, sizeof out - 1, f);
    out[len] = '\0';
    code = WEXITSTATUS(pclose(f));
    if (code != want)
        fail_msg("%s: exit code %d, not %d: %.2000s", command, code, want, out);
}

static void says(const char *text)
{
    if (!strstr(out, text))
        fail_msg("'%s' is not in: %.2000s", text, out);
}

static size_t lines(void)
{
    size_t n = 0;

    for (const char *at = out; (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

static json_t *printed(void)
{
    json_t *tree = json_loads(out, 0, NULL);

    if (!tree)
        fail_msg("no JSON: %.2000s", out);
    return tree;
}

static void builds_are_registered_and_listed(void **state)
{
    struct api *api = *state;
    json_t *tree;

    run(api, 0, "", "build register --platform linux --version 1.2 --version-code 12 a1b2c3d4");
    tree = printed();
    assert_string_equal(api_text(tree, "version_name"), "1.2");
    json_decref(tree);
    run(api, 0, "", "build list");
    says("ID       PLATFORM VERSION");
    says("1.2                            12  yes");
    assert_int_equal(lines(), 2);
    run(api, 2, "", "build register --platform linux");
    says("--platform, --version and --version-code are required");
    run(api, 1, "", "build register --platform plan9 --version 1 --version-code 1");
    says("platform");
}

static void more_channels_than_a_page_holds_are_listed(void **state)
{
    struct api *api = *state;
    const int n = 203; /* a page has 200 */

    run(api, 0, "", "channels list");
    says("ID     NAME                 KIND");
    assert_int_equal(lines(), 1);
    pg_i64(
        api->conninfo,
        "WITH made AS (INSERT INTO channel (app_id, name, kind, takes, rate_per_min) "
        "SELECT %lld, 'c' || i, 'webhook', 'alert', 60 FROM generate_series(1, %d) i RETURNING 1) "
        "SELECT count(*) FROM made",
        (long long)api->app[0], n);
    run(api, 0, "", "channels list");
    assert_int_equal(lines(), n + 1);
}

static void a_channel_is_made_shown_changed_and_removed(void **state)
{
    struct api *api = *state;
    char input[512];
    long long id;
    json_t *tree;

    snprintf(input, sizeof input, CHANNEL, "hook");
    run(api, 0, input, "channels create -");
    tree = printed();
    id = (long long)api_i64(tree, "id");
    json_decref(tree);
    run(api, 0, "", "channels show %lld", id);
    says("\"name\": \"hook\"");
    assert_null(strstr(out, "0123456789abcdef"));
    snprintf(input, sizeof input, CHANNEL, "other");
    run(api, 0, input, "channels replace %lld -", id);
    run(api, 0, "", "channels list");
    says("other                webhook        enabled");
    run(api, 1, "{", "channels create -");
    says("-: line 1:");
    run(api, 0, "", "channels delete %lld", id);
    run(api, 1, "", "channels show %lld", id);
    says("404");
}

static void what_is_no_id_is_told_without_asking(void **state)
{
    static const struct {
        const char *command, *says;
    } cases[] = {
        {"channels show x", "`channels list` prints it"},
        {"channels test ''", "`channels list` prints it"},
        {"deliveries show 1/../2", "`deliveries list` prints it"},
        {"deliveries retry 12345678901234567890", "`deliveries list` prints it"},
        {"job retry -- -1", "`job list` prints it"},
    };
    struct api *api = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run(api, 1, "", "%s", cases[i].command);
        says(cases[i].says);
    }
}

static void jobs_and_deliveries_are_listed_by_state(void **state)
{
    struct api *api = *state;

    pg_i64(api->conninfo,
           "WITH made AS (INSERT INTO job (kind, shard, ref, app_id, day, state, last_error) "
           "SELECT 'part', 0, gen_random_uuid(), %lld, '2024-05-06', 'dead', 'why ' || i "
           "FROM generate_series(1, 201) i RETURNING 1) SELECT count(*) FROM made",
           (long long)api->app[0]);
    run(api, 0, "", "job list");
    assert_int_equal(lines(), 201);
    says("why 201");
    run(api, 0, "", "job list --state ready");
    assert_int_equal(lines(), 0);
    run(api, 2, "", "job list --state odd");
    run(api, 0, "", "deliveries list --all --state dead");
    assert_int_equal(lines(), 0);
    run(api, 1, "", "deliveries show 7");
    says("404");
    run(api, 2, "", "deliveries list --state 'a&b'");
}

static void rules_are_shown_set_and_restored(void **state)
{
    struct api *api = *state;
    int64_t before;
    json_t *tree;

    run(api, 0, "", "rules show");
    tree = printed();
    before = api_i64(tree, "version");
    json_decref(tree);
    run(api, 0, "{\"depth\":2}", "rules set - --note 'two frames'");
    tree = printed();
    assert_int_equal(api_i64(tree, "version"), before + 1);
    assert_int_equal(api_i64(tree, "depth"), 2);
    json_decref(tree);
    run(api, 0, "{\"depth\":4}", "rules preview -");
    run(api, 0, "", "rules show --versions");
    says("two frames");
    run(api, 0, "", "rules restore 0");
    tree = printed();
    assert_int_equal(api_i64(tree, "version"), before + 2);
    json_decref(tree);
    run(api, 2, "", "rules restore x");
    run(api, 1, "[", "rules set -");
    says("-: line 1:");
}

static void without_a_server_it_says_so(void **state)
{
    struct api *api = *state;

    run(api, 1, "", "channels list --server http://127.0.0.1:1");
    run(api, 1, "", "rules show --server http://127.0.0.1:1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(builds_are_registered_and_listed),
        TEST(more_channels_than_a_page_holds_are_listed),
        TEST(a_channel_is_made_shown_changed_and_removed),
        TEST(what_is_no_id_is_told_without_asking),
        TEST(jobs_and_deliveries_are_listed_by_state),
        TEST(rules_are_shown_set_and_restored),
        TEST(without_a_server_it_says_so),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
