#include "symbols/dwarf.h"
#include "symbols/dwarf_names.h"

#include <string.h>

#define OPCODES 256
#define FORMATS_MAX 16 /* of a DWARF 5 file entry; producers use up to 5 */
#define PATH_BYTES_MAX (16u << 10)

struct program {
    struct cursor c;
    struct dwarf_unit unit; /* a copy, with the widths that hold inside debug_line */
    uint8_t min_length, max_ops, line_range, opcode_base;
    int8_t line_base;
    uint8_t lengths[OPCODES]; /* operands of standard opcodes */
    struct cursor code;
};

/* The registers of the line number machine. */
struct machine {
    uint64_t address;
    uint32_t op_index, file, line, column;
    size_t first;    /* row where the open sequence begins */
    bool open, live; /* a sequence is open; it is at code, its rows are kept */
    bool unordered;  /* an address of it went back */
    uint32_t last;   /* address of its last row */
};

static bool add_file(struct mem *m, struct dwarf_lines *l, const char *name, uint64_t directory)
{
    if (!VEC_ROOM(m, &l->files, 1))
        return false;
    l->files.at[l->files.n++] = (struct dwarf_file){name, directory, 0};
    return true;
}

/* DWARF 2 to 4: strings up to an empty one. */
static bool read_old_files(struct dwarf *d, struct program *p, struct dwarf_lines *l)
{
    struct mem *m = &d->image->mem;
    const char *s;

    while ((s = cursor_string(&p->c)) && s[0] && work_spend(&d->image->work, 1)) {
        if (!VEC_ROOM(m, &l->directories, 1))
            return false;
        l->directories.at[l->directories.n++] = s;
    }
    while ((s = cursor_string(&p->c)) && s[0] && work_spend(&d->image->work, 1)) {
        uint64_t directory = fast_uleb(&p->c);

        fast_uleb(&p->c); /* time, size */
        fast_uleb(&p->c);
        if (!add_file(m, l, s, directory))
            return false;
    }
    return true;
}

struct format {
    uint64_t content[FORMATS_MAX], form[FORMATS_MAX];
    unsigned n;
};

static void read_format(struct cursor *c, struct format *f)
{
    f->n = fast_u8(c);
    if (f->n > FORMATS_MAX) {
        c->failed = true;
        f->n = 0;
    }
    for (unsigned i = 0; i < f->n; i++) {
        f->content[i] = fast_uleb(c);
        f->form[i] = fast_uleb(c);
        if (f->form[i] > UINT16_MAX || f->form[i] == DW_FORM_implicit_const)
            c->failed = true;
    }
}

static void read_format_entry(struct dwarf *d, struct program *p, const struct format *f,
                              struct dwarf_file *out)
{
    *out = (struct dwarf_file){0};
    for (unsigned i = 0; i < f->n && !p->c.failed; i++) {
        struct dwarf_value v = dwarf_read(d, &p->unit, &p->c, (unsigned)f->form[i], 0);

        if (f->content[i] == DW_LNCT_path)
            out->name = dwarf_string(d, &p->unit, v);
        else if (f->content[i] == DW_LNCT_directory_index)
            out->directory = v.number;
    }
}

/* One of DWARF 5's two tables; directories have a name alone. */
static bool read_entries(struct dwarf *d, struct program *p, struct dwarf_lines *l,
                         bool directories)
{
    struct mem *m = &d->image->mem;
    struct format f = {0};

    read_format(&p->c, &f);

    uint64_t n = fast_uleb(&p->c);

    if (n > cursor_left(&p->c)) /* an entry has a byte at least */
        p->c.failed = true;
    for (uint64_t i = 0; i < n && !p->c.failed && work_spend(&d->image->work, 1); i++) {
        struct dwarf_file entry;

        read_format_entry(d, p, &f, &entry);
        if (!directories) {
            if (!add_file(m, l, entry.name, entry.directory))
                return false;
            continue;
        }
        if (!VEC_ROOM(m, &l->directories, 1))
            return false;
        l->directories.at[l->directories.n++] = entry.name;
    }
    return true;
}

/* Sets p->code to the program and leaves p->c before the tables of directories and files. */
static bool read_header(const struct dwarf *d, const struct dwarf_unit *u, struct program *p,
                        struct dwarf_lines *l)
{
    const struct debug_section *s = &d->image->sections[DEBUG_LINE];
    struct cursor *c = &p->c;

    *c = cursor_over(s->at, s->size, "debug_line");
    cursor_seek(c, u->lines <= SIZE_MAX ? (size_t)u->lines : SIZE_MAX);
    p->unit = *u;
    p->unit.offset_size = 4;

    uint64_t length = fast_word(c, 4);

    if (length == UINT32_MAX) {
        p->unit.offset_size = 8;
        length = fast_word(c, 8);
    }
    if (c->failed || length > cursor_left(c))
        return false;
    c->end = c->at + length;
    l->version = (uint8_t)fast_word(c, 2);
    if (l->version < 2 || l->version > 5)
        return false;
    if (l->version >= 5) {
        p->unit.address_size = fast_u8(c);
        fast_skip(c, 1); /* segment selector size */
    }

    uint64_t header = fast_word(c, p->unit.offset_size);

    if (c->failed || header > cursor_left(c) ||
        (p->unit.address_size != 4 && p->unit.address_size != 8))
        return false;
    p->code = *c;
    p->code.at += header;
    c->end = p->code.at;
    p->min_length = fast_u8(c);
    p->max_ops = l->version >= 4 ? fast_u8(c) : 1;
    fast_skip(c, 1); /* default is_stmt */
    p->line_base = (int8_t)fast_u8(c);
    p->line_range = fast_u8(c);
    p->opcode_base = fast_u8(c);
    for (unsigned i = 1; i < p->opcode_base; i++)
        p->lengths[i] = fast_u8(c);
    return !c->failed;
}

static void restart(struct machine *m)
{
    *m = (struct machine){.file = 1, .line = 1};
}

static void advance(const struct program *p, struct machine *m, uint64_t operation)
{
    if (p->max_ops <= 1) {
        m->address += p->min_length * operation;
        return;
    }

    uint64_t ops = m->op_index + operation;

    m->address += p->min_length * (ops / p->max_ops);
    m->op_index = (uint32_t)(ops % p->max_ops);
}

/* Records a row of the open sequence; of rows at one address the last stays. */
static bool add_row(struct dwarf *d, struct dwarf_lines *l, struct machine *m, bool closing)
{
    uint32_t address, room;

    if (!m->open) {
        m->open = true;
        m->first = l->rows.n;
        m->live = debug_image_code(d->image, m->address, &address, &room);
        m->last = 0;
    }
    if (!m->live)
        return true;
    if (m->address < d->image->base || m->address - d->image->base >= UINT32_MAX)
        return true;
    address = (uint32_t)(m->address - d->image->base);
    m->unordered = m->unordered || address < m->last;
    m->last = address;

    struct dwarf_row row = {address, closing ? DWARF_NONE : m->file, m->line,
                            l->columns ? m->column : 0};

    if (!closing && l->rows.n > m->first && l->rows.at[l->rows.n - 1].address == address) {
        l->rows.at[l->rows.n - 1] = row;
        return true;
    }
    if (!work_spend(&d->image->work, 1) || !VEC_ROOM(&d->image->mem, &l->rows, 1))
        return false;
    l->rows.at[l->rows.n++] = row;
    return true;
}

/* Rows of a sequence whose addresses went back, brought into order. */
static bool order_rows(struct mem *m, struct dwarf_row *rows, size_t n)
{
    uint64_t *keys = mem_alloc(m, n, sizeof *keys);
    struct dwarf_row *sorted = mem_alloc(m, n, sizeof *sorted);
    bool ok = keys && sorted;

    for (size_t i = 0; ok && i < n; i++)
        keys[i] = sort_key(rows[i].address, i);
    if (ok && sort_keys(m, keys, n)) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = rows[key_index(keys[i])];
        memcpy(rows, sorted, n * sizeof *rows);
    }
    mem_free(m, sorted);
    mem_free(m, keys);
    return ok;
}

static bool end_sequence(struct dwarf *d, struct dwarf_lines *l, struct machine *m)
{
    if (!add_row(d, l, m, true))
        return false;

    size_t n = l->rows.n - m->first;

    if (!m->live) {
        d->stats.dead_sequences++;
        l->rows.n = m->first;
    } else if (m->unordered && !order_rows(&d->image->mem, l->rows.at + m->first, n)) {
        return false;
    } else if (n < 2 || l->rows.at[m->first].address >= l->rows.at[l->rows.n - 1].address) {
        l->rows.n = m->first;
    } else {
        struct dwarf_row *rows = l->rows.at + m->first;

        rows[n - 1].file = DWARF_NONE;
        if (!VEC_ROOM(&d->image->mem, &l->sequences, 1))
            return false;
        l->sequences.at[l->sequences.n++] = (struct dwarf_sequence){
            rows[0].address, rows[n - 1].address, (uint32_t)m->first, (uint32_t)n};
    }
    restart(m);
    return true;
}

static bool extended(struct dwarf *d, struct program *p, struct dwarf_lines *l, struct machine *m)
{
    uint64_t size = fast_uleb(&p->code);

    if (p->code.failed || size > cursor_left(&p->code)) {
        p->code.failed = true;
        return true;
    }
    if (size == 0)
        return true;

    struct cursor c = p->code;

    c.end = c.at + size;
    p->code.at += size;
    switch (fast_u8(&c)) {
    case DW_LNE_end_sequence:
        return end_sequence(d, l, m);
    case DW_LNE_set_address:
        if (size == 5 || size == 9)
            m->address = fast_word(&c, (unsigned)size - 1);
        m->op_index = 0;
        return true;
    case DW_LNE_define_file: {
        const char *name = cursor_string(&c);
        uint64_t directory = fast_uleb(&c);

        return c.failed || add_file(&d->image->mem, l, name, directory);
    }
    default:
        return true;
    }
}

static bool special(struct dwarf *d, const struct program *p, struct dwarf_lines *l,
                    struct machine *m, unsigned opcode)
{
    unsigned adjusted = opcode - p->opcode_base;

    if (p->line_range) {
        advance(p, m, adjusted / p->line_range);
        m->line += (uint32_t)(p->line_base + (int)(adjusted % p->line_range));
    }
    return add_row(d, l, m, false);
}

static bool standard(struct dwarf *d, struct program *p, struct dwarf_lines *l, struct machine *m,
                     unsigned opcode)
{
    struct cursor *c = &p->code;

    switch (opcode) {
    case DW_LNS_copy:
        return add_row(d, l, m, false);
    case DW_LNS_advance_pc:
        advance(p, m, fast_uleb(c));
        return true;
    case DW_LNS_advance_line:
        m->line += (uint32_t)cursor_sleb(c);
        return true;
    case DW_LNS_set_file:
        m->file = (uint32_t)fast_uleb(c);
        return true;
    case DW_LNS_set_column:
        m->column = (uint32_t)fast_uleb(c);
        return true;
    case DW_LNS_const_add_pc:
        if (p->line_range)
            advance(p, m, (255u - p->opcode_base) / p->line_range);
        return true;
    case DW_LNS_fixed_advance_pc:
        m->address += fast_word(c, 2);
        m->op_index = 0;
        return true;
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        return true;
    default: /* unknown ones and set_isa: the header says how many operands */
        for (unsigned i = 0; i < p->lengths[opcode]; i++)
            fast_uleb(c);
        return true;
    }
}

static bool run(struct dwarf *d, struct program *p, struct dwarf_lines *l)
{
    struct machine m;

    restart(&m);
    while (p->code.at < p->code.end && !p->code.failed) {
        unsigned opcode = fast_u8(&p->code);
        bool ok;

        if (opcode >= p->opcode_base)
            ok = special(d, p, l, &m, opcode);
        else if (opcode == 0)
            ok = extended(d, p, l, &m);
        else
            ok = standard(d, p, l, &m, opcode);
        if (!ok || !work_spend(&d->image->work, 1))
            break;
    }
    if (m.open) /* a sequence without an end says nothing */
        l->rows.n = m.first;
    if (p->code.failed || m.open)
        d->stats.bad_lines++;
    return !d->image->mem.failed;
}

static bool in_order(const struct dwarf_lines *l)
{
    for (size_t i = 1; i < l->sequences.n; i++)
        if (l->sequences.at[i].start < l->sequences.at[i - 1].end)
            return false;
    return true;
}

/* Appends a sequence's rows behind those of earlier ones, without what these cover already. */
static void append_sequence(struct dwarf_lines *l, const struct dwarf_sequence *s, uint32_t covered)
{
    const struct dwarf_row *rows = l->rows.at + s->first;

    for (uint32_t i = 0; i < s->n; i++) {
        struct dwarf_row row = rows[i];

        if (row.address < covered) {
            if (i + 1 < s->n && rows[i + 1].address > covered)
                row.address = covered;
            else
                continue;
        }
        l->sorted.at[l->sorted.n++] = row;
    }
}

/* Sequences stand in the order of functions in the source; brings them into that of addresses. */
static bool order_sequences(struct mem *m, struct dwarf_lines *l)
{
    size_t n = l->sequences.n;
    uint64_t *keys = mem_alloc(m, n, sizeof *keys);
    uint32_t covered = 0;

    l->sorted.n = 0;
    if (!keys || !VEC_ROOM(m, &l->sorted, l->rows.n)) {
        mem_free(m, keys);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        keys[i] = sort_key(l->sequences.at[i].start, i);

    bool ok = sort_keys(m, keys, n);

    for (size_t i = 0; ok && i < n; i++) {
        const struct dwarf_sequence *s = &l->sequences.at[key_index(keys[i])];

        if (s->end <= covered)
            continue;
        append_sequence(l, s, covered);
        covered = s->end;
    }
    mem_free(m, keys);
    if (ok) {
        struct dwarf_row *rows = l->rows.at;
        size_t size = l->rows.size;

        l->rows.at = l->sorted.at;
        l->rows.n = l->sorted.n;
        l->rows.size = l->sorted.size;
        l->sorted.at = rows;
        l->sorted.size = size;
    }
    return ok;
}

bool dwarf_read_lines(struct dwarf *d, const struct dwarf_unit *u, struct dwarf_lines *l)
{
    struct program p = {0};
    bool ok = true;

    l->rows.n = l->directories.n = l->files.n = l->sequences.n = 0;
    l->comp_dir = u->comp_dir;
    l->version = 4;
    if (!u->has_lines)
        return true;
    if (!read_header(d, u, &p, l)) {
        d->stats.bad_lines++;
        return true;
    }
    if (l->version >= 5)
        ok = read_entries(d, &p, l, true) && read_entries(d, &p, l, false);
    else
        ok = read_old_files(d, &p, l);
    if (p.c.failed)
        d->stats.bad_lines++;
    return ok && run(d, &p, l) && (in_order(l) || order_sequences(&d->image->mem, l));
}

static bool is_absolute(const char *path)
{
    bool drive = ((path[0] | 32) >= 'a' && (path[0] | 32) <= 'z') && path[1] == ':' &&
                 (path[2] == '\\' || path[2] == '/');

    return path[0] == '/' || drive || (path[0] == '\\' && path[1] == '\\');
}

/* Appends a part, with one slash between. */
static bool append_path(struct mem *m, struct dwarf_lines *l, const char *part)
{
    bool slash = l->path.n && l->path.at[l->path.n - 1] == '/';

    while (slash && part[0] == '/')
        part++;

    size_t len = strnlen(part, PATH_BYTES_MAX);

    if (len == 0)
        return true;
    if (!VEC_ROOM(m, &l->path, len + 1))
        return false;
    if (l->path.n && !slash && part[0] != '/')
        l->path.at[l->path.n++] = '/';
    memcpy(l->path.at + l->path.n, part, len);
    l->path.n += len;
    return true;
}

static const char *directory_of(const struct dwarf_lines *l, const struct dwarf_file *f)
{
    uint64_t index = l->version >= 5 ? f->directory : f->directory - 1;
    const char *name = index < l->directories.n ? l->directories.at[index] : NULL;

    return name ? name : "";
}

static uint32_t join_path(struct dwarf *d, struct dwarf_lines *l, const struct dwarf_file *f)
{
    struct mem *m = &d->image->mem;
    const struct hidden_names *hidden = d->strings->hidden;
    const char *name = hidden_names_reveal(hidden, f->name);
    const char *directory = hidden_names_reveal(hidden, directory_of(l, f));
    bool from_comp_dir = !is_absolute(directory) && (l->version < 5 || f->directory != 0);

    if (is_absolute(name))
        return strings_add(d->strings, name, strnlen(name, PATH_BYTES_MAX));
    l->path.n = 0;
    if ((from_comp_dir && l->comp_dir &&
         !append_path(m, l, hidden_names_reveal(hidden, l->comp_dir))) ||
        !append_path(m, l, directory) || !append_path(m, l, name))
        return 0;
    return strings_copy(d->strings, l->path.at, l->path.n);
}

uint32_t dwarf_file_path(struct dwarf *d, struct dwarf_lines *l, uint32_t file)
{
    uint32_t index = l->version >= 5 ? file : file - 1; /* DWARF 5 counts from 0 */

    if (index >= l->files.n || !l->files.at[index].name)
        return 0;

    struct dwarf_file *f = &l->files.at[index];

    if (!f->string)
        f->string = join_path(d, l, f);
    return f->string;
}

void dwarf_free_lines(struct mem *m, struct dwarf_lines *l)
{
    VEC_FREE(m, &l->rows);
    VEC_FREE(m, &l->directories);
    VEC_FREE(m, &l->files);
    VEC_FREE(m, &l->sequences);
    VEC_FREE(m, &l->sorted);
    VEC_FREE(m, &l->path);
}
