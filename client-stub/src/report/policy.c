#include "src/report/policy.h"

#include <inttypes.h>
#include <stdio.h>

#define DAY_MS 86400000

void fw_budget_load(struct fw_budget *b, struct fw_store *s)
{
    char text[64];
    struct fw_buf in;

    *b = (struct fw_budget){0};
    fw_buf_over(&in, text, sizeof text - 1);
    if (!fw_store_read(s, "budget", &in))
        return;
    text[in.len] = 0;
    if (sscanf(text, "%" SCNd64 " %" SCNu64, &b->day, &b->bytes) != 2)
        *b = (struct fw_budget){0};
}

void fw_budget_spend(struct fw_budget *b, struct fw_store *s, int64_t wall_ms, uint64_t bytes)
{
    char text[64];

    if (b->day != wall_ms / DAY_MS)
        *b = (struct fw_budget){.day = wall_ms / DAY_MS};
    b->bytes += bytes;

    int n = snprintf(text, sizeof text, "%" PRId64 " %" PRIu64 "\n", b->day, b->bytes);
    fw_store_write(s, "budget", text, (size_t)n);
}

bool fw_network_is_free(fw_network network)
{
    return network == FW_NETWORK_WIFI || network == FW_NETWORK_WIRED;
}

uint64_t fw_may_send(const struct fw_config *config, fw_network network, const struct fw_budget *b,
                     int64_t wall_ms)
{
    uint64_t spent = b->day == wall_ms / DAY_MS ? b->bytes : 0;

    if (!config->enabled || network == FW_NETWORK_NONE)
        return 0;
    if (fw_network_is_free(network))
        return UINT64_MAX;
    if (config->wifi_only || spent >= config->daily_bytes)
        return 0;
    return config->daily_bytes - spent;
}
