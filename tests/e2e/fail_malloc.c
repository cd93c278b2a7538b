/*
 * Preloaded library: the allocation of number FW_FAIL_AT (from 1) and, with FW_FAIL_ON, all later
 * ones fail. When the process ends normally without having made so many, the file FW_FAIL_NOTE is
 * made: the caller has then tried them all. glibc only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static atomic_long made;
static long fail_at;
static bool fail_on;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FW_FAIL_AT");

    fail_on = getenv("FW_FAIL_ON") != NULL;
    atomic_store(&made, 0);
    fail_at = at ? strtol(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *note = getenv("FW_FAIL_NOTE");

    if (note && atomic_load(&made) < fail_at) {
        const int fd = open(note, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

        if (fd >= 0)
            close(fd);
    }
}

static bool fails(void)
{
    const long n = atomic_fetch_add(&made, 1) + 1;

    if (!fail_at || n < fail_at || (n > fail_at && !fail_on))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails() ? NULL : __libc_realloc(p, n);
}
