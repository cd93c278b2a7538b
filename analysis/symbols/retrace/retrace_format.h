/*
 * retrace_format: how the index of a mapping is laid out, version 1. Little-endian words of 32
 * bits, in this order; names are offsets into strings.
 *   header      RETRACE_HEADER bytes
 *   buckets     n_buckets words, a power of two: class number + 1 by hash of the obfuscated name,
 *               the next free bucket where it collides; 0: free
 *   classes     {name, original, first method, file}; one more at the end closes the last
 *   methods     {name, first group}, by name within a class; one more at the end
 *   groups      {first range, flags}: the ranges of one original method under this name, in the
 *               mapping's order; one more at the end
 *   ends        one word a range: its last line
 *   ranges      {signature * 2 + has infos, from, original from, original to}: the obfuscated
 *               method's lines from here to the range's end; RETRACE_NONE as a from: no such range
 *   signatures  {class, name, return type, arguments, file of the class}
 *   infos       {range, kind, first word, number of words}, ascending by range
 *   words       RETRACE_REWRITE: frames to remove, then the exceptions it holds for, as numbers of
 *               `thrown`; RETRACE_CALLSITE: pairs of line in the outline, line here, ascending
 *   thrown      names of exceptions, ascending as text
 *   strings     NUL-terminated; the first is empty
 */
#pragma once
#include "symbols/symcache_format.h" /* load32, store32 … */

#define RETRACE_MAGIC "FWRETR\x1a\n"
#define RETRACE_HEADER 128
#define RETRACE_NONE UINT32_MAX
#define RETRACE_LINE_MAX ((uint32_t)INT32_MAX) /* of line numbers, as in Java */

enum {
    RETRACE_AT_MAGIC = 0,
    RETRACE_AT_VERSION = 8,
    RETRACE_AT_FLAGS = 12,
    RETRACE_AT_STRINGS = 16, /* 64 bits: bytes of strings */
    RETRACE_AT_SIZES = 24,   /* nine words: rows of buckets, classes … thrown, without `ends` */
    RETRACE_AT_NAMES = 60,   /* six strings, in the order of struct retrace */
    RETRACE_AT_COUNTS = 84,  /* in the order of RETRACE_COUNTS; up to 11 of them */

    RETRACE_LATER_VERSION = 1, /* flags */
    RETRACE_HASH_KNOWN = 2,
    RETRACE_HASH_MATCHES = 4,

    RETRACE_CLASS = 16, /* bytes of one */
    RETRACE_METHOD = 8,
    RETRACE_GROUP = 8,
    RETRACE_RANGE = 16,
    RETRACE_SIGNATURE = 20,
    RETRACE_INFO = 16,

    RETRACE_SYNTHESIZED = 1, /* flags of a group */
    RETRACE_OUTLINE = 2,
    RETRACE_ORDERED = 4, /* its ranges ascend and do not overlap */

    RETRACE_REWRITE = 1, /* kinds of infos */
    RETRACE_CALLSITE = 2
};

static inline uint32_t retrace_hash(const char *name, size_t len)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ len;

    for (; len >= 8; name += 8, len -= 8) {
        uint64_t w = load64((const unsigned char *)name);

        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)name[i]) * 0x100000001b3u;
    h *= 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(h >> 32);
}
