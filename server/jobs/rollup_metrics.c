#include "server/jobs/rollup.h"

#include <stdlib.h>
#include <string.h>

#define SUMS_CAP (64u * METRICS_N * METRIC_SUMS)
#define INSTALL_CAP (8u << 20)

static bool out_of_memory(struct err *err)
{
    return err_set(err, ERR_TOO_BIG, "rollup: out of memory");
}

static bool take_bytes(struct buf *text, struct arena *mem, struct bytes *out, struct err *err)
{
    bool ok = buf_ok(text);

    if (ok)
        *out = (struct bytes){(unsigned char *)arena_dup(mem, (const char *)text->at, text->len),
                              text->len};
    buf_fini(text);
    return (ok && out->at) || out_of_memory(err);
}

/* Installs ---------------------------------------------------------------------------------------
 * What a session tells of its install: its own rows, figures that alerts watch alone. */

struct install_change {
    const struct rollup_key *key;
    struct contribution delta; /* rows to add */
    struct contribution was, is;
};

/* Own rows of a contribution with the sums that count for an install. */
static bool install_rows(const struct contribution *from, struct arena *mem,
                         struct contribution *out)
{
    *out = (struct contribution){.rows = arena_array(mem, from->n_rows, sizeof *out->rows)};
    for (size_t i = 0; out->rows && i < from->n_rows; i++) {
        struct metric_row *to = &out->rows[out->n_rows];
        bool any = false;

        if (from->rows[i].arm != ARM_OWN)
            continue;
        *to = (struct metric_row){.scene = from->rows[i].scene};
        for (unsigned m = 0; m < METRICS_N; m++)
            for (unsigned k = 0; metric_info[m].watched && k <= SUM_EXPOSURE; k++)
                any |= (to->sum[m][k] = from->rows[i].sum[m][k]) != 0;
        out->n_rows += any;
    }
    return out->rows;
}

struct stored_sums {
    struct bytes sums;
};
static const struct db_col stored_cols[] = {DB_COL(stored_sums, sums)};
static const struct db_map stored_map = DB_MAP(stored_sums, stored_cols);

static struct db_args install_key(int64_t shard, const struct rollup_key *key, struct db_arg *v)
{
    v[0] = db_i64(shard);
    v[1] = db_i64(key->build_id);
    v[2] = db_i64(key->tier);
    v[3] = db_bytes(key->install.at, key->install.len);
    return (struct db_args){4, v};
}

/* was + delta = is, of one row of install_build. */
static bool change_install(struct db *db, int64_t shard, struct install_change *c,
                           struct arena *mem, struct err *err)
{
    static const struct contribution nothing;
    static const unsigned char none[1];
    struct db_arg v[5];
    struct db_args key = install_key(shard, c->key, v);
    struct stored_sums stored;
    struct contribution away;
    struct bytes sums = {0};
    struct buf text;

    if (!db_exec(db, Q_INSTALL_MAKE, key, err) ||
        !db_one(db, Q_INSTALL_LOCK, key, &stored_map, mem, &stored, err) ||
        !contribution_read(stored.sums.len ? stored.sums.at : none, stored.sums.len, mem, &c->was,
                           err) ||
        !contribution_diff(&nothing, &c->delta, mem, &away, err) ||
        !contribution_diff(&c->was, &away, mem, &c->is, err))
        return false;
    buf_init(&text, INSTALL_CAP);
    contribution_write(&c->is, &text);
    if (!take_bytes(&text, mem, &sums, err))
        return false;
    v[4] = db_bytes(sums.at, sums.len);
    return db_exec(db, Q_INSTALL_SET, (struct db_args){5, v}, err);
}

static bool same_install(const struct rollup_key *a, const struct rollup_key *b)
{
    return a->build_id == b->build_id && a->tier == b->tier && a->install.len == b->install.len &&
           (!a->install.len || memcmp(a->install.at, b->install.at, a->install.len) == 0);
}

static int by_install(const void *va, const void *vb)
{
    const struct rollup_key *a = ((const struct install_change *)va)->key;
    const struct rollup_key *b = ((const struct install_change *)vb)->key;

    if (a->build_id != b->build_id)
        return a->build_id < b->build_id ? -1 : 1;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;

    size_t n = a->install.len < b->install.len ? a->install.len : b->install.len;
    int order = memcmp(a->install.at, b->install.at, n);

    return order ? order : (a->install.len > b->install.len) - (a->install.len < b->install.len);
}

static size_t find_installs(const struct rollup_key *was, const struct contribution *before,
                            const struct rollup_key *is, const struct contribution *now,
                            struct arena *mem, struct install_change out[2], struct err *err)
{
    static const struct contribution nothing;
    struct contribution old, new;
    size_t n = 0;

    if (!install_rows(before, mem, &old) || !install_rows(now, mem, &new))
        return SIZE_MAX;
    if (same_install(was, is)) {
        out[n].key = is;
        if (!contribution_diff(&new, &old, mem, &out[n].delta, err))
            return SIZE_MAX;
        n += is->install.len && out[n].delta.n_rows;
    } else {
        out[n].key = is;
        out[n].delta = new;
        n += is->install.len && new.n_rows;
        out[n].key = was;
        if (!contribution_diff(&nothing, &old, mem, &out[n].delta, err))
            return SIZE_MAX;
        n += was->install.len && out[n].delta.n_rows;
    }
    qsort(out, n, sizeof *out, by_install);
    return n;
}

/* Metric rows ------------------------------------------------------------------------------------
 */

struct line {
    int64_t build, tier, installs;
    struct metric_row row; /* its build is not used */
};

struct lines {
    struct line *at;
    size_t n;
};

static int by_line(const void *va, const void *vb)
{
    const struct line *a = va, *b = vb;

    if (a->build != b->build)
        return a->build < b->build ? -1 : 1;
    if (a->row.arm != b->row.arm)
        return a->row.arm < b->row.arm ? -1 : 1;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    return strcmp(a->row.scene, b->row.scene);
}

static void add_line(struct lines *to, const struct rollup_key *key, const struct metric_row *row,
                     int sign)
{
    struct line *line = &to->at[to->n++];

    *line = (struct line){
        .build = row->build ? row->build : key->build_id, .tier = key->tier, .row = *row};
    for (unsigned m = 0; sign < 0 && m < METRICS_N; m++)
        for (unsigned k = 0; k < METRIC_SUMS; k++)
            line->row.sum[m][k] = (int64_t)(0 - (uint64_t)line->row.sum[m][k]);
}

/* Scenes that an install was not seen in before and now is, or the other way. */
static void add_install_lines(struct lines *to, const struct install_change *c)
{
    size_t i = 0, k = 0;

    while (i < c->is.n_rows || k < c->was.n_rows) {
        int order = i == c->is.n_rows    ? 1
                    : k == c->was.n_rows ? -1
                                         : metric_row_order(&c->is.rows[i], &c->was.rows[k]);

        if (order) {
            const struct metric_row *r = order < 0 ? &c->is.rows[i] : &c->was.rows[k];

            to->at[to->n++] = (struct line){.build = c->key->build_id,
                                            .tier = c->key->tier,
                                            .installs = order < 0 ? 1 : -1,
                                            .row = {.arm = ARM_OWN, .scene = r->scene}};
        }
        i += order <= 0;
        k += order >= 0;
    }
}

static bool nothing_in(const struct line *l)
{
    static const int64_t zero[METRICS_N][METRIC_SUMS];

    return !l->installs && memcmp(l->row.sum, zero, sizeof zero) == 0;
}

/* One line a row: a statement must not meet the same row twice. */
static void merge_equal(struct lines *lines)
{
    size_t n = 0;

    qsort(lines->at, lines->n, sizeof *lines->at, by_line);
    for (size_t i = 0; i < lines->n; i++) {
        if (!n || by_line(&lines->at[n - 1], &lines->at[i]) != 0) {
            lines->at[n++] = lines->at[i];
            continue;
        }
        lines->at[n - 1].installs += lines->at[i].installs;
        for (unsigned m = 0; m < METRICS_N; m++)
            for (unsigned k = 0; k < METRIC_SUMS; k++)
                lines->at[n - 1].row.sum[m][k] =
                    (int64_t)((uint64_t)lines->at[n - 1].row.sum[m][k] +
                              (uint64_t)lines->at[i].row.sum[m][k]);
    }
    lines->n = 0;
    for (size_t i = 0; i < n; i++)
        if (!nothing_in(&lines->at[i]))
            lines->at[lines->n++] = lines->at[i];
}

struct arrays {
    int64_t *build, *arm, *tier, *installs;
    const char **scene;
    struct bytes *sums;
};

static bool fill_arrays(const struct lines *l, struct arena *mem, struct arrays *a)
{
    a->build = arena_array(mem, l->n, sizeof *a->build);
    a->arm = arena_array(mem, l->n, sizeof *a->arm);
    a->tier = arena_array(mem, l->n, sizeof *a->tier);
    a->installs = arena_array(mem, l->n, sizeof *a->installs);
    a->scene = arena_array(mem, l->n, sizeof *a->scene);
    a->sums = arena_array(mem, l->n, sizeof *a->sums);
    if (arena_full(mem))
        return false;
    for (size_t i = 0; i < l->n; i++) {
        a->build[i] = l->at[i].build;
        a->arm[i] = l->at[i].row.arm;
        a->tier[i] = l->at[i].tier;
        a->installs[i] = l->at[i].installs;
        a->scene[i] = l->at[i].row.scene;
    }
    return true;
}

struct locked {
    int64_t n;
    struct bytes sums;
};
static const struct db_col locked_cols[] = {DB_COL(locked, n), DB_COL(locked, sums)};
static const struct db_map locked_map = DB_MAP(locked, locked_cols);

static bool sum_rows(struct lines *l, const struct db_rows *rows, struct arena *mem,
                     struct arrays *a, struct err *err)
{
    const struct locked *row = rows->at;

    if (rows->n != l->n)
        return err_set(err, ERR_DB, "rows of metrics vanished");
    for (size_t i = 0; i < l->n; i++) {
        struct buf text;

        if (!metric_sums_add(row[i].sums.at, row[i].sums.len, l->at[i].row.sum, err))
            return false;
        buf_init(&text, SUMS_CAP);
        metric_sums_write(l->at[i].row.sum, &text);
        if (!take_bytes(&text, mem, &a->sums[i], err))
            return false;
    }
    return true;
}

static bool write_lines(struct db *db, int64_t shard, struct lines *l, struct arena *mem,
                        struct err *err)
{
    struct db_rows rows;
    struct arrays a;

    if (!l->n)
        return true;
    if (!fill_arrays(l, mem, &a))
        return out_of_memory(err);

    const struct db_arg arg[7] = {
        db_i64(shard),           db_i64s(a.build, l->n),  db_i64s(a.arm, l->n),
        db_i64s(a.tier, l->n),   db_texts(a.scene, l->n), db_i64s(a.installs, l->n),
        db_bytess(a.sums, l->n),
    };
    const struct db_args keys = {5, arg}, all = {7, arg};

    return db_exec(db, Q_METRIC_MAKE, keys, err) &&
           db_all(db, Q_METRIC_LOCK, keys, &locked_map, mem, &rows, err) &&
           sum_rows(l, &rows, mem, &a, err) && db_exec(db, Q_METRIC_SET, all, err);
}

/* Cells ---------------------------------------------------------------------------------------- */

struct cell_lines {
    struct cell_line {
        const struct rollup_key *key;
        struct map_cell cell;
    } * at;
    size_t n;
};

static int by_cell(const void *va, const void *vb)
{
    const struct cell_line *a = va, *b = vb;

    if (a->key->build_id != b->key->build_id)
        return a->key->build_id < b->key->build_id ? -1 : 1;
    if (a->key->tier != b->key->tier)
        return a->key->tier < b->key->tier ? -1 : 1;
    return map_cell_order(&a->cell, &b->cell);
}

static void add_cells(struct cell_lines *to, const struct rollup_key *key,
                      const struct contribution *c)
{
    for (size_t i = 0; i < c->n_cells; i++)
        to->at[to->n++] = (struct cell_line){key, c->cells[i]};
}

enum { CELL_COLUMNS = 10 };

static bool write_cells(struct db *db, int64_t shard, struct cell_lines *l, struct arena *mem,
                        struct err *err)
{
    int64_t *column[CELL_COLUMNS];
    const char **scene = arena_array(mem, l->n, sizeof *scene);
    struct db_arg arg[1 + CELL_COLUMNS] = {db_i64(shard)};

    if (!l->n)
        return true;
    for (int k = 0; k < CELL_COLUMNS; k++)
        column[k] = arena_array(mem, l->n, sizeof *column[k]);
    if (arena_full(mem))
        return out_of_memory(err);
    qsort(l->at, l->n, sizeof *l->at, by_cell);
    for (size_t i = 0; i < l->n; i++) {
        const struct map_cell *c = &l->at[i].cell;
        const int64_t values[CELL_COLUMNS] = {
            l->at[i].key->build_id, l->at[i].key->tier, 0,          c->level, c->x, c->y, c->visits,
            c->janky_visits,        c->jank_ms,         c->dwell_ms};

        scene[i] = c->scene;
        for (int k = 0; k < CELL_COLUMNS; k++)
            column[k][i] = values[k];
    }
    for (int k = 0; k < CELL_COLUMNS; k++)
        arg[1 + k] = k == 2 ? db_texts(scene, l->n) : db_i64s(column[k], l->n);
    return db_exec(db, Q_CELL_ADD, (struct db_args){1 + CELL_COLUMNS, arg}, err);
}

/* All ------------------------------------------------------------------------------------------ */

static size_t most_lines(const struct contribution *before, const struct contribution *now,
                         const struct install_change *installs, size_t n)
{
    size_t most = before->n_rows + now->n_rows;

    for (size_t i = 0; i < n; i++)
        most += installs[i].was.n_rows + installs[i].is.n_rows;
    return most;
}

static bool apply_cells(struct db *db, int64_t shard, const struct rollup_key *was,
                        const struct contribution *before, const struct rollup_key *is,
                        const struct contribution *now, struct arena *mem, struct err *err)
{
    static const struct contribution nothing;
    struct cell_lines l = {.at = arena_array(mem, before->n_cells + now->n_cells, sizeof *l.at)};
    struct contribution delta;

    if (!before->n_cells && !now->n_cells)
        return true;
    if (!l.at)
        return out_of_memory(err);
    if (was->build_id == is->build_id && was->tier == is->tier) {
        if (!contribution_diff(now, before, mem, &delta, err))
            return false;
        add_cells(&l, is, &delta);
    } else {
        if (!contribution_diff(&nothing, before, mem, &delta, err))
            return false;
        add_cells(&l, is, now);
        add_cells(&l, was, &delta);
    }
    return write_cells(db, shard, &l, mem, err);
}

bool rollup_metrics_apply(struct db *db, int64_t shard, const struct rollup_key *was,
                          const struct contribution *before, const struct rollup_key *is,
                          const struct contribution *now, struct arena *mem, struct err *err)
{
    struct install_change installs[2];
    size_t n = find_installs(was, before, is, now, mem, installs, err);
    struct lines lines = {0};

    if (n == SIZE_MAX)
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        if (!change_install(db, shard, &installs[i], mem, err))
            return false;
    lines.at = arena_array(mem, most_lines(before, now, installs, n), sizeof *lines.at);
    if (!lines.at)
        return out_of_memory(err);
    for (size_t i = 0; i < now->n_rows; i++)
        add_line(&lines, is, &now->rows[i], 1);
    for (size_t i = 0; i < before->n_rows; i++)
        add_line(&lines, was, &before->rows[i], -1);
    for (size_t i = 0; i < n; i++)
        add_install_lines(&lines, &installs[i]);
    merge_equal(&lines);
    return write_lines(db, shard, &lines, mem, err) &&
           apply_cells(db, shard, was, before, is, now, mem, err);
}
