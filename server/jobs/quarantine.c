#include "server/jobs/quarantine.h"

#include "server/jobs/sessions/row_values.h"

bool quarantine_set(struct db *db, int64_t app, const char *source, const unsigned char ref[16],
                    int64_t day, const char *const *all, size_t n_all, const struct refusal *now,
                    size_t n_now, struct err *err)
{
    const char *reason[QUARANTINE_REASONS], *detail[QUARANTINE_REASONS];
    int64_t count[QUARANTINE_REASONS];

    if (n_now > QUARANTINE_REASONS)
        return err_set(err, ERR_INTERNAL, "quarantine: %zu reasons at once", n_now);
    for (size_t i = 0; i < n_now; i++) {
        reason[i] = now[i].reason;
        detail[i] = row_text(now[i].detail);
        count[i] = now[i].count;
    }
    return db_exec(db, Q_QUARANTINE_SET,
                   DB_ARGS(db_i64(app), db_text(source), db_uuid(ref), db_i64(day),
                           db_texts(all, n_all), db_texts(reason, n_now), db_i64s(count, n_now),
                           db_texts(detail, n_now)),
                   err);
}
