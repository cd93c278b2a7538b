#include "symbols/symcache_format.h"
#include "symbols_fixture.h"

static void open_one(struct buf *bytes, struct symcache *cache)
{
    fixture_open("golden/symbols/elf-x86_64-dwarf4", NULL, bytes, cache);
}

static void assert_refused(const struct buf *bytes, size_t len, const char *why)
{
    struct symcache c = {.n_ranges = 77};
    struct err err = {0};

    assert_false(symcache_open(&c, bytes->at, len, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, why));
    assert_int_equal(c.n_ranges, 77); /* outputs stay untouched */
}

/* Changes one word, expects the refusal, and puts it back. */
static void refuse_changed(struct buf *bytes, size_t at, uint32_t value, const char *why)
{
    uint32_t was = load32(bytes->at + at);

    store32(bytes->at + at, value);
    assert_refused(bytes, bytes->len, why);
    store32(bytes->at + at, was);
}

static void every_index_is_checked_when_it_is_opened(void **state)
{
    struct buf b;
    struct symcache c;

    (void)state;
    open_one(&b, &c);

    size_t ranges = (size_t)(c.ranges - b.at), locations = (size_t)(c.locations - b.at);

    refuse_changed(&b, 0, 0, "not a symcache");
    refuse_changed(&b, SYMCACHE_AT_VERSION, 99, "version 99, this program reads 1");
    refuse_changed(&b, SYMCACHE_AT_ID_SIZE, 33, "debug id of 33 bytes");
    refuse_changed(&b, SYMCACHE_AT_N_RANGES, c.n_ranges + 1, "do not make up");
    refuse_changed(&b, SYMCACHE_AT_N_RANGES, UINT32_MAX, "do not make up");
    refuse_changed(&b, SYMCACHE_AT_N_LOCATIONS, c.n_locations - 1, "do not make up");
    refuse_changed(&b, SYMCACHE_AT_STRINGS + 4, 1, "do not make up");
    refuse_changed(&b, SYMCACHE_AT_SHIFT, 40, "bucket");
    refuse_changed(&b, SYMCACHE_HEADER, c.n_ranges, "bucket");
    refuse_changed(&b, ranges + SYMCACHE_RANGE, 0, "do not ascend");
    refuse_changed(&b, ranges + 4, c.n_locations, "range without its location");
    refuse_changed(&b, locations + SYMCACHE_LOCATION_FILE, (uint32_t)c.strings_bytes, "location");
    refuse_changed(&b, locations + SYMCACHE_LOCATION_FUNCTION, UINT32_MAX, "location");
    refuse_changed(&b, locations + SYMCACHE_LOCATION_OUTER, 0, "location"); /* itself */
    b.at[b.len - 1] = 'x';
    assert_refused(&b, b.len, "NUL");
    b.at[b.len - 1] = '\0';
    for (size_t n = 0; n < b.len; n += 11)
        assert_refused(&b, n, "");
    buf_fini(&b);
}

static void what_it_was_made_of_is_kept(void **state)
{
    struct buf b;
    struct symcache c;
    char id[DEBUG_ID_TEXT];

    (void)state;
    open_one(&b, &c);
    assert_int_equal(c.format, DEBUG_ELF);
    assert_int_equal(c.arch, DEBUG_ARCH_X86_64);
    assert_true(c.dwarf && c.columns && !c.incomplete);
    assert_int_equal(c.id.size, 20);
    debug_id_text(&c.id, id);
    assert_int_equal(strlen(id), 40);
    assert_true(c.counts.functions > 5 && c.counts.inlined > 0 && c.counts.symbols > 5);
    buf_fini(&b);
}

static void equal_input_gives_equal_bytes(void **state)
{
    struct buf a, b;
    struct symcache c;

    (void)state;
    open_one(&a, &c);
    open_one(&b, &c);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.at, b.at, a.len);
    buf_fini(&a);
    buf_fini(&b);
}

static void an_address_outside_every_range_is_unknown(void **state)
{
    struct buf b;
    struct symcache c;
    struct symcache_frame f;

    (void)state;
    open_one(&b, &c);
    assert_int_equal(symcache_find(&c, 0), SYMCACHE_NONE);
    assert_int_equal(symcache_find(&c, load32(c.ranges) - 1), SYMCACHE_NONE);
    assert_int_not_equal(symcache_find(&c, load32(c.ranges)), SYMCACHE_NONE);
    assert_int_equal(symcache_find(&c, UINT32_MAX), SYMCACHE_NONE);
    assert_int_equal(symcache_lookup(&c, UINT64_MAX, &f, 1), 0);
    assert_int_equal(symcache_lookup(&c, (uint64_t)1 << 32 | load32(c.ranges), &f, 1), 0);
    buf_fini(&b);
}

/* The plain search that the buckets shorten. */
static uint32_t find_by_scan(const struct symcache *c, uint32_t at)
{
    uint32_t found = SYMCACHE_NONE;

    for (uint32_t i = 0; i < c->n_ranges && load32(c->ranges + SYMCACHE_RANGE * i) <= at; i++)
        found = load32(c->ranges + SYMCACHE_RANGE * i + 4);
    return found;
}

static void a_lookup_finds_what_a_scan_finds(void **state)
{
    static const char *const files[] = {
        "golden/symbols/elf-x86_64-dwarf4", "golden/symbols/elf-armv7-dwarf4",
        "golden/symbols/macho-arm64-dwarf5", "golden/symbols/elf-symtab-only"};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct buf b;
        struct symcache c;

        fixture_open(files[i], NULL, &b, &c);
        for (uint32_t at = 0; at < 0x8000; at++)
            if (symcache_find(&c, at) != find_by_scan(&c, at))
                fail_msg("%s: at 0x%x", files[i], at);
        buf_fini(&b);
    }
}

static void frames_end_where_the_caller_has_no_more_room(void **state)
{
    struct buf b;
    struct symcache c;
    struct symcache_frame all[SYMCACHE_FRAMES], two[2] = {{0}};
    size_t most = 0;
    uint32_t deepest = 0;

    (void)state;
    open_one(&b, &c);
    for (uint32_t at = 0; at < 0x8000; at++) {
        size_t n = symcache_lookup(&c, at, all, SYMCACHE_FRAMES);

        deepest = n > most ? at : deepest;
        most = n > most ? n : most;
    }
    assert_true(most >= 3);
    assert_int_equal(symcache_lookup(&c, deepest, two, 2), 2);
    symcache_lookup(&c, deepest, all, SYMCACHE_FRAMES);
    assert_string_equal(two[1].function, all[1].function);
    assert_true(all[0].inlined && all[most - 2].inlined && !all[most - 1].inlined);
    buf_fini(&b);
}

static void columns_can_be_left_out(void **state)
{
    size_t size;
    unsigned char *bytes = fixture_read("golden/symbols/elf-x86_64-dwarf4", &size);
    struct symcache_options no_columns = {.no_columns = true};
    struct debug_slices slices;
    struct debug_image image;
    struct symcache with, without;
    struct buf b, full;
    struct err err;

    (void)state;
    open_one(&full, &with);
    buf_init(&b, FIXTURE_MEMORY);
    assert_true(debug_file_slices(bytes, size, &slices, &err));
    assert_true(debug_image_open(&image, bytes, &slices.at[0], NULL, &err));
    assert_true(symcache_build(&image, &no_columns, fixture_sink, &b, NULL, &err));
    debug_image_close(&image);
    assert_true(symcache_open(&without, b.at, b.len, &err));
    assert_false(without.columns);
    assert_true(without.n_ranges < with.n_ranges);
    for (uint32_t at = 0; at < 0x4000; at++) {
        struct symcache_frame x[SYMCACHE_FRAMES], y[SYMCACHE_FRAMES];
        size_t n = symcache_lookup(&with, at, x, SYMCACHE_FRAMES);

        assert_int_equal(symcache_lookup(&without, at, y, SYMCACHE_FRAMES), n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(x[i].line, y[i].line);
            assert_int_equal(y[i].column, 0);
        }
    }
    buf_fini(&b);
    buf_fini(&full);
    free(bytes);
}

static bool full_disk(void *ctx, const void *bytes, size_t n)
{
    size_t *left = ctx;

    (void)bytes;
    if (n > *left)
        return false;
    *left -= n;
    return true;
}

static void a_sink_that_fails_is_told(void **state)
{
    size_t size, room = 100;
    unsigned char *bytes = fixture_read("golden/symbols/elf-x86_64-dwarf4", &size);
    struct debug_slices slices;
    struct debug_image image;
    struct err err = {0};

    (void)state;
    assert_true(debug_file_slices(bytes, size, &slices, &err));
    assert_true(debug_image_open(&image, bytes, &slices.at[0], NULL, &err));
    assert_false(symcache_build(&image, NULL, full_disk, &room, NULL, &err));
    assert_int_equal(err.code, ERR_INTERNAL);
    debug_image_close(&image);
    assert_int_equal(image.mem.used, 0);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_is_checked_when_it_is_opened),
        cmocka_unit_test(what_it_was_made_of_is_kept),
        cmocka_unit_test(equal_input_gives_equal_bytes),
        cmocka_unit_test(an_address_outside_every_range_is_unknown),
        cmocka_unit_test(a_lookup_finds_what_a_scan_finds),
        cmocka_unit_test(frames_end_where_the_caller_has_no_more_room),
        cmocka_unit_test(columns_can_be_left_out),
        cmocka_unit_test(a_sink_that_fails_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
