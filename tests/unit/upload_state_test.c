/* What operations do to an upload, and that any row of them keeps what the protocol promises. */
#include "server/http/upload_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct chunk_limits limits = {
    .session_max = 1000, .symbols_max = 5000, .expire_s = 60};

static struct chunk_op creation(int64_t length, size_t len)
{
    return (struct chunk_op){.create = true,
                             .upload = {.app = 1, .length = length, .kind = KIND_SESSION},
                             .length = LENGTH_UNKNOWN,
                             .len = len};
}

static struct chunk_op chunk(int64_t at, size_t len)
{
    return (struct chunk_op){.at = at, .length = LENGTH_UNKNOWN, .len = len};
}

static enum chunk_outcome apply(struct upload_state *s, struct chunk_op op)
{
    upload_apply(s, &limits, &op);
    return op.answer.outcome;
}

static void a_creation_with_the_whole_file_completes_it(void **state)
{
    struct upload_state s = {0};
    struct chunk_op op = creation(100, 100);

    (void)state;
    upload_apply(&s, &limits, &op);
    assert_int_equal(op.answer.outcome, CHUNK_OK);
    assert_true(op.answer.created && op.answer.complete && op.accepted);
    assert_true(s.completed);
    assert_int_equal(s.at, 100);
}

static void a_known_file_keeps_its_offset_and_takes_no_bytes_from_a_creation(void **state)
{
    struct upload_state s = {0};
    struct chunk_op op = creation(100, 100);

    (void)state;
    assert_int_equal(apply(&s, creation(100, 0)), CHUNK_OK);
    assert_int_equal(apply(&s, chunk(0, 40)), CHUNK_OK);
    upload_apply(&s, &limits, &op);
    assert_int_equal(op.answer.outcome, CHUNK_OK);
    assert_false(op.answer.created || op.accepted);
    assert_int_equal(op.answer.at, 40);
}

static void an_upload_completes_once(void **state)
{
    struct upload_state s = {0};

    (void)state;
    assert_int_equal(apply(&s, creation(10, 10)), CHUNK_OK);
    assert_true(s.completed);
    s.completed = s.changed = false;
    assert_int_equal(apply(&s, chunk(10, 0)), CHUNK_OK);
    assert_int_equal(apply(&s, creation(10, 10)), CHUNK_OK);
    assert_false(s.completed || s.changed);
    assert_int_equal(apply(&s, chunk(10, 1)), CHUNK_TOO_LONG);
}

static void what_is_to_come_is_refused_before_it_comes(void **state)
{
    struct upload_state s = {0};
    struct chunk_op op = chunk(0, 0);

    (void)state;
    assert_int_equal(apply(&s, creation(10, 0)), CHUNK_OK);
    op.expect = 11;
    assert_int_equal(apply(&s, op), CHUNK_TOO_LONG);
    op.expect = 10;
    assert_int_equal(apply(&s, op), CHUNK_OK);
    assert_int_equal(s.at, 0);
}

static void a_deferred_length_is_bounded_by_the_kind(void **state)
{
    struct upload_state s = {0};
    struct chunk_op op = chunk(1000, 0);

    (void)state;
    assert_int_equal(apply(&s, creation(LENGTH_UNKNOWN, 0)), CHUNK_OK);
    assert_int_equal(apply(&s, chunk(0, 1000)), CHUNK_OK);
    assert_int_equal(apply(&s, chunk(1000, 1)), CHUNK_TOO_LONG);
    op.length = 999;
    assert_int_equal(apply(&s, op), CHUNK_LENGTH_FIXED);
    op.length = 1001;
    assert_int_equal(apply(&s, op), CHUNK_TOO_LONG);
    op.length = 1000;
    assert_int_equal(apply(&s, op), CHUNK_OK);
    assert_int_equal(s.life, UPLOAD_COMPLETE);
}

/* xorshift: the same row of operations for the same seed */
static uint32_t next(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

static struct chunk_op any_op(uint32_t *seed, const struct upload_state *s)
{
    struct chunk_op op = next(seed) % 3
                             ? chunk(s->at, next(seed) % 50)
                             : creation(next(seed) % 4 ? 200 : LENGTH_UNKNOWN, next(seed) % 50);

    if (!op.create && next(seed) % 3 == 0)
        op.at = next(seed) % 220;
    if (!op.create && next(seed) % 4 == 0)
        op.length = next(seed) % 3 ? 200 : next(seed) % 300;
    op.expect = next(seed) % 5 ? 0 : next(seed) % 300;
    return op;
}

static void assert_kept(const struct upload_state *before, const struct upload_state *after,
                        const struct chunk_op *op)
{
    int64_t grown = after->at - (before->life == UPLOAD_DELETED ? 0 : before->at);

    assert_true(grown >= 0);                                      /* offsets never decrease */
    assert_int_equal(grown, op->accepted ? (int64_t)op->len : 0); /* what counts is stored */
    assert_true(after->length == LENGTH_UNKNOWN || after->at <= after->length);
    assert_true(before->length == LENGTH_UNKNOWN || before->life == UPLOAD_DELETED ||
                after->length == before->length); /* a length once said stays */
    assert_true(!op->accepted || op->answer.outcome == CHUNK_OK);
    assert_true(before->life != UPLOAD_COMPLETE || after->life == UPLOAD_COMPLETE);
    assert_int_equal(after->life == UPLOAD_COMPLETE, after->exists && after->at == after->length);
    if (op->answer.outcome != CHUNK_OK) {
        assert_int_equal(after->at, before->at);
        assert_int_equal(after->length, before->length);
    }
}

static void any_row_of_operations_keeps_the_promises(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 2000; seed++) {
        struct upload_state s = {0};
        uint32_t x = seed * 2654435761u;

        for (unsigned i = 0; i < 40; i++) {
            struct chunk_op op = any_op(&x, &s);

            if (s.exists && next(&x) % 20 == 0 && s.life == UPLOAD_OPEN)
                s.life = UPLOAD_DELETED, s.at = 0, s.length = LENGTH_UNKNOWN;
            if (s.life == UPLOAD_OPEN && next(&x) % 20 == 0)
                s.expired = s.exists;

            struct upload_state before = s;

            if (!before.exists)
                before.length = s.length = LENGTH_UNKNOWN;
            upload_apply(&s, &limits, &op);
            if (op.answer.outcome == CHUNK_NOT_FOUND)
                continue;
            assert_kept(&before, &s, &op);
        }
    }
}

static void keys_order_by_shard_then_id(void **state)
{
    unsigned char low[16] = {1}, high[16] = {2};
    struct upload_key a = upload_key_of(1, low), b = upload_key_of(1, high),
                      other = upload_key_of(2, low);

    (void)state;
    low[15] = 0xff;
    assert_int_equal(upload_key_of(3, low).shard, 3 * 64 + 63);
    assert_true(upload_key_compare(&a, &b) < 0);
    assert_true(upload_key_compare(&b, &other) < 0);
    assert_true(upload_key_compare(&a, &a) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_creation_with_the_whole_file_completes_it),
        cmocka_unit_test(a_known_file_keeps_its_offset_and_takes_no_bytes_from_a_creation),
        cmocka_unit_test(an_upload_completes_once),
        cmocka_unit_test(what_is_to_come_is_refused_before_it_comes),
        cmocka_unit_test(a_deferred_length_is_bounded_by_the_kind),
        cmocka_unit_test(any_row_of_operations_keeps_the_promises),
        cmocka_unit_test(keys_order_by_shard_then_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
