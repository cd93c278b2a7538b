#include "support/native_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char source[] =
    "volatile unsigned sink;\n"
    "static inline __attribute__((always_inline)) unsigned spin(unsigned n)\n"
    "{\n"
    "    unsigned a = VARIANT;\n"
    "    while (n--)\n"
    "        a = a * 31 + sink;\n"
    "    return a;\n"
    "}\n"
    "__attribute__((noinline)) unsigned physics_step(unsigned n)\n"
    "{\n"
    "    sink = n;\n"
    "    return spin(n) + 1;\n"
    "}\n"
    "__attribute__((noinline)) unsigned game_tick(unsigned n)\n"
    "{\n"
    "    unsigned r = physics_step(n);\n"
    "    return r * 2 + sink;\n"
    "}\n";

static void run(const char *command)
{
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

static char *output(const char *command)
{
    FILE *p = popen(command, "re");
    char *text = calloc(1, 65536);
    size_t n = p && text ? fread(text, 1, 65535, p) : 0;

    if (!p || pclose(p) != 0)
        fail_msg("failed: %s", command);
    text[n] = '\0';
    return text;
}

static void read_bytes(struct native_build *b)
{
    FILE *f = fopen(b->file, "rbe");

    if (!f)
        fail_msg("no %s", b->file);
    fseek(f, 0, SEEK_END);
    b->size = (size_t)ftell(f);
    rewind(f);
    b->bytes = malloc(b->size);
    if (!b->bytes || fread(b->bytes, 1, b->size, f) != b->size)
        fail_msg("cannot read %s", b->file);
    fclose(f);
}

/* start and size of a function, by nm */
static void find(const struct native_build *b, const char *name, uint64_t *start, uint64_t *size)
{
    char command[256];
    char *text;
    unsigned long long at = 0, len = 0;

    snprintf(command, sizeof command, "nm -S %s/whole.so | grep ' %s$'", b->folder, name);
    text = output(command);
    if (sscanf(text, "%llx %llx", &at, &len) != 2)
        fail_msg("nm does not know %s", name);
    free(text);
    *start = at;
    *size = len;
}

void native_build_make(struct native_build *b, const char *build_id, unsigned variant,
                       const char *strip_options)
{
    char command[512], path[96];
    uint64_t start, size;
    FILE *f;

    memset(b, 0, sizeof *b);
    snprintf(b->folder, sizeof b->folder, "/tmp/framewatch-native-XXXXXX");
    if (!mkdtemp(b->folder))
        fail_msg("no temporary folder");
    snprintf(b->debug_id, sizeof b->debug_id, "%s", build_id);
    snprintf(path, sizeof path, "%s/game.c", b->folder);
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(source, f);
    fclose(f);
    snprintf(command, sizeof command,
             "cd %s && cc -O1 -g -fno-unroll-loops -fPIC -shared -DVARIANT=%uu "
             "-Wl,--build-id=0x%s -o whole.so game.c && cp whole.so libgame.so",
             b->folder, variant, build_id);
    run(command);
    if (strip_options) {
        snprintf(command, sizeof command, "cd %s && strip %s libgame.so", b->folder, strip_options);
        run(command);
    }
    snprintf(b->file, sizeof b->file, "%s/libgame.so", b->folder);
    read_bytes(b);
    find(b, "physics_step", &start, &size);
    b->spin = start + size / 2;
    find(b, "game_tick", &start, &size);
    b->tick = start + size / 2;
}

void native_build_free(struct native_build *b)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", b->folder);
    run(command);
    free(b->bytes);
    memset(b, 0, sizeof *b);
}

char *native_build_oracle(const struct native_build *b, uint64_t address)
{
    char command[256];

    snprintf(command, sizeof command,
             "addr2line -f -i -s -e %s/whole.so 0x%llx | sed 's/ (discriminator.*//' | "
             "paste -d' ' - -",
             b->folder, (unsigned long long)address);
    return output(command);
}
