#include "symbols_fixture.h"

static void assert_refused(const void *bytes, size_t size, const char *why)
{
    struct buf out;
    struct err err = {0};

    assert_false(fixture_index(bytes, size, NULL, NULL, &out, NULL, &err));
    assert_non_null(strstr(err.text, why));
}

static void compressed_sections_give_the_same_symcache(void **state)
{
    static const char *const packed[] = {"zlib", "zlib-gnu", "zstd"};
    struct buf plain, other;
    struct symcache cache;

    (void)state;
    fixture_open("fuzz/corpus/elf/gcc-dwarf5", NULL, &plain, &cache);
    assert_true(cache.counts.units > 0 && cache.counts.inlined > 0);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        char path[64];

        snprintf(path, sizeof path, "fuzz/corpus/elf/%s", packed[i]);
        fixture_open(path, NULL, &other, &cache);
        assert_int_equal(other.len, plain.len);
        assert_memory_equal(other.at, plain.at, plain.len);
        buf_fini(&other);
    }
    buf_fini(&plain);
}

static void a_damaged_compressed_section_is_left_out_and_counted(void **state)
{
    size_t size;
    unsigned char *bytes = fixture_read("fuzz/corpus/elf/zstd", &size);
    static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    struct buf out;
    struct symcache_stats stats;
    struct err err;
    unsigned damaged = 0;

    (void)state;
    for (size_t i = 0; i + 8 < size; i++)
        if (memcmp(bytes + i, magic, 4) == 0) {
            bytes[i] ^= 0xff;
            damaged++;
        }
    assert_true(damaged >= 2);
    assert_true(fixture_index(bytes, size, NULL, NULL, &out, &stats, &err));
    assert_true(stats.counts.bad_sections >= 2);
    assert_int_equal(stats.counts.units, 0);
    assert_true(stats.counts.symbols > 0);
    buf_fini(&out);
    free(bytes);
}

static void slices_of_a_fat_file_are_listed_with_their_ids(void **state)
{
    static const char *const files[] = {"fuzz/corpus/macho/fat32", "fuzz/corpus/macho/fat64"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        size_t size;
        unsigned char *bytes = fixture_read(files[i], &size);
        struct debug_slices s;
        struct err err;

        assert_true(debug_file_looks_like(bytes, 8));
        assert_true(debug_file_slices(bytes, size, &s, &err));
        assert_int_equal(s.n, 2);
        assert_int_equal(s.broken, 0);
        assert_string_equal(debug_arch_name(s.at[0].arch), "armv7");
        assert_string_equal(debug_arch_name(s.at[1].arch), "arm64");
        assert_int_equal(s.at[0].id.size, 16);
        assert_memory_not_equal(s.at[0].id.bytes, s.at[1].id.bytes, 16);

        /* cut in the second slice: the first can still be had */
        assert_true(debug_file_slices(bytes, s.at[1].offset + 100, &s, &err));
        assert_int_equal(s.n, 1);
        assert_int_equal(s.broken, 1);
        free(bytes);
    }
}

static void an_arm64e_slice_is_told_from_arm64(void **state)
{
    size_t size;
    unsigned char *bytes = fixture_read("fuzz/corpus/macho/macho-arm64-dwarf4", &size);
    struct debug_slices s;
    struct err err;

    (void)state;
    assert_true(debug_file_slices(bytes, size, &s, &err));
    assert_string_equal(debug_arch_name(s.at[0].arch), "arm64");
    memcpy(bytes + 8, "\2\0\0\x80", 4);
    assert_true(debug_file_slices(bytes, size, &s, &err));
    assert_string_equal(debug_arch_name(s.at[0].arch), "arm64e");
    free(bytes);
}

static void what_is_no_linked_image_is_refused_with_its_reason(void **state)
{
    size_t size;
    unsigned char *elf = fixture_read("fuzz/corpus/elf/symtab-only", &size);
    unsigned char java[64] = {0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61};
    size_t macho_size;
    unsigned char *macho = fixture_read("fuzz/corpus/macho/macho-arm64-dwarf4", &macho_size);

    (void)state;
    assert_refused("MZ neither", 10, "neither ELF nor Mach-O");
    assert_refused("", 0, "neither ELF nor Mach-O");
    assert_false(debug_file_looks_like(java, sizeof java));
    assert_refused(java, sizeof java, "Java class");
    assert_refused(elf, 20, "cut at 20 bytes");
    elf[16] = 1; /* ET_REL */
    assert_refused(elf, size, "object file");
    elf[16] = 4; /* ET_CORE */
    assert_refused(elf, size, "core dump");
    elf[5] = 2;
    assert_refused(elf, size, "little-endian");
    macho[12] = 1; /* MH_OBJECT */
    assert_refused(macho, macho_size, "object file");
    free(macho);
    free(elf);
}

static void a_stripped_file_is_refused_with_advice(void **state)
{
    size_t size;
    unsigned char *bytes = fixture_read("fuzz/corpus/elf/symtab-only", &size);

    (void)state;
    /* no section headers: neither symbol tables nor DWARF are found, the code still is */
    memset(bytes + 40, 0, 8);
    memset(bytes + 60, 0, 2);
    assert_refused(bytes, size, "before it is stripped");
    free(bytes);
}

/* Every parser meets every end of its input: none may read past it (sanitizers watch). */
static void every_truncation_is_survived(void **state)
{
    static const char *const files[] = {
        "elf/x86_64-dwarf4", "elf/arm64-dwarf5",         "elf/debugdata",
        "elf/zlib",          "macho/macho-arm64-dwarf4", "macho/fat64"};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        size_t size;

        snprintf(path, sizeof path, "fuzz/corpus/%s", files[i]);

        unsigned char *bytes = fixture_read(path, &size);

        for (size_t n = 0; n < size; n += n < 600 ? 1 : 37) {
            unsigned char *cut = malloc(n + 1); /* its own block, so that a read past n is seen */
            struct buf out;
            struct err err;

            assert_non_null(cut);
            memcpy(cut, bytes, n);
            if (fixture_index(cut, n, NULL, NULL, &out, NULL, &err))
                buf_fini(&out);
            free(cut);
        }
        free(bytes);
    }
}

static bool index_failing_at(const void *bytes, size_t size, size_t nth, struct err *err,
                             size_t *held)
{
    struct debug_slices slices;
    struct debug_image image;
    struct buf out;

    assert_true(debug_file_slices(bytes, size, &slices, err));
    if (!debug_image_open(&image, bytes, &slices.at[0], NULL, err))
        return false;
    buf_init(&out, FIXTURE_MEMORY);
    image.mem.fail_at = nth;

    bool ok = symcache_build(&image, NULL, fixture_sink, &out, NULL, err);

    buf_fini(&out);
    debug_image_close(&image);
    *held = image.mem.used;
    return ok;
}

static void each_allocation_may_fail(void **state)
{
    static const char *const files[] = {"elf/x86_64-dwarf4", "elf/gcc-dwarf5",
                                        "macho/macho-arm64-dwarf5"};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        size_t size, held = 0, nth = 1;
        struct err err;

        snprintf(path, sizeof path, "fuzz/corpus/%s", files[i]);

        unsigned char *bytes = fixture_read(path, &size);

        while (!index_failing_at(bytes, size, nth, &err, &held)) {
            assert_int_equal(err.code, ERR_TOO_BIG);
            assert_int_equal(held, 0);
            assert_true(++nth < 1000);
        }
        assert_true(nth > 20);
        free(bytes);
    }
}

/* Memory limits from nothing to enough: opening and building fail cleanly below it. */
static void the_memory_limit_holds_and_is_told(void **state)
{
    static const char *const files[] = {"elf/debugdata", "elf/zstd", "macho/macho-arm64-dwarf5"};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        size_t size;
        bool done = false;

        snprintf(path, sizeof path, "fuzz/corpus/%s", files[i]);

        unsigned char *bytes = fixture_read(path, &size);

        for (size_t cap = 16; !done; cap += cap / 3) {
            struct debug_limits limits = {.memory_bytes = cap};
            struct symcache_stats stats;
            struct buf out;
            struct err err;

            done = fixture_index(bytes, size, NULL, &limits, &out, &stats, &err);
            if (done) {
                assert_true(stats.peak_memory_bytes <= cap);
                buf_fini(&out);
            } else {
                assert_true(err.code == ERR_TOO_BIG || err.code == ERR_INVALID);
            }
        }
        free(bytes);
    }
}

static void pointer_authentication_is_stripped_from_arm64_alone(void **state)
{
    (void)state;
    assert_int_equal(debug_arch_strip(DEBUG_MACHO, DEBUG_ARCH_ARM64E, 0x802c5f8104a5b3c4),
                     0x104a5b3c4);
    assert_int_equal(debug_arch_strip(DEBUG_ELF, DEBUG_ARCH_ARM64, 0xb4007f1234567890),
                     0x7f1234567890);
    assert_int_equal(debug_arch_strip(DEBUG_ELF, DEBUG_ARCH_X86_64, 0xffffffff81000000),
                     0xffffffff81000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_sections_give_the_same_symcache),
        cmocka_unit_test(a_damaged_compressed_section_is_left_out_and_counted),
        cmocka_unit_test(slices_of_a_fat_file_are_listed_with_their_ids),
        cmocka_unit_test(an_arm64e_slice_is_told_from_arm64),
        cmocka_unit_test(what_is_no_linked_image_is_refused_with_its_reason),
        cmocka_unit_test(a_stripped_file_is_refused_with_advice),
        cmocka_unit_test(every_truncation_is_survived),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(the_memory_limit_holds_and_is_told),
        cmocka_unit_test(pointer_authentication_is_stripped_from_arm64_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
