#include "stacks/kin.h"
#include "stacks_fixture.h"

#include <stdlib.h>

enum { MEMBERS = 64 };

/* Families of chains like "abcde": functions app::a and so on, innermost first; a final '.' says
 * that the stack was unwound to its thread's start. */
struct kinship {
    struct fixture x[MEMBERS];
    struct kin_member members[MEMBERS];
    size_t n;
    struct kin_join *joins;
    size_t n_joins;
    struct arena *mem;
    unsigned depth; /* 0: 3 */
    struct kin_apart apart[4];
    size_t n_apart;
};

static void add_from(struct kinship *k, const char *image, const char *chain, int64_t count)
{
    static const struct stack_frame base = SYSTEM_FRAME("libc.so");
    char names[32][16];
    struct stack_frame frames[33];
    size_t n = 0;

    for (; chain[n] && chain[n] != '.'; n++) {
        snprintf(names[n], sizeof names[n], "app::%c()", chain[n]);
        frames[n] = (struct stack_frame)NATIVE(names[n], "libgame.so", 1);
    }
    if (chain[n])
        frames[n++] = base;
    k->x[k->n] = family_from(frames, n, &(struct rules){.depth = k->depth});
    k->members[k->n] = (struct kin_member){
        .family = &k->x[k->n].family, .kind = STACK_JANK, .build = 1, .count = count};
    for (size_t i = 0; i < RULES_DEPTH_MAX; i++)
        k->members[k->n].image[i] = image;
    k->n++;
}

/* Each chain from an image of its own. */
static void add(struct kinship *k, const char *chain, int64_t count)
{
    add_from(k, chain, chain, count);
}

static void find(struct kinship *k)
{
    struct err err;

    if (!k->mem)
        k->mem = arena_new(1 << 24);
    assert_true(
        kin_find(k->members, k->n, k->apart, k->n_apart, k->mem, &k->joins, &k->n_joins, &err));
}

static void end(struct kinship *k)
{
    for (size_t i = 0; i < k->n; i++)
        fixture_free(&k->x[i]);
    arena_free(k->mem);
}

/* Number of the member whose family member i's joins; -1: none */
static int joined(const struct kinship *k, size_t i)
{
    unsigned d = k->x[i].family.depth - 1;

    for (size_t j = 0; j < k->n_joins; j++) {
        if (memcmp(k->joins[j].from, k->x[i].family.fingerprint[d], FINGERPRINT_BYTES) != 0)
            continue;
        for (size_t to = 0; to < k->n; to++)
            if (memcmp(k->joins[j].into, k->x[to].family.fingerprint[d], FINGERPRINT_BYTES) == 0)
                return (int)to;
    }
    return -1;
}

static void a_family_with_a_frame_lost_joins_the_heavier_one(void **state)
{
    struct kinship k = {0};

    (void)state;
    add(&k, "abcdefg.", 100);
    add(&k, "acdefg.", 20);   /* b is lost */
    add(&k, "bcdefg.", 15);   /* a, the innermost */
    add(&k, "xabcdefg.", 10); /* it has a name that the heavier one lost */
    add(&k, "adefg.", 9);     /* two are lost */
    add(&k, "uvw.", 50);
    find(&k);
    assert_int_equal(k.n_joins, 4);
    for (size_t i = 1; i <= 4; i++)
        assert_int_equal(joined(&k, i), 0);
    assert_int_equal(joined(&k, 5), -1);
    for (size_t i = 0; i < k.n_joins; i++) {
        const struct kin_join *j = &k.joins[i];

        assert_int_equal(j->reason, KIN_LOST);
        assert_int_equal(j->into_count, 100);
        if (j->from_count == 10) {
            assert_null(j->lost);
            assert_string_equal(j->lost_into, "app::x");
            continue;
        }
        assert_string_equal(j->lost, j->from_count == 20   ? "app::b"
                                     : j->from_count == 15 ? "app::a"
                                                           : "app::c"); /* of its nearest kin */
        assert_null(j->lost_into);
    }
    end(&k);
}

static void three_names_must_be_the_same(void **state)
{
    struct kinship k = {0};

    (void)state;
    add(&k, "abcd.", 100);
    add(&k, "acd.", 20);
    add(&k, "uvw.", 100);
    add(&k, "uw.", 20);
    add(&k, "ijkl.", 100);
    add(&k, "ijx.", 20);
    find(&k);
    assert_int_equal(k.n_joins, 1);
    assert_int_equal(joined(&k, 1), 0);
    end(&k);
}

static void a_stack_cut_short_joins_the_family_it_began_like(void **state)
{
    struct kinship k = {0};

    (void)state;
    add(&k, "abcdefg.", 100);
    add(&k, "ab", 5);
    add(&k, "a", 3);
    add(&k, "uvwxyz.", 100);
    add(&k, "uv.", 5); /* its thread began there: it is whole */
    find(&k);
    assert_int_equal(k.n_joins, 2);
    assert_int_equal(joined(&k, 1), 0);
    assert_int_equal(joined(&k, 2), 0);
    assert_int_equal(k.joins[0].reason, KIN_CUT);
    assert_null(k.joins[0].lost);
    end(&k);
}

static void a_doubtful_guess_is_none(void **state)
{
    struct kinship k = {0};

    (void)state;
    add(&k, "abcdefg.", 1000);
    add_from(&k, "abcdefg.", "axcdefg.", 300);
    add(&k, "acdefg.", 200);
    find(&k);
    assert_int_equal(joined(&k, 2), -1);
    k.members[1].count = 240;
    find(&k);
    assert_int_equal(joined(&k, 2), 0);
    assert_int_equal(joined(&k, 1), -1);
    end(&k);
}

static void the_lighter_joins_the_heavier_and_follows_it(void **state)
{
    struct kinship k = {0};

    (void)state;
    add(&k, "abcdefg.", 100);
    add(&k, "acdefg.", 50);
    add(&k, "adefg.", 10);
    find(&k);
    assert_int_equal(k.n_joins, 2);
    assert_int_equal(joined(&k, 1), 0);
    assert_int_equal(joined(&k, 2), 0);
    end(&k);
}

static void two_ways_in_one_image_are_two(void **state)
{
    struct kinship k = {0};

    (void)state;
    add_from(&k, "arm64", "abcdefg.", 100);
    add_from(&k, "armv7", "acdefg.", 20);
    find(&k);
    assert_int_equal(joined(&k, 1), 0);
    add_from(&k, "armv7", "abcdefg.", 2);
    find(&k);
    assert_int_equal(joined(&k, 1), 0);
    k.members[2].count = 3;
    find(&k);
    assert_int_equal(k.n_joins, 0);
    for (size_t i = 0; i < k.n; i++)
        memset(k.members[i].image, 0, sizeof k.members[i].image);
    find(&k);
    assert_int_equal(k.n_joins, 0);
    end(&k);
}

static void a_change_from_build_to_build_is_no_lost_frame(void **state)
{
    struct kinship k = {0};

    (void)state;
    add(&k, "abcdefg.", 100);
    add(&k, "acdefg.", 20);
    k.members[1].build = 2;
    find(&k);
    assert_int_equal(k.n_joins, 0);
    add_from(&k, "acdefg.", "acdefg.", 20); /* half of it of the first build */
    find(&k);
    assert_int_equal(joined(&k, 1), 0);
    end(&k);
}

/* At depth 2 the third name, which kinship goes by, may differ within a family. */
static void half_of_a_familys_weight_must_be_kin(void **state)
{
    struct kinship k = {.depth = 2};

    (void)state;
    add(&k, "abcdefg.", 100);
    add(&k, "acdef.", 20);
    add(&k, "acxyz.", 19);
    find(&k);
    assert_int_equal(joined(&k, 1), 0);
    k.members[2].count = 21;
    find(&k);
    assert_int_equal(k.n_joins, 0);
    end(&k);
}

/* One image lost a, the other b and c: only d, e and f are in common. */
static void both_may_have_lost_frames(void **state)
{
    struct kinship k = {0};

    (void)state;
    add_from(&k, "arm64", "bcdef.", 100);
    add_from(&k, "armv7", "adefg.", 20);
    add_from(&k, "arm64", "uvw.", 50);
    add_from(&k, "armv7", "uvw.", 10);
    find(&k);
    assert_int_equal(k.n_joins, 1);
    assert_int_equal(joined(&k, 1), 0);
    assert_string_equal(k.joins[0].lost, "app::b, app::c");
    assert_string_equal(k.joins[0].lost_into, "app::a");
    end(&k);
}

static void four_lost_frames_are_too_many(void **state)
{
    struct kinship k = {0};

    (void)state;
    add_from(&k, "arm64", "bcdef.", 100);
    add_from(&k, "armv7", "xydef.", 20);
    find(&k);
    assert_int_equal(k.n_joins, 0);
    end(&k);
}

/* Siblings: two functions that one caller calls. Each is met in both images, or one is rare. */
static void what_one_image_lacks_the_other_must_make_up_for(void **state)
{
    struct kinship k = {0};

    (void)state;
    add_from(&k, "arm64", "xcdef.", 100);
    add_from(&k, "armv7", "ycdef.", 20);
    add_from(&k, "arm64", "uvw.", 100);
    add_from(&k, "armv7", "uvw.", 20);
    find(&k);
    assert_int_equal(joined(&k, 1), 0);
    k.members[3].count = 200; /* armv7 janks as often as arm64: y's rate there is a fifth of x's */
    find(&k);
    assert_int_equal(joined(&k, 1), -1);
    k.members[3].count = 20;
    k.members[1].count = 3; /* of a rarity nothing can be said */
    find(&k);
    assert_int_equal(joined(&k, 1), -1);
    end(&k);
}

static void absence_must_be_telling(void **state)
{
    struct kinship k = {0};

    (void)state;
    add_from(&k, "arm64", "abcdef.", 10);
    add_from(&k, "armv7", "acdef.", 2);
    add_from(&k, "arm64", "uvw.", 90);
    find(&k);
    assert_int_equal(k.n_joins, 0); /* of ten, less than one was to be expected in armv7 */
    k.members[2].count = 1;
    add_from(&k, "armv7", "uvw.", 9);
    find(&k);
    assert_int_equal(joined(&k, 1), 0); /* five were */
    end(&k);
}

/* The culprits are in two libraries, so their images say nothing; those of the callers do. */
static void images_are_compared_where_both_have_a_name(void **state)
{
    struct kinship k = {0};

    (void)state;
    add_from(&k, "game", "abcdef.", 100);
    add_from(&k, "game", "bcdef.", 20);
    k.members[1].image[0] = "engine";
    find(&k);
    assert_int_equal(k.n_joins, 0);
    for (size_t i = 0; i < RULES_DEPTH_MAX; i++)
        k.members[1].image[i] = i ? "game, another" : "engine";
    find(&k);
    assert_int_equal(joined(&k, 1), 0);
    end(&k);
}

static void the_fewest_lost_frames_decide(void **state)
{
    struct kinship k = {0};

    (void)state;
    add_from(&k, "arm64", "abcdef.", 100);
    add_from(&k, "arm64", "xbcdef.", 90); /* its sibling, which has lost x there and a here */
    add_from(&k, "armv7", "acdef.", 30);
    find(&k);
    assert_int_equal(joined(&k, 2), 0);
    end(&k);
}

/* "app::a|app::b" where a mapping allows two names for the culprit. */
static void add_ambiguous(struct kinship *k, int64_t count)
{
    static const char *const names[] = {"app.A.run", "app.B.run"};
    const struct stack_frame frames[] = {{.status = STACK_STATUS_AMBIGUOUS,
                                          .function = "x.y",
                                          .alternatives = names,
                                          .n_alternatives = 2},
                                         MANAGED_FRAME("app.C.run"),
                                         MANAGED_FRAME("app.D.run")};

    k->x[k->n] = family_from(frames, 3, &(struct rules){.depth = 3});
    k->members[k->n] = (struct kin_member){
        .family = &k->x[k->n].family, .kind = STACK_JANK, .build = 1, .count = count};
    k->n++;
}

static void add_plain(struct kinship *k, const char *culprit, int64_t count)
{
    const struct stack_frame frames[] = {MANAGED_FRAME(culprit), MANAGED_FRAME("app.C.run"),
                                         MANAGED_FRAME("app.D.run")};

    k->x[k->n] = family_from(frames, 3, &(struct rules){.depth = 3});
    k->members[k->n] = (struct kin_member){
        .family = &k->x[k->n].family, .kind = STACK_JANK, .build = 2, .count = count};
    k->n++;
}

static void of_several_names_the_one_that_is_met_elsewhere_is_taken(void **state)
{
    struct kinship k = {0};

    (void)state;
    add_ambiguous(&k, 10);
    add_plain(&k, "app.B.run", 100);
    find(&k);
    assert_int_equal(joined(&k, 0), 1);
    assert_int_equal(k.joins[0].reason, KIN_NAMED);
    assert_string_equal(k.joins[0].named, "app.B.run");
    assert_null(k.joins[0].lost);
    k.members[0].count = 1000; /* the lighter joins the heavier */
    find(&k);
    assert_int_equal(joined(&k, 1), 0);
    k.members[0].count = 10;
    add_plain(&k, "app.A.run", 26); /* it may as well be that one */
    find(&k);
    assert_int_equal(k.n_joins, 0);
    end(&k);
}

static void who_stays_is_joined_but_joins_none(void **state)
{
    struct kinship k = {0};

    (void)state;
    add(&k, "abcdefg.", 100);
    add(&k, "acdefg.", 30);
    add(&k, "aefgh.", 20); /* of the second it has lost c and d */
    k.members[1].stays = true;
    find(&k);
    assert_int_equal(joined(&k, 1), -1);
    k.members[1].stays = false;
    find(&k);
    assert_int_equal(joined(&k, 1), 0);
    end(&k);
}

static void set_apart(struct kinship *k, size_t one, size_t other)
{
    struct kin_apart *a = &k->apart[k->n_apart++];

    memcpy(a->one, k->x[one].family.fingerprint[2], FINGERPRINT_BYTES);
    memcpy(a->other, k->x[other].family.fingerprint[2], FINGERPRINT_BYTES);
}

static void families_set_apart_are_never_one(void **state)
{
    struct kinship k = {0};

    (void)state;
    add(&k, "abcdefg.", 100);
    add(&k, "acdefg.", 50);
    add(&k, "adefg.", 10);
    set_apart(&k, 2, 0); /* not by way of the second one either */
    find(&k);
    assert_int_equal(joined(&k, 1), 0);
    assert_int_equal(joined(&k, 2), -1);
    k.apart[0] = k.apart[1];
    k.n_apart = 0;
    set_apart(&k, 0, 1); /* whichever comes first */
    find(&k);
    assert_int_equal(joined(&k, 1), -1);
    end(&k);
}

static int by_from(const void *a, const void *b)
{
    return memcmp(a, b, FINGERPRINT_BYTES);
}

static void the_order_of_members_does_not_matter(void **state)
{
    static const char *const chains[] = {"abcdefg.", "acdefg.", "abdefg.", "axcdefg.", "ab",
                                         "uvwxyz.",  "uwxyz.",  "uvxyz.",  "u",        "uwyz."};
    struct kin_join *first = NULL;
    size_t n_first = 0;

    (void)state;
    for (size_t turn = 0; turn < 10; turn++) {
        struct kinship k = {0};

        for (size_t i = 0; i < 10; i++) {
            size_t at = (i * 3 + turn) % 10;

            add(&k, chains[at], (int64_t)(100 / (at % 5 + 1)));
        }
        find(&k);
        qsort(k.joins, k.n_joins, sizeof *k.joins, by_from);
        if (turn == 0) {
            n_first = k.n_joins;
            first = calloc(n_first + 1, sizeof *first);
            memcpy(first, k.joins, n_first * sizeof *first);
            assert_true(n_first > 2);
        }
        assert_int_equal(k.n_joins, n_first);
        for (size_t i = 0; i < n_first; i++) {
            assert_memory_equal(first[i].from, k.joins[i].from, FINGERPRINT_BYTES);
            assert_memory_equal(first[i].into, k.joins[i].into, FINGERPRINT_BYTES);
            assert_int_equal(first[i].reason, k.joins[i].reason);
        }
        end(&k);
    }
    free(first);
}

static void crashes_have_no_kin_among_janks(void **state)
{
    struct kinship k = {0};

    (void)state;
    add(&k, "abcdefg.", 100);
    add(&k, "acdefg.", 20);
    k.members[1].kind = STACK_CRASH;
    find(&k);
    assert_int_equal(k.n_joins, 0);
    k.n = 0;
    find(&k);
    assert_int_equal(k.n_joins, 0);
    k.n = 2;
    end(&k);
}

static void running_out_of_memory_is_told(void **state)
{
    struct kinship k = {0};
    struct err err;
    size_t nth = 1;

    (void)state;
    add(&k, "abcdefg.", 100);
    add(&k, "acdefg.", 20);
    k.mem = arena_new(1 << 24);
    for (;; nth++) {
        arena_fail_at(k.mem, nth);
        if (kin_find(k.members, k.n, NULL, 0, k.mem, &k.joins, &k.n_joins, &err))
            break;
        assert_int_equal(err.code, ERR_TOO_BIG);
        arena_reset(k.mem);
    }
    assert_true(nth > 5);
    assert_int_equal(k.n_joins, 1);
    end(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_with_a_frame_lost_joins_the_heavier_one),
        cmocka_unit_test(three_names_must_be_the_same),
        cmocka_unit_test(a_change_from_build_to_build_is_no_lost_frame),
        cmocka_unit_test(a_stack_cut_short_joins_the_family_it_began_like),
        cmocka_unit_test(a_doubtful_guess_is_none),
        cmocka_unit_test(the_lighter_joins_the_heavier_and_follows_it),
        cmocka_unit_test(two_ways_in_one_image_are_two),
        cmocka_unit_test(half_of_a_familys_weight_must_be_kin),
        cmocka_unit_test(both_may_have_lost_frames),
        cmocka_unit_test(four_lost_frames_are_too_many),
        cmocka_unit_test(what_one_image_lacks_the_other_must_make_up_for),
        cmocka_unit_test(absence_must_be_telling),
        cmocka_unit_test(images_are_compared_where_both_have_a_name),
        cmocka_unit_test(the_fewest_lost_frames_decide),
        cmocka_unit_test(of_several_names_the_one_that_is_met_elsewhere_is_taken),
        cmocka_unit_test(who_stays_is_joined_but_joins_none),
        cmocka_unit_test(families_set_apart_are_never_one),
        cmocka_unit_test(the_order_of_members_does_not_matter),
        cmocka_unit_test(crashes_have_no_kin_among_janks),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
