#include "server/jobs/families/family_counts_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATHERED_BYTES ((size_t)128 << 20)
#define CHUNK_BYTES ((size_t)160 << 20) /* rows as they were and as they become */
#define ROW_BYTES ((size_t)4 << 20)     /* two sketches at their fullest */
#define ROWS_AT_ONCE 500                /* of one statement */
#define GROUP_BASE 64                   /* shard = app * 64 + g */

const struct dimension_info dimension_info[DIM_COUNT] = {
#define X(name, text, all_builds, distinct, of_sessions) {text, all_builds, distinct, of_sessions},
    DIMENSIONS(X)
#undef X
};

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
        return counts_out_of_memory(err);
    *e = (struct stack_entry){kind, keep(c->mem, hash, 16), keep(c->mem, facts, sizeof *facts),
                              keep(c->mem, change, sizeof *change)};
    return !arena_full(c->mem) || counts_out_of_memory(err);
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

    for (int all = 0; all <= dimension_info[dim].all_builds; all++) {
        struct family_entry *e = list_add(&c->families);

        if (!e || !value || !family || !change)
            return counts_out_of_memory(err);
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
        if (dimension_info[dim].of_sessions == (scene ? EACH_SCENE : ONCE) &&
            !add_dimension(c, family_all_sessions, (enum dimension)dim, facts, kept, err))
            return false;
    return true;
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
        return counts_out_of_memory(err);
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
    bool ok = write_list(c, db, &c->stacks, counts_by_stack, counts_write_stacks, err) &&
              (!c->stacks.n || counts_write_totals(c, db, err)) &&
              write_list(c, db, &c->families, counts_by_family, counts_write_families, err);

    c->stacks.n = c->families.n = 0;
    arena_reset(c->chunk);
    arena_reset(c->mem);
    return ok;
}
