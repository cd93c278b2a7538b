#include "symbols/dwarf.h"
#include "symbols/dwarf_names.h"

/* So that any offset inside is the begin of a string that ends. */
static void close_strings(struct debug_section *s)
{
    while (s->size && s->at[s->size - 1])
        s->size--;
}

/* The unit's header after its length; *c ends at the unit's end. */
static bool read_header(struct cursor *c, struct dwarf_unit *u)
{
    u->version = (uint8_t)fast_word(c, 2);
    if (u->version < 2 || u->version > 5)
        return false;
    u->type = DW_UT_compile;
    if (u->version >= 5) {
        u->type = fast_u8(c);
        u->address_size = fast_u8(c);
        u->abbrev_offset = fast_word(c, u->offset_size);
        if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
            fast_skip(c, 8);
        else if (u->type == DW_UT_type || u->type == DW_UT_split_type)
            fast_skip(c, 8u + u->offset_size);
    } else {
        u->abbrev_offset = fast_word(c, u->offset_size);
        u->address_size = fast_u8(c);
    }
    return !c->failed && (u->address_size == 4 || u->address_size == 8);
}

/* Reads the header at *c and moves behind the unit. False where no further unit can be found. */
static bool next_unit(struct dwarf *d, struct cursor *c, struct dwarf_unit *u)
{
    *u = (struct dwarf_unit){.offset = cursor_offset(c), .offset_size = 4};

    uint64_t length = fast_word(c, 4);

    if (length == UINT32_MAX) {
        length = fast_word(c, 8);
        u->offset_size = 8;
    }
    if (c->failed || length == 0 || length > cursor_left(c)) {
        d->stats.bad_units++;
        return false;
    }

    struct cursor inside = *c;

    inside.end = c->at + length;
    u->broken = !read_header(&inside, u);
    u->dies = cursor_offset(&inside);
    u->end = cursor_offset(c) + length;
    c->at += length;
    d->stats.bad_units += u->broken;
    return true;
}

bool dwarf_init(struct dwarf *d, struct debug_image *image, struct strings *strings)
{
    const struct debug_section *info = &image->sections[DEBUG_INFO];
    struct cursor c = cursor_over(info->at, info->size, "debug_info");
    struct dwarf_unit u;

    *d = (struct dwarf){.image = image, .strings = strings};
    close_strings(&image->sections[DEBUG_STR]);
    close_strings(&image->sections[DEBUG_LINE_STR]);
    while (cursor_left(&c) && work_spend(&image->work, 1) && next_unit(d, &c, &u)) {
        if (!VEC_ROOM(&image->mem, &d->units, 1))
            return false;
        d->units.at[d->units.n++] = u;
        d->stats.units++;
        d->stats.versions[u.broken ? 0 : u.version]++;
    }
    return true;
}

void dwarf_fini(struct dwarf *d)
{
    if (!d->image)
        return;

    struct mem *m = &d->image->mem;

    dwarf_free_abbrevs(d);
    VEC_FREE(m, &d->units);
    mem_free(m, d->names.keys);
    mem_free(m, d->names.values);
    *d = (struct dwarf){0};
}

/* Bases may stand behind what needs them, so both are read first and used afterwards. */
struct root {
    struct dwarf_value low_pc, high_pc, entry_pc, comp_dir;
};

static void take_root_attr(struct dwarf_unit *u, struct root *r, unsigned name,
                           struct dwarf_value v)
{
    switch (name) {
    case DW_AT_low_pc:
        r->low_pc = v;
        break;
    case DW_AT_high_pc:
        r->high_pc = v;
        break;
    case DW_AT_ranges:
        u->ranges_kind = (uint8_t)v.kind;
        u->ranges = v.number;
        break;
    case DW_AT_entry_pc:
        r->entry_pc = v;
        break;
    case DW_AT_comp_dir:
        r->comp_dir = v;
        break;
    case DW_AT_stmt_list:
        u->has_lines = v.kind == DWARF_VALUE_NUMBER;
        u->lines = v.number;
        break;
    case DW_AT_str_offsets_base:
        u->str_offsets_base = v.number;
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        u->addr_base = v.number;
        break;
    case DW_AT_rnglists_base:
        u->rnglists_base = v.number;
        break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        u->split = true;
        break;
    default:
        break;
    }
}

static bool read_root(struct dwarf *d, struct dwarf_unit *u)
{
    const struct debug_section *info = &d->image->sections[DEBUG_INFO];
    const struct dwarf_abbrevs *t = dwarf_abbrevs_of(d, u);
    struct cursor c = cursor_over(info->at, (size_t)u->end, "debug_info");
    struct root r = {0};

    cursor_seek(&c, (size_t)u->dies);

    const struct dwarf_abbrev *a = t ? dwarf_abbrev(t, fast_uleb(&c)) : NULL;

    if (!a || !work_spend(&d->image->work, a->n_attrs))
        return false;
    u->tag = a->tag;
    for (uint32_t i = 0; i < a->n_attrs && !c.failed; i++) {
        const struct dwarf_attr *attr = &t->attrs.at[a->attrs + i];

        take_root_attr(u, &r, attr->name, dwarf_read(d, u, &c, attr->form, attr->constant));
    }
    if (!dwarf_address(d, u, r.low_pc, &u->low_pc))
        dwarf_address(d, u, r.entry_pc, &u->low_pc);
    else if (r.high_pc.kind == DWARF_VALUE_NUMBER)
        u->high_pc = u->low_pc + r.high_pc.number;
    else
        dwarf_address(d, u, r.high_pc, &u->high_pc);
    u->comp_dir = dwarf_string(d, u, r.comp_dir);
    return !c.failed;
}

bool dwarf_load_unit(struct dwarf *d, struct dwarf_unit *u)
{
    if (!u->loaded && !u->broken) {
        u->loaded = true;
        if (!read_root(d, u)) {
            u->broken = true;
            d->stats.bad_units++;
        }
        if (u->split)
            d->stats.split_units++;
    }
    return !u->broken;
}

bool dwarf_unit_ranges(struct dwarf *d, const struct dwarf_unit *u, dwarf_add_range *add, void *ctx)
{
    struct dwarf_value v = {(enum dwarf_class)u->ranges_kind, u->ranges, NULL};

    if (u->high_pc > u->low_pc) {
        add(ctx, u->low_pc, u->high_pc);
        return true;
    }
    return v.kind != DWARF_VALUE_NONE && dwarf_ranges(d, u, v, add, ctx);
}
