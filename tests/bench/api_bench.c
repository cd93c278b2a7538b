/*
 * Questions over HTTP to the whole server with PostgreSQL: a session of ten minutes (36,000 frames)
 * among 100,000 others, and slices of a build with few and with many sessions. Medians of the time
 * from request to the last byte of the answer; what has a budget as a line of tests/bench/run.sh.
 */
#include "stats/sketch.h"
#include "support/api.h"

#include <stdio.h>
#include <stdlib.h>

#define SECONDS 600
#define ROUNDS 21
#define SESSIONS 100000
#define DAYS 30

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static double ask_ms(struct api *api, const char *name, const char *path)
{
    int64_t us[ROUNDS];
    size_t len = 0;

    for (int i = 0; i < ROUNDS; i++) {
        const struct api_answer *a = api_send(api, (struct api_call){.method = "GET",
                                                                     .path = path,
                                                                     .key = api->key[0][ROLE_READ],
                                                                     .undescribed = true});

        if (a->status != 200) {
            fprintf(stderr, "%s: status %d\n", path, a->status);
            exit(1);
        }
        us[i] = a->us;
        len = a->len;
    }
    qsort(us, ROUNDS, sizeof *us, by_value);
    printf("%-34s %8.2f ms %10zu bytes\n", name, (double)us[ROUNDS / 2] / 1000, len);
    return (double)us[ROUNDS / 2] / 1000;
}

static void put_rollups(struct api *api, int64_t build, int64_t sessions)
{
    struct sketch sketch = {0};
    struct buf text;
    char hex[8192];
    size_t n = 0;

    for (uint32_t t = 12000; t < 90000; t += 500)
        sketch_add(&sketch, t);
    buf_init(&text, sizeof hex);
    sketch_write(&sketch, &text);
    for (size_t i = 0; i < text.len; i++)
        n += (size_t)snprintf(hex + n, sizeof hex - n, "%02x", text.at[i]);
    buf_fini(&text);
    pg_sql(api->conninfo,
           "INSERT INTO frame_rollup SELECT %lld * 64 + g, %lld, tier, '', CURRENT_DATE - day,"
           " %lld, 0, 0, 36000, 720000000, 600000000, 3, 2, 1, 900000, 0, 0, 0, 0, '\\x%s'"
           " FROM generate_series(0, 63) g, generate_series(0, 4) tier, generate_series(1, %d) day",
           (long long)api->app[0], (long long)build, (long long)sessions, hex, DAYS);
}

static int64_t make_build(struct api *api, const char *name)
{
    return pg_i64(api->conninfo,
                  "INSERT INTO build (app_id, platform, version_name, version_code)"
                  " VALUES (%lld, 'android', '%s', 1) RETURNING build_id",
                  (long long)api->app[0], name);
}

static void populate(struct api *api)
{
    pg_sql(api->conninfo, "CREATE TABLE one AS SELECT * FROM session LIMIT 1");
    pg_sql(api->conninfo,
           "UPDATE one SET contribution = '', detail = '{}';"
           "INSERT INTO session SELECT s.* FROM one, generate_series(1, %d) i,"
           " LATERAL jsonb_populate_record(one, jsonb_build_object('session_id', md5(i::text),"
           " 'received_at', now() - i * interval '1 s', 'has_crash', i %% 300 = 0)) s",
           SESSIONS);
    pg_sql(api->conninfo, "ANALYZE");
}

static void ask_about_sessions(struct api *api)
{
    char id[33], path[256];

    api_play(api, 0, 1, SECONDS, id);
    populate(api);
    snprintf(path, sizeof path, "/v1/sessions/%s", id);
    ask_ms(api, "session", path);
    snprintf(path, sizeof path, "/v1/sessions/%s/timeline", id);

    double timeline = ask_ms(api, "timeline, 36,000 frames", path);

    snprintf(path, sizeof path, "/v1/sessions/%s/timeline?buckets=2000", id);
    ask_ms(api, "timeline, 2,000 buckets", path);
    snprintf(path, sizeof path, "/v1/sessions/%s/janks", id);
    ask_ms(api, "janks", path);
    snprintf(path, sizeof path, "/v1/sessions/%s/trace?format=perfetto", id);
    ask_ms(api, "trace, Perfetto", path);
    ask_ms(api, "50 of 100,000 sessions", "/v1/sessions");
    ask_ms(api, "50 of those with a crash", "/v1/sessions?has_crash=true");
    printf("RATIO timeline_over_HTTP,_ms %.1f <= 100\n", timeline);
}

static void ask_about_slices(struct api *api)
{
    int64_t few = make_build(api, "few"), many = make_build(api, "many");
    char path[128];

    put_rollups(api, few, 10);
    put_rollups(api, many, 1000000);
    pg_sql(api->conninfo, "VACUUM ANALYZE frame_rollup");
    snprintf(path, sizeof path, "/v1/slices?build=%lld", (long long)few);

    double small = ask_ms(api, "slice of 96,000 sessions, 30 days", path);

    snprintf(path, sizeof path, "/v1/slices?build=%lld", (long long)many);

    double large = ask_ms(api, "slice of 9.6 billion sessions", path);

    snprintf(path, sizeof path, "/v1/slices?build=%lld&tier=2", (long long)many);
    ask_ms(api, "the same, one tier", path);
    printf("RATIO slice_of_100,000_times_the_sessions,_time %.2f <= 1.5\n", large / small);
}

int main(void)
{
    void *state = NULL;
    struct err err;

    if (!pg_start((struct pg_options){.fsync = true, .own = true}, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    api_setup(&state);
    ask_about_sessions(state);
    ask_about_slices(state);
    api_teardown(&state);
    pg_stop();
    return 0;
}
