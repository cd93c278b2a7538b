#include "src/collect/collectors.h"

static void take(uint32_t unwanted, enum fw_collector kind, int64_t told, int64_t *out)
{
    if (told >= 0 && !(unwanted >> kind & 1))
        *out = told;
}

bool fw_host_read(struct fw_host *h, uint32_t unwanted, struct fw_wire_hardware *out)
{
    fw_host_values v = {sizeof v, -1, -1, -1, -1, -1, -1, -1};

    if (!h->values)
        return true; /* a host that knows nothing has not failed */
    h->values(h->user, &v);
    take(unwanted, FW_MEMORY, v.pss_kb, &out->pss_kb);
    take(unwanted, FW_HEAP, v.native_heap_kb, &out->native_heap_kb);
    take(unwanted, FW_HEAP, v.java_heap_kb, &out->java_heap_kb);
    take(unwanted, FW_STORAGE, v.storage_free_mb, &out->storage_free_mb);
    take(unwanted, FW_POWER, v.battery_permille, &out->battery_permille);
    take(unwanted, FW_POWER, v.charging, &out->charging);
    take(unwanted, FW_THERMAL, v.thermal_status, &out->thermal_status);
    return true;
}
