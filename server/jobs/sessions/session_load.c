#include "server/jobs/sessions/session_load.h"

#include "server/jobs/sessions/session_parts.h"

bool session_load(struct db *db, int64_t app, const unsigned char session_id[16], struct arena *mem,
                  struct session *out, struct session_result *result, struct err *err)
{
    struct stored_parts parts;

    if (!parts_list(db, shard_of(app, session_id), session_id, true, 0, mem, &parts, err))
        return false;
    if (!parts.n)
        return err_set(err, ERR_NOT_FOUND, "no such session");
    return parts_read(db, &parts, mem, err) && parts_merge(&parts, parts.n, mem, out, err) &&
           session_analyse(out, mem, result, err);
}
