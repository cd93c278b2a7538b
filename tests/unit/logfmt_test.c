/* Fields of log lines. */
#include "server/common/logfmt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void fields_are_apart_by_one_space(void **state)
{
    struct logfmt l = {0};

    (void)state;
    logfmt_text(&l, "a", "plain");
    logfmt_i64(&l, "n", INT64_MIN);
    logfmt_ms(&l, "ms", 12345);
    logfmt_fields(&l, "x=1 y=2");
    assert_string_equal(l.text, "a=plain n=-9223372036854775808 ms=12.345 x=1 y=2");
    assert_int_equal(l.len, strlen(l.text));
}

static void a_value_is_quoted_where_it_must_be(void **state)
{
    static const struct {
        const char *value, *shown;
    } cases[] = {
        {"", "v=\"\""},
        {"two words", "v=\"two words\""},
        {"a=b", "v=\"a=b\""},
        {"say \"no\" to C:\\", "v=\"say \\\"no\\\" to C:\\\\\""},
        {"line\nfeed\x7f", "v=\"line\\x0afeed\\x7f\""},
        {"h\xc3\xa9", "v=\"h\xc3\xa9\""},
        {"http://u:pw-secret@h/", "v=http://***@h/"},
        {"at http://u:pw-secret@h", "v=\"at http://***@h\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct logfmt l = {0};

        logfmt_text(&l, "v", cases[i].value);
        assert_string_equal(l.text, cases[i].shown);
    }
}

static void a_long_line_loses_its_end(void **state)
{
    struct logfmt l = {0};
    char *value = malloc(2 * LOGFMT_BYTES + 1);

    (void)state;
    memset(value, 'x', 2 * LOGFMT_BYTES);
    value[2 * LOGFMT_BYTES] = '\0';
    logfmt_text(&l, "v", value);
    logfmt_i64(&l, "n", 7);
    assert_int_equal(l.len, LOGFMT_BYTES);
    assert_int_equal(strlen(l.text), LOGFMT_BYTES);
    assert_memory_equal(l.text, "v=xxx", 5);
    free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_apart_by_one_space),
        cmocka_unit_test(a_value_is_quoted_where_it_must_be),
        cmocka_unit_test(a_long_line_loses_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
