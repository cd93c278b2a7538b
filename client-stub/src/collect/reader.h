/*
 * reader: small files of /proc and /sys, read without ever hanging.
 *
 * A file is opened non-blocking and asked whether it is ready before it is read; what is not ready,
 * or takes longer than slow_ms in all, is given up (slow). Both roots can be moved for tests.
 * One thread at a time. The reason of the last failure stays in `reason`.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_SLOW_MS 200
#define FW_REASON_BYTES 96

struct fw_reader {
    const char *proc, *sys; /* "/proc", "/sys" */
    unsigned slow_ms;       /* FW_SLOW_MS, unless a test needs more time */
    uint64_t deadline_ns;   /* of the collector that runs now */
    bool slow;
    char reason[FW_REASON_BYTES];
};

void fw_reader_init(struct fw_reader *r, const char *proc, const char *sys);
/* A collector begins: it has slow_ms from here on. */
void fw_reader_begin(struct fw_reader *r);
/* Whether the time is over; also sets slow. */
bool fw_reader_late(struct fw_reader *r);

/* root: r->proc or r->sys; the rest as printf. Fills out with at most size - 1 bytes and a NUL, -1
 * and a reason on failure. A file longer than that is cut. */
__attribute__((format(printf, 5, 6))) int fw_read_file(struct fw_reader *r, const char *root,
                                                       char *out, size_t size, const char *format,
                                                       ...);
/* The same for a file that holds one whole number. */
__attribute__((format(printf, 4, 5))) bool fw_read_number(struct fw_reader *r, const char *root,
                                                          int64_t *out, const char *format, ...);
/* Sets the reason of a failure that is not a file's; false. */
__attribute__((format(printf, 2, 3))) bool fw_reader_fail(struct fw_reader *r, const char *format,
                                                          ...);

/* The whole number at *text (blanks before it skipped), *text behind it. False: there is none, or
 * it does not fit. */
bool fw_parse_i64(const char **text, int64_t *out);
/* The number after "NAME:" at the beginning of a line of a /proc status file. */
bool fw_parse_field(const char *text, const char *name, int64_t *out);
