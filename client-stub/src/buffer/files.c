#include "src/buffer/files.h"

#include "src/buffer/crash_record.h"
#include "src/clock.h"
#include "src/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SESSION_DIGITS 32u
#define STEM_BYTES 37u /* 32 hex digits, '-', 4 digits */
#define HEX "0123456789abcdef"
#define MAX_PATH_BYTES 1024
#define LEFT_OVER_MS 60000 /* a write takes no minute */
#if defined(__APPLE__)
#define CHANGED st_mtimespec
#else
#define CHANGED st_mtim
#endif

bool fw_file_is(const char *name, const char *suffix)
{
    return strspn(name, HEX) == 32 && name[32] == '-' && strspn(name + 33, "0123456789") == 4 &&
           !strcmp(name + STEM_BYTES, suffix);
}

void fw_file_sibling(const char *name, const char *suffix, char out[FW_FILE_NAME_BYTES])
{
    snprintf(out, FW_FILE_NAME_BYTES, "%.*s%s", (int)STEM_BYTES, name, suffix);
}

static bool make_folders(const char *path)
{
    char partial[MAX_PATH_BYTES];
    size_t n = strlen(path);

    if (n >= sizeof partial)
        return false;
    memcpy(partial, path, n + 1);
    for (char *p = partial + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(partial, 0700);
            *p = '/';
        }
    return mkdir(partial, 0700) == 0 || errno == EEXIST;
}

bool fw_store_open(struct fw_store *s, const char *path, const struct fw_log *log)
{
    *s = (struct fw_store){.log = log, .dir = -1};
    if (make_folders(path))
        s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir < 0)
        fw_log_say(log, FW_LOG_ERROR, "storage folder %s: %s", path, strerror(errno));
    return s->dir >= 0;
}

bool fw_store_find(struct fw_store *s, const char *path, const struct fw_log *log)
{
    *s = (struct fw_store){.log = log, .dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    return s->dir >= 0;
}

void fw_store_close(struct fw_store *s)
{
    if (s->dir >= 0)
        close(s->dir);
    s->dir = -1;
}

bool fw_store_read(struct fw_store *s, const char *name, struct fw_buf *out)
{
    unsigned char block[4096];
    int fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = -1;

    if (fd < 0)
        return false;
    while ((n = read(fd, block, sizeof block)) > 0 && out->len + (size_t)n <= FW_SMALL_FILE_BYTES)
        fw_buf_add(out, block, (size_t)n);
    close(fd);
    return n == 0 && !out->failed;
}

bool fw_store_write(struct fw_store *s, const char *name, const void *bytes, size_t n)
{
    char temporary[FW_FILE_NAME_BYTES + 24];

    snprintf(temporary, sizeof temporary, "%s.%d.tmp", name, (int)getpid());

    int fd = openat(s->dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;

    bool ok = write(fd, bytes, n) == (ssize_t)n;
    ok = close(fd) == 0 && ok && renameat(s->dir, temporary, s->dir, name) == 0;
    if (!ok)
        unlinkat(s->dir, temporary, 0);
    return ok;
}

bool fw_store_known_install(struct fw_store *s, char out[FW_INSTALL_BYTES])
{
    char text[FW_INSTALL_BYTES + 1];
    struct fw_buf b;

    fw_buf_over(&b, text, sizeof text - 1);
    if (!fw_store_read(s, "install", &b) || b.len != FW_INSTALL_BYTES - 1)
        return false;
    text[b.len] = 0;
    if (strspn(text, HEX) != b.len)
        return false;
    memcpy(out, text, FW_INSTALL_BYTES);
    return true;
}

bool fw_store_install_id(struct fw_store *s, char out[FW_INSTALL_BYTES])
{
    unsigned char random[16];

    if (fw_store_known_install(s, out))
        return true;
    fw_random(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    if (fw_store_write(s, "install", out, FW_INSTALL_BYTES - 1))
        return true;
    fw_log_say(s->log, FW_LOG_ERROR, "storage folder: cannot write: %s", strerror(errno));
    return false;
}

/* Lines of FW_INSTALL_BYTES, newline included; what is no id is skipped by its length. */
static size_t read_forgotten(struct fw_store *s, char text[FW_MAX_FORGOTTEN * FW_INSTALL_BYTES])
{
    struct fw_buf b;

    fw_buf_over(&b, text, FW_MAX_FORGOTTEN * FW_INSTALL_BYTES);
    return fw_store_read(s, "forget", &b) ? b.len / FW_INSTALL_BYTES : 0;
}

void fw_store_forget(struct fw_store *s, const char *install)
{
    char text[FW_MAX_FORGOTTEN * FW_INSTALL_BYTES];
    size_t n = read_forgotten(s, text);

    if (n == FW_MAX_FORGOTTEN)
        memmove(text, text + FW_INSTALL_BYTES, --n * FW_INSTALL_BYTES);
    memcpy(text + n * FW_INSTALL_BYTES, install, FW_INSTALL_BYTES - 1);
    text[(n + 1) * FW_INSTALL_BYTES - 1] = '\n';
    fw_store_write(s, "forget", text, (n + 1) * FW_INSTALL_BYTES);
}

bool fw_store_first_forgotten(struct fw_store *s, char out[FW_INSTALL_BYTES])
{
    char text[FW_MAX_FORGOTTEN * FW_INSTALL_BYTES];

    if (!read_forgotten(s, text) || strspn(text, HEX) != FW_INSTALL_BYTES - 1)
        return false;
    memcpy(out, text, FW_INSTALL_BYTES - 1);
    out[FW_INSTALL_BYTES - 1] = 0;
    return true;
}

void fw_store_erased(struct fw_store *s, const char *install)
{
    char text[FW_MAX_FORGOTTEN * FW_INSTALL_BYTES];
    size_t n = read_forgotten(s, text), kept = 0;

    for (size_t i = 0; i < n; i++)
        if (strncmp(text + i * FW_INSTALL_BYTES, install, FW_INSTALL_BYTES - 1) != 0)
            memmove(text + kept++ * FW_INSTALL_BYTES, text + i * FW_INSTALL_BYTES,
                    FW_INSTALL_BYTES);
    if (!kept)
        unlinkat(s->dir, "forget", 0);
    else
        fw_store_write(s, "forget", text, kept * FW_INSTALL_BYTES);
}

int fw_crash_file_begin(struct fw_store *s, const char *session, const void *head, size_t n)
{
    char name[FW_FILE_NAME_BYTES];

    /* Without content it is nobody's yet: whoever deletes it before the lock loses nothing. */
    snprintf(name, sizeof name, "%.32s-%04u.crash", session, FW_CRASH_PART);

    int fd = openat(s->dir, name, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && write(fd, head, n) == (ssize_t)n)
        return fd;
    unlinkat(s->dir, name, 0);
    close(fd);
    return -1;
}

void fw_crash_file_end(struct fw_store *s, const char *session, int fd)
{
    char name[FW_FILE_NAME_BYTES];

    if (fd < 0)
        return;
    snprintf(name, sizeof name, "%.32s-%04u.crash", session, FW_CRASH_PART);
    unlinkat(s->dir, name, 0);
    close(fd);
}

bool fw_part_begin(struct fw_store *s, struct fw_part *p, const char *session, unsigned part,
                   const void *head, size_t n)
{
    char fresh[FW_FILE_NAME_BYTES];

    *p = FW_NO_PART;
    snprintf(p->name, sizeof p->name, "%.32s-%04u.open", session, part % 10000);
    fw_file_sibling(p->name, ".new", fresh);

    /* Locked under another name first: nobody may take the unlocked file for a dead session's. */
    int fd = openat(s->dir, fresh, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && write(fd, head, n) == (ssize_t)n &&
        renameat(s->dir, fresh, s->dir, p->name) == 0) {
        p->fd = fd;
        p->bytes = n;
        atomic_fetch_add(&s->bytes_written, n);
        return true;
    }
    unlinkat(s->dir, fresh, 0);
    close(fd);
    return false;
}

bool fw_part_append(struct fw_store *s, struct fw_part *p, const void *bytes, size_t n)
{
    ssize_t written = write(p->fd, bytes, n);

    if (written == (ssize_t)n) {
        p->bytes += n;
        atomic_fetch_add(&s->bytes_written, n);
        return true;
    }
    if (written > 0 && ftruncate(p->fd, (off_t)p->bytes) != 0)
        fw_log_say(s->log, FW_LOG_WARN, "%s: %s", p->name, strerror(errno));
    return false;
}

void fw_part_finish(struct fw_store *s, struct fw_part *p)
{
    char done[FW_FILE_NAME_BYTES];

    if (p->fd < 0)
        return;
    fw_file_sibling(p->name, ".fws", done);
    if (renameat(s->dir, p->name, s->dir, done) != 0)
        fw_log_say(s->log, FW_LOG_WARN, "%s: %s", p->name, strerror(errno));
    close(p->fd);
    *p = FW_NO_PART;
}

static DIR *open_listing(const struct fw_store *s)
{
    int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d && fd >= 0)
        close(fd);
    return d;
}

static int64_t changed_ms(const struct stat *st)
{
    return (int64_t)st->CHANGED.tv_sec * 1000 + st->CHANGED.tv_nsec / 1000000;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);

    return n > m && !strcmp(name + n - m, suffix);
}

/* SESSION-PART.anything, the small files, and what a write of one left behind. */
static bool is_ours(const char *name)
{
    static const char *const small[] = {"install", "config", "budget"};

    if (strspn(name, HEX) == 32 && name[32] == '-' && strspn(name + 33, "0123456789") == 4)
        return true;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (!strncmp(name, small[i], strlen(small[i])) &&
            (!name[strlen(small[i])] || ends_in(name, ".tmp")))
            return true;
    return false;
}

bool fw_store_is_left_over(const struct fw_store *s, const char *name, int64_t now_ms)
{
    struct stat st;

    if (!ends_in(name, ".tmp") || !(is_ours(name) || !strncmp(name, "forget.", 7)) ||
        fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return false;
    return llabs(now_ms - changed_ms(&st)) > LEFT_OVER_MS;
}

void fw_store_clear(struct fw_store *s)
{
    DIR *d = open_listing(s);
    struct dirent *entry;

    while (d && (entry = readdir(d)))
        if (is_ours(entry->d_name))
            unlinkat(s->dir, entry->d_name, 0);
    if (d)
        closedir(d);
}

static int by_age(const void *a, const void *b)
{
    const struct fw_file *x = a, *y = b;

    if (x->changed_ms != y->changed_ms)
        return x->changed_ms < y->changed_ms ? -1 : 1;
    return strcmp(x->name, y->name);
}

static size_t list(struct fw_store *s, const char *suffix, struct fw_file out[FW_LIST_MAX])
{
    DIR *d = open_listing(s);
    struct dirent *entry;
    struct stat st;
    size_t n = 0;

    while (d && n < FW_LIST_MAX && (entry = readdir(d))) {
        if (!fw_file_is(entry->d_name, suffix) ||
            fstatat(s->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        memcpy(out[n].name, entry->d_name, strlen(entry->d_name) + 1);
        out[n].bytes = (uint64_t)st.st_size;
        out[n].changed_ms = changed_ms(&st);
        n++;
    }
    if (d)
        closedir(d);
    qsort(out, n, sizeof *out, by_age);
    return n;
}

size_t fw_store_list(struct fw_store *s, struct fw_file out[FW_LIST_MAX])
{
    return list(s, ".fws", out);
}

size_t fw_store_list_summaries(struct fw_store *s, struct fw_file out[FW_LIST_MAX])
{
    return list(s, ".sum", out);
}

void fw_store_drop_summaries(struct fw_store *s, const char *name)
{
    struct fw_file file[FW_LIST_MAX];
    size_t n = fw_store_list_summaries(s, file);

    for (size_t i = 0; i < n; i++)
        if (!strncmp(file[i].name, name, SESSION_DIGITS))
            fw_store_remove(s, file[i].name);
}

bool fw_store_write_summary(struct fw_store *s, const char *session, unsigned version,
                            const void *bytes, size_t n)
{
    char name[FW_FILE_NAME_BYTES];

    snprintf(name, sizeof name, "%.32s-%04u.sum", session, FW_SUMMARY_PART(version));
    fw_store_drop_summaries(s, session);
    return fw_store_write(s, name, bytes, n);
}

void fw_store_remove(struct fw_store *s, const char *name)
{
    char state[FW_FILE_NAME_BYTES];

    fw_file_sibling(name, ".state", state);
    unlinkat(s->dir, name, 0);
    unlinkat(s->dir, state, 0);
}

static uint64_t trim(struct fw_store *s, const char *suffix, int64_t now_ms)
{
    struct fw_file file[FW_LIST_MAX];
    uint64_t bytes = 0, dropped = 0;
    size_t n = list(s, suffix, file);

    for (size_t i = 0; i < n; i++)
        bytes += file[i].bytes;
    for (size_t i = 0; i < n; i++) {
        if (n - i <= FW_STORE_MAX_FILES && bytes <= FW_STORE_MAX_BYTES &&
            now_ms - file[i].changed_ms <= FW_STORE_MAX_AGE_MS)
            break;
        fw_store_remove(s, file[i].name);
        bytes -= file[i].bytes;
        dropped++;
    }
    return dropped;
}

void fw_store_trim(struct fw_store *s, int64_t now_ms)
{
    uint64_t dropped = trim(s, ".fws", now_ms);

    trim(s, ".sum", now_ms);
    if (!dropped)
        return;
    atomic_fetch_add(&s->dropped_files, dropped);
    fw_log_say(s->log, FW_LOG_WARN,
               "%u files deleted unsent: the storage folder was full or they were too old",
               (unsigned)dropped);
}
