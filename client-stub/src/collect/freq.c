#include "src/collect/collectors.h"

#include <string.h>
#include <unistd.h>

#define CPU "devices/system/cpu/"

/* "0-7", "0-3,6": one more than the last number. */
static unsigned last_of_list(const char *text)
{
    const char *at = text;
    int64_t last = -1, value;

    while (fw_parse_i64(&at, &value)) {
        last = value;
        if (*at != '-' && *at != ',')
            break;
        at++;
    }
    return last < 0 || last >= FW_MAX_CORES ? (last < 0 ? 0 : FW_MAX_CORES) : (unsigned)last + 1;
}

unsigned fw_core_count(struct fw_reader *r)
{
    char text[128];
    unsigned cores = 0;

    if (fw_read_file(r, r->sys, text, sizeof text, CPU "possible") > 0)
        cores = last_of_list(text);
    if (!cores) {
        long n = sysconf(_SC_NPROCESSORS_CONF);

        cores = n < 1 ? 1 : n > FW_MAX_CORES ? FW_MAX_CORES : (unsigned)n;
    }
    return cores;
}

bool fw_freq_read(struct fw_freq *f, struct fw_reader *r, struct fw_wire_hardware *out)
{
    unsigned readable = 0;

    for (unsigned i = 0; i < f->cores; i++) {
        int64_t khz = 0;
        bool ok =
            fw_read_number(r, r->sys, &khz, CPU "cpu%u/cpufreq/scaling_cur_freq", i) && khz > 0;

        if (r->slow)
            return false;
        readable += ok;
        out->core_khz[i] = !ok ? 0 : khz < UINT32_MAX ? (uint32_t)khz : UINT32_MAX;
    }
    out->n_cores = readable ? f->cores : 0;
    return readable > 0;
}

static void insert_cluster(struct fw_wire_cluster *out, size_t *n, size_t max, uint32_t khz)
{
    size_t i = 0;

    while (i < *n && out[i].max_khz < khz)
        i++;
    if (i < *n && out[i].max_khz == khz) {
        out[i].cores++;
    } else if (*n < max) {
        memmove(out + i + 1, out + i, (*n - i) * sizeof *out);
        out[i] = (struct fw_wire_cluster){.cores = 1, .max_khz = khz};
        ++*n;
    }
}

size_t fw_freq_clusters(struct fw_reader *r, unsigned cores, struct fw_wire_cluster *out,
                        size_t max)
{
    size_t n = 0;

    for (unsigned i = 0; i < cores; i++) {
        int64_t khz;

        if (!fw_read_number(r, r->sys, &khz, CPU "cpu%u/cpufreq/cpuinfo_max_freq", i) || khz < 0 ||
            khz > UINT32_MAX)
            khz = 0; /* unknown, but a core */
        insert_cluster(out, &n, max, (uint32_t)khz);
    }
    return n;
}
