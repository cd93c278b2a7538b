/* GET /v1/tickets: what is kept in bug trackers, and what is known of it there. */
#include "server/api/args.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"

#include "server/notify/notify.h"

struct ticket_row {
    int64_t id;
    const char *key, *channel, *via, *title, *owner, *state, *external_state, *external_id, *url;
    int64_t wanted_version, filed_version, episode, filed_episode;
    const char *filed_at, *looked_at, *created_at, *updated_at;
};
static const struct db_col ticket_cols[] = {
    DB_COL(ticket_row, id),
    DB_COL(ticket_row, key),
    DB_COL(ticket_row, channel),
    DB_COL(ticket_row, via),
    DB_COL(ticket_row, title),
    DB_COL(ticket_row, owner),
    DB_COL(ticket_row, state),
    DB_COL(ticket_row, external_state),
    DB_COL(ticket_row, external_id),
    DB_COL(ticket_row, url),
    DB_COL(ticket_row, wanted_version),
    DB_COL(ticket_row, filed_version),
    DB_COL(ticket_row, episode),
    DB_COL(ticket_row, filed_episode),
    DB_COL(ticket_row, filed_at),
    DB_COL(ticket_row, looked_at),
    DB_COL(ticket_row, created_at),
    DB_COL(ticket_row, updated_at),
};
static const struct db_map ticket_map = DB_MAP(ticket_row, ticket_cols);

bool ticket_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"state", "key", "limit", "cursor", NULL};
    static const char *const states[] = {"wanted", "open", "closed", "gone", NULL};
    struct db_arg state, key;
    struct db_rows rows;
    struct list_page p;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) || !arg_choice(r, "state", states, &state, err) ||
        !arg_text(r, "key", TICKET_KEY_MAX, &key, err) ||
        !db_all(r->db, Q_TICKET_LIST,
                DB_ARGS(db_i64(r->who.app), state, key, p.key, db_i64(p.limit + 1)), &ticket_map,
                r->mem, &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        rows.n = (size_t)p.limit;
        next = list_page_next(r, &p, ((const struct ticket_row *)rows.at)[rows.n - 1].id, NULL);
    }
    return reply_rows(r, 200, &rows, next, err);
}
