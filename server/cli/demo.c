/*
 * framewatch demo: synthetic sessions, written by the SDK's own writer and sent by its tus client
 * to a server over HTTP. For load, for trying things out, and for comparing builds of known
 * difference. Worker threads take one session after another; the main thread shows how far they
 * are.
 */
#include "cli.h"
#include "client.h"
#include "demo_session.h"
#include "demo_symbols.h"
#include "out_file.h"

#include "client-stub/platform/transport_curl.h"
#include "client-stub/src/report/tus.h"

#include "base/digest.h"
#include "server/common/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define MAX_WAIT_MS 60000
#define TIMEOUT_MS 30000

struct run {
    struct demo_config config;
    const char *url, *key;
    atomic_ullong next, done, failed, files, bytes;
    atomic_bool stop; /* the server said something that will not change */
    atomic_int running;
    pthread_mutex_t lock; /* guards `trouble` and stdout */
    char trouble[256];    /* the first failure */
    bool print_ids;
    const char *out_dir; /* files go here instead of to a server */
    struct out_file
        manifest; /* guarded by `lock`: file id, install, session, part; a line a file */
};

struct worker {
    struct run *run;
    struct fw_transport_curl *transport;
    unsigned char chunk[FW_TUS_CHUNK_BYTES];
    pthread_t thread;
    bool started;
};

static void note_trouble(struct run *r, const char *what)
{
    pthread_mutex_lock(&r->lock);
    if (!r->trouble[0])
        snprintf(r->trouble, sizeof r->trouble, "%s", what);
    pthread_mutex_unlock(&r->lock);
}

static void note_status(struct run *r, const char *what, int status)
{
    char text[160];

    snprintf(text, sizeof text, "%s (status %d)", what, status);
    note_trouble(r, text);
}

/* Same session, same part: same file id, so a second run adds nothing. */
static void file_id(const struct demo_session *s, size_t part, char out[37])
{
    char hex[33];

    to_hex(s->id, sizeof s->id, hex);
    snprintf(out, 37, "%.8s-%.4s-4%.3s-8%.3s-%.8s%04x", hex, hex + 8, hex + 12, hex + 16, hex + 24,
             (unsigned)part & 0xffff);
}

static bool keep_part(struct run *r, const struct demo_session *s, size_t part)
{
    char id[37], path[4096], hex[33];
    struct err err;

    file_id(s, part, id);
    to_hex(s->id, sizeof s->id, hex);
    snprintf(path, sizeof path, "%s/%s.fws", r->out_dir, id);
    if (!out_file_put(path, s->part[part].at, s->part[part].len, &err)) {
        note_trouble(r, err.text);
        return false;
    }
    pthread_mutex_lock(&r->lock);
    fprintf(r->manifest.to, "%s\t%s\t%s\t%zu\n", id, s->install, hex, part);
    pthread_mutex_unlock(&r->lock);
    atomic_fetch_add(&r->files, 1);
    atomic_fetch_add(&r->bytes, s->part[part].len);
    return true;
}

static bool send_part(struct worker *w, struct demo_session *s, size_t part)
{
    struct run *r = w->run;
    const struct fw_server server = {
        .url = r->url,
        .api_key = r->key,
        .transport = {fw_transport_curl_exchange, w->transport},
        .timeout_ms = TIMEOUT_MS,
    };
    char id[37];
    const struct fw_tus_field fields[] = {
        {"kind", "session"}, {"fileid", id}, {"install", s->install}};
    struct fw_tus t = {
        .server = &server,
        .fields = fields,
        .n_fields = sizeof fields / sizeof *fields,
        .length = s->part[part].len,
        .read = fw_tus_read_memory,
        .user = s->part[part].at,
        .chunk = w->chunk,
        .chunk_bytes = sizeof w->chunk,
        .random = s->id[0] + 1u,
    };

    file_id(s, part, id);
    switch (fw_tus_run(&t, MAX_WAIT_MS)) {
    case FW_TUS_DONE:
        atomic_fetch_add(&r->files, 1);
        atomic_fetch_add(&r->bytes, s->part[part].len);
        return true;
    case FW_TUS_DENIED:
        note_status(r, "the server does not take this key for uploads", t.status);
        atomic_store(&r->stop, true);
        return false;
    case FW_TUS_REFUSED:
        note_status(r, "the server refused a file", t.status);
        return false;
    default:
        note_status(
            r, t.status ? "the server could not take a file in time" : "the server does not answer",
            t.status);
        if (!t.status)
            atomic_store(&r->stop, true);
        return false;
    }
}

static bool send_session(struct worker *w, uint64_t index)
{
    struct demo_session s;
    bool good = true;

    if (!demo_session_make(&w->run->config, index, &s)) {
        note_trouble(w->run, "out of memory");
        return false;
    }
    for (size_t i = 0; i < s.n_parts && good; i++)
        good = w->run->out_dir ? keep_part(w->run, &s, i) : send_part(w, &s, i);
    if (good && w->run->print_ids) {
        char hex[33];

        to_hex(s.id, sizeof s.id, hex);
        pthread_mutex_lock(&w->run->lock);
        puts(hex);
        pthread_mutex_unlock(&w->run->lock);
    }
    demo_session_fini(&s);
    return good;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct run *r = w->run;

    while (!atomic_load(&r->stop)) {
        const uint64_t index = atomic_fetch_add(&r->next, 1);

        if (index >= r->config.sessions)
            break;
        if (send_session(w, index))
            atomic_fetch_add(&r->done, 1);
        else
            atomic_fetch_add(&r->failed, 1);
    }
    atomic_fetch_sub(&r->running, 1);
    return NULL;
}

static void show_progress(const struct run *r, int64_t begin_us)
{
    static const char bar[] = "########################################";
    const unsigned long long done = atomic_load(&r->done);
    const double seconds = (double)(now_us() - begin_us) / 1e6;
    const int filled = (int)(done * 40 / r->config.sessions);

    fprintf(stderr, "\r[%-40.*s] %llu/%llu sessions, %.0f/s ", filled, bar, done,
            (unsigned long long)r->config.sessions, seconds > 0 ? (double)done / seconds : 0);
    fflush(stderr);
}

static void wait_for_workers(struct run *r, int64_t begin_us)
{
    const bool terminal = isatty(STDERR_FILENO);
    const struct timespec pause = {0, 100000000};

    while (terminal && atomic_load(&r->running) > 0) {
        show_progress(r, begin_us);
        nanosleep(&pause, NULL);
    }
    if (terminal) {
        show_progress(r, begin_us);
        fputc('\n', stderr);
    }
}

static bool start_workers(struct run *r, struct worker *workers, size_t n)
{
    /* All transports first: libcurl is set up while there is one thread. */
    for (size_t i = 0; i < n; i++) {
        workers[i].run = r;
        workers[i].transport = fw_transport_curl_new(&r->stop);
        if (!workers[i].transport)
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        atomic_fetch_add(&r->running, 1);
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
        if (!workers[i].started) {
            atomic_fetch_sub(&r->running, 1);
            atomic_store(&r->stop, true);
            return false;
        }
    }
    return true;
}

static int send_all(struct run *r, size_t threads)
{
    struct worker *workers = calloc(threads, sizeof *workers);
    const int64_t begin_us = now_us();
    const bool started = workers && start_workers(r, workers, threads);

    if (started)
        wait_for_workers(r, begin_us);
    for (size_t i = 0; workers && i < threads; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        fw_transport_curl_free(workers[i].transport);
    }
    free(workers);

    const double seconds = (double)(now_us() - begin_us) / 1e6;
    const unsigned long long done = atomic_load(&r->done), failed = atomic_load(&r->failed);

    fprintf(r->print_ids ? stderr : stdout,
            "%llu sessions in %.1f s: %.1f sessions/s, %llu files, %.1f MB, %llu failed\n", done,
            seconds, (double)done / seconds, atomic_load(&r->files),
            (double)atomic_load(&r->bytes) / 1e6, failed);
    if (r->trouble[0])
        fprintf(stderr, "framewatch: %s\n", r->trouble);
    return started && !failed && done == r->config.sessions ? CLI_OK : CLI_FAILED;
}

/* Builds, made known as CI would ----------------------------------------------------------------
 */

static json_t *build_body(const struct demo_config *c, size_t version, bool ios)
{
    const struct demo_version *v = &c->version[version];
    const time_t released =
        (time_t)(c->wall_ms / 1000) - (time_t)(c->n_versions - version) * 7 * 24 * 3600;
    json_t *ids = json_array();
    char uid[64], when[32];
    struct tm utc;

    for (unsigned m = 1; m <= DEMO_MODULES; m++) {
        unsigned char id[20];
        char hex[41];

        demo_debug_id(ios, m, v, id);
        to_hex(id, ios ? 16 : 20, hex);
        json_array_append_new(ids, json_string(hex));
    }
    demo_build_uid(ios, v, uid);
    gmtime_r(&released, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:o, s:s}", "platform", ios ? "ios" : "android",
                     "version_name", v->name, "version_code", (json_int_t)v->code, "build_uid", uid,
                     "package", "com.example.game", "debug_ids", ids, "released_at", when);
}

static bool register_builds(const struct demo_config *c, const struct client_options *admin,
                            struct err *err)
{
    struct client *client = client_open(admin, err);
    bool good = client;

    for (size_t i = 0; good && i < c->n_versions * 2; i++) {
        json_t *body = build_body(c, i / 2, i % 2);

        good = body ? client_send(client, "POST", "/v1/builds", body, NULL, err) : err_memory(err);
        json_decref(body);
    }
    client_close(client);
    return good;
}

/* The command -----------------------------------------------------------------------------------
 */

/* "2.13.0:21300,2.14.0:21400", the newest last. */
static bool read_versions(const char *text, struct demo_config *c, struct err *err)
{
    while (*text) {
        const size_t n = strcspn(text, ":,");
        struct demo_version *v = &c->version[c->n_versions];
        char *end;

        if (c->n_versions == DEMO_MAX_VERSIONS)
            return err_field(err, ERR_TOO_BIG, "versions", "--versions: at most %d",
                             DEMO_MAX_VERSIONS);
        errno = 0;
        v->code = text[n] == ':' ? strtoull(text + n + 1, &end, 10) : 0;
        if (text[n] != ':' || !n || n >= sizeof v->name || end == text + n + 1 ||
            (*end && *end != ',') || errno || v->code > INT64_MAX)
            return err_field(err, ERR_INVALID, "versions",
                             "--versions: NAME:CODE,NAME:CODE, the newest last");
        memcpy(v->name, text, n);
        v->name[n] = '\0';
        c->n_versions++;
        text = *end ? end + 1 : end;
    }
    return c->n_versions || err_field(err, ERR_INVALID, "versions", "--versions: none given");
}

static bool read_tier(const char *text, int *out, struct err *err)
{
    static const char *const name[DEMO_TIERS] = {"low", "mid", "high"};

    *out = -1;
    for (int i = 0; text && i < DEMO_TIERS; i++)
        if (strcmp(text, name[i]) == 0)
            *out = i;
    return !text || *out >= 0 || err_field(err, ERR_INVALID, "tier", "--tier: low, mid or high");
}

struct settings {
    struct client_options server;
    const char *out_dir, *symbols_dir, *admin_key_file, *versions, *app, *tier, *scene;
    int64_t sessions, seed, seconds, part_seconds, regression, more_janks, concurrency;
    bool print_ids;
};

static bool fill_config(const struct settings *s, struct demo_config *c, struct err *err)
{
    const time_t now = time(NULL);

    *c = (struct demo_config){
        .seed = (uint64_t)s->seed,
        .sessions = (uint64_t)s->sessions,
        .app = s->app,
        .mean_seconds = (unsigned)s->seconds,
        .part_seconds = (unsigned)s->part_seconds,
        .wall_ms = (int64_t)(now - now % 3600) * 1000, /* the same for an hour, so are the bytes */
        .slow_percent = (int)s->regression,
        .slow_scene = s->scene,
        .more_janks_percent = (unsigned)s->more_janks,
    };
    return read_versions(s->versions, c, err) && read_tier(s->tier, &c->slow_tier, err);
}

static int write_files(struct run *r, const struct settings *s)
{
    char path[4096];
    struct err err = {0};
    int code;

    snprintf(path, sizeof path, "%s/manifest.tsv", s->out_dir);
    r->out_dir = s->out_dir;
    if (!out_file_open(&r->manifest, path, &err))
        return cli_fail(&err);
    code = send_all(r, (size_t)s->concurrency);
    if (!out_file_close(&r->manifest, code == CLI_OK, &err) && code == CLI_OK)
        return cli_fail(&err);
    return code;
}

static int run_demo(const struct settings *s)
{
    struct run r = {.lock = PTHREAD_MUTEX_INITIALIZER, .print_ids = s->print_ids};
    const struct client_options admin = {s->server.server, s->admin_key_file};
    struct err err = {0};
    struct client *client;

    if (!fill_config(s, &r.config, &err)) {
        cli_fail(&err);
        return CLI_USAGE;
    }
    if (s->symbols_dir && !demo_symbols_write(&r.config, s->symbols_dir, &err))
        return cli_fail(&err);
    if (s->out_dir)
        return write_files(&r, s);
    if (s->admin_key_file && !register_builds(&r.config, &admin, &err))
        return cli_fail(&err);
    client = client_open(&s->server, &err);
    if (!client)
        return cli_fail(&err);
    r.url = client_url(client);
    r.key = client_key(client);

    const int code = send_all(&r, (size_t)s->concurrency);

    client_close(client);
    return code;
}

int cmd_demo(int argc, char **argv)
{
    struct settings s = {.versions = "2.13.0:21300,2.14.0:21400",
                         .app = "demo",
                         .sessions = 100,
                         .seed = 1,
                         .seconds = 180,
                         .part_seconds = 120,
                         .concurrency = 8};
    const struct cli_option options[] = {
        OPT_I64("sessions", "N", &s.sessions, 1, 10000000, "how many; default 100"),
        OPT_I64("seed", "N", &s.seed, 0, INT64_MAX, "same seed, same sessions; default 1"),
        OPT_CLIENT(&s.server),
        OPT_TEXT("out", "DIR", &s.out_dir, "write the files and a manifest there, send nothing"),
        OPT_TEXT("symbols", "DIR", &s.symbols_dir, "write the builds' debug files there"),
        OPT_TEXT("admin-key-file", "FILE", &s.admin_key_file, "registers the builds first"),
        OPT_TEXT("versions", "LIST", &s.versions,
                 "NAME:CODE,… by age; default 2.13.0:21300,2.14.0:21400"),
        OPT_I64("seconds", "N", &s.seconds, 10, DEMO_MAX_SECONDS / 3,
                "mean length of a session; default 180"),
        OPT_I64("part-seconds", "N", &s.part_seconds, 60, DEMO_MAX_SECONDS,
                "length of a file of it; default 120"),
        OPT_I64("regression", "PCT", &s.regression, -90, 1000,
                "frames of the newest version take so much longer"),
        OPT_I64("more-janks", "PCT", &s.more_janks, 0, 1000,
                "so many more janks in the newest version, all of one cause"),
        OPT_TEXT("tier", "TIER", &s.tier, "only on low, mid or high devices"),
        OPT_TEXT("scene", "SCENE", &s.scene,
                 "only there: a mode (battle) or a mode and map (battle/arena_5v5)"),
        OPT_TEXT("app", "NAME", &s.app, "the game's name for itself; default demo"),
        OPT_I64("concurrency", "N", &s.concurrency, 1, MAX_THREADS, "connections; default 8"),
        OPT_FLAG("print-ids", &s.print_ids, "print each session's id when it is sent"),
        OPT_END};
    const struct cli_usage usage = {
        .command = "demo",
        .args = "",
        .help = "Sends synthetic sessions: about 40 phone models, two builds, scenes, heat, janks\n"
                "with stacks, crashes, feedback; a few rooted, emulated or with invalid values.",
        .options = options};
    struct cli_args args;
    int code;

    return cli_parse(&usage, argc, argv, &args, &code) ? run_demo(&s) : code;
}
