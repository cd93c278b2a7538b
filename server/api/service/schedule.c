/* POST /v1/schedule/{kind}: recurring work, now. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/handlers.h"

#include "server/http/context.h"
#include "server/jobs/schedule.h"

bool schedule_post(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    const char *kind = r->param[0];

    if (!req_query_only(r, names, err))
        return false;
    if (!schedule_has(kind))
        return err_set(err, ERR_NOT_FOUND, "no such kind of recurring work");
    if (!db_begin(r->db, err) || !schedule_now(r->db, r->who.app, kind, err) ||
        !audit(r, "schedule", json_pack("{s:s}", "kind", kind), err) || !db_commit(r->db, err))
        return false;
    if (r->ctx->jobs_added)
        r->ctx->jobs_added(r->ctx->jobs_user);
    return reply_json(r, 202, json_pack("{s:s}", "kind", kind), err);
}
