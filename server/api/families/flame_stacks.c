#include "server/api/families/flame_stacks.h"

#include "stacks/family.h"

#include <string.h>

#define ROWS_BYTES ((size_t)96 << 20)
#define SEPARATOR '\x1e'

struct stack_row {
    const char *folded;
    int64_t events, jank_us;
};
static const struct db_col stack_cols[] = {
    DB_COL(stack_row, folded),
    DB_COL(stack_row, events),
    DB_COL(stack_row, jank_us),
};
static const struct db_map stack_map = DB_MAP(stack_row, stack_cols);

struct whole {
    int64_t events, jank_us;
};
static const struct db_col whole_cols[] = {DB_COL(whole, events), DB_COL(whole, jank_us)};
static const struct db_map whole_map = DB_MAP(whole, whole_cols);

/* Cuts the text at its separators. */
static size_t cut(char *text, const char **names, size_t max)
{
    size_t n = 0;

    while (*text && n < max) {
        char *end = strchr(text, SEPARATOR);

        names[n++] = text;
        if (!end)
            break;
        *end = '\0';
        text = end + 1;
    }
    return n;
}

static bool add_rows(const struct db_rows *rows, struct arena *mem, struct flame *f,
                     struct err *err)
{
    const char **names = arena_array(mem, TRIE_DEPTH_MAX, sizeof *names);
    const struct stack_row *row = rows->at;

    for (size_t i = 0; i < rows->n; i++) {
        char *text = arena_dup(mem, row[i].folded, strlen(row[i].folded));

        if (!names || !text)
            return err_memory(err);
        /* rounded down, each: a sum of many short janks may fall short of the whole by as many ms
         */
        if (!trie_add(f->tree, names, cut(text, names, TRIE_DEPTH_MAX), row[i].events,
                      row[i].jank_us / 1000, err))
            return false;
        f->events += row[i].events;
        f->jank_us += row[i].jank_us;
    }
    f->stacks = (int64_t)rows->n;
    return true;
}

static bool read_rows(struct req *r, const struct flame_ask *ask, struct arena *mem,
                      struct db_rows *out, struct err *err)
{
    struct db_arg app = db_i64(r->who.app), kind = db_i64(ask->kind), most = db_i64(FLAME_STACKS);
    struct db_arg family = db_bytes(ask->family, FINGERPRINT_BYTES);

    if (ask->build)
        return db_all(r->db, Q_FLAME_OF_BUILD, DB_ARGS(app, db_i64(ask->build), kind, family, most),
                      &stack_map, mem, out, err);
    return db_all(r->db, Q_FLAME_OF_ALL, DB_ARGS(app, kind, family, most), &stack_map, mem, out,
                  err);
}

bool flame_read(struct req *r, const struct flame_ask *ask, struct flame *out, struct err *err)
{
    struct arena *mem = arena_new(ROWS_BYTES);
    struct flame f = {.tree = trie_new(FLAME_TREE_BYTES)};
    struct whole whole;
    struct db_rows rows;
    bool ok = (mem && f.tree) || err_memory(err);

    ok = ok && read_rows(r, ask, mem, &rows, err) && add_rows(&rows, mem, &f, err) &&
         db_one(r->db, Q_FLAME_WHOLE,
                DB_ARGS(db_i64(r->who.app), db_i64(ask->build), db_i64(ask->kind),
                        db_bytes(ask->family, FINGERPRINT_BYTES)),
                &whole_map, mem, &whole, err);
    arena_free(mem);
    if (!ok) {
        trie_free(f.tree);
        return false;
    }
    f.of_events = whole.events;
    f.of_jank_us = whole.jank_us;
    *out = f;
    return true;
}
