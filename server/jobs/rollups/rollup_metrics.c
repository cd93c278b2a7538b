#include "server/jobs/rollups/rollup.h"

#include <stdlib.h>
#include <string.h>

#define SUMS_CAP (64u * METRICS_N * METRIC_SUMS)
#define INSTALL_CAP (8u << 20)

static bool out_of_memory(struct err *err)
{
    return err_full(err, "rollups");
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

struct installs {
    struct install_change *at;
    size_t n;
};

struct install_columns {
    int64_t *build, *tier;
    struct bytes *install, *sums;
};

static bool install_columns(const struct installs *c, struct arena *mem,
                            struct install_columns *out)
{
    *out = (struct install_columns){
        .build = arena_array(mem, c->n, sizeof *out->build),
        .tier = arena_array(mem, c->n, sizeof *out->tier),
        .install = arena_array(mem, c->n, sizeof *out->install),
        .sums = arena_array(mem, c->n, sizeof *out->sums),
    };
    if (arena_full(mem))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        out->build[i] = c->at[i].key->build_id;
        out->tier[i] = c->at[i].key->tier;
        out->install[i] = c->at[i].key->install;
    }
    return true;
}

/* a + b */
static bool add_rows(const struct contribution *a, const struct contribution *b, struct arena *mem,
                     struct contribution *out, struct err *err)
{
    static const struct contribution nothing;
    struct contribution away;

    return contribution_diff(&nothing, b, mem, &away, err) &&
           contribution_diff(a, &away, mem, out, err);
}

struct locked {
    int64_t n;
    struct bytes sums;
};
static const struct db_col locked_cols[] = {DB_COL(locked, n), DB_COL(locked, sums)};
static const struct db_map locked_map = DB_MAP(locked, locked_cols);

/* was + delta = is, of one row of install_build. */
static bool sum_install(struct bytes stored, struct install_change *c, struct arena *mem,
                        struct bytes *sums, struct err *err)
{
    static const unsigned char none[1];
    struct buf text;

    if (!contribution_read(stored.len ? stored.at : none, stored.len, mem, &c->was, err) ||
        !add_rows(&c->was, &c->delta, mem, &c->is, err))
        return false;
    buf_init(&text, INSTALL_CAP);
    contribution_write(&c->is, &text);
    return take_bytes(&text, mem, sums, err);
}

static bool change_installs(struct db *db, int64_t shard, struct installs *c, struct arena *mem,
                            struct err *err)
{
    struct install_columns k;
    struct db_rows rows;

    if (!c->n)
        return true;
    if (!install_columns(c, mem, &k))
        return out_of_memory(err);

    /* One row is the rule, of a job that counts one session: without arrays its plans are kept. */
    const bool one = c->n == 1;
    const struct rollup_key *key = c->at[0].key;
    struct db_arg arg[5] = {db_i64(shard), db_i64s(k.build, c->n), db_i64s(k.tier, c->n),
                            db_bytess(k.install, c->n), db_bytess(k.sums, c->n)};
    const struct db_args keys = {4, arg}, all = {5, arg};

    if (one) {
        arg[1] = db_i64(key->build_id);
        arg[2] = db_i64(key->tier);
        arg[3] = db_bytes(key->install.at, key->install.len);
    }
    if (!db_exec(db, one ? Q_INSTALL_MAKE : Q_INSTALLS_MAKE, keys, err) ||
        !db_all(db, one ? Q_INSTALL_LOCK : Q_INSTALLS_LOCK, keys, &locked_map, mem, &rows, err))
        return false;
    if (rows.n != c->n)
        return err_set(err, ERR_DB, "rows of installs vanished");
    for (size_t i = 0; i < c->n; i++)
        if (!sum_install(((const struct locked *)rows.at)[i].sums, &c->at[i], mem, &k.sums[i], err))
            return false;
    if (one)
        arg[4] = db_bytes(k.sums->at, k.sums->len);
    return db_exec(db, one ? Q_INSTALL_SET : Q_INSTALLS_SET, all, err);
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

static void add_install(struct installs *to, const struct rollup_key *key,
                        const struct contribution *delta)
{
    if (key->install.len && delta->n_rows)
        to->at[to->n++] = (struct install_change){.key = key, .delta = *delta};
}

static bool find_install(const struct rollup_move *m, struct arena *mem, struct installs *out,
                         struct err *err)
{
    static const struct contribution nothing;
    struct contribution old, new, delta;

    if (!install_rows(&m->before, mem, &old) || !install_rows(&m->now, mem, &new))
        return out_of_memory(err);
    if (same_install(&m->was, &m->is)) {
        if (!contribution_diff(&new, &old, mem, &delta, err))
            return false;
        add_install(out, &m->is, &delta);
        return true;
    }
    if (!contribution_diff(&nothing, &old, mem, &delta, err))
        return false;
    add_install(out, &m->is, &new);
    add_install(out, &m->was, &delta);
    return true;
}

/* In key order, each row once. */
static bool find_installs(const struct rollup_move *moves, size_t n, struct arena *mem,
                          struct installs *out, struct err *err)
{
    size_t kept = 0;

    *out = (struct installs){.at = arena_array(mem, 2 * n, sizeof *out->at)};
    if (!out->at)
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        if (!find_install(&moves[i], mem, out, err))
            return false;
    qsort(out->at, out->n, sizeof *out->at, by_install);
    for (size_t i = 0; i < out->n; i++) {
        struct install_change *last = kept ? &out->at[kept - 1] : NULL;
        struct contribution sum;

        if (!last || by_install(last, &out->at[i]) != 0) {
            out->at[kept++] = out->at[i];
            continue;
        }
        if (!add_rows(&last->delta, &out->at[i].delta, mem, &sum, err))
            return false;
        last->delta = sum;
    }
    out->n = kept;
    return true;
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

/* One line a row, as for metrics. */
static void merge_cells(struct cell_lines *l)
{
    size_t n = 0;

    qsort(l->at, l->n, sizeof *l->at, by_cell);
    for (size_t i = 0; i < l->n; i++) {
        const struct map_cell *c = &l->at[i].cell;
        struct map_cell *last = n ? &l->at[n - 1].cell : NULL;

        if (!last || by_cell(&l->at[n - 1], &l->at[i]) != 0) {
            l->at[n++] = l->at[i];
            continue;
        }
        last->visits += c->visits;
        last->janky_visits += c->janky_visits;
        last->jank_ms += c->jank_ms;
        last->dwell_ms += c->dwell_ms;
    }
    l->n = n;
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
    merge_cells(l);
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

static size_t most_lines(const struct rollup_move *moves, size_t n, const struct installs *installs)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++)
        most += moves[i].before.n_rows + moves[i].now.n_rows;
    for (size_t i = 0; i < installs->n; i++)
        most += installs->at[i].was.n_rows + installs->at[i].is.n_rows;
    return most;
}

static struct contribution cells_alone(const struct contribution *c)
{
    return (struct contribution){.cells = c->cells, .n_cells = c->n_cells};
}

static bool find_cells(const struct rollup_move *m, struct arena *mem, struct cell_lines *to,
                       struct err *err)
{
    static const struct contribution nothing;
    const struct contribution before = cells_alone(&m->before), now = cells_alone(&m->now);
    bool stays = m->was.build_id == m->is.build_id && m->was.tier == m->is.tier;
    struct contribution delta;

    if (!contribution_diff(stays ? &now : &nothing, &before, mem, &delta, err))
        return false;
    if (!stays)
        add_cells(to, &m->is, &now);
    add_cells(to, stays ? &m->is : &m->was, &delta);
    return true;
}

static bool apply_cells(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                        struct arena *mem, struct err *err)
{
    struct cell_lines l = {0};
    size_t most = 0;

    for (size_t i = 0; i < n; i++)
        most += moves[i].before.n_cells + moves[i].now.n_cells;
    if (!most)
        return true;
    l.at = arena_array(mem, most, sizeof *l.at);
    if (!l.at)
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        if (!find_cells(&moves[i], mem, &l, err))
            return false;
    return write_cells(db, shard, &l, mem, err);
}

bool rollup_metrics_apply(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                          struct arena *mem, struct err *err)
{
    struct lines lines = {0};
    struct installs installs;

    if (!find_installs(moves, n, mem, &installs, err) ||
        !change_installs(db, shard, &installs, mem, err))
        return false;
    lines.at = arena_array(mem, most_lines(moves, n, &installs), sizeof *lines.at);
    if (!lines.at)
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < moves[i].now.n_rows; k++)
            add_line(&lines, &moves[i].is, &moves[i].now.rows[k], 1);
        for (size_t k = 0; k < moves[i].before.n_rows; k++)
            add_line(&lines, &moves[i].was, &moves[i].before.rows[k], -1);
    }
    for (size_t i = 0; i < installs.n; i++)
        add_install_lines(&lines, &installs.at[i]);
    merge_equal(&lines);
    return write_lines(db, shard, &lines, mem, err) && apply_cells(db, shard, moves, n, mem, err);
}
