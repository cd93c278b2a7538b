/*
 * Call frame information as in DWARF 5, section 6.4, in the .eh_frame form of the Linux Standard
 * Base 5.0 (Core, 10.6), found through the sorted table of .eh_frame_hdr.
 */
#include "platform/peek.h"
#include "platform/unwind.h"

#include <string.h>

#define MAX_INSTRUCTIONS 4096
#define MAX_EXPRESSION_STEPS 256
#define MAX_EXPRESSION_STACK 16
#define MAX_REMEMBERED 8
#define MAX_TABLE 4194304u
#define MAX_RECORD_BYTES (1u << 20)

/* Pointer encodings. */
enum { PE_ABSOLUTE = 0x00, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_INDIRECT = 0x80, PE_OMIT = 0xff };

static uint64_t read_encoded(struct fw_peeker *p, uint8_t encoding, uint64_t data_base)
{
    uint64_t at = p->at, value;

    switch (encoding & 0x0f) {
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x0c: /* sdata8 */
        value = fw_peek_le(p, 8);
        break;
    case 0x01:
        value = fw_peek_uleb(p);
        break;
    case 0x02:
        value = fw_peek_le(p, 2);
        break;
    case 0x03:
        value = fw_peek_le(p, 4);
        break;
    case 0x09:
        value = (uint64_t)fw_peek_sleb(p);
        break;
    case 0x0a:
        value = (uint64_t)(int16_t)fw_peek_le(p, 2);
        break;
    case 0x0b:
        value = (uint64_t)(int32_t)fw_peek_le(p, 4);
        break;
    default:
        p->failed = true;
        return 0;
    }
    if ((encoding & 0x70) == PE_PCREL)
        value += at;
    else if ((encoding & 0x70) == PE_DATAREL)
        value += data_base;
    else if ((encoding & 0x70) != PE_ABSOLUTE)
        p->failed = true;
    return value;
}

static bool table_entry(uint64_t table, uint64_t i, int32_t entry[2])
{
    return fw_peek(table + i * 8, entry, 8);
}

/* The record that the sorted table names for pc: the last whose start is not behind pc. */
static bool find_fde(const struct fw_module *m, uint64_t pc, uint64_t *fde)
{
    struct fw_peeker p;
    int32_t entry[2];

    fw_peeker_init(&p, m->eh_frame_hdr, m->end);

    uint8_t version = fw_peek_u8(&p), frame_encoding = fw_peek_u8(&p);
    uint8_t count_encoding = fw_peek_u8(&p), table_encoding = fw_peek_u8(&p);
    if (version != 1 || count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | 0x0b))
        return false;
    read_encoded(&p, frame_encoding, m->eh_frame_hdr);

    uint64_t low = 0, high = read_encoded(&p, count_encoding, m->eh_frame_hdr), table = p.at;
    if (p.failed || high > MAX_TABLE)
        return false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (!table_entry(table, middle, entry))
            return false;
        if (m->eh_frame_hdr + (uint64_t)(int64_t)entry[0] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || !table_entry(table, low - 1, entry))
        return false;
    *fde = m->eh_frame_hdr + (uint64_t)(int64_t)entry[1];
    return true;
}

struct cie {
    uint64_t code_align, ra;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool signal_frame, augmented;
    struct fw_peeker program;
};

/* Sets p to the body of the record at address; its end is the record's. *id_at: where the id lies.
 */
static bool open_record(const struct fw_module *m, uint64_t address, struct fw_peeker *p,
                        uint64_t *id_at, uint32_t *id)
{
    fw_peeker_init(p, address, m->end);

    uint64_t length = fw_peek_le(p, 4);
    if (length == 0xffffffff)
        length = fw_peek_le(p, 8);
    if (p->failed || length < 4 || length > MAX_RECORD_BYTES || length > p->end - p->at)
        return false;
    p->end = p->at + length;
    *id_at = p->at;
    *id = (uint32_t)fw_peek_le(p, 4);
    return !p->failed;
}

static void read_augmentation(struct cie *c, struct fw_peeker *p, const char *text)
{
    uint64_t length = fw_peek_uleb(p), end = p->at + length;

    c->augmented = true;
    for (; *text && !p->failed; text++) {
        uint8_t encoding;

        switch (*text) {
        case 'R':
            c->pointer_encoding = fw_peek_u8(p);
            break;
        case 'P':
            encoding = fw_peek_u8(p);
            read_encoded(p, encoding & 0x0f, 0);
            break;
        case 'L':
            fw_peek_u8(p);
            break;
        case 'S':
            c->signal_frame = true;
            break;
        case 'B': /* arm64: signed with the B key */
        case 'G':
            break;
        default:
            p->failed = true;
        }
    }
    if (p->at > end || end > p->end)
        p->failed = true;
    p->at = end;
}

static bool read_cie(const struct fw_module *m, uint64_t address, struct cie *c)
{
    struct fw_peeker *p = &c->program;
    char augmentation[8] = "";
    uint64_t id_at;
    uint32_t id;

    if (!open_record(m, address, p, &id_at, &id) || id != 0)
        return false;

    uint8_t version = fw_peek_u8(p);
    for (size_t i = 0; i < sizeof augmentation; i++)
        if (!(augmentation[i] = (char)fw_peek_u8(p)))
            break;
    if ((version != 1 && version != 3) || augmentation[sizeof augmentation - 1])
        return false;
    c->code_align = fw_peek_uleb(p);
    c->data_align = fw_peek_sleb(p);
    c->ra = version == 1 ? fw_peek_u8(p) : fw_peek_uleb(p);
    if (augmentation[0] == 'z')
        read_augmentation(c, p, augmentation + 1);
    else if (augmentation[0])
        return false;
    return !p->failed && c->ra < fw_arch.regs;
}

enum rule { SAME, UNDEFINED, AT_OFFSET, IS_OFFSET, IN_REGISTER, AT_EXPRESSION, IS_EXPRESSION };

struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    uint64_t cfa_expression; /* address of its length, 0: register + offset */
    unsigned char rule[FW_MAX_REGS];
    int64_t value[FW_MAX_REGS]; /* offset, register or address of an expression's length */
};

struct machine {
    const struct fw_module *module;
    const struct fw_stack_copy *stack;
    struct fw_regs *regs;
    struct cie cie;
    struct row row, initial, remembered[MAX_REMEMBERED];
    unsigned n_remembered;
    uint64_t location, pc;
};

static void set_rule(struct machine *m, uint64_t reg, enum rule rule, int64_t value)
{
    if (reg >= fw_arch.regs)
        return;
    m->row.rule[reg] = (unsigned char)rule;
    m->row.value[reg] = value;
}

static void restore(struct machine *m, uint64_t reg)
{
    if (reg >= fw_arch.regs)
        return;
    m->row.rule[reg] = m->initial.rule[reg];
    m->row.value[reg] = m->initial.value[reg];
}

/* Keeps where the block lies and steps over it. */
static int64_t take_block(struct fw_peeker *p)
{
    uint64_t at = p->at, n = fw_peek_uleb(p);

    if (n > p->end - p->at)
        p->failed = true;
    else
        p->at += n;
    return (int64_t)at;
}

static int64_t scaled(const struct machine *m, uint64_t n)
{
    return (int64_t)n * m->cie.data_align;
}

static void define_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
    m->row.cfa_register = reg;
    m->row.cfa_offset = offset;
    m->row.cfa_expression = 0;
}

enum {
    CFA_ADVANCE = 0x40, /* in the upper two bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF = 0x0c,
    CFA_DEF_REGISTER = 0x0d,
    CFA_DEF_OFFSET = 0x0e,
    CFA_DEF_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_SF = 0x12,
    CFA_DEF_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_NEGATE_RA_STATE = 0x2d, /* arm64; the signature is masked off anyway */
    CFA_ARGS_SIZE = 0x2e,
    CFA_OFFSET_NEGATIVE = 0x2f
};

static void remember(struct machine *m, struct fw_peeker *p)
{
    if (m->n_remembered == MAX_REMEMBERED)
        p->failed = true;
    else
        m->remembered[m->n_remembered++] = m->row;
}

static void recall(struct machine *m, struct fw_peeker *p)
{
    if (!m->n_remembered)
        p->failed = true;
    else
        m->row = m->remembered[--m->n_remembered];
}

/* Instructions about one register's rule. */
static void run_register(struct machine *m, struct fw_peeker *p, uint8_t op)
{
    uint64_t reg = fw_peek_uleb(p);

    switch (op) {
    case CFA_OFFSET_EXTENDED:
        set_rule(m, reg, AT_OFFSET, scaled(m, fw_peek_uleb(p)));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        set_rule(m, reg, AT_OFFSET, scaled(m, (uint64_t)fw_peek_sleb(p)));
        break;
    case CFA_OFFSET_NEGATIVE:
        set_rule(m, reg, AT_OFFSET, -scaled(m, fw_peek_uleb(p)));
        break;
    case CFA_VAL_OFFSET:
        set_rule(m, reg, IS_OFFSET, scaled(m, fw_peek_uleb(p)));
        break;
    case CFA_VAL_OFFSET_SF:
        set_rule(m, reg, IS_OFFSET, scaled(m, (uint64_t)fw_peek_sleb(p)));
        break;
    case CFA_RESTORE_EXTENDED:
        restore(m, reg);
        break;
    case CFA_UNDEFINED:
        set_rule(m, reg, UNDEFINED, 0);
        break;
    case CFA_SAME_VALUE:
        set_rule(m, reg, SAME, 0);
        break;
    case CFA_REGISTER:
        set_rule(m, reg, IN_REGISTER, (int64_t)fw_peek_uleb(p));
        break;
    case CFA_EXPRESSION:
        set_rule(m, reg, AT_EXPRESSION, take_block(p));
        break;
    case CFA_VAL_EXPRESSION:
        set_rule(m, reg, IS_EXPRESSION, take_block(p));
        break;
    default:
        p->failed = true;
    }
}

/* The rest; true if the instruction was one of them. */
static bool run_other(struct machine *m, struct fw_peeker *p, uint8_t op)
{
    switch (op) {
    case CFA_NOP:
    case CFA_NEGATE_RA_STATE:
        return true;
    case CFA_SET_LOC:
        m->location = read_encoded(p, m->cie.pointer_encoding, 0);
        return true;
    case CFA_ADVANCE1:
        m->location += fw_peek_le(p, 1) * m->cie.code_align;
        return true;
    case CFA_ADVANCE2:
        m->location += fw_peek_le(p, 2) * m->cie.code_align;
        return true;
    case CFA_ADVANCE4:
        m->location += fw_peek_le(p, 4) * m->cie.code_align;
        return true;
    case CFA_REMEMBER:
        remember(m, p);
        return true;
    case CFA_RESTORE_STATE:
        recall(m, p);
        return true;
    case CFA_ARGS_SIZE:
        fw_peek_uleb(p);
        return true;
    default:
        return false;
    }
}

/* How the canonical frame address is found; true if the instruction was one of them. */
static bool run_cfa(struct machine *m, struct fw_peeker *p, uint8_t op)
{
    uint64_t reg;

    switch (op) {
    case CFA_DEF:
        reg = fw_peek_uleb(p);
        define_cfa(m, reg, (int64_t)fw_peek_uleb(p));
        return true;
    case CFA_DEF_SF:
        reg = fw_peek_uleb(p);
        define_cfa(m, reg, scaled(m, (uint64_t)fw_peek_sleb(p)));
        return true;
    case CFA_DEF_REGISTER:
        m->row.cfa_register = fw_peek_uleb(p);
        return true;
    case CFA_DEF_OFFSET:
        m->row.cfa_offset = (int64_t)fw_peek_uleb(p);
        return true;
    case CFA_DEF_OFFSET_SF:
        m->row.cfa_offset = scaled(m, (uint64_t)fw_peek_sleb(p));
        return true;
    case CFA_DEF_EXPRESSION:
        m->row.cfa_expression = (uint64_t)take_block(p);
        return true;
    default:
        return false;
    }
}

/* Runs a program up to the row of m->pc. */
static bool run(struct machine *m, struct fw_peeker *p)
{
    for (unsigned i = 0; i < MAX_INSTRUCTIONS && p->at < p->end && m->location <= m->pc; i++) {
        uint8_t op = fw_peek_u8(p), low = op & 0x3f;

        switch (op & 0xc0) {
        case CFA_ADVANCE:
            m->location += low * m->cie.code_align;
            break;
        case CFA_OFFSET:
            set_rule(m, low, AT_OFFSET, scaled(m, fw_peek_uleb(p)));
            break;
        case CFA_RESTORE:
            restore(m, low);
            break;
        default:
            if (!run_cfa(m, p, op) && !run_other(m, p, op))
                run_register(m, p, op);
        }
        if (p->failed)
            return false;
    }
    return true;
}

/* Only of the copy: the live stack has moved on, and a wrong caller is worse than none. */
static bool load(const struct machine *m, uint64_t address, uint64_t *out)
{
    return fw_stack_word(m->stack, address, out);
}

struct evaluation {
    const struct machine *m;
    struct fw_peeker p;
    uint64_t stack[MAX_EXPRESSION_STACK];
    unsigned n;
};

static void push(struct evaluation *e, uint64_t value)
{
    if (e->n == MAX_EXPRESSION_STACK)
        e->p.failed = true;
    else
        e->stack[e->n++] = value;
}

static uint64_t pop(struct evaluation *e)
{
    if (!e->n) {
        e->p.failed = true;
        return 0;
    }
    return e->stack[--e->n];
}

static uint64_t reg_value(struct evaluation *e, uint64_t reg)
{
    if (reg >= fw_arch.regs || !(e->m->regs->known >> reg & 1)) {
        e->p.failed = true;
        return 0;
    }
    return e->m->regs->r[reg];
}

/* Two operands, b on top; true if op is one of them. */
static bool binary(struct evaluation *e, uint8_t op)
{
    uint64_t b, a;

    if (!((op >= 0x1a && op <= 0x1e) || op == 0x21 || op == 0x22 || (op >= 0x24 && op <= 0x27) ||
          (op >= 0x29 && op <= 0x2e)))
        return false;
    b = pop(e);
    a = pop(e);
    switch (op) {
    case 0x1a:
        push(e, a & b);
        break;
    case 0x1c:
        push(e, a - b);
        break;
    case 0x1e:
        push(e, a * b);
        break;
    case 0x21:
        push(e, a | b);
        break;
    case 0x22:
        push(e, a + b);
        break;
    case 0x24:
        push(e, b < 64 ? a << b : 0);
        break;
    case 0x25:
        push(e, b < 64 ? a >> b : 0);
        break;
    case 0x27:
        push(e, a ^ b);
        break;
    case 0x29:
        push(e, a == b);
        break;
    case 0x2a:
        push(e, (int64_t)a >= (int64_t)b);
        break;
    case 0x2b:
        push(e, (int64_t)a > (int64_t)b);
        break;
    case 0x2c:
        push(e, (int64_t)a <= (int64_t)b);
        break;
    case 0x2d:
        push(e, (int64_t)a < (int64_t)b);
        break;
    case 0x2e:
        push(e, a != b);
        break;
    default: /* division, modulo, arithmetic shift: no compiler emits them here */
        e->p.failed = true;
    }
    return true;
}

static void dereference(struct evaluation *e)
{
    uint64_t value;

    if (load(e->m, pop(e), &value))
        push(e, value);
    else
        e->p.failed = true;
}

static void constant(struct evaluation *e, uint8_t op)
{
    static const unsigned char bytes[] = {1, 1, 2, 2, 4, 4, 8, 8};
    uint64_t value;

    if (op == 0x10) {
        push(e, fw_peek_uleb(&e->p));
    } else if (op == 0x11) {
        push(e, (uint64_t)fw_peek_sleb(&e->p));
    } else {
        unsigned n = bytes[op - 0x08], unused = 64 - 8 * n;

        value = fw_peek_le(&e->p, n);
        push(e, op & 1 ? (uint64_t)((int64_t)(value << unused) >> unused) : value);
    }
}

static void expression_step(struct evaluation *e, uint8_t op)
{
    uint64_t a, b;

    if (op >= 0x30 && op <= 0x4f) { /* lit0 .. lit31 */
        push(e, op - 0x30u);
    } else if (op >= 0x70 && op <= 0x8f) { /* breg0 .. breg31 */
        a = reg_value(e, op - 0x70u);
        push(e, a + (uint64_t)fw_peek_sleb(&e->p));
    } else if (op >= 0x08 && op <= 0x11) {
        constant(e, op);
    } else if (op == 0x06) {
        dereference(e);
    } else if (op == 0x12) { /* dup */
        a = pop(e);
        push(e, a);
        push(e, a);
    } else if (op == 0x13) { /* drop */
        pop(e);
    } else if (op == 0x16) { /* swap */
        b = pop(e);
        a = pop(e);
        push(e, b);
        push(e, a);
    } else if (op == 0x23) { /* plus_uconst */
        a = pop(e);
        push(e, a + fw_peek_uleb(&e->p));
    } else if (op == 0x96) { /* nop */
    } else if (!binary(e, op)) {
        e->p.failed = true;
    }
}

/* at: address of the expression's length. */
static bool evaluate(const struct machine *m, uint64_t at, const uint64_t *first, uint64_t *out)
{
    struct evaluation e = {.m = m};

    fw_peeker_init(&e.p, at, m->module->end);

    uint64_t n = fw_peek_uleb(&e.p);
    if (e.p.failed || n > e.p.end - e.p.at)
        return false;
    e.p.end = e.p.at + n;
    if (first)
        push(&e, *first);
    for (unsigned i = 0; i < MAX_EXPRESSION_STEPS && e.p.at < e.p.end && !e.p.failed; i++)
        expression_step(&e, fw_peek_u8(&e.p));
    *out = pop(&e);
    return !e.p.failed;
}

static bool find_cfa(const struct machine *m, uint64_t *cfa)
{
    uint64_t reg = m->row.cfa_register;

    if (m->row.cfa_expression)
        return evaluate(m, m->row.cfa_expression, NULL, cfa);
    if (reg >= fw_arch.regs || !(m->regs->known >> reg & 1))
        return false;
    *cfa = m->regs->r[reg] + (uint64_t)m->row.cfa_offset;
    return true;
}

/* The caller's value of one register; false: not known. */
static bool caller_register(const struct machine *m, unsigned reg, uint64_t cfa, uint64_t *out)
{
    int64_t value = m->row.value[reg];
    uint64_t address;

    switch (m->row.rule[reg]) {
    case SAME:
        *out = m->regs->r[reg];
        return m->regs->known >> reg & 1;
    case AT_OFFSET:
        return load(m, cfa + (uint64_t)value, out);
    case IS_OFFSET:
        *out = cfa + (uint64_t)value;
        return true;
    case IN_REGISTER:
        if ((uint64_t)value >= fw_arch.regs)
            return false;
        *out = m->regs->r[value];
        return m->regs->known >> value & 1;
    case AT_EXPRESSION:
        return evaluate(m, (uint64_t)value, &cfa, &address) && load(m, address, out);
    case IS_EXPRESSION:
        return evaluate(m, (uint64_t)value, &cfa, out);
    default:
        return false;
    }
}

static bool apply(struct machine *m, bool *end)
{
    struct fw_regs caller = {0};
    uint64_t cfa;

    if (m->row.rule[m->cie.ra] == UNDEFINED) {
        *end = true;
        return false;
    }
    if (!find_cfa(m, &cfa))
        return false;
    for (unsigned i = 0; i < fw_arch.regs; i++)
        if (caller_register(m, i, cfa, &caller.r[i]))
            caller.known |= 1ull << i;
    if (m->row.rule[fw_arch.sp] == SAME) { /* the usual case: sp of the caller is the CFA itself */
        caller.r[fw_arch.sp] = cfa;
        caller.known |= 1ull << fw_arch.sp;
    }
    if (!(caller.known >> m->cie.ra & 1))
        return false;
    caller.pc = caller.r[m->cie.ra] & fw_arch.code_mask;
    *m->regs = caller;
    return true;
}

static bool read_fde(struct machine *m, uint64_t address, struct fw_peeker *p)
{
    uint64_t id_at;
    uint32_t id;

    if (!open_record(m->module, address, p, &id_at, &id) || id == 0 ||
        !read_cie(m->module, id_at - id, &m->cie))
        return false;
    m->location = read_encoded(p, m->cie.pointer_encoding, 0);

    uint64_t length = read_encoded(p, m->cie.pointer_encoding & 0x0f, 0);
    if (m->cie.augmented) {
        uint64_t n = fw_peek_uleb(p);

        if (n > p->end - p->at)
            return false;
        p->at += n;
    }
    return !p->failed && m->pc >= m->location && m->pc - m->location < length;
}

bool fw_unwind_eh(const struct fw_module *module, const struct fw_stack_copy *stack, bool exact,
                  struct fw_regs *regs, bool *signal_frame, bool *end)
{
    struct machine m = {
        .module = module, .stack = stack, .regs = regs, .pc = exact ? regs->pc : regs->pc - 1};
    struct fw_peeker program;
    uint64_t fde, location;

    *signal_frame = *end = false;
    if (!module->eh_frame_hdr || !find_fde(module, m.pc, &fde) || !read_fde(&m, fde, &program))
        return false;
    location = m.location;
    m.location = 0; /* the CIE's program sets the first row, whatever the pc */
    if (!run(&m, &m.cie.program))
        return false;
    m.initial = m.row;
    m.location = location;
    if (!run(&m, &program) || !apply(&m, end))
        return false;
    *signal_frame = m.cie.signal_frame;
    return true;
}
