#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40
#define NAMES_TRIED 1000

static bool refuse(const char *path, struct err *err)
{
    return err_set(err, ERR_INVALID, "%.150s cannot be written: %s", path, strerror(errno));
}

/* -1: the path names no descriptor. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t n = strlen(folders[i]), digits = strlen(path) - n;

        if (strncmp(path, folders[i], n) == 0 && digits >= 1 && digits <= 6 &&
            strspn(path + n, "0123456789") == digits)
            return (int)strtol(path + n, NULL, 10);
    }
    return -1;
}

/* Not opened anew: that would begin at the start of a file that others append to. */
static bool open_descriptor(struct out_file *f, int fd, const char *path, struct err *err)
{
    int own = fd == STDOUT_FILENO ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

    f->to = fd == STDOUT_FILENO ? stdout : own < 0 ? NULL : fdopen(own, "wb");
    f->say = fd == STDOUT_FILENO ? stderr : stdout;
    if (f->to)
        return true;
    refuse(path, err);
    if (own >= 0)
        close(own);
    return false;
}

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool join(char out[PATH_MAX], const char *folder, size_t n, const char *name)
{
    int len = snprintf(out, PATH_MAX, "%.*s%s", (int)n, folder, name);

    if (len >= 0 && len < PATH_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* The name at the end of a chain of symbolic links, whether it is there or not. */
static bool resolve(const char *path, char out[PATH_MAX])
{
    char link[PATH_MAX], at[PATH_MAX];
    ssize_t n;

    if (!join(out, "", 0, path))
        return false;
    for (unsigned i = 0; (n = readlink(out, link, sizeof link - 1)) >= 0; i++) {
        link[n] = '\0';
        memcpy(at, out, sizeof at);
        if (i == LINKS_MAX) {
            errno = ELOOP;
            return false;
        }
        if (!join(out, at, link[0] == '/' ? 0 : folder_length(at), link))
            return false;
    }
    return true;
}

/* Under a free name in the target's folder: a new file, or `nameless`, which is then kept. */
static int take_name(struct out_file *f, int nameless)
{
    static atomic_uint made;
    char name[64], own[64];
    int fd = -1;

    snprintf(own, sizeof own, "/proc/self/fd/%d", nameless);
    for (unsigned i = 0; fd < 0 && i < NAMES_TRIED; i++) {
        snprintf(name, sizeof name, ".framewatch-%ld-%u", (long)getpid(),
                 atomic_fetch_add(&made, 1));
        if (!join(f->temporary, f->target, folder_length(f->target), name))
            break;
        if (nameless < 0)
            fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        else if (linkat(AT_FDCWD, own, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) == 0)
            fd = nameless;
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        f->temporary[0] = '\0';
    return fd;
}

/* A nameless file goes away with the process, however that ends. */
static int open_beside(struct out_file *f)
{
    char folder[PATH_MAX];
    size_t n = folder_length(f->target);
    int fd;

    if (access("/proc/self/fd", X_OK) != 0) /* by which it gets a name */
        return take_name(f, -1);
    if (!join(folder, n ? f->target : "./", n ? n : 2, ""))
        return -1;
    fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        fd = take_name(f, -1);
    return fd;
}

bool out_file_open(struct out_file *f, const char *path, struct err *err)
{
    int fd = descriptor_of(path);
    struct stat there;
    bool exists;

    *f = (struct out_file){.say = stdout};
    if (fd >= 0)
        return open_descriptor(f, fd, path, err);
    exists = stat(path, &there) == 0;
    if (exists && !S_ISREG(there.st_mode)) {
        f->to = fopen(path, "wbe");
        return f->to || refuse(path, err);
    }
    if ((exists && access(path, W_OK) != 0) || !resolve(path, f->target) ||
        (fd = open_beside(f)) < 0)
        return refuse(path, err);
    f->mode = exists ? there.st_mode & 0777 : 0;
    f->to = fdopen(fd, "wb");
    if (f->to)
        return true;
    refuse(path, err);
    close(fd);
    unlink(f->temporary);
    return false;
}

/* All of it in the file, which has a name and its permissions. */
static bool finish(struct out_file *f)
{
    errno = EIO; /* what an error of before is told as */
    return !ferror(f->to) && fflush(f->to) == 0 &&
           (!f->mode || fchmod(fileno(f->to), (mode_t)f->mode) == 0) &&
           (f->temporary[0] || take_name(f, fileno(f->to)) >= 0);
}

static bool keep(struct out_file *f, bool ok, struct err *err)
{
    if (ok && !finish(f))
        ok = refuse(f->target, err);
    if (fclose(f->to) != 0 && ok)
        ok = refuse(f->target, err);
    if (ok && rename(f->temporary, f->target) != 0)
        ok = refuse(f->target, err);
    if (!ok && f->temporary[0])
        unlink(f->temporary);
    return ok;
}

bool out_file_close(struct out_file *f, bool ok, struct err *err)
{
    if (f->target[0])
        ok = keep(f, ok, err);
    else if ((f->to == stdout ? fflush(f->to) : fclose(f->to)) != 0 && ok)
        ok = refuse("the output", err);
    f->to = NULL;
    return ok;
}

bool out_file_put(const char *path, const void *bytes, size_t n, struct err *err)
{
    struct out_file f;

    if (!out_file_open(&f, path, err))
        return false;
    if (fwrite(bytes, 1, n, f.to) == n)
        return out_file_close(&f, true, err);
    refuse(path, err);
    return out_file_close(&f, false, err);
}
