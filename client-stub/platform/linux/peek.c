#include "platform/linux/peek.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

/* Where the call is forbidden (old kernels, sandboxes) the process's own mem file does the same. */
static bool peek_file(uint64_t address, void *out, size_t n)
{
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t got = pread(fd, out, n, (off_t)address);
    close(fd);
    return got == (ssize_t)n;
}

bool fw_peek(uint64_t address, void *out, size_t n)
{
    struct iovec to = {out, n}, from = {(void *)(uintptr_t)address, n};
    ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

    return got == (ssize_t)n || (got < 0 && peek_file(address, out, n));
}

void fw_peeker_init(struct fw_peeker *p, uint64_t at, uint64_t end)
{
    p->at = at;
    p->end = end;
    p->loaded = p->failed = false;
}

uint8_t fw_peek_u8(struct fw_peeker *p)
{
    uint64_t base = p->at & ~(uint64_t)(FW_PEEK_WINDOW - 1);

    if (p->failed || p->at >= p->end) {
        p->failed = true;
        return 0;
    }
    if (!p->loaded || p->base != base) {
        p->loaded = fw_peek(base, p->window, FW_PEEK_WINDOW);
        p->base = base;
        if (!p->loaded) {
            p->failed = true;
            return 0;
        }
    }
    return p->window[p->at++ - base];
}

uint64_t fw_peek_le(struct fw_peeker *p, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)fw_peek_u8(p) << (8 * i);
    return value;
}

uint64_t fw_peek_uleb(struct fw_peeker *p)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = fw_peek_u8(p);

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    p->failed = true;
    return 0;
}

int64_t fw_peek_sleb(struct fw_peeker *p)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = fw_peek_u8(p);

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift + 7 < 64)
            value |= UINT64_MAX << (shift + 7);
        return (int64_t)value;
    }
    p->failed = true;
    return 0;
}
