/*
 * Holds what the code ahead tells of the return address (platform/link_register.h) against the
 * unwind information of an arm64 library, on the machine that runs the tests.
 *   link_check LIBRARY <ROWS
 * ROWS: lines of "LOW HIGH IN-REGISTER": addresses (hexadecimal) of the file, and 1 or 0.
 * Prints how many instructions were asked about, how many the link register was known for, and how
 * many wrongly: that must be rarer than one in RARE.
 */
#include "platform/link_register.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RARE 50000ul

static const unsigned char *map(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    void *at = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return NULL;
    *size = (size_t)st.st_size;
    return at;
}

/* Where the executable segment lies in the file, less its address: the text is asked about there.
 */
static uint64_t text_bias(const unsigned char *file, size_t size)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;

    memcpy(&head, file, sizeof head);
    for (unsigned i = 0; i < head.e_phnum; i++) {
        uint64_t at = head.e_phoff + i * sizeof segment;

        if (at + sizeof segment > size)
            break;
        memcpy(&segment, file + at, sizeof segment);
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
            return (uint64_t)(uintptr_t)file + segment.p_offset - segment.p_vaddr;
    }
    return 0;
}

static uint32_t field(uint32_t w, unsigned low)
{
    return w >> low & 31;
}

static bool restores(uint32_t w) /* ldp x…, x30, [sp…]; ldr x30, [sp…] */
{
    return ((w & 0xfe400000) == 0xa8400000 && field(w, 5) == 31 && field(w, 10) == 30) ||
           (w & 0xffe00fff) == 0xf84007fe || (w & 0xffc003ff) == 0xf94003fe;
}

static bool leaves(uint32_t w) /* b, br, ret: what follows is reached from elsewhere */
{
    return (w & 0xfc000000) == 0x14000000 || (w & 0xff9f0000) == 0xd61f0000;
}

static bool spoils(uint32_t w) /* bl, blr; arithmetic into x30, loads of it */
{
    bool writes = (w & 0x1c000000) == 0x10000000 || (w & 0x0e000000) == 0x0a000000 ||
                  (w & 0xffc00000) == 0xf9400000 || (w & 0xffe00000) == 0xf8400000;

    return (w & 0xfc000000) == 0x94000000 || (w & 0xfffffc1f) == 0xd63f0000 ||
           (writes && field(w, 0) == 30);
}

struct tally {
    unsigned long asked, in_register, known, wrong;
};

/* Unwind information calls x30 saved once it is stored, and until the frame is gone; it holds the
 * address for longer at both ends, which the instructions passed so far tell. */
static bool judge(struct tally *t, uint64_t bias, uint64_t at, bool in_register, bool held)
{
    uint32_t w;
    bool said = fw_link_register_holds(bias + at);

    memcpy(&w, (const void *)(uintptr_t)(bias + at), sizeof w);
    held = held || in_register;
    t->asked++;
    t->in_register += in_register;
    t->known += said && in_register;
    if (said && !held) {
        t->wrong++;
        printf("wrong: %" PRIx64 "\n", at);
    }
    return restores(w) || (held && !spoils(w) && !leaves(w));
}

int main(int argc, char **argv)
{
    size_t size = 0;
    const unsigned char *file = argc == 2 ? map(argv[1], &size) : NULL;
    uint64_t low, high, end = 0,
                        bias = file && size > sizeof(Elf64_Ehdr) ? text_bias(file, size) : 0;
    struct tally t = {0};
    bool held = false;
    int in_register;

    while (bias && scanf("%" SCNx64 " %" SCNx64 " %d", &low, &high, &in_register) == 3) {
        held = held && low == end;
        for (end = high; low < high; low += 4)
            held = judge(&t, bias, low, in_register, held);
    }
    printf("%lu instructions, %lu of them with the return address in x30; %lu known, %lu wrongly\n",
           t.asked, t.in_register, t.known, t.wrong);
    return t.known && t.wrong * RARE <= t.asked ? 0 : 1;
}
