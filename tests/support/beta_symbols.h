/*
 * beta_symbols: a beta's stacks as phones send them, and the files that read them back: a library's
 * frames as offsets into it, Java's as R8 leaves them, inlined calls not at all. Each different
 * call of a library, with what was inlined into it, gets PLACE_BYTES of code of its own there.
 *
 * Not thread-safe while stacks are learnt; beta_sent() of learnt ones may run in many threads.
 */
#pragma once
#include "support/beta.h"

#include <stdio.h>

#define PLACE_BYTES 256
#define BETA_LATE_FOLDER "late"   /* symbols of the newer build */
#define BETA_EARLY_FOLDER "early" /* of the older one, and of the system */

struct beta_symbols; /* heap */

struct beta_image {
    const char *name;  /* "libgame.so" */
    char debug_id[41]; /* hexadecimal digits */
};

struct sent_frame {
    const struct beta_image *image; /* NULL and no text: an address outside every module */
    uint64_t offset;
    const char *text; /* managed */
};

struct beta_symbols *beta_symbols_new(void);
void beta_symbols_free(struct beta_symbols *s);
/* Gives each call of the stack its place. */
bool beta_learn(struct beta_symbols *s, const struct beta_jank *j);
/* A learnt stack as it is sent, innermost first; the number of frames, 0: out of memory or not
 * learnt. Texts live in mem. */
size_t beta_sent(const struct beta_symbols *s, const struct beta_jank *j, struct arena *mem,
                 struct sent_frame out[BETA_FRAMES]);
size_t beta_images(const struct beta_symbols *s);
/* Into folder/early and folder/late, which are there: NAME.s of each library for the assembler, and
 * mapping.txt of both builds. A line "NAME.s DEBUG_ID FOLDER" each to `list`. */
bool beta_symbols_write(const struct beta_symbols *s, const char *folder, FILE *list);
