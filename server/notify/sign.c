#include "server/notify/sign.h"

#include "base/digest.h"
#include "server/notify/text.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define SIGNED_MAX ((size_t)4 << 20)

const char *base64(struct arena *mem, const void *bytes, size_t n)
{
    unsigned char *out = arena_alloc(mem, (n + 2) / 3 * 4 + 1);

    if (out)
        EVP_EncodeBlock(out, bytes, (int)n);
    return (const char *)out;
}

unsigned char *base64_bytes(struct arena *mem, const char *text, size_t *n)
{
    size_t len = strlen(text), pad = 0;
    char *whole = arena_alloc(mem, len + 4);
    unsigned char *out = arena_alloc(mem, len / 4 * 3 + 4);
    int got;

    if (!whole || !out)
        return NULL;
    while (len && text[len - 1] == '=' && pad < 2)
        len--, pad++;
    memcpy(whole, text, len);
    for (pad = 0; (len + pad) % 4; pad++)
        whole[len + pad] = '=';
    got = EVP_DecodeBlock(out, (const unsigned char *)whole, (int)(len + pad));
    if (got < 0 || pad > 2)
        return NULL;
    *n = (size_t)got - pad;
    return out;
}

static const char *hmac_base64(struct arena *mem, const void *key, size_t key_len, const void *text,
                               size_t n)
{
    unsigned char mac[SHA256_BYTES];

    hmac_sha256(key, key_len, text, n, mac);
    return base64(mem, mac, sizeof mac);
}

/* "NUMBER\nSECRET" */
static const char *stamped(struct arena *mem, int64_t number, const char *secret)
{
    size_t size = strlen(secret) + 24;
    char *out = arena_alloc(mem, size);

    if (out)
        snprintf(out, size, "%lld\n%s", (long long)number, secret);
    return out;
}

const char *feishu_sign(struct arena *mem, const char *secret, int64_t seconds)
{
    const char *key = stamped(mem, seconds, secret);

    return key ? hmac_base64(mem, key, strlen(key), "", 0) : NULL;
}

const char *dingtalk_sign(struct arena *mem, const char *secret, int64_t ms)
{
    const char *message = stamped(mem, ms, secret), *mac = NULL, *out;
    struct buf b;

    if (message)
        mac = hmac_base64(mem, secret, strlen(secret), message, strlen(message));
    if (!mac)
        return NULL;
    buf_init(&b, 1024);
    put_url(&b, mac);
    out = buf_keep(&b, mem);
    buf_fini(&b);
    return out;
}

const char *webhook_sign(struct arena *mem, const char *secret, const char *id, int64_t seconds,
                         const char *body)
{
    const char *key = secret, *mac, *out = NULL;
    size_t key_len = strlen(secret);
    struct buf b;

    if (strncmp(secret, "whsec_", 6) == 0) {
        key = (const char *)base64_bytes(mem, secret + 6, &key_len);
        if (!key)
            return NULL;
    }
    buf_init(&b, SIGNED_MAX);
    buf_printf(&b, "%s.%lld.", id, (long long)seconds);
    buf_text(&b, body);
    mac = buf_ok(&b) ? hmac_base64(mem, key, key_len, b.at, b.len) : NULL;
    buf_reset(&b);
    if (mac) {
        buf_printf(&b, "v1,%s", mac);
        out = buf_keep(&b, mem);
    }
    buf_fini(&b);
    return out;
}
