/*
 * An index of rules tells what trying each rule tells, of any rules and any frame, and counts its
 * steps.
 */
#include "stacks/rules_index.h"
#include "stacks_fixture.h"
#include "support/rng.h"

#include <stdlib.h>

#define LISTS_OF 12 /* rules at most, of one list */
#define ROUNDS 4000 /* FW_ROUNDS asks for others */

static unsigned below(struct rng *rng, unsigned n)
{
    return (unsigned)(rng_next(rng) % n);
}

/* Few letters, so that patterns stand in texts, in each other and in themselves. */
static void make_text(struct rng *rng, const char *letters, unsigned max, char *out)
{
    unsigned n = below(rng, max + 1);

    for (unsigned i = 0; i < n; i++)
        out[i] = letters[below(rng, (unsigned)strlen(letters))];
    out[n] = '\0';
}

struct made {
    struct rule rule[RULE_LISTS][LISTS_OF];
    char pattern[RULE_LISTS][LISTS_OF][16];
    struct rules rules;
};

static void make_rules(struct rng *rng, struct made *m)
{
    static const char *const letters[RULE_FIELD_COUNT] = {[RULE_MODULE] = "abAB*/",
                                                          [RULE_PACKAGE] = "abA.:$/",
                                                          [RULE_KEYWORD] = "abAB/.*",
                                                          [RULE_FUNCTION] = "abA.*"};
    size_t n[RULE_LISTS];

    for (int list = 0; list < RULE_LISTS; list++) {
        n[list] = below(rng, LISTS_OF + 1);
        for (size_t i = 0; i < n[list]; i++) {
            struct rule *r = &m->rule[list][i];

            r->field = (enum rule_field)below(rng, RULE_FIELD_COUNT);
            r->pattern = m->pattern[list][i];
            r->owner = "somebody";
            do
                make_text(rng, letters[r->field], below(rng, 3) ? 3 : 10, m->pattern[list][i]);
            while (!*r->pattern);
        }
    }
    m->rules = (struct rules){.include = m->rule[LIST_INCLUDE],
                              .n_include = n[LIST_INCLUDE],
                              .exclude = m->rule[LIST_EXCLUDE],
                              .n_exclude = n[LIST_EXCLUDE],
                              .ignore = m->rule[LIST_IGNORE],
                              .n_ignore = n[LIST_IGNORE],
                              .owners = m->rule[LIST_OWNERS],
                              .n_owners = n[LIST_OWNERS]};
}

static struct rules_index *index_of(const struct rules *rules, uint64_t steps)
{
    struct rules_index *x = NULL;
    struct err err;

    if (!rules_index_new(rules, steps, &x, &err))
        fail_msg("%s", err.text);
    return x;
}

static void assert_same(const struct rules *rules, struct rules_index *x,
                        const struct rule_target *t)
{
    struct rule_hits hits;

    rules_index_find(x, t, &hits);
    for (enum rule_list list = 0; list < RULE_LISTS; list++) {
        const struct rule *at = rules_list(rules, list);
        const struct rule *first = rules_find(at, rules_count(rules, list), t);
        uint16_t number = first ? (uint16_t)(first - at) : RULE_NONE;

        if (hits.first[list] != number)
            fail_msg("list %d of \"%s\", \"%s\", \"%s\": rule %u (%s \"%s\"), not %u", list,
                     t->module, t->file, t->name ? t->name : "(none)", hits.first[list],
                     first ? rule_field_name[first->field] : "", first ? first->pattern : "",
                     number);
    }
}

static unsigned rounds(void)
{
    const char *text = getenv("FW_ROUNDS");

    return text ? (unsigned)strtoul(text, NULL, 10) : ROUNDS;
}

static void an_index_finds_what_each_rule_by_itself_finds(void **state)
{
    struct rng rng = rng_of(1, 0);

    (void)state;
    for (unsigned i = 0; i < rounds(); i++) {
        struct made m;
        struct rules_index *x;
        struct err err;

        make_rules(&rng, &m);
        x = index_of(&m.rules, RULES_NO_LIMIT);
        for (unsigned k = 0; k < 20; k++) {
            char module[16], file[16], name[16];
            struct rule_target t = {module, file, below(&rng, 4) ? name : NULL};

            make_text(&rng, "abAB/", 12, module);
            make_text(&rng, "abAB/.*", 12, file);
            make_text(&rng, "abA.:$/*", 12, name);
            assert_same(&m.rules, x, &t);
        }
        assert_true(rules_index_check(x, &err));
        rules_index_free(x);
    }
}

static void make_frames(struct rng *rng, struct stack_frame *frames, char text[][3][16], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        make_text(rng, "abAB/", 8, text[i][0]);
        make_text(rng, "abAB/.", 8, text[i][1]);
        make_text(rng, "abAB.", 8, text[i][2]);
        frames[i] = (struct stack_frame){.status = below(rng, 5) ? STACK_STATUS_SYMBOLICATED
                                                                 : STACK_STATUS_MISSING,
                                         .module = text[i][0],
                                         .file = text[i][1],
                                         .function = below(rng, 8) ? text[i][2] : "main"};
    }
}

static void a_stack_is_of_the_same_family_with_an_index(void **state)
{
    struct rng rng = rng_of(2, 0);

    (void)state;
    for (unsigned i = 0; i < rounds() / 2; i++) {
        struct made m;
        struct stack_frame frames[8];
        char text[8][3][16];
        size_t n = below(&rng, 9);
        struct fixture plain, indexed;

        make_rules(&rng, &m);
        make_frames(&rng, frames, text, n);
        plain = family_from(frames, n, &m.rules);
        m.rules.index = index_of(&m.rules, RULES_NO_LIMIT);
        indexed = family_from(frames, n, &m.rules);
        assert_memory_equal(plain.family.fingerprint, indexed.family.fingerprint,
                            sizeof plain.family.fingerprint);
        assert_int_equal(plain.family.class, indexed.family.class);
        assert_ptr_equal(plain.family.owner_rule, indexed.family.owner_rule);
        assert_ptr_equal(plain.family.ignore_rule, indexed.family.ignore_rule);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(plain.family.notes[k].use, indexed.family.notes[k].use);
            assert_ptr_equal(plain.family.notes[k].rule, indexed.family.notes[k].rule);
        }
        rules_index_free(m.rules.index);
        fixture_free(&plain);
        fixture_free(&indexed);
    }
}

/* As many and as long as rules_check() lets them be. */
static void the_largest_rules_have_an_index(void **state)
{
    static struct rule rule[RULES_MAX];
    static char pattern[RULES_MAX][RULES_TEXT_MAX + 1];
    struct rules rules = {.include = rule,
                          .n_include = RULES_MAX,
                          .exclude = rule,
                          .n_exclude = RULES_MAX,
                          .ignore = rule,
                          .n_ignore = RULES_MAX,
                          .owners = rule,
                          .n_owners = RULES_MAX};
    struct rng rng = rng_of(3, 0);
    struct rules_index *x;
    struct err err;

    (void)state;
    for (size_t i = 0; i < RULES_MAX; i++) {
        for (size_t k = 0; k < RULES_TEXT_MAX; k++)
            pattern[i][k] = (char)('a' + below(&rng, 26));
        rule[i] = (struct rule){(enum rule_field)(i % RULE_FIELD_COUNT), pattern[i], "o"};
    }
    assert_true(rules_check(&rules, &err));
    x = index_of(&rules, RULES_NO_LIMIT);
    for (size_t i = 0; i < RULES_MAX; i += 37) {
        struct rule_target t = {pattern[i], pattern[i], pattern[i]};

        assert_same(&rules, x, &t);
    }
    rules_index_free(x);
}

/* What a frame takes grows with its texts, not with the rules. */
static void a_thousand_keywords_take_the_steps_of_one(void **state)
{
    static struct rule rule[RULES_MAX];
    static char pattern[RULES_MAX][16];
    const struct rule_target t = {"/data/app/lib/arm64/libgame.so", "src/world/level.cpp",
                                  "game::world::Level::load"};
    size_t bytes = strlen(t.module) + strlen(t.file) + strlen(t.name);
    struct rule_hits hits;
    struct rules rules = {.include = rule, .n_include = RULES_MAX};
    struct rules_index *x;

    (void)state;
    for (size_t i = 0; i < RULES_MAX; i++) {
        snprintf(pattern[i], sizeof pattern[i], "%c%c%zu", (char)('a' + i % 26),
                 (char)('a' + i / 26 % 26), i);
        rule[i] = (struct rule){RULE_KEYWORD, pattern[i], NULL};
    }
    x = index_of(&rules, RULES_NO_LIMIT);
    rules_index_find(x, &t, &hits);
    assert_int_equal(hits.first[LIST_INCLUDE], RULE_NONE);
    assert_true(rules_index_steps(x) <= 2 * bytes);
    rules_index_free(x);
}

/* Patterns that go back and forth in a text are what remains. */
static void steps_past_the_limit_are_an_error_that_names_it(void **state)
{
    static const struct rule rule[] = {{RULE_FUNCTION, "*a*a*a*a*a*a*b", NULL}};
    static const struct stack_frame frames[] = {NATIVE(
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "lib.so", 1)};
    struct stack_input in = {.frames = frames, .n = 1};
    struct rules rules = {.include = rule, .n_include = 1};
    struct arena *mem = arena_new((size_t)1 << 20);
    struct family family;
    struct err err = {0};

    (void)state;
    rules.index = index_of(&rules, 100);
    assert_true(family_of(&in, &(struct rules){.index = NULL}, mem, &family, &err));
    assert_false(family_of(&in, &rules, mem, &family, &err));
    assert_int_equal(err.code, ERR_WORK);
    assert_non_null(strstr(err.text, "100 steps"));
    assert_false(rules_index_check(rules.index, &err));
    assert_true(rules_index_steps(rules.index) < 100000);
    rules_index_free(rules.index);
    arena_free(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_finds_what_each_rule_by_itself_finds),
        cmocka_unit_test(a_stack_is_of_the_same_family_with_an_index),
        cmocka_unit_test(the_largest_rules_have_an_index),
        cmocka_unit_test(a_thousand_keywords_take_the_steps_of_one),
        cmocka_unit_test(steps_past_the_limit_are_an_error_that_names_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
