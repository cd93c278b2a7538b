#include "symbols/demangle.h"
#include "symbols_fixture.h"

static void check(const char *name, const char *expected, bool changed)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    buf_text(&out, "before ");
    assert_int_equal(demangle(name, &out), changed);
    buf_byte(&out, 0);
    assert_true(buf_ok(&out));
    if (strcmp((char *)out.at + 7, expected) != 0)
        fail_msg("%s\nis      %s\nwanted  %s", name, (char *)out.at + 7, expected);
    buf_fini(&out);
}

static void readable_names_of_each_language(void **state)
{
    static const char *const names[][2] = {
        {"_ZN4game5frameEi", "game::frame(int)"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi",
         "std::vector<int, std::allocator<int> >::push_back(int const&)"},
        {"_ZN4game5frameEi.cold", "game::frame(int) [clone .cold]"},
        {"_ZZN1a1bEvENKUliE_clEi", "a::b()::{lambda(int)#1}::operator()(int) const"},
        /* legacy Rust: the hash goes, escapes are undone */
        {"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str"},
        {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
         "17h930b740aa94f1d3aE",
         "<Test + 'static as foo::Bar<Test>>::bar"},
        /* v0 Rust, from rustc's own list */
        {"_RNvC6_123foo3bar", "123foo::bar"},
        {"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
         "utf8_idents::საჭმელად_გემრიელი_სადილი"},
        {"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}"},
        {"__ZN4game5frameEi", "game::frame(int)"}, /* Mach-O's underscore left on */
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check(names[i][0], names[i][1], true);
}

static void other_names_stay_as_they_are(void **state)
{
    static const char *const names[] = {
        "main",     "_main",     "_Z",      "_ZN4game5fram",      "_R",
        "",         "_",         "-[A b:]", "$s4game5frameyS2iF", "_$s4game5frameyS2iF",
        "_T04main", "?f@@YAXH@Z"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check(names[i], names[i], false);
}

/* Each substitution doubles the text: 60 of them would be a quintillion of letters. */
static void a_name_that_stands_for_gigabytes_stays_as_it_is(void **state)
{
    char name[1024];
    size_t n = (size_t)snprintf(name, sizeof name, "_Z1fSt4pairIiiE");

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        char last[4] = "S_";

        if (i)
            snprintf(last, sizeof last, "S%c_",
                     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(i - 1) % 36]);
        n += (size_t)snprintf(name + n, sizeof name - n, "St4pairI%s%sE", last, last);
    }

    struct buf out;

    buf_init(&out, 1 << 20);
    demangle(name, &out);
    assert_true(buf_ok(&out));
    assert_true(out.len <= DEMANGLE_TEXT_MAX);
    buf_fini(&out);
}

static void long_names_are_read_up_to_the_limit(void **state)
{
    static char name[3 * DEMANGLE_NAME_MAX];
    struct buf out;

    (void)state;
    for (unsigned letters = 500; letters <= 5000; letters += 1500) {
        int n = snprintf(name, sizeof name, "_Z%u", letters);

        memset(name + n, 'a', letters);
        memcpy(name + n + letters, "v", 2);
        buf_init(&out, 1 << 20);
        assert_int_equal(demangle(name, &out), n + (int)letters + 1 <= DEMANGLE_NAME_MAX);
        buf_fini(&out);
    }
}

/* Nested as deep as its length allows; recursion must stay within an ordinary stack. */
static void a_deeply_nested_name_is_survived(void **state)
{
    static const char *const nests[] = {"P", "K", "PF", "N1a", "I", "XT", "LS_", "DpT"};
    static char name[DEMANGLE_NAME_MAX + 1];
    struct buf out;

    (void)state;
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        size_t n = (size_t)snprintf(name, sizeof name, "_Z1f"), len = strlen(nests[i]);

        while (n + len < sizeof name) {
            memcpy(name + n, nests[i], len);
            n += len;
        }
        name[n] = '\0';
        buf_init(&out, 1 << 20);
        demangle(name, &out);
        assert_true(buf_ok(&out));
        buf_fini(&out);
    }
}

/* Found by fuzzing: a back reference into itself, in a name long enough for the limit of recursion
 * to have been lifted. */
static void a_rust_name_that_refers_to_itself_is_survived(void **state)
{
    static char name[2000] = "_RIC0_RIC0C0B__ZN4game";
    struct buf out;

    (void)state;
    memset(name + strlen(name), 'G', 1500);
    buf_init(&out, 1 << 20);
    demangle(name, &out);
    assert_true(buf_ok(&out));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readable_names_of_each_language),
        cmocka_unit_test(other_names_stay_as_they_are),
        cmocka_unit_test(a_name_that_stands_for_gigabytes_stays_as_it_is),
        cmocka_unit_test(long_names_are_read_up_to_the_limit),
        cmocka_unit_test(a_deeply_nested_name_is_survived),
        cmocka_unit_test(a_rust_name_that_refers_to_itself_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
