#include "server/http/req.h"

#include "base/digest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_REPLY_MAX (64u * 1024 * 1024)

/* Length of the name without the "_json" that marks embedded JSON; 0 if it is not marked. */
static size_t json_name(const char *name)
{
    size_t n = strlen(name);

    return n > 5 && strcmp(name + n - 5, "_json") == 0 ? n - 5 : 0;
}

static const void *field_of(const void *row, const struct db_col *col)
{
    return (const char *)row + col->offset;
}

static void put_hex(struct buf *b, const struct bytes *bytes)
{
    static const char digit[] = "0123456789abcdef";

    if (!bytes->at) {
        buf_text(b, "null");
        return;
    }
    buf_byte(b, '"');
    for (size_t i = 0; i < bytes->len; i++) {
        buf_byte(b, (uint8_t)digit[bytes->at[i] >> 4]);
        buf_byte(b, (uint8_t)digit[bytes->at[i] & 15]);
    }
    buf_byte(b, '"');
}

static void put_text(struct buf *b, const char *text, bool is_json)
{
    if (!text)
        buf_text(b, "null");
    else if (is_json)
        buf_text(b, text);
    else
        buf_json_string(b, text);
}

static void put_field(struct buf *b, const struct db_col *col, const void *field)
{
    switch (col->type) {
    case DB_I64:
        buf_i64(b, *(const int64_t *)field);
        break;
    case DB_F64:
        if (isfinite(*(const double *)field))
            buf_printf(b, "%.17g", *(const double *)field);
        else
            buf_text(b, "null");
        break;
    case DB_BOOL:
        buf_text(b, *(const bool *)field ? "true" : "false");
        break;
    case DB_TEXT:
        put_text(b, *(const char *const *)field, json_name(col->name) != 0);
        break;
    case DB_BYTES:
        put_hex(b, field);
        break;
    }
}

static void put_name(struct buf *b, const char *name)
{
    size_t n = json_name(name);

    buf_byte(b, '"'); /* names of columns are ours: nothing to escape */
    buf_put(b, name, n ? n : strlen(name));
    buf_text(b, "\":");
}

static void put_row(struct buf *b, const struct db_map *map, const void *row)
{
    buf_byte(b, '{');
    for (size_t c = 0; c < map->n_cols; c++) {
        if (c)
            buf_byte(b, ',');
        put_name(b, map->cols[c].name);
        put_field(b, &map->cols[c], field_of(row, &map->cols[c]));
    }
    buf_byte(b, '}');
}

bool reply_rows(struct req *r, int status, const struct db_rows *rows, const char *next,
                struct err *err)
{
    struct buf b;

    buf_init(&b, ROWS_REPLY_MAX);
    buf_text(&b, "{\"items\":[");
    for (size_t i = 0; i < rows->n; i++) {
        if (i)
            buf_byte(&b, ',');
        put_row(&b, rows->map, (const char *)rows->at + i * rows->map->row_size);
    }
    buf_text(&b, "],\"next\":");
    put_text(&b, next, false);
    buf_byte(&b, '}');
    return reply_buf(r, status, "application/json", &b, err);
}

static json_t *hex_json(const struct bytes *bytes)
{
    char *text = bytes->at ? malloc(2 * bytes->len + 1) : NULL;

    if (!text)
        return json_null();
    to_hex(bytes->at, bytes->len, text);

    json_t *out = json_string(text);

    free(text);
    return out;
}

static json_t *text_json(const char *text, bool is_json)
{
    if (!text)
        return json_null();
    return is_json ? json_loads(text, JSON_DECODE_ANY, NULL) : json_string(text);
}

static json_t *field_json(const struct db_col *col, const void *field)
{
    switch (col->type) {
    case DB_I64:
        return json_integer(*(const int64_t *)field);
    case DB_F64:
        return isfinite(*(const double *)field) ? json_real(*(const double *)field) : json_null();
    case DB_BOOL:
        return json_boolean(*(const bool *)field);
    case DB_TEXT:
        return text_json(*(const char *const *)field, json_name(col->name) != 0);
    case DB_BYTES:
        return hex_json(field);
    }
    return json_null();
}

json_t *row_to_json(const struct db_map *map, const void *row)
{
    json_t *object = json_object();

    for (size_t c = 0; c < map->n_cols; c++) {
        const struct db_col *col = &map->cols[c];
        size_t marked = json_name(col->name);
        char name[64];

        if (marked && marked < sizeof name) {
            memcpy(name, col->name, marked);
            name[marked] = '\0';
        }
        json_object_set_new(object, marked && marked < sizeof name ? name : col->name,
                            field_json(col, field_of(row, col)));
    }
    return object;
}
