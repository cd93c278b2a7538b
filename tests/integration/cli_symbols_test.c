/* `framewatch symbols` as a person or a script calls it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOOL FW_BINARY_DIR "/server/framewatch symbols "
#define GOLDEN FW_SOURCE_DIR "/tests/golden/symbols/"
#define OUTPUT (1u << 20)

static char folder[] = "/tmp/framewatch-symbols-XXXXXX";
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

/* The golden files are llvm-symbolizer's output with the address in front of each answer. */
static void lookup_prints_what_llvm_symbolizer_printed(void **state)
{
    (void)state;
    assert_int_equal(run(TOOL "index " GOLDEN "elf-gcc-dwarf5 -o gcc.fwsym"), 0);
    assert_says("functions");
    /* an answer that is "end" is none; the others, without their addresses, are what is wanted */
    assert_int_equal(
        run("awk 'BEGIN {RS = \"\"; FS = \"\\n\"} $2 != \"end\" {print $1 >\"asked\"; "
            "for (i = 2; i <= NF; i++) print $i >\"want\"; print \"\" >\"want\"}' " GOLDEN
            "elf-gcc-dwarf5.x86_64.txt && " TOOL
            "lookup gcc.fwsym --no-demangle <asked | diff - want"),
        0);
    assert_int_equal(run("test $(wc -l <asked) -gt 100"), 0);
}

static void addresses_may_be_arguments_relative_or_wrong(void **state)
{
    (void)state;
    assert_int_equal(run(TOOL "index --quiet " GOLDEN "elf-x86_64-dwarf4 -o a.fwsym"), 0);
    assert_string_equal(output, "");
    assert_int_equal(run(TOOL "lookup a.fwsym 0x0 hello 7"), 0);
    assert_string_equal(output, "??\n??:0:0\n\nhello\n??\n??:0:0\n\n");
    assert_int_equal(run(TOOL "lookup --relative a.fwsym 0xffffffffffffffff"), 0);
    assert_string_equal(output, "??\n??:0:0\n\n");
    assert_int_equal(run("printf '0x1\\n0x2' | " TOOL "lookup a.fwsym | grep -c '??:0:0'"), 0);
    assert_string_equal(output, "2\n");
}

static void a_fat_file_gives_a_symcache_an_architecture(void **state)
{
    (void)state;
    assert_int_equal(run("cp " GOLDEN "macho-fat64 game && " TOOL "index game && ls game.*"), 0);
    assert_says("game.arm64.fwsym");
    assert_says("game.armv7.fwsym");
    assert_int_equal(run(TOOL "index game -o one.fwsym"), 1);
    assert_says("--arch: -o names one symcache, but the file has armv7 arm64");
    assert_int_equal(run(TOOL "index game -o one.fwsym --arch arm64"), 0);
    assert_int_equal(run(TOOL "index game --arch mips"), 1);
    assert_says("no mips in the file, which has armv7 arm64");
}

static void a_dsym_bundle_is_opened_by_its_folder(void **state)
{
    (void)state;
    assert_int_equal(run("mkdir -p g.dSYM/Contents/Resources/DWARF && cp " GOLDEN
                         "macho-arm64-dwarf5 g.dSYM/Contents/Resources/DWARF/g && " TOOL
                         "index g.dSYM -o g.fwsym && " TOOL "info g.dSYM"),
                     0);
    assert_says("uuid");
    assert_int_equal(run("mkdir -p empty && " TOOL "index empty"), 1);
    assert_says("Contents/Resources/DWARF");
}

static void info_tells_ids_sections_and_advice(void **state)
{
    (void)state;
    assert_int_equal(run(TOOL "info " GOLDEN "elf-symtab-only"), 0);
    assert_says("guid form");
    assert_says("no DWARF: functions alone");
    assert_int_equal(run("llvm-objcopy-19 -R .note.gnu.build-id " GOLDEN "elf-gcc-dwarf5 no-id "
                         "2>/dev/null || objcopy -R .note.gnu.build-id " GOLDEN
                         "elf-gcc-dwarf5 no-id; " TOOL "info no-id"),
                     0);
    assert_says("--build-id=sha1");
    assert_int_equal(run(TOOL "index no-id -o no-id.fwsym && " TOOL "info no-id.fwsym"), 0);
    assert_says("symcache, version 1, of ELF");
    assert_says("compilation units");
}

static void what_goes_wrong_is_told_and_leaves_nothing_behind(void **state)
{
    (void)state;
    assert_int_equal(run(TOOL "index nothing-here"), 1);
    assert_says("nothing-here: No such file");
    assert_int_equal(run("echo text >t && " TOOL "index t"), 1);
    assert_says("neither ELF nor Mach-O");
    assert_int_equal(run(TOOL "lookup t 0x1"), 1);
    assert_says("not a symcache");
    assert_int_equal(run(TOOL "lookup " GOLDEN "elf-gcc-dwarf5 0x1"), 1);
    assert_says("framewatch symbols index");
    assert_int_equal(run(TOOL "index " GOLDEN "elf-gcc-dwarf5 -o missing/x"), 1);
    assert_says("cannot be written");
    assert_int_equal(run("strip -o s " GOLDEN "elf-gcc-dwarf5 -R .dynsym; mkdir kept && "
                         "echo good >kept/s.fwsym && { " TOOL
                         "index s -o kept/s.fwsym; ls -A kept && "
                         "cat kept/s.fwsym; }"),
                     0);
    assert_says("\ns.fwsym\ngood\n");
    assert_int_equal(run("head -c 9000 " GOLDEN "elf-gcc-dwarf5 >cut && " TOOL "index cut"), 1);
    assert_says("damaged: cut short or broken");
    assert_int_equal(run(TOOL "index"), 2);
    assert_int_equal(run(TOOL "nothing"), 2);
}

static void a_symcache_goes_down_a_pipe(void **state)
{
    (void)state;
    assert_int_equal(run(TOOL "index --quiet " GOLDEN "elf-gcc-dwarf5 -o whole && { " TOOL
                              "index " GOLDEN "elf-gcc-dwarf5 -o - 2>said | cmp - whole; } && " TOOL
                              "index " GOLDEN "elf-gcc-dwarf5 -o /dev/stdout 2>said >to && "
                              "cmp to whole && cat said"),
                     0);
    assert_says(" functions, ");
    assert_int_equal(run(TOOL "index " GOLDEN "elf-gcc-dwarf5 -o /dev/full"), 1);
    assert_says("cannot be written: No space left on device");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookup_prints_what_llvm_symbolizer_printed),
        cmocka_unit_test(addresses_may_be_arguments_relative_or_wrong),
        cmocka_unit_test(a_fat_file_gives_a_symcache_an_architecture),
        cmocka_unit_test(a_dsym_bundle_is_opened_by_its_folder),
        cmocka_unit_test(info_tells_ids_sections_and_advice),
        cmocka_unit_test(what_goes_wrong_is_told_and_leaves_nothing_behind),
        cmocka_unit_test(a_symcache_goes_down_a_pipe),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
