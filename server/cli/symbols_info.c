#include "cli.h"
#include "debug_path.h"
#include "mapped.h"
#include "symbols.h"
#include "symbols/symcache.h"

static const char *const packings[] = {
    [DEBUG_PLAIN] = "", [DEBUG_ZLIB] = ", zlib", [DEBUG_ZSTD] = ", zstd"};

static void print_id(enum debug_format format, const struct debug_id *id)
{
    char text[DEBUG_ID_TEXT], other[DEBUG_ID_GUID_TEXT];

    debug_id_text(id, text);
    if (id->size == 0) {
        printf("debug id      none: %s\n",
               format == DEBUG_MACHO
                   ? "link without -no_uuid, else nothing binds stacks to it"
                   : "link with -Wl,--build-id=sha1, else nothing binds stacks to it");
        return;
    }
    printf("debug id      %s\n", text);
    if (format == DEBUG_MACHO) {
        debug_id_uuid(id, other);
        printf("uuid          %s\n", other);
    } else {
        debug_id_guid(id, other);
        printf("guid form     %s\n", other);
    }
}

static void print_image(const struct debug_image *image)
{
    printf("image base    0x%llx\n", (unsigned long long)image->base);
    for (unsigned i = 0; i < DEBUG_SECTIONS; i++) {
        const struct debug_section *s = &image->sections[i];

        if (!s->at && !s->stored_bytes)
            continue;
        printf("section       %s, %zu bytes", debug_section_name((enum debug_section_id)i),
               s->size);
        if (s->packing != DEBUG_PLAIN)
            printf("%s from %zu%s", packings[s->packing], s->stored_bytes, s->at ? "" : ", broken");
        putchar('\n');
    }
    printf("symbols       %zu at code%s\n", image->symbols.n,
           image->mini_symbols ? ", with .gnu_debugdata" : "");
    if (!image->sections[DEBUG_INFO].at)
        printf("advice        no DWARF: functions alone, no files and lines%s\n",
               image->symbols.n ? "" : "; stripped: index it before stripping");
    if (image->broken_sections || image->broken_symbols)
        printf("skipped       %zu sections, %zu symbols\n", image->broken_sections,
               image->broken_symbols);
}

static bool print_slice(const struct mapped *file, const struct debug_slice *slice, struct err *err)
{
    struct debug_image image;

    printf("format        %s\narchitecture  %s\n", debug_format_name(slice->format),
           debug_arch_name(slice->arch));
    print_id(slice->format, &slice->id);
    if (!debug_image_open(&image, file->bytes, slice, NULL, err))
        return false;
    print_image(&image);
    debug_image_close(&image);
    return true;
}

static bool print_debug_file(const struct mapped *file, struct err *err)
{
    struct debug_slices slices;

    if (!debug_file_slices(file->bytes, file->size, &slices, err))
        return false;
    for (size_t i = 0; i < slices.n; i++) {
        if (i)
            putchar('\n');
        if (!print_slice(file, &slices.at[i], err))
            return false;
    }
    if (slices.broken)
        printf("\nskipped       %zu damaged slices\n", slices.broken);
    return true;
}

static bool print_symcache(const struct mapped *file, struct err *err)
{
    struct symcache c;

    if (!symcache_open(&c, file->bytes, file->size, err))
        return false;
    printf("format        symcache, version %d, of %s\narchitecture  %s\n", SYMCACHE_VERSION,
           debug_format_name(c.format), debug_arch_name(c.arch));
    print_id(c.format, &c.id);
    printf("image base    0x%llx\nholds         %s%s%s\nranges        %u\nlocations     %u\n"
           "strings       %llu bytes\n",
           (unsigned long long)c.base, c.dwarf ? "DWARF and symbols" : "symbols alone",
           c.columns ? ", columns" : "", c.incomplete ? ", incomplete: the work limit was met" : "",
           c.n_ranges, c.n_locations, (unsigned long long)c.strings_bytes);
#define X(name, help)                                                                              \
    if (c.counts.name)                                                                             \
        printf("count         %u %s\n", c.counts.name, help);
    SYMCACHE_COUNTS(X)
#undef X
    return true;
}

int symbols_info(int argc, char **argv)
{
    static const struct cli_usage usage = {
        .command = "symbols info",
        .args = "FILE",
        .help = "Says what FILE holds: a dSYM, .so, executable or symcache.",
        .min_args = 1,
        .max_args = 1};
    struct cli_args args;
    struct mapped file = {0};
    struct err err;
    char path[PATH_MAX];
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    bool ok = debug_path_resolve(args.at[0], path, &err) && mapped_open(&file, path, &err);

    if (ok)
        ok = symcache_looks_like(file.bytes, file.size) ? print_symcache(&file, &err)
                                                        : print_debug_file(&file, &err);
    mapped_close(&file);
    return ok ? CLI_OK : cli_fail(&err);
}
