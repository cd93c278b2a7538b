#include "src/report/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define DAY_MS 86400000

static int64_t month_of(int64_t wall_ms)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;

    return gmtime_r(&seconds, &tm) ? (tm.tm_year - 70) * 12 + tm.tm_mon : 0;
}

/* The budget as it stands at that time. Where the clock went back, what was spent stays spent, in
 * the earlier day: the next one begins anew. */
static struct fw_budget at(const struct fw_budget *b, int64_t wall_ms)
{
    struct fw_budget now = *b;
    int64_t day = wall_ms / DAY_MS, month = month_of(wall_ms);

    if (day > b->day)
        now.day_bytes = 0;
    if (month > b->month)
        now.month_bytes = 0;
    now.day = day;
    now.month = month;
    return now;
}

void fw_budget_load(struct fw_budget *b, struct fw_store *s)
{
    char text[128];
    struct fw_buf in;

    *b = (struct fw_budget){0};
    fw_buf_over(&in, text, sizeof text - 1);
    if (!fw_store_read(s, "budget", &in))
        return;
    text[in.len] = 0;
    if (sscanf(text, "%" SCNd64 " %" SCNu64 " %" SCNd64 " %" SCNu64, &b->day, &b->day_bytes,
               &b->month, &b->month_bytes) != 4)
        *b = (struct fw_budget){0};
}

void fw_budget_spend(struct fw_budget *b, struct fw_store *s, int64_t wall_ms, uint64_t bytes)
{
    char text[128];

    *b = at(b, wall_ms);
    b->day_bytes += bytes;
    b->month_bytes += bytes;

    int n = snprintf(text, sizeof text, "%" PRId64 " %" PRIu64 " %" PRId64 " %" PRIu64 "\n", b->day,
                     b->day_bytes, b->month, b->month_bytes);
    fw_store_write(s, "budget", text, (size_t)n);
}

bool fw_network_is_free(fw_network network)
{
    return network == FW_NETWORK_WIFI || network == FW_NETWORK_WIRED;
}

static uint64_t left(uint64_t cap, uint64_t spent)
{
    return spent < cap ? cap - spent : 0;
}

struct fw_allowance fw_may_send(const struct fw_config *config, fw_network network, int charging,
                                const struct fw_budget *b, int64_t wall_ms)
{
    struct fw_allowance none = {0}, all = {true, true, UINT64_MAX};
    struct fw_budget now = at(b, wall_ms);

    if (!config->enabled || network == FW_NETWORK_NONE)
        return none;
    if (fw_network_is_free(network))
        return all;

    uint64_t day = left(config->daily_bytes, now.day_bytes),
             month = left(config->monthly_bytes, now.month_bytes);
    all.bytes = day < month ? day : month;
    all.files = charging == 1 || !config->wifi_only;
    return all;
}
