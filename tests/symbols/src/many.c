// Some hundred functions of one pattern, so that a file has more than a handful of units' worth.
#include "shared.h"

#define ONE(n)                                                                                     \
    int many_##n(int a, int b)                                                                     \
    {                                                                                              \
        int c = mix(a, n) + deep(b);                                                               \
        if (c % (n + 2) == 0)                                                                      \
            c += deep(mix(c, a));                                                                  \
        for (int i = 0; i < (b & n); i++)                                                          \
            c = mix(c, i);                                                                         \
        return c;                                                                                  \
    }
#define TEN(n)                                                                                     \
    ONE(n##0)                                                                                      \
    ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)

TEN(1)
TEN(2)
TEN(3)
TEN(4)
TEN(5)
TEN(6)
TEN(7)
TEN(8)
TEN(9)
TEN(10)
TEN(11)
TEN(12)
