/*
 * alert_tell: hands an alert, as it stands in its row, over for delivery. Inside the transaction
 * that changed the row; telling the same version again changes nothing.
 */
#pragma once
#include "server/db/db.h"

/* public_url: where the pages are, "" if unknown. ERR_NOT_FOUND: no such alert of the app. */
bool alert_tell(struct db *db, int64_t app, int64_t alert_id, const char *public_url,
                struct arena *mem, struct err *err) MUST_CHECK;
