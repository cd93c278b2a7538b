/*
 * login: the cookie by which a browser stands for an API key. Pure but for the clock handed in.
 *
 * The token is the key's SHA-256, an id of the login, an end and an HMAC over all by the server's
 * secret, so no table of logins is needed: any server of the database opens it, and a revoked key
 * ends it. Of logins that were ended by hand the ids are kept (table logout). A request
 * that changes something must also carry LOGIN_CSRF_HEADER with a second HMAC, which pages of
 * other origins cannot read (and SameSite=Strict keeps the cookie from their requests anyway).
 */
#pragma once
#include "base/digest.h"
#include "base/err.h"
#include "server/http/headers.h"
#include "server/http/secret.h"

#include <stdint.h>

#define LOGIN_COOKIE "fw_login"
#define LOGIN_CSRF_HEADER "X-Framewatch-Csrf"
#define LOGIN_ID_BYTES 16
#define LOGIN_TOKEN_BYTES (SHA256_BYTES + LOGIN_ID_BYTES + 8 + SHA256_BYTES)
#define LOGIN_TOKEN_CHARS (2 * LOGIN_TOKEN_BYTES)
#define LOGIN_CSRF_CHARS (2 * SHA256_BYTES)

struct login {
    unsigned char key_hash[SHA256_BYTES], id[LOGIN_ID_BYTES];
    int64_t end_s; /* Unix time */
};

void login_seal(const struct secret *s, const struct login *l, char token[LOGIN_TOKEN_CHARS + 1]);
/* False: not sealed with this secret, or past its end. */
bool login_open(const struct secret *s, const char *token, int64_t now_s,
                struct login *out) MUST_CHECK;
/* What a request with this cookie's token must carry to change something. */
void login_csrf(const struct secret *s, const char *token, char csrf[LOGIN_CSRF_CHARS + 1]);
bool login_csrf_ok(const struct secret *s, const char *token, const char *csrf) MUST_CHECK;
/* The token among the request's cookies, copied; false if there is none of the right length. */
bool login_cookie(const struct http_headers *h, char token[LOGIN_TOKEN_CHARS + 1]) MUST_CHECK;
