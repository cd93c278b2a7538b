/* GET /v1/health-check: is a release well observed? */
#include "server/api/args.h"
#include "server/api/handlers.h"

#include "server/jobs/reports/health.h"

bool health_get(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "day", NULL};
    int64_t build, day;
    json_t *doc;

    if (!req_query_only(r, names, err) ||
        !req_query_i64(r, "build", (struct range){1, INT32_MAX, 0}, &build, err) ||
        !req_query_i64(r, "day", (struct range){1, 60, 0}, &day, err))
        return false;
    doc = health_doc(r->db, r->who.app, build, day, 0, r->mem, err);
    return doc && reply_json(r, 200, doc, err);
}
