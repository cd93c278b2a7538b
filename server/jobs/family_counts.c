#include "server/jobs/family_counts.h"

#include "stacks/distinct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATHERED_BYTES ((size_t)128 << 20)
#define CHUNK_BYTES ((size_t)160 << 20) /* rows as they were and as they become */
#define ROW_BYTES ((size_t)4 << 20)     /* two sketches at their fullest */
#define SKETCH_CAP ((size_t)1 << 20)    /* one, as it is stored */
#define ROWS_AT_ONCE 500                /* of one statement */
#define GROUP_BASE 64                   /* shard = app * 64 + g */

/* What families are counted by. X(name, column `dim`, by all builds too, counts sessions too, and
 * what sessions are counted by: once, for each scene, or not) */
#define DIMENSIONS(X)                                                                              \
    X(ALL, "all", true, true, ONCE)                                                                \
    X(TIER, "tier", true, true, ONCE)                                                              \
    X(SCENE, "scene", true, true, EACH_SCENE)                                                      \
    X(TIER_SCENE, "tier_scene", true, true, EACH_SCENE)                                            \
    X(MODEL, "model", true, true, ONCE)                                                            \
    X(OS, "os", true, true, ONCE)                                                                  \
    X(CAUSE, "cause", true, true, NEVER)                                                           \
    X(DAY, "day", true, true, ONCE)                                                                \
    X(GROUP, "g", false, false, ONCE)

enum dimension {
#define X(name, text, all_builds, distinct, of_sessions) DIM_##name,
    DIMENSIONS(X)
#undef X
        DIM_COUNT
};
enum of_sessions { ONCE, EACH_SCENE, NEVER };
static const struct {
    const char *text;
    bool all_builds, distinct;
    enum of_sessions of_sessions;
} dims[DIM_COUNT] = {
#define X(name, text, all_builds, distinct, of_sessions) {text, all_builds, distinct, of_sessions},
    DIMENSIONS(X)
#undef X
};

struct stack_entry {
    int kind;
    const unsigned char *hash;
    const struct count_facts *facts;
    const struct count_change *change;
};

struct family_entry {
    const unsigned char *family;
    int64_t build_id;
    enum dimension dim;
    const char *value;
    const struct count_change *change;
};

struct list {
    void *at;
    size_t n, size, item;
};

struct counts {
    int64_t app;
    struct arena *mem;   /* what is gathered */
    struct arena *chunk; /* rows that one statement writes */
    struct arena *row;   /* sketches of one of them */
    struct list stacks, families;
};

static bool out_of_memory(struct err *err)
{
    return err_set(err, ERR_TOO_BIG, "counts of stacks: out of memory");
}

struct counts *counts_new(int64_t app)
{
    struct counts *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->app = app;
    c->mem = arena_new(GATHERED_BYTES);
    c->chunk = arena_new(CHUNK_BYTES);
    c->row = arena_new(ROW_BYTES);
    c->stacks.item = sizeof(struct stack_entry);
    c->families.item = sizeof(struct family_entry);
    if (c->mem && c->chunk && c->row)
        return c;
    counts_free(c);
    return NULL;
}

void counts_free(struct counts *c)
{
    if (!c)
        return;
    arena_free(c->mem);
    arena_free(c->chunk);
    arena_free(c->row);
    free(c->stacks.at);
    free(c->families.at);
    free(c);
}

size_t counts_waiting(const struct counts *c)
{
    return c->stacks.n + c->families.n;
}

/* Room for one more at the end; NULL when out of memory. */
static void *list_add(struct list *l)
{
    if (l->n == l->size) {
        size_t size = l->size ? l->size * 2 : 1024;
        void *at = realloc(l->at, size * l->item);

        if (!at)
            return NULL;
        l->at = at;
        l->size = size;
    }
    return (char *)l->at + l->n++ * l->item;
}

static void *keep(struct arena *mem, const void *from, size_t n)
{
    return arena_dup(mem, from, n);
}

bool counts_add_stack(struct counts *c, int kind, const unsigned char hash[16],
                      const struct count_facts *facts, const struct count_change *change,
                      struct err *err)
{
    struct stack_entry *e = list_add(&c->stacks);

    if (!e)
        return out_of_memory(err);
    *e = (struct stack_entry){kind, keep(c->mem, hash, 16), keep(c->mem, facts, sizeof *facts),
                              keep(c->mem, change, sizeof *change)};
    return !arena_full(c->mem) || out_of_memory(err);
}

/* The day as "2024-05-06": H. Hinnant, "chrono-compatible low-level date algorithms",
 * civil_from_days. */
static const char *day_text(struct arena *mem, int64_t days_since_2000)
{
    int64_t z = days_since_2000 + 10957 + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    int64_t y = yoe + era * 400 + (m <= 2);
    char text[32];
    int n = snprintf(text, sizeof text, "%04d-%02d-%02d", (int)y, (int)m, (int)d);

    return arena_dup(mem, text, (size_t)n);
}

static const char *number_text(struct arena *mem, int64_t v, const char *more)
{
    char text[1100];
    int n =
        snprintf(text, sizeof text, "%lld%s%s", (long long)v, more ? " " : "", more ? more : "");

    return arena_dup(mem, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

static const char *value_of(struct arena *mem, enum dimension dim, const struct count_facts *f)
{
    switch (dim) {
    case DIM_TIER:
        return number_text(mem, f->tier, NULL);
    case DIM_SCENE:
        return f->scene;
    case DIM_TIER_SCENE:
        return number_text(mem, f->tier, f->scene);
    case DIM_MODEL:
        return number_text(mem, f->model_id, NULL);
    case DIM_OS:
        return f->os;
    case DIM_CAUSE:
        return f->cause;
    case DIM_DAY:
        return day_text(mem, f->day);
    case DIM_GROUP:
        return number_text(mem, f->shard % GROUP_BASE, NULL);
    case DIM_ALL:
    case DIM_COUNT:
        break;
    }
    return "";
}

const unsigned char family_all_sessions[FINGERPRINT_BYTES];

static bool add_dimension(struct counts *c, const unsigned char *family, enum dimension dim,
                          const struct count_facts *facts, const struct count_change *change,
                          struct err *err)
{
    const char *value = value_of(c->mem, dim, facts);

    for (int all = 0; all <= dims[dim].all_builds; all++) {
        struct family_entry *e = list_add(&c->families);

        if (!e || !value || !family || !change)
            return out_of_memory(err);
        *e = (struct family_entry){family, all ? 0 : facts->build_id, dim, value, change};
    }
    return true;
}

bool counts_add_family(struct counts *c, const unsigned char family[FINGERPRINT_BYTES],
                       const struct count_facts *facts, const struct count_change *change,
                       struct err *err)
{
    const unsigned char *key = keep(c->mem, family, FINGERPRINT_BYTES);
    const struct count_change *kept = keep(c->mem, change, sizeof *change);

    for (int dim = 0; dim < DIM_COUNT; dim++)
        if (!add_dimension(c, key, (enum dimension)dim, facts, kept, err))
            return false;
    return true;
}

bool counts_add_session(struct counts *c, const struct count_facts *facts, bool scene,
                        const struct count_change *change, struct err *err)
{
    const struct count_change *kept = keep(c->mem, change, sizeof *change);

    for (int dim = 0; dim < DIM_COUNT; dim++)
        if (dims[dim].of_sessions == (scene ? EACH_SCENE : ONCE) &&
            !add_dimension(c, family_all_sessions, (enum dimension)dim, facts, kept, err))
            return false;
    return true;
}

/* One row: what it holds, and what becomes of it ------------------------------------------------
 */

struct held {
    int64_t events, jank_us;
    struct bytes sessions, installs;
};
static const struct db_col held_cols[] = {
    DB_COL(held, events),
    DB_COL(held, jank_us),
    DB_COL(held, sessions),
    DB_COL(held, installs),
};
static const struct db_map held_map = DB_MAP(held, held_cols);

struct sum {
    int64_t events, jank_us, n_sessions, n_installs;
    struct bytes sessions, installs;
};

struct sums { /* while a row is made */
    struct distinct sessions, installs;
    int64_t events, jank_us;
};

static bool add_set(struct distinct *to, struct bytes whole, bool has, uint32_t cell, int sign,
                    struct err *err)
{
    if (whole.at)
        return !whole.len || distinct_read(whole.at, whole.len, sign, to, err);
    return !has || distinct_add(to, cell, sign, err);
}

static bool add_change(struct sums *s, const struct count_change *c, bool distinct, struct err *err)
{
    s->events += c->events;
    s->jank_us += c->jank_us;
    return !distinct ||
           (add_set(&s->sessions, c->sessions, true, c->session, c->sign, err) &&
            add_set(&s->installs, c->installs, c->has_install, c->install, c->sign, err));
}

/* An event has one session, so there are no more sessions than events. */
static int64_t estimate(const struct distinct *d, int64_t events)
{
    int64_t n = llround(distinct_estimate(d));

    return n < events ? n : events;
}

static bool store_set(const struct distinct *d, bool wanted, struct arena *mem, struct bytes *out,
                      struct err *err)
{
    struct buf text;
    bool ok;

    *out = (struct bytes){(const unsigned char *)"", 0};
    if (!wanted)
        return true;
    buf_init(&text, SKETCH_CAP);
    distinct_write(d, &text);
    ok = buf_ok(&text);
    if (ok)
        *out = (struct bytes){keep(mem, text.at, text.len), text.len};
    buf_fini(&text);
    return (ok && out->at) || out_of_memory(err);
}

static bool begin_row(struct counts *c, const struct held *have, bool distinct, struct sums *s,
                      struct err *err)
{
    arena_reset(c->row);
    *s = (struct sums){.events = have->events, .jank_us = have->jank_us};
    distinct_init(&s->sessions, c->row);
    distinct_init(&s->installs, c->row);
    return !distinct ||
           ((!have->sessions.len ||
             distinct_read(have->sessions.at, have->sessions.len, 1, &s->sessions, err)) &&
            (!have->installs.len ||
             distinct_read(have->installs.at, have->installs.len, 1, &s->installs, err)));
}

static bool end_row(struct counts *c, const struct sums *s, bool distinct, struct sum *out,
                    struct err *err)
{
    *out = (struct sum){.events = s->events, .jank_us = s->jank_us};
    if (s->events < 0)
        return err_set(err, ERR_INTERNAL, "a count of stacks would fall below nothing");
    if (distinct && s->events) {
        out->n_sessions = estimate(&s->sessions, s->events);
        out->n_installs = estimate(&s->installs, s->events);
    }
    return store_set(&s->sessions, distinct && s->events, c->chunk, &out->sessions, err) &&
           store_set(&s->installs, distinct && s->events, c->chunk, &out->installs, err);
}

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Columns of sums, in the order of the statements. */
struct sum_columns {
    int64_t *events, *jank_us, *n_sessions, *n_installs;
    struct bytes *sessions, *installs;
};

static bool new_sum_columns(struct arena *mem, size_t n, struct sum_columns *s)
{
    *s = (struct sum_columns){
        .events = arena_array(mem, n, sizeof *s->events),
        .jank_us = arena_array(mem, n, sizeof *s->jank_us),
        .n_sessions = arena_array(mem, n, sizeof *s->n_sessions),
        .n_installs = arena_array(mem, n, sizeof *s->n_installs),
        .sessions = arena_array(mem, n, sizeof *s->sessions),
        .installs = arena_array(mem, n, sizeof *s->installs),
    };
    return !arena_full(mem);
}

static void put_sum(struct sum_columns *s, size_t i, const struct sum *v)
{
    s->events[i] = v->events;
    s->jank_us[i] = v->jank_us;
    s->n_sessions[i] = v->n_sessions;
    s->n_installs[i] = v->n_installs;
    s->sessions[i] = v->sessions;
    s->installs[i] = v->installs;
}

/* Stacks --------------------------------------------------------------------------------------- */

static int by_stack(const void *va, const void *vb)
{
    const struct stack_entry *a = va, *b = vb;
    const struct count_facts *x = a->facts, *y = b->facts;
    int order = compare_i64(x->shard, y->shard);

    if (!order)
        order = memcmp(a->hash, b->hash, 16);
    if (!order)
        order = compare_i64(a->kind, b->kind);
    if (!order)
        order = compare_i64(x->build_id, y->build_id);
    if (!order)
        order = compare_i64(x->day, y->day);
    if (!order)
        order = compare_i64(x->tier, y->tier);
    if (!order)
        order = compare_i64(x->model_id, y->model_id);
    if (!order)
        order = strcmp(x->os, y->os);
    if (!order)
        order = strcmp(x->scene, y->scene);
    return order ? order : strcmp(x->cause, y->cause);
}

struct stack_columns {
    int64_t *shard, *kind, *build, *day, *tier, *model;
    struct bytes *hash;
    const char **os, **scene, **cause;
};

static bool new_stack_columns(struct arena *mem, size_t n, struct stack_columns *k)
{
    *k = (struct stack_columns){
        .shard = arena_array(mem, n, sizeof *k->shard),
        .kind = arena_array(mem, n, sizeof *k->kind),
        .build = arena_array(mem, n, sizeof *k->build),
        .day = arena_array(mem, n, sizeof *k->day),
        .tier = arena_array(mem, n, sizeof *k->tier),
        .model = arena_array(mem, n, sizeof *k->model),
        .hash = arena_array(mem, n, sizeof *k->hash),
        .os = arena_array(mem, n, sizeof *k->os),
        .scene = arena_array(mem, n, sizeof *k->scene),
        .cause = arena_array(mem, n, sizeof *k->cause),
    };
    return !arena_full(mem);
}

static void put_stack_key(struct stack_columns *k, size_t i, const struct stack_entry *e)
{
    k->shard[i] = e->facts->shard;
    k->kind[i] = e->kind;
    k->build[i] = e->facts->build_id;
    k->day[i] = e->facts->day;
    k->tier[i] = e->facts->tier;
    k->model[i] = e->facts->model_id;
    k->hash[i] = (struct bytes){e->hash, 16};
    k->os[i] = e->facts->os;
    k->scene[i] = e->facts->scene;
    k->cause[i] = e->facts->cause;
}

#define STACK_KEY_ARGS(k, n)                                                                       \
    db_i64s((k).shard, n), db_bytess((k).hash, n), db_i64s((k).kind, n), db_i64s((k).build, n),    \
        db_i64s((k).day, n), db_i64s((k).tier, n), db_i64s((k).model, n), db_texts((k).os, n),     \
        db_texts((k).scene, n), db_texts((k).cause, n)

/* Entries [from, to) are of `n` rows; group[i] is the first entry of row i. */
static bool write_stack_rows(struct counts *c, struct db *db, const size_t *group, size_t n,
                             struct err *err)
{
    const struct stack_entry *e = c->stacks.at;
    struct stack_columns k;
    struct sum_columns s;
    struct db_rows rows;

    if (!new_stack_columns(c->chunk, n, &k) || !new_sum_columns(c->chunk, n, &s))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        put_stack_key(&k, i, &e[group[i]]);
    if (!db_all(db, Q_STACK_COUNT_READ, DB_ARGS(STACK_KEY_ARGS(k, n)), &held_map, c->chunk, &rows,
                err))
        return false;
    if (rows.n != n)
        return err_set(err, ERR_DB, "counts of stacks vanished");
    for (size_t i = 0; i < n; i++) {
        struct sums sums;
        struct sum sum;

        if (!begin_row(c, (const struct held *)rows.at + i, true, &sums, err))
            return false;
        for (size_t at = group[i]; at < group[i + 1]; at++)
            if (!add_change(&sums, e[at].change, true, err))
                return false;
        if (!end_row(c, &sums, true, &sum, err))
            return false;
        put_sum(&s, i, &sum);
    }
    return db_exec(db, Q_STACK_COUNT_PUT,
                   DB_ARGS(STACK_KEY_ARGS(k, n), db_i64s(s.events, n), db_i64s(s.jank_us, n),
                           db_bytess(s.sessions, n), db_bytess(s.installs, n)),
                   err) &&
           db_exec(db, Q_STACK_COUNT_DROP, DB_ARGS(STACK_KEY_ARGS(k, n)), err);
}

/* stack_total and stack_family.events: sums by stack and build, in one statement each. */
static bool write_totals(struct counts *c, struct db *db, struct err *err)
{
    const struct stack_entry *e = c->stacks.at;
    size_t n = c->stacks.n;
    struct bytes *hash = arena_array(c->chunk, n, sizeof *hash);
    int64_t *kind = arena_array(c->chunk, n, sizeof *kind);
    int64_t *build = arena_array(c->chunk, n, sizeof *build);
    int64_t *events = arena_array(c->chunk, n, sizeof *events);
    int64_t *us = arena_array(c->chunk, n, sizeof *us);

    if (arena_full(c->chunk))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        hash[i] = (struct bytes){e[i].hash, 16};
        kind[i] = e[i].kind;
        build[i] = e[i].facts->build_id;
        events[i] = e[i].change->events;
        us[i] = e[i].change->jank_us;
    }

    const struct db_args all = DB_ARGS(db_i64(c->app), db_bytess(hash, n), db_i64s(kind, n),
                                       db_i64s(build, n), db_i64s(events, n), db_i64s(us, n));
    const struct db_args keys = DB_ARGS(db_i64(c->app), db_bytess(hash, n));
    const struct db_args sums =
        DB_ARGS(db_i64(c->app), db_bytess(hash, n), db_i64s(kind, n), db_i64s(events, n));

    return db_exec(db, Q_STACK_TOTAL_ADD, all, err) && db_exec(db, Q_STACK_TOTAL_DROP, keys, err) &&
           db_exec(db, Q_STACK_FAMILY_ADD, sums, err) &&
           db_exec(db, Q_STACK_FAMILY_DROP, keys, err);
}

/* Families ------------------------------------------------------------------------------------- */

static int by_family(const void *va, const void *vb)
{
    const struct family_entry *a = va, *b = vb;
    int order = memcmp(a->family, b->family, FINGERPRINT_BYTES);

    if (!order)
        order = compare_i64(a->build_id, b->build_id);
    if (!order)
        order = compare_i64(a->dim, b->dim);
    return order ? order : strcmp(a->value, b->value);
}

struct family_columns {
    struct bytes *family;
    int64_t *build;
    const char **dim, **value;
};

static bool new_family_columns(struct arena *mem, size_t n, struct family_columns *k)
{
    *k = (struct family_columns){
        .family = arena_array(mem, n, sizeof *k->family),
        .build = arena_array(mem, n, sizeof *k->build),
        .dim = arena_array(mem, n, sizeof *k->dim),
        .value = arena_array(mem, n, sizeof *k->value),
    };
    return !arena_full(mem);
}

#define FAMILY_KEY_ARGS(app, k, n)                                                                 \
    db_i64(app), db_bytess((k).family, n), db_i64s((k).build, n), db_texts((k).dim, n),            \
        db_texts((k).value, n)

static bool sum_family_rows(struct counts *c, const struct db_rows *rows, const size_t *group,
                            size_t n, struct sum_columns *s, struct err *err)
{
    const struct family_entry *e = c->families.at;

    for (size_t i = 0; i < n; i++) {
        bool distinct = dims[e[group[i]].dim].distinct;
        struct sums sums;
        struct sum sum;

        if (!begin_row(c, (const struct held *)rows->at + i, distinct, &sums, err))
            return false;
        for (size_t at = group[i]; at < group[i + 1]; at++)
            if (!add_change(&sums, e[at].change, distinct, err))
                return false;
        if (!end_row(c, &sums, distinct, &sum, err))
            return false;
        put_sum(s, i, &sum);
    }
    return true;
}

static bool write_family_rows(struct counts *c, struct db *db, const size_t *group, size_t n,
                              struct err *err)
{
    const struct family_entry *e = c->families.at;
    struct family_columns k;
    struct sum_columns s;
    struct db_rows rows;

    if (!new_family_columns(c->chunk, n, &k) || !new_sum_columns(c->chunk, n, &s))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        k.family[i] = (struct bytes){e[group[i]].family, FINGERPRINT_BYTES};
        k.build[i] = e[group[i]].build_id;
        k.dim[i] = dims[e[group[i]].dim].text;
        k.value[i] = e[group[i]].value;
    }
    if (!db_all(db, Q_FAMILY_COUNT_READ, DB_ARGS(FAMILY_KEY_ARGS(c->app, k, n)), &held_map,
                c->chunk, &rows, err))
        return false;
    if (rows.n != n)
        return err_set(err, ERR_DB, "counts of families vanished");
    return sum_family_rows(c, &rows, group, n, &s, err) &&
           db_exec(db, Q_FAMILY_COUNT_PUT,
                   DB_ARGS(FAMILY_KEY_ARGS(c->app, k, n), db_i64s(s.events, n),
                           db_i64s(s.jank_us, n), db_i64s(s.n_sessions, n),
                           db_i64s(s.n_installs, n), db_bytess(s.sessions, n),
                           db_bytess(s.installs, n)),
                   err) &&
           db_exec(db, Q_FAMILY_COUNT_DROP, DB_ARGS(FAMILY_KEY_ARGS(c->app, k, n)), err);
}

/* Both ----------------------------------------------------------------------------------------- */

typedef bool write_fn(struct counts *c, struct db *db, const size_t *group, size_t n,
                      struct err *err);

/* Sorts, and writes the runs of equal keys as rows, so many at once. */
static bool write_list(struct counts *c, struct db *db, struct list *l,
                       int (*order)(const void *, const void *), write_fn *write, struct err *err)
{
    size_t *group = arena_array(c->mem, ROWS_AT_ONCE + 1, sizeof *group), n = 0;
    const char *at = l->at;

    if (!group)
        return out_of_memory(err);
    if (l->n)
        qsort(l->at, l->n, l->item, order);
    for (size_t i = 0; i < l->n; i++) {
        if (i && order(at + (i - 1) * l->item, at + i * l->item) == 0)
            continue;
        if (n == ROWS_AT_ONCE) {
            group[n] = i;
            if (!write(c, db, group, n, err))
                return false;
            arena_reset(c->chunk);
            n = 0;
        }
        group[n++] = i;
    }
    group[n] = l->n;
    if (n && !write(c, db, group, n, err))
        return false;
    arena_reset(c->chunk);
    return true;
}

bool counts_flush(struct counts *c, struct db *db, struct err *err)
{
    bool ok = write_list(c, db, &c->stacks, by_stack, write_stack_rows, err) &&
              (!c->stacks.n || write_totals(c, db, err)) &&
              write_list(c, db, &c->families, by_family, write_family_rows, err);

    c->stacks.n = c->families.n = 0;
    arena_reset(c->chunk);
    arena_reset(c->mem);
    return ok;
}
