#include "support/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void update(const char *folder, const char *path, const void *bytes, size_t n)
{
    mkdir(folder, 0777);

    FILE *f = fopen(path, "wbe");

    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
        fail_msg("%s: cannot write", path);
}

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rbe");
    char *text = NULL;
    size_t size = 0;

    *n = 0;
    if (!f)
        fail_msg("%s: missing; run with UPDATE_GOLDEN=1", path);
    do {
        size = size ? size * 2 : 65536;
        text = realloc(text, size);
        assert_non_null(text);
        *n += fread(text + *n, 1, size - *n, f);
    } while (*n == size);
    fclose(f);
    return text;
}

static unsigned line_at(const char *text, size_t at)
{
    unsigned line = 1;

    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

void golden_check_in(const char *folder, const char *test_case, const char *file, const void *bytes,
                     size_t n)
{
    char case_folder[4096], path[8192];
    const char *wanted_update = getenv("UPDATE_GOLDEN");
    size_t size, same = 0;

    snprintf(case_folder, sizeof case_folder, "%s/%s", folder, test_case);
    snprintf(path, sizeof path, "%s/%s", case_folder, file);
    if (wanted_update && wanted_update[0] == '1') {
        update(case_folder, path, bytes, n);
        return;
    }

    char *expected = read_file(path, &size);
    const char *given = bytes;

    while (same < n && same < size && given[same] == expected[same])
        same++;

    bool equal = same == n && same == size;
    unsigned line = line_at(expected, same);

    free(expected);
    if (!equal)
        fail_msg("%s:%u: differs at byte %zu; UPDATE_GOLDEN=1 takes the new text", path, line,
                 same);
}
