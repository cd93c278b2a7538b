/*
 * remote_config: GET /v1/config with If-None-Match, and the copy of the last document in the
 * storage folder ("config": the ETag on the first line, then the document), which is in force from
 * the start.
 */
#pragma once
#include "src/buffer/files.h"
#include "src/control/config.h"
#include "src/report/http.h"

struct fw_remote_config {
    char etag[FW_ETAG_BYTES];
    struct fw_config config; /* in force */
    int64_t retry_after_ms;  /* asked for by the last answer; -1: nothing */
};

/* base: the game's own defaults. They also stay in force for the rates under a document of version
 * 0: nobody has configured anything then. */
void fw_remote_config_load(struct fw_remote_config *c, const struct fw_config *base,
                           struct fw_store *s);
/* True: the configuration has changed. A failed fetch or a malformed answer changes nothing. */
bool fw_remote_config_fetch(struct fw_remote_config *c, const struct fw_config *base,
                            const struct fw_server *server, struct fw_store *s);
