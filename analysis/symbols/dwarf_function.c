#include "symbols/dwarf.h"
#include "symbols/dwarf_names.h"

/* What is read of an entry that is a function or an inlined call. */
struct entry {
    struct dwarf_value low, high, ranges, name, linkage;
    uint64_t origin;
    uint32_t call_file, call_line, call_column;
};

static uint32_t clip(uint64_t v)
{
    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX - 1;
}

static void take_attr(struct entry *e, unsigned name, struct dwarf_value v)
{
    switch (name) {
    case DW_AT_low_pc:
        e->low = v;
        break;
    case DW_AT_high_pc:
        e->high = v;
        break;
    case DW_AT_ranges:
        e->ranges = v;
        break;
    case DW_AT_name:
        e->name = v;
        break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        e->linkage = v;
        break;
    case DW_AT_abstract_origin:
        if (v.kind == DWARF_VALUE_ENTRY)
            e->origin = v.number;
        break;
    case DW_AT_specification:
        if (v.kind == DWARF_VALUE_ENTRY && e->origin == 0)
            e->origin = v.number;
        break;
    case DW_AT_call_file:
        e->call_file = clip(v.number);
        break;
    case DW_AT_call_line:
        e->call_line = clip(v.number);
        break;
    case DW_AT_call_column:
        e->call_column = clip(v.number);
        break;
    default:
        break;
    }
}

static void read_entry(const struct dwarf *d, const struct dwarf_unit *u,
                       const struct dwarf_abbrevs *t, const struct dwarf_abbrev *a,
                       struct cursor *c, struct entry *e)
{
    *e = (struct entry){0};
    for (uint32_t i = 0; i < a->n_attrs && !c->failed; i++) {
        const struct dwarf_attr *attr = &t->attrs.at[a->attrs + i];

        switch (attr->name) {
        case DW_AT_low_pc:
        case DW_AT_high_pc:
        case DW_AT_ranges:
        case DW_AT_name:
        case DW_AT_linkage_name:
        case DW_AT_MIPS_linkage_name:
        case DW_AT_abstract_origin:
        case DW_AT_specification:
        case DW_AT_call_file:
        case DW_AT_call_line:
        case DW_AT_call_column:
            take_attr(e, attr->name, dwarf_read(d, u, c, attr->form, attr->constant));
            break;
        default:
            if (attr->size >= 0)
                fast_skip(c, (uint64_t)attr->size);
            else
                dwarf_skip(u, c, attr->form);
        }
    }
}

static void skip_entry(const struct dwarf_unit *u, const struct dwarf_abbrevs *t,
                       const struct dwarf_abbrev *a, struct cursor *c)
{
    for (uint32_t i = 0; i < a->n_steps; i++) {
        unsigned step = t->steps.at[a->steps + i];

        if (step & 0x8000u)
            dwarf_skip(u, c, step & 0x7fffu);
        else
            fast_skip(c, step);
    }
}

#define RANK_DEPTH 24       /* where the depth stands in a range's rank; below it, the order */
#define PENDING 0x80000000u /* a function without code at this depth: see resolve_pending() */

struct walk {
    struct dwarf *d;
    struct dwarf_unit *u;
    struct dwarf_functions *out;
    uint32_t node; /* the one whose ranges are being added */
    size_t added;  /* of them */
    bool dead;     /* one of them was not code */
    bool no_memory;
    uint32_t depth;                       /* of the current entry; enclosing[0 .. depth) are open */
    uint32_t enclosing[DWARF_TREE_DEPTH]; /* nearest node around the children of each open entry,
                                             DWARF_NONE, or PENDING | depth */
    uint64_t pending[DWARF_TREE_DEPTH];   /* offset of that function's entry */
};

static void add_range(void *ctx, uint64_t low, uint64_t high)
{
    struct walk *w = ctx;
    uint32_t start, room;

    if (high <= low)
        return;
    if (!debug_image_code(w->d->image, low, &start, &room)) {
        w->dead = true;
        return;
    }
    if (!VEC_ROOM(&w->d->image->mem, &w->out->ranges, 1)) {
        w->no_memory = true;
        return;
    }

    uint64_t size = high - low;
    uint32_t rank = w->out->nodes.at[w->node].depth << RANK_DEPTH | /* DWARF_INLINE_DEPTH < 256 */
                    ((uint32_t)w->out->ranges.n & ((1u << RANK_DEPTH) - 1));

    w->out->ranges.at[w->out->ranges.n++] =
        (struct sweep_range){start, start + (size < room ? (uint32_t)size : room), rank, w->node};
    w->added++;
}

/* False when the entry's ranges are broken. */
static bool add_ranges(struct walk *w, const struct entry *e)
{
    uint64_t low, high = 0;

    if (dwarf_address(w->d, w->u, e->low, &low) && e->high.kind != DWARF_VALUE_NONE) {
        if (e->high.kind == DWARF_VALUE_NUMBER)
            high = low + e->high.number;
        else if (!dwarf_address(w->d, w->u, e->high, &high))
            return false;
        add_range(w, low, high);
        return true;
    }
    if (e->ranges.kind != DWARF_VALUE_NONE)
        return dwarf_ranges(w->d, w->u, e->ranges, add_range, w);
    /* an index that led nowhere */
    return e->low.kind == DWARF_VALUE_NONE || e->high.kind == DWARF_VALUE_NONE;
}

static bool push_node(struct walk *w, const struct entry *e, uint32_t parent)
{
    const char *linkage = dwarf_string(w->d, w->u, e->linkage);

    if (w->out->nodes.n >= PENDING || !VEC_ROOM(&w->d->image->mem, &w->out->nodes, 1)) {
        w->no_memory = true;
        return false;
    }
    w->node = (uint32_t)w->out->nodes.n;
    w->out->nodes.at[w->out->nodes.n++] =
        (struct dwarf_node){.parent = parent,
                            .depth = parent == DWARF_NONE ? 0 : w->out->nodes.at[parent].depth + 1,
                            .name = linkage ? linkage : dwarf_string(w->d, w->u, e->name),
                            .is_linkage = linkage != NULL,
                            .origin = e->origin,
                            .call_file = e->call_file,
                            .call_line = e->call_line,
                            .call_column = e->call_column};
    return true;
}

/* Most functions without code are declarations and get no node. Where a call inlined into one has
 * code after all (gcc splits functions without being able to say so in DWARF 2), it gets one now.
 */
static uint32_t resolve_pending(struct walk *w, uint32_t pending)
{
    uint32_t depth = pending & ~PENDING;
    struct entry e = {.origin = w->pending[depth]};

    if (!push_node(w, &e, DWARF_NONE))
        return DWARF_NONE;
    for (uint32_t i = depth; i < w->depth; i++)
        if (w->enclosing[i] == pending)
            w->enclosing[i] = w->node;
    return w->node;
}

static uint32_t parent_of(struct walk *w, enum dwarf_kind kind)
{
    uint32_t around = kind == DWARF_INLINED && w->depth ? w->enclosing[w->depth - 1] : DWARF_NONE;

    return around != DWARF_NONE && around >= PENDING ? resolve_pending(w, around) : around;
}

static uint32_t around_codeless(struct walk *w, enum dwarf_kind kind, uint64_t offset)
{
    if (kind == DWARF_INLINED)
        return w->depth ? w->enclosing[w->depth - 1] : DWARF_NONE;
    if (w->depth == DWARF_TREE_DEPTH)
        return DWARF_NONE;
    w->pending[w->depth] = offset;
    return PENDING | w->depth;
}

/* Returns the node that encloses the entry's children. */
static uint32_t take_function(struct walk *w, const struct dwarf_abbrev *a, struct cursor *c,
                              const struct dwarf_abbrevs *t, uint64_t offset)
{
    struct entry e;
    enum dwarf_kind kind = (enum dwarf_kind)a->kind;
    struct dwarf_stats *stats = &w->d->stats;

    if (!work_spend(&w->d->image->work, a->n_attrs)) /* attributes may be of no bytes */
        return DWARF_NONE;
    read_entry(w->d, w->u, t, a, c, &e);
    if (c->failed || (e.low.kind == DWARF_VALUE_NONE && e.ranges.kind == DWARF_VALUE_NONE &&
                      !(a->children && kind == DWARF_INLINED)))
        return around_codeless(w, kind, offset);

    uint32_t parent = parent_of(w, kind);

    if (parent != DWARF_NONE && w->out->nodes.at[parent].depth + 1 >= DWARF_INLINE_DEPTH) {
        stats->deep_inlines++;
        return parent;
    }
    if (!push_node(w, &e, parent))
        return DWARF_NONE;

    uint32_t node = w->node;

    w->added = 0;
    w->dead = false;
    if (!add_ranges(w, &e))
        stats->bad_functions++;
    stats->functions += kind == DWARF_FUNCTION && w->added;
    stats->inlined += kind == DWARF_INLINED && w->added;
    stats->dead_functions += kind == DWARF_FUNCTION && w->dead && !w->added;
    return node;
}

/* Handles one entry. False when the unit's end or a break is reached. */
static bool step(struct walk *w, const struct dwarf_abbrevs *t, struct cursor *c)
{
    uint64_t offset = cursor_offset(c), code = fast_uleb(c);

    if (c->failed)
        return false;
    if (code == 0) {
        if (w->depth)
            w->depth--;
        return true;
    }

    const struct dwarf_abbrev *a = dwarf_abbrev(t, code);

    if (!a || a->kind == DWARF_BROKEN || (a->children && w->depth == DWARF_TREE_DEPTH)) {
        c->failed = true;
        return false;
    }

    uint32_t around = w->depth ? w->enclosing[w->depth - 1] : DWARF_NONE;

    if (a->kind == DWARF_OTHER)
        skip_entry(w->u, t, a, c);
    else
        around = take_function(w, a, c, t, offset);
    if (a->children)
        w->enclosing[w->depth++] = around;
    return !c->failed;
}

bool dwarf_read_functions(struct dwarf *d, struct dwarf_unit *u, struct dwarf_functions *out)
{
    const struct debug_section *info = &d->image->sections[DEBUG_INFO];
    struct cursor c = cursor_over(info->at, (size_t)u->end, "debug_info");
    const struct dwarf_abbrevs *t;
    struct walk w; /* its arrays are written before they are read */

    out->nodes.n = out->ranges.n = 0;
    if (!dwarf_load_unit(d, u) || u->type == DW_UT_type || u->type == DW_UT_split_type)
        return !d->image->mem.failed;
    t = dwarf_abbrevs_of(d, u);
    w.d = d;
    w.u = u;
    w.out = out;
    w.depth = 0;
    w.no_memory = false;
    cursor_seek(&c, (size_t)u->dies);
    while (t && c.at < c.end && work_spend(&d->image->work, 1))
        if (!step(&w, t, &c))
            break;
    if (!t || c.failed || d->image->work.spent)
        d->stats.bad_units++;
    return !w.no_memory && !d->image->mem.failed;
}

void dwarf_free_functions(struct mem *m, struct dwarf_functions *f)
{
    VEC_FREE(m, &f->nodes);
    VEC_FREE(m, &f->ranges);
}
