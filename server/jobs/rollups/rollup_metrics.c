#include "server/jobs/rollups/rollup_parts.h"

#include <stdlib.h>
#include <string.h>

#define SUMS_CAP (64u * METRICS_N * METRIC_SUMS)

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
static void add_install_lines(struct lines *to, const struct rollup_install *c)
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
    const struct rollup_locked *row = rows->at;

    if (rows->n != l->n)
        return err_set(err, ERR_DB, "rows of metrics vanished");
    for (size_t i = 0; i < l->n; i++) {
        struct buf text;

        if (!metric_sums_add(row[i].sums.at, row[i].sums.len, l->at[i].row.sum, err))
            return false;
        buf_init(&text, SUMS_CAP);
        metric_sums_write(l->at[i].row.sum, &text);
        if (!rollup_take_bytes(&text, mem, &a->sums[i], err))
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
        return err_full(err, "rollups");

    const struct db_arg arg[7] = {
        db_i64(shard),           db_i64s(a.build, l->n),  db_i64s(a.arm, l->n),
        db_i64s(a.tier, l->n),   db_texts(a.scene, l->n), db_i64s(a.installs, l->n),
        db_bytess(a.sums, l->n),
    };
    const struct db_args keys = {5, arg}, all = {7, arg};

    return db_exec(db, Q_METRIC_MAKE, keys, err) &&
           db_all(db, Q_METRIC_LOCK, keys, &rollup_locked_map, mem, &rows, err) &&
           sum_rows(l, &rows, mem, &a, err) && db_exec(db, Q_METRIC_SET, all, err);
}

static size_t most_lines(const struct rollup_move *moves, size_t n,
                         const struct rollup_installs *installs)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++)
        most += moves[i].before.n_rows + moves[i].now.n_rows;
    for (size_t i = 0; i < installs->n; i++)
        most += installs->at[i].was.n_rows + installs->at[i].is.n_rows;
    return most;
}

bool rollup_metrics_apply(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                          const struct rollup_installs *installs, struct arena *mem,
                          struct err *err)
{
    struct lines lines = {.at = arena_array(mem, most_lines(moves, n, installs), sizeof *lines.at)};

    if (!lines.at)
        return err_full(err, "rollups");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < moves[i].now.n_rows; k++)
            add_line(&lines, &moves[i].is, &moves[i].now.rows[k], 1);
        for (size_t k = 0; k < moves[i].before.n_rows; k++)
            add_line(&lines, &moves[i].was, &moves[i].before.rows[k], -1);
    }
    for (size_t i = 0; i < installs->n; i++)
        add_install_lines(&lines, &installs->at[i]);
    merge_equal(&lines);
    return write_lines(db, shard, &lines, mem, err);
}
