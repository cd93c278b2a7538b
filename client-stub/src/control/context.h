/*
 * context: one session, from fw_start() to fw_stop(). Wires the four layers together; sole owner of
 * their memory. At most one in a process at a time.
 */
#pragma once
#include "src/control/recorder.h"

struct fw_transport_curl;

struct fw_context {
    struct fw_hook hook; /* first: the frame hook's cache lines */
    struct fw_events events;
    struct fw_log log;
    struct fw_identity who;
    struct fw_store store;
    struct fw_desk desk;
    struct fw_watchdog watchdog;
    struct fw_recorder recorder;
    struct fw_uploader uploader;
    struct fw_transport_curl *curl; /* NULL with a transport of the game's */
    char install[FW_INSTALL_BYTES];
    char server_url[FW_URL_BYTES], api_key[256];
    uint32_t flags;
};

/* Where the system is, for tests. */
struct fw_roots {
    const char *proc, *sys, *root; /* "/proc", "/sys", "" */
};
fw_context *fw_start_at(const fw_options *options, const struct fw_roots *roots);
