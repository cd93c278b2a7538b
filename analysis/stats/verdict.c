#include "stats/verdict.h"

const char *verdict_text(enum verdict_label label)
{
    static const char *const text[] = {
#define X(name, text) text,
        VERDICTS(X)
#undef X
    };

    return text[label];
}

unsigned verdict_looks(double information)
{
    unsigned looks = 0;
    double due = VERDICT_FIRST_LOOK;

    while (looks < VERDICT_LOOKS && information >= due) {
        looks++;
        due *= 2;
    }
    return looks;
}

static enum verdict_label label_of(struct interval rr)
{
    if (rr.low > 1)
        return VERDICT_REGRESSED;
    if (rr.high < 0.2)
        return VERDICT_FIXED;
    if (rr.high < 1)
        return VERDICT_IMPROVED;
    if (rr.low > 0.5)
        return VERDICT_NOT_FIXED;
    return VERDICT_TOO_LITTLE;
}

bool verdict_judge(const struct rates *old_arm, const struct rates *new_arm, struct verdict *out)
{
    *out = (struct verdict){.label = VERDICT_TOO_LITTLE, .rr.bounds = {0, __builtin_inf()}};
    if (!rates_compare(old_arm, new_arm, VERDICT_Z, &out->rr))
        return false;
    out->looks = verdict_looks(out->rr.information);
    if (out->looks)
        out->label = label_of(out->rr.bounds);
    return true;
}
