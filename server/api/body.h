/*
 * body: what the resources that take JSON share. Errors name the field, with its path.
 */
#pragma once
#include "server/http/req.h"

/* The optional members: SQL NULL when absent or null. Lives in r->mem or in r->json. */
bool body_i64(const json_t *object, const char *name, struct range range, struct db_arg *out,
              struct err *err) MUST_CHECK;
bool body_text(const json_t *object, const char *name, size_t max, struct db_arg *out,
               struct err *err) MUST_CHECK;

/* A failure of a getter on a member object: "upload" + "daily_bytes" = "upload.daily_bytes".
 * Always false. */
bool body_inside(struct err *err, const char *outer);

/* Compact text with sorted keys: equal documents have equal texts. NULL when out of memory. */
const char *body_canonical(struct req *r, const json_t *tree);

/* 16 bytes that say what was posted: the same content again is the same id. */
bool body_id(struct req *r, const char *kind, const json_t *tree, unsigned char id[16],
             struct err *err) MUST_CHECK;

/* Who did what to the app, in table audit. Takes the tree. */
bool audit(struct req *r, const char *action, json_t *detail, struct err *err) MUST_CHECK;
