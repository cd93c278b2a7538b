#include "demo_symbols.h"

#include "out_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES ((size_t)1 << 20)
#define MAX_FUNCTIONS 128
#define MACHO_BASE 0x100000000u
#define PROLOGUE 64u /* a sample is found so far into its function ... */
#define LENGTH 128u  /* ... which is so long */

/* As in the System V ABI and in Apple's loader.h. */
enum {
    ET_DYN = 3,
    EM_AARCH64 = 183,
    SHT_NOBITS = 8, /* what a debug file keeps of code */
    SHT_SYMTAB = 2,
    SHT_STRTAB = 3,
    SHT_NOTE = 7,
    SHF_ALLOC_EXEC = 6,
    STT_GLOBAL_FUNC = 0x12,
    NT_GNU_BUILD_ID = 3,
    MH_DSYM = 10,
    CPU_ARM64 = 0x0100000c,
    LC_SYMTAB = 2,
    LC_SEGMENT_64 = 0x19,
    LC_UUID = 0x1b,
    N_SECT_EXT = 0x0f,
    INSTRUCTIONS = 0x80000400,
};

struct function {
    const char *name;
    uint64_t start;
    size_t at; /* of its name among the strings */
};

static void put(struct buf *out, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        buf_byte(out, (uint8_t)(v >> (8 * i)));
}

static void put_zeros(struct buf *out, size_t n)
{
    while (n--)
        buf_byte(out, 0);
}

static bool known(const struct function *f, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].name, name) == 0)
            return true;
    return false;
}

static size_t functions_of(bool ios, unsigned module, const struct demo_version *v,
                           struct function *out)
{
    size_t n = 0;

    for (size_t s = 0; s < n_demo_stacks; s++)
        for (size_t i = 0; i < DEMO_STACK_FRAMES && demo_stacks[s].frame[i].function; i++) {
            const struct demo_frame *f = &demo_stacks[s].frame[i];

            if (f->module != module || known(out, n, f->function) || n == MAX_FUNCTIONS)
                continue;

            const uint64_t offset = demo_offset(ios, module, v, f->function);

            out[n++] = (struct function){f->function, offset < PROLOGUE ? 0 : offset - PROLOGUE, 0};
        }
    return n;
}

/* A string table: the empty name, then each. */
static void put_strings(struct buf *out, struct function *f, size_t n)
{
    buf_byte(out, 0);
    for (size_t i = 0; i < n; i++) {
        f[i].at = out->len;
        buf_text(out, f[i].name);
        buf_byte(out, 0);
    }
}

/* ELF ------------------------------------------------------------------------------------------ */

struct section {
    uint32_t name, type, link, info;
    uint64_t flags, offset, size, entry;
};

static void put_section(struct buf *out, const struct section *s)
{
    put(out, s->name, 4);
    put(out, s->type, 4);
    put(out, s->flags, 8);
    put(out, 0, 8); /* address: code begins at 0 */
    put(out, s->offset, 8);
    put(out, s->size, 8);
    put(out, s->link, 4);
    put(out, s->info, 4);
    put(out, 4, 8);
    put(out, s->entry, 8);
}

static void put_elf_header(struct buf *out, uint64_t sections, uint16_t n_sections)
{
    static const unsigned char ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};

    buf_put(out, ident, sizeof ident);
    put(out, ET_DYN, 2);
    put(out, EM_AARCH64, 2);
    put(out, 1, 4);
    put(out, 0, 8); /* entry */
    put(out, 0, 8);
    put(out, sections, 8);
    put(out, 0, 4);
    put(out, 64, 2);
    put(out, 56, 2);
    put(out, 0, 2);
    put(out, 64, 2);
    put(out, n_sections, 2);
    put(out, n_sections - 1u, 2);
}

static void put_elf(const unsigned char id[20], struct function *f, size_t n, struct buf *out)
{
    static const char names[] = "\0.note.gnu.build-id\0.text\0.symtab\0.strtab\0.shstrtab";
    struct section s[6] = {
        {0},
        {.name = 1, .type = SHT_NOTE, .offset = 64, .size = 36},
        {.name = 20, .type = SHT_NOBITS, .flags = SHF_ALLOC_EXEC, .size = DEMO_MODULE_BYTES},
        {.name = 26, .type = SHT_SYMTAB, .link = 4, .info = 1, .entry = 24},
        {.name = 34, .type = SHT_STRTAB},
        {.name = 42, .type = SHT_STRTAB, .size = sizeof names},
    };
    struct buf strings;

    buf_init(&strings, FILE_BYTES);
    put_strings(&strings, f, n);
    s[3].offset = s[1].offset + s[1].size + 4; /* aligned to 8 */
    s[3].size = 24 * (n + 1);
    s[4].offset = s[3].offset + s[3].size;
    s[4].size = strings.len;
    s[5].offset = s[4].offset + s[4].size;
    put_elf_header(out, s[5].offset + s[5].size, 6);
    put(out, 4, 4);
    put(out, 20, 4);
    put(out, NT_GNU_BUILD_ID, 4);
    buf_put(out, "GNU", 4);
    buf_put(out, id, 20);
    put_zeros(out, 4);
    put_zeros(out, 24); /* the first symbol is none */
    for (size_t i = 0; i < n; i++) {
        put(out, f[i].at, 4);
        put(out, STT_GLOBAL_FUNC, 1);
        put(out, 0, 1);
        put(out, 2, 2); /* .text */
        put(out, f[i].start, 8);
        put(out, LENGTH, 8);
    }
    buf_put(out, strings.at, strings.len);
    buf_put(out, names, sizeof names);
    for (size_t i = 0; i < sizeof s / sizeof *s; i++)
        put_section(out, &s[i]);
    out->failed |= !buf_ok(&strings);
    buf_fini(&strings);
}

/* Mach-O --------------------------------------------------------------------------------------- */

#define MACHO_SEGMENT (72u + 80u)
#define MACHO_COMMANDS (24u + MACHO_SEGMENT + 24u)

static void put_name(struct buf *out, const char *name)
{
    char field[16] = "";

    memcpy(field, name, strlen(name));
    buf_put(out, field, sizeof field);
}

static void put_segment(struct buf *out)
{
    put(out, LC_SEGMENT_64, 4);
    put(out, MACHO_SEGMENT, 4);
    put_name(out, "__TEXT");
    put(out, MACHO_BASE, 8);
    put(out, DEMO_MODULE_BYTES, 8);
    put(out, 0, 8);
    put(out, 0, 8);
    put(out, 5, 4);
    put(out, 5, 4);
    put(out, 1, 4);
    put(out, 0, 4);
    put_name(out, "__text");
    put_name(out, "__TEXT");
    put(out, MACHO_BASE, 8);
    put(out, DEMO_MODULE_BYTES, 8);
    put_zeros(out, 16);
    put(out, INSTRUCTIONS, 4);
    put_zeros(out, 12);
}

static void put_macho(const unsigned char id[16], struct function *f, size_t n, struct buf *out)
{
    const size_t symbols = 32 + MACHO_COMMANDS;
    struct buf strings;

    buf_init(&strings, FILE_BYTES);
    put_strings(&strings, f, n);
    put(out, 0xfeedfacf, 4);
    put(out, CPU_ARM64, 4);
    put(out, 0, 4);
    put(out, MH_DSYM, 4);
    put(out, 3, 4);
    put(out, MACHO_COMMANDS, 4);
    put(out, 0, 8);
    put(out, LC_UUID, 4);
    put(out, 24, 4);
    buf_put(out, id, 16);
    put_segment(out);
    put(out, LC_SYMTAB, 4);
    put(out, 24, 4);
    put(out, symbols, 4);
    put(out, n, 4);
    put(out, symbols + 16 * n, 4);
    put(out, strings.len, 4);
    for (size_t i = 0; i < n; i++) {
        put(out, f[i].at, 4);
        put(out, N_SECT_EXT, 1);
        put(out, 1, 1);
        put(out, 0, 2);
        put(out, MACHO_BASE + f[i].start, 8);
    }
    buf_put(out, strings.at, strings.len);
    out->failed |= !buf_ok(&strings);
    buf_fini(&strings);
}

void demo_symbols(bool ios, unsigned module, const struct demo_version *v, struct buf *out)
{
    struct function f[MAX_FUNCTIONS];
    const size_t n = functions_of(ios, module, v, f);
    unsigned char id[20];

    demo_debug_id(ios, module, v, id);
    if (ios)
        put_macho(id, f, n, out);
    else
        put_elf(id, f, n, out);
}

static bool write_module(const char *dir, bool ios, unsigned module, const struct demo_version *v,
                         struct err *err)
{
    char path[4096];
    struct buf bytes;
    bool good;

    snprintf(path, sizeof path, "%s/%s-%s", dir, v->name, demo_modules[ios][module - 1].name);
    buf_init(&bytes, FILE_BYTES);
    demo_symbols(ios, module, v, &bytes);
    good = buf_ok(&bytes) ? out_file_put(path, bytes.at, bytes.len, err) : err_memory(err);
    buf_fini(&bytes);
    return good;
}

bool demo_symbols_write(const struct demo_config *c, const char *dir, struct err *err)
{
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return err_set(err, ERR_INTERNAL, "%s: %s", dir, strerror(errno));
    for (size_t v = 0; v < c->n_versions; v++)
        for (unsigned i = 0; i < 2 * DEMO_MODULES; i++) {
            const unsigned module = i / 2 + 1;

            if (demo_modules[i % 2][module - 1].game &&
                !write_module(dir, i % 2, module, &c->version[v], err))
                return false;
        }
    return true;
}
