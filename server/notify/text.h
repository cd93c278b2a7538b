/*
 * text: cutting, escaping and joining texts that others wrote. Pure; results live in the arena or
 * buffer given.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"

/* A copy of text (NULL: "") with invalid UTF-8 replaced, cut to limit bytes at a character. NULL
 * when the arena is full. */
const char *text_cut(struct arena *mem, const char *text, size_t limit);
/* The same on one line: control characters become spaces. */
const char *text_line(struct arena *mem, const char *text, size_t limit);

/* Slack's three (& < >), which WeCom and Feishu read alike. */
void put_escaped(struct buf *b, const char *text);
/* Markdown's own characters with a backslash before them. */
void put_markdown(struct buf *b, const char *text);
/* application/x-www-form-urlencoded, and a part of a URL's path or query (space: %20). */
void put_url(struct buf *b, const char *text);

/* "+15.0 %", "unknown" if it is not finite. */
void put_percent(struct buf *b, double ratio);

/* The buffer's text with a final NUL, copied to the arena; NULL if either failed. */
const char *buf_keep(struct buf *b, struct arena *mem);
