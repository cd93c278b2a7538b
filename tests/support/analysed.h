/*
 * analysed: a test's way from the bytes of a session builder to parts, session, result and
 * contribution. A step that fails fails the running test.
 */
#pragma once
#include "profile/contribution.h"
#include "support/session_builder.h"

#define ANALYSED_PARTS 32

struct analysed {
    struct arena *mem;
    struct part parts[ANALYSED_PARTS];
    struct session_part files[ANALYSED_PARTS];
    size_t n;
    struct session session;
    struct session_result result;
    struct contribution contribution;
};

void analysed_init(struct analysed *a);
void analysed_fini(struct analysed *a);
/* Decodes the builder's file as it is now, as one more part. */
void analysed_add(struct analysed *a, struct session_builder *b);
/* Merges, analyses and sums up what was added; may be called again after more is added. */
void analysed_run(struct analysed *a);
