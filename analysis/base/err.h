/*
 * err: how a failure is told. What can fail returns bool and fills the caller's
 * `struct err`; outputs stay untouched on failure. One owner, no threads.
 */
#pragma once
#include <stdbool.h>

#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define MUST_CHECK __attribute__((warn_unused_result))

/* The code is stable: server/http maps it to a status and to the `code` of a problem document. */
enum err_code {
    ERR_NONE,
    ERR_INVALID,      /* the input breaks a rule the caller can read about */
    ERR_UNAUTHORIZED, /* no key, or one nobody issued */
    ERR_FORBIDDEN,    /* a valid key without the right */
    ERR_NOT_FOUND,
    ERR_CONFLICT, /* true, but not now: the resource is in another state */
    ERR_GONE,
    ERR_TOO_BIG, /* past a named limit, that of an arena too */
    ERR_WORK,    /* past a named limit of work */
    ERR_CROWDED, /* as many of its kind as may be are at work: try again later */
    ERR_BUSY,    /* try again later */
    ERR_DB,      /* the database failed or is out of reach */
    ERR_INTERNAL /* the machine is out of memory, and other faults that are ours */
};

struct err {
    enum err_code code;
    char field[64]; /* the input field at fault, "" if none */
    char text[256];
};

/* Record a failure; always false, so callers write `return err_set(...)`. Users and passwords of
 * URLs are hidden (base/url_hide.h): errors end up in logs, in rows and before other people. */
bool err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same, naming the input field at fault. */
bool err_field(struct err *err, enum err_code code, const char *field, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Memory is told in two ways only. malloc() and the like failed: ERR_INTERNAL. */
bool err_memory(struct err *err);

/* An arena or another cap is full, whose limit is "a request", "a session" ...: ERR_TOO_BIG. With
 * less at once it could be done. An arena does not tell its cap from the machine's. */
bool err_full(struct err *err, const char *what);
