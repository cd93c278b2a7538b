/*
 * Takes connections and hands them to libmicrohttpd's threads. These could accept by themselves,
 * but not end it: MHD_quiesce_daemon (0.9.75) and a thread of its pool both take the socket out of
 * epoll, and whoever comes second aborts the process.
 */
#include "server/http/log.h"
#include "server/http/server_internal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_MS 100 /* without descriptors or memory, which will not be over at once */

/* A place for one more connection, as soon as there is one; false: no more are to be taken. */
static bool place_take(struct http_server *s)
{
    pthread_mutex_lock(&s->peers_lock);
    while (s->places_taken >= s->config.connections && !s->accepting_ends)
        pthread_cond_wait(&s->place_free, &s->peers_lock);

    bool taken = !s->accepting_ends;

    s->places_taken += taken;
    pthread_mutex_unlock(&s->peers_lock);
    return taken;
}

void acceptor_place_give(struct http_server *s)
{
    pthread_mutex_lock(&s->peers_lock);
    s->places_taken--;
    pthread_cond_signal(&s->place_free);
    pthread_mutex_unlock(&s->peers_lock);
}

static void tell_failure(int why)
{
    static struct log_limit seldom;
    struct err err = {0};

    err_set(&err, ERR_BUSY, "%s", strerror(why));
    log_err_seldom(&seldom, LOG_WARN, "cannot accept connections", &err);
}

/* The next connection; -1: no more are to be taken. */
static int accept_one(struct http_server *s, struct sockaddr_storage *from, socklen_t *n)
{
    struct pollfd look[2] = {{.fd = s->accept_wake, .events = POLLIN},
                             {.fd = s->listen_fd, .events = POLLIN}};

    for (;;) {
        poll(look, 2, -1);
        if (look[0].revents)
            return -1;
        *n = sizeof *from;

        int fd = accept4(s->listen_fd, (struct sockaddr *)from, n, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0)
            return fd;
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            tell_failure(errno);
            poll(look, 1, PAUSE_MS);
        }
    }
}

static void *run_acceptor(void *arg)
{
    struct http_server *s = arg;
    struct sockaddr_storage from;
    socklen_t n;

    while (place_take(s)) {
        int fd = accept_one(s, &from, &n);

        /* one that it does not take is closed by it */
        if (fd < 0 || MHD_add_connection(s->daemon, fd, (struct sockaddr *)&from, n) != MHD_YES)
            acceptor_place_give(s);
    }
    return NULL;
}

bool acceptor_start(struct http_server *s, struct err *err)
{
    s->accept_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->accept_wake < 0)
        return err_set(err, ERR_INTERNAL, "no eventfd: %s", strerror(errno));
    s->acceptor_started = pthread_create(&s->acceptor, NULL, run_acceptor, s) == 0;
    return s->acceptor_started ||
           err_set(err, ERR_INTERNAL, "cannot start the thread that accepts connections");
}

void acceptor_stop(struct http_server *s)
{
    uint64_t one = 1;

    if (s->acceptor_started) {
        pthread_mutex_lock(&s->peers_lock);
        s->accepting_ends = true;
        pthread_cond_signal(&s->place_free);
        pthread_mutex_unlock(&s->peers_lock);
        while (write(s->accept_wake, &one, sizeof one) < 0 && errno == EINTR)
            ;
        pthread_join(s->acceptor, NULL);
        s->acceptor_started = false;
    }
    if (s->accept_wake >= 0)
        close(s->accept_wake);
    s->accept_wake = -1;
}
