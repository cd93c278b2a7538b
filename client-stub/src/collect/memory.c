#if defined(__linux__)
#include "src/clock.h"
#include "src/collect/collectors.h"

#define FIRST_PSS_PERIOD_NS 60000000000ull
#define LAST_PSS_PERIOD_NS 600000000000ull
#define DEAR_PSS_NS 20000000ull

static void set_field(const char *text, const char *name, int64_t *out)
{
    int64_t value;

    if (fw_parse_field(text, name, &value) && value >= 0)
        *out = value;
}

/* On a phone without smaps_rollup (before Linux 4.14) PSS stays absent; the rest is unharmed. What
 * was given up was dear too. */
static void read_pss(struct fw_memory *m, struct fw_reader *r, struct fw_wire_hardware *out)
{
    char text[2048];
    uint64_t begin = fw_now_ns();

    if (m->no_pss || begin < m->next_pss_ns)
        return;
    if (fw_read_file(r, r->proc, text, sizeof text, "self/smaps_rollup") >= 0)
        set_field(text, "Pss", &out->pss_kb);
    else
        m->no_pss = !r->slow;

    uint64_t period = m->pss_period_ns ? m->pss_period_ns : FIRST_PSS_PERIOD_NS;
    if (fw_now_ns() - begin > DEAR_PSS_NS && period < LAST_PSS_PERIOD_NS)
        period *= 2;
    m->pss_period_ns = period;
    m->next_pss_ns = begin + period;
}

bool fw_memory_read(struct fw_memory *m, struct fw_reader *r, struct fw_wire_hardware *out)
{
    char text[4096];

    if (fw_read_file(r, r->proc, text, sizeof text, "self/status") < 0)
        return false;
    set_field(text, "VmRSS", &out->rss_kb);
    set_field(text, "RssAnon", &out->rss_anon_kb);
    set_field(text, "VmSwap", &out->swap_kb);
    if (out->rss_kb == FW_ABSENT)
        return fw_reader_fail(r, "status: no VmRSS");
    read_pss(m, r, out);
    return true;
}
#endif
