/* The tool's options, its table of commands, and how text reaches a terminal. The tool is a
 * program, not a library, so its files are taken in whole. */
#include "server/cli/cli.c"
#include "server/cli/term.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* What a call wrote to stdout and stderr. */
struct captured {
    char *out, *err;
    size_t out_len, err_len;
    FILE *saved_out, *saved_err;
};

static void capture(struct captured *c)
{
    *c = (struct captured){.saved_out = stdout, .saved_err = stderr};
    stdout = open_memstream(&c->out, &c->out_len);
    stderr = open_memstream(&c->err, &c->err_len);
}

static void captured(struct captured *c)
{
    fclose(stdout);
    fclose(stderr);
    stdout = c->saved_out;
    stderr = c->saved_err;
}

static void release(struct captured *c)
{
    free(c->out);
    free(c->err);
}

struct given {
    bool all;
    const char *name, *o;
    int64_t n;
};

struct parsed {
    struct given given;
    struct cli_args args;
    bool ok;
    int code;
    struct captured text;
};

/* Parses the words, NULL at their end, for a command of 1..2 arguments. */
static struct parsed parse(char **argv)
{
    struct parsed p = {.code = -1};
    const struct cli_option options[] = {OPT_FLAG("all", &p.given.all, "everything"),
                                         OPT_TEXT("name", "NAME", &p.given.name, "a name"),
                                         OPT_TEXT("o", "FILE", &p.given.o, "a file"),
                                         OPT_I64("n", "N", &p.given.n, 1, 10, "a number"), OPT_END};
    const struct cli_usage usage = {.command = "try",
                                    .args = "FILE [FILE]",
                                    .help = "Tries.",
                                    .options = options,
                                    .min_args = 1,
                                    .max_args = 2};
    int argc = 0;

    while (argv[argc])
        argc++;
    capture(&p.text);
    p.ok = cli_parse(&usage, argc, argv, &p.args, &p.code);
    captured(&p.text);
    return p;
}
#define PARSE(...) parse((char *[]){"try", __VA_ARGS__, NULL})

static void an_error_cannot_drive_the_terminal(void **state)
{
    struct err err = {0};
    struct captured text;

    (void)state;
    err_field(&err, ERR_INVALID, "\x1b[2J", "caf\xc3\xa9\x07\n\xff");
    capture(&text);
    assert_int_equal(cli_fail(&err), CLI_FAILED);
    captured(&text);
    assert_string_equal(text.err, "framewatch: ?[2J: caf\xc3\xa9???\n");
    release(&text);
}

static void options_may_stand_anywhere_and_hold_their_value_either_way(void **state)
{
    char *argv[] = {"try", "a", "--name=x=y", "--all", "-o", "-", "b", "-n", "7", NULL};
    struct parsed p = parse(argv);

    (void)state;
    assert_true(p.ok);
    assert_true(p.given.all);
    assert_string_equal(p.given.name, "x=y");
    assert_string_equal(p.given.o, "-");
    assert_int_equal(p.given.n, 7);
    assert_int_equal(p.args.n, 2);
    assert_string_equal(p.args.at[0], "a");
    assert_string_equal(p.args.at[1], "b");
    release(&p.text);
}

static void two_dashes_end_the_options_and_one_is_an_argument(void **state)
{
    char *argv[] = {"try", "-", "--", "--all", NULL};
    struct parsed p = parse(argv);

    (void)state;
    assert_true(p.ok);
    assert_false(p.given.all);
    assert_string_equal(p.args.at[0], "-");
    assert_string_equal(p.args.at[1], "--all");
    release(&p.text);
}

static void wrong(struct parsed p, const char *said)
{
    assert_false(p.ok);
    assert_int_equal(p.code, CLI_USAGE);
    assert_non_null(strstr(p.text.err, said));
    assert_non_null(strstr(p.text.err, "usage: framewatch try [options] FILE [FILE]"));
    assert_string_equal(p.text.out, "");
    release(&p.text);
}

static void wrong_arguments_are_told_on_stderr_with_the_usage(void **state)
{
    (void)state;
    wrong(PARSE("a", "--nonsense"), "--nonsense: no such option");
    wrong(PARSE("a", "--nam=1"), "--nam=1: no such option");
    wrong(PARSE("a", "-all"), "no such option");
    wrong(PARSE("a", "--o", "f"), "no such option");
    wrong(PARSE("a", "--name"), "wants a value");
    wrong(PARSE("a", "--all=yes"), "takes no value");
    wrong(PARSE("--all"), "missing");
    wrong(PARSE("a", "b", "c"), "too many arguments");
    wrong(PARSE("a", "-n", "0"), "from 1 to 10");
    wrong(PARSE("a", "-n", "11"), "from 1 to 10");
    wrong(PARSE("a", "-n", "3x"), "from 1 to 10");
    wrong(PARSE("a", "-n", "99999999999999999999"), "from 1 to 10");
}

static void help_goes_to_stdout_and_is_no_failure(void **state)
{
    struct parsed p = PARSE("a", "--help", "--nonsense");

    (void)state;
    assert_false(p.ok);
    assert_int_equal(p.code, CLI_OK);
    assert_non_null(strstr(p.text.out, "Tries."));
    assert_non_null(strstr(p.text.out, "--name NAME"));
    assert_non_null(strstr(p.text.out, "-o FILE"));
    assert_string_equal(p.text.err, "");
    release(&p.text);
}

static int seen_argc;
static int run_one(int argc, char **argv)
{
    assert_string_equal(argv[0], "one");
    seen_argc = argc;
    return 42;
}
static const struct cli_command commands[] = {{"one", "the first", run_one}};

static int dispatch(char **argv, struct captured *text)
{
    int argc = 0, code;

    while (argv[argc])
        argc++;
    capture(text);
    code = cli_dispatch("framewatch", commands, 1, argc, argv);
    captured(text);
    return code;
}

static void a_command_runs_with_its_own_words(void **state)
{
    struct captured text;

    (void)state;
    assert_int_equal(dispatch((char *[]){"framewatch", "one", "x", NULL}, &text), 42);
    assert_int_equal(seen_argc, 2);
    release(&text);
}

static void what_is_refused_is_told_without_a_password_in_it(void **state)
{
    struct captured text;

    (void)state;
    wrong(PARSE("a", "--sever=http://u:secret@host"), "--sever=http://***@host: no such option");
    assert_int_equal(dispatch((char *[]){"framewatch", "http://u:secret@host", NULL}, &text),
                     CLI_USAGE);
    assert_non_null(strstr(text.err, "no command 'http://***@host'"));
    release(&text);
}

static void no_command_or_an_unknown_one_prints_the_table_and_fails(void **state)
{
    struct captured text;

    (void)state;
    assert_int_equal(dispatch((char *[]){"framewatch", NULL}, &text), CLI_USAGE);
    assert_non_null(strstr(text.err, "one          the first"));
    release(&text);
    assert_int_equal(dispatch((char *[]){"framewatch", "two", NULL}, &text), CLI_USAGE);
    assert_non_null(strstr(text.err, "no command 'two'"));
    assert_string_equal(text.out, "");
    release(&text);
    assert_int_equal(dispatch((char *[]){"framewatch", "help", NULL}, &text), CLI_OK);
    assert_non_null(strstr(text.out, "one          the first"));
    release(&text);
}

/* The terminal ------------------------------------------------------------------------------------
 */

static char *shown(const char *text, unsigned most, unsigned *used)
{
    char *out = NULL;
    size_t len;
    struct term t = {.out = open_memstream(&out, &len), .width = 80};

    *used = term_text(&t, text, most);
    fclose(t.out);
    return out;
}

static void shows(const char *text, unsigned most, const char *wanted, unsigned columns)
{
    unsigned used;
    char *out = shown(text, most, &used);

    assert_string_equal(out, wanted);
    assert_int_equal(used, columns);
    free(out);
}

static void escape_sequences_and_controls_never_reach_the_terminal(void **state)
{
    (void)state;
    shows("a\033[31mb\r\n\a\x7f", 80, "a?[31mb????", 11);
    shows("a\xc2\x9b"
          "31mb",
          80, "a?31mb", 6);                /* C1 control sequence introducer */
    shows("x\xe2\x80\xaey", 80, "x?y", 3); /* right-to-left override */
    shows("\xff\xc3(\xe2\x82", 80,
          "??"
          "(??",
          5);                          /* no UTF-8 */
    shows("\xed\xa0\x80", 80, "?", 1); /* a surrogate */
}

static void wide_characters_take_two_columns_and_cuts_show(void **state)
{
    (void)state;
    shows("冰霜洞穴", 80, "冰霜洞穴", 8);
    shows("冰霜洞穴", 8, "冰霜洞穴", 8);
    shows("冰霜洞穴", 7, "冰霜洞…", 7);
    shows("冰霜洞穴", 6, "冰霜…", 5);
    shows("abcdef", 4, "abc…", 4);
    shows("abcdef", 0, "", 0);
    shows("e\xcc\x81!", 2, "e\xcc\x81!", 2); /* a combining accent takes none */
}

static void colour_is_only_for_terminals(void **state)
{
    FILE *file = tmpfile();
    struct term t = term_on(file, 10);

    (void)state;
    assert_false(t.colour);
    assert_int_equal(t.width, TERM_MIN_WIDTH);
    assert_int_equal(term_on(file, 5000).width, TERM_MAX_WIDTH);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_cannot_drive_the_terminal),
        cmocka_unit_test(options_may_stand_anywhere_and_hold_their_value_either_way),
        cmocka_unit_test(two_dashes_end_the_options_and_one_is_an_argument),
        cmocka_unit_test(wrong_arguments_are_told_on_stderr_with_the_usage),
        cmocka_unit_test(help_goes_to_stdout_and_is_no_failure),
        cmocka_unit_test(a_command_runs_with_its_own_words),
        cmocka_unit_test(what_is_refused_is_told_without_a_password_in_it),
        cmocka_unit_test(no_command_or_an_unknown_one_prints_the_table_and_fails),
        cmocka_unit_test(escape_sequences_and_controls_never_reach_the_terminal),
        cmocka_unit_test(wide_characters_take_two_columns_and_cuts_show),
        cmocka_unit_test(colour_is_only_for_terminals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
