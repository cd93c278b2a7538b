#include "server/jobs/symbols/index_file.h"

#include "base/digest.h"
#include "base/utf8.h"
#include "server/jobs/symbols/index_hidden.h"
#include "symbols/retrace/retrace_build.h"
#include "symbols/symcache_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zip.h>
#include <zstd.h>

#define PATH_BYTES 4096
#define PIECE ((size_t)1 << 20)
#define WINDOW_LOG_MAX 27 /* 128 MB: what any zstd takes without being asked */
#define NAME_BYTES 200

#define X(name, help) static const char name[] = #name;
INDEX_REASONS(X)
#undef X

struct index {
    const char *folder;
    FILE *result;
    uint64_t left; /* bytes that may still be unpacked */
    unsigned n_tables, n_refused;
    const struct hidden_maps *hidden; /* of the archive being read, or NULL */
};

struct view {
    const unsigned char *at;
    size_t size;
};

/* A word of the result: no tabs, no line ends, not too long; whole characters. */
static void put_word(FILE *f, const char *text)
{
    fputc('\t', f);
    for (size_t at = 0, n; text[at]; at += n) {
        n = utf8_length((const unsigned char *)text + at);
        n = n ? n : 1;
        if (at + n > NAME_BYTES)
            return;
        if ((unsigned char)text[at] < ' ' || text[at] == 0x7f)
            fputc(' ', f);
        else
            fwrite(text + at, 1, n, f);
    }
}

static void refuse(struct index *x, const char *reason, const char *name, const char *detail)
{
    char text[2 * NAME_BYTES];

    x->n_refused++;
    snprintf(text, sizeof text, "%s%s%s", name, *name ? ": " : "", detail);
    fputs("refused", x->result);
    put_word(x->result, reason);
    put_word(x->result, text);
    fputc('\n', x->result);
}

static void hash_of(const unsigned char *at, size_t size, char hex[2 * SHA256_BYTES + 1])
{
    unsigned char sum[SHA256_BYTES];

    sha256(at, size, sum);
    to_hex(sum, sizeof sum, hex);
}

static bool path_in(const struct index *x, const char *name, char out[PATH_BYTES])
{
    int n = snprintf(out, PATH_BYTES, "%s/%s", x->folder, name);

    return n > 0 && n < PATH_BYTES;
}

/* The last part of a path: names in archives may be anything. */
static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash ? slash + 1 : name;
}

static bool map_file(const char *path, struct view *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *at = MAP_FAILED;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return false;
    *out = (struct view){at, (size_t)st.st_size};
    return true;
}

static void unmap(struct view *v)
{
    if (v->at)
        munmap((void *)(uintptr_t)v->at, v->size);
    *v = (struct view){0};
}

/* Images -----------------------------------------------------------------------------------------
 */

static bool write_table(void *ctx, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, ctx) == n;
}

/* Of an image, or of a mapping if that is NULL. False with *why: it says nothing, or is past a
 * limit.
 */
static bool make_table(struct index *x, struct debug_image *image,
                       const struct hidden_names *hidden, const struct view *mapping,
                       struct err *why)
{
    const struct symcache_options options = {.hidden = hidden};
    char name[32], path[PATH_BYTES];
    FILE *f;

    snprintf(name, sizeof name, "%u.table", x->n_tables);
    if (!path_in(x, name, path) || !(f = fopen(path, "wbe")))
        return err_set(why, ERR_INTERNAL, "cannot write a table");

    bool ok = image ? symcache_build(image, &options, write_table, f, NULL, why)
                    : retrace_build(mapping->at, mapping->size, NULL, write_table, f, NULL, why);

    if (fclose(f) != 0 && ok)
        ok = err_set(why, ERR_INTERNAL, "cannot write a table");
    if (!ok)
        unlink(path);
    return ok;
}

static void say_table(struct index *x, const struct view *image, bool revealed, const char *name)
{
    char hex[2 * SHA256_BYTES + 1];

    hash_of(image->at, image->size, hex);
    fprintf(x->result, "table\t%u\t%s\t%zu", x->n_tables++, hex, image->size);
    put_word(x->result, last_part(name));
    put_word(x->result, revealed ? "revealed" : "-");
    fputc('\n', x->result);
}

static const char *reason_of(const struct err *why, bool broken)
{
    return why->code == ERR_TOO_BIG ? past_limit : broken ? damaged : no_symbols;
}

static bool index_slice(struct index *x, const struct view *file, const struct debug_slice *slice,
                        const char *name)
{
    struct debug_image image;
    struct hidden_names names = {0};
    struct err why = {0};
    bool ok, revealed, broken;

    if (!slice->id.size) {
        refuse(x, no_debug_id, name, "link with --build-id");
        return true;
    }
    if (x->n_tables == INDEX_TABLES) {
        refuse(x, past_limit, name, "too many images in one file");
        return true;
    }
    if (!debug_image_open(&image, file->at, slice, NULL, &why)) {
        refuse(x, why.code == ERR_TOO_BIG ? past_limit : damaged, name, why.text);
        return true;
    }
    revealed = x->hidden && hidden_maps_read(x->hidden, &slice->id, &x->left, &names);
    ok = make_table(x, &image, revealed ? &names : NULL, NULL, &why);
    hidden_names_fini(&names);
    broken = debug_image_damaged(&image);
    debug_image_close(&image);
    if (ok)
        say_table(x, &(struct view){file->at + slice->offset, slice->size}, revealed, name);
    else if (why.code != ERR_INTERNAL)
        refuse(x, reason_of(&why, broken), name, why.text);
    return ok || why.code != ERR_INTERNAL;
}

static bool index_debug_file(struct index *x, const struct view *file, const char *name)
{
    struct debug_slices slices;
    struct err why = {0};

    if (!debug_file_slices(file->at, file->size, &slices, &why)) {
        refuse(x, debug_file_looks_like(file->at, file->size) ? damaged : not_symbols, name,
               why.text);
        return true;
    }
    for (size_t i = 0; i < slices.n; i++)
        if (!index_slice(x, file, &slices.at[i], name))
            return false;
    if (slices.broken)
        refuse(x, damaged, name, "some architectures lie outside the file");
    return true;
}

/* Mappings ---------------------------------------------------------------------------------------
 */

static bool index_mapping(struct index *x, const struct view *file)
{
    struct err why = {0};

    if (!retrace_looks_like_mapping(file->at, file->size)) {
        refuse(x, not_mapping, "", "neither comments nor classes of a mapping");
        return true;
    }
    if (make_table(x, NULL, NULL, file, &why))
        say_table(x, file, false, "");
    else if (why.code != ERR_INTERNAL)
        refuse(x, why.code == ERR_TOO_BIG ? past_limit : not_mapping, "", why.text);
    return why.code != ERR_INTERNAL;
}

/* Archives ---------------------------------------------------------------------------------------
 */

static bool is_zip(const struct view *file)
{
    return file->size >= 4 &&
           (memcmp(file->at, "PK\3\4", 4) == 0 || memcmp(file->at, "PK\5\6", 4) == 0);
}

enum extracted { EXTRACTED, NOT_OURS, BROKEN, TOO_BIG, FAILED };

static enum extracted copy_entry(struct index *x, zip_file_t *from, FILE *to)
{
    unsigned char *piece = malloc(PIECE);
    enum extracted how = piece ? EXTRACTED : FAILED;
    bool first = true;
    zip_int64_t n = 0;

    while (how == EXTRACTED && (n = zip_fread(from, piece, PIECE)) > 0) {
        if (first && !debug_file_looks_like(piece, (size_t)n))
            how = NOT_OURS;
        else if ((uint64_t)n > x->left)
            how = TOO_BIG;
        else if (fwrite(piece, 1, (size_t)n, to) != (size_t)n)
            how = FAILED;
        else
            x->left -= (uint64_t)n;
        first = false;
    }
    free(piece);
    if (how == EXTRACTED && n < 0)
        return BROKEN;
    return how == EXTRACTED && first ? NOT_OURS : how;
}

static enum extracted extract(struct index *x, zip_t *zip, zip_uint64_t i, const char *path)
{
    zip_file_t *from = zip_fopen_index(zip, i, 0);
    FILE *to = from ? fopen(path, "wbe") : NULL;
    enum extracted how = !from ? BROKEN : !to ? FAILED : copy_entry(x, from, to);

    if (to && fclose(to) != 0 && how == EXTRACTED)
        how = FAILED;
    if (from && zip_fclose(from) != 0 && how == EXTRACTED)
        how = BROKEN; /* its checksum */
    return how;
}

static bool index_entry(struct index *x, zip_t *zip, zip_uint64_t i, bool *ours)
{
    const char *name = zip_get_name(zip, i, 0);
    char path[PATH_BYTES];
    struct view file = {0};
    bool ok = true;

    if (!name || !*name || name[strlen(name) - 1] == '/' || strncmp(name, "__MACOSX/", 9) == 0)
        return true;
    if (!path_in(x, "entry", path))
        return false;
    switch (extract(x, zip, i, path)) {
    case NOT_OURS:
        break;
    case BROKEN:
        refuse(x, damaged, last_part(name), "this part of the archive does not unpack");
        break;
    case TOO_BIG:
        refuse(x, past_limit, last_part(name), "the archive is too large once unpacked");
        break;
    case FAILED:
        ok = false;
        break;
    case EXTRACTED:
        *ours = true;
        ok = map_file(path, &file) && index_debug_file(x, &file, name);
        unmap(&file);
    }
    unlink(path);
    return ok;
}

static bool index_zip(struct index *x, const char *path, const char *name)
{
    int code = 0;
    zip_t *zip = zip_open(path, ZIP_RDONLY, &code);
    zip_int64_t n = zip ? zip_get_num_entries(zip, 0) : 0;
    struct hidden_maps *hidden = zip ? malloc(sizeof *hidden) : NULL;
    bool ok = true, ours = false;

    if (!zip) {
        refuse(x, damaged, name, "the archive cannot be read");
        return true;
    }
    if (hidden)
        hidden_maps_find(hidden, zip);
    x->hidden = hidden;
    for (zip_int64_t i = 0; ok && i < n && x->n_refused < INDEX_TABLES; i++)
        ok = index_entry(x, zip, (zip_uint64_t)i, &ours);
    x->hidden = NULL;
    free(hidden);
    zip_discard(zip);
    if (ok && !ours && !x->n_refused)
        refuse(x, not_symbols, name, "the archive holds no debug file");
    return ok;
}

/* zstd -------------------------------------------------------------------------------------------
 */

static bool is_zstd(const struct view *file)
{
    return file->size >= 4 && memcmp(file->at, "\x28\xb5\x2f\xfd", 4) == 0;
}

static enum extracted unpack_all(struct index *x, const struct view *file, ZSTD_DCtx *ctx,
                                 unsigned char *piece, FILE *to)
{
    ZSTD_inBuffer in = {file->at, file->size, 0};
    size_t left = 1;

    while (in.pos < in.size || left) {
        ZSTD_outBuffer out = {piece, PIECE, 0};
        size_t before = in.pos;

        left = ZSTD_decompressStream(ctx, &out, &in);
        if (ZSTD_isError(left) || (left && !out.pos && in.pos == before))
            return BROKEN;
        if (out.pos > x->left)
            return TOO_BIG;
        if (fwrite(piece, 1, out.pos, to) != out.pos)
            return FAILED;
        x->left -= out.pos;
    }
    return EXTRACTED;
}

static enum extracted unpack_zstd_file(struct index *x, const struct view *file, const char *path)
{
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    unsigned char *piece = malloc(PIECE);
    FILE *to = fopen(path, "wbe");
    enum extracted how = FAILED;

    if (ctx && piece && to &&
        !ZSTD_isError(ZSTD_DCtx_setParameter(ctx, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
        how = unpack_all(x, file, ctx, piece, to);
    if (to && fclose(to) != 0 && how == EXTRACTED)
        how = FAILED;
    free(piece);
    ZSTD_freeDCtx(ctx);
    return how;
}

/* The file ----------------------------------------------------------------------------------------
 */

static bool index_unpacked(struct index *x, const char *kind, const char *path)
{
    struct view file = {0};
    char hex[2 * SHA256_BYTES + 1];
    bool ok = true;

    if (!map_file(path, &file)) {
        refuse(x, damaged, "", "the file is empty");
        return true;
    }
    hash_of(file.at, file.size, hex);
    fprintf(x->result, "file\t%s\t%zu\n", hex, file.size);
    if (strcmp(kind, "mapping") == 0)
        ok = index_mapping(x, &file);
    else if (is_zip(&file))
        ok = index_zip(x, path, "");
    else
        ok = index_debug_file(x, &file, "");
    unmap(&file);
    return ok;
}

static bool index_file(struct index *x, const char *kind, const char *path)
{
    struct view file = {0};
    char unpacked[PATH_BYTES];
    enum extracted how = EXTRACTED;
    bool packed;

    if (!path_in(x, "unpacked", unpacked))
        return false;
    if (!map_file(path, &file)) {
        refuse(x, damaged, "", "the file is empty");
        return true;
    }
    packed = is_zstd(&file);
    if (packed)
        how = unpack_zstd_file(x, &file, unpacked);
    unmap(&file);
    if (how == BROKEN)
        refuse(x, damaged, "", "the zstd stream does not unpack");
    else if (how == TOO_BIG)
        refuse(x, past_limit, "", "too large once unpacked");
    else if (how == EXTRACTED)
        return index_unpacked(x, kind, packed ? unpacked : path);
    return how != FAILED;
}

int index_main(int argc, char **argv)
{
    struct index x = {0};
    char path[PATH_BYTES];
    bool ok;

    if (argc != 5 || (strcmp(argv[1], "symbols") != 0 && strcmp(argv[1], "mapping") != 0)) {
        fputs("usage: framewatchd index symbols|mapping FILE FOLDER MAX_BYTES\n", stderr);
        return 2;
    }
    x.folder = argv[3];
    x.left = strtoull(argv[4], NULL, 10);
    if (!path_in(&x, INDEX_RESULT, path) || !(x.result = fopen(path, "wbe"))) {
        fprintf(stderr, "framewatchd: cannot write into %s: %s\n", x.folder, strerror(errno));
        return 1;
    }
    ok = index_file(&x, argv[1], argv[2]);
    if (ok)
        fputs("end\n", x.result);
    return fclose(x.result) == 0 && ok ? 0 : 1;
}
