#include "server/jobs/rollups/rollup_parts.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_ONE(name) +1
enum { FRAME_SUMS = 0 ROLLUP_COLUMNS(COUNT_ONE), MODEL_SUMS = 0 MODEL_COLUMNS(COUNT_ONE) };
#define SKETCH_CAP (16u * SKETCH_BUCKETS + 16)

struct line { /* one row of frame_rollup and what to add to it */
    const struct rollup_key *key;
    const struct rollup_delta *delta;
};

struct model_line { /* the same of model_rollup */
    const struct rollup_key *key;
    const struct contribution *delta;
};

struct change {
    struct line *lines;
    size_t n;
    struct model_line *models;
    size_t n_models;
};

static bool any_model(const struct contribution *c)
{
#define X(name)                                                                                    \
    if (c->model.name)                                                                             \
        return true;
    MODEL_COLUMNS(X)
#undef X
    return false;
}

static void add_lines(struct change *c, const struct rollup_key *key,
                      const struct contribution *delta)
{
    for (size_t i = 0; i < delta->n_slices; i++)
        c->lines[c->n++] = (struct line){key, &delta->slices[i]};
}

static void add_model_line(struct change *c, const struct rollup_key *key,
                           const struct contribution *delta)
{
    if (any_model(delta))
        c->models[c->n_models++] = (struct model_line){key, delta};
}

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_key(const void *va, const void *vb)
{
    const struct line *a = va, *b = vb;
    int order = compare_i64(a->key->build_id, b->key->build_id);

    if (!order)
        order = compare_i64(a->key->tier, b->key->tier);
    if (!order)
        order = strcmp(a->delta->scene, b->delta->scene);
    return order ? order : compare_i64(a->key->day, b->key->day);
}

static bool same_frame_key(const struct rollup_key *a, const struct rollup_key *b)
{
    return a->build_id == b->build_id && a->tier == b->tier && a->day == b->day;
}

static bool same_model_key(const struct rollup_key *a, const struct rollup_key *b)
{
    return a->build_id == b->build_id && a->model_id == b->model_id;
}

/* What frame_rollup and model_rollup have of it. */
static struct contribution frames_alone(const struct contribution *c)
{
    return (struct contribution){.model = c->model, .slices = c->slices, .n_slices = c->n_slices};
}

/* What to write: the difference where a key stayed, else out at the one and in at the other. */
static bool add_move(const struct rollup_move *m, struct arena *mem, struct change *out,
                     struct err *err)
{
    static const struct contribution nothing;
    const struct contribution before = frames_alone(&m->before), now = frames_alone(&m->now);
    bool frames_stay = same_frame_key(&m->was, &m->is),
         model_stays = same_model_key(&m->was, &m->is);
    struct contribution *diff = arena_alloc(mem, sizeof *diff);
    struct contribution *away = arena_alloc(mem, sizeof *away);

    if (!diff || !away)
        return err_full(err, "contributions");
    if (((frames_stay || model_stays) && !contribution_diff(&now, &before, mem, diff, err)) ||
        (!(frames_stay && model_stays) && !contribution_diff(&nothing, &before, mem, away, err)))
        return false;
    if (frames_stay) {
        add_lines(out, &m->is, diff);
    } else {
        add_lines(out, &m->is, &m->now);
        add_lines(out, &m->was, away);
    }
    if (model_stays) {
        add_model_line(out, &m->is, diff);
    } else {
        add_model_line(out, &m->is, &m->now);
        add_model_line(out, &m->was, away);
    }
    return true;
}

static void add_delta(struct rollup_delta *to, const struct rollup_delta *b)
{
#define X(name) to->name = (int64_t)((uint64_t)to->name + (uint64_t)b->name);
    ROLLUP_COLUMNS(X)
#undef X
    sketch_merge(&to->sketch, &b->sketch, 1);
}

/* One line a row: a statement must not meet the same row twice. */
static bool merge_equal(struct change *c, struct arena *mem)
{
    size_t n = 0;

    qsort(c->lines, c->n, sizeof *c->lines, by_key);
    for (size_t i = 0, end; i < c->n; i = end) {
        struct rollup_delta *sum;

        for (end = i + 1; end < c->n && by_key(&c->lines[i], &c->lines[end]) == 0;)
            end++;
        c->lines[n++] = c->lines[i];
        if (end == i + 1)
            continue;
        sum = arena_alloc(mem, sizeof *sum);
        if (!sum)
            return false;
        *sum = *c->lines[i].delta;
        for (size_t k = i + 1; k < end; k++)
            add_delta(sum, c->lines[k].delta);
        c->lines[n - 1].delta = sum;
    }
    c->n = n;
    return true;
}

static bool find_changes(const struct rollup_move *moves, size_t n, struct arena *mem,
                         struct change *out, struct err *err)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++)
        most += moves[i].now.n_slices + moves[i].before.n_slices;
    *out = (struct change){.lines = arena_array(mem, most, sizeof *out->lines),
                           .models = arena_array(mem, 2 * n, sizeof *out->models)};
    if (!out->lines || !out->models)
        return err_full(err, "contributions");
    for (size_t i = 0; i < n; i++)
        if (!add_move(&moves[i], mem, out, err))
            return false;
    return merge_equal(out, mem) || err_full(err, "contributions");
}

struct arrays { /* parameters of the rollup_frame_ statements */
    int64_t *build, *tier, *day, *sum[FRAME_SUMS];
    const char **scene;
    struct bytes *sketch;
};

static bool fill_arrays(const struct change *c, struct arena *mem, struct arrays *a)
{
    a->build = arena_array(mem, c->n, sizeof *a->build);
    a->tier = arena_array(mem, c->n, sizeof *a->tier);
    a->day = arena_array(mem, c->n, sizeof *a->day);
    a->scene = arena_array(mem, c->n, sizeof *a->scene);
    a->sketch = arena_array(mem, c->n, sizeof *a->sketch);
    for (size_t k = 0; k < FRAME_SUMS; k++)
        a->sum[k] = arena_array(mem, c->n, sizeof *a->sum[k]);
    if (arena_full(mem))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        const struct rollup_delta *d = c->lines[i].delta;
        size_t k = 0;

        a->build[i] = c->lines[i].key->build_id;
        a->tier[i] = c->lines[i].key->tier;
        a->day[i] = c->lines[i].key->day;
        a->scene[i] = d->scene;
#define X(name) a->sum[k++][i] = d->name;
        ROLLUP_COLUMNS(X)
#undef X
    }
    return true;
}

/* The stored sketch plus the difference, into mem. */
static bool sum_sketch(struct bytes stored, const struct sketch *delta, struct arena *mem,
                       struct bytes *out, struct err *err)
{
    struct sketch *sum = arena_alloc(mem, sizeof *sum);
    struct buf text;
    bool ok = sum != NULL;

    if (!ok)
        return err_full(err, "sketches");
    if (stored.len && !sketch_read(stored.at, stored.len, 1, sum, err))
        return false;
    sketch_merge(sum, delta, 1);
    buf_init(&text, SKETCH_CAP);
    sketch_write(sum, &text);
    ok = buf_ok(&text);
    if (ok)
        *out = (struct bytes){(unsigned char *)arena_dup(mem, (const char *)text.at, text.len),
                              text.len};
    buf_fini(&text);
    return (ok && out->at) || err_full(err, "sketches");
}

struct locked {
    int64_t n;
    struct bytes sketch;
};
static const struct db_col locked_cols[] = {DB_COL(locked, n), DB_COL(locked, sketch)};
static const struct db_map locked_map = DB_MAP(locked, locked_cols);

static bool sum_sketches(const struct change *c, const struct db_rows *rows, struct arena *mem,
                         struct arrays *a, struct err *err)
{
    const struct locked *row = rows->at;

    if (rows->n != c->n)
        return err_set(err, ERR_DB, "rollup rows vanished");
    for (size_t i = 0; i < c->n; i++)
        if (!sum_sketch(row[i].sketch, &c->lines[i].delta->sketch, mem, &a->sketch[i], err))
            return false;
    return true;
}

static bool add_frames(struct db *db, int64_t shard, const struct change *c, struct arena *mem,
                       struct err *err)
{
    struct db_rows rows;
    struct arrays a;

    if (!c->n)
        return true;
    if (!fill_arrays(c, mem, &a))
        return err_full(err, "rollups");

    struct db_arg arg[6 + FRAME_SUMS] = {
        db_i64(shard),           db_i64s(a.build, c->n), db_i64s(a.tier, c->n),
        db_texts(a.scene, c->n), db_i64s(a.day, c->n),
    };
    const struct db_args keys = {5, arg}, all = {6 + FRAME_SUMS, arg};

    if (!db_exec(db, Q_ROLLUP_FRAME_MAKE, keys, err) ||
        !db_all(db, Q_ROLLUP_FRAME_LOCK, keys, &locked_map, mem, &rows, err) ||
        !sum_sketches(c, &rows, mem, &a, err))
        return false;
    arg[5] = db_bytess(a.sketch, c->n);
    for (size_t k = 0; k < FRAME_SUMS; k++)
        arg[6 + k] = db_i64s(a.sum[k], c->n);
    return db_exec(db, Q_ROLLUP_FRAME_ADD, all, err);
}

static int by_model_key(const void *va, const void *vb)
{
    const struct model_line *a = va, *b = vb;
    int order = compare_i64(a->key->build_id, b->key->build_id);

    return order ? order : compare_i64(a->key->model_id, b->key->model_id);
}

static bool add_model(struct db *db, int64_t shard, const struct rollup_key *key,
                      const struct contribution *delta, struct err *err)
{
    struct db_arg arg[3 + MODEL_SUMS] = {db_i64(shard), db_i64(key->build_id),
                                         db_i64(key->model_id)};
    size_t k = 3;

#define X(name) arg[k++] = db_i64(delta->model.name);
    MODEL_COLUMNS(X)
#undef X
    return db_exec(db, Q_ROLLUP_MODEL_ADD, (struct db_args){3 + MODEL_SUMS, arg}, err);
}

bool rollup_apply(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                  struct arena *mem, struct err *err)
{
    struct rollup_installs installs;
    struct change c;

    if (!find_changes(moves, n, mem, &c, err) || !add_frames(db, shard, &c, mem, err))
        return false;
    qsort(c.models, c.n_models, sizeof *c.models, by_model_key);
    for (size_t i = 0; i < c.n_models; i++)
        if (!add_model(db, shard, c.models[i].key, c.models[i].delta, err))
            return false;
    return rollup_installs_apply(db, shard, moves, n, mem, &installs, err) &&
           rollup_metrics_apply(db, shard, moves, n, &installs, mem, err) &&
           rollup_cells_apply(db, shard, moves, n, mem, err);
}
