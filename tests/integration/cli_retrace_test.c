/* `framewatch retrace` as a person or a script calls it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOOL FW_BINARY_DIR "/server/framewatch retrace "
#define GOLDEN FW_SOURCE_DIR "/tests/golden/retrace/"
#define OUTPUT (1u << 16)

static char folder[] = "/tmp/framewatch-retrace-XXXXXX";
static char output[OUTPUT];

/* Runs a command line in `folder`; both streams land in `output`. Returns the exit code. */
static int PRINTF_LIKE(1, 2) run(const char *fmt, ...)
{
    char command[4096];
    int n = snprintf(command, sizeof command, "cd %s && { ", folder);
    va_list ap;

    va_start(ap, fmt);
    n += vsnprintf(command + n, sizeof command - (size_t)n, fmt, ap);
    va_end(ap);
    snprintf(command + n, sizeof command - (size_t)n, "; } 2>&1");

    FILE *p = popen(command, "r");

    assert_non_null(p);
    output[fread(output, 1, OUTPUT - 1, p)] = '\0';

    int status = pclose(p);

    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void assert_says(const char *part)
{
    if (!strstr(output, part))
        fail_msg("\"%s\" is not in:\n%s", part, output);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void a_stack_comes_from_a_file_or_standard_input(void **state)
{
    (void)state;
    assert_int_equal(run(TOOL GOLDEN "outline/mapping " GOLDEN "outline/stack | diff - " GOLDEN
                                     "outline/expected"),
                     0);
    assert_int_equal(run(TOOL GOLDEN "outline/mapping <" GOLDEN "outline/stack | diff - " GOLDEN
                                     "outline/expected"),
                     0);
    assert_int_equal(run(TOOL "--verbose " GOLDEN "member_ranges/mapping " GOLDEN
                              "member_ranges/stack | diff - " GOLDEN
                              "member_ranges/expected_verbose"),
                     0);
}

static void an_index_answers_like_its_mapping(void **state)
{
    (void)state;
    assert_int_equal(run(TOOL "--index " GOLDEN "missing_lines/mapping -o made"), 0);
    assert_says("made: 1 classes, 0 fields, 17 method ranges");
    assert_int_equal(
        run(TOOL "made " GOLDEN "missing_lines/stack | diff - " GOLDEN "missing_lines/expected"),
        0);
    assert_int_equal(run("cp " GOLDEN "crlf/mapping . && " TOOL
                         "--quiet --index mapping && test -s mapping.fwretrace"),
                     0);
    assert_string_equal(output, "");
    assert_int_equal(run(TOOL "--index made"), 1);
    assert_says("an index already");
}

static void a_second_implementation_prints_the_same(void **state)
{
    (void)state;
    assert_int_equal(run("python3 " FW_SOURCE_DIR "/tests/symbols/retrace_model.py " FW_BINARY_DIR
                         "/server/framewatch 0 40"),
                     0);
    assert_says("40 mappings, 0 with differences");
}

static void each_line_is_answered_as_it_comes(void **state)
{
    (void)state;
    assert_int_equal(run("mkfifo ask answer && (" TOOL GOLDEN "class_lines/mapping <ask >answer &) "
                         "&& exec 3>ask 4<answer && echo 'a.b: x' >&3 && read -r line <&4 && "
                         "echo \"$line\" && echo ' at c.d(E)' >&3 && read -r line <&4 && "
                         "echo \"$line\""),
                     0);
    assert_string_equal(output,
                        "com.acme.game.GameError: x\nat com.acme.game.Level$Room.d(Level.java)\n");
}

static void a_line_without_end_goes_through(void **state)
{
    (void)state;
    assert_int_equal(
        run("head -c 3000000 /dev/zero | tr '\\0' x | " TOOL GOLDEN "class_lines/mapping | wc -c"),
        0);
    assert_true(strtol(output, NULL, 10) >= 3000000);
}

static void what_is_odd_about_a_mapping_is_told(void **state)
{
    (void)state;
    assert_int_equal(run(TOOL GOLDEN "later_version/mapping </dev/null"), 0);
    assert_says("of map version 99.0, later than the 2.2 known here");
    assert_int_equal(run(TOOL GOLDEN "odd_mappings/mapping </dev/null"), 0);
    assert_says("6 lines skipped");
    assert_int_equal(run("sed s/Splash/Flash/ " GOLDEN "header_and_map_id/mapping >other && " TOOL
                         "other </dev/null"),
                     0);
    assert_says("not the one its pg_map_hash was made of");
    assert_int_equal(run(TOOL "--quiet other </dev/null"), 0);
    assert_string_equal(output, "");
}

static void what_cannot_be_done_is_said(void **state)
{
    (void)state;
    assert_int_equal(run(TOOL "missing"), 1);
    assert_says("No such file");
    assert_int_equal(run(TOOL GOLDEN "crlf/mapping missing"), 1);
    assert_says("No such file");
    assert_int_equal(run("echo hello >text && " TOOL "text"), 1);
    assert_says("not a mapping");
    assert_int_equal(run(TOOL "--index " GOLDEN "crlf/mapping -o no/such/folder"), 1);
    assert_says("cannot be written");
    assert_int_equal(run(TOOL "--index text -o made2 || test ! -e made2"), 0);
    assert_int_equal(run("mkdir kept && echo good >kept/x && { " TOOL "--index text -o kept/x; "
                         "ls -A kept && cat kept/x; }"),
                     0);
    assert_says("\nx\ngood\n");
    assert_int_equal(run(TOOL "--index " GOLDEN "crlf/mapping -o whole && " TOOL "--index " GOLDEN
                              "crlf/mapping -o - 2>said | cmp - whole"),
                     0);
    assert_int_equal(run(TOOL GOLDEN "crlf/mapping " GOLDEN "crlf/stack >/dev/full"), 1);
    assert_says("standard output");
    assert_int_equal(run(TOOL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_comes_from_a_file_or_standard_input),
        cmocka_unit_test(an_index_answers_like_its_mapping),
        cmocka_unit_test(a_second_implementation_prints_the_same),
        cmocka_unit_test(each_line_is_answered_as_it_comes),
        cmocka_unit_test(a_line_without_end_goes_through),
        cmocka_unit_test(what_is_odd_about_a_mapping_is_told),
        cmocka_unit_test(what_cannot_be_done_is_said),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
