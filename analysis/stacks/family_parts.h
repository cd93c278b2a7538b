/*
 * family_parts: the steps of family.c that stand in files of their own.
 */
#pragma once
#include "stacks/family.h"

/* Frames that may count, by number, innermost first. */
struct family_sequence {
    uint32_t *frame;
    size_t n;
};

/* Takes recursion out: a frame whose name is among the FAMILY_PERIOD_MAX kept before it repeats
 * them; in-app ones are noted. The frames of a cycle come in the order of their names, since where
 * in it a sample hit is chance. False: out of memory. */
bool family_collapse(struct family_sequence *s, struct frame_note *notes,
                     struct arena *mem) MUST_CHECK;
bool family_title(struct family *f, struct arena *mem) MUST_CHECK;
/* A name of a thread's start that an app may well give a function of its own. */
bool family_is_common_base(const char *name);
bool family_is_main(const char *name); /* the entry of a program that is the app's own */
