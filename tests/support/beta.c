#include "support/beta.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 1200 /* of each language */
#define CHAIN 9
#define CAUSES_MAX 200
#define ABIS 2
#define BUILDS 2

enum lang { CPP, JAVA, CSHARP, RUST, LUA, LANGS };

/* Chance ------------------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

struct dice {
    uint64_t state;
};

static uint64_t roll(struct dice *d)
{
    return mix(d->state++);
}

static unsigned below(struct dice *d, unsigned n)
{
    return (unsigned)(roll(d) % n);
}

static bool chance(struct dice *d, double p)
{
    return (double)(roll(d) >> 11) * 0x1p-53 < p;
}

/* A fact that stays: the same for the same numbers. */
static uint64_t fact(uint64_t seed, uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
    return mix(mix(mix(mix(seed ^ what * 0x1357) ^ a) ^ b << 20) ^ c << 40);
}

static bool holds(uint64_t seed, uint64_t what, uint64_t a, uint64_t b, uint64_t c, double p)
{
    return (double)(fact(seed, what, a, b, c) >> 11) * 0x1p-53 < p;
}

enum { /* facts */
       INLINED = 1,
       RECORDS,
       TAIL,
       CLONE,
       TEMPLATE,
       SIZED,
       OFFSET,
       NUMBER,
       HASH,
       MAPPING,
       MODULE
};

/* The game ----------------------------------------------------------------------------------------
 */

struct cause {
    enum lang lang;
    unsigned chain[CHAIN], n; /* functions, innermost first */
    unsigned cycle, cycle_at; /* functions of a recursion, and where it begins; 0: none */
    int closure;              /* place in the chain; -1: none */
    double helpers;           /* how often a sample hits a helper of the engine */
    unsigned leaf;            /* what of the system is below */
    double weight;            /* cumulated */
};

struct beta {
    uint64_t seed, installs;
    unsigned n;
    struct cause causes[CAUSES_MAX];
    struct rules rules;
};

static const char *const nouns[] = {"Texture", "Mesh",   "Level",  "Audio",  "Actor",
                                    "Terrain", "Shader", "Script", "Quest",  "Chat",
                                    "Avatar",  "Replay", "Match",  "Effect", "Anim",
                                    "Physics", "Widget", "Font",   "Net",    "Save"};
static const char *const kinds[] = {"Cache",  "Loader", "Manager", "System", "Pool",
                                    "Stream", "Queue",  "Panel",   "Graph",  "Factory"};
static const char *const methods[] = {
    "load",    "decode",   "update", "parse",  "build", "refresh", "upload",  "resolve", "collect",
    "compile", "evaluate", "spawn",  "layout", "sync",  "unpack",  "rebuild", "commit"};
static const char *const spaces[] = {"game::world", "game::ui",  "game",        "eng::res",
                                     "eng::render", "eng::anim", "eng::script", "net"};
static const char *const packages[] = {"com.studio.game", "com.studio.game.ui", "com.studio.net",
                                       "com.studio.store"};

struct function {
    const char *space, *noun, *kind, *method;
    unsigned number; /* of its class */
};

/* Three methods a class. */
static struct function function_of(const struct beta *b, unsigned id)
{
    unsigned class = id / 3;
    uint64_t h = mix(b->seed * 31 + class);

    return (struct function){.space = spaces[class % 8],
                             .noun = nouns[class / 8 % 20],
                             .kind = kinds[class / 160 % 10],
                             .method = methods[(h % 17 + id % 3 * 5) % 17],
                             .number = class};
}

static const char *const helpers[] = {
    "base::Array<int>::at(unsigned int)", "base::math::lerp(float, float, float)",
    "base::HashMap<base::String, int>::find(base::String const&)",
    "base::String::append(char const*)", "base::Allocator::allocate(unsigned long)"};

/* Causes ------------------------------------------------------------------------------------------
 */

static enum lang lang_of(struct dice *d)
{
    static const enum lang mixture[] = {CPP,  CPP,  CPP,    CPP,  CPP, CPP,
                                        JAVA, JAVA, CSHARP, RUST, LUA, CPP};

    return mixture[below(d, 12)];
}

static bool same_start(const struct cause *a, const struct cause *b)
{
    return a->lang == b->lang && memcmp(a->chain, b->chain, 3 * sizeof a->chain[0]) == 0;
}

static bool is_new(const struct beta *b, const struct cause *c)
{
    for (unsigned i = 0; i < c->n; i++)
        for (unsigned k = 0; k < i; k++)
            if (c->chain[i] == c->chain[k])
                return false;
    for (unsigned i = 0; i < b->n; i++)
        if (same_start(&b->causes[i], c))
            return false;
    return true;
}

static void fresh_chain(struct cause *c, struct dice *d)
{
    c->n = 4 + below(d, CHAIN - 4);
    for (unsigned i = 0; i < c->n; i++)
        c->chain[i] = below(d, FUNCTIONS);
}

/* Takes after a cause there is: its callers with another innermost function, or its innermost
 * function from other callers. */
static void related_chain(const struct beta *b, struct cause *c, struct dice *d)
{
    const struct cause *other = &b->causes[below(d, b->n)];

    if (other->lang != c->lang)
        return;
    if (chance(d, 0.6)) {
        c->n = other->n;
        memcpy(c->chain + 1, other->chain + 1, (other->n - 1) * sizeof c->chain[0]);
    } else {
        c->chain[0] = other->chain[0];
    }
}

static void make_cause(struct beta *b, struct dice *d)
{
    struct cause c = {.closure = -1};

    do {
        c.lang = lang_of(d);
        fresh_chain(&c, d);
        if (b->n && chance(d, 0.5))
            related_chain(b, &c, d);
    } while (!is_new(b, &c));
    if (c.lang != LUA && chance(d, 0.2))
        c.closure = (int)below(d, 3);
    if (chance(d, 0.15)) {
        c.cycle_at = below(d, 2);
        c.cycle = 1 + below(d, 2);
        if (c.closure >= 0)
            c.closure = 3;
    }
    c.helpers = chance(d, 0.3) ? 0.25 : 0;
    c.leaf = below(d, 5);
    b->causes[b->n++] = c;
}

/* The last cause is the first one's of its language, but for the second function: "a < c < d"
 * beside "a < b < c < d". */
static void make_shortcut(struct beta *b)
{
    struct cause *last = &b->causes[b->n - 1];

    for (unsigned i = 0; i + 1 < b->n; i++) {
        struct cause c = b->causes[i];

        if (c.lang != CPP || c.n < 6 || c.cycle)
            continue;
        memmove(c.chain + 1, c.chain + 2, (c.n - 2) * sizeof c.chain[0]);
        c.n--;
        c.closure = -1;
        b->n--;
        if (is_new(b, &c))
            *last = c;
        b->n++;
        return;
    }
}

/* Few causes make most janks. */
static void weigh(struct beta *b)
{
    double sum = 0;

    for (unsigned i = 0; i < b->n; i++) {
        sum += 1.0 / (1 + (double)i);
        b->causes[i].weight = sum;
    }
    for (unsigned i = 0; i < b->n; i++)
        b->causes[i].weight /= sum;
}

static void shuffle(struct beta *b, struct dice *d)
{
    for (unsigned i = b->n; i-- > 1;) {
        unsigned k = below(d, i + 1);
        struct cause c = b->causes[i];

        b->causes[i] = b->causes[k];
        b->causes[k] = c;
    }
}

struct beta *beta_new(uint64_t seed, unsigned causes, uint64_t installs)
{
    static const struct rule include[] = {
        {RULE_MODULE, "libgame.so", NULL},   {RULE_MODULE, "libengine.so", NULL},
        {RULE_MODULE, "libil2cpp.so", NULL}, {RULE_MODULE, "libnetcore.so", NULL},
        {RULE_PACKAGE, "com.studio", NULL},  {RULE_KEYWORD, ".lua", NULL}};
    static const struct rule exclude[] = {{RULE_MODULE, "libunity.so", NULL},
                                          {RULE_PACKAGE, "base", NULL}};
    struct beta *b = calloc(1, sizeof *b);
    struct dice d = {mix(seed)};

    if (!b)
        return NULL;
    b->seed = mix(seed + 77);
    b->installs = installs;
    b->rules = (struct rules){.include = include,
                              .exclude = exclude,
                              .n_include = sizeof include / sizeof *include,
                              .n_exclude = sizeof exclude / sizeof *exclude};
    while (b->n < causes && b->n < CAUSES_MAX)
        make_cause(b, &d);
    make_shortcut(b);
    shuffle(b, &d);
    weigh(b);
    return b;
}

void beta_free(struct beta *b)
{
    free(b);
}

const struct rules *beta_rules(const struct beta *b)
{
    return &b->rules;
}

/* Names, as each toolchain writes them ------------------------------------------------------------
 */

struct writer {
    const struct beta *b;
    struct arena *mem;
    struct dice dice; /* of this sample */
    unsigned abi, build;
    struct beta_jank *out;
    uint32_t raw;
    bool failed;
};

static const char *text(struct writer *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static const char *text(struct writer *w, const char *fmt, ...)
{
    char room[1024];
    va_list ap;
    char *copy;

    va_start(ap, fmt);
    vsnprintf(room, sizeof room, fmt, ap);
    va_end(ap);
    copy = arena_dup(w->mem, room, strlen(room));
    w->failed |= !copy;
    return copy ? copy : "";
}

static const char *cpp_name(struct writer *w, unsigned id, bool closure)
{
    static const char *const types[] = {"int", "game::Item", "std::__ndk1::basic_string<char>"};
    static const char *const clones[] = {" [clone .cold]", " [clone .part.0]", " [clone .isra.1]",
                                         " [clone .constprop.0]"};
    struct function f = function_of(w->b, id);
    const char *size = w->abi ? "unsigned int" : "unsigned long";
    const char *params = holds(w->b->seed, SIZED, id, 0, 0, 0.4) ? size : "game::Context const&";
    const char *clone =
        holds(w->b->seed, CLONE, id, w->abi, w->build, 0.06) && chance(&w->dice, 0.5)
            ? clones[fact(w->b->seed, CLONE, id, 1, 1) % 4]
            : "";

    if (closure)
        return text(w, "%s::%s%s::%s(%s)::{lambda(%s)#%u}::operator()(%s) const%s", f.space, f.noun,
                    f.kind, f.method, params, size,
                    (unsigned)(1 + fact(w->b->seed, NUMBER, id, w->abi, w->build) % 4), size,
                    clone);
    if (holds(w->b->seed, TEMPLATE, id, 0, 0, 0.15))
        return text(w, "void %s::%s%s::%s<%s>(%s)%s", f.space, f.noun, f.kind, f.method,
                    types[below(&w->dice, 3)], params, clone);
    return text(w, "%s::%s%s::%s(%s)%s", f.space, f.noun, f.kind, f.method, params, clone);
}

static const char *java_class(struct writer *w, unsigned id)
{
    struct function f = function_of(w->b, id);

    return text(w, "%s.%s%s", packages[f.number % 4], f.noun, f.kind);
}

/* Lambdas of Java, anonymous classes, and what Kotlin makes of suspending functions. */
static const char *java_name(struct writer *w, unsigned id, bool closure)
{
    const char *class = java_class(w, id), *method = function_of(w->b, id).method;
    unsigned number = (unsigned)(fact(w->b->seed, NUMBER, id, 0, w->build) % 6);

    if (!closure)
        return text(w, "%s.%s", class, method);
    switch (fact(w->b->seed, NUMBER, id, 9, 9) % 3) {
    case 0:
        return text(w, "%s.lambda$%s$%u", class, method, number);
    case 1:
        return text(w, "%s$%s$%u.invokeSuspend", class, method, number + 1);
    default:
        return text(w, "%s$%s$1$%u.invoke", class, method, number + 1);
    }
}

static const char *hex40(struct writer *w, unsigned id)
{
    uint64_t h = fact(w->b->seed, HASH, id, w->build, w->abi);

    return text(w, "%016llX%016llX%08llX", (unsigned long long)h, (unsigned long long)mix(h),
                (unsigned long long)(mix(h + 1) & 0xffffffffu));
}

static const char *csharp_name(struct writer *w, unsigned id, bool closure)
{
    struct function f = function_of(w->b, id);
    unsigned number = (unsigned)(fact(w->b->seed, NUMBER, id, 0, w->build) % 30);

    if (closure)
        return text(w, "U3C%s%sU3Ed__%u_MoveNext_m%s", f.method, f.kind, number, hex40(w, id));
    return text(w, "%s%s_%s_m%s", f.noun, f.kind, f.method, hex40(w, id));
}

static const char *rust_name(struct writer *w, unsigned id, bool closure)
{
    struct function f = function_of(w->b, id);
    uint64_t h = fact(w->b->seed, HASH, id, w->build, w->abi);

    if (holds(w->b->seed, TEMPLATE, id, 0, 0, 0.2))
        return text(w, "<netcore::%s%s<T> as netcore::Step>::%s::h%016llx", f.noun, f.kind,
                    f.method, (unsigned long long)h);
    return text(w, "netcore::%s%s::%s%s::h%016llx", f.noun, f.kind, f.method,
                closure ? "::{{closure}}" : "", (unsigned long long)h);
}

static const char *lua_name(struct writer *w, unsigned id)
{
    static const char *const folders[] = {"", "scripts/", "@scripts/ui/",
                                          "/data/user/0/com.studio.game/files/scripts/"};
    struct function f = function_of(w->b, id);

    return text(w, "%s%s_%s.lua:%u: in %s '%s'", folders[w->out->install % 4], f.noun, f.kind,
                1 + below(&w->dice, 400), id % 2 ? "function" : "method", f.method);
}

static const char *name_in(struct writer *w, enum lang lang, unsigned id, bool closure)
{
    switch (lang) {
    case JAVA:
        return java_name(w, id, closure);
    case CSHARP:
        return csharp_name(w, id, closure);
    case RUST:
        return rust_name(w, id, closure);
    case LUA:
        return lua_name(w, id);
    default:
        return cpp_name(w, id, closure);
    }
}

static const char *module_in(struct writer *w, enum lang lang, unsigned id)
{
    switch (lang) {
    case JAVA:
    case LUA:
        return NULL;
    case CSHARP:
        return "libil2cpp.so";
    case RUST:
        return "libnetcore.so";
    default:
        return holds(w->b->seed, MODULE, id / 3, 0, 0, 0.6) ? "libgame.so" : "libengine.so";
    }
}

/* Frames ------------------------------------------------------------------------------------------
 */

static struct stack_frame *push(struct writer *w, struct stack_frame f)
{
    struct stack_frame *at = &w->out->frames[w->out->n];

    if (w->out->n == BETA_FRAMES)
        return NULL;
    *at = f;
    at->raw = w->raw;
    w->raw += !f.inlined;
    w->out->n++;
    return at;
}

static void push_system(struct writer *w, const char *module, const char *function)
{
    push(w,
         (struct stack_frame){.status = function ? STACK_STATUS_SYMBOLICATED : STACK_STATUS_SYSTEM,
                              .function = function,
                              .module = module,
                              .offset = roll(&w->dice) % 3000 * 4});
}

static void push_managed(struct writer *w, const char *function)
{
    push(w, (struct stack_frame){.status = STACK_STATUS_MANAGED, .function = function});
}

static void push_ambiguous(struct writer *w, unsigned id)
{
    const char **names = arena_array(w->mem, 2, sizeof *names);

    if (!names) {
        w->failed = true;
        return;
    }
    names[0] = java_name(w, id, false);
    names[1] = java_name(w, (id + 1) % FUNCTIONS, false);
    push(w, (struct stack_frame){.status = STACK_STATUS_AMBIGUOUS,
                                 .function = "a.b.c",
                                 .alternatives = names,
                                 .n_alternatives = 2});
}

static const char *image(const struct writer *w)
{
    static const char *const ids[BUILDS][ABIS] = {{"aa01", "aa02"}, {"aa03", "aa04"}};

    return ids[w->build][w->abi];
}

/* A call of an app's function, unless compilers have made it vanish. `callee`: the function it
 * calls, FUNCTIONS: none of the app's. */
static void push_app(struct writer *w, enum lang lang, unsigned id, unsigned callee, bool closure)
{
    uint64_t seed = w->b->seed;
    bool native = lang == CPP || lang == RUST || lang == CSHARP;
    bool inlined =
        (lang == CPP || lang == RUST) && holds(seed, INLINED, id, w->abi, 0, w->abi ? 0.15 : 0.25);
    const char *module = module_in(w, lang, id);

    if (native && callee < FUNCTIONS && holds(seed, TAIL, id * 4096ull + callee, w->abi, 0, 0.03))
        return;
    if (inlined && holds(seed, RECORDS, id / 3, 0, 0, 0.04))
        return;
    if (lang == JAVA && holds(seed, MAPPING, id, w->build, 0, 0.01)) {
        push_ambiguous(w, id);
        return;
    }
    push(w, (struct stack_frame){
                .status = lang == LUA ? STACK_STATUS_MANAGED : STACK_STATUS_SYMBOLICATED,
                .inlined = inlined,
                .function = name_in(w, lang, id, closure),
                .module = module,
                .debug_id = module ? image(w) : NULL,
                .file = "source",
                .line = 1 + below(&w->dice, 900),
                .offset = fact(seed, OFFSET, id, w->abi, w->build) % 9000000 * 16 +
                          (callee < FUNCTIONS ? callee % 3 : below(&w->dice, 40)) * 4});
}

static void push_closure_call(struct writer *w, enum lang lang, unsigned id)
{
    if (lang == CPP) {
        push(w, (struct stack_frame){.status = STACK_STATUS_SYMBOLICATED,
                                     .function =
                                         "std::__ndk1::__function::__func<void ()>::operator()()",
                                     .module = "libgame.so",
                                     .offset = id});
    } else if (lang == JAVA) {
        const char *class = java_class(w, id);

        push_managed(w, text(w, "%s$$ExternalSyntheticLambda%u.run", class,
                             (unsigned)(fact(w->b->seed, NUMBER, id, 1, w->build) % 9)));
    }
}

/* Below the cause: what it was doing when it was met. */
static void push_leaf(struct writer *w, const struct cause *c)
{
    static const char *const calls[][3] = {{NULL, NULL, NULL},
                                           {"libc.so", NULL, NULL},
                                           {"libc.so", "libc.so", NULL},
                                           {"libGLESv2_adreno.so", "libgsl.so", "libc.so"},
                                           {"libc++_shared.so", "libc.so", NULL}};
    unsigned kind = chance(&w->dice, 0.7) ? c->leaf : below(&w->dice, 5);

    if (c->lang == JAVA) {
        if (kind > 1)
            push_managed(w, kind > 2 ? "java.io.FileInputStream.read"
                                     : "android.graphics.Bitmap.nativeCreate");
        return;
    }
    for (int i = 2; i >= 0; i--)
        if (calls[kind][i])
            push_system(w, calls[kind][i],
                        kind == 4 && i == 0 ? "std::__ndk1::vector<int>::push_back(int&&)" : NULL);
}

static void push_helpers(struct writer *w, const struct cause *c)
{
    if (c->lang != CPP || !chance(&w->dice, c->helpers + 0.02))
        return;
    push(w, (struct stack_frame){.status = STACK_STATUS_SYMBOLICATED,
                                 .function = helpers[below(&w->dice, 5)],
                                 .module = "libengine.so",
                                 .debug_id = image(w),
                                 .inlined = chance(&w->dice, 0.5),
                                 .line = below(&w->dice, 50)});
    if (chance(&w->dice, 0.03)) /* one that no rule names */
        push(w, (struct stack_frame){.status = STACK_STATUS_SYMBOLICATED,
                                     .function = "eng::util::Log::write(char const*)",
                                     .module = "libengine.so",
                                     .debug_id = image(w),
                                     .line = below(&w->dice, 50)});
}

static void push_roots(struct writer *w, enum lang lang)
{
    switch (lang) {
    case JAVA:
        push_managed(w, "android.os.Handler.handleCallback");
        push_managed(w, "android.os.Handler.dispatchMessage");
        push_managed(w, "android.os.Looper.loop");
        push_managed(w, "android.app.ActivityThread.main");
        push_managed(w, "java.lang.reflect.Method.invoke");
        push_managed(w, "com.android.internal.os.ZygoteInit.main");
        return;
    case CSHARP:
        for (unsigned i = 0; i < 4; i++)
            push(w, (struct stack_frame){.status = STACK_STATUS_MISSING,
                                         .module = "libunity.so",
                                         .debug_id = "bb",
                                         .offset = 4096 + i * 64});
        break;
    case LUA:
        push_system(w, "libengine.so", "luaV_execute");
        push_system(w, "libengine.so", "lua_pcallk");
        push_app(w, CPP, 7, FUNCTIONS, false);
        break;
    default:
        break;
    }
    push_app(w, CPP, 4, FUNCTIONS, false);
    push_app(w, CPP, 3, 4, false);
    push_app(w, CPP, 2, 3, false);
    push_system(w, "libc.so", w->abi ? NULL : "__pthread_start(void*)");
    push_system(w, "libc.so", w->abi ? NULL : "__start_thread");
}

/* How often around, and how far into the last round, where the innermost frames are. */
static void push_recursion(struct writer *w, const struct cause *c)
{
    unsigned rounds = 1;

    while (rounds < 12 && chance(&w->dice, 0.7))
        rounds++;
    for (unsigned i = below(&w->dice, c->cycle); i < rounds * c->cycle; i++) {
        unsigned at = c->cycle_at + i % c->cycle;

        push_app(w, c->lang, c->chain[at], c->chain[c->cycle_at + (i + c->cycle - 1) % c->cycle],
                 false);
    }
}

static void push_chain(struct writer *w, const struct cause *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        bool closure = c->closure == (int)i;

        if (c->cycle && i == c->cycle_at)
            push_recursion(w, c);
        push_app(w, c->lang, c->chain[i], i ? c->chain[i - 1] : FUNCTIONS, closure);
        if (closure)
            push_closure_call(w, c->lang, c->chain[i]);
    }
}

/* Other janks -------------------------------------------------------------------------------------
 */

static void make_system(struct writer *w)
{
    static const char *const java[][4] = {
        {"android.os.MessageQueue.nativePollOnce", "android.os.MessageQueue.next", NULL, NULL},
        {"android.view.ThreadedRenderer.nSyncAndDrawFrame", "android.view.ViewRootImpl.draw", NULL,
         NULL},
        {"android.os.BinderProxy.transactNative", "android.os.BinderProxy.transact",
         "android.app.IActivityManager$Stub$Proxy.startService", NULL},
        {"java.lang.Object.wait", "java.lang.Daemons$ReferenceQueueDaemon.runInternal", NULL,
         NULL}};
    static const char *const native[] = {"libbinder.so", "libhwui.so", "libgui.so",
                                         "libGLESv2_adreno.so", "libart.so"};

    if (chance(&w->dice, 0.5)) {
        const char *const *stack = java[below(&w->dice, 4)];

        for (unsigned i = 0; i < 4 && stack[i]; i++)
            push_managed(w, stack[i]);
        push_managed(w, "android.os.Looper.loop");
        push_managed(w, "android.app.ActivityThread.main");
        return;
    }
    for (unsigned i = 0, n = 2 + below(&w->dice, 6); i < n; i++)
        push_system(w, i ? native[below(&w->dice, 5)] : "libc.so", NULL);
    push_system(w, "libc.so", "__start_thread");
}

static void make_held(struct writer *w)
{
    static const char *const held[] = {"art::Thread::FullSuspendCheck(bool)",
                                       "GC_suspend_handler_inner", "artTestSuspendFromCode"};

    push_system(w, "libc.so", NULL);
    push_system(w, "libart.so", held[below(&w->dice, 3)]);
    for (unsigned i = 0; i < 4; i++)
        push_app(w, CPP, below(&w->dice, FUNCTIONS), FUNCTIONS, false);
    push_roots(w, CPP);
}

static void make_unknown(struct writer *w)
{
    push_system(w, "libc.so", NULL);
    for (unsigned i = 0, n = 1 + below(&w->dice, 5); i < n; i++)
        push(w, (struct stack_frame){.status = STACK_STATUS_UNKNOWN,
                                     .function = "Unknown",
                                     .offset = roll(&w->dice)});
}

/* Where and after what ----------------------------------------------------------------------------
 */

static void make_surroundings(struct writer *w, unsigned kind)
{
    static const char *const scenes[] = {"town", "race", "shop", "lobby"};
    static const char *const steps[] = {"menu", "shop_open", "buy",  "equip",
                                        "chat", "map",       "join", "leave"};
    struct beta_jank *j = w->out;

    j->scene = scenes[kind % 4];
    j->steps = 4 + below(&w->dice, 12);
    for (unsigned i = 0; i < j->steps; i++)
        j->step[i] = steps[below(&w->dice, 8)];
    if (chance(&w->dice, 0.6)) { /* what leads to this cause */
        j->step[j->steps - 1] = steps[(kind + 3) % 8];
        j->step[j->steps - 2] = steps[kind % 8];
    }
    j->duration_ms = 100 + below(&w->dice, 300) + (chance(&w->dice, 0.1) ? 1000 : 0);
}

/* Who janks janks more: a few devices have most. */
static void make_session(struct writer *w)
{
    double u = (double)(roll(&w->dice) >> 11) * 0x1p-53;

    w->out->install = (uint64_t)((double)w->b->installs * u * u);
    w->out->session = w->out->install * 8 + below(&w->dice, 3);
    w->abi = mix(w->out->install ^ w->b->seed) % 100 < 18;
    w->build = mix(w->out->install + 5) % 100 < 40;
    w->out->build = w->build;
}

static unsigned choose_cause(const struct beta *b, struct dice *d)
{
    double u = (double)(roll(d) >> 11) * 0x1p-53;
    unsigned i = 0;

    while (i + 1 < b->n && b->causes[i].weight < u)
        i++;
    return i;
}

static void make_caused(struct writer *w, const struct cause *c)
{
    w->out->class = STACK_CLASS_IN_APP;
    push_leaf(w, c);
    push_helpers(w, c);
    push_chain(w, c);
    push_roots(w, c->lang);
    if (chance(&w->dice, 0.007)) { /* unwinding stopped */
        size_t keep = 4 + below(&w->dice, 6);

        w->out->n = w->out->n < keep ? w->out->n : keep;
    }
}

static void make_once(struct writer *w, uint64_t i)
{
    struct cause c = {.closure = -1, .lang = CPP};

    do
        fresh_chain(&c, &w->dice);
    while (!is_new(w->b, &c));
    w->out->cause = (int)(w->b->n + i);
    make_caused(w, &c);
}

bool beta_jank(const struct beta *b, uint64_t i, struct arena *mem, struct beta_jank *out)
{
    struct writer w = {.b = b, .mem = mem, .dice = {mix(b->seed ^ i << 24)}, .out = out};
    unsigned what = below(&w.dice, 1000);

    memset(out, 0, sizeof *out);
    make_session(&w);
    out->cause = -1;
    out->late = chance(&w.dice, 0.3);
    if (what < 140) {
        out->class = STACK_CLASS_SYSTEM_ONLY;
        make_system(&w);
    } else if (what < 165) {
        out->class = STACK_CLASS_SUSPENDED;
        make_held(&w);
    } else if (what < 195) {
        out->class = STACK_CLASS_MOSTLY_UNKNOWN;
        make_unknown(&w);
    } else if (what < 220) {
        make_once(&w, i);
    } else {
        out->cause = (int)choose_cause(b, &w.dice);
        make_caused(&w, &b->causes[out->cause]);
    }
    make_surroundings(&w, (unsigned)(out->cause + 1) % 40);
    return !w.failed;
}

void beta_raw(const struct beta_jank *with, struct beta_jank *out)
{
    *out = *with;
    out->n = 0;
    for (size_t i = 0; i < with->n; i++) {
        struct stack_frame f = with->frames[i];

        if (f.inlined && i + 1 < with->n)
            continue;
        if (f.module && f.status == STACK_STATUS_SYMBOLICATED && f.debug_id) {
            f.status = STACK_STATUS_MISSING;
            f.function = f.file = NULL;
            f.line = 0;
        }
        f.inlined = false;
        out->frames[out->n++] = f;
    }
}
