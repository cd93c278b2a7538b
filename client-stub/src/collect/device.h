/*
 * device: what the header says about the phone: what the game knows, else what the system tells.
 * Read once, on the sampling thread.
 */
#pragma once
#include "src/collect/reader.h"
#include "wire/session_writer.h"

#include <framewatch.h>

#define FW_MAX_CLUSTERS 8

struct fw_device_facts {
    char manufacturer[FW_NAME_BYTES + 1], model[FW_NAME_BYTES + 1], soc[FW_NAME_BYTES + 1],
        gpu[FW_NAME_BYTES + 1], os_version[FW_NAME_BYTES + 1];
    uint32_t screen_width_px, screen_height_px, refresh_millihertz, ram_mb;
    struct fw_wire_cluster cluster[FW_MAX_CLUSTERS];
    size_t n_clusters;
};

/* The game's own words, copied. */
void fw_device_told(struct fw_device_facts *d, const fw_device *told);
/* Fills what is still unknown. */
void fw_device_look(struct fw_device_facts *d, struct fw_reader *r, unsigned cores);
