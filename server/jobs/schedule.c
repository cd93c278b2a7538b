#include "server/jobs/schedule.h"

#include <string.h>

static const struct {
    const char *kind;
    int64_t seconds;
} entries[] = {
#define X(kind, seconds) {#kind, seconds},
    SCHEDULE(X)
#undef X
        {NULL, 0},
};
enum { ENTRIES = sizeof entries / sizeof *entries - 1 };

bool schedule_due(struct db *db, int64_t clock_offset_ms, int64_t *queued, struct err *err)
{
    const char *kind[ENTRIES + 1];
    int64_t period_ms[ENTRIES + 1];

    for (size_t i = 0; entries[i].kind; i++) {
        kind[i] = entries[i].kind;
        period_ms[i] = entries[i].seconds * 1000;
    }
    return db_exec_n(
        db, Q_SCHEDULE_DUE,
        DB_ARGS(db_texts(kind, ENTRIES), db_i64s(period_ms, ENTRIES), db_i64(clock_offset_ms)),
        queued, err);
}

bool schedule_now(struct db *db, int64_t app, const char *kind, struct err *err)
{
    return db_exec(db, Q_SCHEDULE_NOW, DB_ARGS(db_i64(app), db_text(kind)), err);
}

bool schedule_has(const char *kind)
{
    for (size_t i = 0; entries[i].kind; i++)
        if (strcmp(entries[i].kind, kind) == 0)
            return true;
    return false;
}
