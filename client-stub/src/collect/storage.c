#include "src/clock.h"
#include "src/collect/collectors.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#define PERIOD_NS 60000000000ull
#define MEGABYTE (1024u * 1024u)

bool fw_storage_read(struct fw_storage *s, struct fw_reader *r, struct fw_wire_hardware *out)
{
    struct statvfs v;
    uint64_t now = fw_now_ns();

    if (s->dir < 0 || now < s->next_ns)
        return true;
    if (fstatvfs(s->dir, &v) != 0)
        return fw_reader_fail(r, "storage: %.60s", strerror(errno));
    s->next_ns = now + PERIOD_NS;
    out->storage_free_mb = (int64_t)((uint64_t)v.f_bavail / MEGABYTE * v.f_frsize +
                                     (uint64_t)v.f_bavail % MEGABYTE * v.f_frsize / MEGABYTE);
    return true;
}
