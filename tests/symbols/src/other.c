// A second unit: a static of the same name, an inline function of a header, a big switch.
#include "shared.h"

static int hash(const char *s)
{
    int n = 0;

    while (s[n])
        n += mix(s[n], n) ? 1 : 2;
    return n;
}

int other_entry(const char *s, int k)
{
    switch (k & 15) {
    case 0:
        return hash(s);
    case 1:
        return mix(k, hash(s));
    case 2:
        return mix(mix(k, 1), mix(k, 2));
    case 9:
        return mix(deep(k), hash(s + 1));
    default:
        return deep(deep(k) + mix(k, 7));
    }
}
