#include "symbols/hidden_names.h"
#include "symbols_fixture.h"

static const char map[] = "BCSymbolMap Version: 2.0\n_ZN4game5frameEi\r\n\1-[Game frame:]\n\nlast";

static void hidden_names_are_revealed_by_their_line(void **state)
{
    struct hidden_names h;
    struct err err;

    (void)state;
    assert_true(hidden_names_init(&h, map, sizeof map - 1, &err));
    assert_string_equal(hidden_names_reveal(&h, "__hidden#0_"), "_ZN4game5frameEi");
    assert_string_equal(hidden_names_reveal(&h, "___hidden#0_"), "_ZN4game5frameEi");
    assert_string_equal(hidden_names_reveal(&h, "_hidden#1_"), "-[Game frame:]");
    assert_string_equal(hidden_names_reveal(&h, "__hidden#3_"), "last");
    hidden_names_fini(&h);
}

static void other_names_are_left_alone(void **state)
{
    static const char *const names[] = {"main",        "",
                                        "_",           "__hidden#",
                                        "__hidden#x_", "__hidden#0",
                                        "__hidden#4_", "hidden#0_",
                                        "__hidden#2_", "__hidden#99999999999_"};
    struct hidden_names h;
    struct err err;

    (void)state;
    assert_true(hidden_names_init(&h, map, sizeof map - 1, &err));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_ptr_equal(hidden_names_reveal(&h, names[i]), names[i]);
        assert_ptr_equal(hidden_names_reveal(NULL, names[i]), names[i]);
    }
    hidden_names_fini(&h);
}

static void what_is_no_map_is_refused(void **state)
{
    static const char *const bad[] = {"", "BCSymbolMap", "BCSymbolMap Version: 3.0\n", "text\n"};
    struct hidden_names h;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};

        assert_false(hidden_names_init(&h, bad[i], strlen(bad[i]), &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

static void a_symcache_holds_the_names_behind(void **state)
{
    static const char two[] = "BCSymbolMap Version: 2.0\nrevealed\n";
    size_t size;
    unsigned char *bytes = fixture_read("golden/symbols/macho-arm64-dwarf5", &size);
    struct hidden_names h;
    struct symcache_options options = {.hidden = &h};
    struct debug_slices slices;
    struct debug_image image;
    struct symcache c;
    struct buf out;
    struct err err;
    bool found = false;

    (void)state;
    assert_true(hidden_names_init(&h, two, sizeof two - 1, &err));
    assert_true(debug_file_slices(bytes, size, &slices, &err));
    assert_true(debug_image_open(&image, bytes, &slices.at[0], NULL, &err));
    for (size_t i = 0; i < image.symbols.n; i++)
        if (strcmp(image.symbols.at[i].name, "shade") == 0)
            image.symbols.at[i].name = "__hidden#0_";
    buf_init(&out, FIXTURE_MEMORY);
    assert_true(symcache_build(&image, &options, fixture_sink, &out, NULL, &err));
    assert_true(symcache_open(&c, out.at, out.len, &err));
    for (uint32_t at = 0; at < 0x10000 && !found; at += 4) {
        struct symcache_frame f[SYMCACHE_FRAMES];
        size_t n = symcache_lookup(&c, at, f, SYMCACHE_FRAMES);

        found = n && f[n - 1].function && strcmp(f[n - 1].function, "revealed") == 0;
    }
    assert_true(found);
    debug_image_close(&image);
    hidden_names_fini(&h);
    buf_fini(&out);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_names_are_revealed_by_their_line),
        cmocka_unit_test(other_names_are_left_alone),
        cmocka_unit_test(what_is_no_map_is_refused),
        cmocka_unit_test(a_symcache_holds_the_names_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
