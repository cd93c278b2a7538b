#include "src/log.h"

#include <stdarg.h>
#include <stdio.h>

void fw_log_say(const struct fw_log *log, fw_log_level level, const char *format, ...)
{
    char text[256];
    va_list ap;

    if (!log->say)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    log->say(log->user, level, text);
}
