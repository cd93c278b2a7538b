#include "server/api/sessions/stored_janks.h"

#include "base/digest.h"
#include "profile/hardware.h"
#include "profile/view.h"
#include "server/jobs/sessions/session_load.h"

#define HASH_BYTES 16

struct jank_row {
    int64_t start_us, duration_us, level;
    bool from_frames, perfdog_jank, perfdog_big;
    const char *scene, *cause, *evidence, *hardware;
    struct bytes stacks;
};
static const struct db_col jank_cols[] = {
    DB_COL(jank_row, start_us),    DB_COL(jank_row, duration_us),  DB_COL(jank_row, level),
    DB_COL(jank_row, from_frames), DB_COL(jank_row, perfdog_jank), DB_COL(jank_row, perfdog_big),
    DB_COL(jank_row, scene),       DB_COL(jank_row, cause),        DB_COL(jank_row, evidence),
    DB_COL(jank_row, hardware),    DB_COL(jank_row, stacks),
};
static const struct db_map jank_map = DB_MAP(jank_row, jank_cols);

struct stack_row {
    struct bytes hash;
    const char *frames;
};
static const struct db_col stack_cols[] = {DB_COL(stack_row, hash), DB_COL(stack_row, frames)};
static const struct db_map stack_map = DB_MAP(stack_row, stack_cols);

struct dropped_row {
    int64_t dropped;
};
static const struct db_col dropped_cols[] = {DB_COL(dropped_row, dropped)};
static const struct db_map dropped_map = DB_MAP(dropped_row, dropped_cols);

static json_t *samples_json(struct bytes hashes)
{
    json_t *list = json_array();
    char hex[2 * HASH_BYTES + 1];

    for (size_t i = 0; i + HASH_BYTES <= hashes.len; i += HASH_BYTES) {
        to_hex(hashes.at + i, HASH_BYTES, hex);
        json_array_append_new(list, json_pack("{s:n, s:s}", "t_us", "stack", hex));
    }
    return list;
}

/* Columns as they are kept, {"t_us": […], "pss_kb": […]}, as series. */
static json_t *hardware_json(const json_t *kept)
{
    json_t *list = json_array(), *t_us = json_object_get(kept, "t_us");

    for (unsigned f = 0; f < HW_COUNT; f++) {
        const struct hardware_info *info = &hardware_info[f];
        json_t *value = json_object_get(kept, info->name);

        if (value)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:O, s:O}", "name", info->name,
                                                  "unit", info->unit, "group", info->group, "t_us",
                                                  t_us, "value", value));
    }
    return list;
}

/* [[by core] …] for each sample, as one series a core. */
static json_t *cores_json(const json_t *kept)
{
    const json_t *samples = json_object_get(kept, "core_khz");
    json_t *list = json_array(), *t_us = json_object_get(kept, "t_us");
    size_t cores = json_array_size(json_array_get(samples, 0));

    for (size_t c = 0; c < cores && c < MAX_CORES; c++) {
        json_t *khz = json_array();

        for (size_t i = 0; i < json_array_size(samples); i++) {
            json_t *v = json_array_get(json_array_get(samples, i), c);

            json_array_append_new(khz, v ? json_incref(v) : json_null());
        }
        json_array_append_new(list, json_pack("{s:I, s:i, s:O, s:o}", "core", (json_int_t)c,
                                              "cluster_max_khz", 0, "t_us", t_us, "khz", khz));
    }
    return list;
}

static json_t *jank_json(const struct jank_row *j, size_t index)
{
    json_t *kept = json_loads(j->hardware, 0, NULL);
    json_t *jank =
        json_pack("{s:I, s:I, s:I, s:I, s:s, s:b, s:b, s:b, s:s, s:s, s:s, s:o, s:o, s:o}", //
                  "index", (json_int_t)index, "start_us", j->start_us,                      //
                  "duration_us", j->duration_us, "level", j->level,                         //
                  "level_name", view_level_name[j->level & 3],                              //
                  "from_frames", j->from_frames, "perfdog_jank", j->perfdog_jank,           //
                  "perfdog_big", j->perfdog_big, "scene", j->scene, "cause", j->cause,      //
                  "evidence", j->evidence, "samples", samples_json(j->stacks),              //
                  "hardware", hardware_json(kept), "cores", cores_json(kept));

    json_decref(kept);
    return jank;
}

static json_t *janks_json(const struct db_rows *rows)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rows->n; i++)
        json_array_append_new(list, jank_json((const struct jank_row *)rows->at + i, i));
    return list;
}

static json_t *stacks_json(const struct db_rows *rows)
{
    json_t *list = json_array();
    char hex[2 * HASH_BYTES + 1];

    for (size_t i = 0; i < rows->n; i++) {
        const struct stack_row *row = (const struct stack_row *)rows->at + i;

        to_hex(row->hash.at, HASH_BYTES, hex);
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "hash", hex, "thread", "",
                                              "frames", json_loads(row->frames, 0, NULL)));
    }
    return list;
}

bool stored_janks(struct req *r, const unsigned char id[16], json_t **out, struct err *err)
{
    struct db_args args =
        DB_ARGS(db_i64(shard_of(r->who.app, id)), db_uuid(id), db_i64(r->who.app));
    struct dropped_row dropped;
    struct db_rows janks, stacks;
    char hex[2 * HASH_BYTES + 1];

    if (!db_one(r->db, Q_SESSION_GET_DROPPED, args, &dropped_map, r->mem, &dropped, err))
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no such session") : false;
    if (!db_all(r->db, Q_SESSION_GET_JANKS, args, &jank_map, r->mem, &janks, err) ||
        !db_all(r->db, Q_SESSION_GET_STACKS, args, &stack_map, r->mem, &stacks, err))
        return false;
    to_hex(id, HASH_BYTES, hex);
    *out = json_pack("{s:s, s:I, s:o, s:o}", "session_id", hex, "dropped", dropped.dropped, "janks",
                     janks_json(&janks), "stacks", stacks_json(&stacks));
    return *out || err_memory(err);
}
