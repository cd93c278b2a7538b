/*
 * crash_record: what a dying process leaves in its crash file, SESSION-9000.crash.
 *
 * The magic, then sections: a head and n bytes. The first, the session's header packet, is written
 * while the process is well; the others by the signal handler, in the order of the enum and perhaps
 * cut short. Read by the next launch (crash_recover.h), which trusts none of it. Numbers are in the
 * machine's own order: the file never leaves the device.
 */
#pragma once
#include <stdint.h>

#define FW_CRASH_MAGIC "FWCRASH1"
#define FW_CRASH_MAGIC_BYTES 8u
#define FW_CRASH_PART 9000u /* its part number: above those of an ordinary file */
#define FW_CRASH_MAX_BYTES (1024u * 1024u)
#define FW_CRASH_FRAMES 96u
#define FW_CRASH_MODULES 64u
#define FW_CRASH_THREAD_BYTES 16u

enum fw_crash_kind {
    FW_CRASH_HEADER = 1, /* a serialized SessionLog of one Header packet */
    FW_CRASH_FAULT,      /* struct fw_crash_fault */
    FW_CRASH_SLICE,      /* struct fw_crash_slice, then the slice so far: a serialized SessionLog */
    FW_CRASH_PACKETS,    /* a serialized SessionLog that goes behind the slice */
    FW_CRASH_ROW,        /* struct fw_crash_row, then its intervals (uint32_t, us) */
    FW_CRASH_PRESENTS,   /* frames after the row: uint64_t, ns, as in the ring */
    FW_CRASH_MODULE_LIST, /* struct fw_crash_module … */
    FW_CRASH_FRAME_LIST,  /* struct fw_crash_frame …, innermost first */
};

struct fw_crash_section {
    uint32_t kind, n;
};

struct fw_crash_fault {
    int32_t signal, code;
    uint64_t address, pc, sp, t_us;
    uint64_t main; /* 1: the main thread */
    char thread[FW_CRASH_THREAD_BYTES];
};

/* Belongs behind the first `bytes` of that part's file; if the file is longer, it is there already.
 */
struct fw_crash_slice {
    uint64_t bytes, start_ns; /* of the session, for the presents */
    uint32_t part, zero;
};

struct fw_crash_row {
    uint64_t start_us;
    uint32_t target_interval_us, refresh_millihertz, dropped, n;
};

struct fw_crash_module {
    uint64_t load_address, size;
    uint32_t build_id_len;
    unsigned char build_id[32];
    char name[64];
};

struct fw_crash_frame {
    uint64_t offset; /* from the module's load address; without one the address */
    uint32_t module; /* place in the list from 1 on; 0 none */
    uint32_t zero;
};
