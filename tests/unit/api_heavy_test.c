#include "server/api/heavy.h"
#include "server/http/problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void so_many_are_made_at_once_and_no_more(void **state)
{
    struct err err = {0};

    (void)state;
    for (int i = 0; i < HEAVY_AT_ONCE; i++)
        assert_true(heavy_enter(&err));
    for (int i = 0; i < 3; i++) {
        assert_false(heavy_enter(&err));
        assert_int_equal(err.code, ERR_CROWDED);
    }
    assert_int_equal(problem_of(&err).status, 503);
    assert_string_equal(problem_of(&err).code, "crowded");
    heavy_leave();
    assert_true(heavy_enter(&err));
    assert_false(heavy_enter(&err));
    for (int i = 0; i < HEAVY_AT_ONCE; i++)
        heavy_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_are_made_at_once_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
