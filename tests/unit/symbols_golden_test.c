/* Real files of several compilers, versions and architectures, every address of their code, against
 * what llvm-symbolizer said of them (tests/symbols/corpus.sh makes both anew). */
#include "symbols_fixture.h"

struct answer {
    uint64_t address;
    const char *text; /* ends at the empty line */
    size_t len;
};

/* Splits "0xADDRESS\ntext\n\n" into answers; returns how many. */
static size_t split(char *text, struct answer *out, size_t max)
{
    size_t n = 0;

    for (char *at = text, *end; n < max && (end = strstr(at, "\n\n")); at = end + 2) {
        char *line = strchr(at, '\n');

        out[n++] = (struct answer){strtoull(at, NULL, 16), line + 1, (size_t)(end - line)};
    }
    return n;
}

static void check(const struct symcache *c, uint64_t address, const struct answer *a)
{
    struct buf ours;

    buf_init(&ours, 1 << 20);
    fixture_print(c, address, &ours);
    if (ours.len != a->len || memcmp(ours.at, a->text, a->len) != 0)
        fail_msg("at 0x%llx\nours:\n%.*s\nllvm-symbolizer:\n%.*s", (unsigned long long)address,
                 (int)ours.len, (const char *)ours.at, (int)a->len, a->text);
    buf_fini(&ours);
}

/* An answer holds up to the next one: both ends of each are asked. */
static void compare(const char *name, const char *arch)
{
    static struct answer answers[4096];
    char path[256];
    size_t size, asked = 0;
    struct buf bytes;
    struct symcache cache;

    snprintf(path, sizeof path, "golden/symbols/%s", name);
    fixture_open(path, arch, &bytes, &cache);
    assert_string_equal(debug_arch_name(cache.arch), arch);
    snprintf(path, sizeof path, "golden/symbols/%s.%s.txt", name, arch);

    char *text = (char *)fixture_read(path, &size);
    size_t n = split(text, answers, sizeof answers / sizeof *answers);

    for (size_t i = 0; i + 1 < n; i++) {
        if (memcmp(answers[i].text, "end\n", 4) == 0)
            continue;
        check(&cache, answers[i].address, &answers[i]);
        check(&cache, answers[i + 1].address - 1, &answers[i]);
        asked++;
    }
    assert_true(asked >= 5);
    free(text);
    buf_fini(&bytes);
}

#define GOLDEN(X)                                                                                  \
    X(elf_dwarf_2_of_gcc, "elf-gcc-dwarf2", "x86_64")                                              \
    X(elf_dwarf_3_of_gcc, "elf-gcc-dwarf3", "x86_64")                                              \
    X(elf_dwarf_4_of_gcc, "elf-gcc-dwarf4", "x86_64")                                              \
    X(elf_dwarf_5_of_gcc, "elf-gcc-dwarf5", "x86_64")                                              \
    X(elf_dwarf_4_of_clang, "elf-x86_64-dwarf4", "x86_64")                                         \
    X(elf_dwarf_5_of_clang_for_arm64, "elf-arm64-dwarf5", "arm64")                                 \
    X(elf_dwarf_5_in_64_bit_format, "elf-dwarf64", "x86_64")                                       \
    X(elf_of_32_bit_arm_with_a_section_a_function, "elf-armv7-dwarf4", "armv7")                    \
    X(elf_of_32_bit_x86_with_dwarf_2, "elf-x86-dwarf2", "x86")                                     \
    X(elf_with_a_symbol_table_alone, "elf-symtab-only", "x86_64")                                  \
    X(elf_with_its_symbol_table_in_gnu_debugdata, "elf-debugdata", "x86_64")                       \
    X(dsym_dwarf_2, "macho-arm64-dwarf2", "arm64")                                                 \
    X(dsym_dwarf_4_of_x86_64, "macho-x86_64-dwarf4", "x86_64")                                     \
    X(dsym_dwarf_5_with_section_names_cut, "macho-arm64-dwarf5", "arm64")                          \
    X(dsym_of_32_bit_arm, "macho-armv7-dwarf4", "armv7")                                           \
    X(fat64_slice_of_arm64, "macho-fat64", "arm64")                                                \
    X(fat64_slice_of_armv7, "macho-fat64", "armv7")

#define X(test, name, arch)                                                                        \
    static void test(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        compare(name, arch);                                                                       \
    }
GOLDEN(X)
#undef X

int main(void)
{
#define X(test, name, arch) cmocka_unit_test(test),
    const struct CMUnitTest tests[] = {GOLDEN(X)};
#undef X

    return cmocka_run_group_tests(tests, NULL, NULL);
}
