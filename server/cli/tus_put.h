/*
 * tus_put: sends a file to the server's tus endpoint, in pieces of 1 MB, from where the server has
 * it.
 *
 * The upload is found again by its file id, so nothing is kept on this side: a second run with the
 * same id and the same bytes goes on where the first one ended. What may pass (a lost connection, a
 * busy server) is tried again for a while. One thread at a time.
 */
#pragma once
#include "client.h"

struct tus_file {
    const char *kind, *file_id, *name; /* "symbols" or "mapping"; name: for people */
    FILE *bytes;
    int64_t size;
    /* Called as the server has more of it. May be NULL. */
    void (*progress)(void *user, int64_t done, int64_t size);
    void *user;
};

/* upload: its id. *resumed_at: how much of it the server had before; the size: all. */
bool tus_put(struct client *c, const struct tus_file *f, char upload[33], int64_t *resumed_at,
             struct err *err) MUST_CHECK;
