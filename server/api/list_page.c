#include "server/api/list_page.h"

#include "base/base64url.h"
#include "base/digest.h"

#include <string.h>

#define CURSOR_VERSION 1
#define CURSOR_BYTES 33 /* version, key (big-endian), id, scope */
/* Keys are ids and times in us since 1970; past this the database's calendar ends. */
#define CURSOR_KEY_MAX (UINT64_C(1) << 60)

/* Names and values of all arguments but the two that may change from page to page. */
static bool put_scope(struct req *r, const char *const *names, unsigned char scope[8])
{
    unsigned char sum[SHA256_BYTES];
    struct digest *d = digest_new(DIGEST_SHA256);

    if (!d)
        return false;
    digest_add(d, r->path, strlen(r->path) + 1);
    for (; *names; names++) {
        const char *value = req_query(r, *names);

        if (!value || strcmp(*names, "limit") == 0 || strcmp(*names, "cursor") == 0)
            continue;
        digest_add(d, *names, strlen(*names) + 1);
        digest_add(d, value, strlen(value) + 1);
    }
    digest_end(d, sum);
    digest_free(d);
    memcpy(scope, sum, 8);
    return true;
}

static bool read_cursor(struct req *r, const char *text, struct list_page *p, struct err *err)
{
    unsigned char *bytes = arena_alloc(r->mem, CURSOR_BYTES);
    uint64_t key = 0;

    if (!bytes)
        return err_full(err, "a request");
    if (!base64url_decode(text, CURSOR_BYTES, bytes) || bytes[0] != CURSOR_VERSION)
        return err_field(err, ERR_INVALID, "cursor", "is not one this server gave");
    if (memcmp(bytes + 25, p->scope, sizeof p->scope) != 0)
        return err_field(err, ERR_INVALID, "cursor", "belongs to another list or other filters");
    for (size_t i = 1; i < 9; i++)
        key = key << 8 | bytes[i];
    if (key > CURSOR_KEY_MAX)
        return err_field(err, ERR_INVALID, "cursor", "is not one this server gave");
    p->key = db_i64((int64_t)key);
    p->id = db_uuid(bytes + 9);
    return true;
}

bool list_page_read(struct req *r, const char *const *names, struct list_page *out, struct err *err)
{
    struct list_page p = {.key = db_null(), .id = db_null()};
    const char *cursor = req_query(r, "cursor");

    if (!req_query_only(r, names, err) ||
        !req_query_i64(r, "limit", (struct range){1, LIST_PAGE_MAX, LIST_PAGE_DEFAULT}, &p.limit,
                       err))
        return false;
    if (!put_scope(r, names, p.scope))
        return err_memory(err);
    if (cursor && !read_cursor(r, cursor, &p, err))
        return false;
    *out = p;
    return true;
}

const char *list_page_next(struct req *r, const struct list_page *p, int64_t key,
                           const unsigned char *id)
{
    unsigned char bytes[CURSOR_BYTES] = {CURSOR_VERSION};
    char *text = arena_alloc(r->mem, BASE64URL_LEN(CURSOR_BYTES) + 1);

    if (!text)
        return NULL;
    for (size_t i = 0; i < 8; i++)
        bytes[1 + i] = (unsigned char)((uint64_t)key >> (56 - 8 * i));
    if (id)
        memcpy(bytes + 9, id, 16);
    memcpy(bytes + 25, p->scope, sizeof p->scope);
    base64url_encode(bytes, sizeof bytes, text);
    return text;
}
