/*
 * analysis/stats beside the formulas of docs/statistics.md and docs/metrics.md written down once
 * more: in doubles, over the single sessions, without tables, integers or shared code. What the
 * server computes by must agree with them on random input. Fixed vectors from other programs stand
 * in stats_normal_test.c and stats_alert_test.c (mpmath), stats_expectation_test.c and
 * sketch_test.c.
 */
/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stats/eprocess.h"
#include "stats/expectation.h"
#include "stats/groups.h"
#include "stats/rate.h"
#include "stats/sketch.h"
#include "support/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS 400
#define ROUNDS 50

static void assert_near(double is, double expected, double within)
{
    if (!(fabs(is - expected) <= within))
        fail_msg("%.17g is not %.17g within %g", is, expected, within);
}

/* Sketch --------------------------------------------------------------------------------------- */

static double bound_us(int k)
{
    return floor(1000 * pow(101.0 / 99, k) + 0.5);
}

static int bucket_of(double us)
{
    int k = 0;

    while (k < SKETCH_BUCKETS - 1 && bound_us(k) < us)
        k++;
    return k;
}

static double quantile_us(const double *sorted, int n, double q)
{
    double rank = q * (n - 1) + 0.5, below = 0, within = 0;
    int k = bucket_of(sorted[(int)rank]);
    double low = k ? bound_us(k - 1) : 1000 * 99.0 / 101;

    for (int i = 0; i < n; i++) {
        below += bucket_of(sorted[i]) < k;
        within += bucket_of(sorted[i]) == k;
    }
    return low * pow(bound_us(k) / low, (rank - below) / within);
}

static int by_value(const void *va, const void *vb)
{
    const double *a = va, *b = vb;

    return (*a > *b) - (*a < *b);
}

static void sketches_count_and_interpolate_as_the_formulas_do(void **state)
{
    struct rng r = rng_of(41, 0);
    double us[SESSIONS];

    (void)state;
    for (int round = 0; round < 5; round++) {
        struct sketch s = {{0}};

        for (int i = 0; i < SESSIONS; i++) {
            us[i] = floor(exp(9.7 + 1.2 * rng_normal(&r)));
            sketch_add(&s, (uint32_t)us[i]);
            assert_int_equal(sketch_bucket((uint32_t)us[i]), bucket_of(us[i]));
        }
        qsort(us, SESSIONS, sizeof *us, by_value);
        for (int q = 1; q < 100; q += 7)
            assert_near(sketch_quantile_us(&s, q / 100.0) / quantile_us(us, SESSIONS, q / 100.0), 1,
                        1e-12);
    }
}

/* Sessions of installs ------------------------------------------------------------------------- */

struct sessions {
    unsigned group[SESSIONS];
    int64_t value[SESSIONS], exposure[SESSIONS];
    int n;
};

/* Of installs with a deviation of their own, some groups empty. */
static void play(struct rng *r, struct sessions *s)
{
    double install = 0;
    unsigned group = 0;

    s->n = SESSIONS / 2 + (int)(rng_next(r) % (SESSIONS / 2));
    for (int i = 0; i < s->n; i++) {
        if (i % 5 == 0) {
            install = 0.2 * rng_normal(r);
            group = (unsigned)(rng_next(r) % 40);
        }
        s->group[i] = group;
        s->value[i] = llround(1e6 * (install + 0.1 * rng_normal(r)));
        s->exposure[i] = 1000000 + (int64_t)(rng_next(r) % 5000000);
    }
}

/* mean = sum y / n; V = G/(G-1) sum over groups (sum of (y - mean))^2 / n^2. Of D both sides' part
 * of a group stands in one square. */
static double mean_of(const struct sessions *s)
{
    double sum = 0;

    for (int i = 0; i < s->n; i++)
        sum += 1e-6 * (double)s->value[i];
    return sum / s->n;
}

static double variance_of(const struct sessions *now, const struct sessions *base)
{
    double squares = 0, filled = 0;

    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        double off = 0, any = 0;

        for (int i = 0; i < now->n; i++)
            if (now->group[i] == g) {
                off += (1e-6 * (double)now->value[i] - mean_of(now)) / now->n;
                any = 1;
            }
        for (int i = 0; base && i < base->n; i++)
            if (base->group[i] == g) {
                off -= (1e-6 * (double)base->value[i] - mean_of(base)) / base->n;
                any = 1;
            }
        squares += off * off;
        filled += any;
    }
    return filled / (filled - 1) * squares;
}

static struct groups summed(const struct sessions *s)
{
    struct groups g = {{0}, {0}};

    for (int i = 0; i < s->n; i++)
        groups_add(&g, s->group[i], 1, s->value[i]);
    return g;
}

static void means_and_variances_by_group_are_those_over_single_sessions(void **state)
{
    struct rng r = rng_of(42, 0);

    (void)state;
    for (int round = 0; round < 5; round++) {
        struct sessions now, base;
        struct groups a, b;
        struct estimate e;

        play(&r, &now);
        play(&r, &base);
        a = summed(&now);
        b = summed(&base);
        assert_true(groups_mean(&a, &e));
        assert_near(e.mean, mean_of(&now), 1e-12);
        assert_near(e.var / variance_of(&now, NULL), 1, 1e-9);
        assert_true(groups_difference(&a, &b, &e));
        assert_near(e.mean, mean_of(&now) - mean_of(&base), 1e-12);
        assert_near(e.var / variance_of(&now, &base), 1, 1e-9);
    }
}

static void overdispersion_is_that_over_single_sessions(void **state)
{
    struct rng r = rng_of(43, 0);

    (void)state;
    for (int round = 0; round < 5; round++) {
        struct rates sums = {{0}, {0}};
        double x[INSTALL_GROUPS] = {0}, exposure[INSTALL_GROUPS] = {0}, all = 0, of = 0, phi = 0,
               filled = 0;
        struct rate_totals t;
        struct sessions s;

        play(&r, &s);
        for (int i = 0; i < s.n; i++) {
            int64_t count = 1 + (int64_t)(rng_next(&r) % 4) * (s.group[i] % 3);

            rates_add(&sums, s.group[i], count, s.exposure[i]);
            x[s.group[i]] += (double)count;
            exposure[s.group[i]] += (double)s.exposure[i];
            all += (double)count;
            of += (double)s.exposure[i];
        }
        for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
            filled += exposure[g] > 0;
            phi += pow(x[g] - all / of * exposure[g], 2) / all;
        }
        phi *= filled / (filled - 1);
        assert_true(rates_totals(&sums, &t));
        assert_near(t.rate / (all / of), 1, 1e-12);
        assert_near(t.phi, phi > 1 ? phi : 1, 1e-9);
        assert_true(phi > 1);
    }
}

/* Evidence and expectation --------------------------------------------------------------------- */

static void evidence_is_the_closed_form(void **state)
{
    struct rng r = rng_of(44, 0);

    (void)state;
    for (int round = 0; round < 20 * ROUNDS; round++) {
        double tau = rng_next(&r) % 2 ? 0.08 : 0.25, sd = exp(-5 + 3 * rng_uniform(&r)),
               d0 = rng_next(&r) % 2 ? log(1.03) : 0, v = sd * sd, d = d0 + 4 * sd * rng_normal(&r),
               m = (d - d0) * tau / sqrt(v * (v + tau * tau));

        assert_true(m > -30); /* where erfc() is no zero yet */
        assert_near(eprocess_ln_e(d, v, d0, tau),
                    log(2) + 0.5 * log(v / (v + tau * tau)) + m * m / 2 +
                        log(0.5 * erfc(-m / sqrt(2))),
                    1e-9);
    }
}

static void models_are_expected_to_be_near_their_tier(void **state)
{
    struct rng r = rng_of(45, 0);

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        double n = (double)(rng_next(&r) % 100), of_tier = 3 + rng_normal(&r),
               of_model = of_tier + 0.2 * rng_normal(&r);
        const struct moments tier = {500, llround(5e8 * of_tier), 0},
                             model = {(int64_t)n, llround(n * 1e6 * of_model), 0};
        int64_t mu;

        assert_true(expectation_model(&model, &tier, &tier, &mu));
        assert_near(1e-6 * (double)mu, (n * of_model + 20 * of_tier) / (n + 20), 1.1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sketches_count_and_interpolate_as_the_formulas_do),
        cmocka_unit_test(means_and_variances_by_group_are_those_over_single_sessions),
        cmocka_unit_test(overdispersion_is_that_over_single_sessions),
        cmocka_unit_test(evidence_is_the_closed_form),
        cmocka_unit_test(models_are_expected_to_be_near_their_tier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
