/*
 * libframewatch: measures a released game on its players' devices.
 *
 * Compiles as C99 and as C++98 or later; includes only <stddef.h> and <stdint.h>.
 *
 * Threads. fw_start, fw_stop, fw_frame, fw_hud, fw_consent, fw_reset_install_id and fw_delete_data
 * belong to the game's own (main) thread: the one whose frames are measured and whose stack is
 * taken while a frame is long. All other calls may come from any thread. fw_frame takes no lock,
 * allocates nothing and makes no system call but the clock's vDSO read. Nothing here blocks on disk
 * or network, but for fw_start, which makes the storage folder and reads the install id, fw_stop,
 * which waits for the last slice to be written, and the three calls about consent and deletion,
 * which may do both; the SDK's own low-priority threads do all other such work.
 *
 * Calls from callbacks. All calls may be made from all callbacks of fw_options; none hangs or
 * crashes, and these do nothing there:
 * - fw_stop, fw_consent, fw_reset_install_id and fw_delete_data on a thread of the SDK's, where
 * they would wait for themselves, and on the main thread within fw_start or each other. They return
 * 0, so that the game can call again from its main loop. fw_start returns NULL while there is a
 *   session.
 * - fw_frame, fw_frame_at and fw_hud (which returns 0) on a thread of the SDK's.
 * - What needs a session, before it began and after it ended: so within fw_start and fw_stop.
 * - fw_managed_frame outside the managed_stack call that its stack is of.
 * A refused call is told to the log callback, once of each, before it returns: a callback that
 * makes one must not hold a lock that the log callback takes. The log callback is never called
 * within itself on one thread: the first line that is caused there comes right after it, others are
 * left out.
 *
 * Ownership. Strings and structs passed in are copied before the call returns. Handles are opaque;
 * every call accepts a NULL handle and then does nothing, so a game whose profiler did not start
 * needs no checks.
 *
 * Consent. Nothing is recorded, stored or sent before fw_start. A game that must ask first starts
 * with FW_WAIT_FOR_CONSENT: then nothing of that happens before fw_consent(fw, 1).
 *
 * Failure. The SDK never ends or slows the game: a collector that fails switches itself off and
 * says so in the session's self-report.
 */
#ifndef FRAMEWATCH_H
#define FRAMEWATCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FW_API __attribute__((visibility("default")))
#else
#define FW_API
#endif

typedef struct fw_context fw_context;

typedef enum fw_network {
    FW_NETWORK_UNKNOWN = 0, /* treated as metered */
    FW_NETWORK_NONE = 1,
    FW_NETWORK_WIFI = 2,
    FW_NETWORK_CELLULAR = 3,
    FW_NETWORK_WIRED = 4
} fw_network;

typedef enum fw_log_level { FW_LOG_ERROR = 0, FW_LOG_WARN = 1, FW_LOG_INFO = 2 } fw_log_level;

/* What the game knows about the device and itself. NULL and 0 mean unknown; the SDK then asks the
 * system. Names are cut at 128 bytes. */
typedef struct fw_device {
    const char *manufacturer, *model, *soc, *gpu, *os_version;
    uint32_t screen_width_px, screen_height_px, refresh_millihertz;
} fw_device;

/* One HTTP exchange of the transport. The transport fills status (0: no answer) and calls
 * on_header for each response header, on_body for body bytes; it returns when the exchange ended.
 */
typedef struct fw_http_request {
    const char *method, *url;
    const char *const *headers; /* "Name: value", NULL at the end */
    const void *body;
    size_t body_len;
    uint32_t timeout_ms;
    int status;
    void *sink; /* passed back to the two callbacks */
    void (*on_header)(void *sink, const char *name, const char *value);
    void (*on_body)(void *sink, const void *bytes, size_t n);
} fw_http_request;

/* What only the game's platform code can ask for (Java, Objective-C). The SDK sets size and all
 * values to -1, unknown; the game fills in what it has. */
typedef struct fw_host_values {
    size_t size;
    int64_t pss_kb, native_heap_kb, java_heap_kb, storage_free_mb;
    int32_t battery_permille;
    int32_t charging;       /* 0 or 1 */
    int32_t thermal_status; /* Android PowerManager.THERMAL_STATUS_*: 0 none .. 6 shutdown */
} fw_host_values;

/* Whose frame it is. */
typedef enum fw_managed_kind {
    FW_MANAGED_JAVA = 0, /* or Kotlin: "com.example.Game.tick(Game.java:12)" */
    FW_MANAGED_CSHARP = 1,
    FW_MANAGED_LUA = 2
} fw_managed_kind;
typedef struct fw_managed_stack fw_managed_stack; /* fw_managed_frame() adds to it */

/* One thing the game found about where it runs. Evidence, never a verdict: the session is kept. */
typedef enum fw_evidence_kind {
    FW_EVIDENCE_ROOT = 0, /* or jailbreak */
    FW_EVIDENCE_DEBUGGER = 1,
    FW_EVIDENCE_EMULATOR = 2,
    FW_EVIDENCE_DEVELOPER = 3,
    FW_EVIDENCE_REPACKAGED = 4
} fw_evidence_kind;
typedef struct fw_evidence {
    fw_evidence_kind kind;
    const char *check;  /* its name, at most 32 bytes: "installer" */
    const char *detail; /* what it saw, at most 48 bytes: "com.example.market" */
} fw_evidence;

typedef struct fw_options {
    size_t size; /* sizeof(fw_options): lets newer libraries read older callers */

    /* required */
    const char *server_url;   /* "https://frames.example.org" */
    const char *api_key;      /* an ingest key */
    const char *storage_path; /* a private writable folder; created if missing */

    /* the game */
    const char *app, *version_name, *build_id;
    uint64_t version_code;
    fw_device device;
    uint32_t target_interval_us; /* what the game aims at now; fw_target() changes it */

    /* behaviour; 0 = the default */
    uint32_t hardware_period_ms; /* 5000 */
    uint32_t slice_ms;           /* 30000 */
    uint32_t jank_stack_ms;      /* 100: a frame longer than this has its stack taken */
    uint32_t flags;              /* FW_* below */

    /* callbacks, all optional; called on the SDK's threads, log also within the game's calls */
    int (*transport)(void *user,
                     fw_http_request *request); /* 0 = exchange made; default: libcurl */
    /* Without it: FW_NETWORK_UNKNOWN on Android and iOS, which is metered even on Wi-Fi;
     * FW_NETWORK_WIFI elsewhere. */
    fw_network (*network)(void *user);
    void (*log)(void *user, fw_log_level level, const char *text);
    void *user;

    /* more callbacks, all optional. host_values: at each recorded look at the hardware; to be
     * quick, so dear values (PSS) are to be cached by the game: one that took over 200 ms five
     * times in a row is not called again in this session. environment: once, fills at most `max`
     * rows and returns their number; the texts must live until the next call. */
    void (*host_values)(void *user, fw_host_values *values);
    size_t (*environment)(void *user, fw_evidence *out, size_t max);

    /* The SDK's memory; both or neither. Default: malloc and free.
     *
     * allocate returns memory aligned as malloc's, or NULL: then fw_start returns NULL, or what the
     * memory was for is left out of the session. Both are called on the threads that call fw_start,
     * fw_stop, fw_consent, fw_reset_install_id and fw_delete_data, and on the SDK's own threads,
     * perhaps on several at once, and what one thread was given another may release. Never in a
     * signal handler, never within fw_frame or any other call than those five, never while the SDK
     * holds a lock; so they may lock. When fw_stop returns, or fw_start returned NULL, all is
     * released.
     *
     * Not of this memory: thread stacks and alternate signal stacks (the kernel's, by mmap), what
     * libc takes for its own calls (pthread_create, opendir), and what libcurl and TLS take, which
     * a transport of the game's replaces. */
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *memory);

    /* The main thread's managed stack, optional: what only a runtime (Java, C#, Lua) can tell. It
     * is asked while a frame is longer than jank_stack_ms, as often as the native stack is taken,
     * and adds frames to `out`, the innermost first, with fw_managed_frame().
     *
     * Called on the SDK's watchdog thread: never on the main thread, never in a signal handler,
     * never after fw_stop returned. It must not wait for the main thread, which waits for it in
     * fw_stop and the calls about consent and deletion. A stack that came later than 200 ms, or
     * when the frame had ended, is not used; three slow calls in a row, and it is not called again
     * in this session, which says so.
     */
    void (*managed_stack)(void *user, fw_managed_stack *out);
} fw_options;

/* One more frame, further out than those before, within a managed_stack call: the text as the
 * runtime prints it, a leading "at " or not. At most 64 frames of 255 bytes, 6 KB together; what is
 * past that is left out. Control characters become blanks; scrubbed as fw_feedback's text is. */
FW_API void fw_managed_frame(fw_managed_stack *out, fw_managed_kind kind, const char *text);

#define FW_NO_UPLOAD 1u      /* record only */
#define FW_NO_STACKS 2u      /* never signal the main thread */
#define FW_UPLOAD_AT_STOP 4u /* fw_stop waits (up to 30 s) until all is uploaded; for tools */
#define FW_NO_CRASHES 8u     /* leave the handlers of fatal signals alone */
#define FW_CRASHES_AFTER_OTHERS                                                                    \
    16u                         /* a fault is given to the handler that was there before, and      \
                                 * is a crash only if that did not mend it: for engines that       \
                                 * make exceptions of faults (Mono, .NET) */
#define FW_WAIT_FOR_CONSENT 32u /* nothing before fw_consent(fw, 1) */

/* Sets the defaults; call it before filling in options. The function of that name is for languages
 * that cannot use the macro: it sets size and fields up to `environment`, never more, so that
 * structs of older callers do not overflow. */
FW_API void fw_options_init(fw_options *options);
FW_API void fw_options_init_sized(fw_options *options, size_t size);
#define fw_options_init(options) fw_options_init_sized((options), sizeof(fw_options))

/* Starts a session on the calling thread. NULL if it cannot (the log callback says why): then the
 * game runs without a profiler. Sessions left by an earlier process are closed and uploaded. */
FW_API fw_context *fw_start(const fw_options *options);

/* Ends the session: the last slice is written, and sent or left for the next launch. 0: refused in
 * a callback; the handle is good and the session goes on. */
FW_API int fw_stop(fw_context *fw);

/* Once a frame, right after present. The first call begins the row. */
FW_API void fw_frame(fw_context *fw);
/* The same for an engine that has its own present time: CLOCK_MONOTONIC, nanoseconds. */
FW_API void fw_frame_at(fw_context *fw, uint64_t present_ns);

/* The interval the game aims at and the display's rate from now on. */
FW_API void fw_target(fw_context *fw, uint32_t target_interval_us, uint32_t refresh_millihertz);

typedef struct fw_attribute {
    const char *key; /* at most 32 bytes */
    int64_t value;   /* kept as it is: never a number that stands for a person */
} fw_attribute;

/* From now on the player is in `mode` on `map` (at most 64 bytes each, from the game's own lists);
 * at most 16 attributes. Mode, map and keys are scrubbed as fw_feedback's text is. */
FW_API void fw_scene(fw_context *fw, const char *mode, const char *map,
                     const fw_attribute *attributes, size_t n_attributes);
FW_API void fw_position(fw_context *fw, float x, float y);
/* A breadcrumb, at most 64 bytes, from the game's own list; scrubbed as fw_feedback's text is. */
FW_API void fw_step(fw_context *fw, const char *name);

FW_API void fw_background(fw_context *fw);
FW_API void fw_foreground(fw_context *fw);
FW_API void fw_low_memory(fw_context *fw);

/* GPU time of a recent frame, for an engine that measures it, as often as it does. A look at the
 * hardware records the last that was told since the look before. */
FW_API void fw_gpu_time(fw_context *fw, uint32_t gpu_us);

/* What the player has to say; category at most 32, text at most 2000 bytes. Mail addresses, phone
 * numbers, long numbers and the queries of URLs are replaced before anything is kept. */
FW_API void fw_feedback(fw_context *fw, const char *category, const char *text);

/* A stack overflow can only be recorded on a thread with an alternate signal stack. The main thread
 * has one, and on Android every thread; on others call the first at the thread's begin and the
 * second, on the same thread, before its end. They cost 96 KB of address space each, 112 KB where
 * pages have 16 KB. */
FW_API void fw_thread_begin(fw_context *fw);
FW_API void fw_thread_end(fw_context *fw);

/* Whether the player agrees; the game keeps the answer and says it at each launch. 1 begins the
 * session of a FW_WAIT_FOR_CONSENT start. 0 ends it, deletes all that is stored on the device and
 * not yet sent, the install id included, and records nothing until the next 1. This call and the
 * next two return 0 if they were refused in a callback, else 1. */
FW_API int fw_consent(fw_context *fw, int given);
/* A new install id: a new session begins, and nothing ties it to what was sent before. What was not
 * sent yet is deleted. */
FW_API int fw_reset_install_id(fw_context *fw);
/* fw_consent(fw, 0), and the server is asked to delete what it has of this install: now, or when
 * the network is back, at later launches if need be. */
FW_API int fw_delete_data(fw_context *fw);

#define FW_HUD_FRAMES 120

/* Figures of this moment, for a display in the game. -1: unknown. */
typedef struct fw_hud_figures {
    size_t size;                      /* sizeof(fw_hud_figures), set by the caller */
    uint32_t frame_us[FW_HUD_FRAMES]; /* the last frame times, oldest first */
    size_t n_frames;
    int32_t fps_milli;                                /* over the frames of the last second */
    int64_t janks;                                    /* of the session, over 100 ms */
    int32_t process_cpu_permille, total_cpu_permille; /* of all cores together */
    int64_t memory_kb; /* PSS if known, else RSS; as at the last look, a few seconds ago */
    int32_t gpu_time_us;
    int32_t temperature_millicelsius; /* skin if known, else battery */
} fw_hud_figures;
/* Belongs to the main thread; takes no lock, allocates nothing, makes no system call. 0: no session
 * runs, all is unknown. */
FW_API int fw_hud(fw_context *fw, fw_hud_figures *out);

/* The session's id: 32 hex digits and a NUL. Show it in crash reports and support forms. "" if
 * NULL or without consent. */
FW_API void fw_session_id(const fw_context *fw, char out[33]);

FW_API const char *fw_version(void);

#ifdef __cplusplus
}
#endif

#endif
