#include "server/http/keys.h"

#include "server/common/clock.h"
#include "server/http/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SLOTS 1024 /* of known keys, and again of unknown ones; power of 2 */
#define PROBES 8

struct slot {
    unsigned char hash[SHA256_BYTES];
    int64_t until_ms; /* 0: empty */
    struct principal who;
    int64_t tokens_milli, filled_ms; /* the bucket, in thousandths of a request */
};

struct keys {
    struct key_limits limits;
    pthread_mutex_t lock; /* guards the slots */
    struct slot known[SLOTS], unknown[SLOTS];
};

struct keys *keys_new(struct key_limits limits)
{
    struct keys *k = calloc(1, sizeof *k);

    if (!k)
        return NULL;
    k->limits = limits;
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

void keys_free(struct keys *k)
{
    if (!k)
        return;
    pthread_mutex_destroy(&k->lock);
    free(k);
}

bool role_allows(enum role has, enum role needs)
{
    return needs == ROLE_NONE || has == ROLE_ADMIN || has == needs;
}

static bool is_key(const char *key)
{
    size_t n = strlen(key);

    if (n < 16 || n > KEY_TEXT_MAX)
        return false;
    return strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/=") ==
           n;
}

bool key_from_header(const char *authorization, unsigned char hash[SHA256_BYTES], struct err *err)
{
    if (!authorization)
        return err_field(err, ERR_UNAUTHORIZED, "Authorization",
                         "send an API key: Authorization: Bearer KEY");
    if (strncasecmp(authorization, "Bearer ", 7) != 0)
        return err_field(err, ERR_UNAUTHORIZED, "Authorization", "the scheme must be Bearer");
    authorization += 7;
    authorization += strspn(authorization, " ");
    if (!is_key(authorization))
        return err_field(err, ERR_UNAUTHORIZED, "Authorization", "this is not an API key");
    sha256(authorization, strlen(authorization), hash);
    return true;
}

static size_t home(const unsigned char hash[SHA256_BYTES])
{
    return (size_t)(hash[0] | hash[1] << 8);
}

/* With the lock held: the hash's slot or NULL. A hash of a secret may be compared in any order;
 * equal_secret is used so that nobody has to prove it. */
static struct slot *find(struct slot *slots, const unsigned char hash[SHA256_BYTES])
{
    for (size_t i = 0; i < PROBES; i++) {
        struct slot *s = &slots[(home(hash) + i) & (SLOTS - 1)];

        if (s->until_ms && equal_secret(s->hash, hash, SHA256_BYTES))
            return s;
    }
    return NULL;
}

/* With the lock held: the hash's slot, or an empty one, or that which ends first. */
static struct slot *claim(struct slot *slots, const unsigned char hash[SHA256_BYTES])
{
    struct slot *best = find(slots, hash);

    if (best)
        return best;
    best = &slots[home(hash) & (SLOTS - 1)];
    for (size_t i = 1; i < PROBES; i++) {
        struct slot *s = &slots[(home(hash) + i) & (SLOTS - 1)];

        if (s->until_ms < best->until_ms)
            best = s;
    }
    memset(best, 0, sizeof *best);
    memcpy(best->hash, hash, SHA256_BYTES);
    return best;
}

enum key_state keys_find(struct keys *k, const unsigned char hash[SHA256_BYTES],
                         struct principal *out)
{
    int64_t now = now_ms();
    enum key_state state = KEY_MISSING;

    pthread_mutex_lock(&k->lock);

    struct slot *s = find(k->known, hash);

    if (s && s->until_ms > now) {
        *out = s->who;
        state = KEY_KNOWN;
    } else {
        s = find(k->unknown, hash);
        if (s && s->until_ms > now)
            state = KEY_UNKNOWN;
    }
    pthread_mutex_unlock(&k->lock);
    metric_add(state == KEY_MISSING ? COUNT_key_misses : COUNT_key_hits, 1);
    return state;
}

struct key_row {
    int64_t app_id;
    const char *role, *hint;
};
static const struct db_col key_cols[] = {
    DB_COL(key_row, app_id),
    DB_COL(key_row, role),
    DB_COL(key_row, hint),
};
static const struct db_map key_map = DB_MAP(key_row, key_cols);

static enum role role_of(const char *name)
{
    if (strcmp(name, "ingest") == 0)
        return ROLE_INGEST;
    if (strcmp(name, "read") == 0)
        return ROLE_READ;
    return strcmp(name, "admin") == 0 ? ROLE_ADMIN : ROLE_NONE;
}

static int64_t rate_of(const struct keys *k, enum role role)
{
    return role == ROLE_INGEST ? k->limits.ingest_per_s : k->limits.api_per_s;
}

static void remember(struct keys *k, const unsigned char hash[SHA256_BYTES],
                     const struct key_row *row)
{
    int64_t now = now_ms();

    pthread_mutex_lock(&k->lock);

    struct slot *old = find(k->known, hash);

    if (!row && old)
        old->until_ms = 1; /* revoked: the slot may be taken, and finds nobody */

    struct slot *s = claim(row ? k->known : k->unknown, hash);

    if (row) {
        s->who.app = row->app_id;
        s->who.role = role_of(row->role);
        snprintf(s->who.hint, sizeof s->who.hint, "%s", row->hint);
        if (!s->filled_ms) {
            s->filled_ms = now;
            s->tokens_milli = 2000 * rate_of(k, s->who.role);
        }
    }
    s->until_ms = now + KEY_TTL_MS;
    pthread_mutex_unlock(&k->lock);
}

bool keys_load(struct keys *k, struct db *db, struct arena *mem,
               const unsigned char hash[SHA256_BYTES], struct err *err)
{
    struct key_row row = {0};

    if (db_one(db, Q_KEY_FIND, DB_ARGS(db_bytes(hash, SHA256_BYTES)), &key_map, mem, &row, err)) {
        remember(k, hash, &row);
        return true;
    }
    if (err->code != ERR_NOT_FOUND)
        return false;
    remember(k, hash, NULL);
    return true;
}

bool keys_take(struct keys *k, const unsigned char hash[SHA256_BYTES], int64_t *retry_s)
{
    int64_t now = now_ms();
    bool ok = true;

    pthread_mutex_lock(&k->lock);

    struct slot *s = find(k->known, hash);
    int64_t rate = s ? rate_of(k, s->who.role) : 0;

    if (rate) {
        int64_t cap = 2000 * rate; /* a burst of two seconds */
        int64_t idle = now - s->filled_ms;

        s->tokens_milli = idle > 2000 ? cap : s->tokens_milli + idle * rate;
        if (s->tokens_milli > cap)
            s->tokens_milli = cap;
        s->filled_ms = now;
        ok = s->tokens_milli >= 1000;
        if (ok)
            s->tokens_milli -= 1000;
        else
            *retry_s = 1 + (1000 - s->tokens_milli) / (1000 * rate);
    }
    pthread_mutex_unlock(&k->lock);
    return ok;
}
