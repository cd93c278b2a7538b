/*
 * modules: the images mapped into this process: ELF, from /proc/self/maps and their own headers;
 * Mach-O, from the loader's list in memory. Never by the loader's own calls: they take its lock,
 * which the main thread may hold.
 *
 * One owner (the watchdog). The list only grows: a module keeps its place for the life of the
 * process, and one that was unmapped is marked gone. Images beyond FW_MAX_MODULES are not known.
 */
#pragma once
#include "wire/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_MAX_MODULES 512
#define FW_MODULE_NAME_BYTES 64
#define FW_BUILD_ID_BYTES 32

struct fw_module {
    uint64_t start, end;   /* start <= address < end; start is where the ELF header lies */
    uint64_t bias;         /* address - bias is the address in the file, as symbolizers take it */
    uint64_t eh_frame_hdr; /* address, 0: none */
    bool gone;
    uint8_t build_id_len;
    unsigned char build_id[FW_BUILD_ID_BYTES];
    char name[FW_MODULE_NAME_BYTES]; /* last part of the path; inside an APK, its DT_SONAME */
};

struct fw_modules {
    struct fw_module *at;
    size_t n;
    uint32_t overflowed; /* images that found no place */
    const struct fw_allocator *memory;
    uint64_t page_bytes; /* of this system: 4 KB, or 16 KB and more on arm64 */
};

/* Allocates; false: no memory. */
bool fw_modules_init(struct fw_modules *m, const struct fw_allocator *memory);
void fw_modules_fini(struct fw_modules *m);

void fw_modules_refresh(struct fw_modules *m); /* reads the map again */
/* Whether the image that was at its place still is. False where that cannot be told for less than a
 * refresh costs. */
bool fw_module_stands(const struct fw_modules *m, const struct fw_module *module);
/* The module at address, or NULL. */
const struct fw_module *fw_modules_find(const struct fw_modules *m, uint64_t address);
