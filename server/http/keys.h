/*
 * keys: who may ask. An API key's SHA-256 → app, role and hint, cached for a short time, also when
 * nobody issued it; and a token bucket for each key.
 *
 * Thread-safe. The cache is bounded: known keys and unknown ones have separate slots, so made-up
 * keys cannot push out real ones. Only hashes are kept, compared in constant time.
 */
#pragma once
#include "base/digest.h"
#include "server/http/req.h"

#define KEY_TEXT_MAX 128
#define KEY_TTL_MS 5000

struct key_limits {
    int64_t ingest_per_s, api_per_s; /* requests of one key; 0 = no limit */
};

struct keys;
struct keys *keys_new(struct key_limits limits);
void keys_free(struct keys *k);

/* The hash of the key in an Authorization header; ERR_UNAUTHORIZED if there is none to hash. */
bool key_from_header(const char *authorization, unsigned char hash[SHA256_BYTES],
                     struct err *err) MUST_CHECK;

enum key_state { KEY_MISSING, KEY_UNKNOWN, KEY_KNOWN };
/* KEY_MISSING: not in the cache, ask keys_load on a thread with a connection. */
enum key_state keys_find(struct keys *k, const unsigned char hash[SHA256_BYTES],
                         struct principal *out);
/* Asks the database and remembers the answer. False only if the database failed. */
bool keys_load(struct keys *k, struct db *db, struct arena *mem,
               const unsigned char hash[SHA256_BYTES], struct err *err) MUST_CHECK;

/* One request of that key; false: too many, try again in *retry_s. */
bool keys_take(struct keys *k, const unsigned char hash[SHA256_BYTES], int64_t *retry_s);

/* True if a key of role `has` may use what asks for `needs`. */
bool role_allows(enum role has, enum role needs);
