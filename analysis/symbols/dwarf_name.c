#include "symbols/dwarf.h"
#include "symbols/dwarf_names.h"

#define FIRST_NAMES 1024u
#define ORIGIN_HOPS 16u

static size_t name_slot(const struct dwarf_names *n, uint64_t key)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (n->size - 1);
}

static void put_name(struct dwarf_names *n, uint64_t key, uint32_t value)
{
    size_t i = name_slot(n, key);

    while (n->keys[i])
        i = (i + 1) & (n->size - 1);
    n->keys[i] = key;
    n->values[i] = value;
}

static bool grow_names(struct dwarf *d)
{
    struct mem *m = &d->image->mem;
    struct dwarf_names bigger = {.size = d->names.size ? 2 * d->names.size : FIRST_NAMES,
                                 .n = d->names.n};

    bigger.keys = mem_alloc(m, bigger.size, sizeof *bigger.keys);
    bigger.values = mem_alloc(m, bigger.size, sizeof *bigger.values);
    if (!bigger.keys || !bigger.values) {
        mem_free(m, bigger.keys);
        mem_free(m, bigger.values);
        return false;
    }
    for (size_t i = 0; i < d->names.size; i++)
        if (d->names.keys[i])
            put_name(&bigger, d->names.keys[i], d->names.values[i]);
    mem_free(m, d->names.keys);
    mem_free(m, d->names.values);
    d->names = bigger;
    return true;
}

static bool known_name(struct dwarf *d, uint64_t offset, uint32_t *value)
{
    struct dwarf_names *n = &d->names;

    if (n->size == 0)
        return false;
    for (size_t i = name_slot(n, offset + 1); n->keys[i]; i = (i + 1) & (n->size - 1)) {
        if (n->keys[i] == offset + 1) {
            *value = n->values[i];
            return true;
        }
        if (!work_spend(&d->image->work, 1))
            return false;
    }
    return false;
}

static struct dwarf_unit *unit_at(struct dwarf *d, uint64_t offset)
{
    size_t low = 0, high = d->units.n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (d->units.at[mid].end <= offset)
            low = mid + 1;
        else
            high = mid;
    }

    struct dwarf_unit *u = low < d->units.n ? &d->units.at[low] : NULL;

    return u && offset >= u->dies && dwarf_load_unit(d, u) ? u : NULL;
}

struct found {
    const char *linkage, *name;
    uint64_t origin;
};

/* Reads the names and the onward reference of the entry at `offset`. */
static bool read_names(struct dwarf *d, uint64_t offset, struct found *f)
{
    const struct debug_section *info = &d->image->sections[DEBUG_INFO];
    struct dwarf_unit *u = unit_at(d, offset);
    const struct dwarf_abbrevs *t = u ? dwarf_abbrevs_of(d, u) : NULL;

    if (!t)
        return false;

    struct cursor c = cursor_over(info->at, (size_t)u->end, "debug_info");

    cursor_seek(&c, (size_t)offset);

    const struct dwarf_abbrev *a = dwarf_abbrev(t, fast_uleb(&c));

    *f = (struct found){0};
    for (uint32_t i = 0; a && i < a->n_attrs && !c.failed && work_spend(&d->image->work, 1); i++) {
        const struct dwarf_attr *attr = &t->attrs.at[a->attrs + i];
        struct dwarf_value v = dwarf_read(d, u, &c, attr->form, attr->constant);

        if (attr->name == DW_AT_linkage_name || attr->name == DW_AT_MIPS_linkage_name)
            f->linkage = dwarf_string(d, u, v);
        else if (attr->name == DW_AT_name)
            f->name = dwarf_string(d, u, v);
        else if (v.kind == DWARF_VALUE_ENTRY && (attr->name == DW_AT_abstract_origin ||
                                                 (attr->name == DW_AT_specification && !f->origin)))
            f->origin = v.number;
    }
    return a && !c.failed;
}

/* The linkage name found first along the references, else the plain name found first. */
static uint32_t resolve(struct dwarf *d, uint64_t offset)
{
    const char *name = NULL;
    struct found f;
    bool linkage = false;

    for (unsigned hop = 0; hop < ORIGIN_HOPS && offset && !linkage && read_names(d, offset, &f);
         hop++) {
        linkage = f.linkage != NULL;
        if (linkage)
            name = f.linkage;
        else if (!name)
            name = f.name;
        offset = f.origin;
    }
    if (!name)
        return 0;

    uint32_t string = strings_add_name(d->strings, name);

    return string << 1 | linkage;
}

static uint32_t name_at(struct dwarf *d, uint64_t offset)
{
    uint32_t value;

    if (known_name(d, offset, &value))
        return value;
    value = resolve(d, offset);
    if (2 * d->names.n < d->names.size || grow_names(d)) {
        put_name(&d->names, offset + 1, value);
        d->names.n++;
    }
    return value;
}

uint32_t dwarf_node_name(struct dwarf *d, struct dwarf_node *n)
{
    if (n->named)
        return n->string;

    uint32_t far = n->origin && !n->is_linkage ? name_at(d, n->origin) : 0;

    if (n->name && (n->is_linkage || !(far & 1)))
        n->string = strings_add_name(d->strings, n->name);
    else
        n->string = far >> 1;
    n->named = true;
    return n->string;
}
