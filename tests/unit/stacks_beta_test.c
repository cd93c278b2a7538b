#include "stacks_fixture.h"
#include "support/beta_proof.h"

/* A small one; tests/bench/families.sh proves the same of 60,000 janks. */
static void families_of_a_beta_are_its_causes(void **state)
{
    struct beta *b = beta_new(3, 40, 200000);
    struct beta_result r;

    (void)state;
    assert_non_null(b);
    assert_true(beta_prove(b, 4000, 200000, &r));
    assert_true(r.kin.precision >= 0.98);
    assert_true(r.kin.recall >= 0.98);
    assert_true(r.kin.recall >= r.fingerprint.recall);
    assert_true(r.fingerprint.recall > r.plain.recall);
    assert_true(r.class_right >= 0.99);
    assert_true(r.late > 100);
    assert_int_equal(r.late_moved, 0);
    assert_true(r.distinct_error < 0.05);
    assert_true(r.pruned_nodes < r.trie_nodes);
    beta_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_of_a_beta_are_its_causes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
