/* The debug files that `framewatch demo --symbols` writes, read by what reads real ones. The tool
 * is a program, not a library, so its files are taken in whole. */
#include "server/cli/demo_devices.c"
#include "server/cli/demo_session.c"
#include "server/cli/demo_symbols.c"
#include "server/cli/out_file.c"

#include "symbols_fixture.h"

static const struct demo_version versions[] = {{"2.13.0", 21300}, {"2.14.0", 21400}};

static void assert_reads(const struct symcache *cache, uint64_t offset, const char *function)
{
    struct symcache_frame frames[SYMCACHE_FRAMES];

    assert_int_equal(symcache_lookup(cache, offset, frames, SYMCACHE_FRAMES), 1);
    assert_string_equal(frames[0].function, function);
}

static void assert_module_reads(bool ios, unsigned module, const struct demo_version *v)
{
    struct buf file, out;
    struct symcache cache;
    struct debug_slices slices;
    struct err err;
    unsigned char id[20];

    buf_init(&file, FILE_BYTES);
    demo_symbols(ios, module, v, &file);
    assert_true(buf_ok(&file));
    assert_true(debug_file_slices(file.at, file.len, &slices, &err));
    demo_debug_id(ios, module, v, id);
    assert_int_equal(slices.n, 1);
    assert_int_equal(slices.at[0].id.size, ios ? 16 : 20);
    assert_memory_equal(slices.at[0].id.bytes, id, slices.at[0].id.size);
    assert_true(fixture_index(file.at, file.len, "arm64", NULL, &out, NULL, &err));
    assert_true(symcache_open(&cache, out.at, out.len, &err));
    for (size_t s = 0; s < n_demo_stacks; s++)
        for (size_t i = 0; i < DEMO_STACK_FRAMES && demo_stacks[s].frame[i].function; i++) {
            const struct demo_frame *f = &demo_stacks[s].frame[i];

            if (f->module == module) /* a caller is looked up just before its return address */
                for (unsigned before = 0; before < 2; before++)
                    assert_reads(&cache, demo_offset(ios, module, v, f->function) - before,
                                 f->function);
        }
    buf_fini(&out);
    buf_fini(&file);
}

static void each_frame_of_the_game_reads_as_its_function(void **state)
{
    (void)state;
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
        for (unsigned module = 1; module <= DEMO_MODULES; module++)
            for (int ios = 0; ios < 2; ios++)
                if (demo_modules[ios][module - 1].game)
                    assert_module_reads(ios, module, &versions[v]);
}

static size_t janks_of(unsigned more_percent, const char *function)
{
    struct demo_config config = {.seed = 3,
                                 .sessions = 40,
                                 .version = {versions[0], versions[1]},
                                 .n_versions = 2,
                                 .slow_tier = -1,
                                 .slow_scene = "battle",
                                 .more_janks_percent = more_percent};
    struct player p = {.config = &config, .version = &config.version[1], .scene = &scenes[5]};
    size_t n = 0;

    for (size_t i = 0; i < 1000; i++)
        n += strcmp(jank_stack(&p)->frame[0].function, function) == 0;
    return n;
}

static void more_janks_have_one_cause(void **state)
{
    const size_t usual = janks_of(0, "Particles::Sort"), more = janks_of(300, "Particles::Sort");

    (void)state;
    assert_in_range(usual, 1, 200);
    assert_in_range(more, 700, 900); /* three of four, and the usual ones */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_frame_of_the_game_reads_as_its_function),
        cmocka_unit_test(more_janks_have_one_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
