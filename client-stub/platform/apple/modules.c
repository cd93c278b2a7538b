#if defined(__APPLE__)
#include "platform/modules.h"

#include "platform/peek.h"

#include <mach-o/dyld_images.h>
#include <mach-o/loader.h>
#include <mach/mach.h>
#include <string.h>

#define MAX_IMAGES 4096u
#define MAX_COMMANDS 1024u
#define MAX_COMMAND_BYTES (1u << 20)
#define PATH_BYTES 512u

bool fw_modules_init(struct fw_modules *m, const struct fw_allocator *memory)
{
    *m = (struct fw_modules){.at = fw_alloc_zeroed(memory, FW_MAX_MODULES * sizeof *m->at),
                             .memory = memory};
    return m->at;
}

void fw_modules_fini(struct fw_modules *m)
{
    fw_release(m->memory, m->at);
    *m = (struct fw_modules){0};
}

const struct fw_module *fw_modules_find(const struct fw_modules *m, uint64_t address)
{
    for (size_t i = 0; i < m->n; i++)
        if (!m->at[i].gone && address >= m->at[i].start && address < m->at[i].end)
            return &m->at[i];
    return NULL;
}

/* The code's extent and the UUID, by the image's own load commands. */
static bool read_image(struct fw_module *m)
{
    struct mach_header_64 head;
    uint64_t at, end;

    if (!fw_peek(m->start, &head, sizeof head) || head.magic != MH_MAGIC_64 ||
        head.ncmds > MAX_COMMANDS || head.sizeofcmds > MAX_COMMAND_BYTES)
        return false;
    at = m->start + sizeof head;
    end = at + head.sizeofcmds;
    for (uint32_t i = 0; i < head.ncmds; i++) {
        struct load_command command;
        struct segment_command_64 segment;
        struct uuid_command uuid;

        if (at + sizeof command > end || !fw_peek(at, &command, sizeof command) ||
            command.cmdsize < sizeof command || command.cmdsize > end - at)
            return false;
        if (command.cmd == LC_UUID && command.cmdsize >= sizeof uuid &&
            fw_peek(at, &uuid, sizeof uuid)) {
            m->build_id_len = sizeof uuid.uuid;
            memcpy(m->build_id, uuid.uuid, sizeof uuid.uuid);
        } else if (command.cmd == LC_SEGMENT_64 && command.cmdsize >= sizeof segment &&
                   fw_peek(at, &segment, sizeof segment) &&
                   !strncmp(segment.segname, SEG_TEXT, sizeof segment.segname)) {
            m->bias = m->start - segment.vmaddr;
            m->end = m->start + segment.vmsize;
        }
        at += command.cmdsize;
    }
    return m->end > m->start;
}

/* Last part of a path that may end, or vanish, anywhere. */
static void read_name(struct fw_module *m, uint64_t address)
{
    struct fw_peeker p;
    size_t n = 0;
    char c;

    fw_peeker_init(&p, address, address + PATH_BYTES);
    while ((c = (char)fw_peek_u8(&p)))
        if (c == '/')
            n = 0;
        else if (n < sizeof m->name - 1)
            m->name[n++] = c;
    m->name[n] = 0;
}

static struct fw_module *known(struct fw_modules *m, const struct fw_module *image)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].start == image->start && m->at[i].end == image->end &&
            m->at[i].build_id_len == image->build_id_len &&
            !memcmp(m->at[i].build_id, image->build_id, image->build_id_len))
            return &m->at[i];
    return NULL;
}

static void note_image(struct fw_modules *m, uint64_t header, uint64_t path)
{
    struct fw_module image = {.start = header}, *at;

    if (!read_image(&image))
        return;
    at = known(m, &image);
    if (at) {
        at->gone = false;
        return;
    }
    if (m->n == FW_MAX_MODULES) {
        m->overflowed++;
        return;
    }
    read_name(&image, path);
    m->at[m->n++] = image;
}

static bool image_list(struct dyld_all_image_infos *out)
{
    mach_msg_type_number_t count = TASK_DYLD_INFO_COUNT;
    struct task_dyld_info info;

    return task_info(mach_task_self(), TASK_DYLD_INFO, (task_info_t)&info, &count) ==
               KERN_SUCCESS &&
           fw_peek(info.all_image_info_addr, out, sizeof *out);
}

bool fw_module_stands(const struct fw_modules *m, const struct fw_module *module)
{
    (void)m, (void)module; /* the loader's list is short work */
    return false;
}

void fw_modules_refresh(struct fw_modules *m)
{
    struct dyld_all_image_infos list;
    uint64_t array;

    /* No array: the loader is changing it this moment. What was known stays. */
    if (!image_list(&list) || !list.infoArray)
        return;
    array = (uint64_t)(uintptr_t)list.infoArray;
    for (size_t i = 0; i < m->n; i++)
        m->at[i].gone = true;
    note_image(m, (uint64_t)(uintptr_t)list.dyldImageLoadAddress,
               (uint64_t)(uintptr_t)list.dyldPath);
    for (uint32_t i = 0; i < list.infoArrayCount && i < MAX_IMAGES; i++) {
        struct dyld_image_info image;

        if (!fw_peek(array + i * sizeof image, &image, sizeof image))
            return;
        note_image(m, (uint64_t)(uintptr_t)image.imageLoadAddress,
                   (uint64_t)(uintptr_t)image.imageFilePath);
    }
}
#endif
