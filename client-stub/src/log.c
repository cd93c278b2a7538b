#include "src/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

struct line {
    struct fw_log log;
    fw_log_level level;
    bool full;
    char text[256];
};

/* While the callback runs on this thread: where what is said meanwhile is kept. */
static _Thread_local struct line *meanwhile;

static void tell(const struct line *line, struct line *kept)
{
    meanwhile = kept;
    line->log.say(line->log.user, line->level, line->text);
    meanwhile = NULL;
}

/* Only of the same session: that of another may be gone when its line could be told. */
static bool keep(const struct line *line)
{
    bool keeps = !meanwhile->full && meanwhile->log.say == line->log.say &&
                 meanwhile->log.user == line->log.user;

    if (keeps)
        *meanwhile = *line;
    return keeps;
}

bool fw_log_say(const struct fw_log *log, fw_log_level level, const char *format, ...)
{
    struct line line = {.log = *log, .level = level, .full = true}, kept = {.log = *log};
    va_list ap;

    if (!log->say)
        return true;
    va_start(ap, format);
    vsnprintf(line.text, sizeof line.text, format, ap);
    va_end(ap);
    if (meanwhile)
        return keep(&line);
    tell(&line, &kept);
    if (kept.full)
        tell(&kept, &line); /* full itself: keeps nothing more */
    return true;
}
