/* framewatch app, key, build and job: the real tool as a process, against a real database and
 * server. */
#include "support/api.h"

#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TOOL FW_BINARY_DIR "/server/framewatch"

static char out[65536]; /* of the last run: stdout and stderr */

/* Runs the tool with the database and server of the fixture; its exit code. */
static int run(struct api *api, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int run(struct api *api, const char *fmt, ...)
{
    char command[2048];
    va_list ap;
    int n = snprintf(command, sizeof command, "%s ", TOOL);

    va_start(ap, fmt);
    vsnprintf(command + n, sizeof command - (size_t)n, fmt, ap);
    va_end(ap);
    strncat(command, " 2>&1", sizeof command - strlen(command) - 1);
    setenv("FW_DB", api->conninfo, 1);
    setenv("FW_URL", api->base, 1);
    setenv("FW_KEY", api->key[0][ROLE_ADMIN], 1);

    FILE *f = popen(command, "r");
    size_t len = fread(out, 1, sizeof out - 1, f);

    out[len] = '\0';
    return WEXITSTATUS(pclose(f));
}

static void expect(int code, int want)
{
    if (code != want)
        fail_msg("exit code %d, not %d: %s", code, want, out);
}

/* The first size - 1 characters of the output, at most its first line. */
static void take_first(char *to, size_t size)
{
    size_t n = strcspn(out, "\n");

    n = n < size ? n : size - 1;
    memcpy(to, out, n);
    to[n] = '\0';
}

static void makes_and_lists_apps(void **state)
{
    struct api *api = *state;

    expect(run(api, "app create chess"), 0);
    expect(run(api, "app create chess"), 1);
    assert_non_null(strstr(out, "there is an app 'chess' already"));
    expect(run(api, "app create --if-missing chess"), 0);
    expect(run(api, "app create 'Chess 2'"), 2);
    expect(run(api, "app list"), 0);
    assert_non_null(strstr(out, "chess"));
    assert_non_null(strstr(out, "game0"));
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM audit JOIN app USING (app_id)"
                                           " WHERE action = 'app.create' AND actor = 'cli'"
                                           " AND name = 'chess'"),
                     1);
}

static void prints_a_new_key_once_and_keeps_its_hash_only(void **state)
{
    struct api *api = *state;
    char key[128], hex[2 * SHA256_BYTES + 1];
    unsigned char hash[SHA256_BYTES];

    expect(run(api, "key create --app game0 --role read --label 'for tests'"), 0);
    assert_int_equal(strlen(out), strlen("fw_read_") + 43 + 1);
    take_first(key, sizeof key);
    assert_memory_equal(key, "fw_read_", 8);
    assert_int_equal(strspn(key + 8, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789-_"),
                     43);
    sha256(key, strlen(key), hash);
    to_hex(hash, sizeof hash, hex);
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM api_key WHERE key_hash = '\\x%s'"
                            " AND hint = left('%s', 12) AND role = 'read'",
                            hex, key),
                     1);

    assert_int_equal(
        api_send(api, (struct api_call){.method = "GET", .path = "/v1/sessions", .key = key})
            ->status,
        200);

    expect(run(api, "key list --app game0"), 0);
    assert_non_null(strstr(out, "for tests"));
    assert_null(strstr(out, key));
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM audit WHERE detail::text LIKE"
                            " '%%%s%%'",
                            key + 8),
                     0);
}

static void makes_another_key_each_time(void **state)
{
    struct api *api = *state;
    char first[128];

    expect(run(api, "key create --app game0 --role ingest"), 0);
    take_first(first, sizeof first);
    expect(run(api, "key create --app game0 --role ingest"), 0);
    assert_null(strstr(out, first));
}

static void revokes_a_key_by_its_id(void **state)
{
    struct api *api = *state;
    char id[13];
    char key[128];

    expect(run(api, "key create --app game0 --role read --label gone"), 0);
    take_first(key, sizeof key);
    expect(run(api, "key list --app game0 | grep gone"), 0);
    take_first(id, sizeof id);
    expect(run(api, "key revoke --app game1 %s", id), 1);   /* another app's */
    expect(run(api, "key revoke --app game0 %.4s", id), 1); /* too short to name one */
    expect(run(api, "key revoke --app game0 %s", id), 0);
    expect(run(api, "key revoke --app game0 %s", id), 1);
    assert_non_null(strstr(out, "revoked at"));
    assert_int_equal(
        api_send(api, (struct api_call){.method = "GET", .path = "/v1/sessions", .key = key})
            ->status,
        401);
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM audit WHERE action = 'key.revoke'"
                            " AND detail ->> 'key' = '%s' AND actor = 'cli'",
                            id),
                     1);
}

static void revokes_a_key_by_its_first_letters(void **state)
{
    struct api *api = *state;
    char hint[13];

    expect(run(api, "key create --app game0 --role read"), 0);
    take_first(hint, sizeof hint);
    expect(run(api, "key revoke --app game0 %s", hint), 0);
    assert_int_equal(
        pg_i64(api->conninfo, "SELECT count(*) FROM api_key WHERE revoked_at IS NOT NULL"), 1);
}

static void refuses_wrong_arguments_with_a_reason(void **state)
{
    static const struct {
        const char *args, *says;
        int code;
    } bad[] = {
        {"key create --app game0", "--role", 2},
        {"key create --app game0 --role owner", "--role", 2},
        {"key create --role read", "--app", 2},
        {"key create --app nowhere --role read", "no app 'nowhere'", 1},
        {"key revoke --app game0 zz", "key list", 1},
        {"key revoke --app game0 000000000000", "0 keys", 1},
        {"key list", "--app", 2},
        {"key revoke --app game0", "argument is missing", 2},
        {"key", "COMMAND", 2},
        {"app list extra", "too many arguments", 2},
        {"app list --db 'host=/nowhere'", "connect", 1},
        {"build register --platform ios", "required", 2},
        {"job retry", "argument is missing", 2},
        {"job retry x", "ID", 1},
        {"job list --state lost", "--state", 2},
    };
    struct api *api = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int code = run(api, "%s", bad[i].args);

        if (code != bad[i].code || !strstr(out, bad[i].says))
            fail_msg("%s: exit code %d: %s", bad[i].args, code, out);
    }
}

static void takes_the_database_s_password_from_a_file(void **state)
{
    struct api *api = *state;
    char path[] = "/tmp/framewatch-password-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");

    assert_non_null(f);
    fputs("any: this cluster trusts its socket\n", f);
    fclose(f);
    setenv("FW_DB_PASSWORD_FILE", path, 1);
    expect(run(api, "app list"), 0);
    unlink(path);
    expect(run(api, "app list"), 1);
    assert_non_null(strstr(out, "FW_DB_PASSWORD_FILE"));
    unsetenv("FW_DB_PASSWORD_FILE");
}

static void registers_and_lists_builds_over_http(void **state)
{
    struct api *api = *state;

    expect(run(api, "build register --platform ios --version 3.1.0 --version-code 310"
                    " --build-uid ci-7 --commit 4f2a9c1 --released-at 2024-05-06T07:08:09Z"
                    " a1b2c3d4e5f60718"),
           0);
    assert_non_null(strstr(out, "\"registered\": true"));
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM build WHERE registered AND"
                                           " build_uid = 'ci-7' AND debug_ids[1] ="
                                           " 'a1b2c3d4e5f60718'"),
                     1);
    expect(run(api, "build list"), 0);
    assert_non_null(strstr(out, "3.1.0"));
    expect(run(api, "build register --platform ios --version 3 --version-code 3 nothex"), 1);
    assert_non_null(strstr(out, "debug_ids"));
}

static void lists_and_retries_dead_jobs_over_http(void **state)
{
    struct api *api = *state;
    int64_t id = 0;

    for (int i = 0; i < 3; i++)
        id =
            pg_i64(api->conninfo,
                   "INSERT INTO job (kind, shard, ref, app_id, day, state, attempts, last_error)"
                   " VALUES ('part', 1, gen_random_uuid(), %lld, CURRENT_DATE, 'dead', 8, 'poison')"
                   " RETURNING job_id",
                   (long long)api->app[0]);
    expect(run(api, "job list"), 0);
    assert_non_null(strstr(out, "poison"));
    expect(run(api, "job retry %lld %lld", (long long)id, (long long)id - 1), 0);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM job WHERE state = 'ready'"), 2);
    expect(run(api, "job retry %lld", (long long)id), 1);
    assert_non_null(strstr(out, "not dead"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(makes_and_lists_apps),
        TEST(prints_a_new_key_once_and_keeps_its_hash_only),
        TEST(makes_another_key_each_time),
        TEST(revokes_a_key_by_its_id),
        TEST(revokes_a_key_by_its_first_letters),
        TEST(refuses_wrong_arguments_with_a_reason),
        TEST(takes_the_database_s_password_from_a_file),
        TEST(registers_and_lists_builds_over_http),
        TEST(lists_and_retries_dead_jobs_over_http),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
