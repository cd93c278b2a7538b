#include "server/api/sessions/session_rows.h"

#include "profile/part.h"
#include "server/jobs/sessions/session_load.h"

json_t *environment_names(int64_t environment)
{
    static const struct {
        enum environment_flag flag;
        const char *name;
    } flags[] = {{ENV_ROOTED, "rooted"},
                 {ENV_DEBUGGER, "debugger"},
                 {ENV_EMULATOR, "emulator"},
                 {ENV_DEVELOPER_MODE, "developer_mode"},
                 {ENV_REPACKAGED, "repackaged"}};
    json_t *names = json_array();

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (environment & flags[i].flag)
            json_array_append_new(names, json_string(flags[i].name));
    return names;
}

struct event_row { /* a crash or a piece of feedback: the other's columns stay empty */
    struct bytes id;
    const char *source;
    bool has_t, has_signal;
    int64_t t_us, signal;
    const char *reason, *stack_json, *stack_state, *symbols_json, *category, *text, *received_at;
};

static const struct db_col crash_cols[] = {
    DB_COL(event_row, id),          DB_COL(event_row, source),       DB_COL(event_row, t_us),
    DB_COL(event_row, signal),      DB_COL(event_row, reason),       DB_COL(event_row, stack_json),
    DB_COL(event_row, received_at), DB_COL(event_row, has_t),        DB_COL(event_row, has_signal),
    DB_COL(event_row, stack_state), DB_COL(event_row, symbols_json),
};
static const struct db_map crash_map = DB_MAP(event_row, crash_cols);

static const struct db_col feedback_cols[] = {
    DB_COL(event_row, id),       DB_COL(event_row, source), DB_COL(event_row, t_us),
    DB_COL(event_row, category), DB_COL(event_row, text),   DB_COL(event_row, received_at),
    DB_COL(event_row, has_t),
};
static const struct db_map feedback_map = DB_MAP(event_row, feedback_cols);

/* What was not told is null, not 0. */
static json_t *event_json(const struct db_map *map, const struct event_row *row)
{
    json_t *event = row_to_json(map, row);

    json_object_del(event, "has_t");
    json_object_del(event, "has_signal");
    if (!row->has_t)
        json_object_set_new(event, "t_us", json_null());
    if (!row->has_signal && map == &crash_map)
        json_object_set_new(event, "signal", json_null());
    return event;
}

static bool events(struct req *r, enum query q, const struct db_map *map,
                   const unsigned char id[16], json_t **out, struct err *err)
{
    struct db_rows rows;

    if (!db_all(r->db, q,
                DB_ARGS(db_i64(shard_of(r->who.app, id)), db_uuid(id), db_i64(r->who.app),
                        db_i64(SESSION_EVENTS_MAX)),
                map, r->mem, &rows, err))
        return false;

    json_t *list = json_array();

    for (size_t i = 0; i < rows.n; i++)
        json_array_append_new(list, event_json(map, (const struct event_row *)rows.at + i));
    *out = list;
    return list || err_memory(err);
}

bool session_crashes(struct req *r, const unsigned char id[16], json_t **out, struct err *err)
{
    return events(r, Q_CRASH_LIST, &crash_map, id, out, err);
}

bool session_feedback(struct req *r, const unsigned char id[16], json_t **out, struct err *err)
{
    return events(r, Q_FEEDBACK_LIST, &feedback_map, id, out, err);
}
