/*
 * row_values: what a session says, as values of the database's rows. Texts live in the arena, which
 * latches failure; whoever filled rows asks it once and says rows_too_big.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define ROW_TEXT_CAP (64u * 1024 * 1024)

static inline int64_t row_i64(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static inline int64_t row_i32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

static inline const char *row_text(const char *text) /* NULL: "" */
{
    return text ? text : "";
}

/* A finished text, moved into the arena; NULL if either ran out. */
const char *row_text_take(struct buf *text, struct arena *mem);
const char *row_text_copy(const char *text, struct arena *mem);

bool rows_too_big(struct err *err); /* fails */
