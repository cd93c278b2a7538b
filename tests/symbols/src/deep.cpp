// C++ without a standard library: templates inlined into one another, lambdas, local and anonymous
// types, virtual calls. Builds for any target; no data but virtual tables.
namespace engine
{
template <int N> struct Chain {
    static inline __attribute__((always_inline)) int run(int x)
    {
        volatile int y = x * N + 1;
        if (y & 1)
            return Chain<N - 1>::run(y ^ N) + Chain<N - 1>::run(y + N);
        return Chain<N - 1>::run(y);
    }
};
template <> struct Chain<0> {
    static inline __attribute__((always_inline)) int run(int x) { return x * 7 - 3; }
};

template <typename T> struct Span {
    T *at;
    unsigned n;
    template <typename F> inline T fold(T start, F f) const
    {
        for (unsigned i = 0; i < n; i++)
            start = f(start, at[i]);
        return start;
    }
};

namespace
{
struct Weights {
    int a, b;
    inline int mix(int x) const { return x * a + (x >> 2) * b; }
};
inline int hidden(int x)
{
    Weights w{x, x + 1};
    return w.mix(w.mix(x));
}
} // namespace

template <typename T> __attribute__((noinline)) T total(Span<T> s, T k)
{
    auto add = [k](T a, T b) { return a + b * k; };
    auto both = [&](T a, T b) {
        T c = add(a, b);
        return add(c, static_cast<T>(Chain<2>::run(static_cast<int>(b))));
    };
    return s.fold(T(), both);
}

struct Node {
    virtual int visit(int depth) = 0;
};

struct Leaf : Node {
    int visit(int depth) override
    {
        struct Local {
            static inline int twice(int x) { return hidden(x) * 2; }
        };
        return Local::twice(depth) + Chain<5>::run(depth);
    }
};
} // namespace engine

extern "C" int engine_visit(engine::Node *node, int x)
{
    return node->visit(x) + engine::Chain<6>::run(x);
}

extern "C" int engine_total(int *at, unsigned n, double *d)
{
    return engine::total<int>({at, n}, 3) + static_cast<int>(engine::total<double>({d, n}, 0.5));
}

extern "C" int engine_leaf(int x)
{
    engine::Leaf leaf;
    return leaf.visit(x);
}
