#include "src/report/tus.h"

#include "wire/sha256.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define UPLOADS_PATH "/v1/uploads"
#define BACKOFF_FIRST_MS 1000u
#define BACKOFF_LAST_MS 1800000u /* a server that is gone for days is asked 48 times a day */
#define MAX_RECREATIONS 3
#define MAX_METADATA_BYTES 1024
#define HEADER_BYTES 96

static size_t base64(const unsigned char *in, size_t n, char *out, size_t size)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = (n + 2) / 3 * 4;

    if (len >= size)
        return 0;
    for (size_t i = 0, o = 0; i < n; i += 3, o += 4) {
        uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0u) |
                     (i + 2 < n ? in[i + 2] : 0u);

        out[o] = digit[v >> 18];
        out[o + 1] = digit[v >> 12 & 63];
        out[o + 2] = i + 1 < n ? digit[v >> 6 & 63] : '=';
        out[o + 3] = i + 2 < n ? digit[v & 63] : '=';
    }
    out[len] = 0;
    return len;
}

static bool metadata(const struct fw_tus *t, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "Upload-Metadata: ");

    for (size_t i = 0; i < t->n_fields && i < FW_TUS_MAX_FIELDS; i++) {
        int n = snprintf(out + at, size - at, "%s%s ", i ? "," : "", t->fields[i].key);

        if (n < 0 || (size_t)n >= size - at)
            return false;
        at += (size_t)n;

        const char *value = t->fields[i].value;
        size_t len = base64((const unsigned char *)value, strlen(value), out + at, size - at);
        if (!len && *value)
            return false;
        at += len;
        out[at] = 0;
    }
    return true;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state ? *state : 1;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* Exponential, half of it random, so that phones a server turned away do not return as one. */
static enum fw_tus_result wait_backoff(struct fw_tus *t)
{
    uint32_t shift = t->failures < 11 ? t->failures : 11;
    uint32_t full = BACKOFF_FIRST_MS << shift;

    if (full > BACKOFF_LAST_MS)
        full = BACKOFF_LAST_MS;
    t->failures++;
    t->wait_ms = full / 2 + (uint32_t)(next_random(&t->random) % (full / 2 + 1));
    return FW_TUS_WAIT;
}

static enum fw_tus_result wait_asked(struct fw_tus *t, const struct fw_answer *a)
{
    if (a->retry_after_ms < 0)
        return wait_backoff(t);

    int64_t ms =
        a->retry_after_ms < FW_RETRY_AFTER_LAST_MS ? a->retry_after_ms : FW_RETRY_AFTER_LAST_MS;

    t->failures++;
    t->wait_ms = (uint32_t)ms + (uint32_t)(next_random(&t->random) % (uint64_t)(ms / 10 + 100));
    return FW_TUS_WAIT;
}

/* The server's word on how much it has. Only a growing offset is progress. */
static enum fw_tus_result take_offset(struct fw_tus *t, int64_t offset)
{
    if (offset < 0 || (uint64_t)offset > t->length) {
        t->synced = false;
        return wait_backoff(t);
    }
    if ((uint64_t)offset > t->offset)
        t->failures = 0;
    t->offset = (uint64_t)offset;
    t->synced = true;
    return t->offset == t->length ? FW_TUS_DONE : FW_TUS_MORE;
}

/* The upload is unknown or has expired: make it anew, but not for ever. */
static enum fw_tus_result recreate(struct fw_tus *t)
{
    t->url[0] = 0;
    t->offset = 0;
    t->synced = false;
    return ++t->recreations <= MAX_RECREATIONS ? FW_TUS_MORE : wait_backoff(t);
}

/* Statuses that mean the same for every request. */
static enum fw_tus_result judge(struct fw_tus *t, const struct fw_answer *a)
{
    switch (a->status) {
    case 401:
    case 403:
        return FW_TUS_DENIED;
    case 404:
    case 410:
        return t->url[0] ? recreate(t) : FW_TUS_REFUSED;
    case 460: /* damaged on the way, and discarded there */
        return wait_backoff(t);
    case 408:
    case 409:
    case 423:
    case 425:
    case 429:
    case 503:
        t->synced = false;
        return wait_asked(t, a);
    default:
        if (a->status >= 400 && a->status < 500)
            return FW_TUS_REFUSED;
        t->synced = false; /* no answer, 5xx or nonsense: the bytes may have arrived */
        return wait_backoff(t);
    }
}

/* Loads the chunk at `offset` and its checksum header. */
static bool load(struct fw_tus *t, uint64_t offset, size_t *n, char *checksum, size_t size)
{
    static const char name[] = "Upload-Checksum: sha256 ";
    unsigned char hash[FW_SHA256_BYTES];
    uint64_t left = t->length - offset;

    *n = left < t->chunk_bytes ? (size_t)left : t->chunk_bytes;
    if (*n && !t->read(t->user, offset, t->chunk, *n))
        return false;
    fw_sha256(t->chunk, *n, hash);
    memcpy(checksum, name, sizeof name);
    return base64(hash, sizeof hash, checksum + sizeof name - 1, size - sizeof name + 1) > 0;
}

/* Path of a Location, absolute or not; false if there is none. */
static bool take_location(struct fw_tus *t, const char *location)
{
    const char *host = strstr(location, "://");
    const char *path = host ? strchr(host + 3, '/') : location;

    if (!path || path[0] != '/' || strpbrk(path, " \r\n\t"))
        return false;
    memmove(t->url, path, strlen(path) + 1);
    return true;
}

static enum fw_tus_result create(struct fw_tus *t)
{
    char length[HEADER_BYTES], checksum[HEADER_BYTES], meta[MAX_METADATA_BYTES];
    struct fw_answer a = {0};
    size_t n;

    if (!load(t, 0, &n, checksum, sizeof checksum))
        return FW_TUS_UNREADABLE;
    if (!metadata(t, meta, sizeof meta))
        return FW_TUS_REFUSED;
    snprintf(length, sizeof length, "Upload-Length: %" PRIu64, t->length);

    const char *headers[] = {"Tus-Resumable: 1.0.0",
                             length,
                             meta,
                             n ? "Content-Type: application/offset+octet-stream" : NULL,
                             checksum,
                             NULL};
    fw_http(t->server,
            &(struct fw_exchange){.method = "POST",
                                  .path = UPLOADS_PATH,
                                  .headers = headers,
                                  .body = t->chunk,
                                  .body_len = n},
            &a);
    t->status = a.status;
    t->sent_bytes += n;
    if (a.status != 200 && a.status != 201)
        return judge(t, &a);
    if (!take_location(t, a.location))
        return wait_backoff(t);
    if (a.upload_offset < 0 && t->length)
        return FW_TUS_MORE; /* made, but how much of it is there: ask */
    return take_offset(t, t->length ? a.upload_offset : 0);
}

static enum fw_tus_result ask(struct fw_tus *t)
{
    static const char *const headers[] = {"Tus-Resumable: 1.0.0", NULL};
    struct fw_answer a = {0};

    fw_http(t->server,
            &(struct fw_exchange){
                .method = "HEAD", .path = t->url, .at_origin = true, .headers = headers},
            &a);
    t->status = a.status;
    return a.status == 200 || a.status == 204 ? take_offset(t, a.upload_offset) : judge(t, &a);
}

static enum fw_tus_result send_chunk(struct fw_tus *t)
{
    char offset[HEADER_BYTES], checksum[HEADER_BYTES];
    struct fw_answer a = {0};
    size_t n;

    if (!load(t, t->offset, &n, checksum, sizeof checksum))
        return FW_TUS_UNREADABLE;
    snprintf(offset, sizeof offset, "Upload-Offset: %" PRIu64, t->offset);

    const char *headers[] = {"Tus-Resumable: 1.0.0", offset,
                             "Content-Type: application/offset+octet-stream", checksum, NULL};
    fw_http(t->server,
            &(struct fw_exchange){.method = "PATCH",
                                  .path = t->url,
                                  .at_origin = true,
                                  .headers = headers,
                                  .body = t->chunk,
                                  .body_len = n},
            &a);
    t->status = a.status;
    t->sent_bytes += n;
    if ((a.status == 204 || a.status == 200) && a.upload_offset > (int64_t)t->offset)
        return take_offset(t, a.upload_offset);
    if (a.status == 409 || a.status == 204 || a.status == 200) {
        t->synced = false;
        return t->failures++ < 3 ? FW_TUS_MORE : wait_backoff(t);
    }
    /* Too much for the upload at this address: it is not this file's. */
    return a.status == 413 ? recreate(t) : judge(t, &a);
}

enum fw_tus_result fw_tus_step(struct fw_tus *t)
{
    t->wait_ms = 0;
    if (!t->url[0])
        return create(t);
    if (!t->synced)
        return ask(t);
    return t->offset == t->length ? FW_TUS_DONE : send_chunk(t);
}

enum fw_tus_result fw_tus_run(struct fw_tus *t, uint64_t max_wait_ms)
{
    enum fw_tus_result result;

    while ((result = fw_tus_step(t)) == FW_TUS_MORE || result == FW_TUS_WAIT) {
        if (t->wait_ms > max_wait_ms)
            return FW_TUS_WAIT;
        max_wait_ms -= t->wait_ms;

        struct timespec pause = {.tv_sec = t->wait_ms / 1000,
                                 .tv_nsec = (long)(t->wait_ms % 1000) * 1000000};
        nanosleep(&pause, NULL);
    }
    return result;
}

bool fw_tus_read_memory(void *user, uint64_t offset, void *out, size_t n)
{
    memcpy(out, (const unsigned char *)user + offset, n);
    return true;
}
