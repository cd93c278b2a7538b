#include "stats/alert.h"

#include <math.h>

#define NO_LOOK (-1e300)

const char *alert_reason_text(enum alert_reason reason)
{
    static const char *const text[] = {
#define X(name, text) text,
        ALERT_REASONS(X)
#undef X
    };

    return text[reason];
}

static bool enough(const struct alert_look *look)
{
    return look->sessions_new >= ALERT_MIN_SESSIONS && look->sessions_base >= ALERT_MIN_SESSIONS &&
           look->installs_new >= ALERT_MIN_INSTALLS && look->installs_base >= ALERT_MIN_INSTALLS &&
           (!look->counted || look->information >= ALERT_MIN_INFORMATION);
}

static void raise(double *latch, double ln_e)
{
    if (ln_e > *latch)
        *latch = ln_e;
}

static void look_at(const struct alert_rule *rule, const struct alert_look *look,
                    struct alert_finding *out)
{
    const struct estimate *c = &look->change, *p = &look->pairs;
    struct interval d = eprocess_interval(c->mean, c->var, ALERT_ALPHA, rule->tau);

    out->change = expm1(c->mean);
    out->interval = (struct interval){expm1(d.low), expm1(d.high)};
    out->ln_e_worse = eprocess_ln_e(c->mean, c->var, ALERT_D0, rule->tau);
    out->ln_e_better = eprocess_ln_e(-c->mean, c->var, ALERT_D0, rule->tau);
    if (look->has_pairs && p->n >= ALERT_MIN_INSTALLS)
        out->ln_e_pairs = eprocess_ln_e(p->mean, p->var, 0, rule->tau);
}

static enum alert_reason reason_of(const struct alert_rule *rule, const struct alert_latch *latch,
                                   double change)
{
    if (latch->ln_e_worse < rule->ln_a)
        return latch->ln_e_better < rule->ln_a ? ALERT_REASON_NO_EVIDENCE : ALERT_REASON_BETTER;
    if (change < ALERT_THETA_SHARE * rule->theta)
        return ALERT_REASON_BELOW_THRESHOLD;
    return latch->ln_e_pairs < ALERT_PAIRED_LN_E ? ALERT_REASON_NOT_PAIRED : ALERT_REASON_WORSE;
}

void alert_judge(const struct alert_rule *rule, const struct alert_look *look,
                 struct alert_latch *latch, struct alert_finding *out)
{
    static const enum alert_level level[] = {
        [ALERT_REASON_TOO_FEW] = ALERT_NONE,    [ALERT_REASON_NO_EVIDENCE] = ALERT_NONE,
        [ALERT_REASON_BETTER] = ALERT_IMPROVED, [ALERT_REASON_BELOW_THRESHOLD] = ALERT_WARN,
        [ALERT_REASON_NOT_PAIRED] = ALERT_WARN, [ALERT_REASON_WORSE] = ALERT_ALERT,
    };

    *out = (struct alert_finding){.reason = ALERT_REASON_TOO_FEW,
                                  .interval = {-1, INFINITY},
                                  .ln_e_worse = NO_LOOK,
                                  .ln_e_better = NO_LOOK,
                                  .ln_e_pairs = NO_LOOK};
    if (!enough(look))
        return;
    look_at(rule, look, out);
    raise(&latch->ln_e_worse, out->ln_e_worse);
    raise(&latch->ln_e_better, out->ln_e_better);
    raise(&latch->ln_e_pairs, out->ln_e_pairs);
    out->reason = reason_of(rule, latch, out->change);
    out->level = level[out->reason];
}
