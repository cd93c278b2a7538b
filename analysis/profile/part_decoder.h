/*
 * part_decoder: the state of part_decode(), shared by part.c (packets that stand alone) and
 * part_stacks.c (packets that refer to each other by id, resolved at the end). Private to profile.
 */
#pragma once
#include "profile/part.h"

#include "session.pb-c.h"

/* Strings are cut to these many bytes, those of session.proto; the rest to limits->name_bytes. */
#define MODE_BYTES 64
#define STEP_BYTES 64
#define KEY_BYTES 32
#define REASON_BYTES 256
#define CATEGORY_BYTES 32
#define FEEDBACK_BYTES 2000
#define FRAME_TEXT_BYTES 512
/* Lists inside one packet are cut to these; longer ones come from no SDK. */
#define MAX_ATTRIBUTES 16
#define MAX_CLUSTERS 16
#define MAX_EVIDENCE 16
#define MAX_COLLECTORS 64
#define MAX_JANK_SAMPLES 16 /* the SDK takes 8 */
#define MAX_JANK_HARDWARE 64
#define MAX_SUMMARY_SCENES 128

struct decoder {
    const struct part_limits *limits;
    struct arena *mem;
    ProtobufCAllocator allocator;
    struct part part;
    bool have_header;
    size_t frames;        /* of all rows */
    const char *too_many; /* what exceeded its limit, NULL if nothing did */
    size_t limit;
    bool out_of_memory; /* outside the arena */
    /* As they came: they name modules and stacks that may follow. */
    PART_LIST(const Framewatch__Module *, raw_modules);
    PART_LIST(const Framewatch__Stack *, raw_stacks);
    PART_LIST(const Framewatch__Jank *, raw_janks);
    PART_LIST(const Framewatch__Crash *, raw_crashes);
};

/* Room for one more item of a list that grows by doubling, NULL when the arena is full. */
void *decoder_grow(struct arena *mem, void *items, size_t n, size_t size);

/* PUSH(d, &d->part, steps): pointer to the new, zeroed last item of owner->steps, or NULL. */
#define PUSH(d, owner, list)                                                                       \
    (((owner)->list =                                                                              \
          decoder_grow((d)->mem, (owner)->list, (owner)->n_##list, sizeof *(owner)->list))         \
         ? &(owner)->list[(owner)->n_##list++]                                                     \
         : NULL)

/* Latches what is past its limit; always false. */
bool decoder_too_many(struct decoder *d, const char *what, size_t limit);

/* The string, cleaned in place and cut, without control characters; "" for NULL. */
const char *decoder_text(struct decoder *d, char *text, size_t limit);

void decoder_hardware(struct decoder *d, const Framewatch__Hardware *from);

/* Modules, stacks, janks and crashes, once all packets are read. False: too many, or out of memory
 * (the arena latches that). */
bool decoder_resolve(struct decoder *d);
