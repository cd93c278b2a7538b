/*
 * admin: what the subcommands share that work on the database itself (apps and keys come before any
 * key could open the API). All they change is written to table audit. Single-threaded.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "cli.h"
#include "server/db/db.h"

struct admin {
    struct db *db;
    struct arena *mem;
};

#define OPT_DB(out) OPT_TEXT("db", "CONNINFO", out, "the database; default: FW_DB")

/* conninfo NULL: FW_DB; the password, if it needs one, from the file FW_DB_PASSWORD_FILE. Refuses a
 * schema that is not this tool's. */
bool admin_open(struct admin *a, const char *conninfo, struct err *err) MUST_CHECK;
void admin_close(struct admin *a);

bool admin_app(struct admin *a, const char *name, int64_t *id, struct err *err) MUST_CHECK;
/* detail: a JSON object, as text. */
bool admin_audit(struct admin *a, int64_t app, const char *action, const char *detail,
                 struct err *err) MUST_CHECK;
