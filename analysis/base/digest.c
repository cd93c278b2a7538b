#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

struct digest {
    EVP_MD_CTX *ctx;
};

struct digest *digest_new(enum digest_kind kind)
{
    struct digest *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->ctx = EVP_MD_CTX_new();
    if (d->ctx && EVP_DigestInit_ex(d->ctx, kind == DIGEST_SHA1 ? EVP_sha1() : EVP_sha256(), NULL))
        return d;
    digest_free(d);
    return NULL;
}

void digest_free(struct digest *d)
{
    if (!d)
        return;
    EVP_MD_CTX_free(d->ctx);
    free(d);
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    if (!EVP_DigestUpdate(d->ctx, bytes, n))
        abort();
}

size_t digest_end(struct digest *d, unsigned char out[SHA256_BYTES])
{
    unsigned n = 0;

    if (!EVP_DigestFinal_ex(d->ctx, out, &n))
        abort();
    return n;
}

void sha256(const void *bytes, size_t n, unsigned char out[SHA256_BYTES])
{
    if (!EVP_Digest(bytes, n, out, NULL, EVP_sha256(), NULL))
        abort();
}

void hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t n,
                 unsigned char out[SHA256_BYTES])
{
    unsigned len = 0;

    if (!HMAC(EVP_sha256(), key, (int)key_len, bytes, n, out, &len))
        abort();
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

static int hex_digit(char c)
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
        if (hex_digit(text[i]) < 0)
            return false;
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
    return true;
}
