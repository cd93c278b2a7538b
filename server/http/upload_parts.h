/*
 * upload_parts: what uploads.c, upload_parse.c and upload_calls.c share. An upload request is an
 * exchange whose `up` is used; see exchange.h.
 */
#pragma once
#include "server/http/server_internal.h"

#define UPLOADS_PATH "/v1/uploads"
#define SESSION_PIECE (256u * 1024)
#define OTHER_PIECE (1024u * 1024)
#define CHECKED_MAX (1024u * 1024) /* a chunk with a checksum is held whole before it counts */

/* Fills x->up from the headers; *up.stage leads on. */
enum step upload_parse(struct exchange *x);
/* POST with Upload-Concat: final. */
bool upload_final(struct req *r, struct err *err);

bool upload_has_body(const struct exchange *x);

/* Make a problem document the answer, and are the step that sends it. */
enum step upload_refuse(struct exchange *x, enum refusal why, int status, const char *code,
                        const char *field, const char *detail);
enum step upload_bad(struct exchange *x, const char *field, const char *detail);
enum step upload_unknown(struct exchange *x);

/* Headers of the reply; `slot` of x->value holds the text. */
void upload_put_number(struct exchange *x, unsigned slot, const char *name, int64_t v);
void upload_put_expiry(struct exchange *x, unsigned slot, int64_t unix_s);
void upload_put_location(struct exchange *x);
