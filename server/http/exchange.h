/*
 * exchange: one request on its way through the server. Inside server/http only.
 *
 * Threads. Between two calls of libmicrohttpd the exchange belongs to its listener thread. To wait,
 * it suspends the connection first and then hands itself to the dispatcher, the store or the
 * registry of active uploads; from that moment on only the other side touches it, until it resumes
 * the connection as its last act. libmicrohttpd neither times out nor closes a suspended
 * connection, so an exchange cannot vanish while somebody works on it.
 *
 * A request whose connection broke with bytes received but not yet stored lives on without it
 * (`conn` NULL) until they are.
 */
#pragma once
#include "server/http/active.h"
#include "server/http/block.h"
#include "server/http/chunk_store.h"
#include "server/http/context.h"
#include "server/http/dispatch.h"
#include "server/http/headers.h"
#include "server/http/keys.h"
#include "server/http/log.h"
#include "server/http/login.h"
#include "server/http/metrics.h"
#include "server/http/problem.h"
#include "server/http/reply.h"
#include "server/http/route.h"
#include "server/http/server.h"
#include "server/http/uri.h"

#include <microhttpd.h>

#define REQUEST_ID_MAX 64
#define EXCHANGE_MEMORY (64u * 1024) /* of parsed headers */

enum step {
    STEP_MORE,  /* nothing to do before more of the body */
    STEP_WAIT,  /* suspended and handed over: touch nothing */
    STEP_REPLY, /* the reply is ready */
    STEP_ABORT  /* close without a word */
};

enum stage {
    STAGE_OPEN,    /* headers read, nothing decided */
    STAGE_KEY,     /* whose key */
    STAGE_ADMIT,   /* may it, and is there room */
    STAGE_BODY,    /* collecting a body for a handler */
    STAGE_CALL,    /* to be run by the dispatcher */
    STAGE_UPLOAD,  /* in the hands of uploads.c */
    STAGE_REPLY,   /* answer ready */
    STAGE_DISCARD, /* answer ready, but the body has not ended */
    STAGE_DONE     /* answer handed to libmicrohttpd */
};

/* How a route is served. */
enum flow {
    FLOW_API,         /* dispatcher, body collected first */
    FLOW_INLINE,      /* at once, on the listener's thread */
    FLOW_UPLOAD_SEND, /* POST and PATCH: bytes stream to the store */
    FLOW_UPLOAD_CALL /* HEAD and DELETE: dispatcher, after a hung request on the upload was ended */
};

enum upload_stage { UPLOAD_PARSE, UPLOAD_ENTER, UPLOAD_PROBE, UPLOAD_BODY, UPLOAD_ANSWER };

struct upload_request {
    enum upload_stage stage;
    bool creates; /* POST */
    bool ended;   /* the piece under way is the last one */
    bool waited;  /* for a hung request of the same upload */
    struct active_node node;
    struct chunk_op op;
    struct tus_checksum checksum;
    struct digest *digest;
    uint32_t crc32c; /* of the body so far, if that is its checksum */
    struct tus_partials partials;
    const char *concat;     /* header to echo */
    struct block *last;     /* of op.blocks */
    struct block *reserved; /* for a body with a checksum */
    size_t piece_max;
    int64_t sent; /* body bytes handed to the store */
    struct block_waiter waiter;
    _Atomic bool end; /* a newcomer wants the upload */
};

enum peer_phase { PHASE_IDLE, PHASE_HEADERS, PHASE_BODY, PHASE_BUSY, PHASE_REPLY };

/* A connection, for the timer that ends slow ones. */
struct peer {
    struct peer *next, **link; /* under server->peers_lock */
    int fd;
    _Atomic int phase;
    _Atomic int64_t since_ms; /* of the phase */
    _Atomic int64_t spent_ms; /* earlier in the same phase */
    _Atomic int64_t bytes;    /* received or to be sent in it */
    _Atomic int64_t cut;      /* bytes received when reading was ended; -1: it was not */
    int64_t seen_bytes;       /* timer only, as the next ones */
    unsigned looks;
    bool ended;
    struct exchange *now; /* the request on it, NULL between two; the listener's thread only */
};

struct exchange {
    struct exchange *next; /* in the pool */
    struct http_server *server;
    struct MHD_Connection *conn;
    struct peer *peer;
    struct arena *mem; /* kept between requests, emptied */
    struct MHD_Response *response;
    struct http_reply reply;

    /* from here on zeroed for each request */
    enum stage stage;
    enum flow flow;
    bool opened, bodiless, second_call, body_begun, authorized, key_failed, close;
    int64_t started_us;
    struct body_length body;
    uint64_t received, discarded, reply_bytes;
    int status;         /* sent */
    const char *method; /* after X-HTTP-Method-Override */
    const char *wire_method;
    handler_fn handle;
    struct route_match match;
    struct uri uri;
    unsigned char key_hash[SHA256_BYTES];
    bool by_login; /* a cookie stands for the key */
    unsigned char login_id[LOGIN_ID_BYTES];
    bool looked_up; /* the database was asked of login or key */
    struct principal who;
    struct err key_err; /* why the look-up failed */
    struct block *body_blocks, *body_last;
    struct task task;
    struct upload_request up;
    char request_id[REQUEST_ID_MAX + 1];
    char retry_after[24], value[3][64], location[512]; /* of reply headers */
    char error[320];                                   /* for the log */
    struct http_headers headers;

    /* not zeroed */
    char target[URI_MAX + 1], scratch[URI_MAX + 1];
};

/* Of the pool of exchanges; NULL when there are as many as `connections` already. */
struct exchange *exchange_new(struct http_server *s);
void exchange_free(struct exchange *x);

void exchange_suspend(struct exchange *x);
void exchange_resume(struct exchange *x);

/* Makes a problem document the answer. `why` counts; REFUSED_N counts nothing. */
enum step exchange_refuse(struct exchange *x, enum refusal why, const struct problem *p);
enum step exchange_refuse_err(struct exchange *x, const struct err *err);
void exchange_retry_after(struct exchange *x, int64_t seconds);

/* libmicrohttpd's form of the reply, which it copies and takes over; NULL: out of memory. */
struct MHD_Response *exchange_response(struct exchange *x);

/* Suspends and hands the exchange to the dispatcher to run `handle`. */
enum step exchange_call(struct exchange *x, handler_fn handle);

/* Parts of the way; see exchange.c and uploads.c. */
enum step exchange_step(struct exchange *x, const char *data, size_t *size);
enum step upload_step(struct exchange *x, const char *data, size_t *size);
/* The connection is gone. True: the exchange lives on until its bytes are stored. */
bool upload_broken(struct exchange *x);
void upload_release(struct exchange *x);
void upload_end(struct active_node *holder);
void upload_resume(struct active_node *waiter);
bool is_upload_path(const char *path);

extern const struct route builtin_routes[];
extern const enum flow builtin_flows[];
extern const size_t builtin_routes_n;

static inline struct exchange *exchange_of_req(const struct req *r)
{
    return (struct exchange *)((char *)r->reply - offsetof(struct exchange, reply));
}
