/* SHA256_Init and its like allocate nothing, so they cannot fail. The calls that replace them in
 * OpenSSL 3 can, and end in a crash of the library itself where its first allocations fail. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

struct digest {
    enum digest_kind kind;
    union {
        SHA_CTX sha1;
        SHA256_CTX sha256;
    };
};

struct digest *digest_new(enum digest_kind kind)
{
    struct digest *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->kind = kind;
    if (kind == DIGEST_SHA1)
        SHA1_Init(&d->sha1);
    else
        SHA256_Init(&d->sha256);
    return d;
}

void digest_free(struct digest *d)
{
    free(d);
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    if (d->kind == DIGEST_SHA1)
        SHA1_Update(&d->sha1, bytes, n);
    else
        SHA256_Update(&d->sha256, bytes, n);
}

size_t digest_end(struct digest *d, unsigned char out[SHA256_BYTES])
{
    if (d->kind == DIGEST_SHA1) {
        SHA1_Final(out, &d->sha1);
        return SHA1_BYTES;
    }
    SHA256_Final(out, &d->sha256);
    return SHA256_BYTES;
}

void sha256(const void *bytes, size_t n, unsigned char out[SHA256_BYTES])
{
    SHA256_CTX ctx;

    SHA256_Init(&ctx);
    SHA256_Update(&ctx, bytes, n);
    SHA256_Final(out, &ctx);
}

/* RFC 2104: one half of it, SHA-256 of the padded key, then `bytes`. */
static void hmac_half(const unsigned char key[SHA256_CBLOCK], unsigned char pad, const void *bytes,
                      size_t n, unsigned char out[SHA256_BYTES])
{
    unsigned char block[SHA256_CBLOCK];
    SHA256_CTX ctx;

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = key[i] ^ pad;
    SHA256_Init(&ctx);
    SHA256_Update(&ctx, block, sizeof block);
    SHA256_Update(&ctx, bytes, n);
    SHA256_Final(out, &ctx);
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(&ctx, sizeof ctx);
}

void hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t n,
                 unsigned char out[SHA256_BYTES])
{
    unsigned char padded[SHA256_CBLOCK] = {0}, inner[SHA256_BYTES];

    if (key_len > sizeof padded)
        sha256(key, key_len, padded);
    else if (key_len)
        memcpy(padded, key, key_len);
    hmac_half(padded, 0x36, bytes, n, inner);
    hmac_half(padded, 0x5c, inner, sizeof inner, out);
    OPENSSL_cleanse(padded, sizeof padded);
}

static uint32_t crc_byte(uint32_t crc, unsigned char byte)
{
    crc ^= byte;
    for (int i = 0; i < 8; i++)
        crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1u)));
    return crc;
}

static uint32_t crc_plain(uint32_t crc, const unsigned char *p, size_t n)
{
    while (n--)
        crc = crc_byte(crc, *p++);
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_fast(uint32_t crc, const unsigned char *p,
                                                           size_t n)
{
    uint64_t c = crc, word;

    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        c = _mm_crc32_u64(c, word);
    }
    crc = (uint32_t)c;
    while (n--)
        crc = _mm_crc32_u8(crc, *p++);
    return crc;
}

static uint32_t crc_run(uint32_t crc, const unsigned char *p, size_t n)
{
    return __builtin_cpu_supports("sse4.2") ? crc_fast(crc, p, n) : crc_plain(crc, p, n);
}
#else
static uint32_t crc_run(uint32_t crc, const unsigned char *p, size_t n)
{
    return crc_plain(crc, p, n);
}
#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
    return ~crc_run(~crc, bytes, n);
}

bool equal_secret(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}

void to_hex(const void *bytes, size_t n, char *out)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = "0123456789abcdef"[p[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[p[i] & 15];
    }
    out[2 * n] = '\0';
}

int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool from_hex(const char *text, size_t n, void *out)
{
    unsigned char *p = out;

    if (strlen(text) != 2 * n)
        return false;
    for (size_t i = 0; i < 2 * n; i++)
        if (hex_value(text[i]) < 0)
            return false;
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(hex_value(text[2 * i]) << 4 | hex_value(text[2 * i + 1]));
    return true;
}
