#pragma once

static inline int mix(int a, int b)
{
    volatile int c = a * 31 + b;

    return c ^ (c >> 3);
}

static inline int deep(int a)
{
    int b = mix(a, 1);

    if (b & 1)
        b = mix(b, a);
    return mix(b, mix(a, b));
}
