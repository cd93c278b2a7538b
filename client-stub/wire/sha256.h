/* sha256: FIPS 180-4. Pure. For ids and the checksums of chunks, never for secrets. */
#pragma once
#include <stddef.h>

#define FW_SHA256_BYTES 32

void fw_sha256(const void *bytes, size_t n, unsigned char out[FW_SHA256_BYTES]);
