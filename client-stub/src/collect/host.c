#include "src/collect/collectors.h"

static void take(int64_t told, int64_t *out)
{
    if (told >= 0)
        *out = told;
}

bool fw_host_read(struct fw_host *h, struct fw_reader *r, struct fw_wire_hardware *out)
{
    fw_host_values v = {sizeof v, -1, -1, -1, -1, -1, -1, -1};

    (void)r; /* a host that knows nothing has not failed */
    if (!h->values)
        return true;
    h->values(h->user, &v);
    take(v.pss_kb, &out->pss_kb);
    take(v.native_heap_kb, &out->native_heap_kb);
    take(v.java_heap_kb, &out->java_heap_kb);
    take(v.storage_free_mb, &out->storage_free_mb);
    take(v.battery_permille, &out->battery_permille);
    take(v.charging, &out->charging);
    take(v.thermal_status, &out->thermal_status);
    return true;
}
