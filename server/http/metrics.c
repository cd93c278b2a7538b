#include "server/http/metrics.h"

#include "server/http/log.h"

#include <inttypes.h>
#include <stdio.h>

#define BUCKETS_MAX 16
#define CLASSES 5 /* 1xx..5xx */

struct histogram {
    const char *name, *help;
    double unit; /* observed value * unit = exposed value */
    unsigned n;
    int64_t bound[BUCKETS_MAX];
    _Atomic uint64_t count[BUCKETS_MAX + 1];
    _Atomic uint64_t sum;
};

#define TIME_BOUNDS                                                                                \
    .n = 12, .bound = {1000,   2500,   5000,   10000,   25000,   50000,                            \
                       100000, 250000, 500000, 1000000, 2500000, 10000000}

static struct histogram histograms[HIST_N] = {
    [HIST_request_seconds] = {.name = "framewatch_http_request_seconds",
                              .help = "Time from the request's first line to its answer.",
                              .unit = 1e-6,
                              TIME_BOUNDS},
    [HIST_commit_seconds] = {.name = "framewatch_commit_seconds",
                             .help = "Time of a committer's transaction.",
                             .unit = 1e-6,
                             TIME_BOUNDS},
    [HIST_commit_batch_ops] = {.name = "framewatch_commit_batch_ops",
                               .help = "Creations and chunks in a committer's transaction.",
                               .unit = 1,
                               .n = 9,
                               .bound = {1, 2, 4, 8, 16, 32, 64, 128, 256}},
};

static _Atomic uint64_t counters[COUNT_N];
static _Atomic int64_t gauges[GAUGE_N];
static _Atomic uint64_t refusals[REFUSED_N];
static struct {
    unsigned n;
    const char *name[METRIC_ROUTES_MAX];
    _Atomic uint64_t count[METRIC_ROUTES_MAX][CLASSES];
} routes;

void metric_add(enum metric_counter c, uint64_t n)
{
    atomic_fetch_add_explicit(&counters[c], n, memory_order_relaxed);
}

static uint64_t metric_value(enum metric_counter c)
{
    return atomic_load_explicit(&counters[c], memory_order_relaxed);
}

void gauge_add(enum metric_gauge g, int64_t n)
{
    atomic_fetch_add_explicit(&gauges[g], n, memory_order_relaxed);
}

void gauge_set(enum metric_gauge g, int64_t v)
{
    atomic_store_explicit(&gauges[g], v, memory_order_relaxed);
}

static int64_t gauge_value(enum metric_gauge g)
{
    return atomic_load_explicit(&gauges[g], memory_order_relaxed);
}

void metric_refused(enum refusal why)
{
    atomic_fetch_add_explicit(&refusals[why], 1, memory_order_relaxed);
}

static uint64_t metric_refusals(enum refusal why)
{
    return atomic_load_explicit(&refusals[why], memory_order_relaxed);
}

static const char *refusal_name(enum refusal why)
{
    static const char *const name[] = {
#define X(id) #id,
        METRIC_REFUSALS(X)
#undef X
    };
    return name[why];
}

void metric_observe(enum metric_histogram h, int64_t v)
{
    struct histogram *hist = &histograms[h];
    unsigned i = 0;

    while (i < hist->n && v > hist->bound[i])
        i++;
    atomic_fetch_add_explicit(&hist->count[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&hist->sum, (uint64_t)(v < 0 ? 0 : v), memory_order_relaxed);
}

unsigned metric_route(const char *name)
{
    if (routes.n == METRIC_ROUTES_MAX)
        return METRIC_ROUTES_MAX - 1; /* the last one gathers what does not fit */
    routes.name[routes.n] = name;
    return routes.n++;
}

void metric_request(unsigned route, int status, int64_t us)
{
    unsigned class = (unsigned)(status / 100 - 1);

    if (class < CLASSES && route < METRIC_ROUTES_MAX)
        atomic_fetch_add_explicit(&routes.count[route][class], 1, memory_order_relaxed);
    metric_observe(HIST_request_seconds, us);
}

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_counters(struct buf *b)
{
#define X(id, name, help)                                                                          \
    head(b, name, "counter", help);                                                                \
    buf_printf(b, "%s %" PRIu64 "\n", name, metric_value(COUNT_##id));
    METRIC_COUNTERS(X)
#undef X
#define X(id, name, help)                                                                          \
    head(b, name, "gauge", help);                                                                  \
    buf_printf(b, "%s %" PRId64 "\n", name, gauge_value(GAUGE_##id));
    METRIC_GAUGES(X)
#undef X
    head(b, "framewatch_log_lines_dropped_total", "counter",
         "Log lines lost because they could not be written fast enough.");
    buf_printf(b, "framewatch_log_lines_dropped_total %" PRIu64 "\n", log_dropped());
}

static void write_refusals(struct buf *b)
{
    head(b, "framewatch_http_refused_total", "counter", "Requests not served, by reason.");
    for (unsigned i = 0; i < REFUSED_N; i++)
        buf_printf(b, "framewatch_http_refused_total{reason=\"%s\"} %" PRIu64 "\n",
                   refusal_name((enum refusal)i), metric_refusals((enum refusal)i));
}

static void write_routes(struct buf *b)
{
    head(b, "framewatch_http_requests_total", "counter",
         "Requests answered, by route and class of status.");
    for (unsigned r = 0; r < routes.n; r++)
        for (unsigned c = 0; c < CLASSES; c++) {
            uint64_t n = atomic_load_explicit(&routes.count[r][c], memory_order_relaxed);

            if (n)
                buf_printf(
                    b, "framewatch_http_requests_total{route=\"%s\",code=\"%uxx\"} %" PRIu64 "\n",
                    routes.name[r], c + 1, n);
        }
}

static void write_histogram(struct buf *b, const struct histogram *h)
{
    uint64_t sum = atomic_load_explicit(&h->sum, memory_order_relaxed), n = 0;

    head(b, h->name, "histogram", h->help);
    for (unsigned i = 0; i < h->n; i++) {
        n += atomic_load_explicit(&h->count[i], memory_order_relaxed);
        buf_printf(b, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", h->name, (double)h->bound[i] * h->unit,
                   n);
    }
    n += atomic_load_explicit(&h->count[h->n], memory_order_relaxed);
    buf_printf(b, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", h->name, n);
    buf_printf(b, "%s_sum %.6f\n%s_count %" PRIu64 "\n", h->name, (double)sum * h->unit, h->name,
               n);
}

void metrics_write(struct buf *b)
{
    write_counters(b);
    write_refusals(b);
    write_routes(b);
    for (unsigned i = 0; i < HIST_N; i++)
        write_histogram(b, &histograms[i]);
}
