/* /v1/channels: where alerts and tickets go. Secrets go in and never come out. */
#include "server/api/alerts/deliveries.h"
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"

#include "base/utf8.h"
#include "server/http/context.h"
#include "server/notify/channel.h"
#include "server/notify/notify.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 64
#define LIST_MAX 50
#define LIST_TEXT_MAX 128
#define RATE_MAX 6000
#define OFFSET_MAX_MIN 840 /* of time zones */
#define NEVER NOTIFY_N_SEVERITIES

/* Rows ---------------------------------------------------------------------------------------- */

struct channel_row {
    int64_t id;
    const char *name, *kind, *takes;
    bool enabled;
    const char *settings_json, *target, *secrets_set_json, *filter_json, *quiet_json;
    int64_t rate_per_min, failures, pending, dead;
    const char *held_until, *created_at, *updated_at;
};
static const struct db_col channel_cols[] = {
    DB_COL(channel_row, id),           DB_COL(channel_row, name),
    DB_COL(channel_row, kind),         DB_COL(channel_row, takes),
    DB_COL(channel_row, enabled),      DB_COL(channel_row, settings_json),
    DB_COL(channel_row, target),       DB_COL(channel_row, secrets_set_json),
    DB_COL(channel_row, filter_json),  DB_COL(channel_row, quiet_json),
    DB_COL(channel_row, rate_per_min), DB_COL(channel_row, failures),
    DB_COL(channel_row, pending),      DB_COL(channel_row, dead),
    DB_COL(channel_row, held_until),   DB_COL(channel_row, created_at),
    DB_COL(channel_row, updated_at),
};
static const struct db_map channel_map = DB_MAP(channel_row, channel_cols);

struct locked_row {
    const char *kind, *target;
    struct bytes secrets;
};
static const struct db_col locked_cols[] = {
    DB_COL(locked_row, kind),
    DB_COL(locked_row, target),
    DB_COL(locked_row, secrets),
};
static const struct db_map locked_map = DB_MAP(locked_row, locked_cols);

struct id_row {
    int64_t id;
};
static const struct db_col id_cols[] = {DB_COL(id_row, id)};
static const struct db_map id_map = DB_MAP(id_row, id_cols);

bool channel_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"limit", "cursor", NULL};
    struct db_rows rows;
    struct list_page p;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) ||
        !db_all(r->db, Q_CHANNEL_LIST, DB_ARGS(db_i64(r->who.app), p.key, db_i64(p.limit + 1)),
                &channel_map, r->mem, &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        rows.n = (size_t)p.limit;
        next = list_page_next(r, &p, ((const struct channel_row *)rows.at)[rows.n - 1].id, NULL);
    }
    return reply_rows(r, 200, &rows, next, err);
}

static bool no_channel(struct err *err)
{
    return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no such channel") : false;
}

static bool reply_channel(struct req *r, int status, int64_t id, struct err *err)
{
    struct channel_row row;

    if (!db_one(r->db, Q_CHANNEL_GET, DB_ARGS(db_i64(r->who.app), db_i64(id)), &channel_map, r->mem,
                &row, err))
        return no_channel(err);
    return reply_json(r, status, row_to_json(&channel_map, &row), err);
}

static bool read_id(struct req *r, int64_t *id, struct err *err)
{
    static const char *const names[] = {NULL};

    return req_query_only(r, names, err) && param_i64(r, 0, "id", INT64_MAX, id, err);
}

bool channel_get(struct req *r, struct err *err)
{
    int64_t id;

    return read_id(r, &id, err) && reply_channel(r, 200, id, err);
}

/* What was sent ------------------------------------------------------------------------------- */

struct draft {
    const char *name, *kind_name;
    enum channel_kind kind;
    bool enabled, reports;
    const json_t *settings;
    json_t *secrets; /* all that the channel is to have; owned */
    struct db_arg tiers, metrics, states;
    int64_t min_severity, loud_severity, from_min, to_min, offset_min, rate;
};

static bool read_severity(const json_t *object, const char *name, int64_t otherwise, int64_t *out,
                          struct err *err)
{
    static const char *const names[] = {"info", "warn", "alert"};
    const char *text;

    if (!json_get_text(object, name, 16, "", &text, err))
        return false;
    *out = otherwise;
    for (int i = 0; i < NOTIFY_N_SEVERITIES; i++)
        if (strcmp(names[i], text) == 0)
            *out = i;
    return !*text || strcmp(names[*out % NOTIFY_N_SEVERITIES], text) == 0 ||
           err_field(err, ERR_INVALID, name, "is none of info, warn, alert");
}

static bool read_list(struct req *r, const json_t *object, const char *name,
                      const char *const *known, struct db_arg *out, struct err *err)
{
    const json_t *list = json_object_get(object, name);
    size_t n = json_array_size(list);
    const char **texts = arena_array(r->mem, n + 1, sizeof *texts);

    if (!texts)
        return err_full(err, "a request");
    if (list && (!json_is_array(list) || n > LIST_MAX))
        return err_field(err, ERR_INVALID, name, "must be an array of at most %d texts", LIST_MAX);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        const char *const *k = known;

        texts[i] = json_string_value(v);
        while (texts[i] && k && *k && strcmp(*k, texts[i]) != 0)
            k++;
        if (!texts[i] || strlen(texts[i]) != json_string_length(v) ||
            strlen(texts[i]) > LIST_TEXT_MAX || !utf8_is_tame(texts[i], "") || (known && !*k))
            return err_field(err, ERR_INVALID, name, "holds what is no name of it");
    }
    *out = db_texts(texts, n);
    return true;
}

static bool read_filter(struct req *r, struct draft *d, struct err *err)
{
    static const char *const names[] = {"min_severity", "tiers",   "metrics",
                                        "states",       "reports", NULL};
#define X(symbol, name) name,
    static const char *const states[] = {NOTIFY_STATES(X) NULL};
#undef X
    static const char *const told[] = {"open", "updated", "resolved"};
    const json_t *filter = json_object_get(r->json, "filter");

    if (filter && !json_is_object(filter))
        return err_field(err, ERR_INVALID, "filter", "must be an object");
    if ((filter && !json_only(filter, names, err)) ||
        !read_severity(filter, "min_severity", NOTIFY_INFO, &d->min_severity, err) ||
        !read_list(r, filter, "tiers", NULL, &d->tiers, err) ||
        !read_list(r, filter, "metrics", NULL, &d->metrics, err) ||
        !read_list(r, filter, "states", states, &d->states, err) ||
        !json_get_bool(filter, "reports", false, &d->reports, err))
        return body_inside(err, "filter");
    if (!json_object_get(filter, "states"))
        d->states = db_texts(told, 3);
    return true;
}

/* "22:30" */
static bool read_clock(const json_t *object, const char *name, int64_t *out, struct err *err)
{
    const char *text;
    unsigned hour, minute;
    int end = 0;

    if (!json_get_text(object, name, 5, NULL, &text, err))
        return false;
    if (strlen(text) != 5 || sscanf(text, "%2u:%2u%n", &hour, &minute, &end) != 2 || end != 5 ||
        hour > 23 || minute > 59)
        return err_field(err, ERR_INVALID, name, "must be a time of day like 22:30");
    *out = hour * 60 + minute;
    return true;
}

static bool read_quiet(struct req *r, struct draft *d, struct err *err)
{
    static const char *const names[] = {"from", "to", "utc_offset_min", "loud_severity", NULL};
    static const struct range offset = {-OFFSET_MAX_MIN, OFFSET_MAX_MIN, 0};
    const json_t *quiet = json_object_get(r->json, "quiet");

    d->loud_severity = NEVER;
    if (!quiet || json_is_null(quiet))
        return true;
    if (!json_is_object(quiet))
        return err_field(err, ERR_INVALID, "quiet", "must be an object or null");
    if (!json_only(quiet, names, err) || !read_clock(quiet, "from", &d->from_min, err) ||
        !read_clock(quiet, "to", &d->to_min, err) ||
        !json_get_i64(quiet, "utc_offset_min", offset, false, &d->offset_min, err) ||
        (!json_is_null(json_object_get(quiet, "loud_severity")) &&
         !read_severity(quiet, "loud_severity", NEVER, &d->loud_severity, err)))
        return body_inside(err, "quiet");
    if (d->from_min == d->to_min)
        return err_field(err, ERR_INVALID, "quiet.to", "must be another time than quiet.from");
    return true;
}

static bool read_draft(struct req *r, struct draft *d, struct err *err)
{
    static const char *const names[] = {"name",   "kind",  "enabled",      "settings", "secrets",
                                        "filter", "quiet", "rate_per_min", NULL};

    if (!req_json(r, err) || !json_only(r->json, names, err) ||
        !json_get_text(r->json, "name", NAME_MAX_BYTES, NULL, &d->name, err) ||
        !json_get_text(r->json, "kind", 32, NULL, &d->kind_name, err) ||
        !json_get_bool(r->json, "enabled", true, &d->enabled, err))
        return false;
    if (!*d->name)
        return err_field(err, ERR_INVALID, "name", "must not be empty");
    d->kind = channel_kind_find(d->kind_name);
    if (d->kind == CHANNEL_N_KINDS)
        return err_field(err, ERR_INVALID, "kind", "is no kind of channel");
    d->settings = json_object_get(r->json, "settings");
    return json_get_i64(r->json, "rate_per_min",
                        (struct range){1, RATE_MAX, channel_kind_rate(d->kind)}, false, &d->rate,
                        err) &&
           read_filter(r, d, err) && read_quiet(r, d, err);
}

/* Secrets ---------------------------------------------------------------------------------------
 */

static struct seal_key key_of(const struct req *r)
{
    struct seal_key key;

    secret_derive(r->ctx->secret, SEAL_LABEL, 0, "", 0, key.bytes);
    return key;
}

/* What is stored and what was sent, together: null takes one away. *kept: one that was not sent. */
static bool merge_secrets(const json_t *sent, const json_t *old, struct draft *d, bool *kept,
                          struct err *err)
{
    const char *name;
    json_t *v;

    *kept = false;
    if (sent && !json_is_object(sent) && !json_is_null(sent))
        return err_field(err, ERR_INVALID, "secrets", "must be an object");
    d->secrets = json_object();
    json_object_foreach((json_t *)(uintptr_t)old, name, v)
    {
        *kept = *kept || !json_object_get(sent, name);
        json_object_set(d->secrets, name, v);
    }
    json_object_foreach((json_t *)(uintptr_t)sent, name, v)
    {
        if (json_is_null(v))
            json_object_del(d->secrets, name);
        else
            json_object_set(d->secrets, name, v);
    }
    return true;
}

/* The stored secrets; none if another server secret sealed them: they must be sent again then. */
static bool old_secrets(struct req *r, const struct draft *d, const struct locked_row *old,
                        json_t **out, struct err *err)
{
    struct seal_key key = key_of(r);

    *out = NULL;
    return channel_unseal(&key, r->who.app, d->kind, old->target, old->secrets, r->mem, out, err) ||
           err->code == ERR_FORBIDDEN;
}

static struct db_arg secret_names(struct req *r, const json_t *secrets)
{
    const char **names = arena_array(r->mem, json_object_size(secrets) + 1, sizeof *names);
    const char *name;
    size_t n = 0;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)secrets, name, v)
    {
        if (names)
            names[n++] = arena_dup(r->mem, name, strlen(name));
    }
    return db_texts(names, n);
}

/* Changes ---------------------------------------------------------------------------------------
 */

static bool name_taken(struct req *r, struct err *err)
{
    if (err->code == ERR_DB && strcmp(db_sqlstate(r->db), "23505") == 0)
        return err_field(err, ERR_CONFLICT, "name", "another channel of the app has that name");
    return false;
}

/* `id` 0: a new one. */
static bool store(struct req *r, struct draft *d, int64_t id, const struct locked_row *old,
                  bool kept, int64_t *out, struct err *err)
{
    struct seal_key key = key_of(r);
    const char *settings, *target;
    struct bytes sealed;
    struct id_row row;

    if (!channel_check(d->kind, d->settings, d->secrets, r->mem, &settings, &target, err))
        return false;
    /* Else whoever may change a channel could have its token sent to himself. */
    if (kept && strcmp(target, old->target) != 0)
        return err_field(err, ERR_INVALID, "secrets",
                         "the channel sends elsewhere now: all its secrets must be given again");
    if (!channel_seal(&key, r->who.app, d->kind, target, d->secrets, r->mem, &sealed, err))
        return false;

    const struct db_arg args[] = {db_i64(r->who.app),
                                  db_text(d->name),
                                  db_text(d->kind_name),
                                  db_text(channel_kind_takes(d->kind)),
                                  db_bool(d->enabled),
                                  db_text(settings),
                                  db_text(target),
                                  db_bytes(sealed.at, sealed.len),
                                  secret_names(r, d->secrets),
                                  db_i64(d->min_severity),
                                  d->tiers,
                                  d->metrics,
                                  d->states,
                                  db_bool(d->reports),
                                  db_i64(d->from_min),
                                  db_i64(d->to_min),
                                  db_i64(d->offset_min),
                                  db_i64(d->loud_severity),
                                  db_i64(d->rate),
                                  db_i64(id)};
    const size_t n = sizeof args / sizeof *args;

    if (!db_one(r->db, id ? Q_CHANNEL_UPDATE : Q_CHANNEL_CREATE,
                (struct db_args){id ? n : n - 1, args}, &id_map, r->mem, &row, err))
        return name_taken(r, err);
    *out = row.id;
    return true;
}

static bool note(struct req *r, const char *action, int64_t id, const char *name, struct err *err)
{
    return audit(r, action, json_pack("{s:I, s:s}", "id", id, "name", name), err);
}

static bool create(struct req *r, struct draft *d, int64_t *id, struct err *err)
{
    bool kept;

    return merge_secrets(json_object_get(r->json, "secrets"), NULL, d, &kept, err) &&
           store(r, d, 0, NULL, false, id, err) && note(r, "channel.create", *id, d->name, err);
}

bool channel_post(struct req *r, struct err *err)
{
    struct draft d = {0};
    int64_t id = 0;
    bool ok;

    if (!read_draft(r, &d, err) || !db_begin(r->db, err))
        return false;
    ok = create(r, &d, &id, err) && db_commit(r->db, err);
    json_decref(d.secrets);
    if (!ok) {
        db_rollback(r->db);
        return false;
    }
    return reply_channel(r, 201, id, err);
}

static bool update(struct req *r, struct draft *d, int64_t id, struct err *err)
{
    struct locked_row old;
    json_t *secrets;
    bool kept, ok;
    int64_t same;

    if (!db_one(r->db, Q_CHANNEL_LOCK, DB_ARGS(db_i64(r->who.app), db_i64(id)), &locked_map, r->mem,
                &old, err))
        return no_channel(err);
    if (strcmp(old.kind, d->kind_name) != 0)
        return err_field(err, ERR_INVALID, "kind", "cannot be changed: make another channel");
    if (!old_secrets(r, d, &old, &secrets, err))
        return false;
    ok = merge_secrets(json_object_get(r->json, "secrets"), secrets, d, &kept, err) &&
         store(r, d, id, &old, kept, &same, err) && note(r, "channel.update", id, d->name, err);
    json_decref(secrets);
    return ok;
}

bool channel_put(struct req *r, struct err *err)
{
    struct draft d = {0};
    int64_t id;
    bool ok;

    if (!read_id(r, &id, err) || !read_draft(r, &d, err) || !db_begin(r->db, err))
        return false;
    ok = update(r, &d, id, err) && db_commit(r->db, err);
    json_decref(d.secrets);
    if (!ok) {
        db_rollback(r->db);
        return false;
    }
    return reply_channel(r, 200, id, err);
}

static bool delete (struct req *r, int64_t id, struct err *err)
{
    struct channel_row row;
    struct id_row gone;
    struct db_args args = DB_ARGS(db_i64(r->who.app), db_i64(id));

    if (!db_one(r->db, Q_CHANNEL_GET, args, &channel_map, r->mem, &row, err) ||
        !db_one(r->db, Q_CHANNEL_DELETE, args, &id_map, r->mem, &gone, err))
        return no_channel(err);
    return note(r, "channel.delete", id, row.name, err);
}

bool channel_delete(struct req *r, struct err *err)
{
    int64_t id;

    if (!read_id(r, &id, err) || !db_begin(r->db, err))
        return false;
    if (!delete (r, id, err) || !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    return reply_empty(r, 204);
}

/* Tests --------------------------------------------------------------------------------------- */

static bool add_test(struct req *r, int64_t channel, int64_t *delivery, struct err *err)
{
    struct id_row row;
    json_t *message = json_pack("{s:s, s:s, s:s}", "title", "Test message of Framewatch", "text",
                                "Somebody asked for this message to see whether the channel works.",
                                "url", r->ctx->public_url);
    const char *body = message ? body_canonical(r, message) : NULL;

    json_decref(message);
    if (!body)
        return err_memory(err);
    if (!db_one(r->db, Q_CHANNEL_TEST, DB_ARGS(db_i64(r->who.app), db_i64(channel), db_text(body)),
                &id_map, r->mem, &row, err))
        return no_channel(err);
    *delivery = row.id;
    return audit(r, "channel.test", json_pack("{s:I}", "id", channel), err);
}

bool channel_test(struct req *r, struct err *err)
{
    int64_t id, delivery = 0;

    if (!read_id(r, &id, err) || !db_begin(r->db, err))
        return false;
    if (!add_test(r, id, &delivery, err) || !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    if (r->ctx->jobs_added)
        r->ctx->jobs_added(r->ctx->jobs_user);
    return reply_delivery(r, 202, delivery, err);
}
