#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool map(struct mapped *m, int fd, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_field(err, ERR_INVALID, path, "not a regular file");
    if (st.st_size == 0)
        return err_field(err, ERR_INVALID, path, "empty");

    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

    if (bytes == MAP_FAILED)
        return err_field(err, ERR_INTERNAL, path, "cannot be mapped: %s", strerror(errno));
    *m = (struct mapped){bytes, (size_t)st.st_size};
    return true;
}

bool mapped_open(struct mapped *m, const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_field(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_INTERNAL, path, "%s",
                         strerror(errno));

    bool ok = map(m, fd, path, err);

    close(fd);
    return ok;
}

void mapped_close(struct mapped *m)
{
    if (m->bytes)
        munmap((void *)(unsigned long)m->bytes, m->size);
    *m = (struct mapped){NULL, 0};
}
