/* Traps of DWARF that compilers at hand do not set, in sections written by hand. */
#include "symbols/dwarf_names.h"
#include "symbols_fixture.h"

#define CODE 0x1000u
#define CODE_END 0x3000u

enum {
    TAG_module = 0x1e,
    TAG_class = 0x02,
    CHILDREN = 1,
    LEAF = 0,
    LANGUAGE = 0x13 /* an attribute nobody here reads */
};

struct made {
    struct buf sections[DEBUG_SECTIONS];
    size_t unit; /* where the open unit begins in debug_info */
    struct debug_symbol symbols[4];
    size_t n_symbols;
    uint64_t work;
    struct buf out;
    struct symcache cache;
    struct symcache_stats stats;
};

static void le(struct buf *b, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        buf_byte(b, (uint8_t)(v >> 8 * i));
}

static void text(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s) + 1);
}

static struct buf *info(struct made *m)
{
    return &m->sections[DEBUG_INFO];
}

/* An abbreviation: code, tag, children, then pairs of attribute and form up to 0. */
static void abbrev(struct made *m, unsigned code, unsigned tag, unsigned children, ...)
{
    struct buf *b = &m->sections[DEBUG_ABBREV];
    va_list ap;

    buf_varint(b, code);
    buf_varint(b, tag);
    buf_byte(b, (uint8_t)children);
    va_start(ap, children);
    for (unsigned name; (name = va_arg(ap, unsigned)) != 0;) {
        buf_varint(b, name);
        buf_varint(b, va_arg(ap, unsigned));
    }
    va_end(ap);
    buf_varint(b, 0);
    buf_varint(b, 0);
}

static void begin_unit(struct made *m, unsigned version)
{
    struct buf *b = info(m);

    m->unit = b->len;
    le(b, 0, 4);
    le(b, version, 2);
    if (version >= 5) {
        buf_byte(b, DW_UT_compile);
        buf_byte(b, 8);
        le(b, 0, 4);
    } else {
        le(b, 0, 4);
        buf_byte(b, 8);
    }
}

static void end_unit(struct made *m)
{
    struct buf *b = info(m);
    uint32_t length = (uint32_t)(b->len - m->unit - 4);

    for (unsigned i = 0; i < 4; i++)
        b->at[m->unit + i] = (unsigned char)(length >> 8 * i);
}

/* The next entry's offset within the open unit, for DW_FORM_ref4. */
static uint32_t here(struct made *m)
{
    return (uint32_t)(info(m)->len - m->unit);
}

static void setup(struct made *m)
{
    *m = (struct made){0};
    for (unsigned i = 0; i < DEBUG_SECTIONS; i++)
        buf_init(&m->sections[i], 8 << 20);
    buf_init(&m->out, FIXTURE_MEMORY);
}

static void teardown(struct made *m)
{
    for (unsigned i = 0; i < DEBUG_SECTIONS; i++)
        buf_fini(&m->sections[i]);
    buf_fini(&m->out);
}

/* Indexes what was written, as an image with code at [CODE, CODE_END). */
static void index_made(struct made *m)
{
    struct debug_image image = {.slice = {.format = DEBUG_ELF, .arch = DEBUG_ARCH_ARM64},
                                .address_size = 8,
                                .mem = {.cap = FIXTURE_MEMORY},
                                .work = {.left = m->work ? m->work : 1 << 24}};
    struct err err;

    buf_byte(&m->sections[DEBUG_ABBREV], 0);
    for (unsigned i = 0; i < DEBUG_SECTIONS; i++)
        image.sections[i] =
            (struct debug_section){.at = m->sections[i].at, .size = m->sections[i].len};
    assert_true(VEC_ROOM(&image.mem, &image.code, 1));
    image.code.at[image.code.n++] = (struct debug_range){CODE, CODE_END};
    for (size_t i = 0; i < m->n_symbols; i++) {
        assert_true(VEC_ROOM(&image.mem, &image.symbols, 1));
        image.symbols.at[image.symbols.n++] = m->symbols[i];
    }
    if (!symcache_build(&image, NULL, fixture_sink, &m->out, &m->stats, &err) ||
        !symcache_open(&m->cache, m->out.at, m->out.len, &err))
        fail_msg("%s", err.text);
    debug_image_close(&image);
}

/* The functions at an address, innermost first, joined by " < ". */
static const char *at(const struct made *m, uint64_t address)
{
    static char line[4096];
    struct symcache_frame f[SYMCACHE_FRAMES];
    size_t n = symcache_lookup(&m->cache, address, f, SYMCACHE_FRAMES), len = 0;

    line[0] = '\0';
    for (size_t i = 0; i < n && len < sizeof line; i++)
        len += (size_t)snprintf(line + len, sizeof line - len, "%s%s", i ? " < " : "",
                                f[i].function ? f[i].function : "??");
    return line;
}

/* Abbreviations of most tests: 1 unit, 2 function, 3 function with children, 4 inlined call. */
static void common_abbrevs(struct made *m)
{
    abbrev(m, 1, DW_TAG_compile_unit, CHILDREN, 0);
    abbrev(m, 2, DW_TAG_subprogram, LEAF, DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr,
           DW_AT_high_pc, DW_FORM_addr, 0);
    abbrev(m, 3, DW_TAG_subprogram, CHILDREN, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_addr, 0);
    abbrev(m, 4, DW_TAG_inlined_subroutine, CHILDREN, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_addr, 0);
}

static void function(struct made *m, unsigned code, const char *name, uint64_t low, uint64_t high)
{
    buf_varint(info(m), code);
    text(info(m), name);
    le(info(m), low, 8);
    le(info(m), high, 8);
}

static void a_reference_across_units_is_as_wide_as_its_units_version_says(void **state)
{
    struct made m;
    uint64_t origin;

    (void)state;
    setup(&m);
    abbrev(&m, 1, DW_TAG_compile_unit, CHILDREN, 0);
    abbrev(&m, 2, DW_TAG_subprogram, LEAF, DW_AT_name, DW_FORM_string, 0);
    abbrev(&m, 3, DW_TAG_subprogram, LEAF, DW_AT_abstract_origin, DW_FORM_ref_addr, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_addr, 0);

    begin_unit(&m, 4); /* what both refer to */
    buf_byte(info(&m), 1);
    origin = info(&m)->len;
    buf_byte(info(&m), 2);
    text(info(&m), "shared");
    buf_byte(info(&m), 0);
    end_unit(&m);
    for (unsigned version = 2; version <= 3; version++) {
        begin_unit(&m, version); /* one abbreviation table for all, as dsymutil writes it */
        buf_byte(info(&m), 1);
        buf_byte(info(&m), 3);
        le(info(&m), origin, version == 2 ? 8 : 4);
        le(info(&m), CODE + 0x100 * version, 8);
        le(info(&m), CODE + 0x100 * version + 0x10, 8);
        buf_byte(info(&m), 0);
        end_unit(&m);
    }
    index_made(&m);
    assert_string_equal(at(&m, CODE + 0x208), "shared");
    assert_string_equal(at(&m, CODE + 0x308), "shared");
    assert_int_equal(m.stats.counts.bad_units, 0);
    teardown(&m);
}

static void functions_are_found_under_any_tag(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    common_abbrevs(&m);
    abbrev(&m, 5, TAG_module, CHILDREN, 0);
    abbrev(&m, 6, TAG_class, CHILDREN, 0);
    begin_unit(&m, 4);
    buf_byte(info(&m), 1);
    buf_byte(info(&m), 5);
    buf_byte(info(&m), 6);
    function(&m, 2, "method", CODE, CODE + 8);
    buf_put(info(&m), "\0\0\0", 3);
    end_unit(&m);
    index_made(&m);
    assert_string_equal(at(&m, CODE), "method");
    teardown(&m);
}

static void functions_the_linker_dropped_hide_nothing(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    common_abbrevs(&m);
    begin_unit(&m, 4);
    buf_byte(info(&m), 1);
    function(&m, 2, "dead", 0, CODE + 0x800); /* relocated to 0: reaches over live code */
    function(&m, 2, "tombstone", UINT64_MAX, UINT64_MAX);
    function(&m, 2, "live", CODE, CODE + 8);
    buf_byte(info(&m), 0);
    end_unit(&m);
    index_made(&m);
    assert_string_equal(at(&m, CODE + 4), "live");
    assert_string_equal(at(&m, CODE + 0x100), "");
    assert_int_equal(m.stats.counts.dead_functions, 1);
    teardown(&m);
}

static void a_broken_unit_costs_only_its_own_rest(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    common_abbrevs(&m);
    abbrev(&m, 7, TAG_class, LEAF, LANGUAGE, 0x7e, 0); /* a form nobody knows */
    for (unsigned i = 0; i < 2; i++) {
        begin_unit(&m, 4);
        buf_byte(info(&m), 1);
        function(&m, 2, i ? "second" : "first", CODE + 0x100 * i, CODE + 0x100 * i + 8);
        if (i == 0)
            buf_byte(info(&m), 7);
        function(&m, 2, "after", CODE + 0x100 * i + 0x10, CODE + 0x100 * i + 0x18);
        buf_byte(info(&m), 0);
        end_unit(&m);
    }
    index_made(&m);
    assert_string_equal(at(&m, CODE), "first");
    assert_string_equal(at(&m, CODE + 0x10), "");
    assert_string_equal(at(&m, CODE + 0x100), "second");
    assert_string_equal(at(&m, CODE + 0x110), "after");
    assert_int_equal(m.stats.counts.bad_units, 1);
    teardown(&m);
}

static void the_symbol_table_names_the_outermost_function_and_what_dwarf_leaves_out(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    common_abbrevs(&m);
    begin_unit(&m, 4);
    buf_byte(info(&m), 1);
    function(&m, 3, "plain", CODE, CODE + 0x20);
    function(&m, 4, "inlined", CODE + 8, CODE + 0x10);
    buf_byte(info(&m), 0);
    buf_byte(info(&m), 0);
    function(&m, 2, "unnamed_by_symbols", CODE + 0x40, CODE + 0x48);
    buf_byte(info(&m), 0);
    end_unit(&m);
    m.symbols[0] = (struct debug_symbol){CODE, CODE + 0x18, "_Z5plainv", NULL};
    m.symbols[1] = (struct debug_symbol){CODE + 0x18, CODE + 0x30, "_Z5plainv.cold", NULL};
    m.n_symbols = 2;
    index_made(&m);
    assert_string_equal(at(&m, CODE), "_Z5plainv");
    assert_string_equal(at(&m, CODE + 8), "inlined < _Z5plainv");
    assert_string_equal(at(&m, CODE + 0x18), "_Z5plainv.cold");
    assert_string_equal(at(&m, CODE + 0x28), "_Z5plainv.cold"); /* no DWARF here */
    assert_string_equal(at(&m, CODE + 0x30), "");
    assert_string_equal(at(&m, CODE + 0x40), "unnamed_by_symbols");
    teardown(&m);
}

static void indexed_names_addresses_and_ranges_of_dwarf_5_are_followed(void **state)
{
    struct made m;
    struct buf *offsets, *addresses, *lists;

    (void)state;
    setup(&m);
    abbrev(&m, 1, DW_TAG_compile_unit, CHILDREN, DW_AT_low_pc, DW_FORM_addrx, /* before its base */
           DW_AT_str_offsets_base, DW_FORM_sec_offset, DW_AT_addr_base, DW_FORM_sec_offset,
           DW_AT_rnglists_base, DW_FORM_sec_offset, 0);
    abbrev(&m, 2, DW_TAG_subprogram, LEAF, DW_AT_linkage_name, DW_FORM_strx1, DW_AT_ranges,
           DW_FORM_rnglistx, 0);
    abbrev(&m, 3, DW_TAG_subprogram, LEAF, DW_AT_name, DW_FORM_strx2, DW_AT_low_pc, DW_FORM_addrx1,
           DW_AT_high_pc, DW_FORM_data1, 0);

    offsets = &m.sections[DEBUG_STR_OFFSETS];
    le(offsets, 0, 8);
    text(&m.sections[DEBUG_STR], "");
    le(offsets, m.sections[DEBUG_STR].len, 4);
    text(&m.sections[DEBUG_STR], "in_pieces");
    le(offsets, m.sections[DEBUG_STR].len, 4);
    text(&m.sections[DEBUG_STR], "whole");
    addresses = &m.sections[DEBUG_ADDR];
    le(addresses, 0, 8);
    le(addresses, CODE, 8);
    le(addresses, CODE + 0x400, 8);
    lists = &m.sections[DEBUG_RNGLISTS];
    le(lists, 0, 8);
    le(lists, 1, 4); /* one offset, behind it the list */
    le(lists, 4, 4);
    le(lists, DW_RLE_offset_pair | 0x10 << 8 | 0x20 << 16, 3); /* from the unit's low_pc */
    buf_byte(lists, DW_RLE_base_addressx);
    buf_byte(lists, 1);
    le(lists, DW_RLE_offset_pair | 0x30 << 8 | 0x40 << 16, 3);
    buf_byte(lists, DW_RLE_startx_length);
    buf_byte(lists, 0);
    buf_byte(lists, 4);
    buf_byte(lists, DW_RLE_end_of_list);

    begin_unit(&m, 5);
    buf_byte(info(&m), 1);
    buf_byte(info(&m), 0);
    le(info(&m), 8, 4);
    le(info(&m), 8, 4);
    le(info(&m), 12, 4);
    buf_put(info(&m), "\2\0\0", 3);
    buf_byte(info(&m), 3);
    le(info(&m), 1, 2);
    buf_byte(info(&m), 1);
    buf_byte(info(&m), 8);
    buf_byte(info(&m), 0);
    end_unit(&m);
    index_made(&m);
    assert_string_equal(at(&m, CODE + 0x10), "in_pieces");
    assert_string_equal(at(&m, CODE + 0x430), "in_pieces");
    assert_string_equal(at(&m, CODE), "in_pieces");
    assert_string_equal(at(&m, CODE + 4), "");
    assert_string_equal(at(&m, CODE + 0x407), "whole");
    teardown(&m);
}

static void an_origin_that_leads_in_a_circle_ends(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    abbrev(&m, 1, DW_TAG_compile_unit, CHILDREN, 0);
    abbrev(&m, 2, DW_TAG_subprogram, LEAF, DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0);
    begin_unit(&m, 4);
    buf_byte(info(&m), 1);

    uint32_t self = here(&m);

    buf_byte(info(&m), 2);
    le(info(&m), self, 4);
    le(info(&m), CODE, 8);
    buf_byte(info(&m), 8);
    buf_byte(info(&m), 0);
    end_unit(&m);
    index_made(&m);
    assert_string_equal(at(&m, CODE), "??");
    teardown(&m);
}

static void calls_inlined_too_deep_count_as_their_caller(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    common_abbrevs(&m);
    begin_unit(&m, 4);
    buf_byte(info(&m), 1);
    function(&m, 3, "outer", CODE, CODE + 0x10);
    for (unsigned i = 0; i < 300; i++)
        function(&m, 4, "again", CODE, CODE + 0x10);
    for (unsigned i = 0; i < 302; i++)
        buf_byte(info(&m), 0);
    end_unit(&m);
    index_made(&m);

    struct symcache_frame f[SYMCACHE_FRAMES];

    assert_int_equal(symcache_lookup(&m.cache, CODE, f, SYMCACHE_FRAMES), 250);
    assert_string_equal(f[249].function, "outer");
    assert_int_equal(m.stats.counts.deep_inlines, 51);
    teardown(&m);
}

static void a_tree_deeper_than_the_limit_is_left_where_it_gets_there(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    common_abbrevs(&m);
    abbrev(&m, 5, TAG_module, CHILDREN, 0);
    begin_unit(&m, 4);
    buf_byte(info(&m), 1);
    function(&m, 2, "before", CODE, CODE + 8);
    for (unsigned i = 0; i < 5000; i++)
        buf_byte(info(&m), 5);
    function(&m, 2, "too_deep", CODE + 0x10, CODE + 0x18);
    end_unit(&m);
    index_made(&m);
    assert_string_equal(at(&m, CODE), "before");
    assert_string_equal(at(&m, CODE + 0x10), "");
    assert_int_equal(m.stats.counts.bad_units, 1);
    teardown(&m);
}

/* Quadratic on purpose: each of many functions names the same long list of ranges. */
static void work_is_limited_and_what_was_read_stays(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    abbrev(&m, 1, DW_TAG_compile_unit, CHILDREN, 0);
    abbrev(&m, 2, DW_TAG_subprogram, LEAF, DW_AT_name, DW_FORM_string, DW_AT_ranges,
           DW_FORM_sec_offset, 0);
    for (unsigned i = 0; i < 2000; i++) {
        le(&m.sections[DEBUG_RANGES], CODE + 2 * (i % 4000), 8);
        le(&m.sections[DEBUG_RANGES], CODE + 2 * (i % 4000) + 1, 8);
    }
    le(&m.sections[DEBUG_RANGES], 0, 8);
    le(&m.sections[DEBUG_RANGES], 0, 8);
    begin_unit(&m, 4);
    buf_byte(info(&m), 1);
    for (unsigned i = 0; i < 2000; i++) {
        buf_byte(info(&m), 2);
        text(info(&m), "f");
        le(info(&m), 0, 4);
    }
    buf_byte(info(&m), 0);
    end_unit(&m);
    m.work = 300000;
    m.symbols[0] = (struct debug_symbol){CODE_END - 8, CODE_END, "symbol", NULL};
    m.n_symbols = 1;
    index_made(&m);
    assert_true(m.stats.incomplete);
    assert_true(m.cache.incomplete);
    assert_string_equal(at(&m, CODE_END - 1), "symbol");
    teardown(&m);
}

/* The same with attributes that take no bytes: a megabyte of entries times thousands of them. */
static void attributes_without_bytes_cost_work_too(void **state)
{
    struct made m;
    struct buf *b;

    (void)state;
    setup(&m);
    abbrev(&m, 1, DW_TAG_compile_unit, CHILDREN, 0);
    b = &m.sections[DEBUG_ABBREV];
    buf_put(b, "\2\x2e\0", 3); /* 2: function, no children */
    for (unsigned i = 0; i < 200000; i++)
        buf_put(b, "\x3f\x19", 2); /* external, flag_present */
    buf_put(b, "\0\0", 2);
    begin_unit(&m, 4);
    buf_byte(info(&m), 1);
    for (unsigned i = 0; i < 1000000; i++)
        buf_byte(info(&m), 2);
    buf_byte(info(&m), 0);
    end_unit(&m);
    m.symbols[0] = (struct debug_symbol){CODE, CODE + 8, "symbol", NULL};
    m.n_symbols = 1;
    index_made(&m);
    assert_true(m.stats.incomplete);
    assert_string_equal(at(&m, CODE), "symbol");
    teardown(&m);
}

static void of_units_that_overlap_the_first_has_it(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    common_abbrevs(&m);
    for (unsigned i = 0; i < 2; i++) {
        begin_unit(&m, 4);
        buf_byte(info(&m), 1);
        function(&m, 2, i ? "second" : "first", CODE + 0x10 * i, CODE + 0x10 * i + 0x20);
        buf_byte(info(&m), 0);
        end_unit(&m);
    }
    index_made(&m);
    assert_string_equal(at(&m, CODE + 0x0f), "first");
    assert_string_equal(at(&m, CODE + 0x1f), "first");
    assert_string_equal(at(&m, CODE + 0x20), "second");
    assert_string_equal(at(&m, CODE + 0x30), "");
    teardown(&m);
}

/* gcc writes this in strict DWARF 2: it cannot say that the function has two ranges. */
static void a_call_with_code_in_a_function_without_gets_its_name(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    common_abbrevs(&m);
    abbrev(&m, 5, DW_TAG_subprogram, CHILDREN, DW_AT_name, DW_FORM_string, 0);
    abbrev(&m, 6, 0x0b /* lexical block */, CHILDREN, 0);
    begin_unit(&m, 2);
    buf_byte(info(&m), 1);
    buf_byte(info(&m), 5);
    text(info(&m), "split");
    buf_byte(info(&m), 6);
    function(&m, 4, "one", CODE, CODE + 8);
    buf_byte(info(&m), 0);
    function(&m, 4, "two", CODE + 0x10, CODE + 0x18);
    buf_put(info(&m), "\0\0\0\0", 4);
    end_unit(&m);
    index_made(&m);
    assert_string_equal(at(&m, CODE), "one < split");
    assert_string_equal(at(&m, CODE + 0x10), "two < split");
    teardown(&m);
}

/* gcc also writes the cold half as a function of its own, behind the one it was split from. */
static void a_function_over_calls_of_another_does_not_hide_them(void **state)
{
    struct made m;

    (void)state;
    setup(&m);
    common_abbrevs(&m);
    begin_unit(&m, 2);
    buf_byte(info(&m), 1);
    function(&m, 3, "hot", CODE, CODE + 0x40);
    function(&m, 4, "call", CODE + 0x110, CODE + 0x118);
    buf_put(info(&m), "\0\0", 2);
    function(&m, 2, "cold", CODE + 0x100, CODE + 0x140);
    buf_byte(info(&m), 0);
    end_unit(&m);
    index_made(&m);
    assert_string_equal(at(&m, CODE + 0x110), "call < hot");
    assert_string_equal(at(&m, CODE + 0x118), "cold");
    teardown(&m);
}

static void lines_outside_a_units_own_code_are_not_used(void **state)
{
    static const unsigned char program[] = {0,
                                            9,
                                            DW_LNE_set_address,
                                            0x00,
                                            0x10,
                                            0,
                                            0,
                                            0,
                                            0,
                                            0,
                                            0,
                                            DW_LNS_copy,
                                            DW_LNS_advance_pc,
                                            0x40,
                                            DW_LNS_advance_line,
                                            4,
                                            DW_LNS_copy,
                                            DW_LNS_advance_pc,
                                            0x40,
                                            0,
                                            1,
                                            DW_LNE_end_sequence};
    static const unsigned char lengths[12] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    struct made m;
    struct buf *line;

    (void)state;
    setup(&m);
    abbrev(&m, 1, DW_TAG_compile_unit, LEAF, DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, DW_AT_comp_dir, DW_FORM_string, 0);
    begin_unit(&m, 4);
    buf_byte(info(&m), 1);
    le(info(&m), 0, 4);
    le(info(&m), CODE, 8);
    buf_byte(info(&m), 0x50);
    text(info(&m), "/game/");
    end_unit(&m);
    line = &m.sections[DEBUG_LINE];
    le(line, 0, 4);
    le(line, 4, 2);
    le(line, 6 + sizeof lengths + 1 + 9, 4);
    buf_put(line, "\1\1\1\xfb\x0e\x0d", 6); /* lengths 1, line base -5, range 14, opcodes 13 */
    buf_put(line, lengths, sizeof lengths);
    buf_byte(line, 0); /* no directories */
    buf_put(line, "a.S\0\0\0\0\0", 8);
    buf_byte(line, 0);
    buf_put(line, program, sizeof program);
    line->at[0] = (unsigned char)(line->len - 4);
    index_made(&m);

    struct symcache_frame f;

    assert_int_equal(symcache_lookup(&m.cache, CODE + 0x3f, &f, 1), 1);
    assert_string_equal(f.file, "/game/a.S");
    assert_int_equal(f.line, 1);
    assert_null(f.function);
    assert_int_equal(symcache_lookup(&m.cache, CODE + 0x4f, &f, 1), 1);
    assert_int_equal(f.line, 5);
    assert_int_equal(symcache_lookup(&m.cache, CODE + 0x50, &f, 1), 0);
    teardown(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reference_across_units_is_as_wide_as_its_units_version_says),
        cmocka_unit_test(functions_are_found_under_any_tag),
        cmocka_unit_test(functions_the_linker_dropped_hide_nothing),
        cmocka_unit_test(a_broken_unit_costs_only_its_own_rest),
        cmocka_unit_test(the_symbol_table_names_the_outermost_function_and_what_dwarf_leaves_out),
        cmocka_unit_test(indexed_names_addresses_and_ranges_of_dwarf_5_are_followed),
        cmocka_unit_test(an_origin_that_leads_in_a_circle_ends),
        cmocka_unit_test(calls_inlined_too_deep_count_as_their_caller),
        cmocka_unit_test(a_tree_deeper_than_the_limit_is_left_where_it_gets_there),
        cmocka_unit_test(work_is_limited_and_what_was_read_stays),
        cmocka_unit_test(attributes_without_bytes_cost_work_too),
        cmocka_unit_test(of_units_that_overlap_the_first_has_it),
        cmocka_unit_test(a_call_with_code_in_a_function_without_gets_its_name),
        cmocka_unit_test(a_function_over_calls_of_another_does_not_hide_them),
        cmocka_unit_test(lines_outside_a_units_own_code_are_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
