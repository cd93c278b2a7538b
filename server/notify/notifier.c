#include "server/notify/notifier.h"

#include "base/digest.h"
#include "server/common/clock.h"
#include "server/common/logfmt.h"
#include "server/notify/driver.h"
#include "server/notify/reconcile.h"
#include "server/notify/tracker.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#define MAX_THREADS 16
#define TRIM_MS 3600000
#define WAIT_MAX_MS 86400000
#define CHANNEL_BACKOFF_MAX_MS                                                                     \
    900000 /* a channel that is down is tried every quarter of an hour                             \
            */

struct notifier {
    struct notifier_config config;
    char *conninfo, *ca_file;
    pthread_t thread[MAX_THREADS];
    unsigned n_threads;
    struct {
        atomic_int_least64_t sent, failed, dead, looks, lost;
    } counts;
    pthread_mutex_t lock; /* guards stopping, wakes */
    pthread_cond_t changed;
    bool stopping;
    uint64_t wakes;
};

/* What one thread owns. */
struct lane {
    struct notifier *n;
    struct db *db; /* NULL: not connected yet */
    struct arena *mem;
    struct http_out *http;
    int64_t trimmed_us;
};

struct claim_row {
    int64_t channel_id, app_id;
    const char *kind, *name, *app, *settings, *target;
    struct bytes secrets;
    int64_t lease, failures, now_us;
};
static const struct db_col claim_cols[] = {
    DB_COL(claim_row, channel_id), DB_COL(claim_row, app_id),  DB_COL(claim_row, kind),
    DB_COL(claim_row, name),       DB_COL(claim_row, app),     DB_COL(claim_row, settings),
    DB_COL(claim_row, target),     DB_COL(claim_row, secrets), DB_COL(claim_row, lease),
    DB_COL(claim_row, failures),   DB_COL(claim_row, now_us),
};
static const struct db_map claim_map = DB_MAP(claim_row, claim_cols);

struct delivery_row {
    int64_t delivery_id;
    const char *kind, *subject;
    int64_t version;
    const char *body;
    int64_t attempts;
    bool exhausted;
    const char *told;
};
static const struct db_col delivery_cols[] = {
    DB_COL(delivery_row, delivery_id), DB_COL(delivery_row, kind), DB_COL(delivery_row, subject),
    DB_COL(delivery_row, version),     DB_COL(delivery_row, body), DB_COL(delivery_row, attempts),
    DB_COL(delivery_row, exhausted),   DB_COL(delivery_row, told),
};
static const struct db_map delivery_map = DB_MAP(delivery_row, delivery_cols);

struct key_row {
    const char *key;
};
static const struct db_col key_cols[] = {DB_COL(key_row, key)};
static const struct db_map key_map = DB_MAP(key_row, key_cols);

struct notifier_config notifier_config_default(const char *conninfo, const struct seal_key *key)
{
    return (struct notifier_config){
        .conninfo = conninfo,
        .threads = 2,
        .key = key,
        .reach = REACH_PRIVATE,
        .ca_file = "",
        .timeout_ms = 15000,
        .lease_ms = 300000,
        .max_attempts = 20,
        .backoff_ms = 5000,
        .backoff_max_ms = 3600000,
        .doubt_ms = 60000,
        .poll_ms = 1000,
        .look_ms = 3600000,
        .log_days = 90,
        .arena_bytes = 64u << 20,
    };
}

/* Logs: never a URL, a secret or what is told ----------------------------------------------------
 */

static void log_trouble(const struct notifier *n, const char *what, const char *why)
{
    struct logfmt line = {0};

    if (!n->config.log)
        return;
    logfmt_text(&line, "trouble", what);
    logfmt_text(&line, "error", why);
    n->config.log(n->config.log_user, line.text);
}

static void log_delivery(const struct notifier *n, const struct claim_row *c,
                         const struct delivery_row *d, const char *outcome, const char *why)
{
    struct logfmt line = {0};

    if (!n->config.log)
        return;
    logfmt_i64(&line, "delivery", d->delivery_id);
    logfmt_i64(&line, "channel", c->channel_id);
    logfmt_text(&line, "via", c->kind);
    logfmt_text(&line, "kind", d->kind);
    logfmt_i64(&line, "app", c->app_id);
    logfmt_i64(&line, "attempt", d->attempts);
    logfmt_text(&line, "outcome", outcome);
    if (*why)
        logfmt_text(&line, "error", why);
    n->config.log(n->config.log_user, line.text);
}

/* Waits --------------------------------------------------------------------------------------- */

/* Doubled with each attempt, half of it by chance, so that what failed together does not return
 * together. */
static int64_t backoff_ms(int64_t first, int64_t most, int64_t attempts)
{
    int64_t ms = first;
    uint32_t chance = 0;

    for (int64_t i = 1; i < attempts && ms < most; i++)
        ms *= 2;
    if (ms > most)
        ms = most;
    if (RAND_bytes((unsigned char *)&chance, sizeof chance) != 1)
        chance = 0;
    return ms / 2 + (int64_t)((uint64_t)(ms / 2 + 1) * chance >> 32);
}

static int64_t at_least(int64_t ms, int64_t least)
{
    ms = ms < least ? least : ms;
    return ms > WAIT_MAX_MS ? WAIT_MAX_MS : ms;
}

/* One delivery -------------------------------------------------------------------------------- */

static bool open_channel(const struct notifier *n, const struct claim_row *row, struct arena *mem,
                         struct channel *c, struct err *err)
{
    *c = (struct channel){.channel_id = row->channel_id,
                          .app_id = row->app_id,
                          .kind = channel_kind_find(row->kind),
                          .app = row->app,
                          .name = row->name,
                          .settings = json_loads(row->settings, 0, NULL)};
    if (c->kind == CHANNEL_N_KINDS || !c->settings)
        return err_set(err, ERR_INVALID, "this server does not know channels of that kind");
    return channel_unseal(n->config.key, row->app_id, c->kind, row->target, row->secrets, mem,
                          &c->secrets, err);
}

static driver_fn driver_of(enum channel_kind kind)
{
    static const driver_fn drivers[CHANNEL_N_KINDS] = {
        [CHANNEL_ALERTMANAGER] = alertmanager_tell,
        [CHANNEL_SLACK] = slack_tell,
        [CHANNEL_FEISHU] = feishu_tell,
        [CHANNEL_DINGTALK] = dingtalk_tell,
        [CHANNEL_WECOM] = wecom_tell,
        [CHANNEL_WEBHOOK] = webhook_tell,
    };

    return drivers[kind];
}

static void tell(struct sending *s, const struct delivery_row *d, struct outcome *out)
{
    char id[40];
    struct telling t = {.kind = d->kind,
                        .body = json_loads(d->body, 0, NULL),
                        .told = d->told ? json_loads(d->told, 0, NULL) : NULL,
                        .id = id};

    snprintf(id, sizeof id, "delivery-%lld", (long long)d->delivery_id);
    if (t.body)
        driver_of(s->channel->kind)(s, &t, out);
    else
        outcome_refused(out, "the delivery's body is damaged");
    json_decref((json_t *)(uintptr_t)t.body);
    json_decref((json_t *)(uintptr_t)t.told);
}

/* False for faults of the database. */
static bool send_one(struct lane *lane, struct sending *s, const struct delivery_row *d,
                     struct outcome *out, struct err *err)
{
    const struct notifier_config *c = &lane->n->config;
    const struct tracker *tracker = tracker_of(s->channel->kind);
    struct reconcile r = {s, lane->db, c->clock_offset_ms, c->look_ms};

    if (strcmp(d->kind, "ticket") == 0 && tracker)
        return reconcile_ticket(&r, d->subject, false, out, err);
    if (tracker) /* a test of a tracker asks whether the project is there and files nothing */
        tracker->probe(s, out);
    else
        tell(s, d, out);
    return true;
}

static bool still_ours(struct lane *lane, const struct claim_row *c, int64_t rows)
{
    if (rows == 1)
        return true;
    atomic_fetch_add(&lane->n->counts.lost, 1);
    log_trouble(lane->n, "the lease of a channel ran out", c->name);
    return false;
}

static bool store_sent(struct lane *lane, const struct claim_row *c, const struct delivery_row *d,
                       const struct outcome *out, struct err *err)
{
    int64_t rows;

    if (!db_exec_n(lane->db, Q_NOTIFY_SENT,
                   DB_ARGS(db_i64(d->delivery_id), db_i64(c->channel_id), db_i64(c->lease),
                           db_i64(lane->n->config.clock_offset_ms), db_i64(out->status),
                           db_i64(out->repeat_ms)),
                   &rows, err))
        return false;
    if (!still_ours(lane, c, rows))
        return true;
    atomic_fetch_add(&lane->n->counts.sent, 1);
    log_delivery(lane->n, c, d, "sent", "");
    return true;
}

static bool store_failed(struct lane *lane, const struct claim_row *c, const struct delivery_row *d,
                         const struct outcome *out, struct err *err)
{
    const struct notifier_config *config = &lane->n->config;
    bool dead = out->result == SEND_REFUSED || d->attempts >= config->max_attempts;
    int64_t wait = backoff_ms(config->backoff_ms, config->backoff_max_ms, d->attempts),
            hold = backoff_ms(config->backoff_ms, CHANNEL_BACKOFF_MAX_MS, c->failures + 1), rows;

    wait = at_least(wait, out->wait_ms);
    if (out->maybe_done && tracker_of(channel_kind_find(c->kind)))
        wait = at_least(wait, config->doubt_ms);
    hold = out->channel_down ? at_least(hold, out->wait_ms) : 0;
    if (!db_exec_n(lane->db, Q_NOTIFY_FAILED,
                   DB_ARGS(db_i64(d->delivery_id), db_i64(c->channel_id), db_i64(c->lease),
                           db_i64(config->clock_offset_ms), db_i64(out->status), db_text(out->why),
                           db_bool(dead), db_i64(wait), db_i64(hold)),
                   &rows, err))
        return false;
    if (!still_ours(lane, c, rows))
        return true;
    atomic_fetch_add(dead ? &lane->n->counts.dead : &lane->n->counts.failed, 1);
    log_delivery(lane->n, c, d, dead ? "dead" : "failed", out->why);
    return true;
}

static bool release(struct lane *lane, const struct claim_row *c, int64_t hold_ms, struct err *err)
{
    return db_exec(lane->db, Q_NOTIFY_RELEASE,
                   DB_ARGS(db_i64(c->channel_id), db_i64(c->lease),
                           db_i64(lane->n->config.clock_offset_ms), db_i64(hold_ms)),
                   err);
}

/* The ticket whose state is due to be read. */
static bool look(struct lane *lane, struct sending *s, const struct claim_row *c, struct err *err)
{
    const struct notifier_config *config = &lane->n->config;
    struct reconcile r = {s, lane->db, config->clock_offset_ms, config->look_ms};
    struct outcome out = {.result = SEND_OK};
    struct db_rows rows;

    if (!db_all(lane->db, Q_TICKET_DUE,
                DB_ARGS(db_i64(c->channel_id), db_i64(config->clock_offset_ms)), &key_map, s->mem,
                &rows, err))
        return false;
    if (rows.n && !reconcile_ticket(&r, ((const struct key_row *)rows.at)->key, true, &out, err))
        return false;
    atomic_fetch_add(&lane->n->counts.looks, (int64_t)rows.n);
    return release(lane, c, out.wait_ms, err);
}

/* The claim is committed, so that whatever happens now is counted. */
static bool claim(struct lane *lane, struct claim_row *c, struct delivery_row *d, bool *channel,
                  bool *delivery, struct err *err)
{
    const struct notifier_config *config = &lane->n->config;
    struct db_arg offset = db_i64(config->clock_offset_ms);
    struct db_rows rows = {0};
    bool ok;

    *channel = *delivery = false;
    if (!db_begin(lane->db, err))
        return false;
    ok = db_all(lane->db, Q_NOTIFY_CLAIM, DB_ARGS(offset, db_i64(config->lease_ms)), &claim_map,
                lane->mem, &rows, err);
    if (ok && rows.n) {
        *channel = true;
        *c = *(const struct claim_row *)rows.at;
        ok = db_exec(lane->db, Q_NOTIFY_SUPERSEDE, DB_ARGS(db_i64(c->channel_id), offset), err) &&
             db_all(lane->db, Q_NOTIFY_NEXT,
                    DB_ARGS(db_i64(c->channel_id), offset, db_i64(config->lease_ms),
                            db_i64(config->max_attempts)),
                    &delivery_map, lane->mem, &rows, err);
        *delivery = ok && rows.n;
        if (*delivery)
            *d = *(const struct delivery_row *)rows.at;
    }
    ok = ok && db_commit(lane->db, err);
    if (!ok)
        db_rollback(lane->db);
    return ok;
}

static bool work(struct lane *lane, const struct claim_row *c, const struct delivery_row *d,
                 int64_t claimed_us, struct err *err)
{
    const struct notifier_config *config = &lane->n->config;
    struct channel channel;
    struct sending s = {.http = lane->http,
                        .channel = &channel,
                        .mem = lane->mem,
                        .now_us = c->now_us,
                        .deadline_us = claimed_us + config->lease_ms * 1000,
                        .timeout_ms = config->timeout_ms};
    struct outcome out = {.result = SEND_OK};
    struct err why;
    bool ok = true;

    if (!open_channel(lane->n, c, lane->mem, &channel, &why)) {
        channel_close(&channel);
        if (!d)
            return release(lane, c, config->look_ms, err);
        outcome_refused(&out, "%s", why.text);
        return store_failed(lane, c, d, &out, err);
    }
    if (!d)
        ok = look(lane, &s, c, err);
    else if (!send_one(lane, &s, d, &out, err))
        ok = false;
    else
        ok = out.result == SEND_OK ? store_sent(lane, c, d, &out, err)
                                   : store_failed(lane, c, d, &out, err);
    channel_close(&channel);
    return ok;
}

/* Claims and sends one delivery; *found = false if none is due. False: the database is out of
 * reach. */
static bool lane_step(struct lane *lane, bool *found, struct err *err)
{
    struct claim_row c;
    struct delivery_row d;
    bool delivery;
    int64_t claimed_us = now_us();

    *found = false;
    if (!db_reach(&lane->db, lane->n->conninfo, err))
        return false;
    arena_reset(lane->mem);
    if (!claim(lane, &c, &d, found, &delivery, err))
        return false;
    if (!*found)
        return true;
    if (delivery && d.exhausted) {
        atomic_fetch_add(&lane->n->counts.dead, 1);
        log_delivery(lane->n, &c, &d, "dead", "used up its attempts without an answer");
        return release(lane, &c, 0, err);
    }
    return work(lane, &c, delivery ? &d : NULL, claimed_us, err);
}

/* Threads ------------------------------------------------------------------------------------- */

static bool lane_open(struct lane *lane, struct notifier *n, struct err *err)
{
    struct http_out_config http = {n->config.reach, n->ca_file, n->config.timeout_ms};

    *lane = (struct lane){.n = n, .mem = arena_new(n->config.arena_bytes)};
    if (!lane->mem)
        return err_memory(err);
    lane->http = http_out_new(&http, err);
    return lane->http != NULL;
}

static void lane_close(struct lane *lane)
{
    db_close(lane->db);
    arena_free(lane->mem);
    http_out_free(lane->http);
}

/* Until stopped, woken or timed out. False: stopped. */
static bool rest(struct notifier *n, int64_t ms, uint64_t *wakes)
{
    struct timespec until = monotonic_in(ms);
    bool going;

    pthread_mutex_lock(&n->lock);
    while (!n->stopping && *wakes == n->wakes)
        if (pthread_cond_timedwait(&n->changed, &n->lock, &until) != 0)
            break;
    *wakes = n->wakes;
    going = !n->stopping;
    pthread_mutex_unlock(&n->lock);
    return going;
}

static void trim(struct lane *lane)
{
    struct err err;

    if (!lane->db || now_us() - lane->trimmed_us < (int64_t)TRIM_MS * 1000)
        return;
    lane->trimmed_us = now_us();
    if (!db_exec(lane->db, Q_NOTIFY_TRIM, DB_ARGS(db_i64(lane->n->config.log_days)), &err))
        log_trouble(lane->n, "the log of deliveries was not trimmed", err.text);
}

static void *thread_main(void *arg)
{
    struct notifier *n = arg;
    struct lane lane;
    uint64_t wakes = 0;
    bool found = false, well = true, going = true;
    struct err err;

    if (!lane_open(&lane, n, &err)) {
        log_trouble(n, "sender", err.text);
        lane_close(&lane);
        return NULL;
    }
    lane.trimmed_us = now_us();
    while (going) {
        bool ok = lane_step(&lane, &found, &err);

        if (!ok && well) /* once an outage */
            log_trouble(n, "outbox out of reach", err.text);
        well = ok;
        trim(&lane);
        going = rest(n, found && ok ? 0 : n->config.poll_ms, &wakes);
    }
    lane_close(&lane);
    return NULL;
}

static struct notifier *notifier_new(const struct notifier_config *config, struct err *err)
{
    struct notifier *n = NULL;

    if (config->threads > MAX_THREADS || config->timeout_ms < 1 ||
        config->lease_ms < 4 * config->timeout_ms || config->max_attempts < 1)
        err_set(err, ERR_INVALID, "settings of the sender that cannot be");
    else if (!(n = calloc(1, sizeof *n)) || !(n->conninfo = strdup(config->conninfo)) ||
             !(n->ca_file = strdup(config->ca_file ? config->ca_file : "")))
        err_memory(err);
    if (!n || !n->ca_file) {
        free(n ? n->conninfo : NULL);
        free(n);
        return NULL;
    }
    n->config = *config;
    pthread_mutex_init(&n->lock, NULL);
    monotonic_cond_init(&n->changed);
    return n;
}

static void notifier_free(struct notifier *n)
{
    pthread_cond_destroy(&n->changed);
    pthread_mutex_destroy(&n->lock);
    free(n->conninfo);
    free(n->ca_file);
    free(n);
}

struct notifier *notifier_start(const struct notifier_config *config, struct err *err)
{
    struct notifier *n = notifier_new(config, err);

    for (unsigned i = 0; n && i < config->threads; i++) {
        if (pthread_create(&n->thread[i], NULL, thread_main, n) != 0) {
            notifier_stop(n);
            err_set(err, ERR_INTERNAL, "a sender's thread could not be started");
            return NULL;
        }
        n->n_threads++;
    }
    return n;
}

void notifier_stop(struct notifier *n)
{
    if (!n)
        return;
    pthread_mutex_lock(&n->lock);
    n->stopping = true;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
    for (unsigned i = 0; i < n->n_threads; i++)
        pthread_join(n->thread[i], NULL);
    notifier_free(n);
}

void notifier_wake(struct notifier *n)
{
    if (!n)
        return;
    pthread_mutex_lock(&n->lock);
    n->wakes++;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
}

void notifier_counts(const struct notifier *n, struct notifier_counts *out)
{
    struct notifier *counted = (struct notifier *)(uintptr_t)n; /* atomic loads want it so */

    *out = (struct notifier_counts){.sent = atomic_load(&counted->counts.sent),
                                    .failed = atomic_load(&counted->counts.failed),
                                    .dead = atomic_load(&counted->counts.dead),
                                    .looks = atomic_load(&counted->counts.looks),
                                    .lost = atomic_load(&counted->counts.lost)};
}

bool notifier_drain(const struct notifier_config *config, struct notifier_counts *counts,
                    struct err *err)
{
    struct notifier *n = notifier_new(config, err);
    struct notifier_counts now;
    struct lane lane;
    bool found = true, ok;

    if (!n)
        return false;
    ok = lane_open(&lane, n, err);
    while (ok && found)
        ok = lane_step(&lane, &found, err);
    lane_close(&lane);
    notifier_counts(n, &now);
    notifier_free(n);
    if (counts) {
        counts->sent += now.sent;
        counts->failed += now.failed;
        counts->dead += now.dead;
        counts->looks += now.looks;
        counts->lost += now.lost;
    }
    return ok;
}
