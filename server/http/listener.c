#include "server/common/clock.h"
#include "server/http/server_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where libmicrohttpd keeps a request's head and what it read of the body. It clears all of it
 * after each request, so each connection that was used takes that much. */
#define CONNECTION_MEMORY (64u * 1024)
#define DISCARD_MAX (1024u * 1024) /* of a body whose answer is known, to keep the connection */
#define TIMER_MS 250
#define RARE_LOOKS 8

/* Connections -------------------------------------------------------------------------------------
 */

void peer_phase(struct peer *p, enum peer_phase phase, int64_t bytes)
{
    int64_t now = now_ms();

    if (!p)
        return;

    int before = atomic_load_explicit(&p->phase, memory_order_relaxed);

    atomic_store_explicit(&p->bytes, bytes, memory_order_relaxed);
    if (before == (int)phase)
        return;
    /* a body's time goes on after the server itself took its time */
    if (before == PHASE_BODY && phase == PHASE_BUSY)
        atomic_fetch_add_explicit(&p->spent_ms, now - atomic_load(&p->since_ms),
                                  memory_order_relaxed);
    else if (!(before == PHASE_BUSY && phase == PHASE_BODY))
        atomic_store_explicit(&p->spent_ms, 0, memory_order_relaxed);
    atomic_store(&p->since_ms, now);
    atomic_store_explicit(&p->phase, (int)phase, memory_order_relaxed);
}

static struct peer *peer_of(struct MHD_Connection *conn)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static void peer_open(struct http_server *s, struct MHD_Connection *conn, void **context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct peer *p = info ? calloc(1, sizeof *p) : NULL;

    metric_add(COUNT_connections_opened, 1);
    gauge_add(GAUGE_connections, 1);
    *context = p;
    if (!p)
        return;
    p->fd = info->connect_fd;
    atomic_store(&p->cut, -1);
    atomic_store(&p->since_ms, now_ms()); /* of PHASE_IDLE */
    pthread_mutex_lock(&s->peers_lock);
    p->next = s->peers;
    p->link = &s->peers;
    if (p->next)
        p->next->link = &p->next;
    s->peers = p;
    pthread_mutex_unlock(&s->peers_lock);
}

static void finish(struct exchange *x, enum MHD_RequestTerminationCode how);

/* Called before libmicrohttpd closes the socket. It forgets a request that it refused by itself
 * before its headers were ours (malformed, or a thousand cookies): that one ends here. */
static void peer_close(struct http_server *s, struct peer *p)
{
    gauge_add(GAUGE_connections, -1);
    acceptor_place_give(s);
    if (!p)
        return;
    if (p->now) {
        p->now->method = NULL; /* libmicrohttpd's, and gone */
        finish(p->now, MHD_REQUEST_TERMINATED_WITH_ERROR);
    }
    pthread_mutex_lock(&s->peers_lock);
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    pthread_mutex_unlock(&s->peers_lock);
    free(p);
}

static void on_connection(void *cls, struct MHD_Connection *conn, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        peer_open(cls, conn, context);
    else
        peer_close(cls, *context);
}

/* Bytes that the peer has sent and this system has received, read or not; -1: it does not say. */
static int64_t bytes_received(int fd)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
                   n >= offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t)
               ? (int64_t)info.tcpi_bytes_received
               : -1;
}

/* Ends for reading: what has arrived is still delivered, and then the end. */
static void end_reading(struct peer *p)
{
    int64_t none = -1, received = bytes_received(p->fd);

    atomic_compare_exchange_strong(&p->cut, &none, received < 0 ? 0 : received);
    shutdown(p->fd, SHUT_RD);
}

/* A peer that goes on sending would put off that end for ever: bytes that came after it are taken
 * for it. These are the last `size` that were read. */
static bool came_after_cut(struct peer *p, size_t size)
{
    int64_t cut = p ? atomic_load_explicit(&p->cut, memory_order_relaxed) : -1;
    int waiting = 0;

    if (cut < 0 || ioctl(p->fd, FIONREAD, &waiting) != 0)
        return false;
    return bytes_received(p->fd) - waiting - cut >= (int64_t)size;
}

void upload_end(struct active_node *holder)
{
    struct upload_request *up =
        (struct upload_request *)((char *)holder - offsetof(struct upload_request, node));
    struct exchange *x = (struct exchange *)((char *)up - offsetof(struct exchange, up));

    metric_refused(REFUSED_superseded);
    if (x->peer)
        end_reading(x->peer);
}

void peers_end(struct http_server *s, bool only_idle)
{
    pthread_mutex_lock(&s->peers_lock);
    for (struct peer *p = s->peers; p; p = p->next)
        if (!only_idle || atomic_load(&p->phase) == PHASE_IDLE)
            end_reading(p);
    pthread_mutex_unlock(&s->peers_lock);
}

/* Deadlines ---------------------------------------------------------------------------------------
 */

/* How long the phase may take, or 0 for as long as it likes; why, if it does not. */
static int64_t allowance_ms(const struct http_config *c, struct peer *p, enum refusal *why)
{
    int64_t bytes = atomic_load_explicit(&p->bytes, memory_order_relaxed);
    int64_t paced = c->grace_ms + bytes * 1000 / c->min_bytes_per_s;

    switch (atomic_load_explicit(&p->phase, memory_order_relaxed)) {
    case PHASE_IDLE:
        *why = REFUSED_slow_headers;
        return (int64_t)c->idle_s * 1000 + c->header_ms;
    case PHASE_HEADERS:
        *why = REFUSED_slow_headers;
        return c->header_ms;
    case PHASE_BODY:
        *why = REFUSED_slow_body;
        return paced;
    case PHASE_REPLY:
        *why = REFUSED_slow_reader;
        return paced;
    default:
        return 0;
    }
}

/* libmicrohttpd misses the end of a stream that came together with the last bytes: its next look
 * would be at the next event, and there is none. Ending the socket for reading makes one. Bodies
 * are looked after at once, since a newcomer may wait for theirs; other connections now and then.
 */
static void notice_end(struct peer *p, bool body)
{
    struct pollfd look = {.fd = p->fd, .events = POLLRDHUP};
    int64_t bytes = atomic_load_explicit(&p->bytes, memory_order_relaxed);
    bool still = bytes == p->seen_bytes;

    p->seen_bytes = bytes;
    if (!still || (!body && ++p->looks % RARE_LOOKS))
        return;
    if (poll(&look, 1, 0) == 1 && look.revents & POLLRDHUP)
        end_reading(p);
}

static void check_peer(const struct http_config *c, struct peer *p, int64_t now)
{
    enum refusal why = REFUSED_N;
    int64_t allowed = allowance_ms(c, p, &why);
    int64_t spent =
        now - atomic_load(&p->since_ms) + atomic_load_explicit(&p->spent_ms, memory_order_relaxed);

    if (why == REFUSED_slow_body || why == REFUSED_slow_headers)
        notice_end(p, why == REFUSED_slow_body);
    if (p->ended || !allowed || spent <= allowed)
        return;
    p->ended = true;
    metric_refused(why);
    if (why == REFUSED_slow_body)
        end_reading(p); /* what came is kept */
    else
        shutdown(p->fd, SHUT_RDWR);
}

static void *run_timer(void *arg)
{
    struct http_server *s = arg;
    bool stopping = false;

    while (!stopping) {
        struct timespec deadline = monotonic_in(TIMER_MS);
        int64_t now = now_ms();

        pthread_mutex_lock(&s->peers_lock);
        for (struct peer *p = s->peers; p; p = p->next)
            check_peer(&s->config, p, now);
        pthread_mutex_unlock(&s->peers_lock);
        pthread_mutex_lock(&s->timer_lock);
        if (!s->stopping)
            pthread_cond_timedwait(&s->timer_wake, &s->timer_lock, &deadline);
        stopping = s->stopping;
        pthread_mutex_unlock(&s->timer_lock);
    }
    return NULL;
}

bool timer_start(struct http_server *s, struct err *err)
{
    if (pthread_create(&s->timer, NULL, run_timer, s) != 0)
        return err_set(err, ERR_INTERNAL, "cannot start the timer's thread");
    s->timer_started = true;
    return true;
}

void timer_stop(struct http_server *s)
{
    if (!s->timer_started)
        return;
    pthread_mutex_lock(&s->timer_lock);
    s->stopping = true;
    pthread_cond_signal(&s->timer_wake);
    pthread_mutex_unlock(&s->timer_lock);
    pthread_join(s->timer, NULL);
    s->timer_started = false;
}

/* Requests ----------------------------------------------------------------------------------------
 */

static bool id_ok(const char *id)
{
    size_t n = id ? strlen(id) : 0;

    return n && n <= REQUEST_ID_MAX &&
           strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == n;
}

static void name_request(struct exchange *x)
{
    const char *given = headers_find(&x->headers, "X-Request-Id");
    uint64_t n = atomic_fetch_add_explicit(&x->server->id_next, 1, memory_order_relaxed);

    if (id_ok(given))
        snprintf(x->request_id, sizeof x->request_id, "%s", given);
    else
        snprintf(x->request_id, sizeof x->request_id, "%016" PRIx64,
                 (x->server->id_seed + n) * UINT64_C(0x9e3779b97f4a7c15));
}

/* The request's first line is here, its headers are not. What is returned comes back in *con. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *conn)
{
    struct exchange *x = exchange_new(cls);
    size_t n = strlen(target);

    if (!x)
        return NULL;
    x->conn = conn;
    x->peer = peer_of(conn);
    if (x->peer)
        x->peer->now = x;
    peer_phase(x->peer, PHASE_HEADERS, 0);
    if (n > URI_MAX)
        n = 0; /* refused later, with an answer */
    memcpy(x->target, target, n);
    x->target[n] = '\0';
    return x;
}

static size_t keep_encoded(void *cls, struct MHD_Connection *conn, char *text)
{
    (void)cls;
    (void)conn;
    return strlen(text);
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    (void)kind;
    headers_add(cls, name, value);
    return MHD_YES;
}

static void open_exchange(struct exchange *x, const char *method)
{
    x->opened = true;
    x->method = x->wire_method = method;
    MHD_get_connection_values(x->conn, MHD_HEADER_KIND, on_header, &x->headers);
    name_request(x);
    /* headers_check comes later: here it only matters what libmicrohttpd will do */
    x->bodiless = !headers_find(&x->headers, "Transfer-Encoding") &&
                  (!headers_find(&x->headers, "Content-Length") ||
                   strspn(headers_find(&x->headers, "Content-Length"), "0") ==
                       strlen(headers_find(&x->headers, "Content-Length")));
}

static enum MHD_Result send_reply(struct exchange *x)
{
    enum MHD_Result ok;

    if (!x->response)
        x->response = exchange_response(x);
    if (!x->response || !x->reply.status)
        return MHD_NO;
    if (x->close || atomic_load_explicit(&x->server->draining, memory_order_relaxed))
        MHD_add_response_header(x->response, "Connection", "close");
    x->status = x->reply.status;
    x->reply_bytes = x->reply.len;
    x->stage = STAGE_DONE;
    peer_phase(x->peer, PHASE_REPLY, (int64_t)x->reply_bytes);
    ok = MHD_queue_response(x->conn, (unsigned)x->status, x->response);
    MHD_destroy_response(x->response);
    x->response = NULL;
    return ok;
}

/* An answer can only be given before the body or after it; between, the rest is swallowed. */
static enum MHD_Result discard(struct exchange *x, size_t *size)
{
    x->stage = STAGE_DISCARD;
    x->discarded += *size;
    *size = 0;
    return x->discarded <= DISCARD_MAX ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *conn, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **con)
{
    struct exchange *x = *con;
    size_t before = *size;

    (void)cls;
    (void)conn;
    (void)url;
    (void)version;
    if (!x)
        return MHD_NO;
    if (!x->opened)
        open_exchange(x, method);
    /* an answer to the first call closes the connection, so one without body waits for the second
     */
    if (x->bodiless && !x->second_call) {
        x->second_call = true;
        return MHD_YES;
    }
    if (x->stage == STAGE_DISCARD && before)
        return discard(x, size);
    if (before && came_after_cut(x->peer, before))
        return MHD_NO;
    if (!x->bodiless)
        peer_phase(x->peer, PHASE_BODY, (int64_t)(x->received + before));

    enum step step = exchange_step(x, data, size);

    if (step == STEP_WAIT)
        return MHD_YES;
    if (step == STEP_ABORT)
        return MHD_NO;
    if (step == STEP_MORE)
        return MHD_YES;
    return before ? discard(x, size) : send_reply(x);
}

static void log_request(struct exchange *x, enum MHD_RequestTerminationCode how)
{
    struct logfmt l;
    int64_t us = now_us() - x->started_us;

    metric_request(x->match.route ? x->match.metric : x->server->unmatched, x->status, us);
    if (!log_on(LOG_INFO))
        return;
    log_begin(&l, LOG_INFO, "request");
    logfmt_text(&l, "id", x->request_id);
    logfmt_text(&l, "method", x->method ? x->method : "-");
    logfmt_text(&l, "route", x->match.route ? x->match.route->name : "-");
    logfmt_text(&l, "path", x->uri.path ? x->uri.path : "-");
    logfmt_i64(&l, "status", x->status);
    logfmt_ms(&l, "ms", us);
    logfmt_i64(&l, "in", (int64_t)x->received);
    logfmt_i64(&l, "out", (int64_t)x->reply_bytes);
    if (x->who.role != ROLE_NONE) {
        logfmt_i64(&l, "app", x->who.app);
        logfmt_text(&l, "key", x->who.hint);
    }
    if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        logfmt_text(&l, "end", "broken");
    if (x->error[0])
        logfmt_text(&l, "error", x->error);
    log_end(&l);
}

static void finish(struct exchange *x, enum MHD_RequestTerminationCode how)
{
    if (x->peer)
        x->peer->now = NULL;
    peer_phase(x->peer, PHASE_IDLE, 0);
    metric_add(COUNT_bytes_in, x->received);
    log_request(x, how);
    x->conn = NULL;
    if (x->stage != STAGE_DONE && !x->bodiless)
        metric_add(COUNT_broken_bodies, 1);
    if (!upload_broken(x))
        exchange_free(x);
}

static void on_completed(void *cls, struct MHD_Connection *conn, void **con,
                         enum MHD_RequestTerminationCode how)
{
    struct exchange *x = *con;

    (void)cls;
    (void)conn;
    *con = NULL;
    if (x)
        finish(x, how);
}

/* What libmicrohttpd refuses by itself, before a request is ours or while its body comes, it
 * answers with a page of its own. Its log is the only place where that shows. */
static void count_refusal(const char *fmt, va_list ap)
{
    static const char refuses[] = "Error processing request (HTTP response code is %u";

    if (strncmp(fmt, refuses, sizeof refuses - 1) != 0)
        return;
    switch (va_arg(ap, unsigned)) {
    case MHD_HTTP_CONTENT_TOO_LARGE:
    case MHD_HTTP_URI_TOO_LONG:
    case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE:
        metric_refused(REFUSED_too_big);
        break;
    default:
        metric_refused(REFUSED_bad_request);
    }
}

static void on_mhd_log(void *cls, const char *fmt, va_list ap)
{
    char text[256];
    va_list again;

    (void)cls;
    va_copy(again, ap);
    count_refusal(fmt, again);
    va_end(again);
    if (!log_on(LOG_DEBUG))
        return;
    vsnprintf(text, sizeof text, fmt, ap);
    text[strcspn(text, "\n")] = '\0';

    struct logfmt l;

    log_begin(&l, LOG_DEBUG, "http");
    logfmt_text(&l, "text", text);
    log_end(&l);
}

/* Start and stop ----------------------------------------------------------------------------------
 */

/* "host:port", "[v6]:port", ":port" for all addresses. */
static bool split_address(const char *listen, char host[256], char port[8], struct err *err)
{
    const char *colon = strrchr(listen, ':');
    size_t n = colon ? (size_t)(colon - listen) : 0;
    int64_t number;

    if (!colon || strlen(colon + 1) > 5 || !parse_decimal(colon + 1, &number) || number > 65535 ||
        n >= 256)
        return err_field(err, ERR_INVALID, "listen", "\"%s\" is not HOST:PORT", listen);
    if (n >= 2 && listen[0] == '[' && listen[n - 1] == ']') {
        listen++;
        n -= 2;
    }
    memcpy(host, listen, n);
    host[n] = '\0';
    snprintf(port, 8, "%s", colon + 1);
    return true;
}

static int open_socket(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    int on = 1, off = 0;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;

    int why = errno;

    close(fd);
    errno = why;
    return -1;
}

static int listen_on(const char *address, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list;
    char host[256], port[8];

    if (!split_address(address, host, port, err))
        return -1;

    int why = getaddrinfo(host[0] ? host : NULL, port, &hints, &list);

    if (why) {
        err_field(err, ERR_INVALID, "listen", "%s: %s", address, gai_strerror(why));
        return -1;
    }
    int fd = open_socket(list);

    freeaddrinfo(list);
    if (fd < 0)
        err_field(err, ERR_INVALID, "listen", "cannot listen on %s: %s", address, strerror(errno));
    return fd;
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;

    if (getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

static bool listens(int fd)
{
    int yes = 0;
    socklen_t n = sizeof yes;

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &n) == 0 && yes;
}

bool listener_start(struct http_server *s, struct err *err)
{
    const struct http_config *c = &s->config;
    /* The limit is ours to keep: libmicrohttpd refuses and closes past its own, of each thread. */
    unsigned more_than_enough = c->threads * (2 * c->connections + 1);

    s->listen_fd = c->listen_fd >= 0 ? c->listen_fd : listen_on(c->listen, err);
    if (s->listen_fd < 0)
        return false;
    if (!listens(s->listen_fd) || fcntl(s->listen_fd, F_SETFL, O_NONBLOCK) != 0)
        return err_field(err, ERR_INVALID, "listen", "the inherited descriptor does not listen");
    s->port = port_of(s->listen_fd);
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG |
            MHD_USE_NO_LISTEN_SOCKET,
        0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, s,
        MHD_OPTION_THREAD_POOL_SIZE, c->threads, MHD_OPTION_CONNECTION_LIMIT, more_than_enough,
        MHD_OPTION_CONNECTION_TIMEOUT, c->idle_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, s, MHD_OPTION_UNESCAPE_CALLBACK, keep_encoded, s,
        MHD_OPTION_END);
    if (!s->daemon)
        return err_set(err, ERR_INTERNAL, "libmicrohttpd cannot start: %s", strerror(errno));
    return acceptor_start(s, err);
}

/* An inherited socket goes on listening in whoever else holds it, for the server that comes next.
 */
void listener_quiesce(struct http_server *s)
{
    acceptor_stop(s);
    if (s->listen_fd >= 0)
        close(s->listen_fd);
    s->listen_fd = -1;
}

void listener_stop(struct http_server *s)
{
    listener_quiesce(s);
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    s->daemon = NULL;
}
