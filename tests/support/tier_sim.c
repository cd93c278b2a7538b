#include "support/tier_sim.h"

#include "support/control.h"
#include "support/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OWN_SD 0.12     /* of a model, told by no feature */
#define SOC_SD 0.10     /* of a SoC beyond its figures: its GPU */
#define SESSION_SD 0.25 /* sessions of one model */

/* A SoC's own figures: speed in -1..1 decides clocks and cores. */
struct soc {
    double speed, effect;
};

static void make_soc(struct rng *r, struct soc *s)
{
    s->speed = 2 * rng_uniform(r) - 1;
    s->effect = SOC_SD * rng_normal(r);
}

/* Features of one model; what is measured in play (clocks, heat) differs a little by week. */
static void make_features(struct rng *r, struct rng *week, const struct soc *s,
                          double f[TIER_FEATURE_COUNT])
{
    static const double pixels[] = {720 * 1600, 1080 * 2400, 1440 * 3200};
    double max_khz = 2.2e6 * exp(0.25 * s->speed);
    double heat = 38 + 3 * rng_normal(r);

    f[TIER_max_khz] = max_khz;
    f[TIER_fast_cores] = s->speed > 0.3 ? 1 : s->speed > -0.3 ? 2 : 4;
    f[TIER_cores] = 8;
    f[TIER_clusters] = s->speed > 0.3 ? 3 : 2;
    f[TIER_ram_mb] = 1024 * (s->speed > 0 ? 8 : 4) * (rng_uniform(r) < 0.3 ? 1.5 : 1);
    f[TIER_pixels] = pixels[rng_next(r) % 3];
    f[TIER_median_khz] = max_khz * (0.75 + 0.05 * rng_normal(r)) * exp(0.02 * rng_normal(week));
    f[TIER_throttled_khz] = max_khz * (0.5 + 0.08 * rng_normal(r)) * exp(0.05 * rng_normal(week));
    f[TIER_temperature] = heat + 0.5 * rng_normal(week);
    if (rng_uniform(r) < 0.1)
        f[TIER_throttled_khz] = NAN; /* never seen hot */
}

static double ln_ms_of(struct rng *r, const struct soc *s, const double f[TIER_FEATURE_COUNT])
{
    return 3.2 - 0.45 * s->speed + s->effect + 0.12 * log(f[TIER_pixels] / 2.6e6) -
           0.1 * log(f[TIER_ram_mb] / 6000) + OWN_SD * rng_normal(r);
}

void tier_sim(uint64_t seed, unsigned week, unsigned sessions, struct tier_sim *out)
{
    struct rng r = rng_of(seed, 0), w = rng_of(seed, 1000 + week);
    struct soc soc[TIER_SIM_SOCS];

    memset(out, 0, sizeof *out);
    for (unsigned k = 0; k < TIER_SIM_SOCS; k++) {
        make_soc(&r, &soc[k]);
        snprintf(out->soc[k], sizeof out->soc[k], "soc%u", k);
    }
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        struct tier_device *d = &out->device[m];
        unsigned k = (unsigned)(rng_next(&r) % TIER_SIM_SOCS), n = sessions / (1 + m / 2);

        d->id = m + 1;
        d->soc = out->soc[k];
        make_features(&r, &w, &soc[k], d->feature);
        out->true_ln_ms[m] = ln_ms_of(&r, &soc[k], d->feature);
        for (unsigned i = 0; i < n; i++)
            moments_add(&d->y, llround(1e6 * (out->true_ln_ms[m] + SESSION_SD * rng_normal(&w))));
    }
}

/* k-means ----------------------------------------------------------------------------------------
 */

typedef double point[TIER_FEATURE_COUNT];

static void standardise(const struct tier_device device[], unsigned n, point p[])
{
    for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++) {
        double known = 0, sum = 0, squares = 0;

        for (unsigned i = 0; i < n; i++)
            if (!isnan(device[i].feature[f])) {
                known++;
                sum += device[i].feature[f];
                squares += device[i].feature[f] * device[i].feature[f];
            }

        double mean = sum / known, sd = sqrt(fmax(squares / known - mean * mean, 0));

        for (unsigned i = 0; i < n; i++)
            p[i][f] =
                isnan(device[i].feature[f]) || sd < 1e-9 ? 0 : (device[i].feature[f] - mean) / sd;
    }
}

static double nearest(const point p, const point centre[], unsigned tiers, unsigned *which)
{
    double best = INFINITY;

    for (unsigned t = 0; t < tiers; t++) {
        double far = 0;

        for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
            far += (p[f] - centre[t][f]) * (p[f] - centre[t][f]);
        if (far < best) {
            best = far;
            *which = t;
        }
    }
    return best;
}

static double lloyd(const point p[], unsigned n, unsigned tiers, struct rng *r, unsigned tier[])
{
    point centre[TIER_MAX_TIERS];
    double cost = 0;

    for (unsigned t = 0; t < tiers; t++)
        memcpy(centre[t], p[rng_next(r) % n], sizeof(point));
    for (int round = 0; round < 50; round++) {
        point sum[TIER_MAX_TIERS] = {{0}};
        unsigned count[TIER_MAX_TIERS] = {0};

        cost = 0;
        for (unsigned i = 0; i < n; i++) {
            cost += nearest(p[i], (const point *)centre, tiers, &tier[i]);
            count[tier[i]]++;
            for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
                sum[tier[i]][f] += p[i][f];
        }
        for (unsigned t = 0; t < tiers; t++)
            for (unsigned f = 0; count[t] && f < TIER_FEATURE_COUNT; f++)
                centre[t][f] = sum[t][f] / count[t];
    }
    return cost;
}

void tier_sim_k_means(const struct tier_device device[], unsigned n, unsigned tiers, uint64_t seed,
                      unsigned tier[])
{
    point p[TIER_SIM_MODELS];
    struct rng r = rng_of(seed, 77);
    unsigned found[TIER_SIM_MODELS];
    double best = INFINITY;

    standardise(device, n, p);
    for (int start = 0; start < 10; start++) {
        double cost = lloyd((const point *)p, n, tiers, &r, found);

        if (cost < best) {
            best = cost;
            memcpy(tier, found, n * sizeof *tier);
        }
    }
}

/* Measures --------------------------------------------------------------------------------------
 */

static double pairs(double n)
{
    return n * (n - 1) / 2;
}

double adjusted_rand(const unsigned a[], const unsigned b[], unsigned n)
{
    double both[16][16] = {{0}}, row[16] = {0}, column[16] = {0};
    double same = 0, rows = 0, columns = 0;

    for (unsigned i = 0; i < n; i++) {
        both[a[i]][b[i]]++;
        row[a[i]]++;
        column[b[i]]++;
    }
    for (int i = 0; i < 16; i++) {
        rows += pairs(row[i]);
        columns += pairs(column[i]);
        for (int k = 0; k < 16; k++)
            same += pairs(both[i][k]);
    }

    double chance = rows * columns / pairs(n), most = (rows + columns) / 2;

    return most > chance ? (same - chance) / (most - chance) : 1;
}

double tier_sim_explained(const struct tier_sim *s, const unsigned tier[])
{
    double n[16] = {0}, sum[16] = {0}, all = 0, total = 0, squares = 0, between = 0;

    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        double w = (double)s->device[m].y.n, y = s->true_ln_ms[m];

        n[tier[m]] += w;
        sum[tier[m]] += w * y;
        all += w;
        total += w * y;
        squares += w * y * y;
    }
    for (int t = 0; t < 16; t++)
        between += n[t] > 0 ? sum[t] * sum[t] / n[t] : 0;
    return (between - total * total / all) / (squares - total * total / all);
}
