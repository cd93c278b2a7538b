/*
 * tier_sim: made-up device models with sessions. Capability follows from features, SoC and
 * something of the model itself that no feature tells; session counts fall off as those of phones
 * do.
 */
#pragma once
#include "stats/tier.h"

#define TIER_SIM_MODELS 300
#define TIER_SIM_SOCS 30

struct tier_sim {
    double true_ln_ms[TIER_SIM_MODELS];
    struct tier_device device[TIER_SIM_MODELS];
    char soc[TIER_SIM_SOCS][8];
};

/* Models of a seed; sessions of one week of it. Weeks differ by their sessions alone. `sessions` of
 * the most popular model; a few have none. */
void tier_sim(uint64_t seed, unsigned week, unsigned sessions, struct tier_sim *out);

/* Tiers of k-means (Lloyd) on the standardised features, the best of 10 starts, fastest first. */
void tier_sim_k_means(const struct tier_device device[], unsigned n, unsigned tiers, uint64_t seed,
                      unsigned tier[]);

/* Adjusted Rand index of two partitions, 1 if they are the same, about 0 if unrelated. */
double adjusted_rand(const unsigned a[], const unsigned b[], unsigned n);

/* Share of the sessions' variance of true capability that lies between tiers. */
double tier_sim_explained(const struct tier_sim *s, const unsigned tier[]);
