/*
 * demo_devices: phones that synthetic sessions are played on, and the stacks found in them. Tables
 * only; the figures are of the order of the real models', no measurement of them.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum demo_tier { DEMO_LOW, DEMO_MID, DEMO_HIGH, DEMO_TIERS };

struct demo_cluster {
    uint32_t cores, max_khz;
};

struct demo_device {
    enum demo_tier tier;
    unsigned share; /* of all sessions, relative */
    bool ios;
    const char *manufacturer, *model, *soc, *gpu, *os_version;
    struct demo_cluster cluster[3]; /* little to big; cores 0: none */
    uint32_t ram_mb, width_px, height_px, refresh_hz;
};

extern const struct demo_device demo_devices[];
extern const size_t n_demo_devices;

struct demo_module {
    const char *name;
    bool game; /* built anew with each version: another debug id and other offsets */
};
enum { MODULE_GAME = 1, MODULE_ENGINE, MODULE_LIBC, MODULE_GPU, MODULE_RUNTIME, DEMO_MODULES = 5 };
extern const struct demo_module demo_modules[2][DEMO_MODULES]; /* [ios][id - 1] */

/* A frame is a function of a module, or a managed line (module 0). */
struct demo_frame {
    unsigned module;
    const char *function;
};
#define DEMO_STACK_FRAMES 10
struct demo_stack {
    unsigned weight;
    const char *where;                          /* mode of the scenes it comes from; NULL: any */
    struct demo_frame frame[DEMO_STACK_FRAMES]; /* innermost first, ended by a NULL function */
};
extern const struct demo_stack demo_stacks[];
extern const size_t n_demo_stacks;
