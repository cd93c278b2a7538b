#if defined(__linux__)
#include "src/clock.h"
#include "src/collect/collectors.h"

#include <string.h>
#include <unistd.h>

void fw_cpu_init(struct fw_cpu *c, unsigned cores)
{
    *c = (struct fw_cpu){.cores = cores, .tick_hertz = sysconf(_SC_CLK_TCK)};
    if (c->tick_hertz <= 0)
        c->tick_hertz = 100;
}

bool fw_stat_field(const char *line, int number, int64_t *out)
{
    const char *at = strrchr(line, ')'); /* the name may itself hold parentheses and blanks */

    if (!at)
        return false;
    at++;
    for (int field = 3; field < number; field++) {
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    return fw_parse_i64(&at, out);
}

static bool read_process(struct fw_reader *r, int64_t *jiffies, int64_t *threads)
{
    enum { UTIME = 14, CSTIME = 17, NUM_THREADS = 20 };
    char text[1024];
    int64_t value;

    if (fw_read_file(r, r->proc, text, sizeof text, "self/stat") < 0)
        return false;
    *jiffies = 0;
    for (int field = UTIME; field <= CSTIME; field++) {
        if (!fw_stat_field(text, field, &value))
            return fw_reader_fail(r, "stat: no field %d", field);
        *jiffies += value;
    }
    if (!fw_stat_field(text, NUM_THREADS, threads))
        *threads = 0;
    return true;
}

/* The first line of /proc/stat: user nice system idle iowait irq softirq. Older kernels end early.
 */
static bool read_total(struct fw_reader *r, int64_t *active, int64_t *total)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, FIELDS };
    char text[256];
    const char *at = text + 4;
    int64_t v[FIELDS] = {0};
    int n = 0;

    if (fw_read_file(r, r->proc, text, sizeof text, "stat") < 0)
        return false;
    if (strncmp(text, "cpu ", 4) != 0)
        return fw_reader_fail(r, "stat: no cpu line");
    while (n < FIELDS && fw_parse_i64(&at, &v[n]))
        n++;
    if (n <= IDLE)
        return fw_reader_fail(r, "stat: %d fields", n);
    *active = v[USER] + v[NICE] + v[SYSTEM] + v[IRQ] + v[SOFTIRQ];
    *total = *active + v[IDLE] + v[IOWAIT];
    return true;
}

static int64_t permille(int64_t part, int64_t whole)
{
    if (whole <= 0 || part < 0)
        return FW_ABSENT;
    return part >= whole ? 1000 : (part * 1000 + whole / 2) / whole;
}

bool fw_cpu_read(struct fw_cpu *c, struct fw_reader *r, struct fw_wire_hardware *out)
{
    int64_t process, active = 0, total = 0;
    uint64_t now = fw_now_ns();

    if (!read_process(r, &process, &c->threads))
        return false;
    if (!c->total_hidden && !read_total(r, &active, &total)) {
        if (r->slow)
            return false;
        c->total_hidden = true; /* Android hides /proc/stat from apps: time stands in for it */
        c->known = false;
    }
    if (c->total_hidden)
        total = (int64_t)(now / 1000000u) * c->tick_hertz / 1000 * (int64_t)c->cores;
    if (c->known) {
        out->process_cpu_permille = permille(process - c->process, total - c->total);
        if (!c->total_hidden)
            out->total_cpu_permille = permille(active - c->active, total - c->total);
    }
    c->process = process;
    c->active = active;
    c->total = total;
    c->known = true;
    return true;
}
#endif
