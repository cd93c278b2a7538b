#include "server/api/symbols/stack_symbols.h"

#include "base/digest.h"

#include <string.h>

#define HASH_BYTES 16
#define SYMBOLS_BYTES ((size_t)128 << 20)

struct symbols_row {
    struct bytes hash;
    const char *state, *symbols_json;
};
static const struct db_col symbols_cols[] = {
    DB_COL(symbols_row, hash),
    DB_COL(symbols_row, state),
    DB_COL(symbols_row, symbols_json),
};
static const struct db_map symbols_map = DB_MAP(symbols_row, symbols_cols);

bool stack_symbols_write(struct req *r, const struct bytes *hash, size_t n, struct buf *out,
                         struct err *err)
{
    struct db_rows rows = {0};
    const struct symbols_row *row;
    char hex[2 * HASH_BYTES + 1];

    if (n && !db_all(r->db, Q_STACK_SYMBOLS, DB_ARGS(db_i64(r->who.app), db_bytess(hash, n)),
                     &symbols_map, r->mem, &rows, err))
        return false;
    row = rows.at;
    buf_byte(out, '[');
    for (size_t i = 0; i < rows.n; i++) {
        to_hex(row[i].hash.at, HASH_BYTES, hex);
        buf_printf(out, "%s{\"hash\":\"%s\",\"state\":\"%s\",\"frames\":", i ? "," : "", hex,
                   row[i].state);
        buf_text(out, row[i].symbols_json);
        buf_byte(out, '}');
    }
    buf_byte(out, ']');
    return true;
}

static struct bytes *hashes_of(struct req *r, const json_t *stacks, size_t *n)
{
    struct bytes *hash = arena_array(r->mem, json_array_size(stacks), sizeof *hash);
    const json_t *stack;
    size_t i;

    *n = 0;
    json_array_foreach(stacks, i, stack)
    {
        const char *hex = json_string_value(json_object_get(stack, "hash"));
        unsigned char *bytes = arena_alloc(r->mem, HASH_BYTES);

        if (!hash || !bytes || !hex || strlen(hex) != 2 * HASH_BYTES ||
            !from_hex(hex, HASH_BYTES, bytes))
            continue;
        hash[(*n)++] = (struct bytes){bytes, HASH_BYTES};
    }
    return hash;
}

bool stack_symbols_add(struct req *r, json_t *janks, struct err *err)
{
    size_t n;
    struct bytes *hash = hashes_of(r, json_object_get(janks, "stacks"), &n);
    struct buf text;
    json_t *list = NULL;
    bool ok;

    buf_init(&text, SYMBOLS_BYTES);
    ok = stack_symbols_write(r, hash, n, &text, err);
    if (ok && buf_ok(&text))
        list = json_loadb((const char *)text.at, text.len, 0, NULL);
    buf_fini(&text);
    if (!ok)
        return false;
    return (list && json_object_set_new(janks, "symbols", list) == 0) || err_memory(err);
}
