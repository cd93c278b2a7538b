/*
 * seal: secrets at rest. AES-256-GCM under a key that is derived from the server's secret, which is
 * not in the database: a dump or a backup of it gives no secret away. `bound` is authenticated with
 * them, so that sealed bytes are of no use in another row: it names the app, the kind of channel
 * and where it sends to. Stateless.
 */
#pragma once
#include "base/err.h"
#include "server/db/db.h"

#define SEAL_KEY_BYTES 32
#define SEAL_LABEL "channels" /* under which the key is derived from the server's secret */

struct seal_key {
    unsigned char bytes[SEAL_KEY_BYTES];
};

/* *out lives in mem: nonce (12 bytes), tag (16), the sealed text. */
bool seal(const struct seal_key *key, const char *bound, const char *text, struct arena *mem,
          struct bytes *out, struct err *err) MUST_CHECK;
/* ERR_FORBIDDEN: another key, another `bound`, or damaged. No bytes are "". */
bool unseal(const struct seal_key *key, const char *bound, struct bytes sealed, struct arena *mem,
            const char **text, struct err *err) MUST_CHECK;
