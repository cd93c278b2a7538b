#include "cli.h"
#include "mapped.h"
#include "out_file.h"
#include "symbols/retrace/retrace_build.h"
#include "symbols/retrace/retrace_memo.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MB ((int64_t)1 << 20)
#define FEED_BYTES (1u << 20) /* of the mapping at a time */
#define IN_BYTES (4u * RETRACE_LINE_BYTES_MAX)
#define OUT_BYTES ((size_t)256 << 20)
#define OUT_FLUSH (64u << 10)

struct options {
    const char *out;
    bool index, verbose, quiet;
    int64_t memory_mb;
};

struct command {
    struct options o;
    struct mapped file;
    struct buf made; /* the index, where the file is a mapping */
    struct retrace index;
    struct retrace_context context;
    struct arena *scratch;
    struct retrace_memo *memo;
    struct buf out;
};

static bool into_buf(void *ctx, const void *bytes, size_t n)
{
    buf_put(ctx, bytes, n);
    return buf_ok(ctx);
}

static bool into_file(void *ctx, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, ctx) == n;
}

static bool build(const struct mapped *file, const struct options *o, retrace_sink *sink, void *ctx,
                  struct retrace_stats *stats, struct err *err)
{
    const struct retrace_limits limits = {.memory_bytes = (size_t)(o->memory_mb * MB),
                                          .mapping_bytes = file->size};
    struct retrace_builder *b = retrace_builder_new(&limits);
    bool ok = b || err_memory(err);

    for (size_t at = 0; ok && at < file->size; at += FEED_BYTES) {
        size_t left = file->size - at;

        ok = retrace_builder_feed(b, (const char *)file->bytes + at,
                                  left < FEED_BYTES ? left : FEED_BYTES, err);
    }
    ok = ok && retrace_builder_finish(b, sink, ctx, stats, err);
    retrace_builder_free(b);
    return ok;
}

static void report(FILE *to, const char *path, const struct retrace_stats *s)
{
    const struct retrace_counts *c = &s->counts;

    fprintf(to,
            "%s: %u classes, %u fields, %u method ranges, %u infos, %.1f MB; skipped: %u lines, "
            "%u infos, %u classes of a taken name\n",
            path, c->classes, c->fields, c->ranges, c->infos, (double)s->bytes / 1e6, c->bad_lines,
            c->bad_infos, c->duplicate_classes);
}

static bool write_index(struct command *c, const char *path, struct err *err)
{
    char own[PATH_MAX];
    const char *to = c->o.out ? c->o.out : own;
    struct retrace_stats stats;
    struct out_file out;
    int n = snprintf(own, sizeof own, "%s.fwretrace", path);

    if (n < 0 || n >= PATH_MAX)
        return err_field(err, ERR_TOO_BIG, "MAPPING", "its path is too long");
    if (!out_file_open(&out, to, err))
        return false;

    FILE *say = out.say;
    bool ok = out_file_close(&out, build(&c->file, &c->o, into_file, out.to, &stats, err), err);

    if (ok && !c->o.quiet)
        report(say, to, &stats);
    return ok;
}

static void warn(const struct command *c, const char *path)
{
    const struct retrace *r = &c->index;

    if (c->o.quiet)
        return;
    if (r->later_version)
        fprintf(stderr,
                "framewatch: %s: of map version %s, later than the 2.2 known here; what is new in "
                "it is not understood\n",
                path, r->map_version);
    if (r->hash_known && !r->hash_matches)
        fprintf(stderr, "framewatch: %s: its text is not the one its pg_map_hash was made of\n",
                path);
    if (r->counts.bad_lines)
        fprintf(stderr, "framewatch: %s: %u lines skipped: not of a mapping's form\n", path,
                r->counts.bad_lines);
}

/* Opens an index, or makes one of a mapping in memory. */
static bool open_index(struct command *c, const char *path, struct err *err)
{
    const void *bytes = c->file.bytes;
    size_t size = c->file.size;

    if (!retrace_looks_like(bytes, size)) {
        if (!build(&c->file, &c->o, into_buf, &c->made, NULL, err))
            return false;
        mapped_close(&c->file);
        bytes = c->made.at;
        size = c->made.len;
    }
    if (!retrace_open(&c->index, bytes, size, err))
        return false;
    warn(c, path);
    return true;
}

static bool flush(struct command *c, struct err *err)
{
    bool ok = (c->out.len == 0 || fwrite(c->out.at, 1, c->out.len, stdout) == c->out.len) &&
              fflush(stdout) == 0;

    buf_reset(&c->out);
    return ok || err_set(err, ERR_INTERNAL, "standard output: %s", strerror(errno));
}

static bool answer(struct command *c, const char *line, size_t len, struct err *err)
{
    const struct retrace_print print = {.verbose = c->o.verbose, .memo = c->memo};

    if (len > 0 && line[len - 1] == '\r')
        len--;
    return retrace_print_line(&c->index, &print, line, len, &c->context, c->scratch, &c->out,
                              err) &&
           (c->out.len < OUT_FLUSH || flush(c, err));
}

/* Answers the whole lines of in[0..*n) and moves the rest to its beginning. A line that fills all
 * of it is passed on in pieces. */
static bool answer_lines(struct command *c, char *in, size_t *n, struct err *err)
{
    char *at = in, *end = in + *n, *newline;

    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        if (!answer(c, at, (size_t)(newline - at), err))
            return false;
        at = newline + 1;
    }
    *n = (size_t)(end - at);
    memmove(in, at, *n);
    if (*n < IN_BYTES)
        return true;
    buf_put(&c->out, in, *n);
    *n = 0;
    return flush(c, err);
}

static bool answer_all(struct command *c, int fd, struct err *err)
{
    static char in[IN_BYTES];
    size_t n = 0;
    ssize_t got;

    while ((got = read(fd, in + n, sizeof in - n)) > 0) {
        n += (size_t)got;
        if (!answer_lines(c, in, &n, err) || !flush(c, err))
            return false;
    }
    if (got < 0)
        return err_set(err, ERR_INTERNAL, "the stack cannot be read: %s", strerror(errno));
    return (n == 0 || answer(c, in, n, err)) && flush(c, err);
}

static bool retrace_stack(struct command *c, const char *path, struct err *err)
{
    FILE *f = path ? fopen(path, "rb") : stdin;

    if (!f)
        return err_field(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_INTERNAL, path, "%s",
                         strerror(errno));

    bool ok = answer_all(c, fileno(f), err);

    if (path)
        fclose(f);
    return ok;
}

static bool run(struct command *c, const struct cli_args *args, struct err *err)
{
    const char *path = args->at[0];

    if (!mapped_open(&c->file, path, err))
        return false;
    if (c->o.index && retrace_looks_like(c->file.bytes, c->file.size))
        return err_field(err, ERR_INVALID, path, "an index already");
    if (c->o.index)
        return write_index(c, path, err);
    c->scratch = arena_new((size_t)1 << 20);
    c->memo = retrace_memo_new();
    if (!c->scratch || !c->memo)
        return err_memory(err);
    return open_index(c, path, err) && retrace_stack(c, args->n > 1 ? args->at[1] : NULL, err);
}

int cmd_retrace(int argc, char **argv)
{
    static struct command c = {.o = {.memory_mb = (int64_t)(RETRACE_MEMORY_BYTES >> 20)}};
    const struct cli_option options[] = {
        OPT_FLAG("verbose", &c.o.verbose, "print methods with return type and arguments"),
        OPT_FLAG("index", &c.o.index, "make the index of MAPPING, which opens at once"),
        OPT_TEXT("o", "FILE", &c.o.out, "the index to write; default MAPPING.fwretrace"),
        OPT_I64("memory", "MB", &c.o.memory_mb, 1, 1 << 20, "most memory to use; default 1024"),
        OPT_FLAG("quiet", &c.o.quiet, "print neither warnings nor what the index holds"),
        OPT_END};
    const struct cli_usage usage = {
        .command = "retrace",
        .args = "MAPPING [STACKFILE]",
        .help = "Prints the stack in STACKFILE, or from standard input, with the names that R8 or "
                "ProGuard obfuscated put back.\nMAPPING is the mapping.txt of the build, or an "
                "index made of it with --index.",
        .options = options,
        .min_args = 1,
        .max_args = 2};
    struct cli_args args;
    struct err err;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    buf_init(&c.made, (size_t)(c.o.memory_mb * MB));
    buf_init(&c.out, OUT_BYTES);

    bool ok = run(&c, &args, &err);

    mapped_close(&c.file);
    arena_free(c.scratch);
    retrace_memo_free(c.memo);
    buf_fini(&c.made);
    buf_fini(&c.out);
    return ok ? CLI_OK : cli_fail(&err);
}
