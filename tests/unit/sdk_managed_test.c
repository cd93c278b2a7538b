/* Managed stacks: what a game tells of them, and the desk they lie on. */
#include "src/clock.h"
#include "src/control/jank_log.h"
#include "src/control/managed.h"

#include "session.pb-c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SLOW_US ((FW_MANAGED_SLOW_MS + 10) * 1000u)

struct fixture {
    struct fw_managed managed;
    struct fw_log log;
    char said[256];
    unsigned calls;

    /* what the game tells */
    fw_managed_kind kind;
    const char *const *frames;
    size_t n;
    unsigned sleep_us;
};

static void say(void *user, fw_log_level level, const char *text)
{
    struct fixture *fx = user;

    (void)level;
    snprintf(fx->said, sizeof fx->said, "%s", text);
}

static void tell(void *user, fw_managed_stack *out)
{
    struct fixture *fx = user;

    fx->calls++;
    for (size_t i = 0; i < fx->n; i++)
        fw_managed_frame(out, fx->kind, fx->frames[i]);
    if (fx->sleep_us)
        usleep(fx->sleep_us); /* a slow runtime */
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof *fx);

    fx->log = (struct fw_log){say, fx};
    fx->managed.call = tell;
    fx->managed.user = fx;
    assert_true(fw_managed_start(&fx->managed, NULL));
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    fw_managed_stop(&fx->managed, NULL);
    free(fx);
    return 0;
}

static const struct fw_desk_texts *ask(struct fixture *fx)
{
    return fw_managed_ask(&fx->managed, &fx->log);
}

/* A call that the machine made slow, which is busy with other things, and not the game: once more.
 */
static const struct fw_desk_texts *ask_patiently(struct fixture *fx)
{
    const struct fw_desk_texts *t;
    uint64_t slow;

    do {
        slow = atomic_load(&fx->managed.slow);
        t = ask(fx);
    } while (!t && !fx->sleep_us && atomic_load(&fx->managed.slow) > slow);
    return t;
}

static const struct fw_desk_texts *ask_for(struct fixture *fx, fw_managed_kind kind,
                                           const char *const *frames, size_t n)
{
    fx->kind = kind;
    fx->frames = frames;
    fx->n = n;
    return ask_patiently(fx);
}

#define TELL(fx, kind, ...)                                                                        \
    ask_for((fx), (kind), (const char *const[]){__VA_ARGS__},                                      \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static const char *nth(const struct fw_desk_texts *t, unsigned n)
{
    const char *text = t->bytes;

    assert_in_range(n, 0, t->n - 1u);
    while (n--)
        text += strlen(text) + 1;
    return text;
}

static void frames_are_told_innermost_first_without_what_a_runtime_puts_before(void **state)
{
    const struct fw_desk_texts *t =
        TELL(*state, FW_MANAGED_JAVA, "\tat a.b.c(SourceFile:12)", "a.b.d(Unknown Source)", "",
             "  \n ", "at android.os.Looper.loop(Looper.java:288)\r\n");

    assert_int_equal(t->n, 3);
    assert_string_equal(nth(t, 0), "a.b.c(SourceFile:12)");
    assert_string_equal(nth(t, 1), "a.b.d(Unknown Source)");
    assert_string_equal(nth(t, 2), "android.os.Looper.loop(Looper.java:288)");
    assert_int_equal(t->len, strlen(nth(t, 0)) + strlen(nth(t, 1)) + strlen(nth(t, 2)) + 3);
}

static void a_game_that_tells_nothing_has_no_stack(void **state)
{
    struct fixture *fx = *state;

    assert_null(ask_for(fx, FW_MANAGED_LUA, NULL, 0));
    assert_null(TELL(fx, FW_MANAGED_LUA, "", " "));
    fw_managed_frame(NULL, FW_MANAGED_LUA, "x");
    assert_int_equal(TELL(fx, FW_MANAGED_LUA, NULL, "main.lua:3: in function 'f'")->n, 1);
    assert_true(fw_managed_wanted(&fx->managed));
}

static void at_most_64_frames_are_kept_the_innermost(void **state)
{
    const char *frames[FW_MANAGED_FRAMES + 9];
    char text[FW_MANAGED_FRAMES + 9][8];

    for (size_t i = 0; i < FW_MANAGED_FRAMES + 9; i++) {
        snprintf(text[i], sizeof text[i], "f%zu", i);
        frames[i] = text[i];
    }

    const struct fw_desk_texts *t = ask_for(*state, FW_MANAGED_LUA, frames, FW_MANAGED_FRAMES + 9);

    assert_int_equal(t->n, FW_MANAGED_FRAMES);
    assert_string_equal(nth(t, FW_MANAGED_FRAMES - 1), "f63");
}

static void a_text_is_cut_at_255_bytes_and_never_within_a_character(void **state)
{
    char longest[3000];

    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(strlen(nth(TELL(*state, FW_MANAGED_CSHARP, longest), 0)),
                     FW_MANAGED_FRAME_BYTES);
    memcpy(longest + FW_MANAGED_FRAME_BYTES - 1, "\xe4\xb8\xad", 3);
    assert_int_equal(strlen(nth(TELL(*state, FW_MANAGED_CSHARP, longest), 0)),
                     FW_MANAGED_FRAME_BYTES - 1);
}

/* Nothing follows a gap: what does not fit any more ends the stack. */
static void a_stack_has_at_most_its_bytes(void **state)
{
    const char *frames[FW_MANAGED_FRAMES];
    char longest[FW_MANAGED_FRAME_BYTES + 1];

    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    for (size_t i = 0; i < FW_MANAGED_FRAMES; i++)
        frames[i] = i == FW_MANAGED_FRAMES - 1 ? "short" : longest;

    const struct fw_desk_texts *t = ask_for(*state, FW_MANAGED_LUA, frames, FW_MANAGED_FRAMES);

    assert_int_equal(t->n, FW_MANAGED_BYTES / (FW_MANAGED_FRAME_BYTES + 1));
    assert_in_range(t->len, 1, FW_MANAGED_BYTES);
    assert_int_equal(strlen(nth(t, t->n - 1u)), FW_MANAGED_FRAME_BYTES);
}

static void control_characters_become_blanks_and_what_tells_a_person_goes(void **state)
{
    const struct fw_desk_texts *t = TELL(*state, FW_MANAGED_LUA,
                                         "a\x1b[31mb\x7f"
                                         "c\xc2\x9b"
                                         "d\xc3\xa9",
                                         "f('me@mail.example')", "call('+49 170 1234567')", "\xc2");

    assert_string_equal(nth(t, 0), "a [31mb c  d\xc3\xa9");
    assert_string_equal(nth(t, 1), "f('[mail]')");
    assert_string_equal(nth(t, 2), "call('+[number]')");
    assert_string_equal(nth(t, 3), "\xc2"); /* the writer says "?" */
}

/* The id says which mapping reads the frame; scrubbed it would be another's. */
static void the_id_of_a_mapping_is_left_as_it_is(void **state)
{
#define ID "1234567890123456789012345678901234567890123456789012345678901234"
    const struct fw_desk_texts *t =
        TELL(*state, FW_MANAGED_JAVA, "a.b(r8-map-id-" ID ":12)",
             "me@mail.example(r8-map-id-7654321:1234567890)", "a.b(F:1234567890)");

    assert_string_equal(nth(t, 0), "a.b(r8-map-id-" ID ":12)");
    assert_string_equal(nth(t, 1), "[mail](r8-map-id-7654321:[number])");
    assert_string_equal(nth(t, 2), "a.b(F:[number])");
#undef ID
}

static void native_frames_are_further_in_where_the_runtime_calls_them(void **state)
{
    struct fixture *fx = *state;

    assert_false(TELL(fx, FW_MANAGED_JAVA, "a.b(F:1)", "a.c(Native Method)")->native_first);
    assert_true(TELL(fx, FW_MANAGED_JAVA, "at a.c(Native Method)", "a.b(F:1)")->native_first);
    assert_true(TELL(fx, FW_MANAGED_LUA, "[C]: in function 'draw'", "m.lua:1:")->native_first);
    assert_false(TELL(fx, FW_MANAGED_LUA, "m.lua:1:", "[C]: in ?")->native_first);
    assert_true(TELL(fx, FW_MANAGED_CSHARP, "at (wrapper managed-to-native) N.Draw ()", "N.X ()")
                    ->native_first);
    assert_false(TELL(fx, FW_MANAGED_CSHARP, "N.X ()")->native_first);
    assert_false(TELL(fx, FW_MANAGED_LUA, "a.c(Native Method)")->native_first);
}

static void three_slow_calls_in_a_row_are_the_last(void **state)
{
    struct fixture *fx = *state;
    const char *frames[] = {"f"};

    for (unsigned i = 0; i < 2 * FW_MANAGED_MAX_SLOW; i++) {
        fx->sleep_us = i % FW_MANAGED_MAX_SLOW < FW_MANAGED_MAX_SLOW - 1 ? SLOW_US : 0;
        if (fx->sleep_us)
            assert_null(ask_for(fx, FW_MANAGED_LUA, frames, 1)); /* late is not used */
        else
            assert_non_null(ask_for(fx, FW_MANAGED_LUA, frames, 1));
    }
    if (atomic_load(&fx->managed.slow) > 2 * (FW_MANAGED_MAX_SLOW - 1))
        skip(); /* the machine itself was slow in a quick call */
    assert_true(fw_managed_wanted(&fx->managed));
    assert_string_equal(fx->said, "");
    fx->sleep_us = SLOW_US;
    for (unsigned i = 0; i < FW_MANAGED_MAX_SLOW; i++) {
        assert_true(fw_managed_wanted(&fx->managed));
        assert_null(ask(fx));
    }
    assert_false(fw_managed_wanted(&fx->managed));
    assert_string_equal(fx->said, "managed stacks are off: slower than 200 ms");
    assert_string_equal(atomic_load(&fx->managed.off_reason), "slower than 200 ms");
    assert_int_equal(atomic_load(&fx->managed.looks), 3 * FW_MANAGED_MAX_SLOW);
    assert_true(atomic_load(&fx->managed.max_ns) >= FW_MANAGED_SLOW_MS * 1000000ull);
}

/* The desk ---------------------------------------------------------------------------------------
 */

static unsigned texts_in_use(const struct fw_desk *d)
{
    unsigned n = 0;

    for (size_t i = 0; i < FW_DESK_TEXTS; i++)
        n += d->texts[i].used;
    return n;
}

static void managed_stacks_of_frames_that_nobody_took_make_room_for_later_ones(void **state)
{
    struct fixture *fx = *state;
    struct fw_desk *d = malloc(sizeof *d);
    struct fw_desk_frame *taken = malloc(sizeof *taken);
    struct fw_desk_sample s = {.t_ns = 1, .n = 1};
    const struct fw_desk_texts *t = TELL(fx, FW_MANAGED_LUA, "one", "two");
    uint64_t frames = 100, last = frames;

    fw_desk_init(d);
    assert_true(fw_desk_make_texts(d, NULL));
    for (uint64_t began = 1; began <= frames; began++)
        for (unsigned i = 0; i < FW_DESK_SAMPLES; i++)
            assert_true(fw_desk_add_sample(d, began, &s, t));
    assert_false(fw_desk_add_sample(d, last, &s, t)); /* a ninth */
    assert_int_equal(texts_in_use(d), FW_DESK_TEXTS);

    for (uint64_t began = 1; began <= frames; began++) {
        bool found = fw_desk_take(d, began, taken);

        assert_int_equal(found, began > frames - FW_DESK_FRAMES);
        for (unsigned i = 0; found && i < taken->n; i++) {
            const struct fw_desk_texts *kept = fw_desk_texts_of(d, &taken->sample[i]);

            if (kept)
                assert_string_equal(nth(kept, 1), "two");
        }
        if (found)
            fw_desk_give_back(d, taken);
    }
    assert_int_equal(texts_in_use(d), 0);
    assert_true(fw_desk_add_sample(d, frames + 1, &s, t));
    assert_true(fw_desk_take(d, frames + 1, taken));
    assert_non_null(fw_desk_texts_of(d, &taken->sample[0]));
    assert_true(fw_desk_add_sample(d, frames + 2, &s, NULL));
    assert_true(fw_desk_take(d, frames + 2, taken));
    assert_null(fw_desk_texts_of(d, &taken->sample[0]));
    fw_desk_fini(d);
    free(taken);
    free(d);
}

static uint16_t module_of(struct fw_desk *d, const char *name)
{
    struct fw_desk_module m = {.load_address = 0x1000, .size = 0x1000};

    snprintf(m.name, sizeof m.name, "%s", name);
    return fw_desk_add_module(d, &m);
}

static const Framewatch__Stack *only_stack(const Framewatch__SessionLog *log)
{
    const Framewatch__Stack *found = NULL;

    for (size_t i = 0; i < log->n_packet; i++)
        if (log->packet[i]->body_case == FRAMEWATCH__PACKET__BODY_STACK) {
            assert_null(found);
            found = log->packet[i]->stack;
        }
    assert_non_null(found);
    return found;
}

/* The same code runs at another address in each process, or each time it was compiled. */
static void code_that_a_runtime_made_is_told_by_name_alone(void **state)
{
    struct fixture *fx = *state;
    struct fw_desk *d = malloc(sizeof *d);
    struct fw_jank_log *l = malloc(sizeof *l);
    struct fw_slice slice;
    struct fw_desk_sample s = {.t_ns = 1, .n = 3};
    const struct fw_desk_texts *t = TELL(fx, FW_MANAGED_JAVA, "a.b(F:1)", "a.c(F:2)");
    Framewatch__SessionLog *log;
    const Framewatch__Stack *stack;

    fw_desk_init(d);
    assert_true(fw_desk_make_texts(d, NULL));
    assert_true(fw_slice_init(&slice, NULL));
    fw_jank_log_init(l, d, 0);
    s.module[0] = FW_DESK_NO_MODULE;
    s.module[1] = module_of(d, "base.odex");
    s.module[2] = module_of(d, "libgame.so");
    s.offset[2] = 0x77;
    for (s.offset[0] = 1; s.offset[0] <= 3; s.offset[0]++)
        assert_true(fw_desk_add_sample(d, 5, &s, t));
    fw_jank_log_add(l, &slice, 5, 300000000);
    fw_jank_log_write(l, &slice, UINT64_MAX);
    assert_int_equal(texts_in_use(d), 0);

    log = framewatch__session_log__unpack(NULL, slice.raw.len, (const uint8_t *)slice.raw.at);
    assert_non_null(log);
    stack = only_stack(log);
    assert_int_equal(stack->n_frame, 3);
    assert_string_equal(stack->frame[0]->text, "a.b(F:1)");
    assert_string_equal(stack->frame[1]->text, "a.c(F:2)");
    assert_int_equal(stack->frame[2]->offset, 0x77);
    assert_true(stack->frame[2]->has_module);
    framewatch__session_log__free_unpacked(log, NULL);
    fw_slice_fini(&slice);
    fw_desk_fini(d);
    free(l);
    free(d);
}

#define MANAGED_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MANAGED_TEST(frames_are_told_innermost_first_without_what_a_runtime_puts_before),
        MANAGED_TEST(a_game_that_tells_nothing_has_no_stack),
        MANAGED_TEST(at_most_64_frames_are_kept_the_innermost),
        MANAGED_TEST(a_text_is_cut_at_255_bytes_and_never_within_a_character),
        MANAGED_TEST(a_stack_has_at_most_its_bytes),
        MANAGED_TEST(control_characters_become_blanks_and_what_tells_a_person_goes),
        MANAGED_TEST(the_id_of_a_mapping_is_left_as_it_is),
        MANAGED_TEST(native_frames_are_further_in_where_the_runtime_calls_them),
        MANAGED_TEST(three_slow_calls_in_a_row_are_the_last),
        MANAGED_TEST(code_that_a_runtime_made_is_told_by_name_alone),
        MANAGED_TEST(managed_stacks_of_frames_that_nobody_took_make_room_for_later_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
