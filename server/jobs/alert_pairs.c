#include "server/jobs/alert_pairs.h"

#include "stats/expectation.h"

#include <string.h>

#define INSTALLS_PER_GROUP 200

struct pair_row {
    int64_t g;
    struct bytes now, base;
};
static const struct db_col pair_cols[] = {DB_COL(pair_row, g), DB_COL(pair_row, now),
                                          DB_COL(pair_row, base)};
static const struct db_map pair_map = DB_MAP(pair_row, pair_cols);

/* n sessions and their sum of y in 1e-6. Of counts y is ln of the install's rate, half an event
 * added. */
static bool side(struct bytes stored, const char *scene, enum metric m, struct arena *work,
                 int64_t *n, int64_t *sum_e6, struct err *err)
{
    struct contribution c;

    *n = 0;
    if (!contribution_read(stored.at, stored.len, work, &c, err))
        return false;
    for (size_t i = 0; i < c.n_rows; i++) {
        const int64_t *s = c.rows[i].sum[m];
        int64_t y;

        if (strcmp(c.rows[i].scene, scene) != 0)
            continue;
        *n = s[SUM_N];
        *sum_e6 = s[SUM_VALUE];
        if (metric_info[m].kind == METRIC_LN)
            return true;
        if (!ln_e6(((double)s[SUM_VALUE] + 0.5) / (double)s[SUM_EXPOSURE], &y))
            *n = 0;
        *sum_e6 = *n * y;
        return true;
    }
    return true;
}

bool alert_pairs_of(struct db *db, int64_t app, struct alert_pairs *pairs, int64_t build,
                    int64_t baseline, int64_t tier, const char *scene, enum metric m,
                    struct arena *mem, struct arena *work, struct estimate *out, bool *found,
                    struct err *err)
{
    struct paired sums = {.installs = 0};

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
        int64_t n_now, n_base, sum_now, sum_base;

        arena_reset(work);
        if (!side(r->now, scene, m, work, &n_now, &sum_now, err) ||
            !side(r->base, scene, m, work, &n_base, &sum_base, err))
            return false;
        if (n_now > 0 && n_base > 0)
            paired_add(&sums, (unsigned)r->g, n_now, sum_now, n_base, sum_base);
    }
    *found = paired_mean(&sums, out);
    return true;
}
