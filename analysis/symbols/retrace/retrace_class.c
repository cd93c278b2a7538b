#include "symbols/retrace/retrace_build_parts.h"

#include <stdlib.h>

#define FIRST_SLOTS 1024u

static bool grow_slots(struct mem *m, struct slots *s, uint32_t (*hash)(void *, uint32_t),
                       void *ctx)
{
    size_t n = s->n ? 2 * s->n : FIRST_SLOTS;
    uint32_t *at = mem_alloc(m, n, sizeof *at);

    if (!at)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->at[i])
            continue;

        size_t slot = hash(ctx, s->at[i] - 1) & (n - 1);

        while (at[slot])
            slot = (slot + 1) & (n - 1);
        at[slot] = s->at[i];
    }
    mem_free(m, s->at);
    s->at = at;
    s->n = n;
    return true;
}

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(h ^ h >> 32);
}

static uint32_t signature_hash(void *ctx, uint32_t number)
{
    const struct retrace_builder *b = ctx;
    const struct retrace_signature_row *s = &b->t.signatures.at[number];

    return mix(mix(mix(s->class, s->name), s->return_type), s->arguments);
}

static uint32_t class_hash(void *ctx, uint32_t number)
{
    const struct retrace_builder *b = ctx;

    return mix(b->t.classes.at[number].name, 0);
}

uint32_t retrace_signature_add(struct retrace_builder *b, struct retrace_signature_row row)
{
    struct slots *s = &b->signature_slots;

    if (2 * s->used >= s->n && !grow_slots(&b->t.mem, s, signature_hash, b))
        return RETRACE_NONE;
    if (!VEC_ROOM(&b->t.mem, &b->t.signatures, 1) || !VEC_ROOM(&b->t.mem, &b->signature_flags, 1))
        return RETRACE_NONE;

    uint32_t number = (uint32_t)b->t.signatures.n;

    b->t.signatures.at[number] = row;

    size_t slot = signature_hash(b, number) & (s->n - 1);

    for (; s->at[slot]; slot = (slot + 1) & (s->n - 1))
        if (memcmp(&b->t.signatures.at[s->at[slot] - 1], &row, sizeof row) == 0)
            return s->at[slot] - 1;
    s->at[slot] = number + 1;
    s->used++;
    b->t.signatures.n++;
    b->signature_flags.at[b->signature_flags.n++] = 0;
    return number;
}

void retrace_class_begin(struct retrace_builder *b, struct span original, struct span name)
{
    struct slots *s = &b->class_slots;
    struct retrace_class_row row = {retrace_add_string(b, name), retrace_add_string(b, original), 0,
                                    (uint32_t)b->t.methods.n};

    if (2 * s->used >= s->n && !grow_slots(&b->t.mem, s, class_hash, b))
        return;
    if (b->t.mem.failed || !VEC_ROOM(&b->t.mem, &b->t.classes, 1))
        return;
    b->in_class = true;

    size_t slot = mix(row.name, 0) & (s->n - 1);

    for (; s->at[slot]; slot = (slot + 1) & (s->n - 1))
        if (b->t.classes.at[s->at[slot] - 1].name == row.name) {
            b->skip_class = true;
            b->t.counts.duplicate_classes++;
            return;
        }
    s->at[slot] = (uint32_t)b->t.classes.n + 1;
    s->used++;
    b->t.classes.at[b->t.classes.n++] = row;
    b->t.counts.classes++;
}

static int compare_items(const void *a, const void *b, void *ctx)
{
    const struct retrace_builder *builder = ctx;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    uint32_t n = builder->items.at[i].name, m = builder->items.at[k].name;
    const struct strings_entry *strings = builder->t.strings.all.at;

    if (n != m)
        return strcmp(strings[n].at, strings[m].at);
    return i < k ? -1 : i > k;
}

static struct item *ordered(const struct retrace_builder *b, size_t i)
{
    return &b->items.at[b->order.at[i]];
}

static bool same_lines(const struct item *a, const struct item *b)
{
    return a->range.from != RETRACE_NONE && a->range.from == b->range.from &&
           a->range.to == b->range.to;
}

/* One behind the inline stack that begins at i: lines in a row for the same range. */
static size_t end_of_stack(const struct retrace_builder *b, size_t i, size_t end)
{
    for (i++; i < end && same_lines(ordered(b, i - 1), ordered(b, i)); i++)
        ;
    return i;
}

static uint32_t outermost(const struct retrace_builder *b, size_t stack_end)
{
    return ordered(b, stack_end - 1)->range.signature;
}

/* Flags belong to methods, by their outermost frames, wherever in the method the comment stands. */
static void gather_flags(struct retrace_builder *b, size_t i, size_t end)
{
    while (i < end) {
        i = end_of_stack(b, i, end);
        b->signature_flags.at[outermost(b, i)] |= (uint8_t)ordered(b, i - 1)->flags;
    }
}

static void forget_flags(struct retrace_builder *b, size_t i, size_t end)
{
    for (; i < end; i++)
        b->signature_flags.at[ordered(b, i)->range.signature] = 0;
}

/* Hands the item's infos over, now that its range's number is known. */
static bool add_infos(struct retrace_builder *b, const struct item *item)
{
    for (uint32_t at = item->first_info; at; at = b->pending.at[at - 1].next) {
        if (!VEC_ROOM(&b->t.mem, &b->t.infos, 1))
            return false;

        struct retrace_info_row *row = &b->t.infos.at[b->t.infos.n++];

        *row = b->pending.at[at - 1].row;
        row->range = (uint32_t)b->t.ranges.n;
    }
    return true;
}

/* Adds the ranges [i, end) as one group. */
static bool add_group(struct retrace_builder *b, size_t i, size_t end)
{
    struct retrace_tables *t = &b->t;
    uint32_t flags = b->signature_flags.at[outermost(b, end)];
    bool in_order = ordered(b, i)->range.from != RETRACE_NONE;

    for (size_t k = i + 1; k < end; k++) {
        const struct item *last = ordered(b, k - 1), *item = ordered(b, k);

        in_order &= item->range.from != RETRACE_NONE &&
                    (same_lines(last, item) || item->range.from > last->range.to);
    }
    if (!VEC_ROOM(&t->mem, &t->groups, 1) || !VEC_ROOM(&t->mem, &t->ranges, end - i))
        return false;
    t->groups.at[t->groups.n++] =
        (struct retrace_group_row){(uint32_t)t->ranges.n, flags | (in_order ? RETRACE_ORDERED : 0)};
    for (; i < end; i++) {
        struct item *item = ordered(b, i);

        item->range.infos = item->first_info != 0;
        if (!add_infos(b, item))
            return false;
        t->ranges.at[t->ranges.n++] = item->range;
    }
    return true;
}

/* Groups of the lines [i, end) of one obfuscated name: a group ends where the outermost method
 * changes. As in R8, they are one group where the first and the last method are the same. */
static bool add_groups(struct retrace_builder *b, size_t i, size_t end)
{
    size_t group = i, stack = end_of_stack(b, i, end);

    if (outermost(b, stack) == outermost(b, end))
        return add_group(b, i, end);
    while (stack < end) {
        size_t next = end_of_stack(b, stack, end);

        if (outermost(b, next) != outermost(b, stack)) {
            if (!add_group(b, group, stack))
                return false;
            group = stack;
        }
        stack = next;
    }
    return add_group(b, group, end);
}

static bool add_methods(struct retrace_builder *b)
{
    struct retrace_tables *t = &b->t;

    for (size_t i = 0, end; i < b->items.n; i = end) {
        uint32_t name = ordered(b, i)->name;

        for (end = i + 1; end < b->items.n && ordered(b, end)->name == name; end++)
            ;
        if (!VEC_ROOM(&t->mem, &t->methods, 1))
            return false;
        t->methods.at[t->methods.n++] = (struct retrace_method_row){name, (uint32_t)t->groups.n};
        gather_flags(b, i, end);
        if (!add_groups(b, i, end))
            return false;
        forget_flags(b, i, end);
    }
    return true;
}

void retrace_class_end(struct retrace_builder *b)
{
    size_t n = b->items.n;

    if (n && !b->t.mem.failed && VEC_ROOM(&b->t.mem, &b->order, n)) {
        for (size_t i = 0; i < n; i++)
            b->order.at[i] = (uint32_t)i;
        qsort_r(b->order.at, n, sizeof *b->order.at, compare_items, b);
        if (!add_methods(b))
            b->t.mem.failed = true;
    }
    b->items.n = b->pending.n = 0;
    b->in_class = b->skip_class = b->member = false;
    b->last = NO_ITEM;
}
