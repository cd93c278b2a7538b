#include "cli.h"
#include "mapped.h"
#include "symbols.h"
#include "symbols/demangle.h"
#include "symbols/symcache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUT_BYTES (64u << 10)
#define LINE_MAX_BYTES 4096u
#define NAME_SLOTS_FIRST 1024u
#define BATCH 32u /* addresses answered together, so that their cache misses overlap */

/* Readable names already made, by function_key. */
struct names {
    struct name {
        uint32_t key;
        uint32_t len;
        char *text;
    } * at;
    size_t n, size;
};

struct lookup {
    struct symcache cache;
    struct names names;
    bool raw_names, relative;
    bool failed;             /* to write */
    uint64_t waiting[BATCH]; /* addresses read, not yet answered */
    size_t n_waiting;
    size_t n;
    char out[OUT_BYTES];
};

static void flush(struct lookup *l)
{
    if (l->n && fwrite(l->out, 1, l->n, stdout) != l->n)
        l->failed = true;
    l->n = 0;
}

static inline void put(struct lookup *l, const char *text, size_t len)
{
    if (len > sizeof l->out - l->n)
        flush(l);
    if (len > sizeof l->out) {
        l->failed = fwrite(text, 1, len, stdout) != len || l->failed;
        return;
    }
    memcpy(l->out + l->n, text, len);
    l->n += len;
}

static bool grow_names(struct names *n)
{
    size_t size = n->size ? 2 * n->size : NAME_SLOTS_FIRST;
    struct name *at = calloc(size, sizeof *at);

    if (!at)
        return false;
    for (size_t i = 0; i < n->size; i++) {
        size_t slot = n->at[i].key * 0x9e3779b1u & (size - 1);

        if (!n->at[i].key)
            continue;
        while (at[slot].key)
            slot = (slot + 1) & (size - 1);
        at[slot] = n->at[i];
    }
    free(n->at);
    n->at = at;
    n->size = size;
    return true;
}

/* The readable name's slot, filled on first use; NULL when out of memory. */
static const struct name *readable(struct names *n, const struct symcache_frame *f)
{
    if (2 * n->n >= n->size && !grow_names(n))
        return NULL;

    size_t slot = f->function_key * 0x9e3779b1u & (n->size - 1);
    struct buf text;

    for (; n->at[slot].key; slot = (slot + 1) & (n->size - 1))
        if (n->at[slot].key == f->function_key)
            return &n->at[slot];
    buf_init(&text, 2 * DEMANGLE_TEXT_MAX);
    demangle(f->function, &text);

    size_t len = 0;
    char *bytes = (char *)buf_steal(&text, &len);

    if (!bytes)
        return NULL;
    n->at[slot] = (struct name){f->function_key, (uint32_t)len, bytes};
    n->n++;
    return &n->at[slot];
}

/* Digits of v from `to` on; returns behind them. */
static char *print_number(char *to, uint32_t v)
{
    char digits[12];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + v % 10);
    while (v /= 10);
    memcpy(to, digits + at, sizeof digits - at);
    return to + (sizeof digits - at);
}

static void put_function(struct lookup *l, const struct symcache_frame *f)
{
    const struct name *name = f->function && !l->raw_names ? readable(&l->names, f) : NULL;

    if (name)
        put(l, name->text, name->len);
    else if (f->function)
        put(l, f->function, strlen(f->function));
    else
        put(l, "??", 2);
}

/* As llvm-symbolizer prints a frame: the function, and on the next line file:line:column. */
static void put_frame(struct lookup *l, const struct symcache_frame *f)
{
    const char *file = f->file ? f->file : "??";
    char place[32], *end = place;

    put_function(l, f);
    put(l, "\n", 1);
    put(l, file, strlen(file));
    *end++ = ':';
    end = print_number(end, f->line);
    *end++ = ':';
    end = print_number(end, f->column);
    *end++ = '\n';
    put(l, place, (size_t)(end - place));
}

static void put_frames(struct lookup *l, uint32_t location)
{
    static const struct symcache_frame unknown;

    if (location == SYMCACHE_NONE)
        put_frame(l, &unknown);
    for (size_t n = 0; location != SYMCACHE_NONE && n < SYMCACHE_FRAMES; n++) {
        struct symcache_frame f;

        location = symcache_frame(&l->cache, location, &f);
        put_frame(l, &f);
    }
    put(l, "\n", 1);
}

static void answer_waiting(struct lookup *l)
{
    uint32_t locations[BATCH];

    for (size_t i = 0; i < l->n_waiting; i++) {
        locations[i] =
            symcache_find(&l->cache, l->relative ? l->waiting[i] : l->waiting[i] - l->cache.base);
        symcache_prefetch(&l->cache, locations[i]);
    }
    for (size_t i = 0; i < l->n_waiting; i++)
        put_frames(l, locations[i]);
    l->n_waiting = 0;
}

/* 0x and hexadecimal, else decimal; blanks around are fine. */
static bool read_address(const char *text, size_t len, uint64_t *out)
{
    uint64_t v = 0;
    unsigned base = 10;

    while (len && (*text == ' ' || *text == '\t'))
        text++, len--;
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
        len--;
    if (len > 2 && text[0] == '0' && (text[1] | 32) == 'x') {
        base = 16;
        text += 2;
        len -= 2;
    }
    if (len == 0 || len > 20)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = (char)(text[i] | 32);
        unsigned digit = text[i] >= '0' && text[i] <= '9' ? (unsigned)(text[i] - '0')
                         : c >= 'a' && c <= 'f'           ? (unsigned)(c - 'a' + 10)
                                                          : base;

        if (digit >= base || v > (UINT64_MAX - digit) / base)
            return false;
        v = v * base + digit;
    }
    *out = v;
    return true;
}

/* What is no address is printed as it came, as llvm-symbolizer does, so that lines stay matched. */
static void answer(struct lookup *l, const char *text, size_t len)
{
    uint64_t address;

    if (read_address(text, len, &address)) {
        if (l->n_waiting == BATCH)
            answer_waiting(l);
        l->waiting[l->n_waiting++] = address;
    } else {
        answer_waiting(l);
        put(l, text, len);
        put(l, "\n", 1);
    }
}

/* Answers the whole lines in [at, end); returns where the rest begins. */
static char *answer_lines(struct lookup *l, char *at, char *end)
{
    for (char *newline; at < end && (newline = memchr(at, '\n', (size_t)(end - at)));
         at = newline + 1)
        answer(l, at, (size_t)(newline - at));
    return at;
}

static bool answer_stdin(struct lookup *l, struct err *err)
{
    static char in[16 * LINE_MAX_BYTES];
    size_t n = 0;
    ssize_t got;

    while ((got = read(STDIN_FILENO, in + n, sizeof in - n)) > 0) {
        char *rest = answer_lines(l, in, in + n + got);

        n = (size_t)(in + n + got - rest);
        if (n > LINE_MAX_BYTES)
            return err_set(err, ERR_INVALID, "standard input: a line of over %u bytes",
                           LINE_MAX_BYTES);
        memmove(in, rest, n);
        answer_waiting(l);
        flush(l); /* a program that asks line by line waits for its answer */
        fflush(stdout);
    }
    if (got < 0)
        return err_set(err, ERR_INTERNAL, "standard input: %s", strerror(errno));
    if (n)
        answer(l, in, n);
    return true;
}

static void fini(struct lookup *l)
{
    for (size_t i = 0; i < l->names.size; i++)
        free(l->names.at[i].text);
    free(l->names.at);
}

static bool run(struct lookup *l, const struct mapped *file, const struct cli_args *args,
                struct err *err)
{
    bool ok = true;

    if (debug_file_looks_like(file->bytes, file->size))
        return err_field(err, ERR_INVALID, args->at[0],
                         "a debug file; make its symcache first: framewatch symbols index");
    if (!symcache_open(&l->cache, file->bytes, file->size, err))
        return false;
    for (int i = 1; i < args->n; i++)
        answer(l, args->at[i], strlen(args->at[i]));
    if (args->n == 1)
        ok = answer_stdin(l, err);
    answer_waiting(l);
    flush(l);
    fini(l);
    if (fflush(stdout) != 0 || l->failed)
        return err_set(err, ERR_INTERNAL, "standard output: %s", strerror(errno));
    return ok;
}

int symbols_lookup(int argc, char **argv)
{
    static struct lookup l;
    const struct cli_option options[] = {
        OPT_FLAG("no-demangle", &l.raw_names, "print linkage names as they are"),
        OPT_FLAG("relative", &l.relative, "addresses count from the image's base"), OPT_END};
    const struct cli_usage usage = {
        .command = "symbols lookup",
        .args = "SYMCACHE [ADDRESS…]",
        .help = "Prints the functions, files and lines at each ADDRESS (0x and hexadecimal, or "
                "decimal) as the file has it,\ninlined calls first; addresses come from standard "
                "input when none is given.",
        .options = options,
        .min_args = 1,
        .max_args = -1};
    struct cli_args args;
    struct mapped file = {0};
    struct err err;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    bool ok = mapped_open(&file, args.at[0], &err) && run(&l, &file, &args, &err);

    mapped_close(&file);
    return ok ? CLI_OK : cli_fail(&err);
}
