/*
 * send: one message on its way: what a driver is given, what it says became of it, and requests
 * judged the same way for all services.
 */
#pragma once
#include "server/notify/channel.h"
#include "server/notify/http_out.h"

enum send_result {
    SEND_OK,
    SEND_LATER,  /* may work when it is tried again */
    SEND_REFUSED /* will not, until a person changes something */
};

struct outcome {
    enum send_result result;
    int status;        /* of the last answer, 0: none */
    int64_t wait_ms;   /* SEND_LATER: the service asks for so long; 0: our own back-off */
    int64_t repeat_ms; /* SEND_OK: to be said again after that; 0: never */
    bool channel_down; /* SEND_LATER: nothing else of the channel has a chance before */
    bool maybe_done;   /* the answer was lost: it may have had its effect */
    char why[200];     /* without secrets */
};

struct sending {
    struct http_out *http;
    const struct channel *channel;
    struct arena *mem;
    int64_t now_us;      /* since 1970, the database's clock */
    int64_t deadline_us; /* CLOCK_MONOTONIC: no request begins after it, another worker may then */
    int64_t timeout_ms;  /* of one request */
};

/* Always false. */
bool outcome_refused(struct outcome *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool outcome_later(struct outcome *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* True: a 2xx answer is in *answer. False: *out says what became of it. */
bool send_request(struct sending *s, const struct http_request *request, struct http_answer *answer,
                  struct outcome *out);
/* The same, and the answer is JSON (the caller owns *json). An answer that is none of a request
 * that worked is SEND_LATER with maybe_done. */
bool send_for_json(struct sending *s, const struct http_request *request,
                   struct http_answer *answer, json_t **json, struct outcome *out);

/* "STATUS: what the answer says", redacted. */
void outcome_say(struct sending *s, const struct http_answer *answer, const char *message,
                 struct outcome *out);

/* The tree as compact text in s->mem; takes the tree. NULL when it does not fit. */
const char *send_body(struct sending *s, json_t *tree);
/* settings.url without a query and without a / at its end. */
const char *send_base(struct sending *s);
/* printf into s->mem, at most 4,095 bytes; NULL when it does not fit. */
const char *send_printf(struct sending *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "2024-05-06T07:08:09.123Z" */
const char *send_time(struct sending *s, int64_t us);
