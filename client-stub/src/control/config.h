/*
 * config: what the server wants recorded and sent (docs/remote-config.md). A plain value: whoever
 * holds one owns it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_MAX_SCENES 64
#define FW_PATTERN_BYTES 131

struct fw_config {
    int64_t version;
    bool enabled;
    bool frames, hardware, stacks, steps, positions;
    uint32_t collectors_off; /* bit i: enum fw_collector i is not wanted */
    uint32_t hardware_period_ms, slice_ms, jank_stack_ms, config_period_s;
    bool all_scenes; /* "*" is among the patterns */
    char scene[FW_MAX_SCENES][FW_PATTERN_BYTES];
    size_t n_scenes;
    uint64_t daily_bytes, monthly_bytes; /* over metered networks */
    bool wifi_only; /* whole files over a metered network only while charging */
};

void fw_config_init(struct fw_config *c); /* the defaults */

/* A document over the defaults in *c: an absent field or one of a wrong type keeps its default,
 * numbers are clamped, unknown fields skipped. False, *c untouched: it is not JSON, or no object.
 */
bool fw_config_parse(struct fw_config *c, const void *json, size_t n);

/* Whether frames, hardware and positions are wanted in this scene. */
bool fw_config_wants_scene(const struct fw_config *c, const char *mode, const char *map);
