#include "src/report/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MAX_COUNT_DIGITS 18
#define AUTHORIZATION_BYTES 512

int64_t fw_parse_count(const char *text)
{
    int64_t value = 0;
    size_t n = strspn(text, "0123456789");

    if (!n || n > MAX_COUNT_DIGITS || text[n])
        return -1;
    for (size_t i = 0; i < n; i++)
        value = value * 10 + (text[i] - '0');
    return value;
}

/* Seconds, or an IMF-fixdate against the phone's clock: as good as that clock. */
static int64_t retry_after_ms(const char *value)
{
    int64_t seconds = fw_parse_count(value);
    struct tm tm = {0};

    if (seconds < 0) {
        const char *end = strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &tm);

        if (!end || *end)
            return -1;
        seconds = (int64_t)timegm(&tm) - (int64_t)time(NULL);
    }
    if (seconds < 0)
        seconds = 0;
    return seconds > INT32_MAX ? INT32_MAX : seconds * 1000;
}

static void keep(char *out, size_t size, const char *value)
{
    size_t n = strlen(value);

    if (n < size)
        memcpy(out, value, n + 1);
}

static void on_header(void *sink, const char *name, const char *value)
{
    struct fw_answer *a = sink;

    if (!strcasecmp(name, "Upload-Offset"))
        a->upload_offset = fw_parse_count(value);
    else if (!strcasecmp(name, "Retry-After"))
        a->retry_after_ms = retry_after_ms(value);
    else if (!strcasecmp(name, "Location"))
        keep(a->location, sizeof a->location, value);
    else if (!strcasecmp(name, "ETag"))
        keep(a->etag, sizeof a->etag, value);
}

static void on_body(void *sink, const void *bytes, size_t n)
{
    struct fw_answer *a = sink;

    if (a->body)
        fw_buf_add(a->body, bytes, n);
}

static size_t origin_length(const char *url)
{
    const char *host = strstr(url, "://");

    return host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/") : strlen(url);
}

void fw_http(const struct fw_server *server, const struct fw_exchange *x, struct fw_answer *out)
{
    char url[2 * FW_URL_BYTES], key[AUTHORIZATION_BYTES];
    const char *headers[FW_MAX_REQUEST_HEADERS + 1] = {key};
    size_t base = x->at_origin ? origin_length(server->url) : strlen(server->url);

    out->status = 0;
    out->upload_offset = out->retry_after_ms = -1;
    out->location[0] = out->etag[0] = 0;

    int url_len = snprintf(url, sizeof url, "%.*s%s", (int)base, server->url, x->path);
    int key_len = snprintf(key, sizeof key, "Authorization: Bearer %s", server->api_key);
    if (url_len < 0 || (size_t)url_len >= sizeof url || key_len < 0 ||
        (size_t)key_len >= sizeof key)
        return;
    for (size_t i = 1; x->headers && x->headers[i - 1] && i < FW_MAX_REQUEST_HEADERS; i++)
        headers[i] = x->headers[i - 1];

    fw_http_request request = {.method = x->method,
                               .url = url,
                               .headers = headers,
                               .body = x->body,
                               .body_len = x->body_len,
                               .timeout_ms = server->timeout_ms,
                               .sink = out,
                               .on_header = on_header,
                               .on_body = on_body};
    if (server->transport.exchange(server->transport.user, &request) == 0)
        out->status = request.status;
}
