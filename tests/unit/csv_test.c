/* CSV as it is read (a device catalogue) and written (a report), and the report's page: what stands
 * in them comes from others. */
#include "server/cli/csv.c"

#include "server/jobs/reports/report_doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Reading -------------------------------------------------------------------------------------- */

static struct csv over(const char *bytes, size_t n)
{
    return csv_over(fmemopen((char *)(uintptr_t)bytes, n, "r"));
}
#define OVER(text) over("" text, sizeof(text) - 1)

static void expect_row(struct csv *c, struct csv_row *row, const char *const *fields, size_t n)
{
    struct err err = {0};

    if (!csv_next(c, row, &err))
        fail_msg("no row: %s", err.text);
    assert_int_equal(row->n, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(row->field[i], fields[i]);
}
#define ROW(c, row, ...)                                                                           \
    expect_row(c, row, (const char *const[]){__VA_ARGS__},                                         \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void expect_end(struct csv *c, struct csv_row *row, const char *said)
{
    struct err err = {0};

    assert_false(csv_next(c, row, &err));
    if (said && !strstr(err.text, said))
        fail_msg("'%s' lacks '%s'", err.text, said);
    assert_int_equal(err.code, said ? ERR_INVALID : ERR_NONE);
    csv_row_fini(row);
    fclose(c->in);
}

static void reads_rows_as_rfc_4180_has_them(void **state)
{
    struct csv c = OVER("a,b,c\r\n1,,\"x, \"\"y\"\"\r\nz\"\n\n\r\n\"\",\"=1\",last");
    struct csv_row row = {0};

    (void)state;
    ROW(&c, &row, "a", "b", "c");
    ROW(&c, &row, "1", "", "x, \"y\"\r\nz");
    ROW(&c, &row, "", "=1", "last"); /* no line break at the end */
    assert_int_equal(c.line, 6);
    expect_end(&c, &row, NULL);
}

static void a_byte_order_mark_is_no_part_of_the_first_name(void **state)
{
    struct csv c = OVER("\xef\xbb\xbf\"model\",soc\nx,y\n");
    struct csv_row row = {0};

    (void)state;
    ROW(&c, &row, "model", "soc");
    ROW(&c, &row, "x", "y");
    expect_end(&c, &row, NULL);
}

static void an_empty_file_has_no_rows(void **state)
{
    struct csv_row row = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct csv c = i == 0 ? OVER("\n") : i == 1 ? OVER("\r\n\r\n") : OVER("\xef\xbb\xbf");

        expect_end(&c, &row, NULL);
    }
}

static void refuses_what_is_no_csv_and_says_where(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *said;
    } wrong[] = {
#define WRONG(bytes, said) {bytes, sizeof(bytes) - 1, said}
        WRONG("a,b\n\"open\n", "line 2"),           /* a quote that never closes */
        WRONG("a,b\n\"x\ny\",1\nc\"d,e", "line 4"), /* a quote inside */
        WRONG("a,b\n\"c\"d,e", "line 2"),           /* something behind the quote */
        WRONG("a,b\nc\0d,e\n", "line 2"),           /* would be cut off */
        WRONG("a,b\n\"c\0d\",e\n", "line 2"),
        WRONG("\xef\xbc\x9d"
              "1,b\n",
              "line 1"),
#undef WRONG
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct csv c = over(wrong[i].bytes, wrong[i].n);
        struct csv_row row = {0};
        struct err err = {0};

        while (csv_next(&c, &row, &err))
            ;
        assert_int_equal(err.code, ERR_INVALID);
        if (!strstr(err.text, wrong[i].said))
            fail_msg("%zu: '%s' lacks '%s'", i, err.text, wrong[i].said);
        csv_row_fini(&row);
        fclose(c.in);
    }
}

static void a_row_has_limits(void **state)
{
    char *text = malloc(2 * CSV_LINE_MAX);
    struct csv_row row = {0};
    struct csv c;

    (void)state;
    assert_non_null(text);
    memset(text, ',', CSV_FIELDS_MAX); /* a field more than there may be */
    c = over(text, CSV_FIELDS_MAX);
    expect_end(&c, &row, "line 1");
    c = over(text, CSV_FIELDS_MAX - 1);
    {
        struct err err;

        assert_true(csv_next(&c, &row, &err));
        assert_int_equal(row.n, CSV_FIELDS_MAX);
    }
    expect_end(&c, &row, NULL);
    memset(text, 'x', 2 * CSV_LINE_MAX);
    c = over(text, 2 * CSV_LINE_MAX);
    expect_end(&c, &row, "too long");
    free(text);
}

static void a_folder_is_no_empty_file(void **state)
{
    struct csv_row row = {0};
    struct csv c = csv_over(fopen("/", "re"));

    (void)state;
    assert_non_null(c.in);
    expect_end(&c, &row, "cannot be read");
}

/* Writing -------------------------------------------------------------------------------------- */

/* A report whose every name is `text`. */
static json_t *report_of(const char *text)
{
    json_t *build = json_pack("{s:s, s:s, s:I}", "platform", text, "version_name", text,
                              "version_code", (json_int_t)7);
    json_t *figures =
        json_pack("{s:{s:I, s:f, s:n}}", text, "n", (json_int_t)60, "value", 20.5, "change");
    json_t *slices = json_array();
    static const char *const tier[] = {NULL, "untiered", "all"};

    for (int whole = 0; whole < 2; whole++)
        for (int i = 0; i < 3; i++)
            json_array_append_new(slices,
                                  json_pack("{s:s, s:s, s:I, s:O}", "tier_name",
                                            tier[i] ? tier[i] : text, "scene", whole ? "" : text,
                                            "installs", (json_int_t)7, "figures", figures));
    json_decref(figures);
    return json_pack("{s:s, s:O, s:o, s:[{s:I, s:s}], s:[{s:s, s:s}], s:o}", "made_at", text,
                     "build", build, "baseline", build, "tiers", "tier", (json_int_t)1, "name",
                     text, "metrics", "name", text, "unit", text, "slices", slices);
}

static char *written(const char *text, void (*write)(const json_t *, struct buf *))
{
    json_t *doc = report_of(text);
    struct buf out;
    char *copy;

    assert_non_null(doc);
    buf_init(&out, 1 << 20);
    write(doc, &out);
    assert_true(buf_ok(&out));
    copy = strndup((const char *)out.at, out.len);
    assert_non_null(copy);
    assert_int_equal(strlen(copy), out.len);
    buf_fini(&out);
    json_decref(doc);
    return copy;
}

static void a_spreadsheet_takes_no_name_for_a_formula(void **state)
{
    static const char *const names[] = {
        "=1+1",
        "+1",
        "-1",
        "@SUM(1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "=\"a\",1",
        "\xef\xbc\x9d"
        "1",
        "\xef\xbc\x8b"
        "1",
        "\xef\xbc\x8d"
        "1",
        "\xef\xbc\xa0"
        "x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = written(names[i], report_csv), want[64];
        struct csv c = over(text, strlen(text));
        struct csv_row row = {0};
        struct err err = {0};
        size_t rows = 0;

        snprintf(want, sizeof want, "'%s", names[i]);
        assert_true(csv_next(&c, &row, &err));
        assert_string_equal(row.field[0], "tier");
        while (csv_next(&c, &row, &err)) {
            static const size_t named[] = {1, 3, 4}; /* scene, metric, unit */

            assert_int_equal(row.n, 17);
            for (size_t k = 0; k < 3; k++)
                if (*row.field[named[k]])
                    assert_string_equal(row.field[named[k]], want);
            rows++;
        }
        assert_int_equal(err.code, ERR_NONE);
        assert_int_equal(rows, 6);
        csv_row_fini(&row);
        fclose(c.in);
        free(text);
    }
}

static void names_come_back_from_the_csv_as_they_were(void **state)
{
    static const char *const names[] = {"a,b", "a\"b\"",      "a\r\nb", "'=1",
                                        " =1", "战斗/竞技场", "\""};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = written(names[i], report_csv);
        struct csv c = over(text, strlen(text));
        struct csv_row row = {0};
        struct err err = {0};

        assert_true(csv_next(&c, &row, &err));
        assert_true(csv_next(&c, &row, &err));
        assert_string_equal(row.field[0], names[i]);
        assert_string_equal(row.field[1], names[i]);
        assert_string_equal(row.field[2], "7");
        assert_string_equal(row.field[6], "20.5");
        assert_string_equal(row.field[9], ""); /* null */
        csv_row_fini(&row);
        fclose(c.in);
        free(text);
    }
}

/* The page holds these elements alone, whatever names there are; with none of them by a name. */
static size_t count_elements(const char *page)
{
    static const char *const known[] = {
        "!doctype", "html",  "head", "meta", "title", "style", "body",  "h1", "h2", "p", "table",
        "thead",    "tbody", "tr",   "th",   "td",    "span",  "small", "dl", "dt", "dd"};
    size_t n = 0;

    for (const char *at = page; (at = strchr(at, '<')); n++) {
        size_t len = strcspn(at += at[1] == '/' ? 2 : 1, " >"), i = 0;

        while (i < sizeof known / sizeof *known &&
               (strlen(known[i]) != len || strncmp(at, known[i], len) != 0))
            i++;
        if (i == sizeof known / sizeof *known)
            fail_msg("an element of a name: %.40s", at);
    }
    return n;
}

static void the_page_shows_hostile_names_as_text(void **state)
{
    static const char *const names[] = {
        "</title><script>alert(1)</script>",
        "</style><img src=x onerror=alert(1)>",
        "\"><svg/onload=alert(1)>",
        "&lt;script&gt;",
        "<!--",
        "]]><a href=\"javascript:1\">",
    };
    char *plain = written("plain", report_html);
    size_t elements = count_elements(plain);

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *page = written(names[i], report_html);

        assert_int_equal(count_elements(page), elements);
        assert_null(strstr(page, names[i]));
        free(page);
    }
    free(plain);
}

static void the_page_asks_for_nothing_else(void **state)
{
    static const char *const outside[] = {"http:",   "https:",  "//",    "src=",    "href=", "url(",
                                          "@import", "<script", "<link", "<iframe", "<base"};
    char *page = written("plain", report_html);

    (void)state;
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        assert_null(strstr(page, outside[i]));
    assert_non_null(strstr(page, "<meta charset=utf-8>"));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_rows_as_rfc_4180_has_them),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_the_first_name),
        cmocka_unit_test(an_empty_file_has_no_rows),
        cmocka_unit_test(refuses_what_is_no_csv_and_says_where),
        cmocka_unit_test(a_row_has_limits),
        cmocka_unit_test(a_folder_is_no_empty_file),
        cmocka_unit_test(a_spreadsheet_takes_no_name_for_a_formula),
        cmocka_unit_test(names_come_back_from_the_csv_as_they_were),
        cmocka_unit_test(the_page_shows_hostile_names_as_text),
        cmocka_unit_test(the_page_asks_for_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
