#include "server/jobs/symbols/symbolicate.h"

#include "symbols/demangle.h"
#include "symbols/system_library.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SOURCES 512 /* debug ids of one batch; beyond, the first are given back */
#define SCRATCH_BYTES ((size_t)16 << 20)
#define MAX_ALTERNATIVES 8 /* shown of an ambiguous frame */
#define FUNCTION_BYTES 2048
#define FRAME_TEXT_MAX 4096 /* longer ones stay as they are */

const char *const stack_state_name[] = {"raw", "partial", "symbolicated"};

/* A debug id and what there is of it. */
struct symbol_source {
    struct symbol_source *next;
    int64_t build_id;     /* of a mapping */
    const char *debug_id; /* as stacks write it; of a mapping its id, "" if the build has none */
    const struct table *table;        /* NULL: none, or more than one */
    const char *own_id, *arch, *name; /* of the table */
};

bool symbolicator_init(struct symbolicator *s, struct db *db, struct symcache_files *files,
                       struct arena *mem, int64_t app, struct err *err)
{
    *s = (struct symbolicator){.db = db, .files = files, .mem = mem, .app = app};
    s->scratch = arena_new(SCRATCH_BYTES);
    return s->scratch || err_memory(err);
}

static void give_back(struct symbolicator *s, struct symbol_source **list)
{
    for (struct symbol_source *x = *list; x; x = x->next)
        symcache_files_return(s->files, x->table);
    *list = NULL;
}

void symbolicator_forget(struct symbolicator *s)
{
    give_back(s, &s->sources);
    give_back(s, &s->mappings);
    s->n_sources = 0;
}

void symbolicator_fini(struct symbolicator *s)
{
    symbolicator_forget(s);
    arena_free(s->scratch);
    s->scratch = NULL;
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
    if (s->n_sources == MAX_SOURCES) {
        give_back(s, &s->sources);
        s->n_sources = 0;
    }
    x = arena_alloc(s->mem, sizeof *x);
    if (!x || !(x->debug_id = arena_dup(s->mem, debug_id, strlen(debug_id))))
        return err_full(err, "symbols");
    if (!open_source(s, x, err))
        return false;
    x->next = s->sources;
    s->sources = x;
    s->n_sources++;
    *out = x;
    return true;
}

struct mapping_row {
    const char *mapping_id, *name;
    struct bytes id, sha256;
    int64_t size;
};
static const struct db_col mapping_cols[] = {
    DB_COL(mapping_row, mapping_id), DB_COL(mapping_row, name), DB_COL(mapping_row, id),
    DB_COL(mapping_row, sha256),     DB_COL(mapping_row, size),
};
static const struct db_map mapping_map = DB_MAP(mapping_row, mapping_cols);

static bool open_mapping(struct symbolicator *s, struct symbol_source *x, struct err *err)
{
    struct db_rows rows;
    const struct mapping_row *row;

    if (!db_all(s->db, Q_MAPPING_FIND,
                DB_ARGS(db_i64(s->app), db_i64(x->build_id), db_i64(RETRACE_VERSION)), &mapping_map,
                s->mem, &rows, err))
        return false;
    x->debug_id = "";
    if (!rows.n)
        return true;
    row = rows.at;
    x->debug_id = row->mapping_id;
    x->name = row->name;
    if (!row->id.at)
        return true;

    struct table_key key = key_of(TABLE_MAPPING, row->id, row->sha256, row->size);

    return borrow(s, &key, &x->table, err);
}

/* What a build's mapping says, or that there is none. */
static bool find_mapping(struct symbolicator *s, int64_t build_id, struct symbol_source **out,
                         struct err *err)
{
    struct symbol_source *x;

    for (x = s->mappings; x; x = x->next)
        if (x->build_id == build_id) {
            *out = x;
            return true;
        }
    x = arena_alloc(s->mem, sizeof *x);
    if (!x)
        return err_full(err, "symbols");
    x->build_id = build_id;
    if (!open_mapping(s, x, err))
        return false;
    x->next = s->mappings;
    s->mappings = x;
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
    struct retrace_context context; /* from one managed frame to the next */
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

/* Managed frames ---------------------------------------------------------------------------------
 */

static void close_managed(struct reading *r, const struct symbol_source *x)
{
    if (x) {
        put_text(r, "debug_id", x->debug_id);
        put_text(r, "symbol_file", x->name);
    }
    buf_byte(r->out, '}');
}

static void put_named(struct reading *r, const char *status, const char *text,
                      const struct symbol_source *x)
{
    open_frame(r, status);
    put_text(r, "function", text);
    close_managed(r, x);
}

static void function_of(const struct retrace_frame *f, char out[FUNCTION_BYTES])
{
    snprintf(out, FUNCTION_BYTES, "%s.%s", f->class_name, f->method);
}

static void put_retraced(struct reading *r, const struct retrace_frame *f, bool inlined,
                         const struct symbol_source *x)
{
    char function[FUNCTION_BYTES];

    function_of(f, function);
    open_frame(r, f->mapped ? "symbolicated" : "not_found");
    put_text(r, "function", function);
    put_text(r, "file", f->file);
    if (f->line > 0 && f->line <= UINT32_MAX)
        put_number(r, "line", (uint32_t)f->line);
    if (inlined)
        buf_text(r->out, ",\"inlined\":true");
    close_managed(r, x);
}

/* Whether all alternatives name one function: overloads of a method, say. */
static bool one_function(const struct retrace_result *result)
{
    const struct retrace_alternative *first = &result->at[0];

    for (size_t i = 0; i < result->n; i++) {
        const struct retrace_alternative *a = &result->at[i];

        if (a->n != 1 || first->n != 1 ||
            strcmp(a->frames[0].class_name, first->frames[0].class_name) != 0 ||
            strcmp(a->frames[0].method, first->frames[0].method) != 0 ||
            a->frames[0].line != first->frames[0].line)
            return false;
    }
    return true;
}

static void put_ambiguous(struct reading *r, const char *text, const struct retrace_result *result,
                          const struct symbol_source *x)
{
    char function[FUNCTION_BYTES];

    open_frame(r, "ambiguous");
    put_text(r, "function", text);
    buf_text(r->out, ",\"alternatives\":[");
    for (size_t i = 0, n = 0; i < result->n && n < MAX_ALTERNATIVES; i++) {
        if (!result->at[i].n)
            continue;
        function_of(&result->at[i].frames[0], function);
        buf_text(r->out, n++ ? "," : "");
        buf_json_string(r->out, function);
    }
    buf_byte(r->out, ']');
    close_managed(r, x);
}

static void put_result(struct reading *r, const char *text, const struct retrace_result *result,
                       const struct symbol_source *x)
{
    const struct retrace_alternative *a = result->n ? &result->at[0] : NULL;

    r->resolved++;
    if (!a) /* the compiler's own frame: nobody wrote it */
        return;
    if (!result->class_known)
        put_named(r, "managed", text, NULL);
    else if (result->n > 1 && !one_function(result))
        put_ambiguous(r, text, result, x);
    else
        for (size_t i = 0; i < a->n; i++)
            put_retraced(r, &a->frames[i], i + 1 < a->n, x);
}

/* A frame that names its mapping names the one to use: another says nothing of it. */
static bool other_mapping(const struct retrace *m, const struct retrace_line *line)
{
    size_t len = 0;
    const char *id =
        line->query.file ? retrace_file_map_id(line->query.file, line->query.file_len, &len) : NULL;

    if (!id)
        return false;
    return (strlen(m->map_hash) < len || strncmp(m->map_hash, id, len) != 0) &&
           (strlen(m->map_id) != len || strncmp(m->map_id, id, len) != 0);
}

static bool retrace_frame_text(struct reading *r, const char *text, const struct symbol_source *x,
                               struct err *err)
{
    const struct retrace *m = &x->table->mapping;
    struct retrace_line line;
    struct retrace_result result;
    char at[FRAME_TEXT_MAX + 8];
    int n = snprintf(at, sizeof at, "%s%s", strncmp(text, "at ", 3) == 0 ? "" : "at ", text);

    if (n < 0 || n >= (int)sizeof at) {
        put_named(r, "managed", text, NULL);
        return true;
    }
    retrace_read_line(m, at, (size_t)n, &line);
    if (line.kind == RETRACE_LINE_EXCEPTION)
        retrace_thrown(m, line.query.class_name, line.query.class_len, &r->context);
    if (line.kind != RETRACE_LINE_FRAME) {
        put_named(r, "managed", text, NULL);
        return true;
    }
    if (other_mapping(m, &line)) {
        r->missing++;
        put_named(r, "missing", text, NULL);
        return true;
    }
    arena_reset(r->s->scratch);
    if (!retrace_lookup(m, &line.query, &r->context, r->s->scratch, &result))
        return err_set(err, ERR_TOO_BIG, "a managed frame means too much");
    put_result(r, text, &result, x);
    return true;
}

static bool read_managed(struct reading *r, const char *text, struct err *err)
{
    struct symbol_source *x = NULL;

    if (r->build_id && !find_mapping(r->s, r->build_id, &x, err))
        return false;
    if (!x || !*x->debug_id) { /* names as they are in the source, as far as anybody said */
        put_named(r, "managed", text, NULL);
        return true;
    }
    if (x->table)
        return retrace_frame_text(r, text, x, err);
    r->missing++;
    put_named(r, "missing", text, x);
    return true;
}

static bool read_frames(struct reading *r, const json_t *frames, struct err *err)
{
    const json_t *frame;

    json_array_foreach(frames, r->frame, frame)
    {
        const char *text = json_string_value(json_object_get(frame, "text"));

        if (text) {
            if (!read_managed(r, text, err))
                return false;
        } else if (!*text_of(frame, "module"))
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
