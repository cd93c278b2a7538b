#include "server/jobs/sessions/session_store.h"

#include "server/jobs/families/tally_store.h"
#include "server/jobs/quarantine.h"
#include "server/jobs/rollups/placement.h"
#include "server/jobs/sessions/posted_crashes.h"
#include "server/jobs/sessions/row_values.h"
#include "server/jobs/sessions/session_detail.h"
#include "server/jobs/sessions/session_events.h"
#include "stacks/paths.h"

#include <string.h>

#define MAX_REFUSALS (INVALID_COUNT + 4)
_Static_assert(MAX_REFUSALS <= QUARANTINE_REASONS, "a session's reasons fit into one statement");

/* Before -------------------------------------------------------------------------------------- */

static const struct db_col before_cols[] = {
    DB_COL(session_before, final),          DB_COL(session_before, day),
    DB_COL(session_before, build_id),       DB_COL(session_before, model_id),
    DB_COL(session_before, tier),           DB_COL(session_before, analysis_version),
    DB_COL(session_before, bounds_version), DB_COL(session_before, contribution),
    DB_COL(session_before, tally),          DB_COL(session_before, install_hash),
    DB_COL(session_before, files),
};
static const struct db_map before_map = DB_MAP(session_before, before_cols);

bool session_read_before(struct db *db, int64_t shard, const unsigned char id[16],
                         struct arena *mem, struct session_before *out, struct err *err)
{
    struct db_rows rows;

    if (!db_all(db, Q_SESSION_STORE_BEFORE, DB_ARGS(db_i64(shard), db_uuid(id)), &before_map, mem,
                &rows, err))
        return false;
    *out = (struct session_before){0};
    if (rows.n)
        *out = *(const struct session_before *)rows.at;
    out->exists = rows.n > 0;
    return true;
}

/* Names --------------------------------------------------------------------------------------- */

struct names {
    int64_t build_id, model_id, tier;
};
static const struct db_col names_cols[] = {
    DB_COL(names, build_id),
    DB_COL(names, model_id),
    DB_COL(names, tier),
};
static const struct db_map names_map = DB_MAP(names, names_cols);

static bool find_names(struct db *db, int64_t app, const struct part_header *h, struct arena *mem,
                       struct names *out, struct err *err)
{
    struct buf text;

    buf_init(&text, ROW_TEXT_CAP);
    session_clusters_write(h, &text);

    const char *clusters = row_text_take(&text, mem);

    if (!clusters)
        return rows_too_big(err);
    for (int i = 0; i < 3; i++) {
        if (!db_one(db, Q_SESSION_STORE_NAMES,
                    DB_ARGS(db_i64(app), db_text(h->platform), db_i64(row_i64(h->version_code)),
                            db_text(row_text(h->version_name)), db_text(row_text(h->build_id)),
                            db_text(row_text(h->manufacturer)), db_text(row_text(h->model)),
                            db_text(row_text(h->soc)), db_i64(((int64_t)h->ram_mb + 1023) / 1024),
                            db_text(row_text(h->gpu)), db_text(clusters),
                            db_i64(row_i32(h->screen_width_px)),
                            db_i64(row_i32(h->screen_height_px)),
                            db_i64(row_i32(h->refresh_millihertz))),
                    &names_map, mem, out, err))
            return false;
        if (out->build_id && out->model_id)
            return true;
    }
    return err_set(err, ERR_DB, "build or device model vanished while it was looked up");
}

/* The row ------------------------------------------------------------------------------------- */

static int64_t last_part_us(const struct stored_parts *parts)
{
    int64_t last = parts->at[0].received_us;

    for (size_t i = 1; i < parts->n; i++)
        if (parts->at[i].received_us > last)
            last = parts->at[i].received_us;
    return last;
}

struct row_texts {
    const char **scenes;
    size_t n_scenes;
    const char *invalid, *detail;
};

static bool row_texts(const struct session_change *c, struct arena *mem, struct row_texts *out)
{
    struct buf text;

    *out = (struct row_texts){.scenes = arena_array(mem, c->result.n_slices, sizeof *out->scenes)};
    for (size_t i = 1; out->scenes && i < c->result.n_slices; i++)
        out->scenes[out->n_scenes++] = c->result.slices[i].scene;
    buf_init(&text, ROW_TEXT_CAP);
    session_invalid_write(&c->session, &text);
    out->invalid = row_text_take(&text, mem);
    buf_init(&text, ROW_TEXT_CAP);
    session_detail_write(&c->session, &c->result, c->parts.n - c->used, &text);
    out->detail = row_text_take(&text, mem);
    return out->scenes && out->invalid && out->detail;
}

static bool store_row(struct db *db, const struct session_change *c, const struct rollup_key *key,
                      struct bytes contribution, struct bytes tally, struct arena *mem,
                      struct err *err)
{
    const struct session *s = &c->session;
    const struct session_result *r = &c->result;
    const struct slice *all = &r->slices[0];
    struct bytes install = c->parts.at[0].install_hash;
    struct row_texts text;

    if (!row_texts(c, mem, &text))
        return rows_too_big(err);
    return db_exec(
        db, Q_SESSION_STORE,
        DB_ARGS(
            db_i64(c->shard), db_uuid(c->id), db_i64(c->app), db_i64(key->day),
            db_i64(key->build_id), db_i64(key->model_id), db_i64(key->tier),
            db_bytes(install.at, install.len), db_text(c->final ? "final" : "open"),
            db_i64(s->header.wall_start_ms), db_i64(parts_first_us(&c->parts)),
            db_i64(last_part_us(&c->parts)), db_i64(ANALYSIS_VERSION), db_i64(BOUNDS_VERSION),
            db_i64((int64_t)s->n_parts), db_bool(s->ended), db_i64(row_i64(s->end_us)),
            db_i64(row_i32(s->header.environment)), db_bool(r->excluded), db_bool(r->from_summary),
            db_text(row_text(s->header.os_version)), db_text(row_text(s->header.sdk_version)),
            db_texts(text.scenes, text.n_scenes), db_i64(all->frames), db_i64(all->foreground_us),
            db_i64(slice_quantile_us(all, 0.50)), db_i64(slice_quantile_us(all, 0.90)),
            db_i64(slice_quantile_us(all, 0.95)), db_i64(slice_quantile_us(all, 0.99)),
            db_i64(all->frame_max_us), db_i64(all->frames ? all->frame_sum_us / all->frames : 0),
            db_i64(row_i32(all->janks[JANK_MINOR])), db_i64(row_i32(all->janks[JANK_NORMAL])),
            db_i64(row_i32(all->janks[JANK_SEVERE])), db_i64(all->jank_us),
            db_i64(row_i32(all->perfdog_janks)), db_i64(row_i32(all->perfdog_big_janks)),
            db_i64(all->missed_frames), db_bool(r->slow_session), db_i64(r->peak_memory_kb),
            db_i64(row_i32(r->peak_battery_millicelsius)), db_i64(r->throttled_us),
            db_text(text.invalid), db_text(text.detail),
            db_bytes(contribution.at, contribution.len), db_bool(r->has_crash),
            db_bool(r->has_feedback), db_i64((int64_t)c->used), db_bytes(tally.at, tally.len)),
        err);
}

/* Quarantine and queue ------------------------------------------------------------------------- */

/* Files of another install than the first file's: the session id was guessed or reused. */
static int64_t foreign_installs(const struct session_change *c)
{
    struct bytes first = c->parts.at[0].install_hash;
    int64_t n = 0;

    for (size_t i = 1; i < c->used; i++) {
        struct bytes b = c->parts.at[i].install_hash;

        n += b.len != first.len || (b.len && memcmp(b.at, first.at, b.len) != 0);
    }
    return n;
}

static bool store_quarantine(struct db *db, const struct session_change *c, int64_t day,
                             struct err *err)
{
    static const char *const more[] = {"superseded_file", "session_too_big", "janks_over_limit",
                                       "foreign_install"};
    const int64_t more_count[] = {
        (int64_t)c->session.n_superseded,
        (int64_t)(c->parts.n - c->used),
        (int64_t)c->result.n_events_dropped,
        foreign_installs(c),
    };
    const char *all[MAX_REFUSALS];
    struct refusal now[MAX_REFUSALS];
    size_t n = 0;

    for (size_t i = 0; i < MAX_REFUSALS; i++) {
        bool invalid = i < INVALID_COUNT;
        int64_t count = invalid ? c->session.invalid[i] : more_count[i - INVALID_COUNT];

        all[i] = invalid ? invalid_reason_name[i] : more[i - INVALID_COUNT];
        if (count)
            now[n++] = (struct refusal){.reason = all[i], .count = count};
    }
    if (!n && !c->before.exists)
        return true;
    return quarantine_set(db, c->app, "session", c->id, day, all, MAX_REFUSALS, now, n, err);
}

/* An open session is closed by a job of its own once no part came for the idle time. */
static bool store_finish(struct db *db, const struct session_change *c, int64_t day,
                         struct err *err)
{
    if (!c->final)
        return db_exec(db, Q_JOB_FINISH_SET,
                       DB_ARGS(db_i64(c->shard), db_uuid(c->id), db_i64(c->app), db_i64(day),
                               db_i64(last_part_us(&c->parts) + c->idle_us)),
                       err);
    if (c->before.exists && !c->before.final)
        return db_exec(db, Q_JOB_FINISH_DROP, DB_ARGS(db_i64(c->shard), db_uuid(c->id)), err);
    return true;
}

/* All ----------------------------------------------------------------------------------------- */

struct contributions {
    struct contribution before, now;
    struct bytes stored; /* of now */
};

static bool contributions(const struct session_change *c, struct arena *mem,
                          struct contributions *out, struct err *err)
{
    static const unsigned char nothing[1];
    struct bytes before = c->before.contribution;

    *out = (struct contributions){.stored = {nothing, 0}};
    return contribution_read(before.at ? before.at : nothing, before.len, mem, &out->before, err) &&
           (!c->final || contribution_of(&c->result, mem, &out->now, err));
}

/* What the session says against expectations, and the whole as bytes. */
static bool place(struct db *db, const struct session_change *c, const struct rollup_key *is,
                  struct arena *mem, struct contributions *sums, struct err *err)
{
    const struct placement_key key = {
        is->build_id, is->model_id, is->tier, parts_first_us(&c->parts), c->shard, is->install};
    struct buf text;

    if (!c->final)
        return true;
    if (!placement_set(db, &key, &sums->now, 1, mem, err))
        return false;
    buf_init(&text, ROW_TEXT_CAP);
    contribution_write(&sums->now, &text);
    sums->stored.len = text.len;
    sums->stored.at = (const unsigned char *)row_text_take(&text, mem);
    return sums->stored.at || rows_too_big(err);
}

/* What the counts of stacks are to hold of it from now on: nothing until it is final. */
static bool tally_bytes(struct db *db, const struct session_change *c, int64_t build_id,
                        struct arena *mem, struct bytes *out, struct err *err)
{
    static const unsigned char nothing[1];
    struct posted_crashes posted;
    struct tally tally;
    struct buf text;

    *out = (struct bytes){nothing, 0};
    if (!c->final)
        return true;
    if (!posted_crashes_of(db, c->app, c->shard, c->id, build_id, mem, &posted, err) ||
        !tally_of(&c->session, &c->result, posted.at, posted.n, path_pick, mem, &tally, err))
        return false;
    buf_init(&text, ROW_TEXT_CAP);
    tally_write(&tally, &text);
    out->len = text.len;
    out->at = (const unsigned char *)row_text_take(&text, mem);
    return out->at || rows_too_big(err);
}

static bool store_tally(struct db *db, const struct session_change *c, const struct rollup_key *was,
                        const struct rollup_key *is, struct bytes tally, struct arena *mem,
                        struct err *err)
{
    const struct session_before *b = &c->before;
    const struct tally_move move = {
        c->id,
        {b->tally, b->install_hash, was->build_id, was->model_id, was->tier, was->day},
        {tally, c->parts.at[0].install_hash, is->build_id, is->model_id, is->tier, is->day}};

    return tally_store(db, c->app, c->shard, &move, 1, mem, err);
}

bool session_store(struct db *db, const struct session_change *c, const struct stack_rows *stacks,
                   struct arena *mem, struct err *err)
{
    const struct session_before *b = &c->before;
    const struct rollup_key was = {b->build_id, b->model_id, b->tier, b->day, b->install_hash};
    struct contributions sums;
    struct bytes tally;
    struct names names;

    if (!contributions(c, mem, &sums, err) ||
        !find_names(db, c->app, &c->session.header, mem, &names, err))
        return false;

    /* the tier its model has now; when that changes, the job 'tiers' moves the session */
    const struct rollup_key is = {names.build_id, names.model_id, names.tier,
                                  parts_first_day(&c->parts), c->parts.at[0].install_hash};

    return place(db, c, &is, mem, &sums, err) &&
           stack_rows_store(db, c->app, &c->session.header, is.build_id, stacks, err) &&
           tally_bytes(db, c, is.build_id, mem, &tally, err) &&
           store_row(db, c, &is, sums.stored, tally, mem, err) &&
           session_events_store(db, c, is.day, is.build_id, mem, err) &&
           store_quarantine(db, c, is.day, err) && store_finish(db, c, is.day, err) &&
           rollup_apply(db, c->shard,
                        &(struct rollup_move){b->exists ? was : is, is, sums.before, sums.now}, 1,
                        mem, err) &&
           store_tally(db, c, &was, &is, tally, mem, err);
}

bool session_store_beyond(struct db *db, const struct session_change *c, struct err *err)
{
    static const char *const reason = "session_too_big";
    int64_t left_out = (int64_t)(c->parts.n - c->used);
    const struct refusal now = {reason, "", left_out};

    return db_exec(db, Q_SESSION_STORE_BEYOND,
                   DB_ARGS(db_i64(c->shard), db_uuid(c->id), db_i64(last_part_us(&c->parts)),
                           db_i64(left_out)),
                   err) &&
           quarantine_set(db, c->app, "session", c->id, c->before.day, &reason, 1, &now, 1, err) &&
           store_finish(db, c, c->before.day, err);
}
