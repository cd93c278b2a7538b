#include "server/jobs/session_store.h"

#include "base/digest.h"
#include "profile/tally.h"
#include "profile/view.h"
#include "server/jobs/placement.h"
#include "server/jobs/session_detail.h"
#include "server/jobs/tally_store.h"
#include "stacks/paths.h"
#include "symbols/system_library.h"

#include <stdlib.h>
#include <string.h>

#define JSON_CAP (64u * 1024 * 1024)
#define WINDOW_SAMPLES_KEPT 32 /* about; 3 s of the SDK's burst are 15 */
#define MAX_REFUSALS (INVALID_COUNT + 4)

static int64_t i64(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static int64_t i32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* A finished text, moved into the arena; NULL if either ran out. */
static const char *take_text(struct buf *text, struct arena *mem)
{
    const char *copy =
        buf_ok(text) ? arena_dup(mem, text->at ? (const char *)text->at : "", text->len) : NULL;

    buf_fini(text);
    return copy;
}

static const char *copy_text(const char *text, struct arena *mem)
{
    return arena_dup(mem, or_empty(text), strlen(or_empty(text)));
}

static bool out_of_memory(struct err *err)
{
    return err_set(err, ERR_TOO_BIG, "the session's rows are too big together");
}

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

    buf_init(&text, JSON_CAP);
    session_clusters_write(h, &text);

    const char *clusters = take_text(&text, mem);

    if (!clusters)
        return out_of_memory(err);
    for (int i = 0; i < 3; i++) {
        if (!db_one(db, Q_SESSION_STORE_NAMES,
                    DB_ARGS(db_i64(app), db_text(h->platform), db_i64(i64(h->version_code)),
                            db_text(or_empty(h->version_name)), db_text(or_empty(h->build_id)),
                            db_text(or_empty(h->manufacturer)), db_text(or_empty(h->model)),
                            db_text(or_empty(h->soc)), db_i64(((int64_t)h->ram_mb + 1023) / 1024),
                            db_text(or_empty(h->gpu)), db_text(clusters),
                            db_i64(i32(h->screen_width_px)), db_i64(i32(h->screen_height_px)),
                            db_i64(i32(h->refresh_millihertz))),
                    &names_map, mem, out, err))
            return false;
        if (out->build_id && out->model_id)
            return true;
    }
    return err_set(err, ERR_DB, "build or device model vanished while it was looked up");
}

/* Stacks -------------------------------------------------------------------------------------- */

static int by_hash(const void *a, const void *b)
{
    const struct part_stack *const *x = a, *const *y = b;

    return memcmp((*x)->hash, (*y)->hash, sizeof(*x)->hash);
}

static bool new_stack_rows(const struct part *part, struct arena *mem, struct stack_rows *out)
{
    size_t n = part->n_stacks;

    *out = (struct stack_rows){
        .hash = arena_array(mem, n, sizeof *out->hash),
        .json = arena_array(mem, n, sizeof *out->json),
        .managed = arena_array(mem, n, sizeof *out->managed),
        .platform = copy_text(part->header.platform, mem),
        .version_name = copy_text(part->header.version_name, mem),
        .build_uid = copy_text(part->header.build_id, mem),
        .version_code = part->header.version_code,
        .debug_id = arena_array(mem, part->n_modules, sizeof *out->debug_id),
        .module = arena_array(mem, part->n_modules, sizeof *out->module),
        .system = arena_array(mem, part->n_modules, sizeof *out->system),
    };
    return !arena_full(mem);
}

static int by_debug_id(const void *a, const void *b)
{
    const struct part_module *const *x = a, *const *y = b;
    size_t n = (*x)->debug_id_len < (*y)->debug_id_len ? (*x)->debug_id_len : (*y)->debug_id_len;
    int order = memcmp((*x)->debug_id, (*y)->debug_id, n);

    if (order)
        return order;
    return ((*x)->debug_id_len > (*y)->debug_id_len) - ((*x)->debug_id_len < (*y)->debug_id_len);
}

static bool name_modules(const struct part *part, struct arena *mem, struct stack_rows *out)
{
    const struct part_module **used = arena_array(mem, part->n_modules, sizeof *used);
    bool *seen = arena_array(mem, part->n_modules, sizeof *seen);
    size_t n = 0;

    if (!used || !seen)
        return false;
    for (size_t i = 0; i < part->n_stacks; i++)
        for (size_t f = 0; f < part->stacks[i].n; f++) {
            const struct part_module *m = part->stacks[i].frames[f].module;

            if (!m || !m->debug_id_len || seen[m - part->modules])
                continue;
            seen[m - part->modules] = true;
            used[n++] = m;
        }
    qsort(used, n, sizeof *used, by_debug_id);
    for (size_t i = 0; i < n; i++) {
        char hex[2 * MAX_DEBUG_ID_BYTES + 1];

        if (i && by_debug_id(&used[i - 1], &used[i]) == 0)
            continue;
        to_hex(used[i]->debug_id, used[i]->debug_id_len, hex);
        out->debug_id[out->n_modules] = copy_text(hex, mem);
        out->module[out->n_modules] = copy_text(used[i]->name, mem);
        out->system[out->n_modules++] = system_library(NULL, or_empty(used[i]->name));
    }
    return !arena_full(mem);
}

bool stack_rows_of(const struct part *part, struct arena *mem, struct stack_rows *out,
                   struct err *err)
{
    const struct part_stack **sorted = arena_array(mem, part->n_stacks, sizeof *sorted);

    if (!new_stack_rows(part, mem, out) || !name_modules(part, mem, out))
        return out_of_memory(err);
    for (size_t i = 0; i < part->n_stacks; i++)
        sorted[i] = &part->stacks[i];
    qsort(sorted, part->n_stacks, sizeof *sorted, by_hash);
    for (size_t i = 0; i < part->n_stacks; i++) {
        struct buf text;

        if (i && by_hash(&sorted[i - 1], &sorted[i]) == 0)
            continue;
        buf_init(&text, JSON_CAP);
        view_stack_json(sorted[i], &text);
        out->json[out->n] = take_text(&text, mem);
        out->managed[out->n] = sorted[i]->managed;
        out->hash[out->n] = (struct bytes){
            (unsigned char *)arena_dup(mem, (const char *)sorted[i]->hash, sizeof sorted[i]->hash),
            sizeof sorted[i]->hash};
        out->n++;
    }
    return !arena_full(mem) || out_of_memory(err);
}

bool stack_rows_alike(const struct stack_rows *a, const struct stack_rows *b)
{
    return a->version_code == b->version_code && strcmp(a->platform, b->platform) == 0 &&
           strcmp(a->version_name, b->version_name) == 0 && strcmp(a->build_uid, b->build_uid) == 0;
}

struct joined_stack {
    struct bytes hash;
    const char *json;
    int64_t managed;
};
struct joined_module {
    const char *debug_id, *name;
    int64_t system;
};

static int by_joined_hash(const void *a, const void *b)
{
    const struct joined_stack *x = a, *y = b;

    return memcmp(x->hash.at, y->hash.at, x->hash.len);
}

static int by_joined_id(const void *a, const void *b)
{
    const struct joined_module *x = a, *y = b;

    return strcmp(x->debug_id, y->debug_id);
}

static void put_joined_stacks(struct joined_stack *list, size_t n, struct stack_rows *out)
{
    qsort(list, n, sizeof *list, by_joined_hash);
    for (size_t i = 0; i < n; i++) {
        if (i && by_joined_hash(&list[i - 1], &list[i]) == 0)
            continue;
        out->hash[out->n] = list[i].hash;
        out->json[out->n] = list[i].json;
        out->managed[out->n++] = list[i].managed;
    }
}

static void put_joined_modules(struct joined_module *list, size_t n, struct stack_rows *out)
{
    qsort(list, n, sizeof *list, by_joined_id);
    for (size_t i = 0; i < n; i++) {
        if (i && by_joined_id(&list[i - 1], &list[i]) == 0)
            continue;
        out->debug_id[out->n_modules] = list[i].debug_id;
        out->module[out->n_modules] = list[i].name;
        out->system[out->n_modules++] = list[i].system;
    }
}

static bool join_rows(const struct stack_rows *const *rows, size_t n, struct arena *mem,
                      struct stack_rows *out)
{
    size_t stacks = 0, modules = 0, s = 0, m = 0;

    for (size_t i = 0; i < n; i++) {
        stacks += rows[i]->n;
        modules += rows[i]->n_modules;
    }

    struct joined_stack *stack = arena_array(mem, stacks, sizeof *stack);
    struct joined_module *module = arena_array(mem, modules, sizeof *module);

    *out = *rows[0];
    out->hash = arena_array(mem, stacks, sizeof *out->hash);
    out->json = arena_array(mem, stacks, sizeof *out->json);
    out->managed = arena_array(mem, stacks, sizeof *out->managed);
    out->debug_id = arena_array(mem, modules, sizeof *out->debug_id);
    out->module = arena_array(mem, modules, sizeof *out->module);
    out->system = arena_array(mem, modules, sizeof *out->system);
    out->n = out->n_modules = 0;
    if (arena_full(mem))
        return false;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < rows[i]->n; k++)
            stack[s++] =
                (struct joined_stack){rows[i]->hash[k], rows[i]->json[k], rows[i]->managed[k]};
        for (size_t k = 0; k < rows[i]->n_modules; k++)
            module[m++] = (struct joined_module){rows[i]->debug_id[k], rows[i]->module[k],
                                                 rows[i]->system[k]};
    }
    put_joined_stacks(stack, s, out);
    put_joined_modules(module, m, out);
    return true;
}

bool stack_rows_join(const struct stack_rows *const *rows, size_t n, struct arena *mem,
                     struct stack_rows *out, struct err *err)
{
    *out = (struct stack_rows){0};
    if (n == 1)
        *out = *rows[0];
    return n < 2 || join_rows(rows, n, mem, out) || out_of_memory(err);
}

/* Whether the session's build is the one the part's managed stacks belong to. */
static bool same_build(const struct stack_rows *s, const struct part_header *h)
{
    return s->version_code == h->version_code && strcmp(s->platform, or_empty(h->platform)) == 0 &&
           strcmp(s->version_name, or_empty(h->version_name)) == 0 &&
           strcmp(s->build_uid, or_empty(h->build_id)) == 0;
}

static bool store_stacks(struct db *db, const struct session_change *c, int64_t build_id,
                         const struct stack_rows *s, struct err *err)
{
    if (!s->n)
        return true;

    bool own = same_build(s, &c->session.header);

    return db_exec(db, Q_SESSION_STORE_STACKS,
                   DB_ARGS(db_i64(c->app), db_bytess(s->hash, s->n), db_texts(s->json, s->n),
                           db_i64s(s->managed, s->n), own ? db_i64(build_id) : db_null()),
                   err) &&
           (!own || !s->n_modules ||
            db_exec(db, Q_SESSION_STORE_NEEDS,
                    DB_ARGS(db_i64(build_id), db_texts(s->debug_id, s->n_modules),
                            db_texts(s->module, s->n_modules), db_i64s(s->system, s->n_modules)),
                    err));
}

/* Janks, crashes, feedback --------------------------------------------------------------------- */

struct jank_rows {
    int64_t *start, *duration, *level, *flags;
    const char **scene, **cause, **evidence, **hardware;
    struct bytes *stacks;
};

static bool new_jank_rows(size_t n, struct arena *mem, struct jank_rows *out)
{
    *out = (struct jank_rows){
        .start = arena_array(mem, n, sizeof *out->start),
        .duration = arena_array(mem, n, sizeof *out->duration),
        .level = arena_array(mem, n, sizeof *out->level),
        .flags = arena_array(mem, n, sizeof *out->flags),
        .scene = arena_array(mem, n, sizeof *out->scene),
        .cause = arena_array(mem, n, sizeof *out->cause),
        .evidence = arena_array(mem, n, sizeof *out->evidence),
        .hardware = arena_array(mem, n, sizeof *out->hardware),
        .stacks = arena_array(mem, n, sizeof *out->stacks),
    };
    return !arena_full(mem);
}

static struct bytes sample_hashes(const struct jank_event *e, struct arena *mem)
{
    unsigned char *at = arena_array(mem, e->n_samples + 1, sizeof e->samples->stack->hash);
    size_t n = 0;

    for (size_t i = 0; at && i < e->n_samples; i++) {
        if (!e->samples[i].stack)
            continue;
        memcpy(at + n, e->samples[i].stack->hash, sizeof e->samples[i].stack->hash);
        n += sizeof e->samples[i].stack->hash;
    }
    return (struct bytes){at, n};
}

/* The samples of a jank's window that are kept: all, or evenly spread ones if there are more. */
struct window {
    const struct hardware_sample *at;
    size_t n, step;
};

static void put_field(const struct window *w, enum hardware_field f, struct buf *out)
{
    uint32_t seen = 0;
    bool first = true;

    for (size_t i = 0; i < w->n; i += w->step)
        seen |= w->at[i].present | w->at[i].invalid;
    if (!(seen >> f & 1))
        return;
    view_key(out, hardware_info[f].name);
    buf_byte(out, '[');
    for (size_t i = 0; i < w->n; i += w->step) {
        view_comma(out, &first);
        if (hardware_has(&w->at[i], f))
            buf_i64(out, w->at[i].value[f]);
        else
            buf_text(out, "null");
    }
    buf_byte(out, ']');
}

static void put_cores(const struct hardware_sample *h, struct buf *out)
{
    buf_byte(out, '[');
    for (unsigned c = 0; c < h->n_cores; c++) {
        if (c)
            buf_byte(out, ',');
        if (h->invalid_cores >> c & 1)
            buf_text(out, "null");
        else
            buf_i64(out, h->core_khz[c]);
    }
    buf_byte(out, ']');
}

/* {"t_us": […], "core_khz": [[by core] …], field: [… or null] …}: columns, since a row of the table
 * below 2 KB is stored without compression, which would cost more than the rest of its insert. */
static const char *hardware_window(const struct session *s, const struct jank_event *e,
                                   struct arena *mem)
{
    size_t n = e->hardware_to - e->hardware_from;
    const struct window w = {s->hardware + e->hardware_from, n, 1 + n / (WINDOW_SAMPLES_KEPT + 1)};
    bool first = true;
    struct buf text;

    buf_init(&text, JSON_CAP);
    buf_text(&text, "{\"t_us\":[");
    for (size_t i = 0; i < n; i += w.step) {
        view_comma(&text, &first);
        buf_i64(&text, i64(w.at[i].t_us));
    }
    buf_text(&text, "],\"core_khz\":[");
    first = true;
    for (size_t i = 0; i < n; i += w.step) {
        view_comma(&text, &first);
        put_cores(&w.at[i], &text);
    }
    buf_byte(&text, ']');
    for (unsigned f = 0; f < HW_COUNT; f++)
        put_field(&w, (enum hardware_field)f, &text);
    buf_byte(&text, '}');
    return take_text(&text, mem);
}

static void put_jank(const struct session *s, const struct jank_event *e, struct arena *mem,
                     struct jank_rows *r, size_t i)
{
    r->start[i] = i64(e->start_us);
    r->duration[i] = i64(e->duration_us);
    r->level[i] = e->level;
    r->flags[i] = e->from_frames | e->perfdog_jank << 1 | e->perfdog_big << 2;
    r->scene[i] = e->scene < s->n_scenes ? or_empty(s->scenes[e->scene].key) : "";
    r->cause[i] = jank_cause_name[e->cause];
    r->evidence[i] = or_empty(e->evidence);
    r->hardware[i] = hardware_window(s, e, mem);
    r->stacks[i] = sample_hashes(e, mem);
}

static bool store_janks(struct db *db, const struct session_change *c, int64_t day,
                        int64_t build_id, struct arena *mem, struct err *err)
{
    size_t n = c->result.n_events;
    struct jank_rows r;

    if (!n)
        return true;
    if (!new_jank_rows(n, mem, &r))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        put_jank(&c->session, &c->result.events[i], mem, &r, i);
    if (arena_full(mem))
        return out_of_memory(err);
    return db_exec(db, Q_SESSION_STORE_JANKS,
                   DB_ARGS(db_i64(day), db_i64(c->shard), db_uuid(c->id), db_i64(c->app),
                           db_i64(build_id), db_i64s(r.start, n), db_i64s(r.duration, n),
                           db_i64s(r.level, n), db_i64s(r.flags, n), db_texts(r.scene, n),
                           db_texts(r.cause, n), db_texts(r.evidence, n), db_bytess(r.stacks, n),
                           db_texts(r.hardware, n)),
                   err);
}

/* An id from what it says: the same thing told again is the same row. */
static struct bytes content_id(struct buf *text, struct arena *mem)
{
    unsigned char *id = arena_alloc(mem, SHA256_BYTES);

    if (id && buf_ok(text))
        sha256(text->at, text->len, id);
    buf_fini(text);
    return (struct bytes){id, 16};
}

static struct bytes crash_id(const struct part_crash *c, struct arena *mem)
{
    struct buf text;

    buf_init(&text, JSON_CAP);
    buf_varint(&text, c->t_us);
    buf_varint(&text, c->signal);
    buf_text(&text, or_empty(c->reason));
    if (c->stack)
        buf_put(&text, c->stack->hash, sizeof c->stack->hash);
    return content_id(&text, mem);
}

static const char *stack_text(const struct part_stack *stack, struct arena *mem)
{
    struct buf text;

    if (!stack)
        return "{\"frames\":[]}";
    buf_init(&text, JSON_CAP);
    view_stack_json(stack, &text);
    return take_text(&text, mem);
}

static bool store_crashes(struct db *db, const struct session_change *c, int64_t day,
                          struct arena *mem, struct err *err)
{
    const struct session *s = &c->session;
    size_t n = s->n_crashes;
    struct bytes *id = arena_array(mem, n, sizeof *id);
    int64_t *t = arena_array(mem, n, sizeof *t), *sig = arena_array(mem, n, sizeof *sig);
    const char **reason = arena_array(mem, n, sizeof *reason);
    const char **stack = arena_array(mem, n, sizeof *stack);

    if (!n)
        return true;
    for (size_t i = 0; i < n && !arena_full(mem); i++) {
        id[i] = crash_id(&s->crashes[i], mem);
        t[i] = i64(s->crashes[i].t_us);
        sig[i] = i32(s->crashes[i].signal);
        reason[i] = or_empty(s->crashes[i].reason);
        stack[i] = stack_text(s->crashes[i].stack, mem);
    }
    if (arena_full(mem))
        return out_of_memory(err);
    return db_exec(db, Q_SESSION_STORE_CRASHES,
                   DB_ARGS(db_i64(day), db_i64(c->shard), db_uuid(c->id), db_i64(c->app),
                           db_uuids(id, n), db_i64s(t, n), db_i64s(sig, n), db_texts(reason, n),
                           db_texts(stack, n)),
                   err);
}

static struct bytes feedback_id(const struct part_feedback *f, struct arena *mem)
{
    struct buf text;

    buf_init(&text, JSON_CAP);
    buf_varint(&text, f->t_us);
    buf_text(&text, or_empty(f->category));
    buf_byte(&text, 0);
    buf_text(&text, or_empty(f->text));
    return content_id(&text, mem);
}

static bool store_feedback(struct db *db, const struct session_change *c, int64_t day,
                           struct arena *mem, struct err *err)
{
    const struct session *s = &c->session;
    size_t n = s->n_feedback;
    struct bytes *id = arena_array(mem, n, sizeof *id);
    int64_t *t = arena_array(mem, n, sizeof *t);
    const char **category = arena_array(mem, n, sizeof *category);
    const char **body = arena_array(mem, n, sizeof *body);

    if (!n)
        return true;
    for (size_t i = 0; i < n && !arena_full(mem); i++) {
        id[i] = feedback_id(&s->feedback[i], mem);
        t[i] = i64(s->feedback[i].t_us);
        category[i] = or_empty(s->feedback[i].category);
        body[i] = or_empty(s->feedback[i].text);
    }
    if (arena_full(mem))
        return out_of_memory(err);
    return db_exec(db, Q_SESSION_STORE_FEEDBACK,
                   DB_ARGS(db_i64(day), db_i64(c->shard), db_uuid(c->id), db_i64(c->app),
                           db_uuids(id, n), db_i64s(t, n), db_texts(category, n),
                           db_texts(body, n)),
                   err);
}

static bool clear_events(struct db *db, const struct session_change *c, struct err *err)
{
    struct db_args old = DB_ARGS(db_i64(c->before.day), db_i64(c->shard), db_uuid(c->id));

    return !c->before.exists || (db_exec(db, Q_SESSION_STORE_JANKS_CLEAR, old, err) &&
                                 db_exec(db, Q_SESSION_STORE_CRASHES_CLEAR, old, err) &&
                                 db_exec(db, Q_SESSION_STORE_FEEDBACK_CLEAR, old, err));
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
    buf_init(&text, JSON_CAP);
    session_invalid_write(&c->session, &text);
    out->invalid = take_text(&text, mem);
    buf_init(&text, JSON_CAP);
    session_detail_write(&c->session, &c->result, c->parts.n - c->used, &text);
    out->detail = take_text(&text, mem);
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
        return out_of_memory(err);
    return db_exec(
        db, Q_SESSION_STORE,
        DB_ARGS(db_i64(c->shard), db_uuid(c->id), db_i64(c->app), db_i64(key->day),
                db_i64(key->build_id), db_i64(key->model_id), db_i64(key->tier),
                db_bytes(install.at, install.len), db_text(c->final ? "final" : "open"),
                db_i64(s->header.wall_start_ms), db_i64(parts_first_us(&c->parts)),
                db_i64(last_part_us(&c->parts)), db_i64(ANALYSIS_VERSION), db_i64(BOUNDS_VERSION),
                db_i64((int64_t)s->n_parts), db_bool(s->ended), db_i64(i64(s->end_us)),
                db_i64(i32(s->header.environment)), db_bool(r->excluded), db_bool(r->from_summary),
                db_text(or_empty(s->header.os_version)), db_text(or_empty(s->header.sdk_version)),
                db_texts(text.scenes, text.n_scenes), db_i64(all->frames),
                db_i64(all->foreground_us), db_i64(slice_quantile_us(all, 0.50)),
                db_i64(slice_quantile_us(all, 0.90)), db_i64(slice_quantile_us(all, 0.95)),
                db_i64(slice_quantile_us(all, 0.99)), db_i64(all->frame_max_us),
                db_i64(all->frames ? all->frame_sum_us / all->frames : 0),
                db_i64(i32(all->janks[JANK_MINOR])), db_i64(i32(all->janks[JANK_NORMAL])),
                db_i64(i32(all->janks[JANK_SEVERE])), db_i64(all->jank_us),
                db_i64(i32(all->perfdog_janks)), db_i64(i32(all->perfdog_big_janks)),
                db_i64(all->missed_frames), db_bool(r->slow_session), db_i64(r->peak_memory_kb),
                db_i64(i32(r->peak_battery_millicelsius)), db_i64(r->throttled_us),
                db_text(text.invalid), db_text(text.detail),
                db_bytes(contribution.at, contribution.len), db_bool(r->has_crash),
                db_bool(r->has_feedback), db_i64((int64_t)c->used), db_bytes(tally.at, tally.len)),
        err);
}

/* Quarantine and queue ------------------------------------------------------------------------- */

bool quarantine_set(struct db *db, int64_t app, const char *source, const unsigned char ref[16],
                    int64_t day, const char *const *all, size_t n_all, const struct refusal *now,
                    size_t n_now, struct err *err)
{
    const char *reason[MAX_REFUSALS], *detail[MAX_REFUSALS];
    int64_t count[MAX_REFUSALS];

    if (n_now > MAX_REFUSALS)
        return err_set(err, ERR_INTERNAL, "quarantine: %zu reasons at once", n_now);
    for (size_t i = 0; i < n_now; i++) {
        reason[i] = now[i].reason;
        detail[i] = or_empty(now[i].detail);
        count[i] = now[i].count;
    }
    return db_exec(db, Q_QUARANTINE_SET,
                   DB_ARGS(db_i64(app), db_text(source), db_uuid(ref), db_i64(day),
                           db_texts(all, n_all), db_texts(reason, n_now), db_i64s(count, n_now),
                           db_texts(detail, n_now)),
                   err);
}

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
    if (!placement_set(db, &key, &sums->now, mem, err))
        return false;
    buf_init(&text, JSON_CAP);
    contribution_write(&sums->now, &text);
    sums->stored.len = text.len;
    sums->stored.at = (const unsigned char *)take_text(&text, mem);
    return sums->stored.at || out_of_memory(err);
}

/* What the counts of stacks are to hold of it from now on: nothing until it is final. */
static bool tally_bytes(const struct session_change *c, struct arena *mem, struct bytes *out,
                        struct err *err)
{
    static const unsigned char nothing[1];
    struct tally tally;
    struct buf text;

    *out = (struct bytes){nothing, 0};
    if (!c->final)
        return true;
    if (!tally_of(&c->session, &c->result, path_pick, mem, &tally, err))
        return false;
    buf_init(&text, JSON_CAP);
    tally_write(&tally, &text);
    out->len = text.len;
    out->at = (const unsigned char *)take_text(&text, mem);
    return out->at || out_of_memory(err);
}

static bool store_tally(struct db *db, const struct session_change *c, const struct rollup_key *was,
                        const struct rollup_key *is, struct bytes tally, struct err *err)
{
    const struct session_before *b = &c->before;
    const struct tally_at before = {b->tally,      b->install_hash, was->build_id,
                                    was->model_id, was->tier,       was->day};
    const struct tally_at now = {
        tally, c->parts.at[0].install_hash, is->build_id, is->model_id, is->tier, is->day};

    return tally_store(db, c->app, c->shard, c->id, &before, &now, err);
}

bool session_store(struct db *db, const struct session_change *c, const struct stack_rows *stacks,
                   struct arena *mem, struct err *err)
{
    const struct session_before *b = &c->before;
    const struct rollup_key was = {b->build_id, b->model_id, b->tier, b->day, b->install_hash};
    struct contributions sums;
    struct bytes tally;
    struct names names;

    if (!contributions(c, mem, &sums, err) || !tally_bytes(c, mem, &tally, err) ||
        !find_names(db, c->app, &c->session.header, mem, &names, err))
        return false;

    /* the tier its model has now; when that changes, the job 'tiers' moves the session */
    const struct rollup_key is = {names.build_id, names.model_id, names.tier,
                                  parts_first_day(&c->parts), c->parts.at[0].install_hash};

    return place(db, c, &is, mem, &sums, err) && store_stacks(db, c, is.build_id, stacks, err) &&
           store_row(db, c, &is, sums.stored, tally, mem, err) && clear_events(db, c, err) &&
           store_janks(db, c, is.day, is.build_id, mem, err) &&
           store_crashes(db, c, is.day, mem, err) && store_feedback(db, c, is.day, mem, err) &&
           store_quarantine(db, c, is.day, err) && store_finish(db, c, is.day, err) &&
           rollup_apply(db, c->shard, b->exists ? &was : &is, &sums.before, &is, &sums.now, mem,
                        err) &&
           store_tally(db, c, &was, &is, tally, err);
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
