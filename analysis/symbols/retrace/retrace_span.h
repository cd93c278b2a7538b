/*
 * retrace_span: a piece of a mapping's line, read from its beginning. Bounded by its end; nothing
 * is allocated.
 */
#pragma once
#include "symbols/retrace/retrace_format.h"
#include "symbols/strings.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NAME_MAX_BYTES ((size_t)STRING_BYTES_MAX)

struct span {
    char *at, *end;
};

static inline bool span_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool span_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline void span_skip_blanks(struct span *s)
{
    while (s->at < s->end && span_is_blank(*s->at))
        s->at++;
}

static inline bool span_accept(struct span *s, char c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static inline size_t span_length(struct span s)
{
    return (size_t)(s.end - s.at);
}

static inline struct span span_trimmed(struct span s)
{
    span_skip_blanks(&s);
    while (s.end > s.at && span_is_blank(s.end[-1]))
        s.end--;
    return s;
}

/* Up to a blank or one of `stops`. */
static inline struct span span_take_name(struct span *s, const char *stops)
{
    struct span name = {s->at, s->at};

    while (s->at < s->end && !span_is_blank(*s->at) && *s->at != '\0' && !strchr(stops, *s->at))
        s->at++;
    name.end = s->at;
    return name;
}

static inline bool span_is_name(struct span s)
{
    if (s.at == s.end || span_length(s) > NAME_MAX_BYTES)
        return false;
    for (; s.at < s.end; s.at++)
        if (span_is_blank(*s.at) || *s.at == '\0')
            return false;
    return true;
}

static inline bool span_take_number(struct span *s, uint32_t *out)
{
    uint64_t v = 0;
    const char *start = s->at;

    for (; s->at < s->end && span_is_digit(*s->at); s->at++) {
        v = v * 10 + (uint64_t)(*s->at - '0');
        if (v > RETRACE_LINE_MAX)
            return false;
    }
    *out = (uint32_t)v;
    return s->at > start;
}
