/* Parsers of tus headers. The first byte chooses the parser, the rest is the header's text. */
#include "server/http/tus_headers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* What is echoed reads as the same pairs. */
static void fuzz_metadata(const char *text, struct arena *mem)
{
    struct tus_metadata m, again;
    struct err err = {0};
    const char *echo;

    if (!tus_metadata_parse(text, mem, &m, &err))
        return;
    echo = tus_metadata_format(&m, "hash", mem);
    if (!echo || strlen(echo) > TUS_METADATA_MAX)
        return;
    require(tus_metadata_parse(echo, mem, &again, &err) || arena_full(mem));
    if (arena_full(mem))
        return;
    require(again.n == m.n);
    for (size_t i = 0; i < m.n; i++) {
        require(strcmp(m.pair[i].key, again.pair[i].key) == 0);
        require(strcmp(m.pair[i].key, "install") == 0 ||
                (m.pair[i].len == again.pair[i].len &&
                 memcmp(m.pair[i].value, again.pair[i].value, m.pair[i].len) == 0));
    }
}

static void fuzz_concat(const char *text, struct arena *mem)
{
    struct tus_partials p;
    struct err err = {0};

    if (tus_concat_parse(text, "/v1/uploads/", mem, &p, &err))
        require(p.n <= TUS_PARTIALS_MAX && (p.concat == CONCAT_FINAL) == (p.n > 0));
}

static void fuzz_checksum(const char *text)
{
    struct tus_checksum sum;
    struct err err = {0};

    if (tus_checksum_parse(text, &sum, &err))
        require(sum.len == 4 || sum.len == 20 || sum.len == 32);
}

static void fuzz_number(const char *text)
{
    struct err err = {0};
    int64_t v = -1;

    require(tus_number_parse("N", text, &v, &err) == (v >= 0));
}

static void fuzz_base64(const char *text, size_t n)
{
    unsigned char *bytes = malloc(n / 4 * 3 + 1);
    char *again = malloc(n + 1);
    size_t len;

    /* one text for each byte string */
    if (bytes && again && base64_decode(text, n, bytes, &len)) {
        base64_encode(bytes, len, again);
        require(strcmp(text, again) == 0);
    }
    free(bytes);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *mem = arena_new(64 * 1024);
    char *text = size ? malloc(size) : NULL;

    if (text && mem) {
        memcpy(text, data + 1, size - 1);
        text[size - 1] = '\0';
        switch (data[0] % 5) {
        case 0:
            fuzz_metadata(text, mem);
            break;
        case 1:
            fuzz_concat(text, mem);
            break;
        case 2:
            fuzz_checksum(text);
            break;
        case 3:
            fuzz_number(text);
            break;
        case 4:
            fuzz_base64(text, strlen(text));
            break;
        }
    }
    free(text);
    arena_free(mem);
    return 0;
}
