/*
 * report_doc: the comparison of a build with its baseline as a JSON document, and that document as
 * CSV and as a page of its own. Definitions: docs/reports.md.
 */
#pragma once
#include "base/buf.h"
#include "server/jobs/reports/comparison.h"

#include <jansson.h>

struct report_ask {
    int64_t app, build;
    int64_t baseline; /* 0: the one its expectation was frozen from, or the build before it */
    bool one_tier, one_scene;
    int64_t tier; /* TIER_ALL: all together alone */
    const char *scene;
};

/* NULL and err on failure; ERR_NOT_FOUND: no such build. *sessions may be NULL: of the build. */
json_t *report_doc(struct db *db, const struct report_ask *ask, struct arena *mem,
                   int64_t *sessions, struct err *err) MUST_CHECK;

void report_csv(const json_t *doc, struct buf *out);
/* One file: no scripts, nothing loaded, to be printed as it is. */
void report_html(const json_t *doc, struct buf *out);
