/*
 * http_out: requests to services of others. The only file that sees libcurl in server/notify.
 *
 * One struct http_out belongs to one thread; it keeps connections open between requests. Every
 * request is bounded in time and its answer in size. Redirects are not followed, TLS is verified,
 * proxies of the environment are not used. Which addresses may be reached is checked on the address
 * that is connected to, after name resolution, so a name cannot point elsewhere later. What is
 * public is reached by https only.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_OUT_HEADERS 8
#define HTTP_OUT_ANSWER_MAX ((size_t)1 << 20)

/* Addresses that may be reached, each level with those before it. Metadata services of clouds and
 * link-local addresses need ANY. */
#define HTTP_OUT_REACHES(X)                                                                        \
    X(PUBLIC, "public")     /* the internet, by https */                                           \
    X(PRIVATE, "private")   /* 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7 */                 \
    X(LOOPBACK, "loopback") /* 127/8, ::1 */                                                       \
    X(ANY, "any")           /* everything but multicast, and public addresses by http */

#define X(symbol, name) REACH_##symbol,
enum http_out_reach { HTTP_OUT_REACHES(X) };
#undef X

/* "public" … "any"; anything else is REACH_PRIVATE. */
enum http_out_reach http_out_reach(const char *name);
/* Pure: whether an address may be connected to, with or without TLS. */
bool http_out_allowed(enum http_out_reach reach, const struct sockaddr *address, bool tls);

struct http_out_config {
    enum http_out_reach reach;
    const char *ca_file; /* certificates to trust instead of the system's; "" or NULL: those */
    int64_t timeout_ms;  /* of a whole request */
};

struct http_out;
struct http_out *http_out_new(const struct http_out_config *config, struct err *err) MUST_CHECK;
void http_out_free(struct http_out *h); /* NULL is fine */

struct http_request {
    const char *method, *url;
    const char *body, *content_type;       /* NULL: none */
    const char *headers[HTTP_OUT_HEADERS]; /* "Name: value", NULL ends them */
    const char *user, *password;           /* Basic; NULL: none */
};

struct http_answer {
    int status;       /* 0: no whole answer; `error` says why */
    bool maybe_done;  /* no answer, but the request may have had its effect */
    bool unreachable; /* nothing listens, no such name, no TLS: not this request's fault */
    bool refused;     /* we would not connect there */
    const char *body; /* ends with a NUL, at most HTTP_OUT_ANSWER_MAX bytes */
    size_t len;
    int64_t retry_after_ms; /* of Retry-After, 0 if absent */
    int64_t reset_s;        /* Unix time of X-RateLimit-Reset or RateLimit-Reset, 0 if absent */
    bool exhausted;         /* X-RateLimit-Remaining: 0 */
    char error[160];        /* without URL or anything else that was given */
};

/* False only for faults of ours (memory, a URL that is none). Everything in mem. */
bool http_out_send(struct http_out *h, const struct http_request *request, struct arena *mem,
                   struct http_answer *out, struct err *err) MUST_CHECK;

/* "scheme://host:port" of an http or https URL, in mem; ERR_INVALID if it is none or holds a user
 * or password, which would be shown. */
bool http_out_origin(const char *url, struct arena *mem, const char **origin,
                     struct err *err) MUST_CHECK;
