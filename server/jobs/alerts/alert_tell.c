#include "server/jobs/alerts/alert_tell.h"

#include "server/jobs/tiers/tier_name.h"
#include "server/notify/notify.h"

#include <stdio.h>
#include <string.h>

struct told_row {
    int64_t alert_id, version, tier, sessions, opened_us, resolved_us, tiers;
    const char *state, *scene, *metric, *build, *baseline, *summary, *detail;
    double change, low, high;
};
static const struct db_col told_cols[] = {
    DB_COL(told_row, alert_id), DB_COL(told_row, version),   DB_COL(told_row, tier),
    DB_COL(told_row, sessions), DB_COL(told_row, opened_us), DB_COL(told_row, resolved_us),
    DB_COL(told_row, tiers),    DB_COL(told_row, state),     DB_COL(told_row, scene),
    DB_COL(told_row, metric),   DB_COL(told_row, build),     DB_COL(told_row, baseline),
    DB_COL(told_row, summary),  DB_COL(told_row, detail),    DB_COL(told_row, change),
    DB_COL(told_row, low),      DB_COL(told_row, high),
};
static const struct db_map told_map = DB_MAP(told_row, told_cols);

static enum notify_state state_of(const char *name)
{
    static const struct {
        const char *name;
        enum notify_state state;
    } states[] = {{"open", NOTIFY_OPEN},
                  {"updated", NOTIFY_UPDATED},
                  {"acknowledged", NOTIFY_ACKNOWLEDGED},
                  {"silenced", NOTIFY_SILENCED}};

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i].name, name) == 0)
            return states[i].state;
    return NOTIFY_RESOLVED;
}

bool alert_tell(struct db *db, int64_t app, int64_t alert_id, const char *public_url,
                struct arena *mem, struct err *err)
{
    struct told_row row;
    char tier[TIER_NAME_BYTES], url[1024] = "";

    if (!db_one(db, Q_ALERT_TOLD, DB_ARGS(db_i64(app), db_i64(alert_id)), &told_map, mem, &row,
                err))
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no such alert") : false;
    tier_name(row.tier, row.tiers, tier);
    if (*public_url)
        snprintf(url, sizeof url, "%s/alerts/%lld", public_url, (long long)alert_id);

    const struct notify_alert alert = {
        .alert_id = row.alert_id,
        .version = row.version,
        .state = state_of(row.state),
        .severity = NOTIFY_ALERT,
        .build = row.build,
        .baseline = row.baseline,
        .tier = tier,
        .scene = row.scene,
        .metric = row.metric,
        .change = row.change,
        .change_low = row.low,
        .change_high = row.high,
        .n = row.sessions,
        .summary = row.summary,
        .detail = row.detail,
        .url = url,
        .starts_at_us = row.opened_us,
        .ends_at_us = strcmp(row.state, "resolved") == 0 ? row.resolved_us : 0,
    };

    return notify_alert(db, app, &alert, mem, err);
}
