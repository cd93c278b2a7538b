#include "support/fix_sim.h"

#include "support/rng.h"

#include <math.h>

/* One install's time with a build, in seconds, and its janks. */
static void play(struct rng *r, const struct fix_options *o, double per_hour, struct rates *arm)
{
    unsigned group = (unsigned)(rng_next(r) % INSTALL_GROUPS);
    double own = o->dispersion > 0 ? rng_gamma(r, 1 / o->dispersion) * o->dispersion : 1;
    double seconds = 3600 * exp(0.8 * rng_normal(r));

    if (seconds > 36000)
        seconds = 36000;
    rates_add(arm, group, rng_poisson(r, own * per_hour * seconds / 3600), llround(seconds));
}

#define EACH 20 /* installs between two questions whether a look is due */

void fix_sim(const struct fix_options *o, unsigned run, struct fix_labels *out)
{
    struct rng r = rng_of(o->seed, run);
    struct rates old_arm = {0}, new_arm = {0};
    struct verdict v;

    *out = (struct fix_labels){0};
    for (unsigned i = 0; i < o->installs; i++)
        play(&r, o, o->per_hour, &old_arm);
    for (unsigned i = 0; i < o->installs && out->looks < VERDICT_LOOKS; i++) {
        play(&r, o, o->per_hour * o->rr, &new_arm);
        if (i % EACH || !verdict_judge(&old_arm, &new_arm, &v) || v.looks <= out->looks)
            continue;
        for (; out->looks < v.looks; out->looks++)
            out->label[out->looks] = v.label;
        out->phi = v.rr.phi;
    }
}

bool fix_wrong(enum verdict_label label, double rr)
{
    switch (label) {
    case VERDICT_REGRESSED:
        return rr <= 1;
    case VERDICT_FIXED:
        return rr >= 0.2;
    case VERDICT_IMPROVED:
        return rr >= 1;
    case VERDICT_NOT_FIXED:
        return rr <= 0.5;
    case VERDICT_TOO_LITTLE:
        break;
    }
    return false;
}
