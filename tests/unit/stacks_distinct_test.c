#include "stacks/distinct.h"
#include "stacks_fixture.h"

#include <math.h>
#include <stdlib.h>

#define CAP ((size_t)64 << 20)

struct sketch_fixture {
    struct arena *mem;
    struct distinct d;
};

static struct sketch_fixture make(void)
{
    struct sketch_fixture x = {.mem = arena_new(CAP)};

    assert_non_null(x.mem);
    distinct_init(&x.d, x.mem);
    return x;
}

static uint32_t cell_of(uint64_t id)
{
    unsigned char bytes[16] = {0};

    memcpy(bytes, &id, sizeof id);
    return distinct_cell(bytes, sizeof bytes);
}

static void add(struct distinct *d, uint64_t from, uint64_t to, int by)
{
    struct err err;

    for (uint64_t id = from; id < to; id++)
        assert_true(distinct_add(d, cell_of(id), by, &err));
}

static void assert_same(const struct distinct *a, const struct distinct *b)
{
    struct buf x, y;

    buf_init(&x, CAP);
    buf_init(&y, CAP);
    distinct_write(a, &x);
    distinct_write(b, &y);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.at, y.at, x.len);
    buf_fini(&x);
    buf_fini(&y);
}

static void the_same_id_counts_once_however_often_it_comes(void **state)
{
    struct sketch_fixture x = make();

    (void)state;
    assert_true(distinct_estimate(&x.d) == 0);
    for (int i = 0; i < 100; i++)
        add(&x.d, 7, 8, 1);
    assert_true(distinct_estimate(&x.d) == 1);
    arena_free(x.mem);
}

/* The worst of 20 sets of each size; three standard errors of 1.5 %, and a half for rounding. */
static void estimates_are_near_at_every_size(void **state)
{
    static const unsigned sizes[] = {2, 5, 10, 30, 100, 1000, 10000, 60000};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint64_t run = 0; run < (sizes[s] > 1000 ? 3 : 20); run++) {
            struct sketch_fixture x = make();
            double n = sizes[s], got;

            add(&x.d, run << 32, (run << 32) + sizes[s], 1);
            got = distinct_estimate(&x.d);
            if (fabs(got - n) > 0.045 * n + 1)
                fail_msg("%u ids, run %u: %f", sizes[s], (unsigned)run, got);
            arena_free(x.mem);
        }
}

static void a_union_is_the_sum_and_what_was_added_can_be_taken_back(void **state)
{
    struct sketch_fixture a = make(), b = make(), both = make(), sum = make();
    struct buf bytes;
    struct err err;

    (void)state;
    add(&a.d, 0, 700, 1);
    add(&b.d, 400, 1000, 1);
    add(&both.d, 400, 1000, 1);
    add(&both.d, 0, 700, 1);
    buf_init(&bytes, CAP);
    distinct_write(&b.d, &bytes);
    add(&sum.d, 0, 700, 1);
    assert_true(distinct_read(bytes.at, bytes.len, 1, &sum.d, &err));
    assert_same(&sum.d, &both.d);
    assert_true(fabs(distinct_estimate(&sum.d) - 1000) < 50);
    assert_true(distinct_read(bytes.at, bytes.len, -1, &sum.d, &err));
    assert_same(&sum.d, &a.d);
    add(&sum.d, 0, 700, -1);
    assert_true(distinct_estimate(&sum.d) == 0);
    buf_fini(&bytes);
    arena_free(a.mem);
    arena_free(b.mem);
    arena_free(both.mem);
    arena_free(sum.mem);
}

static void broken_bytes_change_nothing(void **state)
{
    struct sketch_fixture a = make(), x = make(), empty = make();
    struct buf bytes;
    struct err err;

    (void)state;
    add(&a.d, 0, 50, 1000);
    buf_init(&bytes, CAP);
    distinct_write(&a.d, &bytes);
    assert_true(distinct_read(bytes.at, 0, 1, &x.d, &err));
    for (size_t cut = 1; cut < bytes.len; cut++) {
        struct sketch_fixture part = make();

        if (!distinct_read(bytes.at, cut, 1, &part.d, &err)) {
            assert_int_equal(err.code, ERR_INVALID);
            assert_same(&part.d, &empty.d);
        }
        arena_free(part.mem);
    }
    bytes.at[0]++;
    assert_false(distinct_read(bytes.at, bytes.len, 1, &x.d, &err));
    assert_false(distinct_add(&x.d, DISTINCT_CELLS, 1, &err));
    buf_fini(&bytes);
    arena_free(a.mem);
    arena_free(x.mem);
    arena_free(empty.mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_id_counts_once_however_often_it_comes),
        cmocka_unit_test(estimates_are_near_at_every_size),
        cmocka_unit_test(a_union_is_the_sum_and_what_was_added_can_be_taken_back),
        cmocka_unit_test(broken_bytes_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
