/*
 * desk: where the watchdog lays the stacks of a long frame for the sampling thread to write.
 *
 * Both threads use it; its mutex guards all fields and is held for copies only. The game's threads
 * never touch it. A frame is named by its begin (present time of the frame before).
 */
#pragma once
#include "wire/alloc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_DESK_FRAMES 8    /* long frames kept until the sampling thread looks */
#define FW_DESK_SAMPLES 8   /* stacks of one long frame */
#define FW_DESK_MODULES 128 /* images seen in stacks, in the process's life */
#define FW_DESK_DEPTH 96
#define FW_DESK_NO_MODULE UINT16_MAX
#define FW_DESK_TEXTS 16 /* managed stacks kept until the sampling thread looks */
#define FW_MANAGED_FRAMES 64
#define FW_MANAGED_FRAME_BYTES 255
#define FW_MANAGED_BYTES 6144 /* of one stack */

struct fw_desk_module {
    uint64_t load_address, size; /* a frame's offset counts from load_address */
    uint8_t build_id_len;
    unsigned char build_id[32];
    char name[64];
};

/* A managed stack: n texts, innermost first, each with its NUL. */
struct fw_desk_texts {
    uint16_t n;
    bool native_first; /* the native frames of that moment are further in */
    bool used;         /* on the desk: a sample has it */
    size_t len;
    char bytes[FW_MANAGED_BYTES];
};

struct fw_desk_sample {
    uint64_t t_ns;
    uint16_t n;
    uint8_t texts;                  /* the desk's: 0 none, else their place + 1 */
    uint16_t module[FW_DESK_DEPTH]; /* FW_DESK_NO_MODULE: offset is the address */
    uint64_t offset[FW_DESK_DEPTH];
};

struct fw_desk_frame {
    uint64_t began_ns; /* 0: free */
    unsigned n;
    struct fw_desk_sample sample[FW_DESK_SAMPLES];
};

struct fw_desk {
    pthread_mutex_t mutex;
    struct fw_desk_frame frame[FW_DESK_FRAMES];
    struct fw_desk_module module[FW_DESK_MODULES];
    size_t n_modules;
    struct fw_desk_texts *texts; /* NULL: nobody tells managed stacks */
    const struct fw_allocator *memory;
};

void fw_desk_init(struct fw_desk *d);
void fw_desk_fini(struct fw_desk *d);
/* Room for managed stacks; before the threads. False: no memory. */
bool fw_desk_make_texts(struct fw_desk *d, const struct fw_allocator *memory);
size_t fw_desk_memory(const struct fw_desk *d); /* besides itself */

/* The watchdog's: the place of a module, added if new; FW_DESK_NO_MODULE when there is no room. */
uint16_t fw_desk_add_module(struct fw_desk *d, const struct fw_desk_module *m);
/* One more stack of the frame that began then; the oldest frame gives way, false past the limit.
 * managed: NULL none; left out while there is no room for it. */
bool fw_desk_add_sample(struct fw_desk *d, uint64_t began_ns, const struct fw_desk_sample *s,
                        const struct fw_desk_texts *managed);

/* The sampling thread's: takes the stacks of a frame away. False: there are none. The managed ones
 * stay the desk's and can be read until they are given back, before the next take. */
bool fw_desk_take(struct fw_desk *d, uint64_t began_ns, struct fw_desk_frame *out);
const struct fw_desk_texts *fw_desk_texts_of(const struct fw_desk *d,
                                             const struct fw_desk_sample *s); /* NULL: none */
void fw_desk_give_back(struct fw_desk *d, const struct fw_desk_frame *taken);
void fw_desk_get_module(struct fw_desk *d, uint16_t place, struct fw_desk_module *out);
