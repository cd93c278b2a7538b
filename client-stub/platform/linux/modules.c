#if defined(__linux__)
#include "platform/modules.h"

#include "platform/peek.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MAX_PROGRAM_HEADERS 64
#define MAX_NOTE_BYTES 4096u
#define LINE_BYTES 512u
#define MAX_LINES 16384u

bool fw_modules_init(struct fw_modules *m, const struct fw_allocator *memory)
{
    *m = (struct fw_modules){.at = fw_alloc_zeroed(memory, FW_MAX_MODULES * sizeof *m->at),
                             .memory = memory,
                             .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    return m->at;
}

void fw_modules_fini(struct fw_modules *m)
{
    fw_release(m->memory, m->at);
    *m = (struct fw_modules){0};
}

/* The nearest start wins: an image mapped as mere data may seem to reach over its neighbours. */
const struct fw_module *fw_modules_find(const struct fw_modules *m, uint64_t address)
{
    const struct fw_module *best = NULL;

    for (size_t i = 0; i < m->n; i++)
        if (!m->at[i].gone && address >= m->at[i].start && address < m->at[i].end &&
            (!best || m->at[i].start > best->start))
            best = &m->at[i];
    return best;
}

/* The GNU build id among the notes at [address, address + size). */
static void find_build_id(struct fw_module *m, uint64_t address, uint64_t size)
{
    struct fw_peeker p;

    if (m->build_id_len)
        return;
    fw_peeker_init(&p, address, address + (size < MAX_NOTE_BYTES ? size : MAX_NOTE_BYTES));
    while (!p.failed && p.at + 12 <= p.end) {
        uint64_t name = fw_peek_le(&p, 4), desc = fw_peek_le(&p, 4), type = fw_peek_le(&p, 4);
        uint64_t name_at = p.at, desc_at = name_at + ((name + 3) & ~3ull);

        if (type == NT_GNU_BUILD_ID && name == 4 && fw_peek_le(&p, 4) == 0x554e47 /* "GNU" */ &&
            desc <= FW_BUILD_ID_BYTES && fw_peek(desc_at, m->build_id, (size_t)desc)) {
            m->build_id_len = (uint8_t)desc;
            return;
        }
        if (name > MAX_NOTE_BYTES || desc > MAX_NOTE_BYTES)
            return;
        p.at = desc_at + ((desc + 3) & ~3ull);
    }
}

/* A library inside an APK is mapped under the APK's name; its own stands in its dynamic section. */
static void find_soname(struct fw_module *m, uint64_t address, uint64_t size)
{
    uint64_t strings = 0, soname = 0, tag = 1;
    char name[FW_MODULE_NAME_BYTES];
    struct fw_peeker p;

    if (!strstr(m->name, ".apk"))
        return;
    fw_peeker_init(&p, address, address + size);
    while (!p.failed && tag != DT_NULL) {
        tag = fw_peek_le(&p, 8);

        uint64_t value = fw_peek_le(&p, 8);
        if (tag == DT_STRTAB) /* the loader may have made it absolute already */
            strings = value >= m->start ? value : m->bias + value;
        else if (tag == DT_SONAME)
            soname = value;
    }
    if (strings && soname && fw_peek(strings + soname, name, sizeof name) &&
        memchr(name, 0, sizeof name))
        memcpy(m->name, name, sizeof name);
}

/* Fills *m from the ELF header at m->start; false if there is none worth knowing. */
static bool read_image(struct fw_module *m, uint64_t page_bytes)
{
    Elf64_Ehdr elf;
    Elf64_Phdr segment[MAX_PROGRAM_HEADERS];
    uint64_t first = UINT64_MAX, last = 0;

    if (!fw_peek(m->start, &elf, sizeof elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof *segment || !elf.e_phnum ||
        elf.e_phnum > MAX_PROGRAM_HEADERS || (elf.e_type != ET_DYN && elf.e_type != ET_EXEC) ||
        !fw_peek(m->start + elf.e_phoff, segment, elf.e_phnum * sizeof *segment))
        return false;
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        if (segment[i].p_type != PT_LOAD)
            continue;
        if (segment[i].p_vaddr < first)
            first = segment[i].p_vaddr;
        if (segment[i].p_vaddr + segment[i].p_memsz > last)
            last = segment[i].p_vaddr + segment[i].p_memsz;
    }
    if (first >= last || last - first > 1ull << 40)
        return false;
    m->bias = m->start - first / page_bytes * page_bytes;
    m->end = m->bias + last;
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        if (segment[i].p_type == PT_NOTE)
            find_build_id(m, m->bias + segment[i].p_vaddr, segment[i].p_memsz);
        else if (segment[i].p_type == PT_GNU_EH_FRAME)
            m->eh_frame_hdr = m->bias + segment[i].p_vaddr;
        else if (segment[i].p_type == PT_DYNAMIC)
            find_soname(m, m->bias + segment[i].p_vaddr, segment[i].p_memsz);
    }
    return true;
}

static bool same_image(const struct fw_module *a, const struct fw_module *b)
{
    return a->start == b->start && a->end == b->end && a->build_id_len == b->build_id_len &&
           !memcmp(a->build_id, b->build_id, a->build_id_len) && !strcmp(a->name, b->name);
}

bool fw_module_stands(const struct fw_modules *m, const struct fw_module *module)
{
    struct fw_module now = {.start = module->start};

    memcpy(now.name, module->name, sizeof now.name);
    return !module->gone && read_image(&now, m->page_bytes) && same_image(&now, module);
}

struct refresh {
    struct fw_modules *modules;
    bool seen[FW_MAX_MODULES];
    struct fw_module last; /* the last image found: its further mappings are no news */
};

static void note_image(struct refresh *r, const struct fw_module *image)
{
    struct fw_modules *m = r->modules;

    for (size_t i = 0; i < m->n; i++)
        if (!r->seen[i] && same_image(&m->at[i], image)) {
            r->seen[i] = true;
            m->at[i].gone = false;
            return;
        }
    if (m->n == FW_MAX_MODULES) {
        m->overflowed++;
        return;
    }
    m->at[m->n] = *image;
    r->seen[m->n++] = true;
}

/* Last part of the path, without what the kernel says about a file replaced by an update. */
static void set_name(struct fw_module *m, const char *path)
{
    static const char deleted[] = " (deleted)";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name), tail = sizeof deleted - 1;

    if (n > tail && !strcmp(name + n - tail, deleted))
        n -= tail;
    if (n > sizeof m->name - 1)
        n = sizeof m->name - 1;
    memcpy(m->name, name, n);
    m->name[n] = 0;
}

static bool read_hex(const char **text, uint64_t *out)
{
    const char *p = *text;

    for (*out = 0; p < *text + 16; p++) {
        char c = *p;

        if (c >= '0' && c <= '9')
            *out = *out << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *out = *out << 4 | (uint64_t)(c - 'a' + 10);
        else
            break;
    }
    bool any = p > *text;
    *text = p;
    return any;
}

/* "start-end perms offset dev inode   path". A file other than a device's, or the kernel's own
 * [vdso], may be an image; the rest cannot. No sscanf: this also runs in a signal handler. */
static void read_line(struct refresh *r, const char *line)
{
    struct fw_module image = {0};
    const char *at = line;
    uint64_t start, end;

    if (!read_hex(&at, &start) || *at++ != '-' || !read_hex(&at, &end) || *at++ != ' ' ||
        *at != 'r')
        return;
    for (int field = 0; field < 4; field++) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }

    const char *path = at;
    if ((*path != '/' && strcmp(path, "[vdso]") != 0) || !strncmp(path, "/dev/", 5))
        return;
    image.start = start;
    set_name(&image, path);
    if (start < r->last.end && !strcmp(image.name, r->last.name))
        return;
    if (!read_image(&image, r->modules->page_bytes))
        return;
    r->last = image;
    note_image(r, &image);
}

static void read_lines(struct refresh *r, int fd)
{
    char text[LINE_BYTES + 4096];
    size_t have = 0;
    ssize_t n;

    for (unsigned lines = 0; lines < MAX_LINES && (n = read(fd, text + have, 4096)) > 0;) {
        char *line = text, *end;

        have += (size_t)n;
        while ((end = memchr(line, '\n', have - (size_t)(line - text)))) {
            *end = 0;
            read_line(r, line);
            line = end + 1;
            lines++;
        }
        have -= (size_t)(line - text);
        memmove(text, line, have);
        if (have > LINE_BYTES) /* a path longer than any line we need: its tail is no line */
            have = 0;
    }
}

void fw_modules_refresh(struct fw_modules *m)
{
    struct refresh r = {.modules = m};
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    read_lines(&r, fd);
    close(fd);
    for (size_t i = 0; i < m->n; i++)
        m->at[i].gone = !r.seen[i];
}
#endif
