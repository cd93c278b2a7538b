/* Releases and fixes made up (support/release_sim.h, fix_sim.h) and judged by the real code, in
 * small numbers; tests/bench/alerts.sh runs as many as wanted. Seeds are fixed, so a result is
 * always the same; margins are wide enough for another libm. */
/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/fix_sim.h"
#include "support/release_sim.h"

#include <math.h>
#include <string.h>

#define RELEASES 2

static struct sim_options small(enum sim_mix mix, double effect)
{
    struct sim_options o = sim_defaults();

    o.mix = mix;
    o.effect = effect;
    o.frames = 40;
    o.installs = 450;
    o.days_before = 10;
    return o;
}

/* Slices but the first in which something was said, over all releases. */
static unsigned false_alarms(const struct sim_release r[RELEASES])
{
    unsigned n = 0;

    for (unsigned i = 0; i < RELEASES; i++)
        for (unsigned s = 1; s < SIM_SLICES; s++)
            n += r[i].slice[s].warn > 0 || r[i].slice[s].improved > 0;
    return n;
}

static void play(const struct sim_options *o, struct sim_release r[RELEASES])
{
    for (unsigned i = 0; i < RELEASES; i++)
        assert_true(sim_release(o, i, &r[i]));
}

static void twenty_percent_are_found_behind_fast_adopters_and_nothing_else(void **state)
{
    struct sim_options o = small(SIM_MIX_EARLY, 0.2);
    struct sim_release r[RELEASES];

    (void)state;
    play(&o, r);
    for (unsigned i = 0; i < RELEASES; i++) {
        assert_true(r[i].slice[0].alert > 0 && r[i].slice[0].alert <= 1000);
        assert_int_equal(r[i].slice[0].plain, 0); /* the plain rule sees fast devices only */
    }
    assert_int_equal(false_alarms(r), 0);
}

static void slow_adopters_are_no_regression(void **state)
{
    struct sim_options o = small(SIM_MIX_SLOW, 0);
    struct sim_release r[RELEASES];
    double raw = 0, d = 0;

    (void)state;
    play(&o, r);
    assert_int_equal(false_alarms(r), 0);
    for (unsigned i = 0; i < RELEASES; i++)
        for (unsigned s = 0; s < SIM_SLICES; s++) {
            raw += r[i].slice[s].raw / (RELEASES * SIM_SLICES);
            d += r[i].slice[s].d[1] / (RELEASES * SIM_SLICES);
        }
    assert_true(raw > 0.05);      /* the players are slower ones */
    assert_true(fabs(d) < 0.025); /* the build is not */
}

static void without_its_own_past_an_installs_speed_passes_for_the_builds(void **state)
{
    struct sim_options o = small(SIM_MIX_SLOW, 0);
    struct sim_release r;
    double own = 0, shrunken = 0;

    (void)state;
    assert_true(sim_release(&o, 0, &r));
    for (unsigned s = 0; s < SIM_SLICES; s++)
        own += r.slice[s].d[1] / SIM_SLICES;
    o.control = SIM_SHRUNKEN;
    assert_true(sim_release(&o, 0, &r));
    for (unsigned s = 0; s < SIM_SLICES; s++)
        shrunken += r.slice[s].d[1] / SIM_SLICES;
    assert_true(shrunken > own + 0.02);
}

/* A display that is locked shows less of a frame's work, or more: what was planted is what its
 * sessions show, and that is what is measured. */
static void what_is_planted_is_told_as_frames_show_it(void **state)
{
    struct sim_options o = small(SIM_MIX_NONE, 0.2);
    struct sim_release work, shown, free;

    (void)state;
    assert_true(sim_release(&o, 0, &free));
    o.vsync = true;
    assert_true(sim_release(&o, 0, &work));
    o.shown = true;
    assert_true(sim_release(&o, 0, &shown));
    for (unsigned m = 0; m < SIM_TIMES; m++) {
        assert_true(fabs(free.slice[0].shown[m] - log(1.2)) < 0.01);
        assert_true(fabs(work.slice[0].d[m] - work.slice[0].shown[m]) < 0.06);
        assert_true(fabs(shown.slice[0].d[m] - shown.slice[0].shown[m]) < 0.06);
        assert_true(fabs(work.slice[1].shown[m]) <= 0); /* nothing was done to it */
    }
    assert_true(work.slice[0].shown[1] < log(1.19));
    assert_true(fabs(shown.slice[0].shown[1] - log(1.2)) < 0.03);
    assert_true(shown.work > 0.2 && shown.work < 0.5);
}

static void equal_seeds_give_equal_releases(void **state)
{
    struct sim_options o = small(SIM_MIX_NONE, 0.1);
    struct sim_release a, b;

    (void)state;
    o.installs = 60;
    assert_true(sim_release(&o, 5, &a) && sim_release(&o, 5, &b));
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(sim_release(&o, 6, &b));
    assert_memory_not_equal(&a, &b, sizeof a);
}

struct counts {
    unsigned sessions[2], before, slow, looks;
};

static void count_played(void *user, const struct sim_played *s)
{
    struct counts *c = user;

    assert_true(s->scenes <= SIM_SCENES);
    assert_true(!s->arm || s->at >= 0);
    c->before += s->at < 0;
    for (unsigned i = 0; i < s->scenes; i++) {
        assert_true(s->in[i].frame_us[0] > 0);
        if (s->at >= 0 && s->tier == 0 && s->in[i].scene == 0)
            c->sessions[s->arm]++;
    }
    c->slow += s->tier == 0;
}

static void count_look(void *user)
{
    ((struct counts *)user)->looks++;
}

static void who_watches_sees_the_sessions_that_were_judged_and_changes_none(void **state)
{
    struct counts seen = {{0}, 0, 0, 0};
    const struct sim_watcher watcher = {&seen, count_played, count_look};
    struct sim_options o = small(SIM_MIX_EARLY, 0.2);
    struct sim_release alone, watched;

    (void)state;
    o.installs = 60;
    assert_true(sim_release(&o, 2, &alone));
    o.watcher = &watcher;
    assert_true(sim_release(&o, 2, &watched));
    assert_memory_equal(&alone, &watched, sizeof alone);
    assert_int_equal(seen.looks, SIM_LOOKS);
    assert_int_equal(seen.sessions[1], alone.slice[0].sessions);
    assert_true(seen.sessions[0] > 0 && seen.before > 0);
    /* every third install is of the slow tier */
    assert_true(fabs(seen.slow / (60 * sim_sessions_of_install(&o)) - 1) < 0.4);
}

static bool any_wrong(const struct fix_labels *l, double rr)
{
    for (unsigned i = 0; i < l->looks; i++)
        if (fix_wrong(l->label[i], rr))
            return true;
    return false;
}

static void fixes_are_seldom_judged_wrongly(void **state)
{
    static const double rr[] = {0.1, 0.5, 1, 2};
    static const enum verdict_label right[] = {VERDICT_FIXED, VERDICT_IMPROVED, VERDICT_NOT_FIXED,
                                               VERDICT_REGRESSED};
    const unsigned runs = 40;

    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        const struct fix_options o = {3, rr[k], 0.5, 1, 3000};
        unsigned wrong = 0, hit = 0;

        for (unsigned run = 0; run < runs; run++) {
            struct fix_labels l;

            fix_sim(&o, run, &l);
            assert_true(l.looks > 0);
            wrong += any_wrong(&l, o.rr);
            hit += l.label[l.looks - 1] == right[k];
        }
        if (wrong > 3 || hit < 36)
            fail_msg("RR %.1f: %u of %u wrong, %u as it is", rr[k], wrong, runs, hit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twenty_percent_are_found_behind_fast_adopters_and_nothing_else),
        cmocka_unit_test(slow_adopters_are_no_regression),
        cmocka_unit_test(without_its_own_past_an_installs_speed_passes_for_the_builds),
        cmocka_unit_test(what_is_planted_is_told_as_frames_show_it),
        cmocka_unit_test(equal_seeds_give_equal_releases),
        cmocka_unit_test(who_watches_sees_the_sessions_that_were_judged_and_changes_none),
        cmocka_unit_test(fixes_are_seldom_judged_wrongly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
