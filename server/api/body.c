#include "server/api/body.h"

#include "base/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool absent(const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);

    return !member || json_is_null(member);
}

bool body_i64(const json_t *object, const char *name, struct range range, struct db_arg *out,
              struct err *err)
{
    int64_t v;

    *out = db_null();
    if (absent(object, name))
        return true;
    if (!json_get_i64(object, name, range, true, &v, err))
        return false;
    *out = db_i64(v);
    return true;
}

bool body_text(const json_t *object, const char *name, size_t max, struct db_arg *out,
               struct err *err)
{
    const char *text;

    *out = db_null();
    if (absent(object, name))
        return true;
    if (!json_get_text(object, name, max, NULL, &text, err))
        return false;
    *out = db_text(text);
    return true;
}

bool body_inside(struct err *err, const char *outer)
{
    char inner[sizeof err->field];

    memcpy(inner, err->field, sizeof inner);
    snprintf(err->field, sizeof err->field, "%.24s%s%.36s", outer, inner[0] ? "." : "", inner);
    return false;
}

const char *body_canonical(struct req *r, const json_t *tree)
{
    char *text = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);
    const char *kept = text ? arena_dup(r->mem, text, strlen(text)) : NULL;

    free(text);
    return kept;
}

bool body_id(struct req *r, const char *kind, const json_t *tree, unsigned char id[16],
             struct err *err)
{
    const char *text = body_canonical(r, tree);
    struct digest *d = digest_new(DIGEST_SHA256);
    unsigned char sum[SHA256_BYTES];

    if (!text || !d) {
        digest_free(d);
        return err_memory(err);
    }
    digest_add(d, kind, strlen(kind) + 1);
    digest_add(d, text, strlen(text));
    digest_end(d, sum);
    digest_free(d);
    memcpy(id, sum, 16);
    return true;
}

bool audit(struct req *r, const char *action, json_t *detail, struct err *err)
{
    const char *text = detail ? body_canonical(r, detail) : NULL;

    json_decref(detail);
    if (!text)
        return err_memory(err);
    return db_exec(
        r->db, Q_AUDIT_ADD,
        DB_ARGS(db_i64(r->who.app), db_text(r->who.hint), db_text(action), db_text(text)), err);
}
