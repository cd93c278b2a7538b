#include "symbol_walk.h"

#include "base/buf.h"
#include "mapped.h"
#include "symbols/retrace/retrace_build.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <zip.h>

#define DEPTH_MAX 24
#define PIECE ((size_t)1 << 20)
#define UNPACKED_BYTES ((int64_t)16 << 30) /* of a zip file; what follows is left to the server */
#define ZIP_IMAGES 256                     /* that the server takes of one */
#define INDEX_BYTES ((size_t)2 << 30)

const char *symbol_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void symbol_files_free(struct symbol_files *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->at[i].images);
    free(f->at);
    *f = (struct symbol_files){0};
}

static struct symbol_found *add(struct symbol_files *f, const char *path, struct err *err)
{
    struct symbol_found *more;

    if (f->n == SYMBOL_FILES_MAX) {
        err_set(err, ERR_TOO_BIG, "more than %d files with symbols", SYMBOL_FILES_MAX);
        return NULL;
    }
    more = realloc(f->at, (f->n + 1) * sizeof *more);
    if (!more) {
        err_memory(err);
        return NULL;
    }
    f->at = more;
    more += f->n++;
    memset(more, 0, sizeof *more);
    snprintf(more->path, sizeof more->path, "%s", path);
    return more;
}

/* Files ------------------------------------------------------------------------------------------
 */

static void read_image(const void *bytes, const struct debug_slice *slice, struct symbol_image *out)
{
    struct debug_image image;
    struct err ignored;

    *out = (struct symbol_image){.arch = slice->arch, .format = slice->format};
    debug_id_text(&slice->id, out->debug_id);
    sha256((const unsigned char *)bytes + slice->offset, slice->size, out->sha256);
    if (!debug_image_open(&image, bytes, slice, NULL, &ignored))
        return;
    out->dwarf = image.sections[DEBUG_INFO].size > 0;
    out->symbols = image.symbols.n > 0;
    out->damaged = debug_image_damaged(&image) && !out->dwarf && !out->symbols;
    debug_image_close(&image);
}

static bool add_images(struct symbol_found *x, const void *bytes, const struct debug_slices *slices,
                       struct err *err)
{
    struct symbol_image *more = realloc(x->images, (x->n_images + slices->n) * sizeof *more);

    if (!more)
        return err_memory(err);
    x->images = more;
    for (size_t i = 0; i < slices->n; i++)
        read_image(bytes, &slices->at[i], &more[x->n_images++]);
    return true;
}

static bool take_debug_file(struct symbol_files *f, const char *path, const struct mapped *file,
                            const struct debug_slices *slices, struct err *err)
{
    struct symbol_found *x = add(f, path, err);

    if (!x)
        return false;
    x->kind = SYMBOLS_IMAGE;
    return add_images(x, file->bytes, slices, err);
}

static bool into_buf(void *ctx, const void *bytes, size_t n)
{
    buf_put(ctx, bytes, n);
    return buf_ok(ctx);
}

static bool take_mapping(struct symbol_files *f, const char *path, const struct mapped *file,
                         struct err *err)
{
    const struct retrace_limits limits = {.mapping_bytes = file->size};
    struct retrace index;
    struct buf made;
    struct symbol_found *x;
    bool ok;

    buf_init(&made, INDEX_BYTES);
    ok = retrace_build(file->bytes, file->size, &limits, into_buf, &made, NULL, err) &&
         retrace_open(&index, made.at, made.len, err) && (x = add(f, path, err));
    if (ok) {
        x->kind = SYMBOLS_MAPPING;
        sha256(file->bytes, file->size, x->sha256);
        mapping_id(&index, x->sha256, x->mapping_id);
    }
    buf_fini(&made);
    return ok;
}

static bool is_zip(const struct mapped *file)
{
    return file->size >= 4 && memcmp(file->bytes, "PK\3\4", 4) == 0;
}

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), e = strlen(end);

    return n >= e && strcmp(path + n - e, end) == 0;
}

/* Zip files: as the server reads them, so that what it has need not be sent. What is not read here
 * is left to it. */

static bool is_map(const char *name)
{
    return ends_with(name, ".bcsymbolmap");
}

/* A debug file in the archive, unpacked; NULL: it is none, or cannot be read. */
static FILE *unpack_entry(struct symbol_found *x, zip_t *zip, zip_uint64_t i, unsigned char *piece,
                          int64_t *left)
{
    zip_file_t *from = zip_fopen_index(zip, i, 0);
    FILE *to = NULL;
    zip_int64_t n = 0;
    bool ok = from != NULL;

    while (ok && (n = zip_fread(from, piece, PIECE)) > 0) {
        if (!to && !debug_file_looks_like(piece, (size_t)n))
            break;
        *left -= n;
        ok = *left >= 0 && (to || (to = tmpfile())) && fwrite(piece, 1, (size_t)n, to) == (size_t)n;
    }
    ok = ok && n >= 0 && (!to || fflush(to) == 0);
    if (from)
        zip_fclose(from);
    x->unread |= !ok;
    if (to && !ok) {
        fclose(to);
        to = NULL;
    }
    return to;
}

static bool look_at_unpacked(struct symbol_found *x, FILE *file, struct err *err)
{
    struct debug_slices slices;
    struct err ignored;
    struct stat st;
    void *at = MAP_FAILED;
    bool ok = true;

    if (fstat(fileno(file), &st) == 0 && st.st_size > 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    x->unread |= at == MAP_FAILED;
    if (at == MAP_FAILED)
        return true;
    if (debug_file_slices(at, (size_t)st.st_size, &slices, &ignored))
        ok = add_images(x, at, &slices, err);
    munmap(at, (size_t)st.st_size);
    return ok;
}

static bool look_at_entries(struct symbol_found *x, zip_t *zip, unsigned char *piece,
                            struct err *err)
{
    zip_int64_t n = zip_get_num_entries(zip, 0);
    int64_t left = UNPACKED_BYTES;
    bool ok = true;

    x->unread = n < 1;
    for (zip_int64_t i = 0; ok && i < n; i++) {
        const char *name = zip_get_name(zip, (zip_uint64_t)i, 0);
        FILE *file;

        if (x->n_images >= ZIP_IMAGES || left < 0) {
            x->unread = true;
            break;
        }
        if (!name || strncmp(name, "__MACOSX/", 9) == 0)
            continue;
        x->hidden_maps |= is_map(name);
        file = unpack_entry(x, zip, (zip_uint64_t)i, piece, &left);
        if (file) {
            ok = look_at_unpacked(x, file, err);
            fclose(file);
        }
    }
    return ok;
}

static bool take_zip(struct symbol_files *f, const char *path, struct err *err)
{
    struct symbol_found *x = add(f, path, err);
    unsigned char *piece = malloc(PIECE);
    zip_t *zip = x ? zip_open(path, ZIP_RDONLY, NULL) : NULL;
    bool ok = x != NULL;

    if (ok) {
        x->kind = SYMBOLS_ZIP;
        x->unread = !zip;
        ok = piece ? !zip || look_at_entries(x, zip, piece, err) : err_memory(err);
    }
    if (zip)
        zip_discard(zip);
    free(piece);
    return ok;
}

/* *ours: false where the file carries no symbols. */
static bool look_into(struct symbol_files *f, const char *path, const struct mapped *file,
                      bool named, bool *ours, struct err *err)
{
    struct debug_slices slices;

    *ours = true;
    if (debug_file_looks_like(file->bytes, file->size) &&
        debug_file_slices(file->bytes, file->size, &slices, err))
        return take_debug_file(f, path, file, &slices, err);
    if (named && is_zip(file))
        return take_zip(f, path, err);
    if ((named || ends_with(path, "mapping.txt")) &&
        retrace_looks_like_mapping(file->bytes, file->size))
        return take_mapping(f, path, file, err);
    *ours = false;
    return true;
}

static bool take_file(struct symbol_files *f, const char *path, bool named, struct err *err)
{
    struct mapped file = {0};
    bool ours = false, ok;
    size_t before = f->n;

    if (!mapped_open(&file, path, err)) {
        f->passed_over++;
        return !named;
    }
    ok = look_into(f, path, &file, named, &ours, err);
    if (ok && ours && f->n > before) {
        f->at[before].size = (int64_t)file.size;
        sha256(file.bytes, file.size, f->at[before].sha256);
    }
    mapped_close(&file);
    if (ok && !ours)
        f->passed_over++;
    return ok && (ours || !named ||
                  err_set(err, ERR_INVALID,
                          "%.150s: neither a debug file of ELF or Mach-O, a zip file nor a mapping",
                          path));
}

/* Folders ----------------------------------------------------------------------------------------
 */

static bool walk(struct symbol_files *f, const char *path, bool named, unsigned depth,
                 struct err *err);

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **list_folder(const char *path, size_t *n)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    char **names = NULL;

    *n = 0;
    while (dir && (e = readdir(dir))) {
        char **more;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        more = realloc(names, (*n + 1) * sizeof *names);
        if (!more || !(more[*n] = strdup(e->d_name))) {
            names = more ? more : names;
            break;
        }
        names = more;
        (*n)++;
    }
    if (dir)
        closedir(dir);
    if (names)
        qsort(names, *n, sizeof *names, by_name);
    return names;
}

static bool walk_folder(struct symbol_files *f, const char *path, unsigned depth, struct err *err)
{
    size_t n;
    char **names = list_folder(path, &n);
    bool ok = true;

    for (size_t i = 0; i < n; i++) {
        char below[PATH_MAX];
        int len = snprintf(below, sizeof below, "%s/%s", path, names[i]);

        if (ok && len > 0 && len < PATH_MAX)
            ok = walk(f, below, false, depth + 1, err);
        free(names[i]);
    }
    free(names);
    return ok;
}

/* Links are followed only where a person names them. */
static bool walk(struct symbol_files *f, const char *path, bool named, unsigned depth,
                 struct err *err)
{
    struct stat st;

    if ((named ? stat(path, &st) : lstat(path, &st)) != 0)
        return !named || err_set(err, ERR_NOT_FOUND, "%.150s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return depth >= DEPTH_MAX || walk_folder(f, path, depth, err);
    if (S_ISREG(st.st_mode) && (named || st.st_size > 0))
        return take_file(f, path, named, err);
    return true;
}

/* Twins ------------------------------------------------------------------------------------------
 */

/* What of an image's bytes says more: files and lines, then names. */
static int worth(const struct symbol_image *i)
{
    return i->dwarf ? 2 : i->symbols ? 1 : 0;
}

/* Of a stripped library and its symbols, which have one debug id, the symbols are meant. */
static bool better_elsewhere(const struct symbol_files *f, size_t mine,
                             const struct symbol_image *i)
{
    for (size_t k = 0; k < f->n; k++)
        for (size_t m = 0; k != mine && m < f->at[k].n_images; m++) {
            const struct symbol_image *other = &f->at[k].images[m];

            if (!f->at[k].skip && strcmp(other->debug_id, i->debug_id) == 0 &&
                other->arch == i->arch &&
                (worth(other) > worth(i) || (worth(other) == worth(i) && k < mine)))
                return true;
        }
    return false;
}

static void drop_twins(struct symbol_files *f)
{
    for (size_t i = 0; i < f->n; i++) {
        bool needed = f->at[i].kind != SYMBOLS_IMAGE;

        for (size_t k = 0; k < f->at[i].n_images; k++)
            needed |= f->at[i].images[k].damaged ||
                      (worth(&f->at[i].images[k]) && !better_elsewhere(f, i, &f->at[i].images[k]));
        f->at[i].skip = !needed;
    }
}

bool symbol_walk(char *const *paths, int n, struct symbol_files *out, struct err *err)
{
    *out = (struct symbol_files){0};
    for (int i = 0; i < n; i++)
        if (!walk(out, paths[i], true, 0, err)) {
            symbol_files_free(out);
            return false;
        }
    drop_twins(out);
    return true;
}
