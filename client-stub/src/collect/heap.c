#include "src/clock.h"
#include "src/collect/collectors.h"

#define FIRST_PERIOD_NS 60000000000ull
#define LAST_PERIOD_NS 960000000000ull
#define DEAR_NS 2000000ull

bool fw_heap_read(struct fw_heap *h, struct fw_reader *r, bool quiet, struct fw_wire_hardware *out)
{
    uint64_t begin = fw_now_ns();
    int64_t kb;

    if (!quiet || begin < h->next_ns)
        return true;
    if (!h->ask(&kb))
        return fw_reader_fail(r, "this system does not tell");
    out->native_heap_kb = kb;
    if (!h->period_ns)
        h->period_ns = FIRST_PERIOD_NS;
    if (fw_now_ns() - begin > DEAR_NS && h->period_ns < LAST_PERIOD_NS)
        h->period_ns *= 2;
    h->next_ns = begin + h->period_ns;
    return true;
}
