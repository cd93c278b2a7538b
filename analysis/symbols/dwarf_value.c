#include "symbols/dwarf.h"
#include "symbols/dwarf_names.h"

#define LIST_HEADER_32 12u /* of rnglists: where the first list's offsets begin */
#define STR_OFFSETS_HEADER_32 8u

static struct dwarf_value string_at(const struct dwarf *d, enum debug_section_id id,
                                    uint64_t offset)
{
    const struct debug_section *s = &d->image->sections[id];

    if (offset >= s->size) /* dwarf_init cut the section behind its last NUL */
        return (struct dwarf_value){DWARF_VALUE_NONE, 0, NULL};
    return (struct dwarf_value){DWARF_VALUE_STRING, 0, (const char *)s->at + offset};
}

static struct dwarf_value number(enum dwarf_class kind, uint64_t v)
{
    return (struct dwarf_value){kind, v, NULL};
}

static struct dwarf_value skipped(const struct dwarf_unit *u, struct cursor *c, unsigned form)
{
    dwarf_skip(u, c, form);
    return number(DWARF_VALUE_NONE, 0);
}

static struct dwarf_value indirect(const struct dwarf *d, const struct dwarf_unit *u,
                                   struct cursor *c)
{
    uint64_t form = fast_uleb(c);

    if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX) {
        c->failed = true;
        return number(DWARF_VALUE_NONE, 0);
    }
    return dwarf_read(d, u, c, (unsigned)form, 0);
}

/* Long, but flat: one line a form. */
struct dwarf_value dwarf_read(const struct dwarf *d, const struct dwarf_unit *u, struct cursor *c,
                              unsigned form, int64_t constant)
{
    switch (form) {
    case DW_FORM_addr:
        return number(DWARF_VALUE_ADDRESS, fast_word(c, u->address_size));
    case DW_FORM_data1:
        return number(DWARF_VALUE_NUMBER, fast_u8(c));
    case DW_FORM_data2:
        return number(DWARF_VALUE_NUMBER, fast_word(c, 2));
    case DW_FORM_data4:
        return number(DWARF_VALUE_NUMBER, fast_word(c, 4));
    case DW_FORM_data8:
        return number(DWARF_VALUE_NUMBER, fast_word(c, 8));
    case DW_FORM_udata:
        return number(DWARF_VALUE_NUMBER, fast_uleb(c));
    case DW_FORM_sdata:
        return number(DWARF_VALUE_NUMBER, (uint64_t)cursor_sleb(c));
    case DW_FORM_implicit_const:
        return number(DWARF_VALUE_NUMBER, (uint64_t)constant);
    case DW_FORM_sec_offset:
        return number(DWARF_VALUE_NUMBER, fast_word(c, u->offset_size));
    case DW_FORM_ref1:
        return number(DWARF_VALUE_ENTRY, u->offset + fast_u8(c));
    case DW_FORM_ref2:
        return number(DWARF_VALUE_ENTRY, u->offset + fast_word(c, 2));
    case DW_FORM_ref4:
        return number(DWARF_VALUE_ENTRY, u->offset + fast_word(c, 4));
    case DW_FORM_ref8:
        return number(DWARF_VALUE_ENTRY, u->offset + fast_word(c, 8));
    case DW_FORM_ref_udata:
        return number(DWARF_VALUE_ENTRY, u->offset + fast_uleb(c));
    case DW_FORM_ref_addr:
        return number(DWARF_VALUE_ENTRY,
                      fast_word(c, u->version == 2 ? u->address_size : u->offset_size));
    case DW_FORM_string: {
        const char *s = cursor_string(c);

        return (struct dwarf_value){s ? DWARF_VALUE_STRING : DWARF_VALUE_NONE, 0, s};
    }
    case DW_FORM_strp:
        return string_at(d, DEBUG_STR, fast_word(c, u->offset_size));
    case DW_FORM_line_strp:
        return string_at(d, DEBUG_LINE_STR, fast_word(c, u->offset_size));
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
        return number(DWARF_VALUE_STRING_INDEX, fast_uleb(c));
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        return number(DWARF_VALUE_STRING_INDEX, fast_word(c, form - DW_FORM_strx1 + 1));
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
        return number(DWARF_VALUE_ADDRESS_INDEX, fast_uleb(c));
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
        return number(DWARF_VALUE_ADDRESS_INDEX, fast_word(c, form - DW_FORM_addrx1 + 1));
    case DW_FORM_rnglistx:
        return number(DWARF_VALUE_LIST_INDEX, fast_uleb(c));
    case DW_FORM_indirect:
        return indirect(d, u, c);
    default:
        return skipped(u, c, form);
    }
}

void dwarf_skip(const struct dwarf_unit *u, struct cursor *c, unsigned form)
{
    int size = dwarf_form_size(u, form);

    if (size >= 0) {
        fast_skip(c, (unsigned)size);
        return;
    }
    switch (form) {
    case DW_FORM_block1:
        fast_skip(c, fast_u8(c));
        break;
    case DW_FORM_block2:
        fast_skip(c, fast_word(c, 2));
        break;
    case DW_FORM_block4:
        fast_skip(c, fast_word(c, 4));
        break;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        fast_skip(c, fast_uleb(c));
        break;
    case DW_FORM_string:
        cursor_string(c);
        break;
    case DW_FORM_indirect: {
        uint64_t inner = fast_uleb(c);

        if (inner == DW_FORM_indirect || inner == DW_FORM_implicit_const || inner > UINT16_MAX)
            c->failed = true;
        else
            dwarf_skip(u, c, (unsigned)inner);
        break;
    }
    case DW_FORM_sdata:
        cursor_sleb(c);
        break;
    default:
        if (size == -1)
            fast_uleb(c);
        else
            c->failed = true;
    }
}

/* Entry `index` of a table of `size`-byte words that begins at `base` of a section. */
static bool table_word(const struct debug_section *s, uint64_t base, uint64_t index, unsigned size,
                       uint64_t *out)
{
    if (base > s->size || index >= (s->size - base) / size)
        return false;

    struct cursor c = cursor_over(s->at + base + index * size, size, "table");

    *out = fast_word(&c, size);
    return true;
}

const char *dwarf_string(const struct dwarf *d, const struct dwarf_unit *u, struct dwarf_value v)
{
    uint64_t base = u->str_offsets_base, offset;

    if (v.kind == DWARF_VALUE_STRING)
        return v.string;
    if (v.kind != DWARF_VALUE_STRING_INDEX)
        return NULL;
    if (base == 0 && u->version >= 5)
        base = u->offset_size == 8 ? 2 * STR_OFFSETS_HEADER_32 : STR_OFFSETS_HEADER_32;
    if (!table_word(&d->image->sections[DEBUG_STR_OFFSETS], base, v.number, u->offset_size,
                    &offset))
        return NULL;
    return string_at(d, DEBUG_STR, offset).string;
}

bool dwarf_address(const struct dwarf *d, const struct dwarf_unit *u, struct dwarf_value v,
                   uint64_t *address)
{
    if (v.kind == DWARF_VALUE_ADDRESS) {
        *address = v.number;
        return true;
    }
    return v.kind == DWARF_VALUE_ADDRESS_INDEX &&
           table_word(&d->image->sections[DEBUG_ADDR], u->addr_base, v.number, u->address_size,
                      address);
}

/* .debug_ranges: pairs relative to a base, which a pair of -1 and an address changes. */
static bool old_ranges(struct dwarf *d, const struct dwarf_unit *u, uint64_t offset,
                       dwarf_add_range *add, void *ctx)
{
    const struct debug_section *s = &d->image->sections[DEBUG_RANGES];
    struct cursor c = cursor_over(s->at, s->size, "debug_ranges");
    uint64_t base = u->low_pc, select = u->address_size == 4 ? UINT32_MAX : UINT64_MAX;

    if (offset >= s->size)
        return false;
    cursor_seek(&c, (size_t)offset);
    while (work_spend(&d->image->work, 1)) {
        uint64_t low = fast_word(&c, u->address_size), high = fast_word(&c, u->address_size);

        if (c.failed)
            return false;
        if (low == 0 && high == 0)
            return true;
        if (low == select)
            base = high;
        else
            add(ctx, base + low, base + high);
    }
    return false;
}

struct list_reader {
    struct dwarf *d;
    const struct dwarf_unit *u;
    struct cursor c;
    uint64_t base;
};

static uint64_t indexed(struct list_reader *r)
{
    struct dwarf_value v = {DWARF_VALUE_ADDRESS_INDEX, fast_uleb(&r->c), NULL};
    uint64_t address = 0;

    if (!dwarf_address(r->d, r->u, v, &address))
        r->c.failed = true;
    return address;
}

/* Reads one entry of a DWARF 5 list. False at its end or when it is broken. */
static bool list_entry(struct list_reader *r, uint64_t *low, uint64_t *high)
{
    unsigned size = r->u->address_size;

    *low = *high = 0;
    switch (fast_u8(&r->c)) {
    case DW_RLE_end_of_list:
        return false;
    case DW_RLE_base_addressx:
        r->base = indexed(r);
        break;
    case DW_RLE_base_address:
        r->base = fast_word(&r->c, size);
        break;
    case DW_RLE_startx_endx:
        *low = indexed(r);
        *high = indexed(r);
        break;
    case DW_RLE_startx_length:
        *low = indexed(r);
        *high = *low + fast_uleb(&r->c);
        break;
    case DW_RLE_offset_pair:
        *low = r->base + fast_uleb(&r->c);
        *high = r->base + fast_uleb(&r->c);
        break;
    case DW_RLE_start_end:
        *low = fast_word(&r->c, size);
        *high = fast_word(&r->c, size);
        break;
    case DW_RLE_start_length:
        *low = fast_word(&r->c, size);
        *high = *low + fast_uleb(&r->c);
        break;
    default:
        r->c.failed = true;
    }
    return !r->c.failed;
}

static bool new_ranges(struct dwarf *d, const struct dwarf_unit *u, uint64_t offset,
                       dwarf_add_range *add, void *ctx)
{
    const struct debug_section *s = &d->image->sections[DEBUG_RNGLISTS];
    struct list_reader r = {d, u, cursor_over(s->at, s->size, "debug_rnglists"), u->low_pc};
    uint64_t low, high;

    if (offset >= s->size)
        return false;
    cursor_seek(&r.c, (size_t)offset);
    while (list_entry(&r, &low, &high)) {
        if (!work_spend(&d->image->work, 1))
            return false;
        if (low != high)
            add(ctx, low, high);
    }
    return !r.c.failed;
}

bool dwarf_ranges(struct dwarf *d, const struct dwarf_unit *u, struct dwarf_value v,
                  dwarf_add_range *add, void *ctx)
{
    uint64_t base = u->rnglists_base, offset = v.number;

    if (v.kind == DWARF_VALUE_NUMBER)
        return u->version >= 5 ? new_ranges(d, u, offset, add, ctx)
                               : old_ranges(d, u, offset, add, ctx);
    if (v.kind != DWARF_VALUE_LIST_INDEX)
        return false;
    if (base == 0)
        base = u->offset_size == 8 ? LIST_HEADER_32 + 8 : LIST_HEADER_32;
    return table_word(&d->image->sections[DEBUG_RNGLISTS], base, v.number, u->offset_size,
                      &offset) &&
           new_ranges(d, u, base + offset, add, ctx);
}
