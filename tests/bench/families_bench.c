/* tests/bench/families.sh says what for.
 *   families_bench proof SEED JANKS INSTALLS CAUSES   the analysis against planted causes
 *   families_bench stacks SEED N                      N stacks as text: a frame a line, innermost
 *                                                     first, a blank line between stacks
 *   families_bench fold FILE                          that text, folded and merged, to stdout
 *   families_bench trie SEED N                        one trie of N stacks
 *   families_bench rules SEED N KEYWORDS              N stacks grouped under as many keywords in
 * each list, tried one by one and by an index; then patterns with '*' that go back and forth */
#include "stacks/export.h"
#include "stacks/family.h"
#include "stacks/rules_index.h"
#include "stacks/trie.h"
#include "support/beta_proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MEMORY ((size_t)4 << 30)
#define BATCH 1000

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double peak_mb(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static int fail(const char *what)
{
    fprintf(stderr, "families_bench: %s\n", what);
    return 1;
}

static void print_score(const char *name, const struct pair_score *s)
{
    printf("  %-34s precision %.4f  recall %.4f  %u families\n", name, s->precision, s->recall,
           s->families);
}

static int proof(uint64_t seed, uint64_t janks, uint64_t installs, unsigned causes)
{
    struct beta *b = beta_new(seed, causes, installs);
    struct beta_result r;

    if (!b || !beta_prove(b, janks, installs, &r)) {
        beta_free(b);
        return fail("out of memory");
    }
    printf("seed %llu: %llu installs, %llu janks, %llu different stacks, %u causes\n",
           (unsigned long long)seed, (unsigned long long)installs, (unsigned long long)r.janks,
           (unsigned long long)r.stacks, causes);
    print_score("three lines as they stand", &r.plain);
    print_score("fingerprints", &r.fingerprint);
    print_score("fingerprints and kin", &r.kin);
    printf("  %u families joined by kin; %u of %u causes above the report rate found\n", r.joins,
           r.causes_found, r.causes);
    printf(
        "  class right %.4f; late symbols: %llu stacks, %llu in-app before, %llu of them moved\n",
        r.class_right, (unsigned long long)r.late, (unsigned long long)r.late_in_app,
        (unsigned long long)r.late_moved);
    printf("  distinct sessions: worst error %.2f %%\n", 100 * r.distinct_error);
    printf("  CPU s: families %.2f  kin %.2f  trie %.2f  paths %.2f; peak %.0f MB\n", r.family_s,
           r.kin_s, r.trie_s, r.paths_s, peak_mb());
    printf("  trie: %zu nodes, %.1f MB; %zu at 0.1 %%\n", r.trie_nodes, (double)r.trie_bytes / 1e6,
           r.pruned_nodes);
    beta_free(b);
    return r.kin.precision >= 0.98 && r.kin.recall >= 0.98 && r.late_moved == 0 ? 0 : 2;
}

/* The stack's names, innermost first: what a symbolicated report says. */
static bool next_stack(const struct beta *b, uint64_t i, struct arena *mem,
                       const char *const **names, size_t *n)
{
    struct beta_jank *j = arena_alloc(mem, sizeof *j);
    struct stack_input in = {.platform = "android"};
    struct family f;
    struct err err;

    if (!j || !beta_jank(b, i, mem, j))
        return false;
    in.frames = j->frames;
    in.n = j->n;
    return family_of(&in, beta_rules(b), mem, &f, &err) && family_folded(&f, mem, names, n);
}

static int stacks(uint64_t seed, uint64_t count)
{
    struct beta *b = beta_new(seed, 40, 200000);
    struct arena *mem = arena_new(MEMORY);
    const char *const *names;
    size_t n;

    for (uint64_t i = 0; b && mem && i < count; i++) {
        arena_reset(mem);
        if (!next_stack(b, i, mem, &names, &n))
            return fail("out of memory");
        while (n--)
            puts(names[n]);
        putchar('\n');
    }
    beta_free(b);
    arena_free(mem);
    return 0;
}

/* Folding -----------------------------------------------------------------------------------------
 */

static char *read_whole(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;

    if (f && fseek(f, 0, SEEK_END) == 0) {
        long size = ftell(f);

        rewind(f);
        text = size > 0 ? malloc((size_t)size + 1) : NULL;
        *n = text ? fread(text, 1, (size_t)size, f) : 0;
    }
    if (f)
        fclose(f);
    return text;
}

/* Lines up to a blank one, cut apart in place. Root first in `frames`. */
static char *one_stack(char *at, char *end, const char **frames, size_t *n)
{
    *n = 0;
    while (at < end && *at != '\n') {
        char *stop = memchr(at, '\n', (size_t)(end - at));

        if (!stop)
            stop = end;
        *stop = '\0';
        if (*n < TRIE_DEPTH_MAX)
            frames[(*n)++] = at;
        at = stop + 1;
    }
    for (size_t i = 0; i < *n / 2; i++) {
        const char *x = frames[i];

        frames[i] = frames[*n - 1 - i];
        frames[*n - 1 - i] = x;
    }
    return at + 1;
}

static int fold(const char *path)
{
    const char *frames[TRIE_DEPTH_MAX];
    struct trie *t = trie_new(MEMORY);
    size_t size = 0, n;
    char *text = read_whole(path, &size);
    struct buf out;
    struct err err;
    bool ok = text && t;

    for (char *at = text; ok && at < text + size;) {
        at = one_stack(at, text + size, frames, &n);
        ok = trie_add(t, frames, n, 1, 0, &err);
    }
    buf_init(&out, MEMORY);
    if (ok && trie_sort(t, TRIE_COUNT, &err))
        export_folded(t, TRIE_COUNT, &out);
    ok = ok && buf_ok(&out) && fwrite(out.at, 1, out.len, stdout) == out.len;
    buf_fini(&out);
    trie_free(t);
    free(text);
    return ok ? 0 : fail("cannot fold");
}

/* Trie --------------------------------------------------------------------------------------------
 */

/* A walk through a program of 20,000 functions, each of which calls three others, one of them
 * mostly.
 */
static size_t random_walk(uint64_t *x, char (*room)[24], const char **frames)
{
    size_t n = 12 + *x % 20;
    uint64_t at = 1;

    for (size_t i = 0; i < n; i++) {
        unsigned which;

        *x = *x * 6364136223846793005u + 1442695040888963407u;
        which = (unsigned)(*x >> 33) % 10;
        at = (at * 4 + (which < 7 ? 1 : which < 9 ? 2 : 3)) * 0x9e3779b97f4a7c15u >> 20;
        snprintf(room[i], sizeof room[i], "function_%u", (unsigned)(at % 20000));
        frames[i] = room[i];
    }
    return n;
}

struct walk {
    char room[32][24];
    const char *frames[32];
    size_t n;
};

/* The making of stacks is not timed: a batch is made, then added. */
static int build_trie(uint64_t seed, uint64_t count)
{
    static struct walk batch[BATCH];
    struct trie *t = trie_new(MEMORY), *pruned;
    double add = 0, from;
    uint64_t x = seed + 1;
    struct err err;

    for (uint64_t done = 0; t && done < count; done += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            batch[i].n = random_walk(&x, batch[i].room, batch[i].frames);
        from = now();
        for (size_t i = 0; i < BATCH && done + i < count; i++)
            if (!trie_add(t, batch[i].frames, batch[i].n, 1, 100, &err))
                return fail(err.text);
        add += now() - from;
    }
    from = now();
    if (!t || !trie_prune(t, TRIE_COUNT, 0.001, MEMORY, &pruned, &err))
        return fail("cannot prune");
    printf("  %llu stacks: %zu nodes, %.1f MB; %.2f CPU s to add, %.2f to sort and prune to %zu; "
           "peak %.0f MB\n",
           (unsigned long long)count, trie_nodes(t), (double)trie_bytes(t) / 1e6, add, now() - from,
           trie_nodes(pruned), peak_mb());
    trie_free(t);
    trie_free(pruned);
    return 0;
}

/* Rules -------------------------------------------------------------------------------------------
 */

/* Keywords that stand in no name, of all beginnings: each has to be looked for everywhere. */
static bool make_keywords(struct arena *mem, size_t n, enum rule_field field, const char *form,
                          struct rule **out)
{
    struct rule *rule = arena_array(mem, n, sizeof *rule);
    char text[64];

    for (size_t i = 0; rule && i < n; i++) {
        int len = snprintf(text, sizeof text, form, (char)('a' + i % 26), (char)('a' + i / 26 % 26),
                           (unsigned)i);

        rule[i] = (struct rule){field, arena_dup(mem, text, (size_t)len), "somebody"};
    }
    *out = rule;
    return rule && !arena_full(mem);
}

static bool group(const struct beta *b, const struct rules *rules, uint64_t from, uint64_t to,
                  struct arena *mem)
{
    for (uint64_t i = from; i < to; i++) {
        struct beta_jank *j;
        struct stack_input in = {.platform = "android"};
        struct family f;
        struct err err;

        arena_reset(mem);
        j = arena_alloc(mem, sizeof *j);
        if (!j || !beta_jank(b, i, mem, j))
            return false;
        in.frames = j->frames;
        in.n = j->n;
        if (!family_of(&in, rules, mem, &f, &err))
            return false;
    }
    return true;
}

static int time_rules(const struct beta *b, uint64_t count, size_t n, enum rule_field field,
                      const char *form, bool plain)
{
    struct arena *of_rules = arena_new(MEMORY), *mem = arena_new(MEMORY);
    struct rule *rule;
    struct rules rules = {.n_include = n, .n_exclude = n, .n_ignore = n, .n_owners = n};
    struct err err;
    double start = now(), made;

    if (!of_rules || !mem || !make_keywords(of_rules, n, field, form, &rule))
        return fail("out of memory");
    rules.include = rules.exclude = rules.ignore = rules.owners = rule;
    if (plain && !group(b, &rules, 0, count, mem))
        return fail("a stack");
    if (plain)
        printf("  each by itself  %8.3f CPU s\n", now() - start);
    start = now();
    if (!rules_index_new(&rules, RULES_NO_LIMIT, &rules.index, &err))
        return fail(err.text);
    made = now() - start;
    start = now();
    if (!group(b, &rules, 0, count, mem))
        return fail("a stack");
    printf("  by an index     %8.3f CPU s, made in %.3f, %llu steps\n", now() - start, made,
           (unsigned long long)rules_index_steps(rules.index));
    rules_index_free(rules.index);
    arena_free(of_rules);
    arena_free(mem);
    return 0;
}

static int rules(uint64_t seed, uint64_t count, size_t keywords)
{
    struct beta *b = beta_new(seed, 40, 200000);
    int status;

    if (!b)
        return fail("out of memory");
    printf("%llu stacks, rules of no list\n", (unsigned long long)count);
    status = time_rules(b, count, 0, RULE_KEYWORD, "%c%c%u", false);
    printf("4 lists of %zu keywords\n", keywords);
    status |= time_rules(b, count, keywords, RULE_KEYWORD, "%c%c%u", true);
    printf("4 lists of %zu patterns, a hundredth of the stacks\n", keywords);
    status |= time_rules(b, count / 100, keywords, RULE_FUNCTION, "*e*e*e*%c*%c*e*z", false);
    beta_free(b);
    return status;
}

static uint64_t number(char **argv, int argc, int at, uint64_t otherwise)
{
    return at < argc ? strtoull(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "proof") == 0)
        return proof(number(argv, argc, 2, 1), number(argv, argc, 3, 60000),
                     number(argv, argc, 4, 200000), (unsigned)number(argv, argc, 5, 40));
    if (strcmp(what, "stacks") == 0)
        return stacks(number(argv, argc, 2, 1), number(argv, argc, 3, 100000));
    if (strcmp(what, "fold") == 0 && argc > 2)
        return fold(argv[2]);
    if (strcmp(what, "trie") == 0)
        return build_trie(number(argv, argc, 2, 1), number(argv, argc, 3, 1000000));
    if (strcmp(what, "rules") == 0)
        return rules(number(argv, argc, 2, 1), number(argv, argc, 3, 10000),
                     number(argv, argc, 4, RULES_MAX));
    return fail("proof SEED JANKS INSTALLS CAUSES | stacks SEED N | fold FILE | trie SEED N | "
                "rules SEED N KEYWORDS");
}
