#include "src/collect/collectors.h"

#include "platform/platform.h"
#include "src/clock.h"

#include <string.h>

static bool read_cpu(struct fw_collectors *c, struct fw_wire_hardware *out)
{
    bool ok = fw_cpu_read(&c->cpu, &c->reader, out);

    if (c->cpu.threads > c->threads.peak)
        c->threads.peak = c->cpu.threads;
    return ok;
}

static bool read_freq(struct fw_collectors *c, struct fw_wire_hardware *out)
{
    return fw_freq_read(&c->freq, &c->reader, out);
}

static bool read_memory(struct fw_collectors *c, struct fw_wire_hardware *out)
{
    return fw_memory_read(&c->memory, &c->reader, out);
}

static bool read_thermal(struct fw_collectors *c, struct fw_wire_hardware *out)
{
    return fw_thermal_read(&c->thermal, &c->reader, out);
}

static bool read_power(struct fw_collectors *c, struct fw_wire_hardware *out)
{
    return fw_power_read(&c->power, &c->reader, out);
}

static bool read_threads(struct fw_collectors *c, struct fw_wire_hardware *out)
{
    return fw_threads_read(&c->threads, &c->reader, out);
}

static bool read_heap(struct fw_collectors *c, struct fw_wire_hardware *out)
{
    return fw_heap_read(&c->heap, &c->reader, c->quiet, out);
}

static bool read_storage(struct fw_collectors *c, struct fw_wire_hardware *out)
{
    return fw_storage_read(&c->storage, &c->reader, out);
}

static bool read_host(struct fw_collectors *c, struct fw_wire_hardware *out)
{
    return fw_host_read(&c->host, c->unwanted, out);
}

static const struct {
    const char *name;
    bool (*read)(struct fw_collectors *c, struct fw_wire_hardware *out);
    bool light;
} collector[FW_COLLECTORS] = {
    [FW_CPU] = {"cpu", read_cpu, true},          [FW_FREQ] = {"frequency", read_freq, true},
    [FW_MEMORY] = {"memory", read_memory, true}, [FW_THERMAL] = {"thermal", read_thermal, true},
    [FW_POWER] = {"battery", read_power, false}, [FW_THREADS] = {"threads", read_threads, false},
    [FW_HEAP] = {"heap", read_heap, false},      [FW_STORAGE] = {"storage", read_storage, false},
    [FW_HOST] = {"host", read_host, false},
};

const char *fw_collector_name(enum fw_collector i)
{
    return collector[i].name;
}

void fw_collectors_init(struct fw_collectors *c, const char *proc, const char *sys, int main_tid)
{
    *c = (struct fw_collectors){0};
    fw_reader_init(&c->reader, proc, sys);
    fw_reader_begin(&c->reader);

    unsigned cores = fw_core_count(&c->reader);
    fw_cpu_init(&c->cpu, cores);
    c->freq.cores = cores;
    fw_threads_init(&c->threads, main_tid);
    c->heap.ask = fw_platform_native_heap_kb;
    c->storage.dir = -1;
    c->quiet = true;
}

static void note_failure(struct fw_collectors *c, enum fw_collector i)
{
    struct fw_health *h = &c->health[i];

    h->failures++;
    memcpy(h->reason, c->reader.reason, sizeof h->reason);
    if (++h->in_a_row >= FW_MAX_FAILURES)
        h->off = true;
}

static void note_slow(struct fw_collectors *c, enum fw_collector i)
{
    if (!c->reader.reason[0])
        fw_reader_fail(&c->reader, "slower than %u ms", c->reader.slow_ms);
    c->given_up++;
    note_failure(c, i);
}

/* slow: how many collectors were in this look. */
static void end_look(struct fw_collectors *c, unsigned slow, uint64_t now_ns)
{
    c->slow_in_a_row = slow ? c->slow_in_a_row + 1 : 0;
    if (c->slow_in_a_row < FW_MAX_SLOW)
        return;
    c->slow_in_a_row = 0;
    c->pause_until_ns = now_ns + FW_WINDOW_PAUSE_MS * 1000000ull;
}

static bool read_timed(struct fw_collectors *c, enum fw_collector i, struct fw_wire_hardware *out)
{
    struct fw_health *h = &c->health[i];
    uint64_t begin = fw_now_ns(), took;
    bool ok = collector[i].read(c, out);

    took = fw_now_ns() - begin;
    h->looks++;
    h->ns += took;
    if (took > h->max_ns)
        h->max_ns = took;
    return ok;
}

bool fw_collect(struct fw_collectors *c, uint64_t now_ns, bool light, struct fw_wire_hardware *out)
{
    unsigned slow = 0;

    fw_wire_hardware_init(out);
    if (now_ns < c->pause_until_ns) {
        c->given_up++;
        return false;
    }
    for (enum fw_collector i = 0; i < FW_COLLECTORS && slow < FW_MAX_SLOW; i++) {
        if (c->health[i].off || (light && !collector[i].light) || (c->unwanted >> i & 1))
            continue;
        fw_reader_begin(&c->reader);

        bool ok = read_timed(c, i, out);
        if (c->reader.slow || fw_reader_late(&c->reader)) {
            note_slow(c, i);
            slow++;
        } else if (ok) {
            c->health[i].in_a_row = 0;
        } else {
            note_failure(c, i);
        }
    }
    end_look(c, slow, now_ns);
    return true;
}

size_t fw_collectors_off(const struct fw_collectors *c,
                         struct fw_wire_collector_off out[FW_COLLECTORS])
{
    size_t n = 0;

    for (size_t i = 0; i < FW_COLLECTORS; i++)
        if (c->health[i].off)
            out[n++] = (struct fw_wire_collector_off){
                .name = collector[i].name,
                .reason = c->health[i].reason,
                .failures = c->health[i].failures,
            };
    return n;
}

size_t fw_collectors_cost(const struct fw_collectors *c,
                          struct fw_wire_collector_cost out[FW_COLLECTORS])
{
    size_t n = 0;

    for (size_t i = 0; i < FW_COLLECTORS; i++)
        if (c->health[i].looks)
            out[n++] = (struct fw_wire_collector_cost){
                .name = collector[i].name,
                .looks = c->health[i].looks,
                .us = c->health[i].ns / 1000,
                .max_us = c->health[i].max_ns / 1000,
                .failures = c->health[i].failures,
            };
    return n;
}
