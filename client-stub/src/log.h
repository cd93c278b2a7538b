/*
 * log: the game's log callback, or nothing. Any thread; texts are at most 256 bytes.
 *
 * A callback that calls the SDK may cause a line itself. It is never called within itself on one
 * thread: the first such line comes when it has returned, further ones are left out. So neither a
 * lock of the game's is taken twice nor does a line lead to the next without end.
 */
#pragma once
#include <framewatch.h>

#include <stdbool.h>

struct fw_log {
    void (*say)(void *user, fw_log_level level, const char *text); /* NULL: silence */
    void *user;
};

/* False: left out. */
__attribute__((format(printf, 3, 4))) bool fw_log_say(const struct fw_log *log, fw_log_level level,
                                                      const char *format, ...);
