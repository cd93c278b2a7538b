// C without a standard library, so that any target can be built: inlining, statics, cold paths,
// tables of function pointers, recursion.
typedef unsigned long size;

struct vec {
    float x, y, z;
};

static inline float dot(struct vec a, struct vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline struct vec scale(struct vec a, float k)
{
    a.x *= k;
    a.y *= k;
    a.z *= k;
    return a;
}

static inline struct vec reflect(struct vec v, struct vec n)
{
    struct vec s = scale(n, 2.0f * dot(v, n));

    v.x -= s.x;
    v.y -= s.y;
    v.z -= s.z;
    return v;
}

__attribute__((noinline)) float shade(const struct vec *v, size n)
{
    float sum = 0;

    for (size i = 0; i + 1 < n; i++) {
        struct vec r = reflect(v[i], v[i + 1]);

        if (dot(r, r) > 1e9f)
            __builtin_trap();
        sum += dot(r, v[0]);
    }
    return sum;
}

__attribute__((noinline)) static int hash(const char *s)
{
    unsigned h = 2166136261u;

    while (*s)
        h = (h ^ (unsigned char)*s++) * 16777619u;
    return (int)h;
}

__attribute__((noinline, cold)) int report(const char *why)
{
    return hash(why) & 1;
}

static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static int twice(int n)
{
    return fib(n) * 2;
}

static int thrice(int n)
{
    return hash("thrice") + fib(n) * 3;
}

static int (*const table[])(int) = {fib, twice, thrice};

int dispatch(int kind, int n)
{
    switch (kind) {
    case 0:
    case 1:
    case 2:
        return table[kind](n);
    case 3:
        return hash("three") + n;
    case 4:
        return report("four");
    case 5:
        return dispatch(kind - 1, n) + dispatch(kind - 2, n);
    default:
        return kind > 100 ? report("far") : fib(n & 15);
    }
}
