#include "symbols/symcache_build.h"
#include "symbols/dwarf.h"
#include "symbols/symcache_write.h"

#include <string.h>

#define LOCATION_SLOTS (1u << 16) /* of the table that finds equal locations */
#define WORK_PER_SYMBOL 64u

/* Pieces without gaps between: each holds up to the next, the last up to `end`. */
struct run {
    uint32_t start, end;
    uint32_t first, n;
};

struct pieces {
    VEC(struct symcache_range) all;
    VEC(struct run) runs;
    bool closed; /* the next piece begins a run */
};

struct build {
    struct debug_image *image;
    struct mem *mem;
    struct strings strings;
    struct dwarf dwarf;
    struct dwarf_functions functions;
    struct dwarf_lines lines;
    VEC(struct symcache_location) locations;
    uint32_t *location_slots;       /* location + 1 by hash; a later one displaces an earlier */
    uint32_t *symbol_names;         /* string number of each symbol, 0 = not yet */
    struct pieces code;             /* in functions that DWARF knows */
    struct pieces bare;             /* with lines, but in no such function */
    VEC(struct symcache_range) out; /* the result: SYMCACHE_NONE marks a gap */
    uint32_t out_end;
    bool incomplete; /* work ran out while DWARF was read */
    /* walking one unit, in ascending addresses */
    VEC(struct debug_range)
    own; /* its code, ascending and apart; lines elsewhere are not trusted */
    size_t own_at;
    uint32_t at;
    size_t row;
    size_t symbol;                     /* first that ends behind `at` */
    size_t covering;                   /* 1 + the symbol at `at`; 0: none */
    uint32_t symbol_name, symbol_file; /* of the symbol that covers the current piece; 0: none */
    uint32_t epoch; /* changes with the symbol: callers' locations then have another function */
};

static uint32_t location_hash(const struct symcache_location *l)
{
    uint64_t h = l->file * 0x9e3779b97f4a7c15u;

    h = (h ^ l->line) * 0xff51afd7ed558ccdu;
    h = (h ^ l->function ^ (uint64_t)l->column << 32) * 0xc4ceb9fe1a85ec53u;
    h = (h ^ h >> 29 ^ l->outer) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 48) % LOCATION_SLOTS;
}

static bool same_location(const struct symcache_location *a, const struct symcache_location *b)
{
    return a->file == b->file && a->line == b->line && a->function == b->function &&
           a->outer == b->outer && a->column == b->column;
}

/* The number of an equal location, or of a new one. SYMCACHE_NONE: out of memory. */
static uint32_t add_location(struct build *b, struct symcache_location l)
{
    uint32_t *slot = &b->location_slots[location_hash(&l)];

    if (*slot && same_location(&b->locations.at[*slot - 1], &l))
        return *slot - 1;
    if (b->locations.n >= SYMCACHE_NONE - 1 || !work_spend(&b->image->work, 1) ||
        !VEC_ROOM(b->mem, &b->locations, 1))
        return SYMCACHE_NONE;
    b->locations.at[b->locations.n++] = l;
    *slot = (uint32_t)b->locations.n;
    return *slot - 1;
}

/* Adds [start, end) at `location`, which may be SYMCACHE_NONE when memory or work ran out. */
static bool add_piece(struct build *b, struct pieces *p, uint32_t start, uint32_t end,
                      uint32_t location)
{
    struct run *last = p->runs.n ? &p->runs.at[p->runs.n - 1] : NULL;
    bool joins = last && !p->closed && last->end == start;

    if (location == SYMCACHE_NONE)
        return !b->mem->failed;
    if (joins && p->all.at[p->all.n - 1].location == location) {
        last->end = end;
        return true;
    }
    if (!VEC_ROOM(b->mem, &p->all, 1))
        return false;
    if (!joins) {
        if (!VEC_ROOM(b->mem, &p->runs, 1))
            return false;
        last = &p->runs.at[p->runs.n++];
        *last = (struct run){start, end, (uint32_t)p->all.n, 0};
        p->closed = false;
    }
    p->all.at[p->all.n++] = (struct symcache_range){start, location};
    last->n++;
    last->end = end;
    return true;
}

static uint32_t symbol_name(struct build *b, size_t i)
{
    const struct debug_symbol *s = &b->image->symbols.at[i];

    if (!b->symbol_names[i])
        b->symbol_names[i] = strings_add_name(&b->strings, s->name);
    return b->symbol_names[i];
}

static uint32_t symbol_file(struct build *b, size_t i)
{
    const char *file = b->image->symbols.at[i].file;

    return file ? strings_add_name(&b->strings, file) : 0;
}

/* First symbol that ends behind `at`. */
static size_t find_symbol(const struct debug_image *image, uint32_t at)
{
    size_t low = 0, high = image->symbols.n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (image->symbols.at[mid].end <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Makes the symbol at `at` the current one; returns where that changes, at most `end`. */
static uint32_t enter_symbol(struct build *b, uint32_t at, uint32_t end)
{
    const struct debug_symbol *s = b->image->symbols.at;
    size_t n = b->image->symbols.n, i = b->symbol;

    while (i < n && s[i].end <= at && i < b->symbol + 8)
        i++;
    if ((i < n && s[i].end <= at) || (i > 0 && s[i - 1].end > at))
        i = find_symbol(b->image, at);

    bool covers = i < n && s[i].start <= at;
    size_t covering = covers ? i + 1 : 0;

    if (covering != b->covering) {
        b->covering = covering;
        b->symbol_name = covers ? symbol_name(b, i) : 0;
        b->symbol_file = covers ? symbol_file(b, i) : 0;
        b->epoch++;
    }
    b->symbol = i;

    uint32_t change = i == n ? end : covers ? s[i].end : s[i].start;

    return change < end ? change : end;
}

static uint32_t function_of(struct build *b, uint32_t node)
{
    struct dwarf_node *n = &b->functions.nodes.at[node];

    if (n->parent == DWARF_NONE && b->symbol_name)
        return b->symbol_name;
    return dwarf_node_name(&b->dwarf, n);
}

/* Where `node` is inlined; SYMCACHE_NONE: it is not. Recursive, at most DWARF_INLINE_DEPTH deep. */
static uint32_t caller_of(struct build *b, uint32_t node)
{
    struct dwarf_node *n = &b->functions.nodes.at[node];

    if (n->parent == DWARF_NONE)
        return SYMCACHE_NONE;
    if (n->caller_epoch == b->epoch)
        return n->caller;

    struct symcache_location l = {.file = dwarf_file_path(&b->dwarf, &b->lines, n->call_file),
                                  .line = n->call_line,
                                  .function = function_of(b, n->parent),
                                  .outer = caller_of(b, n->parent),
                                  .column = b->lines.columns ? n->call_column : 0};

    if (l.file == 0 && l.outer == SYMCACHE_NONE)
        l.file = b->symbol_file;
    n->caller = add_location(b, l);
    n->caller_epoch = b->epoch;
    return n->caller;
}

/* The row that covers `at`, or NULL; *until receives where that changes, at most `end`. */
static const struct dwarf_row *enter_row(struct build *b, uint32_t at, uint32_t end,
                                         uint32_t *until)
{
    const struct dwarf_row *rows = b->lines.rows.at;
    size_t n = b->lines.rows.n;

    while (b->row < n && rows[b->row].address <= at)
        b->row++;
    *until = b->row < n && rows[b->row].address < end ? rows[b->row].address : end;
    if (b->row == 0 || b->row == n || rows[b->row - 1].file == DWARF_NONE)
        return NULL;
    return &rows[b->row - 1];
}

static struct symcache_location locate(struct build *b, uint32_t node, const struct dwarf_row *row)
{
    struct symcache_location l = {.outer = SYMCACHE_NONE, .function = b->symbol_name};

    if (row) {
        l.file = dwarf_file_path(&b->dwarf, &b->lines, row->file);
        l.line = row->line;
        l.column = row->column;
    }
    if (node != DWARF_NONE) {
        l.function = function_of(b, node);
        l.outer = caller_of(b, node);
    }
    if (l.file == 0 && l.outer == SYMCACHE_NONE)
        l.file = b->symbol_file;
    return l;
}

/* Adds the pieces of [start, end); where there is neither function nor row, none. */
static bool add_pieces(struct build *b, struct pieces *to, uint32_t start, uint32_t end,
                       uint32_t node)
{
    while (start < end) {
        uint32_t stop, until;
        const struct dwarf_row *row = enter_row(b, start, end, &until);

        if (!row && node == DWARF_NONE) {
            start = until;
            continue;
        }
        stop = enter_symbol(b, start, until);
        if (!add_piece(b, to, start, stop, add_location(b, locate(b, node, row))) ||
            b->image->work.spent)
            return false;
        start = stop;
    }
    return true;
}

static void add_own(void *ctx, uint64_t low, uint64_t high)
{
    struct build *b = ctx;
    uint32_t start, room;

    if (high <= low || !debug_image_code(b->image, low, &start, &room) ||
        !VEC_ROOM(b->mem, &b->own, 1))
        return;

    uint64_t size = high - low;

    b->own.at[b->own.n++] =
        (struct debug_range){start, start + (size < room ? (uint32_t)size : room)};
}

/* Sorts and joins. */
static bool settle_own(struct build *b)
{
    size_t n = b->own.n, kept = 0;
    uint64_t *keys = mem_alloc(b->mem, n, sizeof *keys);
    struct debug_range *r = mem_alloc(b->mem, n, sizeof *r);
    bool ok = keys && r;

    for (size_t i = 0; ok && i < n; i++)
        keys[i] = sort_key(b->own.at[i].start, i);
    ok = ok && sort_keys(b->mem, keys, n);
    for (size_t i = 0; ok && i < n; i++) {
        struct debug_range x = b->own.at[key_index(keys[i])];

        if (kept && x.start <= r[kept - 1].end)
            r[kept - 1].end = x.end > r[kept - 1].end ? x.end : r[kept - 1].end;
        else
            r[kept++] = x;
    }
    if (ok && n)
        memcpy(b->own.at, r, kept * sizeof *r);
    b->own.n = kept;
    mem_free(b->mem, r);
    mem_free(b->mem, keys);
    return ok;
}

/* Finds the unit's own code; one that does not say has all of the image. */
static bool find_own(struct build *b, const struct dwarf_unit *u)
{
    b->own.n = b->own_at = 0;
    if (!dwarf_unit_ranges(&b->dwarf, u, add_own, b)) {
        if (!VEC_ROOM(b->mem, &b->own, 1))
            return false;
        b->own.n = 1;
        b->own.at[0] = (struct debug_range){0, UINT32_MAX};
    }
    return settle_own(b);
}

/* Lines between functions: of assembly, or where functions are not described. */
static bool add_bare(struct build *b, uint32_t start, uint32_t end)
{
    while (b->own_at < b->own.n && b->own.at[b->own_at].start < end) {
        struct debug_range r = b->own.at[b->own_at];
        uint32_t from = r.start > start ? r.start : start, to = r.end < end ? r.end : end;

        if (from < to && !add_pieces(b, &b->bare, from, to, DWARF_NONE))
            return false;
        if (r.end > end)
            break;
        b->own_at++;
    }
    return true;
}

static bool visit_function(void *ctx, uint32_t start, uint32_t end, uint32_t node)
{
    struct build *b = ctx;

    if (!add_bare(b, b->at, start) || !add_pieces(b, &b->code, start, end, node))
        return false;
    b->at = end;
    return true;
}

/* Turns one unit into pieces. False only when out of memory. */
static bool add_unit(struct build *b, struct dwarf_unit *u)
{
    struct dwarf_functions *f = &b->functions;

    if (!dwarf_read_functions(&b->dwarf, u, f))
        return false;
    if (u->broken || u->type == 2 || u->type == 6) /* type units have no code */
        return true;
    if (!dwarf_read_lines(&b->dwarf, u, &b->lines) || !find_own(b, u))
        return false;
    b->at = 0;
    b->row = 0;
    b->epoch++;
    b->code.closed = b->bare.closed = true;
    if (sweep(b->mem, f->ranges.at, f->ranges.n, visit_function, b))
        add_bare(b, b->at, UINT32_MAX);
    return !b->mem->failed;
}

static bool put_out(struct build *b, uint32_t start, uint32_t end, uint32_t location)
{
    struct symcache_range *last = b->out.n ? &b->out.at[b->out.n - 1] : NULL;

    if (!VEC_ROOM(b->mem, &b->out, 2))
        return false;
    if (last && b->out_end < start) {
        b->out.at[b->out.n++] = (struct symcache_range){b->out_end, SYMCACHE_NONE};
        last = NULL;
    }
    if (!last || b->out.at[b->out.n - 1].location != location)
        b->out.at[b->out.n++] = (struct symcache_range){start, location};
    b->out_end = end;
    return true;
}

/* The part of a run that lies in [start, end). */
static bool put_run(struct build *b, const struct pieces *p, const struct run *r, uint32_t start,
                    uint32_t end)
{
    const struct symcache_range *piece = p->all.at + r->first;
    size_t low = 0, high = r->n;

    while (high - low > 1) {
        size_t mid = (low + high) / 2;

        if (piece[mid].start <= start)
            low = mid;
        else
            high = mid;
    }
    for (size_t i = low; i < r->n && start < end; i++) {
        uint32_t stop = i + 1 < r->n ? piece[i + 1].start : r->end;

        stop = stop < end ? stop : end;
        if (!put_out(b, start, stop, piece[i].location))
            return false;
        start = stop;
    }
    return true;
}

static bool put_symbol(struct build *b, size_t i, uint32_t start, uint32_t end)
{
    struct symcache_location l = {
        .file = symbol_file(b, i), .function = symbol_name(b, i), .outer = SYMCACHE_NONE};
    uint32_t location = add_location(b, l);

    return location == SYMCACHE_NONE ? !b->mem->failed : put_out(b, start, end, location);
}

/* Tags count through the code's runs, the bare runs and the symbols, in this order of rank. */
static bool visit_all(void *ctx, uint32_t start, uint32_t end, uint32_t tag)
{
    struct build *b = ctx;
    size_t i = tag;

    if (i < b->code.runs.n)
        return put_run(b, &b->code, &b->code.runs.at[i], start, end);
    i -= b->code.runs.n;
    if (i < b->bare.runs.n)
        return put_run(b, &b->bare, &b->bare.runs.at[i], start, end);
    return put_symbol(b, i - b->bare.runs.n, start, end);
}

/* Joins all into one list without overlaps. Where units overlap, the first has it. */
static bool flatten(struct build *b)
{
    size_t n_code = b->code.runs.n, n_bare = b->bare.runs.n, n_symbols = b->image->symbols.n;
    size_t n = n_code + n_bare + n_symbols;
    struct sweep_range *all = mem_alloc(b->mem, n, sizeof *all);

    if (!all || n >= UINT32_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t start, end;

        if (i < n_code) {
            start = b->code.runs.at[i].start;
            end = b->code.runs.at[i].end;
        } else if (i < n_code + n_bare) {
            start = b->bare.runs.at[i - n_code].start;
            end = b->bare.runs.at[i - n_code].end;
        } else {
            start = b->image->symbols.at[i - n_code - n_bare].start;
            end = b->image->symbols.at[i - n_code - n_bare].end;
        }
        all[i] = (struct sweep_range){start, end, (uint32_t)(n - i), (uint32_t)i};
    }

    bool ok = sweep(b->mem, all, n, visit_all, b);

    mem_free(b->mem, all);
    if (ok && b->out.n) {
        ok = VEC_ROOM(b->mem, &b->out, 1);
        if (ok)
            b->out.at[b->out.n++] = (struct symcache_range){b->out_end, SYMCACHE_NONE};
    }
    return ok;
}

static bool init(struct build *b, struct debug_image *image, const struct symcache_options *o)
{
    *b = (struct build){.image = image, .mem = &image->mem};
    b->lines.columns = !(o && o->no_columns);
    b->location_slots = mem_alloc(b->mem, LOCATION_SLOTS, sizeof *b->location_slots);
    b->symbol_names = mem_alloc(b->mem, image->symbols.n, sizeof *b->symbol_names);
    if (!b->location_slots || !b->symbol_names || !strings_init(&b->strings, b->mem, &image->work))
        return false;
    b->strings.hidden = o ? o->hidden : NULL;
    return dwarf_init(&b->dwarf, image, &b->strings);
}

static void fini(struct build *b)
{
    dwarf_free_functions(b->mem, &b->functions);
    dwarf_free_lines(b->mem, &b->lines);
    dwarf_fini(&b->dwarf);
    strings_fini(&b->strings);
    mem_free(b->mem, b->location_slots);
    mem_free(b->mem, b->symbol_names);
    VEC_FREE(b->mem, &b->locations);
    VEC_FREE(b->mem, &b->code.all);
    VEC_FREE(b->mem, &b->code.runs);
    VEC_FREE(b->mem, &b->bare.all);
    VEC_FREE(b->mem, &b->bare.runs);
    VEC_FREE(b->mem, &b->out);
    VEC_FREE(b->mem, &b->own);
}

static bool collect(struct build *b)
{
    for (size_t i = 0; i < b->dwarf.units.n && !b->image->work.spent; i++)
        if (!add_unit(b, &b->dwarf.units.at[i]))
            return false;
    dwarf_free_functions(b->mem, &b->functions);
    dwarf_free_lines(b->mem, &b->lines);
    b->incomplete = b->image->work.spent;
    if (b->incomplete) /* the symbol table is to be had even so */
        b->image->work = (struct work){.left = WORK_PER_SYMBOL * (b->image->symbols.n + 1)};
    return flatten(b) && !b->mem->failed;
}

static uint32_t clip(size_t v)
{
    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static void count(const struct build *b, struct symcache_stats *s)
{
    const struct dwarf_stats *d = &b->dwarf.stats;

    s->counts = (struct symcache_counts){.units = clip(d->units),
                                         .bad_units = clip(d->bad_units),
                                         .split_units = clip(d->split_units),
                                         .functions = clip(d->functions),
                                         .inlined = clip(d->inlined),
                                         .bad_functions = clip(d->bad_functions),
                                         .dead_functions = clip(d->dead_functions),
                                         .deep_inlines = clip(d->deep_inlines),
                                         .bad_lines = clip(d->bad_lines),
                                         .dead_sequences = clip(d->dead_sequences),
                                         .symbols = clip(b->image->symbols.n),
                                         .bad_symbols = clip(b->image->broken_symbols),
                                         .bad_sections = clip(b->image->broken_sections)};
    for (size_t i = 0; i < sizeof s->versions / sizeof *s->versions; i++)
        s->versions[i] = clip(d->versions[i]);
    s->ranges = clip(b->out.n);
    s->locations = clip(b->locations.n);
    s->incomplete = b->incomplete || b->image->work.spent;
}

bool symcache_build(struct debug_image *image, const struct symcache_options *options,
                    symcache_sink *sink, void *ctx, struct symcache_stats *stats, struct err *err)
{
    struct build b;
    struct symcache_stats s = {0};
    bool ok = init(&b, image, options) && collect(&b);

    if (!ok) {
        err_set(err, ERR_TOO_BIG, "more memory than the limit of %zu bytes is needed",
                image->mem.cap);
    } else if (b.out.n == 0) {
        ok = debug_image_damaged(image)
                 ? err_set(err, ERR_INVALID,
                           "damaged: cut short or broken, no symbols of it can be read; "
                           "take the file anew from the build")
                 : err_set(err, ERR_INVALID,
                           "no symbols for its code: neither DWARF nor a symbol table; "
                           "index the file before it is stripped");
    } else {
        struct symcache_content content = {.image = image,
                                           .strings = &b.strings,
                                           .locations = b.locations.at,
                                           .ranges = b.out.at,
                                           .n_locations = b.locations.n,
                                           .n_ranges = b.out.n,
                                           .columns = b.lines.columns};

        count(&b, &s);
        ok = symcache_write(b.mem, &content, sink, ctx, &s, err);
        s.peak_memory_bytes = image->mem.peak;
    }
    fini(&b);
    if (ok && stats)
        *stats = s;
    return ok;
}
