#include "base/utf8.h"
#include "stacks/export.h"
#include "stacks/trie.h"
#include "stacks_fixture.h"

#include <math.h>
#include <stdlib.h>

#define CAP ((size_t)64 << 20)

static struct trie *make(void)
{
    struct trie *t = trie_new(CAP);

    assert_non_null(t);
    return t;
}

static struct trie *from_folded(const char *text)
{
    struct trie *t = make();
    struct err err;

    if (!fold_read(text, strlen(text), t, &err))
        fail_msg("%s", err.text);
    return t;
}

/* The folded text, sorted; the caller frees. */
static char *folded(struct trie *t, enum trie_value by)
{
    struct buf b;
    struct err err;
    size_t n;

    assert_true(trie_sort(t, by, &err));
    buf_init(&b, CAP);
    export_folded(t, by, &b);
    buf_byte(&b, 0);
    return (char *)buf_steal(&b, &n);
}

static void assert_folded(struct trie *t, const char *expected)
{
    char *text = folded(t, TRIE_COUNT);

    assert_string_equal(text, expected);
    free(text);
}

static uint64_t step(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 33;
}

/* Stack number i of an endless list. */
static size_t random_stack(uint64_t seed, const char **frames)
{
    static const char *const names[] = {"a", "b", "c", "d", "e;f", "g\\h", "i\nj", "k l"};
    uint64_t x = seed * 77 + 1;
    size_t n = step(&x) % 9;

    for (size_t i = 0; i < n; i++)
        frames[i] = names[step(&x) % (i < 2 ? 2 : 8)];
    return n;
}

static void add_random(struct trie *t, uint64_t seed, int sign)
{
    const char *frames[16];
    size_t n = random_stack(seed, frames);
    struct err err;

    assert_true(
        trie_add(t, frames, n, sign * (int64_t)(1 + seed % 5), sign * (int64_t)(seed % 700), &err));
}

/* Adding ------------------------------------------------------------------------------------------
 */

static void stacks_fold_to_a_line_each(void **state)
{
    static const char *const stack[] = {"main", "draw", "upload"};
    struct trie *t = make();
    struct err err;

    (void)state;
    assert_true(trie_add(t, stack, 3, 2, 30, &err));
    assert_true(trie_add(t, stack, 2, 5, 10, &err));
    assert_true(trie_add(t, stack, 3, 1, 40, &err));
    assert_true(trie_add(t, stack, 0, 1, 7, &err));
    assert_folded(t, " 1\nmain;draw 5\nmain;draw;upload 3\n");
    assert_int_equal(trie_nodes(t), 4);

    struct trie_node draw = trie_at(t, trie_at(t, trie_at(t, TRIE_ROOT).first_child).first_child);

    assert_string_equal(draw.name, "draw");
    assert_int_equal(draw.self[TRIE_COUNT], 5);
    assert_int_equal(draw.total[TRIE_COUNT], 8);
    assert_int_equal(draw.total[TRIE_WEIGHT], 80);
    trie_free(t);
}

static void children_come_heaviest_first_then_by_name(void **state)
{
    struct trie *t = from_folded("m;a 1\nm;b 7\nm;d 3\nm;c 3\nz 100\n");

    (void)state;
    assert_folded(t, "z 100\nm;b 7\nm;c 3\nm;d 3\nm;a 1\n");
    trie_free(t);
}

static void any_order_of_adding_and_merging_gives_the_same_tree(void **state)
{
    enum { N = 500, PARTS = 7 };
    struct trie *all = make(), *merged = make(), *parts[PARTS];
    struct err err;
    char *one, *other;

    (void)state;
    for (uint64_t i = 0; i < N; i++)
        add_random(all, i, 1);
    for (int p = 0; p < PARTS; p++)
        parts[p] = make();
    for (uint64_t i = N; i--;)
        add_random(parts[i * i % PARTS], i, 1);
    for (int p = PARTS; p--;) {
        assert_true(trie_merge(merged, parts[p], 1, &err));
        trie_free(parts[p]);
    }
    for (int by = 0; by < 2; by++) {
        one = folded(all, (enum trie_value)by);
        other = folded(merged, (enum trie_value)by);
        assert_string_equal(one, other);
        free(one);
        free(other);
    }
    trie_free(all);
    trie_free(merged);
}

static void what_was_added_can_be_taken_back(void **state)
{
    struct trie *t = make(), *gone = make(), *expected = make();
    struct err err;
    char *one, *other;

    (void)state;
    for (uint64_t i = 0; i < 300; i++)
        add_random(t, i, 1);
    for (uint64_t i = 0; i < 100; i++)
        add_random(gone, i, 1);
    for (uint64_t i = 100; i < 200; i++)
        add_random(t, i, -1);
    assert_true(trie_merge(t, gone, -1, &err));
    for (uint64_t i = 200; i < 300; i++)
        add_random(expected, i, 1);
    one = folded(t, TRIE_WEIGHT);
    other = folded(expected, TRIE_WEIGHT);
    assert_string_equal(one, other);
    free(one);
    free(other);
    trie_free(t);
    trie_free(gone);
    trie_free(expected);
}

static void a_trie_at_its_cap_stays_as_it_was(void **state)
{
    struct trie *t = trie_new(100000);
    char name[64];
    const char *stack[] = {"root", name};
    struct err err;
    int added = 0;

    (void)state;
    assert_non_null(t);
    for (;; added++) {
        snprintf(name, sizeof name, "function %d", added);
        if (!trie_add(t, stack, 2, 1, 1, &err))
            break;
    }
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_true(added > 300);
    assert_int_equal(trie_nodes(t), added + 2);
    assert_true(trie_bytes(t) <= 100000);

    const char *deep[TRIE_DEPTH_MAX + 1];

    for (size_t i = 0; i <= TRIE_DEPTH_MAX; i++)
        deep[i] = "root";
    assert_false(trie_add(t, deep, TRIE_DEPTH_MAX + 1, 1, 1, &err));
    assert_int_equal(err.code, ERR_TOO_BIG);
    trie_free(t);
    assert_null(trie_new(16));
}

/* Prune, sandwich, diff ---------------------------------------------------------------------------
 */

static void pruning_keeps_every_total(void **state)
{
    struct trie *t = from_folded("m 1\nm;a 90\nm;a;x 5\nm;b 1\nm;b;y 2\nm;c 1\n"), *p, *again;
    struct err err;

    (void)state;
    assert_true(trie_prune(t, TRIE_COUNT, 0.05, CAP, &p, &err));
    assert_folded(p, "m 1\nm;a 90\nm;a;x 5\nm;(other) 4\n");
    assert_true(trie_prune(p, TRIE_COUNT, 0.05, CAP, &again, &err));
    assert_folded(again, "m 1\nm;a 90\nm;a;x 5\nm;(other) 4\n");
    trie_free(p);
    trie_free(again);
    trie_free(t);

    t = make();
    for (uint64_t i = 0; i < 1000; i++)
        add_random(t, i, 1);
    for (int k = 0; k <= 10; k++) {
        assert_true(trie_prune(t, TRIE_WEIGHT, k / 100.0, CAP, &p, &err));
        for (int v = 0; v < 2; v++)
            assert_int_equal(trie_at(p, TRIE_ROOT).total[v], trie_at(t, TRIE_ROOT).total[v]);
        for (uint32_t i = 1; i < trie_nodes(p); i++) {
            struct trie_node n = trie_at(p, i);

            assert_true(strcmp(n.name, TRIE_OTHER) == 0 ||
                        (double)n.total[TRIE_WEIGHT] >=
                            k / 100.0 * (double)trie_at(t, TRIE_ROOT).total[TRIE_WEIGHT]);
        }
        trie_free(p);
    }
    trie_free(t);
}

static void a_sandwich_shows_who_calls_and_what_is_called(void **state)
{
    struct trie *t = from_folded("m;a;f 1\nm;b;f;g 2\nm;b;f;g;f;h 4\nm;b 8\nf;g 16\n");
    struct trie *callers, *callees;
    struct err err;

    (void)state;
    assert_true(trie_sandwich(t, "f", CAP, &callers, &callees, &err));
    assert_folded(callers, "f 16\nf;b;m 6\nf;a;m 1\n");
    assert_folded(callees, "f 1\nf;g 18\nf;g;f;h 4\n");
    trie_free(callers);
    trie_free(callees);
    assert_true(trie_sandwich(t, "nobody", CAP, &callers, &callees, &err));
    assert_int_equal(trie_nodes(callers), 1);
    trie_free(callers);
    trie_free(callees);
    trie_free(t);
}

static void check_swapped(const struct trie_diff *ab, const struct trie_diff *ba, uint32_t x,
                          uint32_t y)
{
    for (int s = 0; s < 2; s++) {
        assert_true(ab->nodes[x].self[s] == ba->nodes[y].self[1 - s]);
        assert_true(ab->nodes[x].total[s] == ba->nodes[y].total[1 - s]);
    }
    x = ab->nodes[x].first_child;
    y = ba->nodes[y].first_child;
    while (x != TRIE_NONE) {
        assert_true(y != TRIE_NONE);
        assert_string_equal(ab->nodes[x].name, ba->nodes[y].name);
        check_swapped(ab, ba, x, y);
        x = ab->nodes[x].next;
        y = ba->nodes[y].next;
    }
    assert_true(y == TRIE_NONE);
}

static void a_diff_is_in_shares_and_turns_around(void **state)
{
    struct trie *a = from_folded("m;x 10\nm;y 30\n"), *b = from_folded("m;x 300\nm;z 100\n");
    struct trie_diff ab, ba;
    struct err err;

    (void)state;
    assert_true(trie_diff(a, b, TRIE_COUNT, CAP, &ab, &err));
    assert_true(trie_diff(b, a, TRIE_COUNT, CAP, &ba, &err));
    check_swapped(&ab, &ba, 0, 0);

    const struct trie_diff_node *m = &ab.nodes[ab.nodes[0].first_child];
    const struct trie_diff_node *first = &ab.nodes[m->first_child],
                                *second = &ab.nodes[first->next];

    assert_true(m->total[0] == 1 && m->total[1] == 1);
    assert_string_equal(first->name, "y");
    assert_true(first->total[0] == 0.75 && first->total[1] == 0);
    assert_string_equal(second->name, "x");
    assert_true(second->total[0] == 0.25 && second->total[1] == 0.75);
    trie_diff_fini(&ab);
    trie_diff_fini(&ba);
    trie_free(a);
    trie_free(b);

    a = make();
    b = make();
    for (uint64_t i = 0; i < 300; i++) {
        add_random(a, i, 1);
        add_random(b, i * 3, 1);
    }
    assert_true(trie_diff(a, b, TRIE_WEIGHT, CAP, &ab, &err));
    assert_true(trie_diff(b, a, TRIE_WEIGHT, CAP, &ba, &err));
    check_swapped(&ab, &ba, 0, 0);
    trie_diff_fini(&ab);
    trie_diff_fini(&ba);
    trie_free(a);
    trie_free(b);
}

static void an_empty_trie_has_no_shares(void **state)
{
    struct trie *a = make(), *b = from_folded("m 1\n"), *p;
    struct trie_diff d;
    struct err err;

    (void)state;
    assert_true(trie_diff(a, b, TRIE_COUNT, CAP, &d, &err));
    assert_true(d.nodes[0].total[0] == 0 && d.nodes[0].total[1] == 1);
    trie_diff_fini(&d);
    assert_true(trie_prune(a, TRIE_COUNT, 0.1, CAP, &p, &err));
    assert_folded(p, "");
    trie_free(p);
    trie_free(a);
    trie_free(b);
}

/* Folded ------------------------------------------------------------------------------------------
 */

static void folded_text_is_read_back_whatever_the_names(void **state)
{
    struct trie *t = make(), *back;
    char *one, *other;

    (void)state;
    for (uint64_t i = 0; i < 300; i++)
        add_random(t, i, 1);
    one = folded(t, TRIE_COUNT);
    assert_non_null(strstr(one, "e\\;f"));
    assert_non_null(strstr(one, "i\\nj"));
    back = from_folded(one);
    other = folded(back, TRIE_COUNT);
    assert_string_equal(one, other);
    free(one);
    free(other);
    trie_free(t);
    trie_free(back);
}

static void folded_text_holds_no_control_characters(void **state)
{
    static const char *const stack[] = {"a\x1b[2J\x7f", "b\xc2\x9b\xc2\x80\xc2\x9fm",
                                        "\xc2\xa0\xc3\x9b\xe2\x82\x9b"};
    struct trie *t = make();
    struct err err;
    char *text;

    (void)state;
    assert_true(trie_add(t, stack, 3, 1, 0, &err));
    text = folded(t, TRIE_COUNT);
    assert_true(utf8_is_tame(text, "\n"));
    /* letters whose later bytes are like those of control characters stay */
    assert_string_equal(text, "a?[2J?;b??????m;\xc2\xa0\xc3\x9b\xe2\x82\x9b 1\n");
    free(text);
    trie_free(t);
}

static void bad_folded_lines_are_named(void **state)
{
    static const char *const bad[] = {"a;b 1\nc;d\n",
                                      "a 1\nb x\n",
                                      "a 1\nb 1x",
                                      "a 1\nb\\q 1\n",
                                      "a 1\nb\\ 1\n",
                                      "a 1\nb -\n",
                                      "a 1\nb 1234567890123456789\n"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct trie *t = make();
        struct err err = {0};

        assert_false(fold_read(bad[i], strlen(bad[i]), t, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_non_null(strstr(err.text, "line 2"));
        trie_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_fold_to_a_line_each),
        cmocka_unit_test(children_come_heaviest_first_then_by_name),
        cmocka_unit_test(any_order_of_adding_and_merging_gives_the_same_tree),
        cmocka_unit_test(what_was_added_can_be_taken_back),
        cmocka_unit_test(a_trie_at_its_cap_stays_as_it_was),
        cmocka_unit_test(pruning_keeps_every_total),
        cmocka_unit_test(a_sandwich_shows_who_calls_and_what_is_called),
        cmocka_unit_test(a_diff_is_in_shares_and_turns_around),
        cmocka_unit_test(an_empty_trie_has_no_shares),
        cmocka_unit_test(folded_text_is_read_back_whatever_the_names),
        cmocka_unit_test(folded_text_holds_no_control_characters),
        cmocka_unit_test(bad_folded_lines_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
