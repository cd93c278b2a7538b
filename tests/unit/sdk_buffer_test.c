#include "src/buffer/events.h"
#include "src/buffer/ring.h"
#include "src/buffer/slice.h"

#include "session.pb-c.h"

#include <zstd.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The ring. */

static void frames_come_out_in_order(void **state)
{
    struct fw_ring *r = aligned_alloc(FW_CACHE_LINE, sizeof *r);
    uint64_t out[8];

    (void)state;
    memset(r, 0, sizeof *r);
    for (uint64_t i = 1; i <= 10; i++)
        fw_ring_push(r, i);
    assert_int_equal(fw_ring_pop(r, out, 8), 8);
    assert_int_equal(out[7], 8);
    assert_int_equal(fw_ring_pop(r, out, 8), 2);
    assert_int_equal(out[1], 10);
    assert_int_equal(fw_ring_pop(r, out, 8), 0);
    free(r);
}

static void a_full_ring_counts_what_it_drops_and_marks_the_hole(void **state)
{
    struct fw_ring *r = aligned_alloc(FW_CACHE_LINE, sizeof *r);
    uint64_t out;

    (void)state;
    memset(r, 0, sizeof *r);
    for (uint64_t i = 1; i <= FW_RING_FRAMES + 5; i++)
        fw_ring_push(r, i);
    assert_int_equal(r->dropped, 5);
    assert_int_equal(fw_ring_pop(r, &out, 1), 1);
    assert_int_equal(out, 1);
    fw_ring_push(r, 99);
    for (uint64_t i = 2; i <= FW_RING_FRAMES; i++) {
        fw_ring_pop(r, &out, 1);
        assert_int_equal(out, i);
    }
    fw_ring_pop(r, &out, 1);
    assert_true(out == (99 | FW_RING_ROW_START));
    free(r);
}

#define PUSHED 300000u

static void *push_frames(void *user)
{
    struct fw_ring *r = user;

    for (uint64_t i = 1; i <= PUSHED; i++)
        fw_ring_push(r, i);
    return NULL;
}

static void every_frame_is_either_seen_in_order_or_counted(void **state)
{
    struct fw_ring *r = aligned_alloc(FW_CACHE_LINE, sizeof *r);
    uint64_t out[64], last = 0, seen = 0;
    bool over = false;
    pthread_t producer;

    (void)state;
    memset(r, 0, sizeof *r);
    pthread_create(&producer, NULL, push_frames, r);
    while (!over || seen + atomic_load(&r->dropped) < PUSHED) {
        size_t n = fw_ring_pop(r, out, 64);

        for (size_t i = 0; i < n; i++) {
            uint64_t frame = out[i] & ~FW_RING_ROW_START;

            assert_true(frame > last);
            assert_true((out[i] & FW_RING_ROW_START) || frame == last + 1);
            last = frame;
        }
        seen += n;
        over = over || last == PUSHED || atomic_load(&r->dropped) + seen == PUSHED;
        if (!n)
            sched_yield();
    }
    pthread_join(producer, NULL);
    assert_int_equal(seen + r->dropped, PUSHED);
    free(r);
}

/* The events. */

static struct fw_event event; /* large */

static void events_keep_kind_time_and_payload(void **state)
{
    struct fw_events *e = aligned_alloc(64, sizeof *e);

    (void)state;
    memset(e, 0, sizeof *e);
    assert_false(fw_events_pop(e, &event));
    assert_true(fw_events_push(e, FW_EVENT_STEP, 7, "hello", 5));
    assert_true(fw_events_push(e, FW_EVENT_BACKGROUND, 8, NULL, 0));
    assert_true(fw_events_pop(e, &event));
    assert_int_equal(event.kind, FW_EVENT_STEP);
    assert_int_equal(event.t_ns, 7);
    assert_int_equal(event.n, 5);
    assert_memory_equal(event.payload, "hello", 5);
    assert_true(fw_events_pop(e, &event));
    assert_int_equal(event.kind, FW_EVENT_BACKGROUND);
    assert_int_equal(event.n, 0);
    assert_false(fw_events_pop(e, &event));
    free(e);
}

static void a_full_event_ring_drops_the_new_and_counts(void **state)
{
    struct fw_events *e = aligned_alloc(64, sizeof *e);
    unsigned char payload[FW_EVENT_MAX_PAYLOAD] = {0};
    unsigned pushed = 0, popped = 0;

    (void)state;
    memset(e, 0, sizeof *e);
    while (fw_events_push(e, FW_EVENT_PACKET, 1, payload, 1000))
        pushed++;
    assert_in_range(pushed, 50, 65);
    assert_false(fw_events_push(e, FW_EVENT_PACKET, 1, payload, sizeof payload));
    assert_false(fw_events_push(e, FW_EVENT_PACKET, 1, payload, FW_EVENT_MAX_PAYLOAD + 1));
    assert_int_equal(e->dropped, 3);
    while (fw_events_pop(e, &event))
        popped++;
    assert_int_equal(popped, pushed);
    free(e);
}

#define PRODUCERS 3u
#define EACH 20000u

struct producer {
    struct fw_events *events;
    uint64_t id, accepted;
};

/* Payload: a run of one byte, its length and value told by the time. */
static void *push_events(void *user)
{
    struct producer *p = user;
    unsigned char payload[300];

    for (uint64_t i = 0; i < EACH; i++) {
        size_t n = (size_t)((i * 37 + p->id * 11) % sizeof payload);

        memset(payload, (int)(i & 0xff), n);
        if (fw_events_push(p->events, FW_EVENT_PACKET, p->id << 32 | i, payload, n))
            p->accepted++;
        else
            sched_yield();
    }
    return NULL;
}

static void assert_intact(const struct fw_event *got, int64_t last[PRODUCERS])
{
    uint64_t id = got->t_ns >> 32, i = got->t_ns & 0xffffffff;

    assert_true(id < PRODUCERS);
    assert_true((int64_t)i > last[id]); /* in order for each producer */
    last[id] = (int64_t)i;
    assert_int_equal(got->n, (i * 37 + id * 11) % 300);
    for (size_t k = 0; k < got->n; k++)
        assert_int_equal(got->payload[k], i & 0xff);
}

static void many_producers_lose_nothing_that_was_accepted(void **state)
{
    struct fw_events *e = aligned_alloc(64, sizeof *e);
    struct producer producer[PRODUCERS];
    pthread_t thread[PRODUCERS];
    int64_t last[PRODUCERS];
    uint64_t popped = 0, accepted = 0;

    (void)state;
    memset(e, 0, sizeof *e);
    for (size_t i = 0; i < PRODUCERS; i++) {
        last[i] = -1;
        producer[i] = (struct producer){e, i, 0};
        pthread_create(&thread[i], NULL, push_events, &producer[i]);
    }
    while (popped + atomic_load(&e->dropped) < (uint64_t)PRODUCERS * EACH) {
        if (!fw_events_pop(e, &event)) {
            sched_yield();
            continue;
        }
        popped++;
        assert_intact(&event, last);
    }
    for (size_t i = 0; i < PRODUCERS; i++) {
        pthread_join(thread[i], NULL);
        accepted += producer[i].accepted;
    }
    assert_int_equal(popped, accepted);
    assert_false(fw_events_pop(e, &event));
    free(e);
}

/* The slice. */

static Framewatch__SessionLog *unpacked(const struct fw_slice *s)
{
    size_t max = 1 << 20;
    unsigned char *raw = malloc(max);
    size_t n = ZSTD_decompress(raw, max, s->packed.at, s->packed.len);

    assert_false(ZSTD_isError(n));
    Framewatch__SessionLog *log = framewatch__session_log__unpack(NULL, n, raw);
    free(raw);
    assert_non_null(log);
    return log;
}

static void a_row_is_broken_only_where_it_should_be(void **state)
{
    struct fw_slice s;
    Framewatch__SessionLog *log;

    (void)state;
    assert_true(fw_slice_init(&s, NULL));
    assert_false(fw_slice_pack(&s)); /* nothing in it */
    for (uint64_t t = 1000; t <= 5000; t += 1000)
        fw_slice_present(&s, t);
    fw_slice_target(&s, 8333, 120000); /* a new packet, the same row */
    fw_slice_present(&s, 6000);
    fw_slice_break(&s);
    fw_slice_present(&s, 90000);
    fw_slice_present(&s, 89000); /* backwards: another row */
    fw_slice_present(&s, 91000);
    assert_true(fw_slice_pack(&s));

    log = unpacked(&s);
    assert_int_equal(log->n_packet, 3);
    assert_int_equal(log->packet[0]->frames->n_delta, 4);
    assert_int_equal(log->packet[0]->frames->start_us, 1000);
    assert_false(log->packet[0]->frames->has_target_interval_us);
    assert_int_equal(log->packet[1]->frames->start_us, 5000);
    assert_int_equal(log->packet[1]->frames->n_delta, 1);
    assert_int_equal(log->packet[1]->frames->refresh_millihertz, 120000);
    assert_int_equal(log->packet[2]->frames->start_us, 89000);
    assert_int_equal(log->packet[2]->frames->delta[0], 200);
    framewatch__session_log__free_unpacked(log, NULL);

    /* The row goes on across slices. */
    fw_slice_present(&s, 92000);
    assert_true(fw_slice_pack(&s));
    log = unpacked(&s);
    assert_int_equal(log->packet[0]->frames->start_us, 91000);
    assert_int_equal(log->packet[0]->frames->delta[0], 100);
    framewatch__session_log__free_unpacked(log, NULL);
    fw_slice_fini(&s);
}

static void dropped_frames_are_told_and_break_the_row(void **state)
{
    struct fw_slice s;
    Framewatch__SessionLog *log;

    (void)state;
    assert_true(fw_slice_init(&s, NULL));
    fw_slice_present(&s, 1000);
    fw_slice_present(&s, 2000);
    fw_slice_dropped(&s, 7);
    fw_slice_present(&s, 50000);
    fw_slice_present(&s, 51000);
    assert_true(fw_slice_pack(&s));
    log = unpacked(&s);
    assert_int_equal(log->n_packet, 2);
    assert_int_equal(log->packet[1]->frames->dropped, 7);
    assert_int_equal(log->packet[1]->frames->start_us, 50000);
    framewatch__session_log__free_unpacked(log, NULL);
    fw_slice_fini(&s);
}

static void a_long_row_spans_packets_without_losing_a_frame(void **state)
{
    struct fw_slice s;
    size_t frames = 0;

    (void)state;
    assert_true(fw_slice_init(&s, NULL));
    for (uint64_t i = 0; i < 3 * FW_ROW_FRAMES; i++)
        fw_slice_present(&s, 1000 + i * 100 + i % 7);
    assert_true(fw_slice_pack(&s));

    Framewatch__SessionLog *log = unpacked(&s);
    for (size_t i = 0; i < log->n_packet; i++)
        frames += log->packet[i]->frames->n_delta;
    assert_int_equal(frames, 3 * FW_ROW_FRAMES - 1);
    assert_int_equal(s.lost_packets, 0);
    framewatch__session_log__free_unpacked(log, NULL);
    fw_slice_fini(&s);
}

static void what_does_not_fit_a_slice_is_counted(void **state)
{
    struct fw_slice s;
    unsigned steps = 0;

    (void)state;
    assert_true(fw_slice_init(&s, NULL));
    while (!fw_slice_is_full(&s)) {
        fw_slice_check(&s, fw_wire_step(&s.raw, steps++, "a step with a name of some length"));
    }
    assert_int_equal(s.lost_packets, 0);
    while (!s.lost_packets)
        fw_slice_check(&s, fw_wire_step(&s.raw, steps++, "a step with a name of some length"));
    assert_true(fw_slice_pack(&s));

    Framewatch__SessionLog *log = unpacked(&s);
    assert_int_equal(log->n_packet, steps - 1);
    framewatch__session_log__free_unpacked(log, NULL);
    assert_in_range(fw_slice_memory(&s), 1, 1 << 20);
    fw_slice_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_out_in_order),
        cmocka_unit_test(a_full_ring_counts_what_it_drops_and_marks_the_hole),
        cmocka_unit_test(every_frame_is_either_seen_in_order_or_counted),
        cmocka_unit_test(events_keep_kind_time_and_payload),
        cmocka_unit_test(a_full_event_ring_drops_the_new_and_counts),
        cmocka_unit_test(many_producers_lose_nothing_that_was_accepted),
        cmocka_unit_test(a_row_is_broken_only_where_it_should_be),
        cmocka_unit_test(dropped_frames_are_told_and_break_the_row),
        cmocka_unit_test(a_long_row_spans_packets_without_losing_a_frame),
        cmocka_unit_test(what_does_not_fit_a_slice_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
