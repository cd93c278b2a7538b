/*
 * rng: random numbers of the simulations: equal seeds give equal numbers on every machine with the
 * same libm. xoshiro256** by Blackman and Vigna, seeded by splitmix64.
 */
#pragma once
#include <stdint.h>

struct rng {
    uint64_t s[4];
};

struct rng rng_of(uint64_t seed, uint64_t run);
uint64_t rng_next(struct rng *r);
double rng_uniform(struct rng *r); /* inside 0..1 */
double rng_normal(struct rng *r);
unsigned rng_poisson(struct rng *r, double mean); /* mean below 700 */
double rng_gamma(struct rng *r, double shape);    /* scale 1; shape > 0 */
