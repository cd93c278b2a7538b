/*
 * uri: splits a request target and decodes it. Pure; works in place on the caller's copy.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>

#define URI_MAX 4096 /* bytes of a request target */
#define URI_ARGS_MAX 32

struct uri_arg {
    const char *name, *value;
};

struct uri {
    const char *path; /* still encoded: segments are decoded after routing */
    size_t n_args;
    struct uri_arg arg[URI_ARGS_MAX]; /* decoded; '+' is a space */
};

/* `text` is the target in origin form ("/path?query"); it is cut up and must outlive *out.
 * ERR_INVALID: not that form, a bad escape, a control character, an argument twice or too many. */
bool uri_parse(char *text, struct uri *out, struct err *err) MUST_CHECK;
const char *uri_arg(const struct uri *u, const char *name); /* NULL if absent */

/* Decodes %xx in place. False: a bad escape or one that makes a control character. */
bool percent_decode(char *text, bool plus_is_space) MUST_CHECK;
