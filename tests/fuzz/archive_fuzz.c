/* What a symbol upload may be: an archive of debug files with plists and BCSymbolMaps, a zstd
 * stream of one, or the file itself; an input that begins with "mapping\n" is the mapping behind
 * it. Indexed as the server's child process does, into a folder of its own; what it says it made
 * must be there and open. */
#include "server/jobs/symbols/index_file.h"

#include "symbols/retrace/retrace.h"
#include "symbols/symcache.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#define UNPACKED "4194304" /* bytes that one input may become */
#define MAPPING "mapping\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], upload[96], result[96];

/* In memory if there is such a place. */
static void make_folder(void)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    snprintf(folder, sizeof folder, "%s/framewatch-fuzz-XXXXXX", base);
    if (!mkdtemp(folder))
        abort();
    snprintf(upload, sizeof upload, "%s/upload", folder);
    snprintf(result, sizeof result, "%s/" INDEX_RESULT, folder);
}

static bool remove_file(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return unlink(path) == 0;
}

/* Nothing may be left in it but the upload, the result and tables. Allocates nothing: memory may be
 * made to run out. */
static void remove_folder(void)
{
    char name[32] = "0.table";

    for (unsigned i = 1; remove_file(name); i++)
        snprintf(name, sizeof name, "%u.table", i);
    remove_file("upload");
    remove_file("unpacked");
    remove_file(INDEX_RESULT);
    if (rmdir(folder) != 0)
        abort();
}

static void write_upload(const uint8_t *data, size_t size)
{
    int fd = open(upload, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
        abort();
}

static void *read_file(const char *name, size_t *size)
{
    FILE *f = fopen(name, "rbe");
    struct stat st;
    void *bytes = NULL;

    if (f && fstat(fileno(f), &st) == 0 && (bytes = malloc((size_t)st.st_size + 1)))
        *size = fread(bytes, 1, (size_t)st.st_size, f);
    if (f)
        fclose(f);
    return bytes;
}

/* N.table opens: the worker would refuse it, and the upload, if it did not. */
static void check_table(const char *line, bool mapping)
{
    char name[128];
    struct symcache c;
    struct retrace r;
    struct err err;
    size_t size = 0;

    snprintf(name, sizeof name, "%s/%ld.table", folder, strtol(line, NULL, 10));

    void *bytes = read_file(name, &size);

    if (bytes &&
        !(mapping ? retrace_open(&r, bytes, size, &err) : symcache_open(&c, bytes, size, &err))) {
        fprintf(stderr, "a table does not hold: %s\n", err.text);
        abort();
    }
    free(bytes);
}

/* Every line is one of the four that are promised, and the last is "end". */
static void check_result(bool mapping)
{
    FILE *f = fopen(result, "re");
    char line[1024] = "";

    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "table\t", 6) == 0)
            check_table(line + 6, mapping);
        else if (strncmp(line, "file\t", 5) != 0 && strncmp(line, "refused\t", 8) != 0 &&
                 strcmp(line, "end\n") != 0)
            abort();
    }
    if (f && strcmp(line, "end\n") != 0)
        abort();
    if (f)
        fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t skip = strlen(MAPPING);
    bool mapping = size >= skip && memcmp(data, MAPPING, skip) == 0;
    char *argv[] = {"index", mapping ? "mapping" : "symbols", upload, folder, UNPACKED, NULL};

    make_folder();
    write_upload(data + (mapping ? skip : 0), size - (mapping ? skip : 0));
    if (index_main(5, argv) == 0)
        check_result(mapping);
    remove_folder();
    return 0;
}

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
/* Checksums of stored entries are made right again in most mutations: or nothing behind them would
 * be reached. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

static uint32_t le(const uint8_t *at, unsigned bytes)
{
    uint32_t v = 0;

    while (bytes--)
        v = v << 8 | at[bytes];
    return v;
}

static void put_le32(uint8_t *at, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}

/* `head`: offset of an entry of the central directory. */
static void mend(uint8_t *data, size_t size, size_t head)
{
    size_t packed = le(data + head + 20, 4), local = le(data + head + 42, 4), from;

    if (le(data + head + 10, 2) != 0 || local > size || size - local < 30 ||
        memcmp(data + local, "PK\3\4", 4) != 0)
        return;
    from = local + 30 + le(data + local + 26, 2) + le(data + local + 28, 2);
    if (from > size || packed > size - from)
        return;
    put_le32(data + head + 16, (uint32_t)crc32(0, data + from, (unsigned)packed));
    put_le32(data + local + 14, le(data + head + 16, 4));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, room);
    for (size_t at = 0; seed % 8 && at + 46 <= size; at++)
        if (memcmp(data + at, "PK\1\2", 4) == 0)
            mend(data, size, at);
    return size;
}
#endif
