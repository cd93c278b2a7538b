/*
 * tus_headers: the headers of tus 1.0.0. Pure: hostile text in, structs out; all texts live in the
 * arena given. Failures are ERR_INVALID (ERR_TOO_BIG past a limit) naming the header.
 */
#pragma once
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "server/http/headers.h"

#include <stddef.h>
#include <stdint.h>

#define TUS_VERSION "1.0.0"
#define TUS_EXTENSIONS                                                                             \
    "creation,creation-with-upload,creation-defer-length,expiration,checksum,termination,"         \
    "concatenation"
#define TUS_CHECKSUMS "sha1,sha256,crc32c"

#define TUS_METADATA_MAX 4096 /* bytes of the header */
#define TUS_METADATA_KEYS_MAX 32
#define TUS_METADATA_KEY_MAX 64 /* bytes of a key */
#define TUS_FILE_ID_MAX 128
#define TUS_INSTALL_MAX 256
#define TUS_PARTIALS_MAX 100

enum upload_kind { KIND_SESSION, KIND_SYMBOLS, KIND_MAPPING };
const char *upload_kind_name(enum upload_kind kind);
bool upload_kind_parse(const char *name, enum upload_kind *out) MUST_CHECK;

struct tus_pair {
    const char *key;
    const char *encoded;        /* as sent; "" for none */
    const unsigned char *value; /* decoded, with a final NUL that does not count */
    size_t len;
};
struct tus_metadata {
    size_t n;
    struct tus_pair *pair;
};
/* NULL and "" are no pairs. Keys are visible ASCII without comma and occur once; values are base64
 * (RFC 4648, section 4) with their padding. */
bool tus_metadata_parse(const char *header, struct arena *mem, struct tus_metadata *out,
                        struct err *err) MUST_CHECK;
const struct tus_pair *tus_metadata_find(const struct tus_metadata *m, const char *key);
/* The header again; `install` with the given text (hex of its hash) in its place. NULL: arena full.
 */
const char *tus_metadata_format(const struct tus_metadata *m, const char *install_text,
                                struct arena *mem) MUST_CHECK;

enum tus_concat { CONCAT_NONE, CONCAT_PARTIAL, CONCAT_FINAL };
struct tus_partials {
    enum tus_concat concat;
    size_t n;                /* of a final one */
    unsigned char (*id)[16]; /* from the URLs, in their order */
};
/* `prefix` is the path of the uploads, "/v1/uploads/"; URLs may be absolute or start with it. */
bool tus_concat_parse(const char *header, const char *prefix, struct arena *mem,
                      struct tus_partials *out, struct err *err) MUST_CHECK;

enum tus_checksum_kind { CHECKSUM_NONE, CHECKSUM_SHA1, CHECKSUM_SHA256, CHECKSUM_CRC32C };
struct tus_checksum {
    enum tus_checksum_kind kind;
    size_t len;
    unsigned char value[SHA256_BYTES]; /* CRC-32C: big-endian */
};
/* "algorithm base64": an unknown algorithm and a value of the wrong size are ERR_INVALID. */
bool tus_checksum_parse(const char *header, struct tus_checksum *out, struct err *err) MUST_CHECK;

/* A decimal header; *out untouched if it is absent (NULL). */
bool tus_number_parse(const char *name, const char *header, int64_t *out,
                      struct err *err) MUST_CHECK;

/* Standard base64: BASE64_LEN(n) characters and NUL. */
#define BASE64_LEN(n) (((n) + 2) / 3 * 4)
void base64_encode(const void *bytes, size_t n, char *out);
/* Decodes `len` characters into at most len / 4 * 3 bytes; false unless it is canonical base64. */
bool base64_decode(const char *text, size_t len, unsigned char *out, size_t *n) MUST_CHECK;

/* IMF-fixdate of RFC 9110: "Sun, 06 Nov 1994 08:49:37 GMT". */
#define HTTP_DATE_BYTES 30
void http_date(int64_t unix_s, char out[HTTP_DATE_BYTES]);
