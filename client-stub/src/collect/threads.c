#if defined(__linux__)
#include "src/collect/collectors.h"

#include <unistd.h>

void fw_threads_init(struct fw_threads *t, int main_tid)
{
    *t = (struct fw_threads){.main_tid = main_tid, .tick_hertz = sysconf(_SC_CLK_TCK)};
    if (t->tick_hertz <= 0)
        t->tick_hertz = 100;
}

/* "cpu_ns wait_ns slices". */
static bool read_schedstat(struct fw_threads *t, struct fw_reader *r, int64_t *cpu_us,
                           int64_t *wait_us)
{
    char text[96];
    const char *at = text;
    int64_t cpu_ns, wait_ns;

    if (fw_read_file(r, r->proc, text, sizeof text, "self/task/%d/schedstat", t->main_tid) < 0 ||
        !fw_parse_i64(&at, &cpu_ns) || !fw_parse_i64(&at, &wait_ns))
        return false;
    *cpu_us = cpu_ns / 1000;
    *wait_us = wait_ns / 1000;
    return true;
}

/* utime + stime in jiffies, for kernels built without scheduler statistics. */
static bool read_stat(struct fw_threads *t, struct fw_reader *r, int64_t *cpu_us)
{
    char text[1024];
    int64_t utime, stime;

    if (fw_read_file(r, r->proc, text, sizeof text, "self/task/%d/stat", t->main_tid) < 0 ||
        !fw_stat_field(text, 14, &utime) || !fw_stat_field(text, 15, &stime))
        return false;
    *cpu_us = (utime + stime) * (1000000 / t->tick_hertz);
    return true;
}

static void read_main(struct fw_threads *t, struct fw_reader *r, struct fw_wire_hardware *out)
{
    int64_t cpu_us = 0, wait_us = 0;

    if (!t->no_schedstat && !read_schedstat(t, r, &cpu_us, &wait_us)) {
        if (r->slow)
            return;
        t->no_schedstat = true;
        t->known = false;
    }
    if (t->no_schedstat && !read_stat(t, r, &cpu_us))
        return;
    if (!t->known) {
        t->cpu_us = cpu_us;
        t->wait_us = wait_us;
        t->known = true;
    }
    out->main_cpu_us = cpu_us - t->cpu_us;
    if (!t->no_schedstat)
        out->main_wait_us = wait_us - t->wait_us;
}

bool fw_threads_read(struct fw_threads *t, struct fw_reader *r, struct fw_wire_hardware *out)
{
    enum { NUM_THREADS = 20 };
    char text[1024];
    int64_t count;

    if (fw_read_file(r, r->proc, text, sizeof text, "self/stat") < 0)
        return false;
    if (!fw_stat_field(text, NUM_THREADS, &count) || count < 1)
        return fw_reader_fail(r, "stat: no thread count");
    out->thread_count = count;
    out->thread_peak = count > t->peak ? count : t->peak;
    t->peak = 0;
    read_main(t, r, out);
    return true;
}
#endif
