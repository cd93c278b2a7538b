#include "symbols/sorting.h"
#include "symbols/strings.h"
#include "symbols_fixture.h"

#define SPACE 200u

static uint32_t random32(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void keys_sort_by_start_and_keep_the_order_of_equals(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 40, 49, 1000, 70000};
    struct mem m = {.cap = FIXTURE_MEMORY};
    uint64_t seed = 1;

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (unsigned bits = 3; bits <= 31; bits += 14) {
            size_t n = sizes[s];
            uint64_t *keys = mem_alloc(&m, n, sizeof *keys);

            for (size_t i = 0; i < n; i++)
                keys[i] = sort_key(random32(&seed) & ((1u << bits) - 1), i);
            assert_true(sort_keys(&m, keys, n));
            for (size_t i = 1; i < n; i++)
                assert_true(keys[i - 1] < keys[i]);
            mem_free(&m, keys);
        }
    }
    assert_int_equal(m.used, 0);
}

struct painting {
    uint32_t at[SPACE];
    uint32_t last;
};

static bool paint(void *ctx, uint32_t start, uint32_t end, uint32_t tag)
{
    struct painting *p = ctx;

    assert_true(start >= p->last && start < end && end <= SPACE);
    p->last = end;
    for (uint32_t i = start; i < end; i++)
        p->at[i] = tag;
    return true;
}

/* Against the obvious way: paint in order of rank, later over earlier. */
static void a_sweep_shows_the_highest_rank_everywhere(void **state)
{
    struct mem m = {.cap = FIXTURE_MEMORY};
    uint64_t seed = 7;

    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        struct sweep_range r[24];
        struct painting swept = {0}, painted = {0};
        size_t n = random32(&seed) % 24;

        for (uint32_t i = 0; i < n; i++) {
            uint32_t start = random32(&seed) % (SPACE - 1);

            r[i] = (struct sweep_range){
                start, start + 1 + random32(&seed) % (SPACE - start - 1 + 1), i, i + 1};
            if (r[i].end > SPACE)
                r[i].end = SPACE;
            for (uint32_t at = r[i].start; at < r[i].end; at++)
                painted.at[at] = r[i].tag;
        }
        assert_true(sweep(&m, r, n, paint, &swept));
        assert_memory_equal(swept.at, painted.at, sizeof painted.at);
    }
    assert_int_equal(m.used, 0);
}

static void memory_stops_at_its_cap_and_stays_failed(void **state)
{
    struct mem m = {.cap = 1000};
    struct {
        unsigned char *at;
        size_t n, size;
    } v = {0};

    (void)state;
    assert_null(mem_alloc(&m, SIZE_MAX, 2));
    assert_true(m.failed);
    m.failed = false;
    while (VEC_ROOM(&m, &v, 100))
        v.n += 100;
    assert_true(v.n > 0 && v.n <= 1000);
    assert_true(m.failed);
    assert_null(mem_alloc(&m, 1, 1));
    VEC_FREE(&m, &v);
    assert_int_equal(m.used, 0);
}

static void a_string_has_one_number_however_it_is_added(void **state)
{
    struct mem m = {.cap = FIXTURE_MEMORY};
    struct work w = {.left = 1 << 24};
    struct strings s;
    char text[32];

    (void)state;
    assert_true(strings_init(&s, &m, &w));
    assert_int_equal(strings_add(&s, "", 0), 0);

    uint32_t first = strings_add(&s, "game::frame", 11);

    for (unsigned i = 0; i < 5000; i++) {
        int n = snprintf(text, sizeof text, "name %u", i);

        assert_int_equal(strings_copy(&s, text, (size_t)n), first + 1 + i);
    }
    assert_int_equal(strings_copy(&s, "game::frame", 11), first);
    assert_int_equal(strings_add(&s, "name 77", 7), first + 78);
    strings_fini(&s);
    assert_int_equal(m.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_sort_by_start_and_keep_the_order_of_equals),
        cmocka_unit_test(a_sweep_shows_the_highest_rank_everywhere),
        cmocka_unit_test(memory_stops_at_its_cap_and_stays_failed),
        cmocka_unit_test(a_string_has_one_number_however_it_is_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
