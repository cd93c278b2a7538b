/*
 * retrace_memo: lines of stacks already retraced, with what was printed for them: stacks of one
 * program repeat the same frames. Of one index and one way to print; one owner, no threads.
 *
 * Holds RETRACE_MEMO_BYTES of text at most, then begins anew. Out of memory it forgets, no more.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define RETRACE_MEMO_BYTES ((size_t)16 << 20)

struct retrace_memo;

struct retrace_memo *retrace_memo_new(void);    /* NULL: out of memory */
void retrace_memo_free(struct retrace_memo *m); /* NULL is fine */

/* False: the line is not known. *out is valid until the next call of retrace_memo_keep(). */
bool retrace_memo_find(const struct retrace_memo *m, const char *line, size_t len, const char **out,
                       size_t *out_len);
void retrace_memo_keep(struct retrace_memo *m, const char *line, size_t len, const char *out,
                       size_t out_len);
