/*
 * utf8: one sequence at a time. Pure.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Length of the UTF-8 sequence at `s`, which ends with a NUL at the latest after it; 0 if it is
 * none (overlong, surrogate, past U+10FFFF, cut). */
size_t utf8_length(const unsigned char *s);

/* In place: bytes that are no UTF-8 become '?'; cut to `limit` bytes without splitting a sequence.
 */
void utf8_clean(char *text, size_t limit);

/* In place, of valid UTF-8: control characters (C0, DEL, C1) become '?' (those of two bytes "??"),
 * apart from line feed and tab, which stay in prose and become blanks elsewhere. Returns how many
 * became '?'. */
size_t utf8_tame(char *text, int prose);

/* No control characters (C0, DEL, C1) in valid UTF-8, but those in `but`. */
bool utf8_is_tame(const char *text, const char *but);
