#include "stacks/paths.h"
#include "stacks_fixture.h"

#include <math.h>
#include <stdlib.h>

#define CAP ((size_t)64 << 20)

static struct paths *make(void)
{
    struct paths *p = paths_new(CAP);

    assert_non_null(p);
    return p;
}

/* steps: "menu shop buy" */
static void add_signed(struct paths *p, enum path_end end, const char *scene, const char *steps,
                       int sign)
{
    char text[1024], *save = NULL;
    const char *list[64];
    size_t n = 0;
    struct err err;

    snprintf(text, sizeof text, "%s", steps);
    for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
        list[n++] = s;
    if (!paths_add(p, end, scene, list, n, sign, &err))
        fail_msg("%s", err.text);
}

static void add(struct paths *p, enum path_end end, const char *scene, const char *steps, int times)
{
    while (times-- > 0)
        add_signed(p, end, scene, steps, 1);
}

/* "a>b x/X y/Y", a line each; the caller frees. */
static char *ranked(const struct paths *p, const char *scene, size_t max)
{
    struct arena *mem = arena_new(CAP);
    struct path_rank *list;
    struct buf b;
    struct err err;
    size_t n;

    buf_init(&b, CAP);
    assert_true(paths_rank(p, scene, max, mem, &list, &n, &err));
    for (size_t i = 0; i < n; i++) {
        for (unsigned k = 0; k < list[i].n; k++)
            buf_printf(&b, "%s%s", k ? ">" : "", list[i].steps[k]);
        buf_printf(&b, " %d/%d %d/%d %.3f\n", (int)list[i].support, (int)list[i].windows,
                   (int)list[i].clean_support, (int)list[i].clean_windows, list[i].lift);
    }
    buf_byte(&b, 0);
    arena_free(mem);
    return (char *)buf_steal(&b, &n);
}

static void assert_ranked(const struct paths *p, const char *scene, size_t max,
                          const char *expected)
{
    char *text = ranked(p, scene, max);

    assert_string_equal(text, expected);
    free(text);
}

/* By hand: (6.5 / 11) / (1.5 / 21) = 8.273; (10.5 / 11) / (20.5 / 21) = 0.978. */
static void ways_to_a_jank_come_by_lift(void **state)
{
    struct paths *p = make();

    (void)state;
    add(p, PATH_JANK, "town", "menu shop buy", 6);
    add(p, PATH_JANK, "town", "menu", 4);
    add(p, PATH_CLEAN, "town", "menu", 19);
    add(p, PATH_CLEAN, "town", "menu shop buy", 1);
    assert_ranked(p, "town", 10,
                  "menu>shop>buy 6/10 1/20 8.273\n"
                  "menu 10/10 20/20 0.978\n");
    assert_ranked(p, "town", 1, "menu>shop>buy 6/10 1/20 8.273\n");
    assert_ranked(p, "nowhere", 10, "");
    assert_ranked(p, NULL, 10,
                  "menu>shop>buy 6/10 1/20 8.273\n"
                  "menu 10/10 20/20 0.978\n");
    paths_free(p);
}

static void fewer_than_five_windows_are_no_way(void **state)
{
    struct paths *p = make();

    (void)state;
    add(p, PATH_JANK, "town", "shop", 4);
    assert_ranked(p, "town", 10, "");
    add(p, PATH_JANK, "town", "shop", 1);
    assert_ranked(p, "town", 10, "shop 5/5 0/0 1.833\n");
    paths_free(p);
}

static void a_step_counts_once_in_a_window_and_only_the_last_ten_count(void **state)
{
    struct paths *p = make();

    (void)state;
    add(p, PATH_JANK, "town", "early a a a a a a a a a b", 5);
    add(p, PATH_CLEAN, "town", "other", 5);
    /* "early" fell out; of the runs of a only the longest says something */
    assert_ranked(p, "town", 10,
                  "a>a>a>a>a 5/5 0/5 11.000\n"
                  "a>a>a>a>b 5/5 0/5 11.000\n");
    paths_free(p);
}

/* A step that is usual in one scene and rare in another must not be taken for a cause because the
 * janks are mostly in the first. */
static void scenes_are_compared_with_themselves(void **state)
{
    struct paths *p = make();
    struct arena *mem = arena_new(CAP);
    struct path_rank *list;
    struct err err;
    size_t n;

    (void)state;
    add(p, PATH_JANK, "race", "boost", 90);
    add(p, PATH_JANK, "race", "brake", 10);
    add(p, PATH_CLEAN, "race", "boost", 90);
    add(p, PATH_CLEAN, "race", "brake", 10);
    add(p, PATH_JANK, "town", "shop", 10);
    add(p, PATH_CLEAN, "town", "shop", 1000);
    assert_true(paths_rank(p, NULL, 10, mem, &list, &n, &err));
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs(list[i].lift - 1) < 0.1);
    arena_free(mem);
    paths_free(p);
}

static uint64_t step(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 33;
}

static void add_random(struct paths *p, uint64_t seed, int sign)
{
    static const char *const scenes[] = {"town", "race", ""};
    char steps[256] = "";
    uint64_t x = seed * 31 + 5;
    size_t n = step(&x) % 13;

    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(steps);

        snprintf(steps + at, sizeof steps - at, "s%d ", (int)(step(&x) % 4));
    }
    add_signed(p, step(&x) % 2 ? PATH_JANK : PATH_CLEAN, scenes[step(&x) % 3], steps, sign);
}

static void assert_same(const struct paths *p, const struct paths *q)
{
    static const char *const scenes[] = {NULL, "town", "race", ""};

    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        char *expected = ranked(q, scenes[i], 10000);

        assert_ranked(p, scenes[i], 10000, expected);
        free(expected);
    }
}

static void windows_add_up_in_any_order_and_are_taken_back(void **state)
{
    struct paths *all = make(), *backwards = make(), *odd = make();

    (void)state;
    for (uint64_t i = 0; i < 200; i++)
        add_random(all, i, 1);
    for (uint64_t i = 200; i--;)
        add_random(backwards, i, 1);
    assert_same(all, backwards);
    for (uint64_t i = 1; i < 200; i += 2)
        add_random(odd, i, 1);
    for (uint64_t i = 0; i < 200; i += 2)
        add_random(all, i, -1);
    assert_same(all, odd);
    paths_free(all);
    paths_free(backwards);
    paths_free(odd);
}

static void the_chosen_moment_is_even_over_the_steps(void **state)
{
    unsigned hits[7] = {0};

    (void)state;
    for (uint32_t i = 0; i < 7000; i++)
        hits[path_pick(&i, sizeof i, "town", 7)]++;
    for (int k = 0; k < 7; k++)
        assert_in_range(hits[k], 850, 1150);
    assert_int_equal(path_pick("x", 1, "town", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_to_a_jank_come_by_lift),
        cmocka_unit_test(fewer_than_five_windows_are_no_way),
        cmocka_unit_test(a_step_counts_once_in_a_window_and_only_the_last_ten_count),
        cmocka_unit_test(scenes_are_compared_with_themselves),
        cmocka_unit_test(windows_add_up_in_any_order_and_are_taken_back),
        cmocka_unit_test(the_chosen_moment_is_even_over_the_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
