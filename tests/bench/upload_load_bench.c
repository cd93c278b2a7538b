/*
 * upload_load_bench: tus creation-with-upload over keep-alive connections, for the accept path's
 * figures: the same load for Framewatch and for any other tus server. One thread, epoll.
 *
 *   upload_load_bench --port N [--path /v1/uploads] [--connections 32] [--seconds 10]
 *                     [--bytes 51200] [--key-file FILE]
 *
 * Loopback only. Prints one JSON line; exit 1 when an answer was not 201.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS 256
#define MAX_SAMPLES 2000000
#define ANSWER_BYTES 8192
#define HEAD_BYTES 1024

struct load {
    const char *path;
    char key[256];
    unsigned long port, connections, seconds, bytes;
    uint64_t seed;
    int epoll;
    unsigned char *body;
    uint64_t next, done, refused;
    uint32_t *latency_us;
    uint64_t end_us;
    bool draining;
};

struct connection {
    int fd;
    char head[HEAD_BYTES];
    size_t head_len, sent; /* of head and body together */
    char answer[ANSWER_BYTES];
    size_t got;
    uint64_t begin_us;
    bool busy;
};

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void die(const char *what)
{
    fprintf(stderr, "upload_load_bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* 16 hex digits of a number as base64: what Upload-Metadata wants. */
static void base64(const char *text, char *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t n = strlen(text);

    for (size_t i = 0; i < n; i += 3) {
        const unsigned a = (unsigned char)text[i];
        const unsigned b = i + 1 < n ? (unsigned char)text[i + 1] : 0;
        const unsigned c = i + 2 < n ? (unsigned char)text[i + 2] : 0;

        *out++ = digit[a >> 2];
        *out++ = digit[(a & 3) << 4 | b >> 4];
        *out++ = i + 1 < n ? digit[(b & 15) << 2 | c >> 6] : '=';
        *out++ = i + 2 < n ? digit[c & 63] : '=';
    }
    *out = '\0';
}

static void begin_request(struct load *l, struct connection *c)
{
    char id[40], id64[64], authorization[300] = "";

    snprintf(id, sizeof id, "%08" PRIx64 "-0000-4000-8000-%012" PRIx64, l->seed & 0xffffffff,
             l->next++);
    base64(id, id64);
    if (l->key[0])
        snprintf(authorization, sizeof authorization, "Authorization: Bearer %s\r\n", l->key);

    const int n = snprintf(
        c->head, sizeof c->head,
        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%lu\r\n%sTus-Resumable: 1.0.0\r\n"
        "Upload-Length: %lu\r\nUpload-Metadata: kind c2Vzc2lvbg==,file_id %s,install %s\r\n"
        "Content-Type: application/offset+octet-stream\r\nContent-Length: %lu\r\n\r\n",
        l->path, l->port, authorization, l->bytes, id64, id64, l->bytes);

    if (n < 0 || (size_t)n >= sizeof c->head)
        die("request head too long");
    c->head_len = (size_t)n;
    c->sent = c->got = 0;
    c->begin_us = now_us();
    c->busy = true;
}

static void send_more(struct load *l, struct connection *c)
{
    const size_t total = c->head_len + l->bytes;

    while (c->sent < total) {
        const bool in_head = c->sent < c->head_len;
        const void *from =
            in_head ? (void *)(c->head + c->sent) : (void *)(l->body + c->sent - c->head_len);
        const size_t left = in_head ? c->head_len - c->sent : total - c->sent;
        const ssize_t n = send(c->fd, from, left, MSG_NOSIGNAL | (in_head ? MSG_MORE : 0));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0)
            die("send");
        c->sent += (size_t)n;
    }
}

/* Length of a whole answer in the buffer, 0 if more is to come. */
static size_t whole_answer(const struct connection *c)
{
    const char *end = memmem(c->answer, c->got, "\r\n\r\n", 4);
    const char *length;
    size_t head, body = 0;

    if (!end)
        return 0;
    head = (size_t)(end - c->answer) + 4;
    length = strcasestr(c->answer, "\r\nContent-Length:");
    if (length && length < end)
        body = strtoul(length + 17, NULL, 10);
    return head + body <= c->got ? head + body : 0;
}

static void finish_request(struct load *l, struct connection *c)
{
    const uint64_t us = now_us() - c->begin_us;

    if (strncmp(c->answer, "HTTP/1.1 201", 12) == 0) {
        if (l->done < MAX_SAMPLES)
            l->latency_us[l->done] = (uint32_t)us;
        l->done++;
    } else {
        if (l->refused++ == 0)
            fprintf(stderr, "upload_load_bench: %.200s\n", c->answer);
    }
    c->busy = false;
    if (now_us() < l->end_us) {
        begin_request(l, c);
        send_more(l, c);
    }
}

static void receive(struct load *l, struct connection *c)
{
    for (;;) {
        const ssize_t n = recv(c->fd, c->answer + c->got, ANSWER_BYTES - 1 - c->got, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            errno = n ? errno : ECONNRESET;
            die("connection lost");
        }
        c->got += (size_t)n;
        c->answer[c->got] = '\0';
        if (whole_answer(c)) {
            finish_request(l, c);
            return;
        }
        if (c->got == ANSWER_BYTES - 1)
            die("answer too long");
    }
}

static void open_connection(struct load *l, struct connection *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)l->port)};
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
    const int on = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e) != 0)
        die("epoll");
    begin_request(l, c);
}

static bool any_busy(const struct load *l, const struct connection *c)
{
    for (size_t i = 0; i < l->connections; i++)
        if (c[i].busy)
            return true;
    return false;
}

static void run(struct load *l, struct connection *c)
{
    while (any_busy(l, c)) {
        struct epoll_event events[64];
        const int n = epoll_wait(l->epoll, events, 64, 1000);

        if (n < 0 && errno != EINTR)
            die("epoll_wait");
        if (n == 0 && now_us() > l->end_us + 30000000) {
            errno = ETIMEDOUT;
            die("no answer for 30 s");
        }
        for (int i = 0; i < n; i++) {
            struct connection *at = events[i].data.ptr;

            if (at->busy && events[i].events & EPOLLOUT)
                send_more(l, at);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                receive(l, at);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void print_figures(struct load *l, double seconds)
{
    const size_t n = l->done < MAX_SAMPLES ? l->done : MAX_SAMPLES;

    qsort(l->latency_us, n, sizeof *l->latency_us, by_value);
    printf("{\"uploads\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"seconds\":%.2f,\"per_s\":%.0f,"
           "\"p50_ms\":%.2f,\"p99_ms\":%.2f}\n",
           l->done, l->refused, seconds, (double)l->done / seconds,
           n ? l->latency_us[n / 2] / 1e3 : 0, n ? l->latency_us[n * 99 / 100] / 1e3 : 0);
}

static unsigned long number(const char *text, unsigned long max)
{
    char *end;
    const unsigned long v = strtoul(text, &end, 10);

    if (*end || v < 1 || v > max) {
        fprintf(stderr, "upload_load_bench: not a number up to %lu: %s\n", max, text);
        exit(2);
    }
    return v;
}

static void read_key(struct load *l, const char *path)
{
    FILE *f = fopen(path, "r");

    if (!f || !fgets(l->key, sizeof l->key, f))
        die(path);
    fclose(f);
    l->key[strcspn(l->key, "\r\n")] = '\0';
}

static void read_options(int argc, char **argv, struct load *l)
{
    static const struct option options[] = {
        {"port", 1, NULL, 'p'},    {"path", 1, NULL, 'a'},  {"connections", 1, NULL, 'c'},
        {"seconds", 1, NULL, 's'}, {"bytes", 1, NULL, 'b'}, {"key-file", 1, NULL, 'k'},
        {NULL, 0, NULL, 0}};

    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'p':
            l->port = number(optarg, 65535);
            break;
        case 'a':
            l->path = optarg;
            break;
        case 'c':
            l->connections = number(optarg, MAX_CONNECTIONS);
            break;
        case 's':
            l->seconds = number(optarg, 600);
            break;
        case 'b':
            l->bytes = number(optarg, 8 << 20);
            break;
        case 'k':
            read_key(l, optarg);
            break;
        default:
            exit(2);
        }
    }
    if (!l->port) {
        fprintf(stderr, "upload_load_bench: --port is missing\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct connection connections[MAX_CONNECTIONS];
    struct load l = {.path = "/v1/uploads", .connections = 32, .seconds = 10, .bytes = 51200};

    read_options(argc, argv, &l);
    l.seed = now_us() ^ (uint64_t)getpid() << 20;
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    l.body = malloc(l.bytes);
    l.latency_us = malloc(MAX_SAMPLES * sizeof *l.latency_us);
    if (l.epoll < 0 || !l.body || !l.latency_us)
        die("start");
    for (size_t i = 0; i < l.bytes; i++)
        l.body[i] = (unsigned char)((i * 2654435761u ^ l.seed) >> 13);

    const uint64_t begin = now_us();

    l.end_us = begin + l.seconds * 1000000;
    for (size_t i = 0; i < l.connections; i++)
        open_connection(&l, &connections[i]);
    run(&l, connections);
    print_figures(&l, (double)(now_us() - begin) / 1e6);
    return l.refused || !l.done;
}
