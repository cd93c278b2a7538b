#include "server/jobs/symbolicate.h"

#include "symbols/demangle.h"
#include "symbols/system_library.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SOURCES 512 /* debug ids of one job; beyond, the first are given back */

const char *const stack_state_name[] = {"raw", "partial", "symbolicated"};

/* A debug id and what there is of it. */
struct symbol_source {
    struct symbol_source *next;
    const char *debug_id;             /* as stacks write it */
    const struct table *table;        /* NULL: none, or more than one */
    const char *own_id, *arch, *name; /* of the table */
};

void symbolicator_init(struct symbolicator *s, struct db *db, struct symcache_files *files,
                       struct arena *mem, int64_t app)
{
    *s = (struct symbolicator){.db = db, .files = files, .mem = mem, .app = app};
}

void symbolicator_fini(struct symbolicator *s)
{
    for (struct symbol_source *x = s->sources; x; x = x->next)
        symcache_files_return(s->files, x->table);
    s->sources = NULL;
    s->n_sources = 0;
}

/* Sources ----------------------------------------------------------------------------------------
 */

struct source_row {
    struct bytes id, sha256;
    const char *debug_id, *arch, *name;
    int64_t size;
};
static const struct db_col source_cols[] = {
    DB_COL(source_row, id),   DB_COL(source_row, debug_id), DB_COL(source_row, arch),
    DB_COL(source_row, name), DB_COL(source_row, sha256),   DB_COL(source_row, size),
};
static const struct db_map source_map = DB_MAP(source_row, source_cols);

static struct table_key key_of(enum table_kind kind, struct bytes id, struct bytes sha256,
                               int64_t size)
{
    struct table_key key = {.kind = kind, .size = size};

    memcpy(key.id, id.at, sizeof key.id);
    memcpy(key.sha256, sha256.at, sizeof key.sha256);
    return key;
}

/* A table that went away between its row and its pieces is none. */
static bool borrow(struct symbolicator *s, const struct table_key *key, const struct table **out,
                   struct err *err)
{
    *out = NULL;
    return symcache_files_borrow(s->files, s->db, key, out, err) || err->code == ERR_NOT_FOUND;
}

static bool open_source(struct symbolicator *s, struct symbol_source *x, struct err *err)
{
    struct db_rows rows;
    const struct source_row *row;

    if (!db_all(s->db, Q_SYMCACHE_FIND,
                DB_ARGS(db_i64(s->app), db_text(x->debug_id), db_i64(SYMCACHE_VERSION)),
                &source_map, s->mem, &rows, err))
        return false;
    if (rows.n != 1) /* two architectures under one id: either could be wrong */
        return true;
    row = rows.at;
    x->own_id = row->debug_id;
    x->arch = row->arch;
    x->name = row->name;

    struct table_key key = key_of(TABLE_NATIVE, row->id, row->sha256, row->size);

    return borrow(s, &key, &x->table, err);
}

static bool find_source(struct symbolicator *s, const char *debug_id, struct symbol_source **out,
                        struct err *err)
{
    struct symbol_source *x;

    for (x = s->sources; x; x = x->next)
        if (strcmp(x->debug_id, debug_id) == 0) {
            *out = x;
            return true;
        }
    if (s->n_sources == MAX_SOURCES)
        symbolicator_fini(s);
    x = arena_alloc(s->mem, sizeof *x);
    if (!x || !(x->debug_id = arena_dup(s->mem, debug_id, strlen(debug_id))))
        return err_set(err, ERR_TOO_BIG, "out of memory for symbols");
    if (!open_source(s, x, err))
        return false;
    x->next = s->sources;
    s->sources = x;
    s->n_sources++;
    *out = x;
    return true;
}

/* Frames -----------------------------------------------------------------------------------------
 */

struct reading {
    struct symbolicator *s;
    struct buf *out;
    size_t frame; /* raw one */
    int64_t build_id;
    bool first;
    unsigned resolved, missing;
};

static void open_frame(struct reading *r, const char *status)
{
    if (!r->first)
        buf_byte(r->out, ',');
    r->first = false;
    buf_printf(r->out, "{\"frame\":%zu,\"status\":\"%s\"", r->frame, status);
}

static void put_text(struct reading *r, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    buf_printf(r->out, ",\"%s\":", name);
    buf_json_string(r->out, text);
}

static void put_number(struct reading *r, const char *name, uint32_t n)
{
    if (n)
        buf_printf(r->out, ",\"%s\":%u", name, n);
}

static const char *text_of(const json_t *frame, const char *name)
{
    const char *text = json_string_value(json_object_get(frame, name));

    return text ? text : "";
}

/* A native frame's own facts, and its end. */
static void close_native(struct reading *r, const json_t *frame)
{
    put_text(r, "module", text_of(frame, "module"));
    put_text(r, "offset", text_of(frame, "offset"));
    buf_byte(r->out, '}');
}

static void put_function(struct reading *r, const char *linkage_name)
{
    struct buf text;

    if (!linkage_name)
        return;
    buf_init(&text, DEMANGLE_TEXT_MAX + DEMANGLE_NAME_MAX);
    demangle(linkage_name, &text);
    buf_byte(&text, '\0');
    put_text(r, "function", buf_ok(&text) ? (const char *)text.at : linkage_name);
    buf_fini(&text);
}

static void put_symbolicated(struct reading *r, const json_t *frame, const struct symbol_source *x,
                             const struct symcache_frame *f)
{
    open_frame(r, "symbolicated");
    put_function(r, f->function);
    put_text(r, "file", f->file);
    put_number(r, "line", f->line);
    put_number(r, "column", f->column);
    if (f->inlined)
        buf_text(r->out, ",\"inlined\":true");
    put_text(r, "debug_id", x->own_id);
    put_text(r, "arch", x->arch);
    put_text(r, "symbol_file", x->name);
    close_native(r, frame);
}

/* Return addresses point behind the call, and that may be the next line or the next function: only
 * the innermost frame is looked up where it points. */
static uint64_t look_up_at(const struct reading *r, const struct symcache *c, const json_t *frame)
{
    uint64_t at = strtoull(text_of(frame, "offset"), NULL, 0);

    at = debug_arch_strip(c->format, c->arch, at);
    return r->frame && at ? at - 1 : at;
}

static void read_with(struct reading *r, const json_t *frame, const struct symbol_source *x)
{
    const struct symcache *c = &x->table->native;
    struct symcache_frame frames[SYMCACHE_FRAMES];
    size_t n = symcache_lookup(c, look_up_at(r, c, frame), frames, SYMCACHE_FRAMES);

    for (size_t i = 0; i < n; i++)
        put_symbolicated(r, frame, x, &frames[i]);
    r->resolved += n > 0;
    if (!n) {
        open_frame(r, "not_found");
        put_text(r, "debug_id", x->own_id);
        put_text(r, "arch", x->arch);
        put_text(r, "symbol_file", x->name);
        close_native(r, frame);
    }
}

static void read_without(struct reading *r, const json_t *frame, const char *debug_id)
{
    bool system = system_library(NULL, text_of(frame, "module"));

    open_frame(r, system ? "system" : *debug_id ? "missing" : "no_debug_id");
    put_text(r, "debug_id", debug_id);
    r->missing += !system && *debug_id;
    close_native(r, frame);
}

static bool read_native(struct reading *r, const json_t *frame, struct err *err)
{
    const char *debug_id = text_of(frame, "debug_id");
    struct symbol_source *x = NULL;

    if (*debug_id && !find_source(r->s, debug_id, &x, err))
        return false;
    if (x && x->table)
        read_with(r, frame, x);
    else
        read_without(r, frame, debug_id);
    return true;
}

static void read_unknown(struct reading *r, const json_t *frame)
{
    open_frame(r, "unknown");
    put_text(r, "function", "Unknown");
    close_native(r, frame);
}

static void read_managed(struct reading *r, const char *text)
{
    open_frame(r, "managed");
    put_text(r, "function", text);
    buf_byte(r->out, '}');
}

static bool read_frames(struct reading *r, const json_t *frames, struct err *err)
{
    const json_t *frame;

    json_array_foreach(frames, r->frame, frame)
    {
        const char *text = json_string_value(json_object_get(frame, "text"));

        if (text)
            read_managed(r, text);
        else if (!*text_of(frame, "module"))
            read_unknown(r, frame);
        else if (!read_native(r, frame, err))
            return false;
    }
    return true;
}

bool symbolicate(struct symbolicator *s, const char *frames_json, int64_t build_id, struct buf *out,
                 enum stack_state *state, struct err *err)
{
    struct reading r = {.s = s, .out = out, .build_id = build_id, .first = true};
    json_t *frames = json_loads(frames_json, 0, NULL);
    bool ok;

    if (!json_is_array(frames)) {
        json_decref(frames);
        return err_set(err, ERR_INTERNAL, "a stored stack is no list of frames");
    }
    buf_byte(out, '[');
    ok = read_frames(&r, frames, err);
    buf_byte(out, ']');
    json_decref(frames);
    *state = !r.missing ? STACK_SYMBOLICATED : r.resolved ? STACK_PARTIAL : STACK_RAW;
    return ok;
}
