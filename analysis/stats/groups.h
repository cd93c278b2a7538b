/*
 * groups: sums of one slice by install group, and the mean and variance that they give. An install
 * is always in the same of 64 groups (the low 6 bits of its sessions' ids), so the variance holds
 * although an install's sessions resemble each other. All sums are integers: they add and subtract
 * exactly, in any order. Pure.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define INSTALL_GROUPS 64

/* A slice's sessions: how many, and the sum of their values in 1e-6 natural log units. Weighted
 * ones: the sum of weights (integers, 1e-3), and of weight x value. */
struct groups {
    int64_t n[INSTALL_GROUPS];
    int64_t sum_e6[INSTALL_GROUPS];
};

/* A mean of logarithms, or a difference of two; e^mean - 1 is the relative change. */
struct estimate {
    double mean;
    double var; /* of the mean, > 0 */
    int64_t n;  /* sessions (of a difference: of the smaller side) */
    unsigned g; /* install groups with sessions (of groups_difference: on either side) */
};

void groups_add(struct groups *s, unsigned group, int64_t n, int64_t sum_e6);

/* Groups with sessions. */
unsigned groups_filled(const struct groups *s);
/* About how many installs fill so many of the 64 groups, each being in one at random: those of
 * which as many groups are expected to stay empty, (1 - 1/64)^n of all (linear counting; Whang,
 * Vander-Zanden and Taylor 1990). Rounded down; never less than `filled`; of all 64: 308. */
int64_t groups_installs(unsigned filled);

/* mean = sum S_g / n; V = G/(G-1) sum (S_g - mean n_g)^2 / n^2 over the G groups with sessions.
 * False when fewer than two groups have sessions, or a count is negative. V is at least 1e-12. */
bool groups_mean(const struct groups *s, struct estimate *out);

/* now - base of the same installs' groups: D = mean_now - mean_base, and V by the groups' influence
 * on it, so that installs seen on both sides, which move both means alike, are not counted as
 * noise: V = G/(G-1) sum (off_now,g / n_now - off_base,g / n_base)^2,   off = S_g - mean n_g With
 * different installs on both sides that is V_now + V_base. False as groups_mean. */
bool groups_difference(const struct groups *now, const struct groups *base, struct estimate *out);

/* Installs seen on both builds: each is its own control, so device, player and mix cancel. */
struct paired {
    struct groups d; /* weight in 1/1000 (n) and weighted differences */
    int64_t installs;
};
/* One install's sessions on both builds; sums of y or of r, in 1e-6. Weight n_new n_base / (n_new +
 * n_base), the sessions of a side counted to PAIRED_SESSIONS at most. Ignored if a side has none.
 */
#define PAIRED_SESSIONS 10
void paired_add(struct paired *p, unsigned group, int64_t n_new, int64_t sum_new_e6, int64_t n_base,
                int64_t sum_base_e6);
/* Weighted mean of new - base and its variance by groups; n is the number of installs. */
bool paired_mean(const struct paired *p, struct estimate *out);
