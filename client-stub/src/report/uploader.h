/*
 * uploader: one low-priority thread that fetches the configuration and sends finished files, oldest
 * first. It never holds a lock while it waits or sends. A file is deleted only after the server has
 * confirmed its full length. How far an upload has come stands beside the file, so that the next
 * launch goes on from there. What may go over which network: policy.h.
 *
 * While the game is played it holds back: at most one exchange a second, none within two seconds of
 * a long frame.
 */
#pragma once
#include "src/buffer/files.h"
#include "src/collect/frame.h"
#include "src/report/policy.h"
#include "src/report/remote_config.h"
#include "src/report/tus.h"
#include "src/waker.h"

#include <pthread.h>

#define FW_UPLOAD_DRAIN_MS 30000
#define FW_MAX_SKIPPED 64 /* more than the folder keeps: none is offered to the server twice */

struct fw_uploader {
    /* set by the owner before the start */
    struct fw_server server;
    struct fw_store *store;
    const struct fw_log *log;
    const char *install;
    struct fw_config base;
    fw_network (*network)(void *user); /* NULL: `untold` */
    void *network_user;
    fw_network untold; /* fw_platform_network */
    /* called on the uploader's thread when a new configuration is in force */
    void (*on_config)(void *user, const struct fw_config *config);
    void *on_config_user;
    const char *session;             /* the one that runs; its summary waits until it rests */
    const struct fw_hook *hook;      /* NULL: never holds back */
    const _Atomic uint64_t *jank_ns; /* begin of the last long frame */
    bool erase_only;                 /* asks the server to forget, and nothing else */
    uint64_t (*now_ns)(void);        /* the clocks; NULL: the system's */
    int64_t (*wall_ms)(void);

    /* own */
    struct fw_waker waker, done;
    struct fw_remote_config remote;
    struct fw_budget budget;
    struct fw_tus tus;
    char current[FW_FILE_NAME_BYTES];                 /* "" none */
    char skipped[FW_MAX_SKIPPED][FW_FILE_NAME_BYTES]; /* refused or unreadable, this launch */
    size_t n_skipped;
    int fd;
    uint64_t next_config_ns, not_before_ns, next_erase_ns, rest_until_ns;
    _Atomic int charging;              /* 1, 0, -1 unknown */
    _Atomic uint64_t charging_told_ns; /* and when that was said */
    bool denied;                       /* by the last answer: the key is not taken */
    unsigned char *chunk;
    _Atomic bool stop;            /* ends at once */
    _Atomic uint64_t drain_until; /* not 0: ends when all is sent, or at this time */
    _Atomic uint64_t bytes_uploaded, wakeups, cpu_us;
    pthread_t thread;
    bool running;
};

bool fw_uploader_start(struct fw_uploader *u);
void fw_uploader_wake(
    struct fw_uploader *u); /* a file was finished, the network may have changed */
void fw_uploader_charging(struct fw_uploader *u, bool charging); /* any thread */
/* drain: waits up to FW_UPLOAD_DRAIN_MS until all is sent. */
void fw_uploader_stop(struct fw_uploader *u, bool drain);
void fw_uploader_fini(struct fw_uploader *u); /* last: when nobody can wake it any more */

/* The file's id as an UUID (version 8, RFC 9562), the same at every launch: creation is idempotent
 * by it even when the state file is lost. */
void fw_file_id(const char *name, char out[37]);

/* For tests: what the thread does between two waits, without the thread. */
bool fw_uploader_prepare(struct fw_uploader *u); /* false: no memory */
/* Does what is due: at most one exchange. Returns when to come back, 0 for at once. *idle: nothing
 * is left to do that may be done. */
uint64_t fw_uploader_work(struct fw_uploader *u, bool *idle);
