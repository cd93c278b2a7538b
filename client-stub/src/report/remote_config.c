#include "src/report/remote_config.h"

#include "src/control/json.h"

#include <stdio.h>
#include <string.h>

#define FILE_BYTES (FW_JSON_MAX_BYTES + FW_ETAG_BYTES)

static bool take(struct fw_remote_config *c, const struct fw_config *base, const void *json,
                 size_t n)
{
    struct fw_config read;

    fw_config_init(&read);
    if (!fw_config_parse(&read, json, n))
        return false;
    if (read.version == 0) {
        read.hardware_period_ms = base->hardware_period_ms;
        read.slice_ms = base->slice_ms;
        read.jank_stack_ms = base->jank_stack_ms;
    }
    c->config = read;
    return true;
}

void fw_remote_config_load(struct fw_remote_config *c, const struct fw_config *base,
                           struct fw_store *s)
{
    struct fw_buf text;

    c->etag[0] = 0;
    c->config = *base;
    fw_buf_init_in(&text, FILE_BYTES, s->memory);
    if (fw_store_read(s, "config", &text) && text.len) {
        const unsigned char *line_end = memchr(text.at, '\n', text.len);
        size_t n = line_end ? (size_t)(line_end - text.at) : 0;

        if (line_end && n < sizeof c->etag && take(c, base, line_end + 1, text.len - n - 1)) {
            memcpy(c->etag, text.at, n);
            c->etag[n] = 0;
        }
    }
    fw_buf_fini(&text);
}

static void save(const struct fw_remote_config *c, struct fw_store *s, const struct fw_buf *json)
{
    struct fw_buf text;

    fw_buf_init_in(&text, FILE_BYTES, s->memory);
    fw_buf_add(&text, c->etag, strlen(c->etag));
    fw_buf_add(&text, "\n", 1);
    fw_buf_add(&text, json->at, json->len);
    if (!text.failed)
        fw_store_write(s, "config", text.at, text.len);
    fw_buf_fini(&text);
}

bool fw_remote_config_fetch(struct fw_remote_config *c, const struct fw_config *base,
                            const struct fw_server *server, struct fw_store *s)
{
    char condition[FW_ETAG_BYTES + 32];
    const char *headers[] = {c->etag[0] ? condition : NULL, NULL};
    struct fw_buf body;
    struct fw_answer answer = {.body = &body};
    bool changed = false;

    snprintf(condition, sizeof condition, "If-None-Match: %s", c->etag);
    fw_buf_init_in(&body, FW_JSON_MAX_BYTES, s->memory);
    fw_http(server,
            &(struct fw_exchange){.method = "GET", .path = "/v1/config", .headers = headers},
            &answer);
    c->retry_after_ms = answer.retry_after_ms;
    if (answer.status == 200 && !body.failed && take(c, base, body.at, body.len)) {
        memcpy(c->etag, answer.etag, sizeof c->etag);
        save(c, s, &body);
        changed = true;
    }
    fw_buf_fini(&body);
    return changed;
}
