/* Requests on uploads that send no bytes: they are answered by the dispatcher. */
#include "server/http/upload_parts.h"

#include <string.h>

bool upload_options(struct req *r, struct err *err)
{
    struct exchange *x = exchange_of_req(r);
    const struct chunk_limits *l = &x->server->config.uploads;

    (void)err;
    reply_put(r->reply, "Tus-Version", TUS_VERSION);
    reply_put(r->reply, "Tus-Extension", TUS_EXTENSIONS);
    reply_put(r->reply, "Tus-Checksum-Algorithm", TUS_CHECKSUMS);
    upload_put_number(x, 0, "Tus-Max-Size",
                      l->session_max > l->symbols_max ? l->session_max : l->symbols_max);
    return reply_empty(r, 204);
}

/* The store speaks of its queries. */
static bool not_there(struct err *err)
{
    if (err->code == ERR_NOT_FOUND)
        err_set(err, ERR_NOT_FOUND, "There is no such upload.");
    return false;
}

bool upload_head(struct req *r, struct err *err)
{
    struct exchange *x = exchange_of_req(r);
    struct upload_info info = {0};

    if (!chunk_store_stat(r->db, &x->up.op.key, r->mem, &info, err))
        return not_there(err);
    if (info.expired || strcmp(info.state, "deleted") == 0)
        return err_set(err, ERR_GONE, "the upload expired or was deleted");
    upload_put_number(x, 0, "Upload-Offset", info.at);
    if (info.length == LENGTH_UNKNOWN)
        reply_put(r->reply, "Upload-Defer-Length", "1");
    else
        upload_put_number(x, 1, "Upload-Length", info.length);
    if (*info.metadata)
        reply_put(r->reply, "Upload-Metadata", info.metadata);
    if (*info.concat)
        reply_put(r->reply, "Upload-Concat", info.concat);
    if (strcmp(info.state, "complete") != 0)
        upload_put_expiry(x, 2, info.expires_s);
    return reply_empty(r, 200);
}

bool upload_delete(struct req *r, struct err *err)
{
    struct exchange *x = exchange_of_req(r);

    if (!chunk_store_remove(r->db, &x->up.op.key, r->mem, err))
        return not_there(err);
    return reply_empty(r, 204);
}

/* POST with Upload-Concat: final. */
bool upload_final(struct req *r, struct err *err)
{
    struct exchange *x = exchange_of_req(r);
    struct upload_request *up = &x->up;

    if (!chunk_store_join(r->db, &x->server->config.uploads, &up->op.key, &up->op.upload,
                          &up->partials, up->concat, r->mem, err))
        return false;
    if (r->ctx->jobs_added)
        r->ctx->jobs_added(r->ctx->jobs_user);
    upload_put_location(x);
    return reply_empty(r, 201);
}
