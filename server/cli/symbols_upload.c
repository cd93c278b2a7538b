#include "ask.h"
#include "base/buf.h"
#include "fields.h"
#include "out_file.h"
#include "symbol_walk.h"
#include "symbols.h"
#include "term.h"
#include "tus_put.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <zstd.h>

#define LEVEL 3
#define PIECE ((size_t)1 << 20)
#define MAX_DEBUG_IDS 1024
#define MAX_ANEW                                                                                   \
    100 /* a file that was sent before, but is not there any more, goes under a new id */
#define MANIFEST_BYTES ((size_t)64 << 20)
#define BAR 24

struct options {
    struct client_options client;
    const char *platform, *version, *uid, *package, *commit, *manifest;
    int64_t version_code, wait_s;
    bool dry_run;
};

struct upload {
    const struct options *o;
    struct client *c;
    struct symbol_files files;
    struct term term;
    unsigned stored, known, refused;
};

/* What the server has
 * ------------------------------------------------------------------------------ */

enum have { HAVE_NOT, HAVE_SAME, HAVE_BETTER, HAVE_OTHER };

struct wanted {
    const char *kind, *id, *arch;
    const unsigned char *sum;
    bool dwarf, revealed; /* what ours says, and theirs must */
};

static bool flag(const json_t *item, const char *name)
{
    return json_is_true(json_object_get(item, name));
}

static enum have compare(const json_t *list, const struct wanted *w)
{
    const json_t *item;
    char hex[2 * SHA256_BYTES + 1];
    size_t i;

    to_hex(w->sum, SHA256_BYTES, hex);
    json_array_foreach(list, i, item)
    {
        if (strcmp(string(item, "arch"), w->arch) != 0)
            continue;
        if (strcmp(string(item, "source_sha256"), hex) == 0)
            return w->revealed && !flag(item, "revealed") ? HAVE_OTHER : HAVE_SAME;
        return flag(item, "dwarf") && !w->dwarf ? HAVE_BETTER : HAVE_OTHER;
    }
    return HAVE_NOT;
}

static bool server_has(struct upload *u, const struct wanted *w, bool *out, struct err *err)
{
    struct ask_url url = {.n = 0};
    json_t *list = NULL;
    enum have have;

    ask_url_put(&url, "/v1/symbols");
    ask_url_query(&url, "limit", "50");
    ask_url_query(&url, "kind", w->kind);
    ask_url_query(&url, "debug_id", w->id);
    if (!client_get(u->c, url.text, &list, err))
        return false;
    have = compare(json_object_get(list, "items"), w);
    *out = have == HAVE_SAME || have == HAVE_BETTER;
    json_decref(list);
    return true;
}

/* What the server would refuse in an archive with others; alone it is sent, and the server says so.
 */
static bool useless(const struct symbol_found *f, const struct symbol_image *image)
{
    return f->kind == SYMBOLS_ZIP && (!image->debug_id[0] || (!image->dwarf && !image->symbols));
}

static bool has_images(struct upload *u, const struct symbol_found *f, bool *all, struct err *err)
{
    size_t asked = 0;

    *all = !f->unread;
    for (size_t i = 0; *all && i < f->n_images; i++) {
        const struct symbol_image *image = &f->images[i];
        const struct wanted w = {.kind = "native",
                                 .id = image->debug_id,
                                 .arch = debug_arch_name(image->arch),
                                 .sum = image->sha256,
                                 .dwarf = image->dwarf,
                                 .revealed = f->hidden_maps};

        if (useless(f, image))
            continue;
        asked++;
        *all = image->debug_id[0] != '\0';
        if (*all && !server_has(u, &w, all, err))
            return false;
    }
    *all = *all && asked > 0;
    return true;
}

/* *all: nothing of the file is missing there. */
static bool has_all(struct upload *u, const struct symbol_found *f, bool *all, struct err *err)
{
    const struct wanted w = {.kind = "mapping", .id = f->mapping_id, .arch = "", .sum = f->sha256};

    return f->kind == SYMBOLS_MAPPING ? server_has(u, &w, all, err) : has_images(u, f, all, err);
}

/* Sending
 * ------------------------------------------------------------------------------------------ */

static bool compress(FILE *from, FILE *to, ZSTD_CCtx *ctx, unsigned char *in, unsigned char *out)
{
    bool end = false;

    while (!end) {
        ZSTD_inBuffer i = {in, fread(in, 1, PIECE, from), 0};
        size_t left;

        end = i.size < PIECE;
        if (ferror(from))
            return false;
        do {
            ZSTD_outBuffer o = {out, PIECE, 0};

            left = ZSTD_compressStream2(ctx, &o, &i, end ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left) || fwrite(out, 1, o.pos, to) != o.pos)
                return false;
        } while (end ? left > 0 : i.pos < i.size);
    }
    return fflush(to) == 0;
}

/* The file, compressed, in a temporary one. Equal files give equal bytes, so that a second run may
 * go on in the middle. */
static FILE *compressed(const char *path, int64_t *size, struct err *err)
{
    FILE *from = fopen(path, "rbe"), *to = tmpfile();
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    unsigned char *in = malloc(PIECE), *out = malloc(PIECE);
    bool ok = from && to && ctx && in && out &&
              !ZSTD_isError(ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL)) &&
              !ZSTD_isError(ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1)) &&
              compress(from, to, ctx, in, out);

    if (ok)
        *size = ftello(to);
    else
        err_set(err, ERR_INTERNAL, "%.150s cannot be compressed into a temporary file", path);
    free(in);
    free(out);
    ZSTD_freeCCtx(ctx);
    if (from)
        fclose(from);
    if (!ok && to)
        fclose(to);
    return ok ? to : NULL;
}

struct bar {
    const char *name;
    bool shown;
};

static void draw(void *user, int64_t done, int64_t size)
{
    struct bar *b = user;
    int filled = (int)(done * BAR / (size ? size : 1));

    if (!b->shown)
        return;
    fprintf(stderr, "\r%-24.24s [", b->name);
    for (int i = 0; i < BAR; i++)
        fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %3d%% of %.1f MB", (int)(done * 100 / (size ? size : 1)),
            (double)size / 1e6);
    if (done == size)
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

static const char *kind_of(const struct symbol_found *f)
{
    return f->kind == SYMBOLS_MAPPING ? "mapping" : "symbols";
}

static bool put(struct upload *u, const struct symbol_found *f, FILE *bytes, int64_t size,
                unsigned anew, char id[33], int64_t *resumed_at, struct err *err)
{
    char hex[2 * SHA256_BYTES + 1], file_id[128];
    struct bar bar = {symbol_file_name(f->path), isatty(STDERR_FILENO) == 1};
    const struct tus_file file = {.kind = kind_of(f),
                                  .file_id = file_id,
                                  .name = symbol_file_name(f->path),
                                  .bytes = bytes,
                                  .size = size,
                                  .progress = draw,
                                  .user = &bar};

    to_hex(f->sha256, SHA256_BYTES, hex);
    snprintf(file_id, sizeof file_id, "%s-zstd%u-%d-%u", hex, ZSTD_versionNumber(), LEVEL, anew);
    return tus_put(u->c, &file, id, resumed_at, err);
}

static bool fetch_outcome(struct upload *u, const char *id, json_t **list, struct err *err)
{
    char path[128];

    snprintf(path, sizeof path, "/v1/symbols/files?upload=%s", id);
    return client_get(u->c, path, list, err);
}

static void print_outcome(struct upload *u, const struct symbol_found *f, const json_t *row)
{
    const char *outcome = string(row, "outcome");

    if (strcmp(outcome, "stored") == 0)
        u->stored++;
    else if (strcmp(outcome, "duplicate") == 0)
        u->known++;
    else
        u->refused++;
    term_text(&u->term, symbol_file_name(f->path), 60);
    printf(": %s", outcome);
    if (string(row, "reason")[0]) {
        fputs(", ", stdout);
        term_text(&u->term, string(row, "reason"), 40);
    }
    if (string(row, "detail")[0]) {
        fputs(": ", stdout);
        term_text(&u->term, string(row, "detail"), 500);
    }
    putchar('\n');
}

/* Until the server has read it. */
static bool await_outcome(struct upload *u, const struct symbol_found *f, const char *id,
                          struct err *err)
{
    struct timespec pause = {.tv_nsec = 200000000};
    time_t until = time(NULL) + (time_t)u->o->wait_s;
    json_t *list = NULL, *row;

    for (;;) {
        if (!fetch_outcome(u, id, &list, err))
            return false;
        row = json_array_get(json_object_get(list, "items"), 0);
        if (row) {
            print_outcome(u, f, row);
            json_decref(list);
            return true;
        }
        json_decref(list);
        if (time(NULL) >= until)
            break;
        nanosleep(&pause, NULL);
    }
    printf("%s: sent; the server has not read it yet\n", symbol_file_name(f->path));
    return true;
}

/* A file that was sent whole before and is missing all the same was refused then, or its symbols
 * were deleted: it goes under another id. */
static bool send_anew(struct upload *u, const struct symbol_found *f, FILE *bytes, int64_t size,
                      char id[33], struct err *err)
{
    json_t *list = NULL;
    int64_t at;

    for (unsigned anew = 0; anew < MAX_ANEW; anew++) {
        bool over;

        if (!put(u, f, bytes, size, anew, id, &at, err))
            return false;
        if (at < size)
            return true;
        if (!fetch_outcome(u, id, &list, err))
            return false;
        over = json_array_size(json_object_get(list, "items")) > 0;
        json_decref(list);
        if (!over)
            return true; /* sent by an earlier run, and still being read */
    }
    return err_set(err, ERR_CONFLICT, "%.150s: was sent too often", f->path);
}

static bool send_file(struct upload *u, const struct symbol_found *f, struct err *err)
{
    char id[33];
    int64_t size = 0;
    bool known, ok;
    FILE *bytes;

    if (!has_all(u, f, &known, err))
        return false;
    if (known) {
        u->known++;
        printf("%s: the server has it\n", symbol_file_name(f->path));
        return true;
    }
    bytes = compressed(f->path, &size, err);
    if (!bytes)
        return false;
    ok = send_anew(u, f, bytes, size, id, err) && await_outcome(u, f, id, err);
    fclose(bytes);
    return ok;
}

/* The build
 * ---------------------------------------------------------------------------------------- */

static void set_text(json_t *body, const char *name, const char *value)
{
    if (value)
        json_object_set_new(body, name, json_string(value));
}

static bool has_text(const json_t *list, const char *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (strcmp(json_string_value(item), text) == 0)
            return true;
    }
    return false;
}

static bool list_ids(const struct symbol_files *files, json_t *list, const char **mapping,
                     struct err *err)
{
    *mapping = NULL;
    for (size_t i = 0; i < files->n; i++) {
        const struct symbol_found *f = &files->at[i];

        if (f->kind == SYMBOLS_MAPPING) {
            if (*mapping && strcmp(*mapping, f->mapping_id) != 0)
                return err_set(err, ERR_INVALID, "two mappings, but a build has one");
            *mapping = f->mapping_id;
        }
        for (size_t k = 0; !f->skip && k < f->n_images; k++)
            if (f->images[k].debug_id[0] && !has_text(list, f->images[k].debug_id))
                json_array_append_new(list, json_string(f->images[k].debug_id));
    }
    return true;
}

/* What is known of the build; NULL with *err. */
static json_t *build_body(const struct upload *u, struct err *err)
{
    const struct options *o = u->o;
    json_t *body = json_object(), *ids = json_array();
    const char *mapping = NULL;
    bool ok = list_ids(&u->files, ids, &mapping, err);

    set_text(body, "platform", o->platform);
    set_text(body, "version_name", o->version);
    json_object_set_new(body, "version_code", json_integer(o->version_code));
    set_text(body, "build_uid", o->uid);
    set_text(body, "package", o->package);
    set_text(body, "git_commit", o->commit);
    set_text(body, "mapping_id", mapping);
    if (json_array_size(ids))
        json_object_set(body, "debug_ids", ids);
    json_decref(ids);
    if (ok)
        return body;
    json_decref(body);
    return NULL;
}

/* More debug ids than a build may have keep no symbols away: see run(). */
static bool register_build(struct upload *u, const json_t *body, struct err *err)
{
    const struct options *o = u->o;

    if (json_array_size(json_object_get(body, "debug_ids")) > MAX_DEBUG_IDS)
        return err_set(err, ERR_TOO_BIG,
                       "the build is not registered: it may have %d debug ids, and these are %zu",
                       MAX_DEBUG_IDS, json_array_size(json_object_get(body, "debug_ids")));
    if (!client_send(u->c, "POST", "/v1/builds", body, NULL, err))
        return false;
    printf("build %s (%lld): registered\n", o->version, (long long)o->version_code);
    return true;
}

/* The manifest
 * ------------------------------------------------------------------------------------- */

static json_t *image_json(const struct symbol_image *i)
{
    char sum[2 * SHA256_BYTES + 1];

    to_hex(i->sha256, SHA256_BYTES, sum);
    return json_pack("{s:s, s:s, s:s, s:s}", "debug_id", i->debug_id, "arch",
                     debug_arch_name(i->arch), "holds",
                     i->dwarf     ? "functions and lines"
                     : i->symbols ? "functions"
                                  : "nothing",
                     "sha256", sum);
}

static json_t *file_json(const struct symbol_found *f)
{
    char sum[2 * SHA256_BYTES + 1], name[NAME_MAX + 1];
    json_t *images = json_array(), *file;

    for (size_t k = 0; k < f->n_images; k++)
        json_array_append_new(images, image_json(&f->images[k]));
    to_hex(f->sha256, SHA256_BYTES, sum);
    snprintf(name, sizeof name, "%s", symbol_file_name(f->path));
    term_clean(name);
    file = json_pack("{s:s, s:s, s:I, s:o}", "name", name, "sha256", sum, "size",
                     (json_int_t)f->size, "images", images);
    if (file && f->kind == SYMBOLS_MAPPING)
        set_text(file, "mapping_id", f->mapping_id);
    return file;
}

/* The build as the server is told of it, and the files. Takes the body. */
static bool write_manifest(const struct upload *u, json_t *body, struct err *err)
{
    json_t *files = json_array();
    char *text;
    struct buf line;
    bool ok;

    for (size_t i = 0; i < u->files.n; i++)
        if (!u->files.at[i].skip)
            json_array_append_new(files, file_json(&u->files.at[i]));
    json_object_set_new(body, "files", files);
    text = json_dumps(body, JSON_INDENT(2));
    json_decref(body);
    buf_init(&line, MANIFEST_BYTES);
    if (text) {
        buf_put(&line, text, strlen(text));
        buf_put(&line, "\n", 1);
    }
    ok = text && buf_ok(&line) ? out_file_put(u->o->manifest, line.at, line.len, err)
                               : err_memory(err);
    buf_fini(&line);
    free(text);
    return ok;
}

/* --------------------------------------------------------------------------------------------------
 */

static void print_image(const struct symbol_found *f, const struct symbol_image *i)
{
    printf("%s  %s  %s  %s%s\n", symbol_file_name(f->path), debug_arch_name(i->arch),
           i->debug_id[0] ? i->debug_id : "no debug id: link with --build-id",
           i->dwarf     ? "functions and lines"
           : i->symbols ? "functions"
           : i->damaged ? "damaged"
                        : "stripped",
           f->skip ? ", passed over" : "");
}

static void print_found(const struct symbol_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        const struct symbol_found *f = &files->at[i];

        if (f->kind == SYMBOLS_MAPPING)
            printf("%s  mapping  %s\n", symbol_file_name(f->path), f->mapping_id);
        else if (f->kind == SYMBOLS_ZIP)
            printf("%s  archive\n", symbol_file_name(f->path));
        for (size_t k = 0; k < f->n_images; k++)
            print_image(f, &f->images[k]);
    }
}

/* A build with too many debug ids is a failure all the same, but stacks can do without it. */
static bool say_build(struct upload *u, struct err *late, struct err *err)
{
    json_t *body = build_body(u, err);
    bool ok = body && register_build(u, body, err);

    json_decref(body);
    if (ok || !body || err->code != ERR_TOO_BIG)
        return ok;
    *late = *err;
    *err = (struct err){0};
    return true;
}

static bool run(struct upload *u, struct err *err)
{
    struct err late = {0};
    bool ok = !u->o->version || say_build(u, &late, err);

    for (size_t i = 0; ok && i < u->files.n; i++)
        if (!u->files.at[i].skip)
            ok = send_file(u, &u->files.at[i], err);
    if (ok)
        printf("%u stored, %u known, %u refused\n", u->stored, u->known, u->refused);
    if (ok && late.code != ERR_NONE) {
        *err = late;
        return false;
    }
    return ok;
}

/* Before anything is sent: written also where the server cannot be reached. */
static bool keep_manifest(const struct upload *u, struct err *err)
{
    json_t *body;

    if (!u->o->manifest)
        return true;
    body = build_body(u, err);
    return body && write_manifest(u, body, err);
}

static bool options_fit(const struct options *o, struct err *err)
{
    bool any = o->platform || o->version || o->version_code >= 0;

    if (any && (!o->platform || !o->version || o->version_code < 0))
        return err_set(err, ERR_INVALID,
                       "--platform, --version and --version-code belong together");
    return any || (!o->uid && !o->package && !o->commit && !o->manifest) ||
           err_set(err, ERR_INVALID, "which build? --platform, --version and --version-code say");
}

int symbols_upload(int argc, char **argv)
{
    struct options o = {.version_code = -1, .wait_s = 600};
    const struct cli_option options[] = {
        OPT_CLIENT(&o.client),
        OPT_TEXT("platform", "NAME", &o.platform, "of the build: android, ios or linux"),
        OPT_TEXT("version", "NAME", &o.version, "of the build: \"2.14.0\""),
        OPT_I64("version-code", "N", &o.version_code, 0, INT64_MAX, "of the build"),
        OPT_TEXT("build-uid", "TEXT", &o.uid, "the build id that the game gives the SDK"),
        OPT_TEXT("package", "NAME", &o.package, "of the build: \"org.example.game\""),
        OPT_TEXT("commit", "HASH", &o.commit, "of the build, in git"),
        OPT_TEXT("manifest", "FILE", &o.manifest,
                 "write the build, its debug ids and files there, as JSON; \"-\": print it"),
        OPT_I64("wait", "SECONDS", &o.wait_s, 0, 86400,
                "for the server to read each file; default 600"),
        OPT_FLAG("dry-run", &o.dry_run, "say what would be sent, and send nothing"),
        OPT_END};
    const struct cli_usage usage = {
        .command = "symbols upload",
        .args = "PATH…",
        .help =
            "Sends dSYM bundles, .so files, mapping.txt, zip files, and what a folder holds of\n"
            "them. Files the server has are skipped; a run that was cut short goes on where\n"
            "it ended. With --version the build is registered with its debug ids and its\n"
            "mapping. Needs an admin key.",
        .options = options,
        .min_args = 1,
        .max_args = -1};
    struct upload u = {.o = &o, .term = term_on(stdout, 0)};
    struct cli_args args;
    struct err err = {0};
    int code;
    bool ok;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!options_fit(&o, &err)) {
        cli_fail(&err);
        return CLI_USAGE;
    }
    ok = symbol_walk(args.at, args.n, &u.files, &err) &&
         (u.files.n || err_set(&err, ERR_NOT_FOUND, "no file with symbols is among %zu files",
                               u.files.passed_over));
    if (ok)
        print_found(&u.files);
    ok = ok && keep_manifest(&u, &err);
    if (ok && !o.dry_run)
        ok = (u.c = client_open(&o.client, &err)) && run(&u, &err);
    client_close(u.c);
    symbol_files_free(&u.files);
    if (!ok)
        return cli_fail(&err);
    return u.refused ? CLI_FAILED : CLI_OK;
}
