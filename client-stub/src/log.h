/* log: the game's log callback, or nothing. Any thread; texts are at most 256 bytes. */
#pragma once
#include <framewatch.h>

struct fw_log {
    void (*say)(void *user, fw_log_level level, const char *text); /* NULL: silence */
    void *user;
};

__attribute__((format(printf, 3, 4))) void fw_log_say(const struct fw_log *log, fw_log_level level,
                                                      const char *format, ...);
