/* GET /v1/deliveries, GET /v1/deliveries/{id} and POST …/retry: the log of the outbox, and what
 * waits for a person. */
#include "server/api/alerts/deliveries.h"
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"

#include "server/http/context.h"
#include "server/notify/notify.h"

struct delivery_row {
    int64_t id, channel_id;
    const char *channel, *via, *kind, *subject;
    int64_t version;
    const char *state;
    int64_t attempts, sends, last_status;
    const char *last_error, *next_at, *created_at, *tried_at, *sent_at;
    const char *body_json; /* of one delivery only */
};
static const struct db_col delivery_cols[] = {
    DB_COL(delivery_row, id),          DB_COL(delivery_row, channel_id),
    DB_COL(delivery_row, channel),     DB_COL(delivery_row, via),
    DB_COL(delivery_row, kind),        DB_COL(delivery_row, subject),
    DB_COL(delivery_row, version),     DB_COL(delivery_row, state),
    DB_COL(delivery_row, attempts),    DB_COL(delivery_row, sends),
    DB_COL(delivery_row, last_status), DB_COL(delivery_row, last_error),
    DB_COL(delivery_row, next_at),     DB_COL(delivery_row, created_at),
    DB_COL(delivery_row, tried_at),    DB_COL(delivery_row, sent_at),
    DB_COL(delivery_row, body_json), /* last, so that lists end before it */
};
static const struct db_map delivery_map = DB_MAP(delivery_row, delivery_cols);
static const struct db_map list_map = {.cols = delivery_cols,
                                       .n_cols = sizeof delivery_cols / sizeof *delivery_cols - 1,
                                       .row_size = sizeof(struct delivery_row)};

bool delivery_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"channel", "state",  "kind", "subject",
                                        "limit",   "cursor", NULL};
    static const char *const states[] = {"pending", "sending", "sent", "dead", "suppressed", NULL};
    static const char *const kinds[] = {"alert", "report", "ticket", "test", NULL};
    struct db_arg channel, state, kind, subject;
    struct db_rows rows;
    struct list_page p;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) || !arg_i64(r, "channel", 0, INT64_MAX, &channel, err) ||
        !arg_choice(r, "state", states, &state, err) || !arg_choice(r, "kind", kinds, &kind, err) ||
        !arg_text(r, "subject", TICKET_KEY_MAX, &subject, err) ||
        !db_all(
            r->db, Q_DELIVERY_LIST,
            DB_ARGS(db_i64(r->who.app), channel, state, kind, subject, p.key, db_i64(p.limit + 1)),
            &list_map, r->mem, &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        rows.n = (size_t)p.limit;
        next = list_page_next(r, &p, ((const struct delivery_row *)rows.at)[rows.n - 1].id, NULL);
    }
    return reply_rows(r, 200, &rows, next, err);
}

static bool get(struct req *r, int64_t id, struct delivery_row *out, struct err *err)
{
    return db_one(r->db, Q_DELIVERY_GET, DB_ARGS(db_i64(r->who.app), db_i64(id)), &delivery_map,
                  r->mem, out, err) ||
           (err->code == ERR_NOT_FOUND && err_set(err, ERR_NOT_FOUND, "no such delivery"));
}

bool reply_delivery(struct req *r, int status, int64_t id, struct err *err)
{
    struct delivery_row row;

    return get(r, id, &row, err) && reply_json(r, status, row_to_json(&delivery_map, &row), err);
}

bool delivery_get(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    int64_t id;

    return req_query_only(r, names, err) && param_i64(r, 0, "id", INT64_MAX, &id, err) &&
           reply_delivery(r, 200, id, err);
}

static bool retry(struct req *r, int64_t id, struct err *err)
{
    struct delivery_row row;
    int64_t rows;

    if (!db_exec_n(r->db, Q_DELIVERY_RETRY, DB_ARGS(db_i64(r->who.app), db_i64(id)), &rows, err) ||
        !get(r, id, &row, err))
        return false;
    if (!rows)
        return err_set(err, ERR_CONFLICT,
                       "the delivery is %s, not dead, or its channel was deleted", row.state);
    return audit(r, "delivery.retry", json_pack("{s:I, s:s}", "id", id, "channel", row.channel),
                 err);
}

bool delivery_retry(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    int64_t id;

    if (!req_query_only(r, names, err) || !param_i64(r, 0, "id", INT64_MAX, &id, err) ||
        !db_begin(r->db, err))
        return false;
    if (!retry(r, id, err) || !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    if (r->ctx->jobs_added)
        r->ctx->jobs_added(r->ctx->jobs_user);
    return reply_delivery(r, 200, id, err);
}
