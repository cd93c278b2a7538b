/*
 * tier: device models in classes of like capability, by how fast the game runs on them rather than
 * by price. y = ln(P90 frame time in ms) of sessions on baseline builds, foreground. Pure and
 * deterministic: the same devices give the same bits in any order.
 *
 *   prior_m = intercept + sum_j coef_j (f_mj - mean_j) / scale_j + residual of its SoC, shrunken
 *   c_m = prior_m + n / (n + s^2/w^2) (mean y_m - prior_m)
 * coef: ridge regression. s^2: variance of sessions within a model; w^2: of models around the
 * prior. c is in ln ms: smaller is faster. Cuts are in ms, and frozen once placed; then a model
 * moves only if its capability lies outside its tier with chance > 0.95. Tier 0 is untiered; tiers
 * count from 1, the fastest.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "stats/expectation.h"

#include <stddef.h>

/* name, taken as ln, unit. Unknown values are NAN (0 or less also where a ln is taken). */
#define TIER_FEATURES(X)                                                                           \
    X(max_khz, 1, "kHz") /* highest clock of the fastest cluster */                                \
    X(fast_cores, 0, "") /* cores of the fastest cluster */                                        \
    X(cores, 0, "")      /* all cores */                                                           \
    X(clusters, 0, "")                                                                             \
    X(ram_mb, 1, "MB")                                                                             \
    X(pixels, 1, "")           /* width x height */                                                \
    X(median_khz, 1, "kHz")    /* as measured in play, see docs/metrics.md */                      \
    X(throttled_khz, 1, "kHz") /* as measured while hot */                                         \
    X(temperature, 0, "C")     /* mean battery temperature in play */
enum tier_feature {
#define X(name, ln, unit) TIER_##name,
    TIER_FEATURES(X)
#undef X
        TIER_FEATURE_COUNT
};
const char *tier_feature_name(enum tier_feature f);

struct tier_device {
    int64_t id;                         /* unique; the order of everything */
    const char *soc;                    /* "" if unknown */
    double feature[TIER_FEATURE_COUNT]; /* as told by the device or the catalogue; NAN unknown */
    struct moments y;                   /* sessions; none: the prior alone */
};

struct tier_soc {
    const char *name;
    double effect;   /* shrunken mean residual of its models, ln ms */
    unsigned models; /* with sessions */
};

/* A fitted model. Plain values, so that it can be stored and read back. soc is sorted by name. */
struct tier_fit {
    double intercept;
    double coef[TIER_FEATURE_COUNT]; /* per standard deviation of the feature */
    double mean[TIER_FEATURE_COUNT], scale[TIER_FEATURE_COUNT]; /* scale 0: feature unused */
    double lambda;   /* ridge penalty chosen by generalised cross-validation */
    double s2, w2;   /* within models; of models around the prior */
    double soc_w2;   /* of SoCs */
    unsigned models; /* with sessions */
    int64_t sessions;
    struct tier_soc *soc;
    size_t n_soc;
};
#define TIER_MAX_DEVICES 100000
#define TIER_MIN_MODELS 12 /* with sessions; fewer cannot be fitted */

/* ERR_INVALID: too few models with sessions, or the same id twice; ERR_TOO_BIG: too
 * many, or the arena is full. out->soc lives in mem; its names are the devices'. */
bool tier_fit(const struct tier_device devices[], size_t n, struct arena *mem, struct tier_fit *out,
              struct err *err) MUST_CHECK;

/* A model's capability and what made it. */
struct tier_score {
    double capability;               /* c, ln ms */
    double sd;                       /* of c: sqrt(w^2 s^2 / (n w^2 + s^2)) */
    double prior;                    /* intercept + sum of part + soc */
    double part[TIER_FEATURE_COUNT]; /* contribution of each feature to the prior, ln ms */
    double soc;                      /* contribution of the SoC */
    double weight;                   /* of the data, 0..1: n / (n + s^2/w^2) */
    double data;                     /* what the data moved: weight (mean - prior) */
    int64_t n;
};
void tier_score(const struct tier_fit *fit, const struct tier_device *device,
                struct tier_score *out);

#define TIER_MAX_TIERS 8
#define TIER_DEFAULT_TIERS 3 /* 1 fast, 2 middle, 3 slow */
struct tier_cuts {
    unsigned tiers;                /* 2..TIER_MAX_TIERS */
    double ms[TIER_MAX_TIERS - 1]; /* ascending; tier t holds ms[t-2] < P90 <= ms[t-1] */
};
/* Places cuts: those that leave the least variance of c within tiers, weighted by sessions, no tier
 * with less than 5 % of them; found exactly. ERR_INVALID if there are too few models for that. */
bool tier_place_cuts(const struct tier_score scores[], size_t n, unsigned tiers, struct arena *mem,
                     struct tier_cuts *out, struct err *err) MUST_CHECK;

unsigned tier_of(const struct tier_cuts *cuts, double ln_ms);
/* Chance that the true capability lies outside `tier`. */
double tier_outside(const struct tier_cuts *cuts, const struct tier_score *score, unsigned tier);
/* The tier a model has from now on, `now` being the one it has (0: none yet). A model without
 * sessions stays 0. One with sessions keeps its tier unless tier_outside > 0.95. */
#define TIER_SURE 0.95
unsigned tier_assign(const struct tier_cuts *cuts, const struct tier_score *score, unsigned now);
