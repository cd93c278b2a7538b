#include "cli.h"
#include "debug_path.h"
#include "mapped.h"
#include "out_file.h"
#include "symbols.h"
#include "symbols/symcache_build.h"

#include <stdlib.h>
#include <string.h>

#define MB ((int64_t)1 << 20)

struct options {
    const char *out, *arch, *hidden;
    bool no_columns, quiet;
    int64_t memory_mb;
    struct hidden_names names; /* of the file `hidden` */
    char file[PATH_MAX];
};

static bool write_bytes(void *ctx, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, ctx) == n;
}

static void warn(const char *path, const struct symcache_stats *s)
{
    const struct symcache_counts *c = &s->counts;

    if (s->incomplete)
        fprintf(stderr, "framewatch: %s: too intricate; what was read up to the limit is kept\n",
                path);
    if (c->split_units)
        fprintf(stderr,
                "framewatch: %s: %u units keep their functions in .dwo files; link without "
                "-gsplit-dwarf, or index the .dwp's contents merged\n",
                path, c->split_units);
}

static void report(const struct options *o, FILE *to, const char *path,
                   const struct debug_slice *slice, const struct symcache_stats *s)
{
    char id[DEBUG_ID_TEXT];
    const struct symcache_counts *c = &s->counts;

    warn(path, s);
    if (o->quiet)
        return;
    debug_id_text(&slice->id, id);
    fprintf(to, "%s: %s %s %s: %u functions, %u inlined calls, %u symbols, %u ranges, %.1f MB\n",
            path, debug_format_name(slice->format), debug_arch_name(slice->arch),
            id[0] ? id : "without a debug id", c->functions, c->inlined, c->symbols, s->ranges,
            (double)s->bytes / 1e6);
}

static bool index_slice(const struct mapped *file, const struct debug_slice *slice,
                        const struct options *o, const char *path, struct err *err)
{
    struct debug_image image;
    struct debug_limits limits = {.memory_bytes = (size_t)(o->memory_mb * MB)};
    struct symcache_options options = {.no_columns = o->no_columns, .hidden = &o->names};
    struct symcache_stats stats;
    struct out_file out;
    bool ok;

    if (!debug_image_open(&image, file->bytes, slice, &limits, err))
        return false;
    ok = out_file_open(&out, path, err);
    if (ok) {
        FILE *say = out.say;

        ok = symcache_build(&image, &options, write_bytes, out.to, &stats, err);
        ok = out_file_close(&out, ok, err);
        if (ok)
            report(o, say, path, slice, &stats);
    }
    debug_image_close(&image);
    return ok;
}

/* FILE.fwsym, or FILE.ARCH.fwsym where a file has several. */
static bool default_path(const struct options *o, const struct debug_slice *slice, bool several,
                         char out[PATH_MAX], struct err *err)
{
    int n = several ? snprintf(out, PATH_MAX, "%s.%s.fwsym", o->file, debug_arch_name(slice->arch))
                    : snprintf(out, PATH_MAX, "%s.fwsym", o->file);

    return (n > 0 && n < PATH_MAX) || err_field(err, ERR_TOO_BIG, "FILE", "its path is too long");
}

static bool wanted(const struct options *o, const struct debug_slice *slice)
{
    return !o->arch || strcmp(o->arch, debug_arch_name(slice->arch)) == 0;
}

static bool refuse_choice(const struct debug_slices *slices, const struct options *o, size_t n,
                          struct err *err)
{
    char names[128] = "";
    size_t at = 0;

    for (size_t i = 0; i < slices->n && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, " %s",
                               debug_arch_name(slices->at[i].arch));
    if (n == 0)
        return err_field(err, ERR_NOT_FOUND, "--arch", "no %s in the file, which has%s", o->arch,
                         names);
    return err_field(err, ERR_INVALID, "--arch", "-o names one symcache, but the file has%s",
                     names);
}

static bool index_file(const struct mapped *file, const struct options *o, struct err *err)
{
    struct debug_slices slices;
    size_t n = 0;

    if (!debug_file_slices(file->bytes, file->size, &slices, err))
        return false;
    for (size_t i = 0; i < slices.n; i++)
        n += wanted(o, &slices.at[i]);
    if (n == 0 || (n > 1 && o->out))
        return refuse_choice(&slices, o, n, err);
    if (slices.broken)
        fprintf(stderr, "framewatch: %s: %zu slices are damaged and left out\n", o->file,
                slices.broken);
    for (size_t i = 0; i < slices.n; i++) {
        char path[PATH_MAX];

        if (!wanted(o, &slices.at[i]))
            continue;
        if (!default_path(o, &slices.at[i], slices.n > 1, path, err) ||
            !index_slice(file, &slices.at[i], o, o->out ? o->out : path, err))
            return false;
    }
    return true;
}

static bool read_hidden(struct options *o, struct err *err)
{
    struct mapped file = {0};

    if (!o->hidden)
        return true;

    bool ok = mapped_open(&file, o->hidden, err) &&
              hidden_names_init(&o->names, file.bytes, file.size, err);

    mapped_close(&file);
    return ok;
}

int symbols_index(int argc, char **argv)
{
    struct options o = {.memory_mb = 4096};
    const struct cli_option options[] = {
        OPT_TEXT("o", "OUT", &o.out, "the symcache to write; default FILE.fwsym"),
        OPT_TEXT("arch", "ARCH", &o.arch, "of a fat file, this architecture alone"),
        OPT_TEXT("bcsymbolmap", "FILE", &o.hidden, "the names that a build with bitcode hid"),
        OPT_FLAG("no-columns", &o.no_columns, "leave columns out: smaller"),
        OPT_I64("memory", "MB", &o.memory_mb, 16, 1 << 20, "most memory to use; default 4096"),
        OPT_FLAG("quiet", &o.quiet, "print warnings alone"),
        OPT_END};
    const struct cli_usage usage = {.command = "symbols index",
                                    .args = "FILE",
                                    .help =
                                        "Makes the symcache of FILE: a dSYM bundle or its DWARF "
                                        "file, a .so or an executable.",
                                    .options = options,
                                    .min_args = 1,
                                    .max_args = 1};
    struct cli_args args;
    struct mapped file = {0};
    struct err err;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    bool ok = read_hidden(&o, &err) && debug_path_resolve(args.at[0], o.file, &err) &&
              mapped_open(&file, o.file, &err) && index_file(&file, &o, &err);

    hidden_names_fini(&o.names);
    mapped_close(&file);
    return ok ? CLI_OK : cli_fail(&err);
}
