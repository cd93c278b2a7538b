#include "symbols/dwarf.h"
#include "symbols/dwarf_names.h"

#include <stdlib.h>

#define STEP_FORM 0x8000u /* a step with this bit is a form to skip, else a number of bytes */

static int fixed_form_size(unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    default:
        return -2;
    }
}

int dwarf_form_size(const struct dwarf_unit *u, unsigned form)
{
    switch (form) {
    case DW_FORM_addr:
        return u->address_size;
    case DW_FORM_ref_addr: /* an address in version 2, an offset since */
        return u->version == 2 ? u->address_size : u->offset_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return u->offset_size;
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_exprloc:
    case DW_FORM_string:
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
    case DW_FORM_indirect:
        return -1;
    default:
        return fixed_form_size(form);
    }
}

static void free_table(struct mem *m, struct dwarf_abbrevs *t)
{
    VEC_FREE(m, &t->all);
    VEC_FREE(m, &t->attrs);
    VEC_FREE(m, &t->steps);
}

void dwarf_free_abbrevs(struct dwarf *d)
{
    for (size_t i = 0; i < DWARF_ABBREV_CACHE; i++)
        free_table(&d->image->mem, &d->cache[i]);
}

static enum dwarf_kind kind_of(uint16_t tag)
{
    if (tag == DW_TAG_subprogram)
        return DWARF_FUNCTION;
    return tag == DW_TAG_inlined_subroutine ? DWARF_INLINED : DWARF_OTHER;
}

/* Appends the step that skips one more attribute; neighbours of fixed size become one. */
static bool add_step(struct mem *m, const struct dwarf_unit *u, struct dwarf_abbrevs *t,
                     struct dwarf_abbrev *a, unsigned form)
{
    int size = dwarf_form_size(u, form);
    uint16_t *last = a->n_steps ? &t->steps.at[t->steps.n - 1] : NULL;

    if (size == -2) {
        a->kind = DWARF_BROKEN;
        return true;
    }
    if (size >= 0 && last && !(*last & STEP_FORM) && *last + (unsigned)size < STEP_FORM) {
        *last = (uint16_t)(*last + size);
        return true;
    }
    if (!VEC_ROOM(m, &t->steps, 1))
        return false;
    t->steps.at[t->steps.n++] = (uint16_t)(size >= 0 ? (unsigned)size : STEP_FORM | form);
    a->n_steps++;
    return true;
}

static bool read_attrs(struct dwarf *d, const struct dwarf_unit *u, struct cursor *c,
                       struct dwarf_abbrevs *t, struct dwarf_abbrev *a)
{
    struct mem *m = &d->image->mem;

    while (!c->failed && work_spend(&d->image->work, 1)) {
        uint64_t name = fast_uleb(c), form = fast_uleb(c);
        int64_t constant = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;

        if (name == 0 && form == 0)
            return !c->failed;
        if (form >= STEP_FORM || !VEC_ROOM(m, &t->attrs, 1))
            return false;
        t->attrs.at[t->attrs.n++] =
            (struct dwarf_attr){name <= UINT16_MAX ? (uint16_t)name : 0, (uint16_t)form,
                                dwarf_form_size(u, (unsigned)form), constant};
        a->n_attrs++;
        if (!add_step(m, u, t, a, (unsigned)form))
            return false;
    }
    return false;
}

static int by_code(const void *a, const void *b)
{
    uint32_t x = ((const struct dwarf_abbrev *)a)->code, y = ((const struct dwarf_abbrev *)b)->code;

    return x < y ? -1 : x > y;
}

/* Reads up to the table's end, or as far as it makes sense. */
static bool read_table(struct dwarf *d, const struct dwarf_unit *u, struct dwarf_abbrevs *t)
{
    const struct debug_section *s = &d->image->sections[DEBUG_ABBREV];
    struct cursor c = cursor_over(s->at, s->size, "debug_abbrev");
    uint64_t code;

    cursor_seek(&c, u->abbrev_offset <= SIZE_MAX ? (size_t)u->abbrev_offset : SIZE_MAX);
    t->dense = true;
    while (!c.failed && (code = fast_uleb(&c)) != 0) {
        struct dwarf_abbrev a = {.code = (uint32_t)code,
                                 .attrs = (uint32_t)t->attrs.n,
                                 .steps = (uint32_t)t->steps.n,
                                 .tag = (uint16_t)fast_uleb(&c)};

        a.children = fast_u8(&c) != 0;
        a.kind = (uint8_t)kind_of(a.tag);
        if (code > UINT32_MAX || !read_attrs(d, u, &c, t, &a) ||
            !VEC_ROOM(&d->image->mem, &t->all, 1))
            break;
        t->all.at[t->all.n++] = a;
        t->dense = t->dense && code == t->all.n;
    }
    if (!t->dense && t->all.n)
        qsort(t->all.at, t->all.n, sizeof *t->all.at, by_code);
    return !d->image->mem.failed && t->all.n > 0;
}

const struct dwarf_abbrevs *dwarf_abbrevs_of(struct dwarf *d, const struct dwarf_unit *u)
{
    size_t slot = (size_t)(u->abbrev_offset * 0x9e3779b97f4a7c15u >> 60) % DWARF_ABBREV_CACHE;
    struct dwarf_abbrevs *t = &d->cache[slot];

    if (t->used && t->offset == u->abbrev_offset && t->version == u->version &&
        t->address_size == u->address_size && t->offset_size == u->offset_size)
        return t;
    t->all.n = t->attrs.n = t->steps.n = 0;
    t->offset = u->abbrev_offset;
    t->version = u->version;
    t->address_size = u->address_size;
    t->offset_size = u->offset_size;
    t->used = read_table(d, u, t);
    return t->used ? t : NULL;
}

const struct dwarf_abbrev *dwarf_abbrev(const struct dwarf_abbrevs *t, uint64_t code)
{
    if (t->dense)
        return code - 1 < t->all.n ? &t->all.at[code - 1] : NULL;

    size_t low = 0, high = t->all.n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (t->all.at[mid].code < code)
            low = mid + 1;
        else
            high = mid;
    }
    return low < t->all.n && t->all.at[low].code == code ? &t->all.at[low] : NULL;
}
