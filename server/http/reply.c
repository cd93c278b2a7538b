#include "server/http/reply.h"

#include <stdlib.h>
#include <string.h>

void reply_init(struct http_reply *r)
{
    *r = (struct http_reply){0};
}

void reply_fini(struct http_reply *r)
{
    free(r->body);
    reply_init(r);
}

void reply_put(struct http_reply *r, const char *name, const char *value)
{
    if (r->n_headers == REPLY_HEADERS_MAX)
        return;
    r->header[r->n_headers].name = name;
    r->header[r->n_headers++].value = value;
}

bool reply_take(struct http_reply *r, int status, const char *content_type, struct buf *body)
{
    size_t len = 0;

    if (!buf_ok(body)) {
        buf_fini(body);
        return false;
    }
    free(r->body);
    r->body = buf_steal(body, &len);
    r->len = len;
    r->status = status;
    r->content_type = content_type;
    return true;
}
