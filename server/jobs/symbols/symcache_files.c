#include "server/jobs/symbols/symcache_files.h"

#include "base/digest.h"
#include "server/jobs/symbols/symcache_pieces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define IDLE_MAX 64 /* mappings that are kept though nobody uses them */
#define NAME_BYTES (2 * SHA256_BYTES + 16)
#define STALE_S 86400 /* leftovers of a process that died are older */
#define SUFFIX ".table"

struct entry {
    struct table table; /* first: a borrowed table leads back to its entry */
    struct entry *next; /* of the list, used last first */
    unsigned char sha256[SHA256_BYTES];
    size_t refs;
    bool loading;
    void *at;
    size_t size;
};

struct symcache_files {
    char *folder;
    bool own; /* the folder goes with us */
    int64_t cap;
    pthread_mutex_t lock; /* guards folder, list and what is in it */
    pthread_cond_t loaded;
    struct entry *list;
    struct {
        atomic_int_least64_t hits, maps, fills, evicted, damaged;
    } counts;
};

/* Folder -----------------------------------------------------------------------------------------
 */

/* A folder that was named is tried at once: nobody should learn with the first symbols that it is
 * none. */
static bool try_folder(const char *folder, struct err *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/part-XXXXXX", folder), fd = -1;

    if (n > 0 && n < (int)sizeof path && (mkdir(folder, 0700) == 0 || errno == EEXIST))
        fd = mkstemp(path);
    if (fd < 0)
        return err_field(err, ERR_INVALID, "cache_dir", "no files can be made in %.200s: %s",
                         folder, strerror(errno));
    close(fd);
    unlink(path);
    return true;
}

struct symcache_files *symcache_files_new(const char *folder, int64_t cap_bytes, struct err *err)
{
    struct symcache_files *f;

    if (folder[0] && !try_folder(folder, err))
        return NULL;
    f = calloc(1, sizeof *f);
    if (f && folder[0])
        f->folder = strdup(folder);
    if (!f || (folder[0] && !f->folder)) {
        free(f);
        err_memory(err);
        return NULL;
    }
    f->cap = cap_bytes;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->loaded, NULL);
    return f;
}

static bool make_own_folder(struct symcache_files *f, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/framewatchd-XXXXXX", tmp && *tmp ? tmp : "/tmp");

    if (n < 0 || n >= (int)sizeof path || !mkdtemp(path))
        return err_set(err, ERR_INTERNAL, "cannot make a folder for symbols: %s", strerror(errno));
    f->folder = strdup(path);
    f->own = true;
    return f->folder || err_memory(err);
}

/* The folder, there for sure; NULL if it cannot be made. Never changes once it is known. */
static const char *folder_of(struct symcache_files *f, struct err *err)
{
    bool ok = true;

    pthread_mutex_lock(&f->lock);
    if (!f->folder)
        ok = make_own_folder(f, err);
    pthread_mutex_unlock(&f->lock);
    if (!ok)
        return NULL;
    if (mkdir(f->folder, 0700) != 0 && errno != EEXIST) {
        err_set(err, ERR_INTERNAL, "cannot make %.160s: %s", f->folder, strerror(errno));
        return NULL;
    }
    return f->folder;
}

static bool path_of(const char *folder, const char *name, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);

    return n > 0 && n < PATH_MAX;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);

    return n > s && strcmp(name + n - s, suffix) == 0;
}

/* Files of one folder, none below it. */
static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    char path[PATH_MAX];

    while (dir && (e = readdir(dir)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            path_of(folder, e->d_name, path))
            unlink(path);
    if (dir)
        closedir(dir);
    rmdir(folder);
}

void symcache_files_drop(const char *workspace)
{
    if (workspace)
        remove_folder(workspace);
}

/* Workspaces and half files of processes that died. */
static void remove_stale(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    struct stat st;
    char path[PATH_MAX];
    time_t now = time(NULL);

    while (dir && (e = readdir(dir))) {
        bool work = strncmp(e->d_name, "work-", 5) == 0;

        if ((!work && strncmp(e->d_name, "part-", 5) != 0) || !path_of(folder, e->d_name, path) ||
            lstat(path, &st) != 0 || now - st.st_mtime < STALE_S)
            continue;
        if (S_ISDIR(st.st_mode))
            remove_folder(path);
        else
            unlink(path);
    }
    if (dir)
        closedir(dir);
}

bool symcache_files_workspace(struct symcache_files *f, struct arena *mem, const char **path,
                              struct err *err)
{
    const char *folder = folder_of(f, err);
    char text[PATH_MAX];

    if (!folder)
        return false;
    remove_stale(folder);
    if (!path_of(folder, "work-XXXXXX", text) || !mkdtemp(text))
        return err_set(err, ERR_INTERNAL, "cannot make a folder in %.160s: %s", folder,
                       strerror(errno));
    *path = arena_dup(mem, text, strlen(text));
    return *path || err_full(err, "a job");
}

/* Eviction ---------------------------------------------------------------------------------------
 */

struct aged {
    char name[NAME_BYTES];
    struct timespec used;
    int64_t size;
};

static int by_use(const void *a, const void *b)
{
    const struct aged *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static struct aged *list_tables(const char *folder, size_t *n, int64_t *total)
{
    DIR *dir = opendir(folder);
    struct aged *list = NULL;
    struct dirent *e;
    struct stat st;
    char path[PATH_MAX];

    *n = 0;
    *total = 0;
    while (dir && (e = readdir(dir))) {
        if (!has_suffix(e->d_name, SUFFIX) || strlen(e->d_name) >= NAME_BYTES ||
            !path_of(folder, e->d_name, path) || stat(path, &st) != 0)
            continue;

        struct aged *more = realloc(list, (*n + 1) * sizeof *list);

        if (!more)
            break;
        list = more;
        list[*n].used = st.st_mtim;
        list[*n].size = st.st_size;
        memcpy(list[*n].name, e->d_name, strlen(e->d_name) + 1);
        *total += st.st_size;
        (*n)++;
    }
    if (dir)
        closedir(dir);
    return list;
}

/* The files used longest ago go until the rest fits; `keep` stays. */
static void trim(struct symcache_files *f, const char *keep)
{
    size_t n;
    int64_t total;
    struct aged *list = list_tables(f->folder, &n, &total);
    char path[PATH_MAX];

    if (list)
        qsort(list, n, sizeof *list, by_use);
    for (size_t i = 0; i < n && total > f->cap; i++) {
        if (strcmp(list[i].name, keep) == 0 || !path_of(f->folder, list[i].name, path))
            continue;
        if (unlink(path) == 0)
            atomic_fetch_add(&f->counts.evicted, 1);
        total -= list[i].size;
    }
    free(list);
}

/* Filling ----------------------------------------------------------------------------------------
 */

static bool write_piece(void *user, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, user) == n;
}

static bool fetch(struct symcache_files *f, struct db *db, const struct table_key *key,
                  const char *name, struct err *err)
{
    char part[PATH_MAX], whole[PATH_MAX];
    unsigned char sum[SHA256_BYTES];
    int fd = -1;
    FILE *to = NULL;
    bool ok = path_of(f->folder, "part-XXXXXX", part) && path_of(f->folder, name, whole);

    if (ok && (fd = mkostemp(part, O_CLOEXEC)) >= 0)
        to = fdopen(fd, "wb");
    if (!to) {
        if (fd >= 0)
            close(fd);
        return err_set(err, ERR_INTERNAL, "cannot write into %.160s: %s", f->folder,
                       strerror(errno));
    }
    ok = symcache_pieces_read(db, key->id, key->size, sum, write_piece, to, err);
    if (fclose(to) != 0 && ok)
        ok = err_set(err, ERR_INTERNAL, "cannot write into %.160s: %s", f->folder, strerror(errno));
    if (ok && memcmp(sum, key->sha256, sizeof sum) != 0)
        ok = err_set(err, ERR_INTERNAL, "the stored table is not the one that was made");
    if (ok && rename(part, whole) != 0)
        ok = err_set(err, ERR_INTERNAL, "cannot rename %.160s: %s", part, strerror(errno));
    if (!ok)
        unlink(part);
    return ok;
}

/* Held by who fills files whose digest begins alike; -1: not to be had. */
static int lock_file(struct symcache_files *f, const char *name)
{
    char lock[16], path[PATH_MAX];
    int fd;

    snprintf(lock, sizeof lock, "lock-%c", name[0]);
    if (!path_of(f->folder, lock, path))
        return -1;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0)
        if (errno != EINTR) {
            close(fd);
            return -1;
        }
    return fd;
}

/* Used now, to the nanosecond: the file system's own clock is coarser. */
static void touch(int fd)
{
    struct timespec now[2];

    clock_gettime(CLOCK_REALTIME, &now[0]);
    now[1] = now[0];
    futimens(fd, now);
}

/* Maps the file if it is there and whole. A damaged one is removed. */
static bool map_file(struct symcache_files *f, const struct table_key *key, const char *name,
                     struct entry *e)
{
    char path[PATH_MAX];
    unsigned char sum[SHA256_BYTES];
    struct stat st;
    void *at = MAP_FAILED;
    int fd = path_of(f->folder, name, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && st.st_size == key->size && st.st_size > 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    touch(fd);
    close(fd);
    if (at != MAP_FAILED) {
        sha256(at, (size_t)key->size, sum);
        if (memcmp(sum, key->sha256, sizeof sum) == 0) {
            e->at = at;
            e->size = (size_t)key->size;
            return true;
        }
        munmap(at, (size_t)key->size);
    }
    atomic_fetch_add(&f->counts.damaged, 1);
    unlink(path);
    return false;
}

static bool fill(struct symcache_files *f, struct db *db, const struct table_key *key,
                 const char *name, struct entry *e, struct err *err)
{
    int lock = lock_file(f, name);
    bool ok = lock >= 0;

    if (!ok)
        return err_set(err, ERR_INTERNAL, "cannot lock %.160s: %s", f->folder, strerror(errno));
    ok = map_file(f, key, name, e); /* somebody else was quicker */
    if (!ok && fetch(f, db, key, name, err)) {
        atomic_fetch_add(&f->counts.fills, 1);
        trim(f, name);
        ok = map_file(f, key, name, e) ||
             err_set(err, ERR_INTERNAL, "a table vanished while it was opened");
    }
    close(lock);
    return ok;
}

static bool load(struct symcache_files *f, struct db *db, const struct table_key *key,
                 struct entry *e, struct err *err)
{
    char name[NAME_BYTES];

    if (!folder_of(f, err))
        return false;
    to_hex(key->sha256, SHA256_BYTES, name);
    memcpy(name + 2 * SHA256_BYTES, SUFFIX, sizeof SUFFIX);
    if (!map_file(f, key, name, e) && !fill(f, db, key, name, e, err))
        return false;
    atomic_fetch_add(&f->counts.maps, 1);
    return key->kind == TABLE_MAPPING ? retrace_open(&e->table.mapping, e->at, e->size, err)
                                      : symcache_open(&e->table.native, e->at, e->size, err);
}

/* Entries ----------------------------------------------------------------------------------------
 */

static void entry_free(struct entry *e)
{
    if (e->at)
        munmap(e->at, e->size);
    free(e);
}

/* With the lock held: an entry out of the list. */
static void unlink_entry(struct symcache_files *f, struct entry *e)
{
    for (struct entry **at = &f->list; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            return;
        }
}

/* With the lock held: the entry of that digest, moved to the front. */
static struct entry *find(struct symcache_files *f, const struct table_key *key)
{
    for (struct entry *e = f->list; e; e = e->next)
        if (memcmp(e->sha256, key->sha256, SHA256_BYTES) == 0 && e->table.kind == key->kind) {
            unlink_entry(f, e);
            e->next = f->list;
            f->list = e;
            return e;
        }
    return NULL;
}

/* With the lock held: idle mappings beyond those kept, the longest unused first, out of the list.
 */
static struct entry *take_idle(struct symcache_files *f)
{
    struct entry *out = NULL;
    size_t idle = 0;

    for (struct entry **at = &f->list; *at;) {
        struct entry *e = *at;

        if (e->refs || ++idle <= IDLE_MAX) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        e->next = out;
        out = e;
    }
    return out;
}

static void free_list(struct entry *e)
{
    while (e) {
        struct entry *next = e->next;

        entry_free(e);
        e = next;
    }
}

/* With the lock held: a reference to a known entry, after whoever loads it is ready. NULL: there is
 * none, and *mine is a new one in the list that the caller has to load. */
static struct entry *join(struct symcache_files *f, const struct table_key *key, struct entry *mine)
{
    struct entry *e;

    while ((e = find(f, key)) && e->loading)
        pthread_cond_wait(&f->loaded, &f->lock);
    if (e) {
        e->refs++;
        return e;
    }
    memcpy(mine->sha256, key->sha256, SHA256_BYTES);
    mine->table.kind = key->kind;
    mine->loading = true;
    mine->refs = 1;
    mine->next = f->list;
    f->list = mine;
    return NULL;
}

bool symcache_files_borrow(struct symcache_files *f, struct db *db, const struct table_key *key,
                           const struct table **out, struct err *err)
{
    struct entry *mine = calloc(1, sizeof *mine), *known, *idle;
    bool ok;

    if (!mine)
        return err_memory(err);
    pthread_mutex_lock(&f->lock);
    known = join(f, key, mine);
    pthread_mutex_unlock(&f->lock);
    if (known) {
        free(mine);
        atomic_fetch_add(&f->counts.hits, 1);
        *out = &known->table;
        return true;
    }
    ok = load(f, db, key, mine, err);
    pthread_mutex_lock(&f->lock);
    mine->loading = false;
    if (!ok)
        unlink_entry(f, mine);
    idle = take_idle(f);
    pthread_cond_broadcast(&f->loaded);
    pthread_mutex_unlock(&f->lock);
    free_list(idle);
    if (ok)
        *out = &mine->table;
    else
        entry_free(mine);
    return ok;
}

void symcache_files_return(struct symcache_files *f, const struct table *t)
{
    struct entry *e = (struct entry *)(uintptr_t)t, *idle;

    if (!t)
        return;
    pthread_mutex_lock(&f->lock);
    e->refs--;
    idle = take_idle(f);
    pthread_mutex_unlock(&f->lock);
    free_list(idle);
}

void symcache_files_free(struct symcache_files *f)
{
    if (!f)
        return;
    free_list(f->list);
    if (f->own)
        remove_folder(f->folder);
    pthread_cond_destroy(&f->loaded);
    pthread_mutex_destroy(&f->lock);
    free(f->folder);
    free(f);
}

void symcache_files_counts(const struct symcache_files *f, struct symcache_files_counts *out)
{
    struct symcache_files *counted = (struct symcache_files *)(uintptr_t)f; /* atomic loads */

    *out = (struct symcache_files_counts){
        .hits = atomic_load(&counted->counts.hits),
        .maps = atomic_load(&counted->counts.maps),
        .fills = atomic_load(&counted->counts.fills),
        .evicted = atomic_load(&counted->counts.evicted),
        .damaged = atomic_load(&counted->counts.damaged),
    };
}
