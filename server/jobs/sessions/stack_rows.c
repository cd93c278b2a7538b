#include "server/jobs/sessions/stack_rows.h"

#include "base/digest.h"
#include "profile/view.h"
#include "server/jobs/sessions/row_values.h"
#include "symbols/system_library.h"

#include <stdlib.h>
#include <string.h>

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
        .platform = row_text_copy(part->header.platform, mem),
        .version_name = row_text_copy(part->header.version_name, mem),
        .build_uid = row_text_copy(part->header.build_id, mem),
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
        out->debug_id[out->n_modules] = row_text_copy(hex, mem);
        out->module[out->n_modules] = row_text_copy(used[i]->name, mem);
        out->system[out->n_modules++] = system_library(NULL, row_text(used[i]->name));
    }
    return !arena_full(mem);
}

bool stack_rows_of(const struct part *part, struct arena *mem, struct stack_rows *out,
                   struct err *err)
{
    const struct part_stack **sorted = arena_array(mem, part->n_stacks, sizeof *sorted);

    if (!new_stack_rows(part, mem, out) || !name_modules(part, mem, out))
        return rows_too_big(err);
    for (size_t i = 0; i < part->n_stacks; i++)
        sorted[i] = &part->stacks[i];
    qsort(sorted, part->n_stacks, sizeof *sorted, by_hash);
    for (size_t i = 0; i < part->n_stacks; i++) {
        struct buf text;

        if (i && by_hash(&sorted[i - 1], &sorted[i]) == 0)
            continue;
        buf_init(&text, ROW_TEXT_CAP);
        view_stack_json(sorted[i], &text);
        out->json[out->n] = row_text_take(&text, mem);
        out->managed[out->n] = sorted[i]->managed;
        out->hash[out->n] = (struct bytes){
            (unsigned char *)arena_dup(mem, (const char *)sorted[i]->hash, sizeof sorted[i]->hash),
            sizeof sorted[i]->hash};
        out->n++;
    }
    return !arena_full(mem) || rows_too_big(err);
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
    return n < 2 || join_rows(rows, n, mem, out) || rows_too_big(err);
}

/* Whether the session's build is the one the part's managed stacks belong to. */
static bool same_build(const struct stack_rows *s, const struct part_header *h)
{
    return s->version_code == h->version_code && strcmp(s->platform, row_text(h->platform)) == 0 &&
           strcmp(s->version_name, row_text(h->version_name)) == 0 &&
           strcmp(s->build_uid, row_text(h->build_id)) == 0;
}

bool stack_rows_store(struct db *db, int64_t app, const struct part_header *h, int64_t build_id,
                      const struct stack_rows *s, struct err *err)
{
    if (!s->n)
        return true;

    bool own = same_build(s, h);

    return db_exec(db, Q_SESSION_STORE_STACKS,
                   DB_ARGS(db_i64(app), db_bytess(s->hash, s->n), db_texts(s->json, s->n),
                           db_i64s(s->managed, s->n), own ? db_i64(build_id) : db_null()),
                   err) &&
           (!own || !s->n_modules ||
            db_exec(db, Q_SESSION_STORE_NEEDS,
                    DB_ARGS(db_i64(build_id), db_texts(s->debug_id, s->n_modules),
                            db_texts(s->module, s->n_modules), db_i64s(s->system, s->n_modules)),
                    err));
}
