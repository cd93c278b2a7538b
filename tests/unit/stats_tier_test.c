/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stats/tier.h"
#include "support/control.h"
#include "support/rng.h"
#include "support/tier_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_near(double is, double expected, double within)
{
    if (!(fabs(is - expected) <= within))
        fail_msg("%.17g is not %.17g within %g", is, expected, within);
}

static struct arena *mem;
static struct tier_sim sim;
static struct tier_fit fit;
static struct tier_score score[TIER_SIM_MODELS];
static struct tier_cuts cuts;
static struct err err;

static int setup(void **state)
{
    (void)state;
    mem = arena_new(4u << 20);
    tier_sim(4, 0, 4000, &sim);
    return !mem || !tier_fit(sim.device, TIER_SIM_MODELS, mem, &fit, &err);
}

static int teardown(void **state)
{
    (void)state;
    arena_free(mem);
    return 0;
}

static void score_all(void)
{
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++)
        tier_score(&fit, &sim.device[m], &score[m]);
}

/* y exactly linear in two features, no SoC, no noise: the regression has to find the line. */
static void a_line_is_found(void **state)
{
    struct tier_device d[60];
    struct rng r = rng_of(2, 0);
    struct tier_fit line;

    (void)state;
    for (int i = 0; i < 60; i++) {
        d[i] = (struct tier_device){.id = i, .soc = ""};
        for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
            d[i].feature[f] = NAN;
        d[i].feature[TIER_max_khz] = exp(14 + 0.3 * rng_normal(&r));
        d[i].feature[TIER_temperature] = 38 + 3 * rng_normal(&r);

        double y = 3 - 0.8 * (log(d[i].feature[TIER_max_khz]) - 14) +
                   0.02 * (d[i].feature[TIER_temperature] - 38);

        for (int k = 0; k < 50; k++)
            moments_add(&d[i].y, llround(1e6 * y));
    }
    assert_true(tier_fit(d, 60, mem, &line, &err));
    assert_near(line.coef[TIER_max_khz] / line.scale[TIER_max_khz], -0.8, 0.005);
    assert_near(line.coef[TIER_temperature] / line.scale[TIER_temperature], 0.02, 0.0005);
    assert_true(line.scale[TIER_ram_mb] == 0 && line.coef[TIER_ram_mb] == 0);
    for (int i = 0; i < 60; i++) {
        struct tier_score s;

        tier_score(&line, &d[i], &s);
        assert_near(s.prior, moments_mean(&d[i].y), 0.005);
    }
}

static void an_explanation_adds_up(void **state)
{
    (void)state;
    score_all();
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        const struct tier_score *s = &score[m];
        double prior = fit.intercept + s->soc;

        for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
            prior += s->part[f];
        assert_near(s->prior, prior, 1e-12);
        assert_near(s->capability, s->prior + s->data, 1e-12);
        if (s->n)
            assert_near(s->data, s->weight * (moments_mean(&sim.device[m].y) - s->prior), 1e-12);
        assert_true(s->weight >= 0 && s->weight <= 1 && s->sd > 0);
        assert_true(s->sd <= sqrt(fit.w2) * (1 + 1e-12));
    }
}

static void variances_are_those_that_made_the_models(void **state)
{
    (void)state;
    assert_near(fit.s2, 0.25 * 0.25, 0.005);
    assert_near(sqrt(fit.w2), 0.12, 0.04);
    assert_near(sqrt(fit.soc_w2), 0.10, 0.05);
}

/* What the score says of a model that no session has told of, against the truth. */
static void a_model_without_sessions_is_known_by_its_features_and_soc(void **state)
{
    double off = 0, spread = 0, mean = 0;

    (void)state;
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++)
        mean += sim.true_ln_ms[m] / TIER_SIM_MODELS;
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        struct tier_device d = sim.device[m];
        struct tier_score s;

        d.y = (struct moments){0};
        tier_score(&fit, &d, &s);
        assert_true(s.weight == 0 && s.data == 0 && s.n == 0);
        off += (s.capability - sim.true_ln_ms[m]) * (s.capability - sim.true_ln_ms[m]);
        spread += (sim.true_ln_ms[m] - mean) * (sim.true_ln_ms[m] - mean);
    }
    assert_true(off < 0.35 * spread); /* own share of a model: 0.0144 of about 0.095 */
}

static void the_sd_of_a_capability_is_what_it_errs_by(void **state)
{
    double squares = 0;

    (void)state;
    score_all();
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        double off = (score[m].capability - sim.true_ln_ms[m]) / score[m].sd;

        squares += off * off / TIER_SIM_MODELS;
    }
    assert_near(squares, 1, 0.35);
}

static int by_chance(const void *a, const void *b)
{
    int64_t x = ((const struct tier_device *)a)->id * 7919 % 1009;
    int64_t y = ((const struct tier_device *)b)->id * 7919 % 1009;

    return (x > y) - (x < y);
}

static void the_order_of_models_changes_no_bit(void **state)
{
    struct tier_device other[TIER_SIM_MODELS];
    struct tier_fit again;

    (void)state;
    memcpy(other, sim.device, sizeof other);
    qsort(other, TIER_SIM_MODELS, sizeof *other, by_chance);
    assert_true(other[0].id != sim.device[0].id);
    assert_true(tier_fit(other, TIER_SIM_MODELS, mem, &again, &err));
    assert_memory_equal(again.coef, fit.coef, sizeof fit.coef);
    assert_memory_equal(&again.intercept, &fit.intercept, sizeof fit.intercept);
    assert_memory_equal(&again.w2, &fit.w2, sizeof fit.w2);
    assert_int_equal(again.n_soc, fit.n_soc);
    for (size_t k = 0; k < fit.n_soc; k++)
        assert_memory_equal(&again.soc[k].effect, &fit.soc[k].effect, sizeof(double));
}

static void too_few_or_doubled_models_are_errors(void **state)
{
    struct tier_device d[TIER_MIN_MODELS];
    struct tier_fit out = {.models = 99};

    (void)state;
    memcpy(d, sim.device, sizeof d);
    assert_false(tier_fit(d, TIER_MIN_MODELS - 1, mem, &out, &err));
    assert_int_equal(err.code, ERR_INVALID);
    d[3].id = d[2].id;
    assert_false(tier_fit(d, TIER_MIN_MODELS, mem, &out, &err));
    assert_non_null(strstr(err.text, "twice"));
    assert_false(tier_fit(d, TIER_MAX_DEVICES + 1, mem, &out, &err));
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_int_equal(out.models, 99);
}

static void strange_features_do_no_harm(void **state)
{
    struct tier_device d[TIER_SIM_MODELS];
    struct tier_fit out;
    struct tier_score s;

    (void)state;
    memcpy(d, sim.device, sizeof d);
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        d[m].feature[TIER_temperature] = m % 3 ? 1e300 : -INFINITY;
        d[m].feature[TIER_ram_mb] = -5;
        d[m].feature[TIER_pixels] = 0;
        d[m].soc = m % 2 ? NULL : "";
    }
    assert_true(tier_fit(d, TIER_SIM_MODELS, mem, &out, &err));
    assert_int_equal(out.n_soc, 0);
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        tier_score(&out, &d[m], &s);
        assert_true(isfinite(s.capability) && isfinite(s.sd));
    }
}

static void out_of_memory_is_an_error_at_every_allocation(void **state)
{
    struct tier_fit out;
    size_t nth = 1;

    (void)state;
    for (;; nth++) {
        struct arena *small = arena_new(4u << 20);
        bool ok;

        arena_fail_at(small, nth);
        ok = tier_fit(sim.device, TIER_SIM_MODELS, small, &out, &err);
        arena_fail_at(small, 0);
        arena_free(small);
        if (ok)
            break;
        assert_int_equal(err.code, ERR_TOO_BIG);
    }
    assert_true(nth > 3);
}

/* Cuts ------------------------------------------------------------------------------------------
 */

static int by_capability(const void *a, const void *b)
{
    double x = ((const struct tier_score *)a)->capability;
    double y = ((const struct tier_score *)b)->capability;

    return (x > y) - (x < y);
}

static double squares_within(const struct tier_score s[], unsigned from, unsigned to)
{
    double w = 0, c = 0, c2 = 0;

    for (unsigned i = from; i < to; i++) {
        w += (double)s[i].n;
        c += (double)s[i].n * s[i].capability;
        c2 += (double)s[i].n * s[i].capability * s[i].capability;
    }
    return w > 0 ? c2 - c * c / w : 0;
}

static double weight_of(const struct tier_score s[], unsigned from, unsigned to)
{
    double w = 0;

    for (unsigned i = from; i < to; i++)
        w += (double)s[i].n;
    return w;
}

static void cuts_are_as_good_as_the_best_of_all_divisions(void **state)
{
    struct tier_score s[TIER_SIM_MODELS];
    double best = INFINITY, placed = 0, all;
    unsigned from = 0;

    (void)state;
    score_all();
    assert_true(tier_place_cuts(score, TIER_SIM_MODELS, 3, mem, &cuts, &err));
    memcpy(s, score, sizeof s);
    qsort(s, TIER_SIM_MODELS, sizeof *s, by_capability);
    all = weight_of(s, 0, TIER_SIM_MODELS);
    for (unsigned a = 1; a < TIER_SIM_MODELS; a++)
        for (unsigned b = a + 1; b < TIER_SIM_MODELS; b += 1) {
            if (weight_of(s, 0, a) < 0.05 * all || weight_of(s, a, b) < 0.05 * all ||
                weight_of(s, b, TIER_SIM_MODELS) < 0.05 * all)
                continue;
            best = fmin(best, squares_within(s, 0, a) + squares_within(s, a, b) +
                                  squares_within(s, b, TIER_SIM_MODELS));
        }
    for (unsigned i = 1; i <= TIER_SIM_MODELS; i++)
        if (i == TIER_SIM_MODELS ||
            tier_of(&cuts, s[i].capability) != tier_of(&cuts, s[from].capability)) {
            placed += squares_within(s, from, i);
            from = i;
        }
    assert_near(placed / best, 1, 0.01); /* they lie on a grid of 0.5 % */
}

static void every_tier_has_its_share_of_sessions(void **state)
{
    double n[TIER_MAX_TIERS + 1] = {0}, all = 0;

    (void)state;
    score_all();
    assert_true(tier_place_cuts(score, TIER_SIM_MODELS, 5, mem, &cuts, &err));
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        n[tier_of(&cuts, score[m].capability)] += (double)score[m].n;
        all += (double)score[m].n;
    }
    for (unsigned t = 1; t <= 5; t++)
        assert_true(n[t] >= 0.049 * all);
    for (unsigned t = 1; t < 4; t++)
        assert_true(cuts.ms[t - 1] < cuts.ms[t]);
}

static void models_that_are_all_alike_have_no_tiers(void **state)
{
    struct tier_score s[20] = {{0}};

    (void)state;
    for (int i = 0; i < 20; i++)
        s[i] = (struct tier_score){.capability = 3, .sd = 0.1, .n = 10};
    assert_false(tier_place_cuts(s, 20, 2, mem, &cuts, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_false(tier_place_cuts(s, 0, 2, mem, &cuts, &err));
    assert_false(tier_place_cuts(s, 20, 1, mem, &cuts, &err));
    assert_false(tier_place_cuts(s, 20, TIER_MAX_TIERS + 1, mem, &cuts, &err));
    s[0].capability = 1e9; /* off the grid on either side */
    s[1].capability = -1e9;
    s[0].n = s[1].n = 200;
    assert_true(tier_place_cuts(s, 20, 3, mem, &cuts, &err));
}

static const struct tier_cuts three = {.tiers = 3, .ms = {20, 40}};

static void a_tier_holds_its_upper_cut(void **state)
{
    (void)state;
    assert_int_equal(tier_of(&three, log(5)), 1);
    assert_int_equal(tier_of(&three, log(20)), 1);
    assert_int_equal(tier_of(&three, log(20.001)), 2);
    assert_int_equal(tier_of(&three, log(40)), 2);
    assert_int_equal(tier_of(&three, log(500)), 3);
}

static void a_model_moves_only_when_it_is_sure(void **state)
{
    struct tier_score s = {.capability = log(20) + 0.05, .sd = 0.05, .n = 40};

    (void)state;
    assert_near(tier_outside(&three, &s, 1), 0.8413447460685429, 1e-6); /* Phi(1) */
    assert_near(tier_outside(&three, &s, 2), 0.1586552539314571, 1e-6);
    assert_int_equal(tier_assign(&three, &s, 0), 2); /* new: where it stands */
    assert_int_equal(tier_assign(&three, &s, 1), 1); /* 84 % are not 95 % */
    assert_int_equal(tier_assign(&three, &s, 2), 2);
    s.sd = 0.03; /* Phi(1.67) = 0.952 */
    assert_int_equal(tier_assign(&three, &s, 1), 2);
    s.capability = log(90);
    assert_int_equal(tier_assign(&three, &s, 1), 3);
    assert_int_equal(tier_assign(&three, &s, 7), 3); /* no such tier in this model */
    s.n = 0;
    assert_int_equal(tier_assign(&three, &s, 2), 0); /* nothing known of it: untiered */
}

/* Two weeks of other sessions, tiers refitted, cuts frozen in the first. */
static void tiers_are_steadier_and_tell_more_than_k_means(void **state)
{
    static struct tier_sim next;
    unsigned ours[2][TIER_SIM_MODELS], theirs[2][TIER_SIM_MODELS];
    struct tier_score s;
    struct tier_fit refit;

    (void)state;
    score_all();
    assert_true(tier_place_cuts(score, TIER_SIM_MODELS, 3, mem, &cuts, &err));
    tier_sim(4, 1, 4000, &next);
    assert_true(tier_fit(next.device, TIER_SIM_MODELS, mem, &refit, &err));
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        ours[0][m] = tier_assign(&cuts, &score[m], 0);
        tier_score(&refit, &next.device[m], &s);
        ours[1][m] = tier_assign(&cuts, &s, ours[0][m]);
    }
    tier_sim_k_means(sim.device, TIER_SIM_MODELS, 3, 1, theirs[0]);
    tier_sim_k_means(next.device, TIER_SIM_MODELS, 3, 2, theirs[1]);
    assert_true(adjusted_rand(ours[0], ours[1], TIER_SIM_MODELS) > 0.9);
    assert_true(tier_sim_explained(&sim, ours[0]) > tier_sim_explained(&sim, theirs[0]) + 0.1);
}

static void features_have_names(void **state)
{
    (void)state;
    assert_string_equal(tier_feature_name(TIER_max_khz), "max_khz");
    assert_string_equal(tier_feature_name(TIER_temperature), "temperature");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_found),
        cmocka_unit_test(an_explanation_adds_up),
        cmocka_unit_test(variances_are_those_that_made_the_models),
        cmocka_unit_test(a_model_without_sessions_is_known_by_its_features_and_soc),
        cmocka_unit_test(the_sd_of_a_capability_is_what_it_errs_by),
        cmocka_unit_test(the_order_of_models_changes_no_bit),
        cmocka_unit_test(too_few_or_doubled_models_are_errors),
        cmocka_unit_test(strange_features_do_no_harm),
        cmocka_unit_test(out_of_memory_is_an_error_at_every_allocation),
        cmocka_unit_test(cuts_are_as_good_as_the_best_of_all_divisions),
        cmocka_unit_test(every_tier_has_its_share_of_sessions),
        cmocka_unit_test(models_that_are_all_alike_have_no_tiers),
        cmocka_unit_test(a_tier_holds_its_upper_cut),
        cmocka_unit_test(a_model_moves_only_when_it_is_sure),
        cmocka_unit_test(tiers_are_steadier_and_tell_more_than_k_means),
        cmocka_unit_test(features_have_names),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
