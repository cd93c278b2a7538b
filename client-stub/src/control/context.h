/*
 * context: one session, from fw_start() to fw_stop(). Wires the four layers together; sole owner of
 * their memory. At most one in a process at a time.
 */
#pragma once
#include "src/control/recorder.h"

struct fw_transport_curl;

/* Where the system is, for tests. */
struct fw_roots {
    const char *proc, *sys, *root; /* "/proc", "/sys", "" */
};

/* Calls that not every thread may make at any time. */
enum fw_refusable {
    FW_CALL_STOP,
    FW_CALL_CONSENT,
    FW_CALL_RESET,
    FW_CALL_DELETE,
    FW_CALL_FRAME,
    FW_CALL_HUD
};

struct fw_context {
    struct fw_hook hook; /* first: the frame hook's cache lines */
    struct fw_events events;

    /* of the running session; all 0 between two */
    struct fw_identity who;
    struct fw_store store;
    struct fw_desk desk;
    struct fw_watchdog watchdog;
    struct fw_recorder recorder;
    struct fw_crash crash;
    struct fw_uploader uploader;
    struct fw_transport_curl *curl; /* NULL with a transport of the game's */
    char install[FW_INSTALL_BYTES];
    char server_url[FW_URL_BYTES], api_key[256];
    bool erasing; /* no session, but the uploader asks the server to forget */

    /* from fw_start() to fw_stop() */
    struct fw_log log;
    fw_options options; /* its texts are copies */
    char *texts;
    struct fw_allocator memory;
    void *block; /* what this struct lies in */
    struct fw_roots roots;
    int main_tid;
    _Atomic bool live;        /* a session runs */
    _Atomic bool busy;        /* within a call that begins or ends sessions */
    _Atomic uint32_t callers; /* of the game's threads, inside a call that needs it to */
    _Atomic uint32_t told;    /* which calls were refused and said so: 1 << enum fw_refusable */
};

fw_context *fw_start_at(const fw_options *options, const struct fw_roots *roots);
