/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stats/alert.h"
#include "support/rng.h"

#include <math.h>

static void assert_near(double is, double expected, double within)
{
    if (!(fabs(is - expected) <= within))
        fail_msg("%.17g is not %.17g within %g", is, expected, within);
}

/* All from mpmath at 50 digits. The same formula in doubles, on random input:
 * stats_reference_test.c. */
static void ln_e_is_that_of_the_reference(void **state)
{
    (void)state;
    assert_near(eprocess_ln_e(0.05, 0.000144, 0, 0.08), 7.2744238796934099, 1e-12);
    assert_near(eprocess_ln_e(-0.02, 0.0001, log(1.03), 0.08), -3.943566851955933, 1e-12);
    assert_near(eprocess_ln_e(0.3, 0.00001, 0.0295588022415444, 0.08), 3648.6786780697266, 1e-8);
    assert_near(eprocess_ln_e(-0.3, 0.0001, 0, 0.08), -5.7075555821670593, 1e-12);
    assert_near(eprocess_ln_e(0.1, 4, 0, 0.25), -0.0027968265259369384, 1e-14);
    assert_near(ALERT_D0, log(1.03), 1e-16);
    assert_near(ALERT_PAIRED_LN_E, log(20), 1e-15);
}

/* What it is: the mean likelihood ratio over changes theta > 0 drawn from a half normal of scale
 * tau. Simpson's rule over theta in place of the closed form. */
static double mixture_by_hand(double d, double v, double tau)
{
    double step = tau * 12 / 20000, sum = 0;

    for (int i = 0; i <= 20000; i++) {
        double theta = i * step;
        double density = 2 / (tau * sqrt(2 * M_PI)) * exp(-0.5 * theta * theta / (tau * tau));
        double ratio = exp((theta * d - 0.5 * theta * theta) / v);

        sum += density * ratio * (i == 0 || i == 20000 ? 1 : i % 2 ? 4 : 2);
    }
    return log(sum * step / 3);
}

static void ln_e_is_the_integral_that_it_stands_for(void **state)
{
    static const double d[] = {-0.1, -0.01, 0, 0.02, 0.06, 0.15}, v[] = {1e-4, 1e-3, 1e-2};

    (void)state;
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 3; k++)
            assert_near(eprocess_ln_e(d[i] + 0.03, v[k], 0.03, 0.08),
                        mixture_by_hand(d[i], v[k], 0.08), 1e-6);
}

static void no_variance_is_no_evidence(void **state)
{
    (void)state;
    assert_true(eprocess_ln_e(1, 0, 0, 0.08) == -INFINITY);
    assert_true(eprocess_ln_e(1, NAN, 0, 0.08) == -INFINITY);
    assert_true(eprocess_ln_e(NAN, 1, 0, 0.08) == -INFINITY);
    assert_true(eprocess_ln_e(1, INFINITY, 0, 0.08) == -INFINITY);
}

static void the_threshold_grows_with_what_is_looked_at(void **state)
{
    (void)state;
    assert_near(exp(eprocess_ln_threshold(12, 4, 0.05)), 960, 1e-9);
    assert_near(exp(eprocess_ln_threshold(0, 0, 0.05)), 20, 1e-9);
}

/* Brownian path of D at information 1/V, looked at 100 times, without any change: how often does
 * the e-value ever reach 20, how often does the interval ever miss 0? */
static void looking_again_and_again_keeps_the_promised_error(void **state)
{
    struct rng r = rng_of(3, 0);
    int crossed = 0, missed = 0, paths = 4000;

    (void)state;
    for (int p = 0; p < paths; p++) {
        double sum = 0;
        int hit = 0, out = 0;

        for (int look = 1; look <= 100; look++) {
            double v = 0.1 / look; /* V = 0.1 .. 0.001 */

            sum += sqrt(10) * rng_normal(&r);

            struct interval i = eprocess_interval(sum * v, v, 0.05, EPROCESS_TAU);

            hit |= eprocess_ln_e(sum * v, v, 0, EPROCESS_TAU) >= log(20);
            out |= i.low > 0 || i.high < 0;
        }
        crossed += hit;
        missed += out;
    }
    assert_true(crossed <= paths * 5 / 100);
    assert_true(missed <= paths * 5 / 100);
    assert_true(crossed > 0); /* it does look */
}

static void an_interval_ends_where_its_own_evidence_is_one_in_alpha(void **state)
{
    /* Two-sided mixture: ln e = 1/2 ln(V/(V+t^2)) + (D-d0)^2 t^2 / (2 V (V+t^2)). */
    double v = 4e-4, t2 = 0.0064, d = 0.07;
    struct interval i = eprocess_interval(d, v, 0.05, 0.08);
    double off = d - i.low;

    (void)state;
    assert_near(0.5 * log(v / (v + t2)) + off * off * t2 / (2 * v * (v + t2)), log(20), 1e-10);
    assert_near(i.high - d, d - i.low, 1e-15);
}

static const struct alert_rule rule = {ALERT_THETA, 6.9, EPROCESS_TAU};

/* A look at a change that is known to `sd`. */
static struct alert_look look_at(double change, double sd, double pairs)
{
    return (struct alert_look){
        .change = {log1p(change), sd * sd, 500, 64},
        .sessions_new = 500,
        .sessions_base = 500,
        .installs_new = 200,
        .installs_base = 200,
        .has_pairs = true,
        .pairs = {log1p(pairs), sd * sd, 100, 60},
    };
}

static enum alert_reason judged(const struct alert_look *look)
{
    struct alert_latch latch = ALERT_LATCH_NEW;
    struct alert_finding f;

    alert_judge(&rule, look, &latch, &f);
    return f.reason;
}

static void twenty_percent_worse_is_an_alert_and_ten_a_warning(void **state)
{
    struct alert_look worse = look_at(0.20, 0.01, 0.20), some = look_at(0.10, 0.01, 0.10),
                      nothing = look_at(0.02, 0.01, 0.02), better = look_at(-0.15, 0.01, -0.15);

    (void)state;
    assert_int_equal(judged(&worse), ALERT_REASON_WORSE);
    assert_int_equal(judged(&some), ALERT_REASON_BELOW_THRESHOLD);
    assert_int_equal(judged(&nothing), ALERT_REASON_NO_EVIDENCE);
    assert_int_equal(judged(&better), ALERT_REASON_BETTER);
}

static void without_pairs_that_agree_it_stays_a_warning(void **state)
{
    struct alert_look alone = look_at(0.20, 0.01, 0), few = look_at(0.20, 0.01, 0.20),
                      none = look_at(0.20, 0.01, 0.20);

    (void)state;
    few.pairs.n = ALERT_MIN_INSTALLS - 1;
    none.has_pairs = false;
    assert_int_equal(judged(&alone), ALERT_REASON_NOT_PAIRED);
    assert_int_equal(judged(&few), ALERT_REASON_NOT_PAIRED);
    assert_int_equal(judged(&none), ALERT_REASON_NOT_PAIRED);
}

static void nothing_is_said_before_the_first_look(void **state)
{
    struct alert_look l = look_at(0.5, 0.01, 0.5);
    struct alert_latch latch = ALERT_LATCH_NEW;
    struct alert_finding f;

    (void)state;
    l.sessions_new = 49;
    assert_int_equal(judged(&l), ALERT_REASON_TOO_FEW);
    l.sessions_new = 50;
    l.installs_base = 29;
    assert_int_equal(judged(&l), ALERT_REASON_TOO_FEW);
    l.installs_base = 30;
    l.counted = true;
    l.information = 19;
    assert_int_equal(judged(&l), ALERT_REASON_TOO_FEW);
    alert_judge(&rule, &l, &latch, &f);
    assert_true(latch.ln_e_worse < -1e299 && f.interval.low == -1 && f.interval.high == INFINITY);
    l.information = 20;
    assert_int_equal(judged(&l), ALERT_REASON_WORSE);
}

static void a_warning_once_given_stays(void **state)
{
    struct alert_look worse = look_at(0.20, 0.01, 0.20), later = look_at(0.04, 0.01, 0.04);
    struct alert_latch latch = ALERT_LATCH_NEW;
    struct alert_finding f;

    (void)state;
    alert_judge(&rule, &worse, &latch, &f);
    assert_int_equal(f.level, ALERT_ALERT);
    alert_judge(&rule, &later, &latch, &f);
    assert_int_equal(f.level, ALERT_WARN); /* no longer above the threshold, but worse was shown */
    assert_true(f.ln_e_worse < rule.ln_a && latch.ln_e_worse >= rule.ln_a);
    assert_near(f.change, 0.04, 1e-12);
    assert_true(f.interval.low < 0.04 && f.interval.high > 0.04);
}

static void levels_and_reasons_have_names(void **state)
{
    (void)state;
    assert_string_equal(alert_reason_text(ALERT_REASON_WORSE), "worse");
    assert_string_equal(alert_reason_text(ALERT_REASON_TOO_FEW), "too_few_sessions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ln_e_is_that_of_the_reference),
        cmocka_unit_test(ln_e_is_the_integral_that_it_stands_for),
        cmocka_unit_test(no_variance_is_no_evidence),
        cmocka_unit_test(the_threshold_grows_with_what_is_looked_at),
        cmocka_unit_test(looking_again_and_again_keeps_the_promised_error),
        cmocka_unit_test(an_interval_ends_where_its_own_evidence_is_one_in_alpha),
        cmocka_unit_test(twenty_percent_worse_is_an_alert_and_ten_a_warning),
        cmocka_unit_test(without_pairs_that_agree_it_stays_a_warning),
        cmocka_unit_test(nothing_is_said_before_the_first_look),
        cmocka_unit_test(a_warning_once_given_stays),
        cmocka_unit_test(levels_and_reasons_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
