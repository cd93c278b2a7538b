/*
 * symcache_format: where the header's fields stand. All words are little-endian.
 */
#pragma once
#include <stdint.h>
#include <string.h>

#define SYMCACHE_MAGIC "FWSYMC\x1a\n"
#define SYMCACHE_HEADER 192

enum {
    SYMCACHE_AT_MAGIC = 0,
    SYMCACHE_AT_VERSION = 8,
    SYMCACHE_AT_FORMAT = 12,
    SYMCACHE_AT_ARCH = 16,
    SYMCACHE_AT_FLAGS = 20,
    SYMCACHE_AT_ID_SIZE = 24,
    SYMCACHE_AT_ID = 28, /* 32 bytes */
    SYMCACHE_AT_N_RANGES = 60,
    SYMCACHE_AT_BASE = 64,    /* 64 bits */
    SYMCACHE_AT_STRINGS = 72, /* 64 bits: bytes of strings */
    SYMCACHE_AT_N_LOCATIONS = 80,
    SYMCACHE_AT_COUNTS = 84, /* in the order of SYMCACHE_COUNTS; up to 23 of them */
    SYMCACHE_AT_SHIFT = 176,
    SYMCACHE_AT_N_BUCKETS = 180,

    SYMCACHE_COLUMNS = 1, /* flags */
    SYMCACHE_DWARF = 2,
    SYMCACHE_MINI = 4,
    SYMCACHE_INCOMPLETE = 8,

    SYMCACHE_RANGE = 8,     /* bytes of one */
    SYMCACHE_LOCATION = 20, /* bytes of one */
    SYMCACHE_LOCATION_FILE = 0,
    SYMCACHE_LOCATION_LINE = 4,
    SYMCACHE_LOCATION_FUNCTION = 8,
    SYMCACHE_LOCATION_OUTER = 12,
    SYMCACHE_LOCATION_COLUMN = 16
};

static inline uint32_t load32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load64(const unsigned char *p)
{
    return load32(p) | (uint64_t)load32(p + 4) << 32;
}

static inline void store32(unsigned char *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

static inline void store64(unsigned char *p, uint64_t v)
{
    store32(p, (uint32_t)v);
    store32(p + 4, (uint32_t)(v >> 32));
}
