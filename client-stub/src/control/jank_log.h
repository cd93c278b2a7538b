/*
 * jank_log: long frames on their way into the file, and the hardware looks around them.
 *
 * Belongs to the sampling thread. Its stacks are taken from the desk and written as soon as a long
 * frame has ended; the jank itself waits until one second after, so that its packet can carry the
 * looks from 2 s before to 1 s after that are not in the file already. Module and stack ids are
 * given per file: what waits is written before the file is finished, and fw_jank_log_new_file()
 * forgets them.
 */
#pragma once
#include "src/buffer/slice.h"
#include "src/control/desk.h"

#define FW_PENDING_JANKS 32
#define FW_LOOKS 16
#define FW_FILE_STACKS 512
#define FW_FILE_MODULES 64

struct fw_pending_jank {
    uint64_t began_ns, duration_ns, due_ns;
    struct fw_wire_stack_sample sample[FW_DESK_SAMPLES];
    size_t n_samples;
};

struct fw_look {
    struct fw_wire_hardware hardware;
    bool in_file, used;
};

struct fw_jank_log {
    uint64_t session_start_ns;
    struct fw_desk *desk;
    struct fw_pending_jank pending[FW_PENDING_JANKS]; /* in order of time */
    size_t n;
    struct fw_look look[FW_LOOKS]; /* a ring */
    size_t next_look;
    uint8_t module_id[FW_DESK_MODULES]; /* in this file; 0 not yet */
    unsigned n_modules;
    uint64_t stack_hash[FW_FILE_STACKS]; /* id = index + 1 */
    unsigned n_stacks;
    struct fw_desk_frame taken; /* working memory */
};

void fw_jank_log_init(struct fw_jank_log *l, struct fw_desk *desk, uint64_t session_start_ns);
/* The file is finished, or a slice of it was lost: its ids mean nothing any more. */
void fw_jank_log_new_file(struct fw_jank_log *l);

/* A long frame has ended (or the session did within it). The oldest is written when there is no
 * room. */
void fw_jank_log_add(struct fw_jank_log *l, struct fw_slice *s, uint64_t began_ns,
                     uint64_t duration_ns);
/* A look at the hardware; in_file: it is in the file as a Hardware packet. */
void fw_jank_log_look(struct fw_jank_log *l, const struct fw_wire_hardware *h, bool in_file);
/* Writes what is due at now_ns (UINT64_MAX: all) into the slice. */
void fw_jank_log_write(struct fw_jank_log *l, struct fw_slice *s, uint64_t now_ns);
/* When the next one is due; UINT64_MAX: none waits. */
uint64_t fw_jank_log_due(const struct fw_jank_log *l);
