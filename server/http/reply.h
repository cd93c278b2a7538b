/*
 * reply: an answer while it is built. Lives inside its exchange; the body is malloc()ed and handed
 * on to libmicrohttpd. Names and values of headers are borrowed until the answer is made of them.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

#define REPLY_HEADERS_MAX 16

struct http_reply {
    int status; /* 0: none yet */
    const char *content_type;
    unsigned char *body;
    size_t len;
    size_t n_headers;
    struct {
        const char *name, *value;
    } header[REPLY_HEADERS_MAX];
};

void reply_init(struct http_reply *r);
void reply_fini(struct http_reply *r);
/* Ignored when there are too many: the tables of this server never have so many. */
void reply_put(struct http_reply *r, const char *name, const char *value);
/* Steals the bytes. False if the buffer had failed. */
bool reply_take(struct http_reply *r, int status, const char *content_type, struct buf *body);
