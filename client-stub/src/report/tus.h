/*
 * tus: one upload, resumed as often as it takes (tus 1.0.0: core, creation, creation-with-upload,
 * checksum).
 *
 * fw_tus_step() makes one HTTP exchange and says what comes next; it neither sleeps nor keeps
 * files, so the caller decides when to go on and what to persist (`url` is enough to resume after a
 * restart; without it, creation by the same file id leads to the same upload). Chunks are at most
 * chunk_bytes and carry their SHA-256. A struct fw_tus belongs to one thread.
 *
 * The server's Location is followed at the configured server's own origin, whatever host it names.
 */
#pragma once
#include "src/report/http.h"

#include <stdint.h>

#define FW_TUS_CHUNK_BYTES (256u * 1024u)
#define FW_TUS_MAX_FIELDS 8

enum fw_tus_result {
    FW_TUS_MORE,      /* go on at once */
    FW_TUS_DONE,      /* the server has confirmed the full length */
    FW_TUS_WAIT,      /* again after wait_ms */
    FW_TUS_DENIED,    /* 401 or 403: this key may not; status tells */
    FW_TUS_REFUSED,   /* the server will never take this file; status tells */
    FW_TUS_UNREADABLE /* the file could not be read */
};

struct fw_tus_field {
    const char *key, *value; /* of Upload-Metadata; the value is any text */
};

struct fw_tus {
    /* set by the caller */
    const struct fw_server *server;
    const struct fw_tus_field *fields; /* kind, fileid, install ...; at most FW_TUS_MAX_FIELDS */
    size_t n_fields;
    uint64_t length;
    bool (*read)(void *user, uint64_t offset, void *out, size_t n);
    void *user;
    unsigned char *chunk;   /* memory for one chunk */
    size_t chunk_bytes;     /* at most FW_TUS_CHUNK_BYTES is usual */
    uint64_t random;        /* seeds the jitter; not 0 */
    char url[FW_URL_BYTES]; /* path of the upload on the server; "" before creation */

    /* kept by fw_tus_step; zero at the start */
    uint64_t offset; /* confirmed by the server */
    bool synced;     /* offset is the server's present one */
    uint32_t failures, recreations;
    uint32_t wait_ms; /* after FW_TUS_WAIT */
    int status;       /* of the last answer */
    uint64_t sent_bytes;
};

enum fw_tus_result fw_tus_step(struct fw_tus *t);

/* Steps until it is no longer FW_TUS_MORE or FW_TUS_WAIT, sleeping as asked, at most max_wait_ms in
 * all (then FW_TUS_WAIT). For tools; the SDK's own uploader waits where it can be woken. */
enum fw_tus_result fw_tus_run(struct fw_tus *t, uint64_t max_wait_ms);

/* A `read` whose user is the memory itself. */
bool fw_tus_read_memory(void *user, uint64_t offset, void *out, size_t n);
