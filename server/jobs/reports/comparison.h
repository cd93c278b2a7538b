/*
 * comparison: a build against its baseline, slice by slice (tier x scene), from rollup rows alone:
 * reads as many rows as there are slices, whatever sessions there are. Definitions:
 * docs/reports.md.
 */
#pragma once
#include "profile/contribution.h"
#include "server/db/db.h"
#include "stats/alert.h"

#define COMPARISON_GROUPS INSTALL_GROUPS
#define TIER_ALL (-1)

/* Sums of one slice by install group. */
struct group_sums {
    int64_t at[COMPARISON_GROUPS][METRICS_N][METRIC_SUMS];
};

struct comparison_slice {
    int64_t tier; /* TIER_ALL: all of them */
    const char *scene;
    int64_t installs, installs_base;
    const struct group_sums *now, *base;      /* of the build, of all sessions of its baseline */
    const struct group_sums *before, *beside; /* of the baseline against the build's expectation */
};

/* What the change of a figure is taken from. */
#define BASES(X)                                                                                   \
    X(NONE, "none")         /* too little on a side */                                             \
    X(INSTALLS, "installs") /* each install against its own past */                                \
    X(MODELS, "models")     /* each session against its device model */
enum basis {
#define X(name, text) BASIS_##name,
    BASES(X)
#undef X
};
const char *basis_text(enum basis basis);

struct figure {
    int64_t n, n_base;  /* sessions that have the metric */
    double value, base; /* in the metric's unit; NAN: unknown */
    enum basis basis;
    bool beside; /* compared with sessions of the same time; else with earlier ones */
    int64_t sessions_new, sessions_base; /* that entered the change */
    struct estimate d;                   /* of logarithms */
    double information;                  /* COUNT: what a look depends on */
    double change, low,
        high;   /* relative, mix of devices taken out; the interval holds at every look */
    double mix; /* relative change that the mix of devices and players made; NAN: unknown */
};
/* `basis`: the only one wanted, or BASIS_NONE for the best there is. */
void comparison_figure(const struct comparison_slice *s, enum metric m, enum basis basis,
                       struct figure *out);

struct comparison_ask {
    int64_t app, build, baseline; /* baseline 0: raw figures alone */
    bool one_tier, one_scene;
    int64_t tier;
    const char *scene;
};
/* Calls `slice` for each scene, by key, and in it for each tier ascending and then for all tiers
 * together; the pointers hold during the call. *rows: read. ERR_TOO_BIG past a limit. */
bool comparison_run(struct db *db, const struct comparison_ask *ask,
                    bool (*slice)(void *user, const struct comparison_slice *s, struct err *err),
                    void *user, int64_t *rows, struct err *err) MUST_CHECK;
