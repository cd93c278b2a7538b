/* What arm64 code ahead tells of its return address; tests/sdk-arm64/run.sh asks about all of libc,
 * with the code's own unwind information for an oracle. */
#include "platform/link_register.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define RET 0xd65f03c0
#define BRK 0xd4200000
#define STP_FP_LR 0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */
#define MOV_FP_SP 0x910003fd
#define LDP_FP_LR 0xa8c17bfd /* ldp x29, x30, [sp], #16 */
#define BL 0x94000001
#define ADD 0x91000400 /* add x0, x0, #1 */

static bool holds(const uint32_t *code)
{
    return fw_link_register_holds((uint64_t)(uintptr_t)code);
}

static void a_leaf_returns_to_its_link_register(void **state)
{
    static const uint32_t leaf[] = {ADD, RET};
    static const uint32_t loop[] = {0xf1000400 /* subs x0, x0, #1 */, 0x54ffffe1 /* b.ne */, RET};
    static const uint32_t rotated[] = {0x14000002 /* b 1f */, ADD, 0xeb01001f /* 1: cmp x0, x1 */,
                                       0x54ffffc1 /* b.ne */, RET};
    static const uint32_t signed_[] = {ADD, 0xd65f0bff /* retaa */};

    (void)state;
    assert_true(holds(leaf));
    assert_true(holds(loop));
    assert_true(holds(rotated));
    assert_true(holds(rotated + 1));
    assert_true(holds(signed_));
}

/* As Apple's stubs are: the thread waits behind the svc. */
static void a_system_call_without_a_frame_returns_to_its_link_register(void **state)
{
    static const uint32_t stub[] = {0xd2800070 /* mov x16, #3 */,
                                    0xd4001001 /* svc #0x80 */,
                                    0x54000063 /* b.lo */,
                                    STP_FP_LR,
                                    MOV_FP_SP,
                                    RET};

    (void)state;
    assert_true(holds(stub + 1));
    assert_true(holds(stub + 2));
}

static void a_frame_is_made_and_given_up_again(void **state)
{
    static const uint32_t code[] = {
        0xd503233f /* paciasp */, STP_FP_LR, MOV_FP_SP, ADD, BL, ADD, LDP_FP_LR,
        0xd50323bf /* autiasp */, RET};
    static const bool expected[] = {true, true, true, false, false, false, false, true, true};

    (void)state;
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        assert_int_equal(holds(code + i), expected[i]);
}

static void a_frame_without_frame_pointer_is_seen_too(void **state)
{
    static const uint32_t code[] = {0xf81f0ffe /* str x30, [sp, #-16]! */, BL,
                                    0xf84107fe /* ldr x30, [sp], #16 */, RET};
    static const bool expected[] = {true, false, false, true};
    static const uint32_t pair[] = {0xa9be4ffe /* stp x30, x19, [sp, #-32]! */, BL};

    (void)state;
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        assert_int_equal(holds(code + i), expected[i]);
    assert_true(holds(pair));
}

/* The function that it ends by calling has its return address. */
static void a_branch_to_another_function_is_followed(void **state)
{
    static const uint32_t ahead[] = {ADD, 0x14000002 /* b */, BRK, STP_FP_LR, RET};
    static const uint32_t back[] = {STP_FP_LR, BRK, 0x17fffffe /* b */};

    (void)state;
    assert_true(holds(ahead));
    assert_true(holds(back + 2));
}

static void what_does_not_tell_is_no_yes(void **state)
{
    static const uint32_t endless[] = {0x14000000 /* b . */},
                          jump[] = {0xd61f0220 /* br x17 */, RET},
                          call[] = {0xd63f0100 /* blr x8 */, RET}, broken[] = {BRK, RET},
                          data[] = {0, RET}, scratch[] = {0xaa0003fe /* mov x30, x0 */, RET},
                          load[] = {0x5800005e /* ldr x30, literal */, RET},
                          elsewhere[] = {0xf900001e /* str x30, [x0] */, RET},
                          spilled[] = {0xf90043fe /* str x30, [sp, #128] */, RET};

    (void)state;
    assert_false(holds(endless));
    assert_false(holds(jump));
    assert_false(holds(call));
    assert_false(holds(broken));
    assert_false(holds(data));
    assert_false(holds(scratch));
    assert_false(holds(load));
    assert_false(holds(elsewhere));
    assert_false(holds(spilled)); /* as any other register, where it holds something else */
}

static void code_that_is_not_there_is_survived(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *two =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t *last = (uint32_t *)(void *)(two + page) - 1;

    (void)state;
    assert_ptr_not_equal(two, MAP_FAILED);
    assert_int_equal(munmap(two + page, page), 0);
    *last = ADD;
    assert_false(holds(last)); /* runs off the end */
    *last = RET;
    assert_true(holds(last));
    assert_false(fw_link_register_holds((uint64_t)(uintptr_t)last + 2));
    assert_false(fw_link_register_holds(16));
    assert_false(fw_link_register_holds(UINT64_MAX - 3));
    munmap(two, page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leaf_returns_to_its_link_register),
        cmocka_unit_test(a_system_call_without_a_frame_returns_to_its_link_register),
        cmocka_unit_test(a_frame_is_made_and_given_up_again),
        cmocka_unit_test(a_frame_without_frame_pointer_is_seen_too),
        cmocka_unit_test(a_branch_to_another_function_is_followed),
        cmocka_unit_test(what_does_not_tell_is_no_yes),
        cmocka_unit_test(code_that_is_not_there_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
