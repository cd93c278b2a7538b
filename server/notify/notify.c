#include "server/notify/notify.h"

#include "base/digest.h"
#include "server/notify/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BODY_CAP ((size_t)1 << 20)
#define NAME_MAX_BYTES 256
#define SUMMARY_MAX 500
#define DETAIL_MAX 4000
#define URL_MAX 1000
#define TITLE_MAX 240
#define MARKER_HEX 24

/* Bodies of deliveries are JSON objects, written in the order of these calls. ------------------ */

static void put_name(struct buf *b, const char *name)
{
    buf_byte(b, b->len ? ',' : '{');
    buf_json_string(b, name);
    buf_byte(b, ':');
}

static void put_text(struct buf *b, struct arena *mem, const char *name, const char *text,
                     size_t limit)
{
    const char *cut = text_cut(mem, text, limit);

    put_name(b, name);
    buf_json_string(b, cut ? cut : "");
}

static void put_line(struct buf *b, struct arena *mem, const char *name, const char *text,
                     size_t limit)
{
    const char *cut = text_line(mem, text, limit);

    put_name(b, name);
    buf_json_string(b, cut ? cut : "");
}

static void put_i64(struct buf *b, const char *name, int64_t v)
{
    put_name(b, name);
    buf_i64(b, v);
}

static void put_ratio(struct buf *b, const char *name, double v)
{
    put_name(b, name);
    if (isfinite(v) && fabs(v) < 1e6)
        buf_printf(b, "%.6f", v);
    else
        buf_text(b, "null");
}

/* The finished object as text in mem. */
static const char *finish(struct buf *b, struct arena *mem, struct err *err)
{
    const char *text;

    buf_byte(b, '}');
    text = arena_full(mem) ? NULL : buf_keep(b, mem);
    buf_fini(b);
    if (!text)
        err_set(err, ERR_TOO_BIG, "what is to be told does not fit the memory of its job");
    return text;
}

static bool check_key(const char *name, const char *key, size_t max, struct err *err)
{
    size_t n = key ? strnlen(key, max + 1) : 0;

    return (n >= 1 && n <= max) ||
           err_field(err, ERR_INVALID, name, "must have 1 to %zu bytes", max);
}

/* Alerts -------------------------------------------------------------------------------------- */

#define X(symbol, name) name,
static const char *const severity_name[] = {NOTIFY_SEVERITIES(X)};
static const char *const state_name[] = {NOTIFY_STATES(X)};
#undef X

static const char *alert_body(const struct notify_alert *a, struct arena *mem, struct err *err)
{
    struct buf b;

    buf_init(&b, BODY_CAP);
    put_i64(&b, "alert_id", a->alert_id);
    put_i64(&b, "version", a->version);
    put_line(&b, mem, "state", state_name[a->state], NAME_MAX_BYTES);
    put_line(&b, mem, "severity", severity_name[a->severity], NAME_MAX_BYTES);
    put_line(&b, mem, "build", a->build, NAME_MAX_BYTES);
    put_line(&b, mem, "baseline", a->baseline, NAME_MAX_BYTES);
    put_line(&b, mem, "tier", a->tier, NAME_MAX_BYTES);
    put_line(&b, mem, "scene", a->scene, NAME_MAX_BYTES);
    put_line(&b, mem, "metric", a->metric, NAME_MAX_BYTES);
    put_ratio(&b, "change", a->change);
    put_ratio(&b, "change_low", a->change_low);
    put_ratio(&b, "change_high", a->change_high);
    put_i64(&b, "n", a->n);
    put_line(&b, mem, "summary", a->summary, SUMMARY_MAX);
    put_text(&b, mem, "detail", a->detail, DETAIL_MAX);
    put_line(&b, mem, "url", a->url, URL_MAX);
    put_i64(&b, "starts_at_us", a->starts_at_us);
    put_i64(&b, "ends_at_us", a->ends_at_us);
    return finish(&b, mem, err);
}

bool notify_alert(struct db *db, int64_t app, const struct notify_alert *a, struct arena *mem,
                  struct err *err)
{
    char subject[24];
    const char *body;

    if (a->version < 1 || (unsigned)a->state >= NOTIFY_N_STATES ||
        (unsigned)a->severity >= NOTIFY_N_SEVERITIES)
        return err_set(err, ERR_INVALID, "an alert without version, state or severity");
    body = alert_body(a, mem, err);
    if (!body)
        return false;
    snprintf(subject, sizeof subject, "%lld", (long long)a->alert_id);
    return db_exec(db, Q_NOTIFY_ALERT_PUT,
                   DB_ARGS(db_i64(app), db_text(subject), db_i64(a->version), db_text(body),
                           db_i64(a->severity), db_text(a->tier ? a->tier : ""),
                           db_text(a->metric ? a->metric : ""), db_text(state_name[a->state])),
                   err);
}

/* Reports ------------------------------------------------------------------------------------- */

bool notify_report(struct db *db, int64_t app, const struct notify_report *r, struct arena *mem,
                   struct err *err)
{
    struct buf b;
    const char *body;

    if (!check_key("key", r->key, TICKET_KEY_MAX, err))
        return false;
    if (r->version < 1)
        return err_field(err, ERR_INVALID, "version", "must be 1 or more");
    buf_init(&b, BODY_CAP);
    put_line(&b, mem, "key", r->key, TICKET_KEY_MAX);
    put_i64(&b, "version", r->version);
    put_line(&b, mem, "title", r->title, TITLE_MAX);
    put_text(&b, mem, "text", r->text, DETAIL_MAX);
    put_line(&b, mem, "url", r->url, URL_MAX);
    body = finish(&b, mem, err);
    return body && db_exec(db, Q_NOTIFY_REPORT_PUT,
                           DB_ARGS(db_i64(app), db_text(text_line(mem, r->key, TICKET_KEY_MAX)),
                                   db_i64(r->version), db_text(body)),
                           err);
}

/* Tickets ------------------------------------------------------------------------------------- */

/* How a ticket is found in its tracker: the same key of the same app makes the same marker, and
 * nobody writes one by accident. */
static void marker_of(int64_t app, const char *key, char out[40])
{
    char text[TICKET_KEY_MAX + 32], hex[2 * SHA256_BYTES + 1];
    unsigned char sum[SHA256_BYTES];
    int n = snprintf(text, sizeof text, "ticket %lld %s", (long long)app, key);

    sha256(text, (size_t)n, sum);
    to_hex(sum, SHA256_BYTES, hex);
    snprintf(out, 40, "framewatch-%.*s", MARKER_HEX, hex);
}

static void put_labels(struct buf *b, struct arena *mem, const struct ticket_want *w)
{
    put_name(b, "labels");
    buf_byte(b, '[');
    for (size_t i = 0; i < w->n_labels; i++) {
        const char *label = text_line(mem, w->labels[i], NAME_MAX_BYTES);

        if (i)
            buf_byte(b, ',');
        buf_json_string(b, label ? label : "");
    }
    buf_byte(b, ']');
}

static const char *want_body(const struct ticket_want *w, struct arena *mem, struct err *err)
{
    struct buf b;

    buf_init(&b, 2 * BODY_CAP); /* escaped, a text may double */
    put_line(&b, mem, "key", w->key, TICKET_KEY_MAX);
    put_line(&b, mem, "title", w->title, TITLE_MAX);
    put_text(&b, mem, "body", w->body, TICKET_BODY_MAX);
    put_line(&b, mem, "owner", w->owner, NAME_MAX_BYTES);
    put_labels(&b, mem, w);
    put_line(&b, mem, "url", w->url, URL_MAX);
    return finish(&b, mem, err);
}

static bool put_comment(struct db *db, int64_t app, const struct ticket_want *w, struct arena *mem,
                        struct err *err)
{
    const char *text;

    if (!w->comment_id || !*w->comment_id || !w->comment || !*w->comment)
        return true;
    if (!check_key("comment_id", w->comment_id, TICKET_KEY_MAX, err))
        return false;
    text = text_cut(mem, w->comment, TICKET_COMMENT_MAX);
    return db_exec(db, Q_TICKET_COMMENT_WANT,
                   DB_ARGS(db_i64(app), db_text(w->key),
                           db_text(text_line(mem, w->comment_id, TICKET_KEY_MAX)), db_text(text)),
                   err);
}

bool ticket_want(struct db *db, int64_t app, const struct ticket_want *w, struct arena *mem,
                 struct err *err)
{
    unsigned char hash[SHA256_BYTES];
    const char *body;
    char marker[40];

    if (!check_key("key", w->key, TICKET_KEY_MAX, err))
        return false;
    if (w->n_labels > TICKET_LABELS_MAX || w->episode < 0)
        return err_field(err, ERR_INVALID, "labels", "at most %d", TICKET_LABELS_MAX);
    body = want_body(w, mem, err);
    if (!body)
        return false;
    marker_of(app, w->key, marker);
    sha256(body, strlen(body), hash);
    return db_exec(db, Q_TICKET_WANT,
                   DB_ARGS(db_i64(app), db_text(w->key), db_text(marker), db_text(body),
                           db_bytes(hash, sizeof hash), db_i64(w->episode)),
                   err) &&
           put_comment(db, app, w, mem, err) &&
           db_exec(db, Q_TICKET_ENQUEUE, DB_ARGS(db_i64(app), db_text(w->key)), err);
}
