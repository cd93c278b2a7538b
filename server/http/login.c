#include "server/http/login.h"

#include <string.h>
#include <strings.h>

static void mac(const struct secret *s, const char *label, const void *subject, size_t n,
                unsigned char out[SHA256_BYTES])
{
    secret_derive(s, label, 0, subject, n, out);
}

#define SEALED_BYTES (LOGIN_TOKEN_BYTES - SHA256_BYTES)

void login_seal(const struct secret *s, const struct login *l, char token[LOGIN_TOKEN_CHARS + 1])
{
    unsigned char sealed[LOGIN_TOKEN_BYTES], *at = sealed;

    memcpy(at, l->key_hash, SHA256_BYTES);
    at += SHA256_BYTES;
    memcpy(at, l->id, LOGIN_ID_BYTES);
    at += LOGIN_ID_BYTES;
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)((uint64_t)l->end_s >> (8 * (7 - i)));
    mac(s, "login", sealed, SEALED_BYTES, sealed + SEALED_BYTES);
    to_hex(sealed, sizeof sealed, token);
}

bool login_open(const struct secret *s, const char *token, int64_t now_s, struct login *out)
{
    unsigned char sealed[LOGIN_TOKEN_BYTES], expected[SHA256_BYTES];
    const unsigned char *end = sealed + SHA256_BYTES + LOGIN_ID_BYTES;
    uint64_t end_s = 0;

    if (!from_hex(token, sizeof sealed, sealed))
        return false;
    mac(s, "login", sealed, SEALED_BYTES, expected);
    if (!equal_secret(expected, sealed + SEALED_BYTES, SHA256_BYTES))
        return false;
    for (int i = 0; i < 8; i++)
        end_s = end_s << 8 | end[i];
    if ((int64_t)end_s <= now_s)
        return false;
    memcpy(out->key_hash, sealed, SHA256_BYTES);
    memcpy(out->id, sealed + SHA256_BYTES, LOGIN_ID_BYTES);
    out->end_s = (int64_t)end_s;
    return true;
}

void login_csrf(const struct secret *s, const char *token, char csrf[LOGIN_CSRF_CHARS + 1])
{
    unsigned char sum[SHA256_BYTES];

    mac(s, "csrf", token, strlen(token), sum);
    to_hex(sum, sizeof sum, csrf);
}

bool login_csrf_ok(const struct secret *s, const char *token, const char *csrf)
{
    char expected[LOGIN_CSRF_CHARS + 1];

    login_csrf(s, token, expected);
    return csrf && strlen(csrf) == LOGIN_CSRF_CHARS &&
           equal_secret(csrf, expected, LOGIN_CSRF_CHARS);
}

/* RFC 6265, 5.4: pairs with "; " between them; browsers send no spaces around the "=". */
static bool find_pair(const char *at, char token[LOGIN_TOKEN_CHARS + 1])
{
    static const char name[] = LOGIN_COOKIE "=";

    while (*at) {
        size_t n = strcspn(at, ";");

        if (n == sizeof name - 1 + LOGIN_TOKEN_CHARS && memcmp(at, name, sizeof name - 1) == 0) {
            memcpy(token, at + sizeof name - 1, LOGIN_TOKEN_CHARS);
            token[LOGIN_TOKEN_CHARS] = '\0';
            return true;
        }
        at += n;
        at += strspn(at, "; ");
    }
    return false;
}

bool login_cookie(const struct http_headers *h, char token[LOGIN_TOKEN_CHARS + 1])
{
    for (size_t i = 0; i < h->n; i++)
        if (strcasecmp(h->at[i].name, "Cookie") == 0 && find_pair(h->at[i].value, token))
            return true;
    return false;
}
