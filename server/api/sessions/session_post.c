/* POST /v1/sessions/{id}/crashes and …/feedback: what another tool knows of a session. Taken also
 * before the session's first part has arrived; the worker finds it by the session's id. */
#include "server/api/body.h"
#include "server/api/handlers.h"

#include "base/digest.h"
#include "server/jobs/sessions/session_load.h"
#include "src/scrub.h" /* the SDK's */

#include <string.h>

#define MAX_POSTED 100 /* of each, a session */
#define MAX_REASON 256
#define MAX_STACK 256
#define MAX_FRAME_TEXT 512
#define MAX_MODULE 128
#define MAX_DEBUG_ID 32 /* bytes */
#define MAX_CATEGORY 32
#define MAX_FEEDBACK 2000
#define SCRUB_GROWTH 8 /* "?" of a URL becomes "?[query]" */

static const struct range time_us = {0, (int64_t)MAX_SESSION_US, 0};

/* What differs between a crash and feedback. */
struct event {
    const char *kind;
    enum query count, post, mark;
    unsigned char session[16], id[16];
    struct db_args values; /* of `post`, from the fifth on */
};

struct count_row {
    int64_t n;
    bool known;
};
static const struct db_col count_cols[] = {DB_COL(count_row, n), DB_COL(count_row, known)};
static const struct db_map count_map = DB_MAP(count_row, count_cols);

static bool insert(struct req *r, const struct event *e, bool *created, struct err *err)
{
    struct db_arg args[8] = {db_i64(shard_of(r->who.app, e->session)), db_uuid(e->session),
                             db_uuid(e->id), db_i64(r->who.app)};
    int64_t rows;

    memcpy(args + 4, e->values.v, e->values.n * sizeof *args);
    if (!db_exec_n(r->db, e->post, (struct db_args){4 + e->values.n, args}, &rows, err)) {
        /* no partition of that day any more */
        if (strcmp(db_sqlstate(r->db), "23514") == 0)
            return err_set(err, ERR_GONE, "the session is past its retention");
        return false;
    }
    *created = rows > 0;
    return db_exec(r->db, e->mark, (struct db_args){2, args}, err);
}

static bool count(struct req *r, const struct event *e, struct count_row *out, struct err *err)
{
    return db_one(
        r->db, e->count,
        DB_ARGS(db_i64(shard_of(r->who.app, e->session)), db_uuid(e->session), db_uuid(e->id)),
        &count_map, r->mem, out, err);
}

static bool store(struct req *r, const struct event *e, bool *created, bool *full, struct err *err)
{
    struct count_row have;

    *full = false;
    if (!db_begin(r->db, err))
        return false;

    bool ok =
        db_exec(r->db, Q_SESSION_POST_LOCK,
                DB_ARGS(db_i64(shard_of(r->who.app, e->session)), db_uuid(e->session)), err) &&
        count(r, e, &have, err);

    if (ok && !have.known && have.n >= MAX_POSTED)
        *full = true;
    else
        ok = ok && insert(r, e, created, err);
    ok = ok && db_commit(r->db, err);
    if (!ok)
        db_rollback(r->db);
    return ok;
}

static bool refuse(struct req *r, const struct event *e, struct err *err)
{
    if (!db_exec(r->db, Q_CRASH_REFUSE,
                 DB_ARGS(db_i64(r->who.app), db_text(e->kind), db_uuid(e->session),
                         db_text("posted past the limit of a session")),
                 err))
        return false;
    return err_set(err, ERR_TOO_BIG, "the session has %d posted ones already", MAX_POSTED);
}

static bool keep(struct req *r, const struct event *e, struct err *err)
{
    char id[33], session[33];
    bool created = false, full;

    if (!store(r, e, &created, &full, err))
        return false;
    if (full)
        return refuse(r, e, err);
    to_hex(e->id, 16, id);
    to_hex(e->session, 16, session);
    return reply_json(
        r, created ? 201 : 200,
        json_pack("{s:s, s:s, s:b}", "id", id, "session", session, "created", created), err);
}

/* Free text as it is kept: what a game sends, with the key that games carry, is scrubbed as on the
 * device; who has the admin's key knows what it writes. At most `max` bytes, whole characters. */
static bool scrubbed(struct req *r, size_t max, const char **text, struct err *err)
{
    size_t size = strlen(*text) * SCRUB_GROWTH + 1;
    char *out;

    if (r->who.role != ROLE_INGEST)
        return true;
    out = arena_alloc(r->mem, size);
    if (!out)
        return err_full(err, "a request");
    fw_scrub(*text, out, size);
    if (strlen(out) > max) {
        while (max && ((unsigned char)out[max] & 0xc0) == 0x80)
            max--;
        out[max] = 0;
    }
    *text = out;
    return true;
}

/* {"text"} of a managed frame, or {"module", "debug_id", "offset"} of a native one: as the stacks
 * of answers have them. */
static bool check_frame(const json_t *frame, struct err *err)
{
    static const char *const names[] = {"module", "debug_id", "offset", "text", NULL};
    const char *text, *module, *debug_id, *offset;
    unsigned char bytes[MAX_DEBUG_ID];

    if (!json_is_object(frame))
        return err_set(err, ERR_INVALID, "a frame must be an object");
    if (!json_only(frame, names, err) ||
        !json_get_text(frame, "text", MAX_FRAME_TEXT, "", &text, err) ||
        !json_get_text(frame, "module", MAX_MODULE, "", &module, err) ||
        !json_get_text(frame, "debug_id", 2 * MAX_DEBUG_ID, "", &debug_id, err) ||
        !json_get_text(frame, "offset", 18, "", &offset, err))
        return false;
    if (strlen(debug_id) % 2 || !from_hex(debug_id, strlen(debug_id) / 2, bytes))
        return err_field(err, ERR_INVALID, "debug_id", "must be pairs of hexadecimal digits");
    if (offset[0] && (strncmp(offset, "0x", 2) != 0 || !offset[2] ||
                      offset[2 + strspn(offset + 2, "0123456789abcdef")]))
        return err_field(err, ERR_INVALID, "offset", "must be like 0x1f40");
    if (!text[0] == !offset[0])
        return err_set(err, ERR_INVALID, "a frame has either a text or an offset");
    return true;
}

static bool check_stack(const json_t *stack, struct err *err)
{
    const json_t *frame;
    size_t i;

    if (!json_is_array(stack))
        return err_field(err, ERR_INVALID, "stack", "must be an array of frames");
    if (json_array_size(stack) > MAX_STACK)
        return err_field(err, ERR_TOO_BIG, "stack", "has more than %d frames", MAX_STACK);
    json_array_foreach(stack, i, frame) if (!check_frame(frame, err)) return body_inside(err,
                                                                                         "stack");
    return true;
}

bool crash_post(struct req *r, struct err *err)
{
    static const char *const names[] = {"t_us", "signal", "reason", "stack", NULL};
    struct event e = {"crash",  Q_CRASH_COUNT_POSTED, Q_CRASH_POST, Q_CRASH_MARK_SESSION, {0}, {0},
                      {0, NULL}};
    struct db_arg value[4]; /* t_us, signal, reason, stack */
    const char *reason;

    if (!req_param_id(r, 0, e.session, err) || !req_json(r, err) || !json_only(r->json, names, err))
        return false;

    const json_t *stack = json_object_get(r->json, "stack");

    if (!body_i64(r->json, "t_us", time_us, &value[0], err) ||
        !body_i64(r->json, "signal", (struct range){0, 255, 0}, &value[1], err) ||
        !json_get_prose(r->json, "reason", MAX_REASON, NULL, &reason, err) ||
        !scrubbed(r, MAX_REASON, &reason, err) || (stack && !check_stack(stack, err)) ||
        !body_id(r, e.kind, r->json, e.id, err))
        return false;
    value[2] = db_text(reason);
    value[3] = db_text(stack ? body_canonical(r, stack) : "[]");
    e.values = (struct db_args){4, value};
    return keep(r, &e, err);
}

bool feedback_post(struct req *r, struct err *err)
{
    static const char *const names[] = {"t_us", "category", "text", NULL};
    struct event e = {
        "feedback", Q_FEEDBACK_COUNT_POSTED, Q_FEEDBACK_POST, Q_FEEDBACK_MARK_SESSION, {0}, {0},
        {0, NULL}};
    struct db_arg value[3]; /* t_us, category, body */
    const char *category, *text;

    if (!req_param_id(r, 0, e.session, err) || !req_json(r, err) ||
        !json_only(r->json, names, err) || !body_i64(r->json, "t_us", time_us, &value[0], err) ||
        !json_get_text(r->json, "category", MAX_CATEGORY, "", &category, err) ||
        !json_get_prose(r->json, "text", MAX_FEEDBACK, NULL, &text, err) ||
        !scrubbed(r, MAX_CATEGORY, &category, err) || !scrubbed(r, MAX_FEEDBACK, &text, err) ||
        !body_id(r, e.kind, r->json, e.id, err))
        return false;
    value[1] = db_text(category);
    value[2] = db_text(text);
    e.values = (struct db_args){3, value};
    return keep(r, &e, err);
}
