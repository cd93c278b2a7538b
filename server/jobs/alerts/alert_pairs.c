#include "server/jobs/alerts/alert_pairs.h"

#include "stats/expectation.h"
#include "stats/rate.h"

#include <string.h>

#define INSTALLS_PER_GROUP 200

struct pair_row {
    int64_t g;
    struct bytes now, base;
};
static const struct db_col pair_cols[] = {DB_COL(pair_row, g), DB_COL(pair_row, now),
                                          DB_COL(pair_row, base)};
static const struct db_map pair_map = DB_MAP(pair_row, pair_cols);

/* An install's sums in a slice; false: out of memory or damaged. *n = 0: none. */
struct side {
    int64_t n, value, exposure;
};
static bool side(struct bytes stored, const char *scene, enum metric m, struct arena *work,
                 struct side *out, struct err *err)
{
    struct contribution c;

    *out = (struct side){0};
    if (!contribution_read(stored.at, stored.len, work, &c, err))
        return false;
    for (size_t i = 0; i < c.n_rows && !out->n; i++) {
        const int64_t *s = c.rows[i].sum[m];

        if (strcmp(c.rows[i].scene, scene) == 0)
            *out = (struct side){s[SUM_N], s[SUM_VALUE], s[SUM_EXPOSURE]};
    }
    return true;
}

/* Logarithms are compared by their means, counts by what the install's own past expects. */
struct both {
    bool counted;
    struct paired paired;
    struct rates rates;
    int64_t installs;
};

static void add_install(struct both *b, unsigned g, const struct side *now, const struct side *base)
{
    int64_t expected;

    if (now->n <= 0 || base->n <= 0)
        return;
    if (!b->counted) {
        paired_add(&b->paired, g, now->n, now->value, base->n, base->value);
        return;
    }
    expected = rate_expected_own(now->exposure, base->value, base->exposure);
    if (expected < 0)
        return;
    rates_add(&b->rates, g, now->value, expected);
    b->installs++;
}

static bool judge(const struct both *b, struct estimate *out)
{
    if (!b->counted)
        return paired_mean(&b->paired, out);
    if (!rates_own_change(&b->rates, out))
        return false;
    out->n = b->installs;
    return true;
}

bool alert_pairs_of(struct db *db, int64_t app, struct alert_pairs *pairs, int64_t build,
                    int64_t baseline, int64_t tier, const char *scene, enum metric m,
                    struct arena *mem, struct arena *work, struct estimate *out, bool *found,
                    struct err *err)
{
    struct both sums = {.counted = metric_info[m].kind != METRIC_LN};

    if (pairs->build != build || pairs->tier != tier) {
        if (!db_all(db, Q_ALERT_PAIRS,
                    DB_ARGS(db_i64(build), db_i64(baseline), db_i64(app), db_i64(tier),
                            db_i64(INSTALLS_PER_GROUP)),
                    &pair_map, mem, &pairs->rows, err))
            return false;
        pairs->build = build;
        pairs->baseline = baseline;
        pairs->tier = tier;
    }
    for (size_t i = 0; i < pairs->rows.n; i++) {
        const struct pair_row *r = (const struct pair_row *)pairs->rows.at + i;
        struct side now, base;

        arena_reset(work);
        if (!side(r->now, scene, m, work, &now, err) || !side(r->base, scene, m, work, &base, err))
            return false;
        add_install(&sums, (unsigned)r->g, &now, &base);
    }
    *found = judge(&sums, out);
    return true;
}
