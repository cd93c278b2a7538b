#include "server/jobs/rollups/rollup_parts.h"

#include <stdlib.h>
#include <string.h>

#define INSTALL_CAP (8u << 20)

static const struct db_col locked_cols[] = {DB_COL(rollup_locked, n), DB_COL(rollup_locked, sums)};
const struct db_map rollup_locked_map = DB_MAP(rollup_locked, locked_cols);

bool rollup_take_bytes(struct buf *text, struct arena *mem, struct bytes *out, struct err *err)
{
    bool ok = buf_ok(text);

    if (ok)
        *out = (struct bytes){(unsigned char *)arena_dup(mem, (const char *)text->at, text->len),
                              text->len};
    buf_fini(text);
    return (ok && out->at) || err_full(err, "rollups");
}

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

struct install_columns {
    int64_t *build, *tier;
    struct bytes *install, *sums;
};

static bool install_columns(const struct rollup_installs *c, struct arena *mem,
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

/* was + delta = is, of one row of install_build. */
static bool sum_install(struct bytes stored, struct rollup_install *c, struct arena *mem,
                        struct bytes *sums, struct err *err)
{
    static const unsigned char none[1];
    struct buf text;

    if (!contribution_read(stored.len ? stored.at : none, stored.len, mem, &c->was, err) ||
        !add_rows(&c->was, &c->delta, mem, &c->is, err))
        return false;
    buf_init(&text, INSTALL_CAP);
    contribution_write(&c->is, &text);
    return rollup_take_bytes(&text, mem, sums, err);
}

static bool change_installs(struct db *db, int64_t shard, struct rollup_installs *c,
                            struct arena *mem, struct err *err)
{
    struct install_columns k;
    struct db_rows rows;

    if (!c->n)
        return true;
    if (!install_columns(c, mem, &k))
        return err_full(err, "rollups");

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
        !db_all(db, one ? Q_INSTALL_LOCK : Q_INSTALLS_LOCK, keys, &rollup_locked_map, mem, &rows,
                err))
        return false;
    if (rows.n != c->n)
        return err_set(err, ERR_DB, "rows of installs vanished");
    for (size_t i = 0; i < c->n; i++)
        if (!sum_install(((const struct rollup_locked *)rows.at)[i].sums, &c->at[i], mem,
                         &k.sums[i], err))
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
    const struct rollup_key *a = ((const struct rollup_install *)va)->key;
    const struct rollup_key *b = ((const struct rollup_install *)vb)->key;

    if (a->build_id != b->build_id)
        return a->build_id < b->build_id ? -1 : 1;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;

    size_t n = a->install.len < b->install.len ? a->install.len : b->install.len;
    int order = memcmp(a->install.at, b->install.at, n);

    return order ? order : (a->install.len > b->install.len) - (a->install.len < b->install.len);
}

static void add_install(struct rollup_installs *to, const struct rollup_key *key,
                        const struct contribution *delta)
{
    if (key->install.len && delta->n_rows)
        to->at[to->n++] = (struct rollup_install){.key = key, .delta = *delta};
}

static bool find_install(const struct rollup_move *m, struct arena *mem,
                         struct rollup_installs *out, struct err *err)
{
    static const struct contribution nothing;
    struct contribution old, new, delta;

    if (!install_rows(&m->before, mem, &old) || !install_rows(&m->now, mem, &new))
        return err_full(err, "rollups");
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
                          struct rollup_installs *out, struct err *err)
{
    size_t kept = 0;

    *out = (struct rollup_installs){.at = arena_array(mem, 2 * n, sizeof *out->at)};
    if (!out->at)
        return err_full(err, "rollups");
    for (size_t i = 0; i < n; i++)
        if (!find_install(&moves[i], mem, out, err))
            return false;
    qsort(out->at, out->n, sizeof *out->at, by_install);
    for (size_t i = 0; i < out->n; i++) {
        struct rollup_install *last = kept ? &out->at[kept - 1] : NULL;
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

bool rollup_installs_apply(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                           struct arena *mem, struct rollup_installs *out, struct err *err)
{
    return find_installs(moves, n, mem, out, err) && change_installs(db, shard, out, mem, err);
}
