#include "server/api/families/family_slice.h"

#include "server/api/args.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT 1024

static const char *number_text(struct req *r, int64_t v, const char *more)
{
    char text[MAX_TEXT + 32];
    int n =
        snprintf(text, sizeof text, "%lld%s%s", (long long)v, more ? " " : "", more ? more : "");

    return arena_dup(r->mem, text, (size_t)n);
}

struct cut {
    struct db_arg tier, scene, model, os, cause;
};

static int given(const struct cut *c)
{
    return (c->tier.type != ARG_NULL || c->scene.type != ARG_NULL) + (c->model.type != ARG_NULL) +
           (c->os.type != ARG_NULL) + (c->cause.type != ARG_NULL);
}

static void choose(struct req *r, const struct cut *c, struct family_slice *s)
{
    if (c->tier.type != ARG_NULL && c->scene.type != ARG_NULL) {
        s->dim = "tier_scene";
        s->value = number_text(r, c->tier.i64, c->scene.text);
    } else if (c->tier.type != ARG_NULL) {
        s->dim = "tier";
        s->value = number_text(r, c->tier.i64, NULL);
    } else if (c->scene.type != ARG_NULL) {
        s->dim = "scene";
        s->value = c->scene.text;
    } else if (c->model.type != ARG_NULL) {
        s->dim = "model";
        s->value = number_text(r, c->model.i64, NULL);
    } else if (c->os.type != ARG_NULL) {
        s->dim = "os";
        s->value = c->os.text;
    } else if (c->cause.type != ARG_NULL) {
        s->dim = "cause";
        s->value = c->cause.text;
    }
}

bool slice_read(struct req *r, struct family_slice *out, struct err *err)
{
    struct family_slice s = {.dim = "all", .value = ""};
    struct db_arg build;
    struct cut c;

    if (!arg_i64(r, "build", 1, INT32_MAX, &build, err) ||
        !arg_i64(r, "tier", 0, 9, &c.tier, err) || !arg_text(r, "scene", MAX_TEXT, &c.scene, err) ||
        !arg_i64(r, "model", 1, INT32_MAX, &c.model, err) ||
        !arg_text(r, "os", MAX_TEXT, &c.os, err) || !arg_text(r, "cause", 64, &c.cause, err))
        return false;
    if (given(&c) > 1)
        return err_field(
            err, ERR_INVALID, c.cause.type != ARG_NULL ? "cause" : "model",
            "cannot be combined: ask for tier and scene together, or for one of model, "
            "os and cause alone");
    s.build = build.type == ARG_NULL ? 0 : build.i64;
    choose(r, &c, &s);
    *out = s;
    return s.value || err_memory(err);
}

static const struct db_col base_cols[] = {
    DB_COL(family_base, sessions),
    DB_COL(family_base, installs),
    DB_COL(family_base, foreground_us),
    DB_COL(family_base, pending),
};
static const struct db_map base_map = DB_MAP(family_base, base_cols);

bool slice_base(struct req *r, const struct family_slice *s, const struct grouping *g,
                struct family_base *out, struct err *err)
{
    /* sessions have no cause: what shows one is measured against all */
    bool cause = strcmp(s->dim, "cause") == 0;

    return db_one(r->db, Q_FAMILY_BASE,
                  DB_ARGS(db_i64(r->who.app), db_i64(s->build), db_text(cause ? "all" : s->dim),
                          db_text(cause ? "" : s->value), db_i64(g->version)),
                  &base_map, r->mem, out, err);
}

static json_t *or_null(const struct family_slice *s, const char *dim)
{
    return strcmp(s->dim, dim) == 0 ? json_string(s->value) : json_null();
}

json_t *slice_json(const struct family_slice *s)
{
    bool both = strcmp(s->dim, "tier_scene") == 0;
    json_t *tier = json_null(), *scene = or_null(s, "scene"), *model = json_null();

    if (both || strcmp(s->dim, "tier") == 0)
        tier = json_integer(s->value[0] - '0');
    if (both)
        scene = json_string(s->value + 2);
    if (strcmp(s->dim, "model") == 0) {
        json_int_t id = 0;

        for (const char *c = s->value; *c; c++)
            id = id * 10 + (*c - '0');
        model = json_integer(id);
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "build",
                     s->build ? json_integer(s->build) : json_null(), "tier", tier, "scene", scene,
                     "model", model, "os", or_null(s, "os"), "cause", or_null(s, "cause"));
}

json_t *share_json(int64_t a, int64_t b)
{
    return b > 0 ? json_real(round((double)a / (double)b * 1e6) / 1e6) : json_null();
}

struct found {
    int64_t n;
};
static const struct db_col found_cols[] = {DB_COL(found, n)};
static const struct db_map found_map = DB_MAP(found, found_cols);

bool family_param(struct req *r, unsigned i, unsigned char id[FINGERPRINT_BYTES], struct err *err)
{
    struct found found;

    if (!req_param_id(r, i, id, err) ||
        !db_one(r->db, Q_FAMILY_EXISTS,
                DB_ARGS(db_i64(r->who.app), db_bytes(id, FINGERPRINT_BYTES)), &found_map, r->mem,
                &found, err))
        return false;
    return found.n || err_set(err, ERR_NOT_FOUND, "no such family");
}
