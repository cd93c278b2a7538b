#include "support/toxic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_MESSAGE (2u << 20)
#define WAIT_MS 60000
#define PIECE 16384u

static uint64_t draw(struct toxic *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* Waits for bytes unless the proxy is to stop. */
static bool readable(const struct toxic *t, int fd)
{
    for (int ms = 0; ms < WAIT_MS && !atomic_load(&t->stop); ms += 20) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, 20) > 0)
            return true;
    }
    return false;
}

static bool send_all(int fd, const unsigned char *bytes, size_t n, bool slowly)
{
    size_t step = slowly ? n / 40 + 1 : n;

    for (size_t at = 0; at < n;) {
        size_t piece = n - at < step ? n - at : step;
        ssize_t sent = send(fd, bytes + at, piece, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        at += (size_t)sent;
        if (slowly)
            nap();
    }
    return true;
}

static size_t content_length(const char *head)
{
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
        if (!strncasecmp(line + 2, "Content-Length:", 15))
            return (size_t)strtoul(line + 17, NULL, 10);
    return 0;
}

/* A whole message; false: the connection ended before. */
static bool receive(const struct toxic *t, int fd, bool no_body, struct toxic_message *m)
{
    size_t want = 0;

    m->bytes = malloc(MAX_MESSAGE + 1);
    m->len = 0;
    while (m->bytes && m->len < MAX_MESSAGE && readable(t, fd)) {
        size_t room = MAX_MESSAGE - m->len;
        ssize_t n = recv(fd, m->bytes + m->len, room < PIECE ? room : PIECE, 0);

        if (n <= 0)
            break;
        m->len += (size_t)n;
        m->bytes[m->len] = 0;

        char *end = want ? NULL : strstr((char *)m->bytes, "\r\n\r\n");
        if (end)
            want = (size_t)(end - (char *)m->bytes) + 4 +
                   (no_body ? 0 : content_length((char *)m->bytes));
        if (want && m->len >= want)
            return true;
    }
    free(m->bytes);
    m->bytes = NULL;
    return false;
}

static int connect_to(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The server's answer; bytes NULL: there is none. */
static struct toxic_message forward(struct toxic *t, const struct toxic_message *request,
                                    bool slowly)
{
    struct toxic_message answer = {NULL, 0, false};
    int fd = connect_to(atomic_load(&t->target));

    if (fd >= 0 && send_all(fd, request->bytes, request->len, slowly))
        receive(t, fd, request->to_head, &answer);
    if (fd >= 0)
        close(fd);
    return answer;
}

static void deliver_late(struct toxic *t)
{
    struct toxic_message answer;

    if (!t->late.bytes)
        return;
    answer = forward(t, &t->late, false);
    free(answer.bytes);
    free(t->late.bytes);
    t->late.bytes = NULL;
}

/* Part of a request goes up, and that is all. */
static void cut_request(struct toxic *t, const struct toxic_message *request)
{
    int fd = connect_to(atomic_load(&t->target));

    if (fd < 0)
        return;
    send_all(fd, request->bytes, (size_t)(draw(t) % request->len), false);
    close(fd);
}

/* What the client is told; true: the connection may go on. */
static bool answer_client(struct toxic *t, int client, enum toxin toxin,
                          const struct toxic_message *answer)
{
    size_t n = answer->len;

    if (!answer->bytes)
        return false;
    if (toxin == TOXIN_cut_answer)
        n = (size_t)(draw(t) % n);
    bool sent = send_all(client, answer->bytes, n, toxin == TOXIN_slow);
    if (toxin == TOXIN_answer_twice)
        sent = sent && send_all(client, answer->bytes, n, false);
    return sent && toxin != TOXIN_cut_answer;
}

/* Each once in turn, then as drawn: every other one is let be. */
static enum toxin next_toxin(struct toxic *t)
{
    uint64_t drawn = t->exchanges < TOXIN_COUNT ? t->exchanges : draw(t) % (2 * TOXIN_COUNT);

    t->exchanges++;
    return drawn < TOXIN_COUNT ? (enum toxin)drawn : TOXIN_none;
}

/* One exchange; true: the connection may go on. Takes the request's bytes. */
static bool treat(struct toxic *t, int client, struct toxic_message *request)
{
    enum toxin toxin = next_toxin(t);
    struct toxic_message answer, second = {NULL, 0, false};
    bool go_on;

    atomic_fetch_add(&t->count[toxin], 1);
    if (toxin == TOXIN_cut_request || toxin == TOXIN_late) {
        if (toxin == TOXIN_cut_request)
            cut_request(t, request);
        deliver_late(t);
        if (toxin == TOXIN_late)
            t->late = *request;
        else
            free(request->bytes);
        return false;
    }
    answer = forward(t, request, toxin == TOXIN_slow);
    if (toxin == TOXIN_twice)
        second = forward(t, request, false);
    go_on = answer_client(t, client, toxin, second.bytes ? &second : &answer);
    deliver_late(t);
    free(answer.bytes);
    free(second.bytes);
    free(request->bytes);
    return go_on;
}

/* Whether the client says something before another one knocks: idle connections give way. */
static bool speaks(const struct toxic *t, int client)
{
    struct pollfd p[] = {{.fd = client, .events = POLLIN}, {.fd = t->fd, .events = POLLIN}};

    while (!atomic_load(&t->stop) && !p[0].revents && !p[1].revents)
        poll(p, 2, 20);
    return p[0].revents;
}

static void serve(struct toxic *t, int client)
{
    struct toxic_message request;

    while (speaks(t, client) && receive(t, client, false, &request)) {
        request.to_head = !strncmp((char *)request.bytes, "HEAD ", 5);
        if (!treat(t, client, &request))
            break;
    }
    close(client);
}

static void *run(void *user)
{
    struct toxic *t = user;

    while (!atomic_load(&t->stop)) {
        struct pollfd p = {.fd = t->fd, .events = POLLIN};
        int client = poll(&p, 1, 20) > 0 ? accept(t->fd, NULL, NULL) : -1;

        if (client >= 0)
            serve(t, client);
    }
    return NULL;
}

void toxic_start(struct toxic *t, unsigned target, uint64_t seed)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof here;

    memset(t, 0, sizeof *t);
    t->random = seed | 1;
    atomic_store(&t->target, target);
    t->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (t->fd < 0 || bind(t->fd, (struct sockaddr *)&here, sizeof here) != 0 ||
        listen(t->fd, 16) != 0 || getsockname(t->fd, (struct sockaddr *)&here, &n) != 0 ||
        pthread_create(&t->thread, NULL, run, t) != 0)
        fail_msg("no proxy");
    t->port = ntohs(here.sin_port);
}

void toxic_stop(struct toxic *t)
{
    atomic_store(&t->stop, true);
    pthread_join(t->thread, NULL);
    close(t->fd);
    free(t->late.bytes);
}
