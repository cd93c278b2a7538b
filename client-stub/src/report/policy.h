/*
 * policy: may we send now, and how much. Wi-Fi and wire carry everything. Other networks carry
 * nothing unless the configuration allows them, and then at most daily_bytes in a UTC day, kept
 * across launches. Unknown counts as metered.
 */
#pragma once
#include "src/buffer/files.h"
#include "src/control/config.h"

#include <framewatch.h>

struct fw_budget {
    int64_t day; /* since 1970 */
    uint64_t bytes;
};

void fw_budget_load(struct fw_budget *b, struct fw_store *s);
/* Bytes sent over a metered network. */
void fw_budget_spend(struct fw_budget *b, struct fw_store *s, int64_t wall_ms, uint64_t bytes);

bool fw_network_is_free(fw_network network);
/* Bytes that may be sent now: 0 none, UINT64_MAX any number. */
uint64_t fw_may_send(const struct fw_config *config, fw_network network, const struct fw_budget *b,
                     int64_t wall_ms);
