#include "server/notify/reconcile.h"

#include "base/buf.h"
#include "base/digest.h"
#include "server/notify/message.h"
#include "server/notify/tracker.h"

#include <stdio.h>
#include <string.h>

#define MARKER_HEX 24
#define PAGE_URL_MAX 2048

struct ticket_row {
    int64_t ticket_id;
    const char *key, *marker, *wanted;
    int64_t wanted_version, filed_version;
    struct bytes filed_hash;
    int64_t episode, filed_episode;
    const char *external_id, *url, *state;
    int64_t create_tried_us;
};
static const struct db_col ticket_cols[] = {
    DB_COL(ticket_row, ticket_id),
    DB_COL(ticket_row, key),
    DB_COL(ticket_row, marker),
    DB_COL(ticket_row, wanted),
    DB_COL(ticket_row, wanted_version),
    DB_COL(ticket_row, filed_version),
    DB_COL(ticket_row, filed_hash),
    DB_COL(ticket_row, episode),
    DB_COL(ticket_row, filed_episode),
    DB_COL(ticket_row, external_id),
    DB_COL(ticket_row, url),
    DB_COL(ticket_row, state),
    DB_COL(ticket_row, create_tried_us),
};
static const struct db_map ticket_map = DB_MAP(ticket_row, ticket_cols);

struct comment_row {
    const char *comment_id, *body;
    bool tried;
    int64_t created_us;
};
static const struct db_col comment_cols[] = {
    DB_COL(comment_row, comment_id),
    DB_COL(comment_row, body),
    DB_COL(comment_row, tried),
    DB_COL(comment_row, created_us),
};
static const struct db_map comment_map = DB_MAP(comment_row, comment_cols);

/* One reconciliation. A step returns false when it cannot go on: either `failed` (the database,
 * *err) or *out says why. */
struct step {
    struct reconcile *r;
    struct sending *s;
    const struct tracker *tracker;
    struct ticket_row t;
    json_t *wanted;
    struct ticket_text text;
    unsigned char hash[SHA256_BYTES]; /* of the text */
    struct ticket_seen seen;          /* word NULL: not looked at */
    struct outcome *out;
    struct err *err;
    bool failed;
};

static bool db_step(struct step *p, enum query q, struct db_args args)
{
    if (!db_exec(p->r->db, q, args, p->err))
        p->failed = true;
    return !p->failed;
}

/* The text ------------------------------------------------------------------------------------ */

/* The last line is ours: how the ticket is found, and what people may rely on. */
static const char *body_of(struct step *p)
{
    const char *body = body_member(p->wanted, "body"), *url = body_member(p->wanted, "url"), *out;
    struct buf b;

    buf_init(&b, (size_t)2 << 20);
    buf_text(&b, body);
    if (*url)
        buf_printf(&b, "\n\n[Open in Framewatch](%s)", url);
    buf_printf(&b, "\n\nFramewatch keeps the text down to this line up to date. Marker: %s",
               p->t.marker);
    out = buf_ok(&b) ? arena_dup(p->s->mem, (const char *)b.at, b.len) : NULL;
    buf_fini(&b);
    return out;
}

static json_t *merged_labels(const struct channel *c, const json_t *wanted)
{
    json_t *out = json_array(), *label;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)channel_tree(c, "labels"), i, label)
        json_array_append(out, label);
    json_array_foreach(json_object_get(wanted, "labels"), i, label) json_array_append(out, label);
    return out;
}

static bool make_text(struct step *p)
{
    const char *hashed;

    p->wanted = json_loads(p->t.wanted, 0, NULL);
    p->text = (struct ticket_text){
        .marker = p->t.marker,
        .key = p->t.key,
        .title = body_member(p->wanted, "title"),
        .body = body_of(p),
        .assignee = channel_assignee(p->s->channel, body_member(p->wanted, "owner")),
        .labels = merged_labels(p->s->channel, p->wanted),
        .url = body_member(p->wanted, "url"),
        .version = p->t.wanted_version,
        .episode = p->t.episode};
    hashed =
        p->text.body ? send_body(p->s, json_pack("[s, s]", p->text.title, p->text.body)) : NULL;
    if (!hashed)
        return outcome_later(p->out, "no memory for the ticket");
    sha256(hashed, strlen(hashed), p->hash);
    return true;
}

/* Steps --------------------------------------------------------------------------------------- */

/* A link of ours goes where the service says: not to "javascript:", and to nowhere that takes a
 * password in the URL, for all who read here would have it. */
static const char *page_of(const struct ticket_seen *seen, struct arena *mem)
{
    const char *origin;
    struct err err;
    bool page = seen->url && strlen(seen->url) <= PAGE_URL_MAX &&
                http_out_origin(seen->url, mem, &origin, &err);

    return page ? seen->url : "";
}

static bool store_filed(struct step *p, bool text_known)
{
    return db_step(p, Q_TICKET_FILED,
                   DB_ARGS(db_i64(p->t.ticket_id), db_text(p->seen.id),
                           db_text(page_of(&p->seen, p->s->mem)),
                           text_known ? db_bytes(p->hash, sizeof p->hash) : db_null()));
}

/* An assignee who may not be given the ticket must not keep it from being filed. */
static bool create(struct step *p)
{
    const char *assignee = p->text.assignee;
    bool ok = p->tracker->create(p->s, &p->text, &p->seen, p->out);

    if (!ok && assignee && p->out->result == SEND_REFUSED &&
        (p->out->status == 400 || p->out->status == 422)) {
        p->text.assignee = NULL;
        ok = p->tracker->create(p->s, &p->text, &p->seen, p->out);
        p->text.assignee = assignee;
    }
    return ok;
}

/* What the tracker certainly did not take needs no second look. */
static bool create_once(struct step *p)
{
    struct db_args ticket = DB_ARGS(db_i64(p->t.ticket_id), db_i64(p->r->clock_offset_ms));

    if (!db_step(p, Q_TICKET_CREATE_TRIED, ticket))
        return false;
    if (create(p))
        return true;
    if (!p->out->maybe_done)
        db_step(p, Q_TICKET_CREATE_FAILED, (struct db_args){1, ticket.v});
    return false;
}

/* The last attempt to create it may have worked, and the tracker's index not know of it as yet. */
static bool in_doubt(struct step *p)
{
    int64_t tried_ms = (p->s->now_us - p->t.create_tried_us) / 1000;

    if (!p->t.create_tried_us || tried_ms >= p->tracker->index_lag_ms)
        return false;
    outcome_later(p->out, "an attempt to file it may have worked: its index is asked once more "
                          "before another");
    p->out->wait_ms = p->tracker->index_lag_ms - tried_ms;
    return true;
}

static bool file(struct step *p)
{
    bool found = false;

    if (!p->tracker->find(p->s, p->t.marker, p->t.create_tried_us, &p->seen, &found, p->out))
        return false;
    if (!found && (in_doubt(p) || !create_once(p)))
        return false;
    if (!store_filed(p, !found))
        return false;
    p->t.external_id = p->seen.id;
    p->t.filed_episode = p->t.episode;
    p->t.filed_hash = found ? (struct bytes){NULL, 0} : (struct bytes){p->hash, sizeof p->hash};
    return true;
}

/* The ticket as it is in the tracker now; *gone: it was deleted there. */
static bool look(struct step *p, bool *gone)
{
    *gone = false;
    if (!p->tracker->look)
        return true;
    if (!p->tracker->look(p->s, p->t.external_id, &p->seen, gone, p->out))
        return false;
    if (!*gone)
        return true;
    *p->out = (struct outcome){.result = SEND_OK, .status = p->out->status};
    return db_step(p, Q_TICKET_GONE, DB_ARGS(db_i64(p->t.ticket_id), db_bool(false)));
}

static bool reopen(struct step *p)
{
    bool closed = p->tracker->look ? p->seen.closed : true;

    if (p->t.episode <= p->t.filed_episode)
        return true;
    if (closed && !p->tracker->reopen(p->s, p->t.external_id, &p->text, p->out))
        return false;
    if (closed && p->tracker->look) { /* its new word for it is read at the next look */
        p->seen.closed = false;
        p->seen.word = "reopened";
    }
    return db_step(p, Q_TICKET_REOPENED, DB_ARGS(db_i64(p->t.ticket_id), db_i64(p->t.episode)));
}

static bool show_text(struct step *p)
{
    bool same = p->t.filed_hash.len == sizeof p->hash &&
                memcmp(p->t.filed_hash.at, p->hash, sizeof p->hash) == 0;

    if (same || p->seen.closed) /* a closed ticket stays as it was closed */
        return true;
    p->text.below = tracker_below(p->seen.body, p->t.marker);
    return p->tracker->update(p->s, p->t.external_id, &p->text, p->out) &&
           db_step(p, Q_TICKET_SHOWS,
                   DB_ARGS(db_i64(p->t.ticket_id), db_bytes(p->hash, sizeof p->hash)));
}

static const char *comment_marker(struct step *p, const char *comment_id)
{
    unsigned char sum[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    const char *text = send_printf(p->s, "%s %s", p->t.marker, comment_id);

    sha256(text ? text : "", text ? strlen(text) : 0, sum);
    to_hex(sum, sizeof sum, hex);
    return send_printf(p->s, "framewatch-%.*s", MARKER_HEX, hex);
}

static bool say_comment(struct step *p, const struct comment_row *c)
{
    const char *marker = comment_marker(p, c->comment_id), *text;
    struct db_arg id = db_text(c->comment_id);
    bool has = false;
    struct buf b;

    if (c->tried && p->tracker->has_comment &&
        !p->tracker->has_comment(p->s, p->t.external_id, marker, c->created_us, &has, p->out))
        return false;
    if (!has) {
        buf_init(&b, 65536);
        buf_printf(&b, "%s\n\n`%s`", c->body, marker);
        text = buf_ok(&b) ? arena_dup(p->s->mem, (const char *)b.at, b.len) : NULL;
        buf_fini(&b);
        if (!text)
            return outcome_later(p->out, "no memory for a comment");
        if (!db_step(p, Q_TICKET_COMMENT_TRIED, DB_ARGS(db_i64(p->t.ticket_id), id)) ||
            !p->tracker->comment(p->s, p->t.external_id, &p->text, text, marker, p->out))
            return false;
    }
    return db_step(p, Q_TICKET_COMMENT_SAID, DB_ARGS(db_i64(p->t.ticket_id), id));
}

static bool say_comments(struct step *p)
{
    struct db_rows rows;

    if (!db_all(p->r->db, Q_TICKET_COMMENTS_DUE, DB_ARGS(db_i64(p->t.ticket_id)), &comment_map,
                p->s->mem, &rows, p->err)) {
        p->failed = true;
        return false;
    }
    for (size_t i = 0; i < rows.n; i++)
        if (!say_comment(p, (const struct comment_row *)rows.at + i))
            return false;
    return true;
}

static bool store_looked(struct step *p, bool whole)
{
    return db_step(p, Q_TICKET_LOOKED,
                   DB_ARGS(db_i64(p->t.ticket_id), db_text(p->seen.closed ? "closed" : "open"),
                           db_text(p->seen.word ? p->seen.word : ""), db_i64(p->r->clock_offset_ms),
                           db_i64(p->tracker->look ? p->r->look_ms : 0),
                           db_i64(whole ? p->t.wanted_version : 0)));
}

/* A ticket that people deleted is filed anew when the family comes back, not before: *over. */
static bool revive(struct step *p, bool *over)
{
    *over = p->t.episode <= p->t.filed_episode;
    if (*over)
        return true;
    p->t.external_id = "";
    p->t.create_tried_us = 0;
    return db_step(p, Q_TICKET_GONE, DB_ARGS(db_i64(p->t.ticket_id), db_bool(true)));
}

static bool run(struct step *p)
{
    bool gone = strcmp(p->t.state, "gone") == 0, over = false;

    if (!make_text(p))
        return false;
    if (!gone && *p->t.external_id && !look(p, &gone))
        return false;
    if (gone && (!revive(p, &over) || over))
        return over;
    if (!*p->t.external_id && !file(p))
        return false;
    return reopen(p) && show_text(p) && say_comments(p) && store_looked(p, true);
}

static bool run_look(struct step *p)
{
    bool gone = false;

    if (!*p->t.external_id || strcmp(p->t.state, "gone") == 0)
        return true;
    if (look(p, &gone))
        return gone || store_looked(p, false);
    return p->failed ? false
                     : db_step(p, Q_TICKET_LOOK_LATER,
                               DB_ARGS(db_i64(p->t.ticket_id), db_i64(p->r->clock_offset_ms),
                                       db_i64(p->r->look_ms)));
}

bool reconcile_ticket(struct reconcile *r, const char *key, bool look_only, struct outcome *out,
                      struct err *err)
{
    struct step p = {.r = r,
                     .s = r->sending,
                     .tracker = tracker_of(r->sending->channel->kind),
                     .out = out,
                     .err = err};
    bool ok;

    *out = (struct outcome){.result = SEND_OK};
    if (!db_one(r->db, Q_TICKET_GET, DB_ARGS(db_i64(r->sending->channel->channel_id), db_text(key)),
                &ticket_map, r->sending->mem, &p.t, err)) {
        if (err->code != ERR_NOT_FOUND)
            return false;
        outcome_refused(out, "there is no such ticket");
        return true;
    }
    ok = look_only ? run_look(&p) : run(&p);
    if (!ok && !p.failed && out->result == SEND_OK)
        outcome_later(out, "no memory for the ticket");
    json_decref(p.wanted);
    json_decref(p.text.labels);
    return !p.failed;
}
