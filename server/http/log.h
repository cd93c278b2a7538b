/*
 * log: logfmt lines of the whole process, one write for many lines.
 *
 * Lines go into a buffer and a thread of the log writes them out, so no thread that serves requests
 * ever waits for the terminal or the disk. When the writer cannot keep up lines are dropped and
 * counted; the count is logged as soon as there is room. Thread-safe between log_open and
 * log_close; outside of that lines go straight to stderr.
 */
#pragma once
#include "base/err.h"
#include "server/common/logfmt.h"

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

bool log_open(int fd, enum log_level level, struct err *err) MUST_CHECK;
void log_close(void); /* writes what is left */
bool log_on(enum log_level level);
uint64_t log_dropped(void); /* lines, since start */

/* One line: log_begin, fields, log_end. */
void log_begin(struct logfmt *l, enum log_level level, const char *msg);
void log_end(struct logfmt *l);

/* A line whose fields are already logfmt. */
void log_fields(enum log_level level, const char *msg, const char *fmt, ...) PRINTF_LIKE(3, 4);
void log_err(enum log_level level, const char *msg, const struct err *err);

/* What fails again and again while something is away: at most one line a second, with the number of
 * those that were held back since the line before. Zeroed at first; one for each kind of trouble.
 */
struct log_limit {
    _Atomic int64_t next_ms;
    _Atomic uint64_t held;
};
void log_err_seldom(struct log_limit *limit, enum log_level level, const char *msg,
                    const struct err *err);
