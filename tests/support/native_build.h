/*
 * native_build: a small library made by the system's compiler, with a build id of the test's
 * choosing, and what binutils say of its addresses. Failures are fail_msg().
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct native_build {
    char folder[64], file[96];
    unsigned char *bytes;
    size_t size;
    uint64_t spin, tick; /* addresses within an inlined loop, and behind a call */
    char debug_id[41];
};

/* variant: another number is another file under the same build id. stripped: without any symbols.
 */
void native_build_make(struct native_build *b, const char *build_id, unsigned variant,
                       const char *strip_options);
void native_build_free(struct native_build *b);

/* addr2line's answer: function, file name and line of each frame, "f game.c:12\n"…; the caller
 * frees it. */
char *native_build_oracle(const struct native_build *b, uint64_t address);
