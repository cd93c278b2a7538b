/*
 * list_page: lists in pages, by an opaque cursor over (key, id), the sort of the list.
 *
 * A cursor holds where the page ended and a digest of the list and its filters, so one that was
 * cut, changed by accident or taken to another question is ERR_INVALID. It grants nothing: the app
 * always comes from the key.
 */
#pragma once
#include "server/http/req.h"

#define LIST_PAGE_DEFAULT 50
#define LIST_PAGE_MAX 200

struct list_page {
    int64_t limit;         /* rows to answer; ask the database for one more */
    struct db_arg key, id; /* where the page before ended: bigint and uuid, SQL NULL at the start */
    unsigned char scope[8];
};

/* Reads `limit` and `cursor`. names: all query arguments of the route, as req_query_only takes
 * them, which is called here. */
bool list_page_read(struct req *r, const char *const *names, struct list_page *out,
                    struct err *err) MUST_CHECK;

/* The cursor after the row with that key and id (NULL: keys alone are unique). */
const char *list_page_next(struct req *r, const struct list_page *p, int64_t key,
                           const unsigned char *id);
