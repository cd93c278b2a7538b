/*
 * migrate: brings a database to this binary's schema, or says why it is not there.
 *
 * Migrations are sql/migrations/NNN_name.sql, numbered from 1 without a gap and embedded at build.
 * Each runs in one transaction under an advisory lock and is recorded in schema_migration with the
 * SHA-256 of its text, so any number of servers may migrate at once. Forward only.
 */
#pragma once
#include "base/err.h"
#include "server/db/db.h"

/* Applies what is missing and makes partitions for today and the next days; *applied (may be NULL)
 * counts the migrations run now. ERR_CONFLICT if the database is newer than this binary or one of
 * its migrations has another text than ours. */
bool migrate_run(struct db *db, unsigned *applied, struct err *err) MUST_CHECK;

/* True if the schema is exactly ours. ERR_CONFLICT tells what to do: migrate, or upgrade. */
bool migrate_check(struct db *db, struct err *err) MUST_CHECK;
