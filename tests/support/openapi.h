/*
 * openapi: checks answers against the API's document, with the part of JSON Schema that the
 * document uses; a keyword it does not know fails the check, so nothing is skipped in silence.
 */
#pragma once
#include "base/err.h"

#include <jansson.h>

/* path: FW_SOURCE_DIR "/server/api/openapi.json"; ends the program if it cannot be read.
 * json_decref() it. */
json_t *openapi_load(const char *path);

/* Is there such an operation, such a status of it, and is `body` (NULL: not JSON) what the schema
 * says? `path` is that of the request, with or without its query. err->text tells where not. */
bool openapi_check(const json_t *doc, const char *method, const char *path, int status,
                   const char *content_type, const json_t *body, struct err *err) MUST_CHECK;

/* The value against one schema of the document. */
bool openapi_validate(const json_t *doc, const json_t *schema, const json_t *value,
                      struct err *err) MUST_CHECK;
