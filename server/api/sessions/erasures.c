/* POST /v1/erasures: a player wants the data of an install deleted. Maintenance does it. */
#include "server/api/body.h"
#include "server/api/handlers.h"
#include "server/http/context.h"
#include "server/http/tus_headers.h"

#include <string.h>

bool erasure_post(struct req *r, struct err *err)
{
    static const char *const names[] = {"install", NULL};
    unsigned char hash[SHA256_BYTES];
    const char *install;

    if (!req_json(r, err) || !json_only(r->json, names, err) ||
        !json_get_opaque(r->json, "install", TUS_INSTALL_MAX, &install, err))
        return false;
    if (!install[0])
        return err_field(err, ERR_INVALID, "install", "must not be empty");
    secret_install_hash(r->ctx->secret, r->who.app, install, strlen(install), hash);
    return db_exec(r->db, Q_ERASURE_ADD, DB_ARGS(db_i64(r->who.app), db_bytes(hash, sizeof hash)),
                   err) &&
           reply_json(r, 202, json_pack("{s:b}", "accepted", true), err);
}
