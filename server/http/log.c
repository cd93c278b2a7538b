#include "server/http/log.h"

#include "server/common/clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES (256u * 1024)
#define FLUSH_MS 100
#define SELDOM_MS 1000

static struct {
    pthread_mutex_t lock; /* guards filling, len, stopping */
    pthread_cond_t wake;
    pthread_t thread;
    char *filling, *writing;
    size_t len;
    bool stopping;
    int fd;
    _Atomic bool open;
    _Atomic int level;
    _Atomic uint64_t dropped;
    uint64_t told; /* of dropped; writer only */
} log_state = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO, .level = LOG_INFO};

static void write_all(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t done = write(fd, text, n);

        if (done <= 0)
            return; /* nowhere left to say it */
        text += done;
        n -= (size_t)done;
    }
}

static void tell_dropped(void)
{
    uint64_t dropped = atomic_load(&log_state.dropped);
    char text[96];

    if (dropped == log_state.told)
        return;
    int n = snprintf(text, sizeof text, "level=warn msg=\"log lines dropped\" lines=%" PRIu64 "\n",
                     dropped - log_state.told);
    log_state.told = dropped;
    write_all(log_state.fd, text, (size_t)n);
}

/* With the lock held: the filled buffer, swapped for the empty one. */
static size_t take(char **out)
{
    size_t n = log_state.len;

    *out = log_state.filling;
    log_state.filling = log_state.writing;
    log_state.writing = *out;
    log_state.len = 0;
    return n;
}

static void *write_lines(void *unused)
{
    bool stopping;

    (void)unused;
    do {
        struct timespec deadline = monotonic_in(FLUSH_MS);
        char *text;

        pthread_mutex_lock(&log_state.lock);
        if (!log_state.stopping && log_state.len < BUFFER_BYTES / 2)
            pthread_cond_timedwait(&log_state.wake, &log_state.lock, &deadline);
        stopping = log_state.stopping;
        size_t n = take(&text);
        pthread_mutex_unlock(&log_state.lock);
        write_all(log_state.fd, text, n);
        tell_dropped();
    } while (!stopping);
    return NULL;
}

bool log_open(int fd, enum log_level level, struct err *err)
{

    log_state.filling = malloc(BUFFER_BYTES);
    log_state.writing = malloc(BUFFER_BYTES);
    log_state.fd = fd;
    log_state.len = 0;
    log_state.stopping = false;
    atomic_store(&log_state.level, (int)level);
    monotonic_cond_init(&log_state.wake);
    if (!log_state.filling || !log_state.writing ||
        pthread_create(&log_state.thread, NULL, write_lines, NULL) != 0) {
        free(log_state.filling);
        free(log_state.writing);
        return err_set(err, ERR_INTERNAL, "cannot start the log's thread");
    }
    atomic_store(&log_state.open, true);
    return true;
}

void log_close(void)
{
    if (!atomic_load(&log_state.open))
        return;
    pthread_mutex_lock(&log_state.lock);
    atomic_store(&log_state.open, false);
    log_state.stopping = true;
    pthread_cond_signal(&log_state.wake);
    pthread_mutex_unlock(&log_state.lock);
    pthread_join(log_state.thread, NULL);
    pthread_cond_destroy(&log_state.wake);
    free(log_state.filling);
    free(log_state.writing);
}

bool log_on(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&log_state.level, memory_order_relaxed);
}

uint64_t log_dropped(void)
{
    return atomic_load(&log_state.dropped);
}

static void put_time(struct logfmt *l)
{
    static _Thread_local time_t second;
    static _Thread_local char text[32]; /* of that second */
    enum { MS_AT = sizeof "2000-01-01T00:00:00." - 1 };
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec != second) {
        struct tm utc;

        gmtime_r(&now.tv_sec, &utc);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000Z", &utc);
        second = now.tv_sec;
    }
    for (long ms = now.tv_nsec / 1000000, i = 2; i >= 0; i--, ms /= 10)
        text[MS_AT + i] = (char)('0' + ms % 10);
    logfmt_text(l, "ts", text);
}

void log_begin(struct logfmt *l, enum log_level level, const char *msg)
{
    static const char *const name[] = {"error", "warn", "info", "debug"};

    l->len = 0;
    put_time(l);
    logfmt_text(l, "level", name[level]);
    logfmt_text(l, "msg", msg);
}

void log_end(struct logfmt *l)
{
    l->text[l->len++] = '\n'; /* in place of the NUL */
    if (!atomic_load(&log_state.open)) {
        write_all(STDERR_FILENO, l->text, l->len);
        return;
    }
    pthread_mutex_lock(&log_state.lock);
    if (log_state.stopping || BUFFER_BYTES - log_state.len < l->len) {
        atomic_fetch_add(&log_state.dropped, 1);
    } else {
        memcpy(log_state.filling + log_state.len, l->text, l->len);
        log_state.len += l->len;
    }
    if (log_state.len >= BUFFER_BYTES / 2)
        pthread_cond_signal(&log_state.wake);
    pthread_mutex_unlock(&log_state.lock);
}

void log_fields(enum log_level level, const char *msg, const char *fmt, ...)
{
    struct logfmt l;
    char fields[LOGFMT_BYTES];
    va_list ap;

    if (!log_on(level))
        return;
    va_start(ap, fmt);
    vsnprintf(fields, sizeof fields, fmt, ap);
    va_end(ap);
    log_begin(&l, level, msg);
    logfmt_fields(&l, fields);
    log_end(&l);
}

static void log_err_held(enum log_level level, const char *msg, const struct err *err,
                         uint64_t held)
{
    struct logfmt l;

    if (!log_on(level))
        return;
    log_begin(&l, level, msg);
    if (err->field[0])
        logfmt_text(&l, "field", err->field);
    logfmt_text(&l, "error", err->text);
    if (held)
        logfmt_i64(&l, "held_back", (int64_t)held);
    log_end(&l);
}

void log_err(enum log_level level, const char *msg, const struct err *err)
{
    log_err_held(level, msg, err, 0);
}

void log_err_seldom(struct log_limit *limit, enum log_level level, const char *msg,
                    const struct err *err)
{
    int64_t now = now_ms(), next = atomic_load(&limit->next_ms);

    if (now < next || !atomic_compare_exchange_strong(&limit->next_ms, &next, now + SELDOM_MS))
        atomic_fetch_add(&limit->held, 1);
    else
        log_err_held(level, msg, err, atomic_exchange(&limit->held, 0));
}
