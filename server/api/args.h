/*
 * args: optional query arguments as statement parameters. Absent is SQL NULL, so that a filter
 * nobody asked for is `$n IS NULL` in the statement. ERR_INVALID names the argument. Everything
 * lives in r->mem.
 */
#pragma once
#include "server/http/req.h"

/* Valid UTF-8, 1..max bytes, no control characters. */
bool arg_text(struct req *r, const char *name, size_t max, struct db_arg *out,
              struct err *err) MUST_CHECK;
bool arg_i64(struct req *r, const char *name, int64_t min, int64_t max, struct db_arg *out,
             struct err *err) MUST_CHECK;
bool arg_bool(struct req *r, const char *name, struct db_arg *out, struct err *err) MUST_CHECK;
/* One of the texts; NULL at their end. */
bool arg_choice(struct req *r, const char *name, const char *const *choices, struct db_arg *out,
                struct err *err) MUST_CHECK;
/* Exactly n bytes as 2 n hex digits. */
bool arg_hex(struct req *r, const char *name, size_t n, struct db_arg *out,
             struct err *err) MUST_CHECK;
/* A time as time_parse() takes it, in microseconds since 1970. */
bool arg_time(struct req *r, const char *name, struct db_arg *out, struct err *err) MUST_CHECK;
/* YYYY-MM-DD, passed on as text. */
bool arg_day(struct req *r, const char *name, struct db_arg *out, struct err *err) MUST_CHECK;

/* Path parameter i as a whole number 0..max; `name` is what a failure calls it. */
bool param_i64(struct req *r, unsigned i, const char *name, int64_t max, int64_t *out,
               struct err *err) MUST_CHECK;

/* ISO 8601 as RFC 3339 profiles it ("2024-05-06T07:08:09.123Z", "…+02:00"; a day alone is its
 * midnight in UTC), or milliseconds since 1970. Years 1970..9999. */
bool time_parse(const char *text, int64_t *us) MUST_CHECK;
