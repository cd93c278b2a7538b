/* Of Apple's header what the SDK uses. */
#pragma once
#include <stdint.h>
#define MH_MAGIC_64 0xfeedfacfu
#define LC_SEGMENT_64 0x19
#define LC_UUID 0x1b
#define SEG_TEXT "__TEXT"
struct mach_header_64 {
    uint32_t magic;
    int32_t cputype, cpusubtype;
    uint32_t filetype, ncmds, sizeofcmds, flags, reserved;
};
struct load_command {
    uint32_t cmd, cmdsize;
};
struct segment_command_64 {
    uint32_t cmd, cmdsize;
    char segname[16];
    uint64_t vmaddr, vmsize, fileoff, filesize;
    int32_t maxprot, initprot;
    uint32_t nsects, flags;
};
struct uuid_command {
    uint32_t cmd, cmdsize;
    uint8_t uuid[16];
};
