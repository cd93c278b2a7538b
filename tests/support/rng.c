#include "support/rng.h"

#include <math.h>

struct rng rng_of(uint64_t seed, uint64_t run)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + run * UINT64_C(0xd1342543de82ef95);
    struct rng r;

    for (int i = 0; i < 4; i++) {
        uint64_t z = x += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        r.s[i] = z ^ z >> 31;
    }
    return r;
}

uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->s, five = s[1] * 5, out = (five << 7 | five >> 57) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return out;
}

double rng_uniform(struct rng *r)
{
    return ((double)(rng_next(r) >> 11) + 0.5) * 0x1p-53;
}

double rng_normal(struct rng *r)
{
    double length = sqrt(-2 * log(rng_uniform(r)));

    return length * cos(2 * M_PI * rng_uniform(r));
}

unsigned rng_poisson(struct rng *r, double mean)
{
    double limit = exp(-mean), left = rng_uniform(r);
    unsigned n = 0;

    for (; left > limit; left *= rng_uniform(r))
        n++;
    return n;
}

/* Marsaglia and Tsang's method. */
double rng_gamma(struct rng *r, double shape)
{
    if (shape < 1) {
        double less = pow(rng_uniform(r), 1 / shape);

        return less * rng_gamma(r, shape + 1);
    }

    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);

    for (;;) {
        double x = rng_normal(r), v = 1 + c * x;

        v = v * v * v;
        if (v > 0 && log(rng_uniform(r)) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v;
    }
}
