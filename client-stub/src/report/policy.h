/*
 * policy: what may be sent now.
 *
 *   Wi-Fi, wire              everything
 *   other networks           summaries, and whole files while the device is charging or where the
 *                            configuration says wifi_only false; together at most daily_bytes in a
 *                            UTC day and monthly_bytes in a month
 *   none                     nothing
 *
 * Unknown counts as metered. The budget outlives the launch. A clock that is set back opens no new
 * day.
 */
#pragma once
#include "src/buffer/files.h"
#include "src/control/config.h"

#include <framewatch.h>

#define FW_EXCHANGE_BYTES 700u /* of headers, counted for each exchange over a metered network */

struct fw_budget {
    int64_t day, month; /* since 1970 */
    uint64_t day_bytes, month_bytes;
};

void fw_budget_load(struct fw_budget *b, struct fw_store *s);
/* Bytes sent over a metered network. */
void fw_budget_spend(struct fw_budget *b, struct fw_store *s, int64_t wall_ms, uint64_t bytes);

bool fw_network_is_free(fw_network network);

struct fw_allowance {
    bool files, summaries;
    uint64_t bytes; /* UINT64_MAX: any number */
};
/* charging: 1, 0, or -1 unknown, which is no. */
struct fw_allowance fw_may_send(const struct fw_config *config, fw_network network, int charging,
                                const struct fw_budget *b, int64_t wall_ms);
