/*
 * digest: SHA-1, SHA-256 and HMAC-SHA256 (OpenSSL's libcrypto) and CRC-32C (Castagnoli, as in
 * RFC 3720). Stateless calls and small contexts; each context has one owner.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20
#define SHA256_BYTES 32

enum digest_kind { DIGEST_SHA1, DIGEST_SHA256 };

struct digest; /* a running hash */

struct digest *digest_new(enum digest_kind kind); /* NULL when out of memory */
void digest_free(struct digest *d);               /* NULL is fine */
void digest_add(struct digest *d, const void *bytes, size_t n);
size_t digest_end(struct digest *d, unsigned char out[SHA256_BYTES]); /* bytes written */

void sha256(const void *bytes, size_t n, unsigned char out[SHA256_BYTES]);
void hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t n,
                 unsigned char out[SHA256_BYTES]);

/* crc = 0 to begin; feed the result back to continue. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

/* Compares n bytes in a time that does not depend on them. */
bool equal_secret(const void *a, const void *b, size_t n);

/* Lower-case hexadecimal: out holds 2 n + 1. from_hex wants exactly 2 n digits. */
void to_hex(const void *bytes, size_t n, char *out);
bool from_hex(const char *text, size_t n, void *out) MUST_CHECK;
int hex_value(char digit); /* 0 … 15, -1: not a digit; of either case */
