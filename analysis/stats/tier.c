#include "stats/tier.h"

#include "stats/normal.h"

#include <math.h>

/* Capabilities on a grid of 0.5 %, from 0.1 ms to 100 s. */
#define GRID_STEP 0.005
#define GRID_LOW (-2.302585092994046)
#define GRID_CELLS 2764
#define LEAST_SHARE 0.05

/* Running sums over the grid: of weight, weight c, weight c^2 in the cells before i. */
struct grid {
    double w[GRID_CELLS + 1], c[GRID_CELLS + 1], c2[GRID_CELLS + 1];
    double cost[TIER_MAX_TIERS][GRID_CELLS + 1];
    int from[TIER_MAX_TIERS][GRID_CELLS + 1];
    double low[GRID_CELLS], high[GRID_CELLS]; /* capabilities within a cell */
};

static void fill_grid(const struct tier_score scores[], size_t n, struct grid *g)
{
    for (int i = 0; i < GRID_CELLS; i++) {
        g->low[i] = INFINITY;
        g->high[i] = -INFINITY;
    }
    for (size_t i = 0; i < n; i++) {
        if (scores[i].n <= 0)
            continue;

        double c = scores[i].capability, at = floor((c - GRID_LOW) / GRID_STEP);
        int cell = at < 0 ? 0 : at >= GRID_CELLS ? GRID_CELLS - 1 : (int)at;
        g->w[cell + 1] += (double)scores[i].n;
        g->low[cell] = fmin(g->low[cell], c);
        g->high[cell] = fmax(g->high[cell], c);
    }
    for (int i = 0; i < GRID_CELLS; i++) {
        double w = g->w[i + 1], c = GRID_LOW + (i + 0.5) * GRID_STEP;

        g->w[i + 1] = g->w[i] + w;
        g->c[i + 1] = g->c[i] + w * c;
        g->c2[i + 1] = g->c2[i] + w * c * c;
    }
}

/* Squares around the mean of cells low..high-1; infinite below the least share. */
static double cost_of(const struct grid *g, int low, int high)
{
    double w = g->w[high] - g->w[low], c = g->c[high] - g->c[low];

    if (w < LEAST_SHARE * g->w[GRID_CELLS])
        return INFINITY;
    return g->c2[high] - g->c2[low] - c * c / w;
}

/* cost[t][i]: least squares of the cells before i in t + 1 tiers. */
static void divide(struct grid *g, unsigned tiers)
{
    for (int i = 0; i <= GRID_CELLS; i++)
        g->cost[0][i] = cost_of(g, 0, i);
    for (unsigned t = 1; t < tiers; t++)
        for (int i = 0; i <= GRID_CELLS; i++) {
            g->cost[t][i] = INFINITY;
            for (int j = 1; j < i; j++) {
                double cost = g->cost[t - 1][j];

                if (cost < g->cost[t][i])
                    cost += cost_of(g, j, i);
                if (cost < g->cost[t][i]) {
                    g->cost[t][i] = cost;
                    g->from[t][i] = j;
                }
            }
        }
}

/* ms between the slowest model before cell i and the fastest from it on. */
static double cut_at(const struct grid *g, int i)
{
    int before = i - 1, after = i;

    while (before > 0 && isinf(g->high[before]))
        before--;
    while (after < GRID_CELLS - 1 && isinf(g->low[after]))
        after++;
    return exp(0.5 * (g->high[before] + g->low[after]));
}

bool tier_place_cuts(const struct tier_score scores[], size_t n, unsigned tiers, struct arena *mem,
                     struct tier_cuts *out, struct err *err)
{
    if (tiers < 2 || tiers > TIER_MAX_TIERS)
        return err_set(err, ERR_INVALID, "tiers: %u, must be 2 to %d", tiers, TIER_MAX_TIERS);

    struct grid *g = arena_alloc(mem, sizeof *g);

    if (!g)
        return err_full(err, "cuts of tiers");
    fill_grid(scores, n, g);
    if (!(g->w[GRID_CELLS] > 0))
        return err_set(err, ERR_INVALID, "tiers: no model with sessions");
    divide(g, tiers);
    if (isinf(g->cost[tiers - 1][GRID_CELLS]))
        return err_set(err, ERR_INVALID, "tiers: models too few or too alike for %u tiers", tiers);
    out->tiers = tiers;
    for (int t = (int)tiers - 1, i = GRID_CELLS; t > 0; t--) {
        i = g->from[t][i];
        out->ms[t - 1] = cut_at(g, i);
    }
    return true;
}

unsigned tier_of(const struct tier_cuts *cuts, double ln_ms)
{
    unsigned tier = 1;

    while (tier < cuts->tiers && ln_ms > log(cuts->ms[tier - 1]))
        tier++;
    return tier;
}

double tier_outside(const struct tier_cuts *cuts, const struct tier_score *score, unsigned tier)
{
    double outside = 0;

    if (tier > 1)
        outside += normal_cdf((log(cuts->ms[tier - 2]) - score->capability) / score->sd);
    if (tier < cuts->tiers)
        outside += normal_cdf((score->capability - log(cuts->ms[tier - 1])) / score->sd);
    return outside;
}

unsigned tier_assign(const struct tier_cuts *cuts, const struct tier_score *score, unsigned now)
{
    if (score->n <= 0)
        return 0;
    if (now == 0 || now > cuts->tiers)
        return tier_of(cuts, score->capability);
    return tier_outside(cuts, score, now) > TIER_SURE ? tier_of(cuts, score->capability) : now;
}
