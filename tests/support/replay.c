/* Runs a fuzz target over every file named, and over every file of a folder named. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed;

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    long size = -1;

    if (f && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    if (size < 0) {
        fprintf(stderr, "%s: cannot read\n", path);
        exit(1);
    }
    rewind(f);

    uint8_t *bytes = malloc((size_t)size + 1);
    size_t n = bytes ? fread(bytes, 1, (size_t)size, f) : 0;

    fclose(f);
    LLVMFuzzerTestOneInput(bytes, n);
    free(bytes);
    replayed++;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);

        if (!dir) {
            replay_file(argv[i]);
            continue;
        }
        for (struct dirent *e; (e = readdir(dir));) {
            char path[4096];

            if (e->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            replay_file(path);
        }
        closedir(dir);
    }
    printf("%zu inputs replayed\n", replayed);
    return replayed ? 0 : 1;
}
