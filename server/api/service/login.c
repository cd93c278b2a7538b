/* POST and DELETE /v1/login: a browser's cookie in place of a key. */
#include "server/api/handlers.h"

#include "server/http/context.h"
#include "server/http/login.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define COOKIE_MAX 512

struct name_row {
    const char *name;
};
static const struct db_col name_cols[] = {DB_COL(name_row, name)};
static const struct db_map name_map = DB_MAP(name_row, name_cols);

/* Only the API asks for it: pages themselves are open to all. */
static void set_cookie(struct req *r, const char *token, int64_t seconds)
{
    bool https = strncmp(r->ctx->public_url, "https://", 8) == 0;
    char value[COOKIE_MAX];

    snprintf(value, sizeof value,
             LOGIN_COOKIE "=%s; Path=/v1; Max-Age=%lld; HttpOnly; SameSite=Strict%s", token,
             (long long)seconds, https ? "; Secure" : "");
    reply_header(r, "Set-Cookie", value);
    reply_header(r, "Cache-Control", "no-store");
}

static json_t *utc(int64_t s)
{
    time_t t = (time_t)s;
    struct tm tm;
    char text[32];

    gmtime_r(&t, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_string(text);
}

bool login_post(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    char token[LOGIN_TOKEN_CHARS + 1], csrf[LOGIN_CSRF_CHARS + 1];
    struct login login = {.end_s = time(NULL) + r->ctx->login_s};
    struct name_row app;

    /* A copy of a cookie must not make logins that outlive it. */
    if (!headers_find(r->headers, "Authorization"))
        return err_field(err, ERR_UNAUTHORIZED, "Authorization", "a login is made of a key");
    if (!req_query_only(r, names, err) ||
        !db_one(r->db, Q_APP_NAME, DB_ARGS(db_i64(r->who.app)), &name_map, r->mem, &app, err))
        return false;
    memcpy(login.key_hash, r->key_hash, sizeof login.key_hash);
    if (getrandom(login.id, sizeof login.id, 0) != (ssize_t)sizeof login.id)
        return err_set(err, ERR_INTERNAL, "no random bytes for the login");
    login_seal(r->ctx->secret, &login, token);
    login_csrf(r->ctx->secret, token, csrf);
    set_cookie(r, token, r->ctx->login_s);
    return reply_json(r, 200,
                      json_pack("{s:s, s:s, s:s, s:s, s:o}", "app", app.name, "role",
                                r->who.role == ROLE_ADMIN ? "admin" : "read", "key", r->who.hint,
                                "csrf", csrf, "ends_at", utc(login.end_s)),
                      err);
}

/* The cookie may have been copied: it must open nothing from now on, on any server. */
static bool end_login(struct req *r, struct err *err)
{
    char token[LOGIN_TOKEN_CHARS + 1];
    struct login login;

    if (!r->ctx->secret || !login_cookie(r->headers, token) ||
        !login_open(r->ctx->secret, token, time(NULL), &login))
        return true;
    return db_exec(r->db, Q_LOGIN_END,
                   DB_ARGS(db_bytes(login.id, sizeof login.id), db_i64(login.end_s)), err);
}

bool login_delete(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};

    if (!req_query_only(r, names, err) || !end_login(r, err))
        return false;
    set_cookie(r, "", 0);
    return reply_empty(r, 204);
}
