/* Files that `framewatch` writes of a server's answers, and what it says of the server's address:
 * the real tool as a process, against a real server. */
#include "support/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define TOOL FW_BINARY_DIR "/server/framewatch "
#define NOBODY "00000000000000000000000000000000"

static char out[1 << 20]; /* of the last run: stdout and stderr */

/* Runs a shell's command in a new folder, with the server and a reader's key; its exit code. */
static int run(struct api *api, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int run(struct api *api, const char *fmt, ...)
{
    char command[4096];
    int n = snprintf(command, sizeof command, "{ d=$(mktemp -d) && cd \"$d\" && { ");
    va_list ap;
    size_t len;
    FILE *f;

    va_start(ap, fmt);
    n += vsnprintf(command + n, sizeof command - (size_t)n, fmt, ap);
    va_end(ap);
    snprintf(command + n, sizeof command - (size_t)n,
             "; }; code=$?; rm -rf \"$d\"; exit $code; } 2>&1");
    setenv("FW_URL", api->base, 1);
    setenv("FW_KEY", api->key[0][ROLE_READ], 1);
    f = popen(command, "r");
    assert_non_null(f);
    len = fread(out, 1, sizeof out - 1, f);
    out[len] = '\0';
    return WEXITSTATUS(pclose(f));
}

static void ends(int code, int want)
{
    if (code != want)
        fail_msg("exit code %d, not %d: %.2000s", code, want, out);
}

static void says(const char *text)
{
    if (!strstr(out, text))
        fail_msg("'%s' is not in: %.2000s", text, out);
}

static void a_failed_question_leaves_the_file_that_was_there(void **state)
{
    static const char *const commands[] = {
        "families flame " NOBODY " -o f",
        "families flame --format odd -o f",
        "families flame -o f --server http://127.0.0.1:1",
        "session " NOBODY " --trace chrome -o f",
        "session " NOBODY " --trace perfetto -o f --server http://127.0.0.1:1",
    };
    struct api *api = *state;

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        ends(run(api, "echo good >f; " TOOL "%s && exit 9; ls -A; cat f", commands[i]), 0);
        says("\nf\ngood\n");
        ends(run(api, TOOL "%s && exit 9; ls -A | wc -l", commands[i]), 0);
        says("\n0\n");
    }
}

static void answers_go_to_files_pipes_and_standard_output(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 1, 20, id);
    ends(run(api,
             "s='session %s --trace chrome'; echo old >f; " TOOL "$s -o f && " TOOL
             "$s -o - | cmp - f && " TOOL "$s -o /dev/stdout | cmp - f && mkfifo p && { " TOOL
             "$s -o p & cmp p f; } && wait $! && ln -s f l && " TOOL
             "$s -o l && test -L l && ls -A",
             id),
         0);
    assert_string_equal(out, "f\nl\np\n");
    ends(run(api,
             "echo first >f; " TOOL "session %s --trace chrome -o /dev/stdout >>f && " TOOL
             "session %s --trace chrome -o g && { echo first; cat g; } | cmp - f",
             id, id),
         0);
    ends(run(api, TOOL "families flame --format json -o f && test -s f && ls -A"), 0);
    assert_string_equal(out, "f\n");
    ends(run(api, TOOL "families flame --format json -o no/such/folder"), 1);
    says("no/such/folder cannot be written: No such file or directory");
    ends(run(api, TOOL "session %s --raw parts && ls -A parts | wc -l", id), 0);
    says("\n1\n");
}

static void a_password_in_the_servers_address_is_not_told(void **state)
{
    static const char *const commands[] = {"session " NOBODY,
                                           "build list",
                                           "job list",
                                           "families list",
                                           "families flame",
                                           "rules show",
                                           "alerts list",
                                           "channels list",
                                           "deliveries list",
                                           "report 1",
                                           "tiers list",
                                           "tiers models",
                                           "health",
                                           "session " NOBODY " --trace chrome -o f",
                                           "session " NOBODY " --raw parts"};
    static const char *const servers[] = {"http://me:pw-secret@127.0.0.1:1",
                                          "http://me:pw/secret@127.0.0.1:1"};
    struct api *api = *state;

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        for (size_t k = 0; k < 2; k++) {
            ends(run(api, TOOL "%s --server %s", commands[i], servers[k]), 1);
            assert_null(strstr(out, "secret"));
            ends(run(api, "FW_URL=%s " TOOL "%s", servers[k], commands[i]), 1);
            assert_null(strstr(out, "secret"));
            ends(run(api, "echo 'url = %s' >c; unset FW_URL; FW_CONFIG=c " TOOL "%s", servers[k],
                     commands[i]),
                 1);
            assert_null(strstr(out, "secret"));
        }
    ends(run(api, TOOL "build list --server http://me:pw-secret@%s", api->base + 7), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_failed_question_leaves_the_file_that_was_there),
        TEST(answers_go_to_files_pipes_and_standard_output),
        TEST(a_password_in_the_servers_address_is_not_told),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
