#include "server/jobs/families/family_counts_parts.h"

#include <string.h>

int counts_by_family(const void *va, const void *vb)
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
                            size_t n, struct count_columns *s, struct err *err)
{
    const struct family_entry *e = c->families.at;

    for (size_t i = 0; i < n; i++) {
        bool distinct = dimension_info[e[group[i]].dim].distinct;
        struct count_sums sums;
        struct count_sum sum;

        if (!count_begin(c->row, (const struct count_held *)rows->at + i, distinct, &sums, err))
            return false;
        for (size_t at = group[i]; at < group[i + 1]; at++)
            if (!count_add(&sums, e[at].change, distinct, err))
                return false;
        if (!count_end(c->chunk, &sums, distinct, &sum, err))
            return false;
        count_columns_put(s, i, &sum);
    }
    return true;
}

bool counts_write_families(struct counts *c, struct db *db, const size_t *group, size_t n,
                           struct err *err)
{
    const struct family_entry *e = c->families.at;
    struct family_columns k;
    struct count_columns s;
    struct db_rows rows;

    if (!new_family_columns(c->chunk, n, &k) || !count_columns_new(c->chunk, n, &s))
        return counts_out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        k.family[i] = (struct bytes){e[group[i]].family, FINGERPRINT_BYTES};
        k.build[i] = e[group[i]].build_id;
        k.dim[i] = dimension_info[e[group[i]].dim].text;
        k.value[i] = e[group[i]].value;
    }
    if (!db_all(db, Q_FAMILY_COUNT_READ, DB_ARGS(FAMILY_KEY_ARGS(c->app, k, n)), &count_held_map,
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
