// Deep inlining, templates, lambdas, local classes, exceptions: what a game's native code looks like.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#ifndef DEEPEST
#define DEEPEST 12
#endif

namespace game
{
template <int N> struct Depth {
    static inline __attribute__((always_inline)) int run(int x)
    {
        volatile int y = x * N;
        if (y % (N + 2) == 1)
            y = y + Depth<N - 1>::run(y + N);
        return Depth<N - 1>::run(x ^ y) + y;
    }
};
template <> struct Depth<0> {
    static inline __attribute__((always_inline)) int run(int x)
    {
        volatile int y = x;
        return y;
    }
};

struct Component {
    virtual ~Component() = default;
    virtual int tick(int dt) = 0;
};

template <typename T, int Kind> struct Typed : Component {
    std::vector<T> values;
    explicit Typed(size_t n) : values(n) { std::iota(values.begin(), values.end(), T(Kind)); }
    int tick(int dt) override
    {
        auto scale = [dt](T v) { return v * T(dt + Kind); };
        std::transform(values.begin(), values.end(), values.begin(), scale);
        std::sort(values.begin(), values.end(), [](T a, T b) { return a > b; });
        return static_cast<int>(std::accumulate(values.begin(), values.end(), T{}));
    }
};

class World
{
    std::map<std::string, std::unique_ptr<Component>> parts;
    std::unordered_map<int, std::function<int(int)>> hooks;

  public:
    World()
    {
        parts["i"] = std::make_unique<Typed<int, 1>>(40);
#if DEEPEST > 8
        parts["f"] = std::make_unique<Typed<float, 2>>(40);
        parts["d"] = std::make_unique<Typed<double, 3>>(40);
        parts["l"] = std::make_unique<Typed<long, 4>>(40);
#endif
        struct Local {
            int weight;
            int operator()(int v) const { return Depth<6>::run(v) * weight; }
        };
        hooks[1] = Local{3};
        hooks[2] = [this](int v) { return static_cast<int>(parts.size()) + Depth<DEEPEST - 4>::run(v); };
    }
    int step(int dt)
    {
        int sum = 0;
        for (auto &[name, part] : parts)
            sum += part->tick(dt) + static_cast<int>(name.size());
        for (auto &[key, hook] : hooks)
            sum += hook(dt + key);
        if (sum == 12345)
            throw std::runtime_error("unlikely " + std::to_string(sum));
        return sum;
    }
};

namespace
{
int hidden_helper(int x)
{
    std::string s(static_cast<size_t>(x & 7), 'x');
    return static_cast<int>(s.find('y')) + Depth<4>::run(x);
}
} // namespace

int frame(int x)
{
    static World world;
    try {
        return world.step(x) + hidden_helper(x);
    } catch (const std::exception &e) {
        return static_cast<int>(std::string(e.what()).size());
    }
}
} // namespace game

extern "C" int game_frame(int x)
{
    return game::frame(x) + game::Depth<DEEPEST>::run(x);
}

int main(int argc, char **)
{
    return game_frame(argc) & 1;
}
