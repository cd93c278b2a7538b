#include "server/jobs/alerts/alert_threshold.h"

static const struct db_col rule_cols[] = {
    DB_COL(alert_threshold, tier), DB_COL(alert_threshold, metric), DB_COL(alert_threshold, theta),
    DB_COL(alert_threshold, enabled)};
const struct db_map alert_threshold_map = DB_MAP(alert_threshold, rule_cols);

bool alert_thresholds_read(struct db *db, int64_t app, struct arena *mem, struct db_rows *out,
                           struct err *err)
{
    return db_all(db, Q_ALERT_RULES, DB_ARGS(db_i64(app)), &alert_threshold_map, mem, out, err);
}
