/*
 * demo_session: one synthetic but plausible session, as the SDK would have written it. A pure
 * function of the configuration and the session's index: the same seed gives the same bytes.
 */
#pragma once
#include "client-stub/wire/session_writer.h"

#include "demo_devices.h"

#define DEMO_MAX_VERSIONS 8
#define DEMO_MAX_PARTS 32
#define DEMO_MAX_SECONDS 3600
#define DEMO_MODULE_BYTES 0x4000000u

struct demo_version {
    char name[64];
    uint64_t code;
};

struct demo_config {
    uint64_t seed, sessions;
    struct demo_version version[DEMO_MAX_VERSIONS]; /* by age, the newest last */
    size_t n_versions;
    const char *app;
    unsigned mean_seconds; /* of a session; they spread from a third to three times of it */
    unsigned part_seconds; /* of one file */
    int64_t wall_ms;       /* sessions began in the hours before this */
    /* In the newest version every frame takes slow_percent longer ... */
    int slow_percent;
    int slow_tier;               /* enum demo_tier, on these devices; -1: on all */
    const char *slow_scene;      /* "mode" or "mode/map" where; NULL: everywhere */
    unsigned more_janks_percent; /* ... and so many more janks come there, all of one stack */
};

struct demo_session {
    unsigned char id[FW_SESSION_ID_BYTES];
    char install[37];
    struct fw_buf part[DEMO_MAX_PARTS]; /* files */
    size_t n_parts;
};

/* False when out of memory; `out` then holds nothing. */
bool demo_session_make(const struct demo_config *config, uint64_t index, struct demo_session *out);
void demo_session_fini(struct demo_session *s);

/* The debug id of a module of that build, 20 bytes: what registering the build tells the server. */
void demo_debug_id(bool ios, unsigned module, const struct demo_version *v, unsigned char out[20]);
/* Where a function is in that build's module. */
uint64_t demo_offset(bool ios, unsigned module, const struct demo_version *v, const char *function);
/* "build-21400-android": the build system's id. */
void demo_build_uid(bool ios, const struct demo_version *v, char out[64]);
