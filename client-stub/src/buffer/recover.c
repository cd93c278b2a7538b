#include "src/buffer/recover.h"

#include "src/buffer/crash_recover.h"
#include "src/clock.h"
#include "wire/zstd_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536u
#define MAX_RECOVERED 256u

struct cursor {
    const unsigned char *at, *end;
    bool failed;
};

static uint64_t varint(struct cursor *c)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        unsigned char byte = *c->at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->failed = true;
    return 0;
}

static struct cursor nested(struct cursor *c)
{
    uint64_t n = varint(c);
    struct cursor in = {c->at, c->at, true};

    if (c->failed || n > (uint64_t)(c->end - c->at)) {
        c->failed = true;
        return in;
    }
    in = (struct cursor){c->at, c->at + n, false};
    c->at += n;
    return in;
}

/* The time of one body: field 1 of most kinds, part_start_us (12) of a header. */
static uint64_t body_time(struct cursor in, uint64_t kind)
{
    bool header = kind == 1, timed = kind != 9 && kind != 10 && kind != 15;

    while (!in.failed && in.at < in.end) {
        uint64_t tag = varint(&in);

        if ((tag & 7) == 0) {
            uint64_t value = varint(&in);

            if (!in.failed && timed && tag >> 3 == (header ? 12 : 1))
                return value;
        } else if ((tag & 7) == 2) {
            nested(&in);
        } else if ((tag & 7) == 5 && in.end - in.at >= 4) {
            in.at += 4;
        } else {
            return 0;
        }
    }
    return 0;
}

uint64_t fw_last_time_us(const void *bytes, size_t n)
{
    struct cursor log = {bytes, (const unsigned char *)bytes + n, false};
    uint64_t last = 0;

    while (!log.failed && log.at < log.end) {
        if (varint(&log) != (1 << 3 | 2))
            return last;

        struct cursor packet = nested(&log);
        uint64_t tag = varint(&packet);
        if ((tag & 7) != 2)
            continue;

        uint64_t t = body_time(nested(&packet), tag >> 3);
        if (t > last)
            last = t;
    }
    return last;
}

struct scan {
    uint64_t whole; /* bytes up to the end of the last whole frame */
    uint64_t last_us;
};

/* Streams the file through zstd; what a frame holds is looked at if it fits the scratch buffer. */
static struct scan scan_file(int fd, ZSTD_DStream *zstd, struct fw_slice *scratch)
{
    struct scan found = {0};
    ZSTD_outBuffer out = {scratch->raw.at, scratch->raw.cap, 0};
    bool fits = true;
    uint64_t read_before = 0;
    ssize_t n;

    ZSTD_initDStream(zstd);
    while ((n = read(fd, scratch->packed.at, READ_BYTES)) > 0) {
        ZSTD_inBuffer in = {scratch->packed.at, (size_t)n, 0};

        while (in.pos < in.size) {
            size_t left = ZSTD_decompressStream(zstd, &out, &in);

            if (ZSTD_isError(left))
                return found;
            if (left == 0) {
                uint64_t t = fits ? fw_last_time_us(out.dst, out.pos) : 0;

                found.whole = read_before + in.pos;
                found.last_us = t > found.last_us ? t : found.last_us;
                fits = true;
            } else if (out.pos == out.size) {
                fits = false;
            }
            if (left == 0 || out.pos == out.size)
                out.pos = 0;
        }
        read_before += (uint64_t)n;
    }
    return found;
}

static bool close_session(struct fw_store *s, int fd, const char *name, struct scan found,
                          struct fw_slice *scratch)
{
    char done[FW_FILE_NAME_BYTES];

    fw_file_sibling(name, ".fws", done);
    fw_wire_end(&scratch->raw, found.last_us, FW_END_RECOVERED);
    fw_slice_pack(scratch);
    return ftruncate(fd, (off_t)found.whole) == 0 && lseek(fd, 0, SEEK_END) >= 0 &&
           write(fd, scratch->packed.at, scratch->packed.len) == (ssize_t)scratch->packed.len &&
           renameat(s->dir, name, s->dir, done) == 0;
}

int fw_lock_dead(const struct fw_store *s, const char *name)
{
    struct stat opened, named;
    int fd = openat(s->dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return -1;
    /* After the lock the name may already belong to nothing, or to another file. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) &&
        fstatat(s->dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == opened.st_ino)
        return fd;
    close(fd);
    return -1;
}

static bool recover_one(struct fw_store *s, const char *name, ZSTD_DStream *zstd,
                        struct fw_slice *scratch)
{
    int fd = fw_lock_dead(s, name);

    if (fd < 0)
        return false;

    struct scan found = fw_file_is(name, ".open") ? scan_file(fd, zstd, scratch) : (struct scan){0};
    bool done = found.whole && close_session(s, fd, name, found, scratch);

    if (!found.whole)
        unlinkat(s->dir, name, 0);
    close(fd);
    return done;
}

static bool orphan_state(const struct fw_store *s, const char *name)
{
    char file[FW_FILE_NAME_BYTES];

    if (!fw_file_is(name, ".state"))
        return false;
    fw_file_sibling(name, ".fws", file);
    if (faccessat(s->dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return false;
    fw_file_sibling(name, ".sum", file);
    return faccessat(s->dir, file, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
}

/* Calls fn for each name in the folder, at most MAX_RECOVERED. */
struct work {
    struct fw_store *store;
    struct fw_slice *scratch;
    ZSTD_DStream *zstd;
    unsigned finished;
};

static void for_each_name(struct work *w, void (*fn)(struct work *w, const char *name))
{
    int fd = openat(w->store->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    for (unsigned i = 0; d && i < MAX_RECOVERED && (entry = readdir(d)); i++)
        fn(w, entry->d_name);
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
}

static void recover_crash(struct work *w, const char *name)
{
    if (fw_file_is(name, ".crash"))
        w->finished += fw_crash_recover(w->store, name, w->scratch);
}

static void recover_rest(struct work *w, const char *name)
{
    if (fw_file_is(name, ".open") || fw_file_is(name, ".new"))
        w->finished += recover_one(w->store, name, w->zstd, w->scratch);
    else if (orphan_state(w->store, name) || fw_store_is_left_over(w->store, name, fw_wall_ms()))
        unlinkat(w->store->dir, name, 0);
}

unsigned fw_store_recover(struct fw_store *s, struct fw_slice *scratch)
{
    struct work w = {s, scratch, ZSTD_createDStream_advanced(fw_zstd_memory(s->memory)), 0};

    for_each_name(&w, recover_crash); /* first: a crash's last slice belongs into an open file */
    if (w.zstd)
        for_each_name(&w, recover_rest);
    ZSTD_freeDStream(w.zstd);
    if (w.finished)
        fw_log_say(s->log, FW_LOG_INFO, "%u files of sessions that did not end were closed",
                   w.finished);
    return w.finished;
}
