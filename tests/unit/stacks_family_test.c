#include "base/digest.h"
#include "stacks/family.h"
#include "stacks_fixture.h"

#include <stdlib.h>

/* Classes -----------------------------------------------------------------------------------------
 */

static void frames_of_the_app_make_a_stack_in_app(void **state)
{
    static const struct stack_frame frames[] = {
        SYSTEM_FRAME("/apex/com.android.runtime/lib64/bionic/libc.so"),
        NATIVE("game::Texture::upload(int)", "libgame.so", 12),
        NATIVE("game::Level::load(std::string const&)", "libgame.so", 30),
        NATIVE("game::World::enter()", "libgame.so", 44),
        NATIVE("game::Loop::tick()", "libgame.so", 9),
        NATIVE("__start_thread", "libc.so", 0),
    };
    struct fixture x = family_from(frames, 6, NULL);

    (void)state;
    assert_int_equal(x.family.class, STACK_CLASS_IN_APP);
    assert_int_equal(x.family.depth, 3);
    assert_int_equal(x.family.n_names, 4);
    assert_string_equal(x.family.names[0], "game::Texture::upload");
    assert_string_equal(x.family.names[2], "game::World::enter");
    assert_string_equal(x.family.title, "Texture::upload < Level::load");
    assert_int_equal(x.family.culprit, 1);
    assert_uses(&x, "system counted counted counted beyond base");
    fixture_free(&x);
}

static void a_stack_of_the_system_alone_is_kept_apart(void **state)
{
    static const struct stack_frame frames[] = {
        MANAGED_FRAME("android.os.MessageQueue.nativePollOnce"),
        MANAGED_FRAME("android.os.MessageQueue.next"),
        MANAGED_FRAME("android.os.Looper.loop"),
        MANAGED_FRAME("android.app.ActivityThread.main"),
    };
    struct fixture x = family_from(frames, 4, NULL);

    (void)state;
    assert_int_equal(x.family.class, STACK_CLASS_SYSTEM_ONLY);
    assert_string_equal(x.family.title, "system: MessageQueue.nativePollOnce < MessageQueue.next");
    assert_uses(&x, "system system base base");
    assert_int_equal(x.family.notes[1].position, 2);
    fixture_free(&x);
}

static void a_thread_that_was_held_is_suspended(void **state)
{
    static const struct stack_frame held[] = {
        SYSTEM_FRAME("libc.so"),
        NATIVE("art::Thread::FullSuspendCheck(bool)", "libart.so", 0),
        NATIVE("game::Level::load()", "libgame.so", 12),
    };
    static const struct stack_frame holder[] = {
        NATIVE("game::Level::load()", "libgame.so", 12),
        NATIVE("art::Thread::FullSuspendCheck(bool)", "libart.so", 0),
    };
    struct fixture x = family_from(held, 3, NULL), y = family_from(holder, 2, NULL);

    (void)state;
    assert_int_equal(x.family.class, STACK_CLASS_SUSPENDED);
    assert_string_equal(x.family.title, "suspended: Thread::FullSuspendCheck");
    assert_int_equal(y.family.class, STACK_CLASS_IN_APP);
    fixture_free(&x);
    fixture_free(&y);

    struct stack_input in = {.suspended = true, .frames = holder, .n = 1};

    x = family_of_input(&in, NULL);
    assert_int_equal(x.family.class, STACK_CLASS_SUSPENDED);
    assert_string_equal(x.family.title, "suspended: no frames");
    fixture_free(&x);
}

/* Frames of the system say nothing for or against: what counts is the rest. */
static void a_stack_is_mostly_unknown_from_half_of_its_frames_on(void **state)
{
    static const struct stack_frame half[] = {
        SYSTEM_FRAME("libc.so"),
        SYSTEM_FRAME("libc.so"),
        RAW_FRAME("libgame.so", 0x100),
        RAW_FRAME("libgame.so", 0x200),
        NATIVE("game::a()", "libgame.so", 1),
        NATIVE("game::b()", "libgame.so", 1),
    };
    struct rules rules = {.unknown_percent = 51};
    struct fixture x = family_from(half, 6, NULL), y = family_from(half, 6, &rules);

    (void)state;
    assert_int_equal(x.family.class, STACK_CLASS_MOSTLY_UNKNOWN);
    assert_true(x.family.provisional);
    assert_int_equal(x.family.unnamed, 2);
    assert_int_equal(x.family.named, 2);
    assert_int_equal(y.family.class, STACK_CLASS_IN_APP);
    fixture_free(&x);
    fixture_free(&y);

    x = family_from(half, 4, NULL);
    assert_int_equal(x.family.class, STACK_CLASS_MOSTLY_UNKNOWN);
    assert_string_equal(x.family.title, "unknown: libgame.so+?");
    fixture_free(&x);

    x = family_from(half, 0, NULL);
    assert_int_equal(x.family.class, STACK_CLASS_MOSTLY_UNKNOWN);
    assert_string_equal(x.family.title, "unknown: no frames");
    assert_int_equal(x.family.culprit, x.family.n_notes);
    fixture_free(&x);
}

static void an_engine_without_symbols_does_not_hide_the_app(void **state)
{
    static const struct stack_frame frames[] = {
        RAW_FRAME("libunity.so", 1),
        RAW_FRAME("libunity.so", 2),
        NATIVE("Level_Load_m0123456789ABCDEF0123456789ABCDEF01234567", "libil2cpp.so", 3),
        RAW_FRAME("libunity.so", 4),
    };
    static const struct rule exclude[] = {{RULE_MODULE, "libunity*", NULL}};
    struct rules rules = {.exclude = exclude, .n_exclude = 1};
    struct fixture x = family_from(frames, 4, NULL), y = family_from(frames, 4, &rules);

    (void)state;
    assert_int_equal(x.family.class, STACK_CLASS_MOSTLY_UNKNOWN);
    assert_int_equal(y.family.class, STACK_CLASS_IN_APP);
    assert_uses(&y, "excluded excluded counted excluded");
    assert_ptr_equal(y.family.notes[0].rule, &exclude[0]);
    assert_false(y.family.provisional);
    fixture_free(&x);
    fixture_free(&y);
}

static void main_counts_only_where_the_app_has_nothing_else(void **state)
{
    static const struct stack_frame alone[] = {NATIVE("main", "game", 5),
                                               NATIVE("__libc_start_main", "libc.so.6", 0)};
    static const struct stack_frame more[] = {NATIVE("draw", "game", 5), NATIVE("main", "game", 5)};
    struct fixture x = family_from(alone, 2, NULL), y = family_from(more, 2, NULL);

    (void)state;
    assert_int_equal(x.family.class, STACK_CLASS_IN_APP);
    assert_string_equal(x.family.title, "main");
    assert_int_equal(y.family.n_names, 1);
    assert_uses(&y, "counted base");
    fixture_free(&x);
    fixture_free(&y);
}

static void a_function_of_the_app_may_be_called_like_a_threads_start(void **state)
{
    static const struct stack_frame frames[] = {
        NATIVE("clone", "libgame.so", 5), NATIVE("start", "libgame.so", 5),
        NATIVE("clone", "libc.so", 0), NATIVE("start", "libgame.so", 5)};
    struct fixture x = family_from(frames, 4, NULL);

    (void)state;
    assert_uses(&x, "counted counted base base");
    fixture_free(&x);
}

/* Rules -------------------------------------------------------------------------------------------
 */

static void exclude_wins_over_include_and_include_over_the_built_in_lists(void **state)
{
    static const struct stack_frame frames[] = {
        MANAGED_FRAME("androidx.room.Query.run"),
        MANAGED_FRAME("com.studio.ads.Banner.show"),
        MANAGED_FRAME("com.studio.game.Level.load"),
        MANAGED_FRAME("com.studios.other.Thing.go"),
    };
    static const struct rule include[] = {{RULE_PACKAGE, "com.studio", NULL},
                                          {RULE_PACKAGE, "androidx.room", NULL}};
    static const struct rule exclude[] = {{RULE_PACKAGE, "com.studio.ads", NULL}};
    struct rules rules = {.include = include, .n_include = 2, .exclude = exclude, .n_exclude = 1};
    struct fixture x = family_from(frames, 4, &rules);

    (void)state;
    assert_uses(&x, "counted excluded counted other");
    assert_ptr_equal(x.family.notes[2].rule, &include[0]);
    assert_null(x.family.notes[3].rule);
    fixture_free(&x);
}

static void a_keyword_is_too_wide_for_the_system(void **state)
{
    static const struct stack_frame frames[] = {
        NATIVE("std::vector<int>::push_back(int)", "libgame.so", 4),
        NATIVE("game::add()", "libgame.so", 4),
        NATIVE("gameservice::poll()", "/system/lib64/libgameservice.so", 4),
    };
    static const struct rule keyword[] = {{RULE_KEYWORD, "GAME", NULL}};
    static const struct rule named[] = {{RULE_MODULE, "libgame*.so", NULL},
                                        {RULE_FUNCTION, "std::vector::*", NULL}};
    struct rules wide = {.include = keyword, .n_include = 1};
    struct rules exact = {.include = named, .n_include = 2};
    struct fixture x = family_from(frames, 3, &wide), y = family_from(frames, 3, &exact);

    (void)state;
    assert_uses(&x, "system counted system");
    assert_uses(&y, "system counted counted");
    fixture_free(&x);
    fixture_free(&y);

    exact.include++; /* the function alone */
    exact.n_include--;
    x = family_from(frames, 3, &exact);
    assert_uses(&x, "counted other system");
    fixture_free(&x);
}

static void the_first_owner_rule_in_the_list_wins(void **state)
{
    static const struct stack_frame frames[] = {NATIVE("game::draw()", "librender.so", 4),
                                                NATIVE("ui::Panel::show()", "libhud.so", 4)};
    static const struct rule owners[] = {{RULE_KEYWORD, "sound", "audio"},
                                         {RULE_PACKAGE, "ui", "interface"},
                                         {RULE_MODULE, "librender.so", "graphics"}};
    static const struct rule ignore[] = {{RULE_FUNCTION, "game::dr*", NULL}};
    struct rules rules = {.owners = owners, .n_owners = 3, .ignore = ignore, .n_ignore = 1};
    struct fixture x = family_from(frames, 2, &rules);

    (void)state;
    assert_string_equal(x.family.owner, "interface");
    assert_ptr_equal(x.family.owner_rule, &owners[1]);
    assert_true(x.family.ignored);
    fixture_free(&x);

    rules.n_owners = 1;
    rules.n_ignore = 0;
    x = family_from(frames, 2, &rules);
    assert_null(x.family.owner);
    assert_false(x.family.ignored);
    fixture_free(&x);
}

static void the_ignore_list_looks_no_deeper_than_the_fingerprint(void **state)
{
    static const struct stack_frame frames[] = {
        NATIVE("game::a()", "libgame.so", 4), NATIVE("game::b()", "libgame.so", 4),
        NATIVE("game::c()", "libgame.so", 4), NATIVE("game::tick()", "libgame.so", 4)};
    static const struct rule ignore[] = {{RULE_FUNCTION, "game::tick", NULL}};
    struct rules rules = {.ignore = ignore, .n_ignore = 1};
    struct fixture x = family_from(frames, 4, &rules);

    (void)state;
    assert_false(x.family.ignored);
    fixture_free(&x);
    rules.depth = 4;
    x = family_from(frames, 4, &rules);
    assert_true(x.family.ignored);
    fixture_free(&x);
}

static void bad_rules_are_named(void **state)
{
    static const struct rule good[] = {{RULE_MODULE, "libgame.so", "team"}};
    static const struct rule empty[] = {{RULE_MODULE, "libgame.so", "team"},
                                        {RULE_KEYWORD, "", "team"}};
    static const struct rule control[] = {{RULE_MODULE, "lib\n", NULL}};
    static const struct rule unowned[] = {{RULE_MODULE, "libgame.so", NULL}};
    const struct {
        struct rules rules;
        const char *field;
    } bad[] = {
        {{.include = empty, .n_include = 2}, "include[1].pattern"},
        {{.exclude = control, .n_exclude = 1}, "exclude[0].pattern"},
        {{.owners = unowned, .n_owners = 1}, "owners[0].owner"},
        {{.ignore = good, .n_ignore = RULES_MAX + 1}, "ignore"},
        {{.depth = 6}, "depth"},
        {{.unknown_percent = 101}, "unknown_percent"},
        {{.min_rate_ppm = 1000001}, "min_rate_ppm"},
    };
    struct rules fine = {.include = good, .n_include = 1, .owners = good, .n_owners = 1};
    struct err err;

    (void)state;
    assert_true(rules_check(&fine, &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(rules_check(&bad[i].rules, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_string_equal(err.field, bad[i].field);
    }
}

/* Fingerprints ------------------------------------------------------------------------------------
 */

static void what_compilers_do_leaves_the_fingerprint(void **state)
{
    static const struct stack_frame plain[] = {
        NATIVE("game::Mesh::read(int)", "libgame.so", 12),
        NATIVE("game::Level::load(int)", "libgame.so", 40),
        NATIVE("game::World::enter()", "libgame.so", 44),
    };
    static const struct stack_frame dressed[] = {
        {.status = STACK_STATUS_SYMBOLICATED,
         .function = "void game::Mesh::read<unsigned char>(int) [clone .isra.0] [clone .cold]",
         .module = "libgame.so",
         .line = 999},
        {.status = STACK_STATUS_SYMBOLICATED,
         .function = "game::Level::load(int)::{lambda()#2}::operator()() const",
         .module = "libgame.so",
         .line = 41,
         .inlined = true},
        NATIVE("std::_Function_handler<void ()>::_M_invoke(std::_Any_data const&)", "libgame.so",
               300),
        NATIVE("game::Level::load(int)", "libgame.so", 47),
        NATIVE("game::Level::load(int)", "libgame.so", 47),
        SYSTEM_FRAME("libEGL.so"),
        NATIVE("non-virtual thunk to game::World::enter()", "libgame.so", 0),
        NATIVE("game::World::enter()", "/data/app/x/lib/arm64/libgame.so", 45),
        NATIVE("game::Loop::tick()", "libgame.so", 46),
    };
    struct fixture x = family_from(plain, 3, NULL), y = family_from(dressed, 9, NULL);

    (void)state;
    assert_uses(&y, "counted counted system recursion recursion system glue counted beyond");
    for (int d = 0; d < 3; d++)
        assert_memory_equal(x.family.fingerprint[d], y.family.fingerprint[d], FINGERPRINT_BYTES);
    assert_memory_not_equal(x.family.fingerprint[3], y.family.fingerprint[3], FINGERPRINT_BYTES);
    fixture_free(&x);
    fixture_free(&y);
}

static void recursion_of_any_depth_and_start_is_one_family(void **state)
{
    static const char *const layout[] = {"ui::Widget::layout", "ui::Row::place", "ui::Box::fit"};
    struct fixture first = {0};

    (void)state;
    for (unsigned period = 1; period <= 3; period++)
        for (unsigned start = 0; start < period; start++)
            for (unsigned n = 2 * period; n < 20; n++) {
                struct stack_frame frames[24] = {NATIVE("ui::Text::measure", "libhud.so", 1)};
                struct fixture x;

                for (unsigned i = 0; i < n; i++)
                    frames[1 + i] =
                        (struct stack_frame)NATIVE(layout[(start + i) % period], "libhud.so", i);
                frames[1 + n] = (struct stack_frame)NATIVE("ui::Screen::show", "libhud.so", 1);
                x = family_from(frames, n + 2, NULL);
                assert_int_equal(x.family.n_names, 2 + period);
                assert_string_equal(x.family.names[0], "ui::Text::measure");
                assert_string_equal(x.family.names[1 + period], "ui::Screen::show");
                if (start || n > 2 * period) {
                    assert_memory_equal(x.family.fingerprint, first.family.fingerprint,
                                        sizeof x.family.fingerprint);
                    fixture_free(&x);
                    continue;
                }
                fixture_free(&first);
                first = x;
            }
    fixture_free(&first);
}

static void equal_at_one_depth_is_equal_at_every_smaller_one(void **state)
{
    static const char *const names[] = {"game::a()", "game::b()", "game::c()"};
    enum { N = 400 };
    struct fixture *all = calloc(N, sizeof *all);
    uint64_t x = 7;

    (void)state;
    for (int i = 0; i < N; i++) {
        struct stack_frame frames[6];
        size_t n = (size_t)i % 7;

        for (size_t k = 0; k < n; k++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            frames[k] = (struct stack_frame)NATIVE(names[(x >> 33) % 3], "libgame.so", 1);
        }
        all[i] = family_from(frames, n, NULL);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            for (int d = RULES_DEPTH_MAX - 1; d > 0; d--)
                if (memcmp(all[i].family.fingerprint[d], all[j].family.fingerprint[d],
                           FINGERPRINT_BYTES) == 0)
                    assert_memory_equal(all[i].family.fingerprint[d - 1],
                                        all[j].family.fingerprint[d - 1], FINGERPRINT_BYTES);
    for (int i = 0; i < N; i++)
        fixture_free(&all[i]);
    free(all);
}

static void crashes_and_janks_are_different_families(void **state)
{
    static const struct stack_frame frames[] = {NATIVE("game::a()", "libgame.so", 4)};
    struct stack_input jank = {.kind = STACK_JANK, .frames = frames, .n = 1},
                       crash = {.kind = STACK_CRASH, .frames = frames, .n = 1};
    struct fixture x = family_of_input(&jank, NULL), y = family_of_input(&crash, NULL);

    (void)state;
    assert_memory_not_equal(x.family.fingerprint[0], y.family.fingerprint[0], FINGERPRINT_BYTES);
    fixture_free(&x);
    fixture_free(&y);
}

/* Stored fingerprints must not move: a change of the definitions is a new FAMILY_VERSION. */
static void fingerprints_of_version_1_stay(void **state)
{
    static const struct stack_frame frames[] = {NATIVE("game::a()", "libgame.so", 4),
                                                NATIVE("game::b()", "libgame.so", 4)};
    /* printf 'framewatch stack family\0\x01\0\0\x03game::a\0game::b\0' | sha256sum | cut -c -32 */
    static const char *const expected = "98ad3b167d416b67c7688834255cc6eb";
    struct fixture x = family_from(frames, 2, NULL);
    char hex[2 * FINGERPRINT_BYTES + 1];

    (void)state;
    assert_int_equal(FAMILY_VERSION, 1);
    to_hex(x.family.fingerprint[2], FINGERPRINT_BYTES, hex);
    assert_string_equal(hex, expected);
    fixture_free(&x);
}

static void alternatives_of_a_mapping_make_one_name(void **state)
{
    static const char *const one[] = {"com.x.B.run", "com.x.A.run", "com.x.A.run"};
    static const char *const other[] = {"com.x.A.run", "com.x.B.run"};
    struct stack_frame a = {.status = STACK_STATUS_AMBIGUOUS,
                            .function = "a.b.c",
                            .alternatives = one,
                            .n_alternatives = 3};
    struct stack_frame b = {.status = STACK_STATUS_AMBIGUOUS,
                            .function = "a.d.e",
                            .alternatives = other,
                            .n_alternatives = 2};
    struct fixture x = family_from(&a, 1, NULL), y = family_from(&b, 1, NULL);

    (void)state;
    assert_string_equal(x.family.names[0], "com.x.A.run|com.x.B.run");
    assert_memory_equal(x.family.fingerprint, y.family.fingerprint, sizeof x.family.fingerprint);
    fixture_free(&x);
    fixture_free(&y);
}

static void
symbols_still_missing_make_a_family_provisional_only_where_they_could_change_it(void **state)
{
    static const struct stack_frame frames[] = {
        NATIVE("game::a()", "libgame.so", 4), NATIVE("game::b()", "libgame.so", 4),
        NATIVE("game::c()", "libgame.so", 4), RAW_FRAME("libother.so", 8)};
    struct rules four = {.depth = 4};
    struct fixture x = family_from(frames, 4, NULL), y = family_from(frames, 4, &four);

    (void)state;
    assert_false(x.family.provisional);
    assert_true(y.family.provisional);
    fixture_free(&x);
    fixture_free(&y);
}

/* Flame graph, memory -----------------------------------------------------------------------------
 */

static void a_folded_stack_reads_from_the_root(void **state)
{
    static const struct stack_frame frames[] = {
        SYSTEM_FRAME("libc.so"),
        RAW_FRAME("libgame.so", 8),
        NATIVE("game::Level::load()::{lambda()#1}::operator()() const", "libgame.so", 4),
        NATIVE("game::Level::load()", "libgame.so", 4),
        NATIVE("game::walk()", "libgame.so", 4),
        NATIVE("game::walk()", "libgame.so", 4),
        NATIVE("__start_thread", "libc.so", 0),
    };
    static const char *const expected[] = {"__start_thread", "game::walk", "game::Level::load",
                                           "libgame.so+?", "libc.so"};
    struct fixture x = family_from(frames, 7, NULL);
    const char *const *names;
    size_t n;

    (void)state;
    assert_true(family_folded(&x.family, x.mem, &names, &n));
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(names[i], expected[i]);
    fixture_free(&x);
}

static void frames_beyond_the_limit_are_left_out(void **state)
{
    struct stack_frame *frames = calloc(5000, sizeof *frames);
    struct fixture x;

    (void)state;
    for (int i = 0; i < 5000; i++)
        frames[i] = (struct stack_frame)NATIVE("game::a()", "libgame.so", 1);
    x = family_from(frames, 5000, NULL);
    assert_int_equal(x.family.n_notes, STACK_FRAMES_MAX);
    assert_int_equal(x.family.n_names, 1);
    fixture_free(&x);
    free(frames);
}

static void running_out_of_memory_is_told(void **state)
{
    static const struct stack_frame frames[] = {
        NATIVE("game::a()", "libgame.so", 4), RAW_FRAME("libgame.so", 8), SYSTEM_FRAME("libc.so")};
    struct stack_input in = {.frames = frames, .n = 3};
    struct rules rules = {0};
    struct arena *mem = arena_new(1 << 20);
    struct family f;
    struct err err;
    size_t nth = 1;

    (void)state;
    for (;; nth++) {
        arena_fail_at(mem, nth);
        if (family_of(&in, &rules, mem, &f, &err))
            break;
        assert_int_equal(err.code, ERR_TOO_BIG);
        arena_reset(mem);
    }
    assert_true(nth > 5);
    arena_free(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_the_app_make_a_stack_in_app),
        cmocka_unit_test(a_stack_of_the_system_alone_is_kept_apart),
        cmocka_unit_test(a_thread_that_was_held_is_suspended),
        cmocka_unit_test(a_stack_is_mostly_unknown_from_half_of_its_frames_on),
        cmocka_unit_test(an_engine_without_symbols_does_not_hide_the_app),
        cmocka_unit_test(main_counts_only_where_the_app_has_nothing_else),
        cmocka_unit_test(a_function_of_the_app_may_be_called_like_a_threads_start),
        cmocka_unit_test(exclude_wins_over_include_and_include_over_the_built_in_lists),
        cmocka_unit_test(a_keyword_is_too_wide_for_the_system),
        cmocka_unit_test(the_first_owner_rule_in_the_list_wins),
        cmocka_unit_test(the_ignore_list_looks_no_deeper_than_the_fingerprint),
        cmocka_unit_test(bad_rules_are_named),
        cmocka_unit_test(what_compilers_do_leaves_the_fingerprint),
        cmocka_unit_test(recursion_of_any_depth_and_start_is_one_family),
        cmocka_unit_test(equal_at_one_depth_is_equal_at_every_smaller_one),
        cmocka_unit_test(crashes_and_janks_are_different_families),
        cmocka_unit_test(fingerprints_of_version_1_stay),
        cmocka_unit_test(alternatives_of_a_mapping_make_one_name),
        cmocka_unit_test(
            symbols_still_missing_make_a_family_provisional_only_where_they_could_change_it),
        cmocka_unit_test(a_folded_stack_reads_from_the_root),
        cmocka_unit_test(frames_beyond_the_limit_are_left_out),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
