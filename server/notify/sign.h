/*
 * sign: how each service wants a message signed. Pure; results live in mem, NULL when it is full.
 */
#pragma once
#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

/* Standard base64 with padding. */
const char *base64(struct arena *mem, const void *bytes, size_t n);
/* The bytes of standard base64, padded or not; NULL if it is none. */
unsigned char *base64_bytes(struct arena *mem, const char *text, size_t *n);

/* Feishu: base64(HMAC-SHA256(key = "SECONDS\nSECRET", message = "")). */
const char *feishu_sign(struct arena *mem, const char *secret, int64_t seconds);
/* DingTalk: base64(HMAC-SHA256(key = SECRET, message = "MILLISECONDS\nSECRET")), for a URL. */
const char *dingtalk_sign(struct arena *mem, const char *secret, int64_t ms);

/* Standard Webhooks: "v1," and base64(HMAC-SHA256(key, "ID.SECONDS.BODY")). A secret "whsec_…" is
 * base64 of the key, any other is the key itself. */
const char *webhook_sign(struct arena *mem, const char *secret, const char *id, int64_t seconds,
                         const char *body);
