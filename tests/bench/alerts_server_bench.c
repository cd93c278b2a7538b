/*
 * alerts_server_bench: the releases of alerts_bench (support/release_sim.h) once more, through the
 * whole: each session written by the SDK's own writer and sent by its tus client to a real
 * framewatchd on a PostgreSQL of its own, which finds the tiers, freezes the expectation and looks
 * as often as the simulation does. The same sessions at the same moments, the same install groups:
 * what the analysis functions say of them stands beside. Called by alerts.sh --server.
 */
#include "platform/transport_curl.h"
#include "src/report/tus.h"
#include "wire/session_writer.h"

#include "base/digest.h"
#include "support/release_tally.h"
#include "support/rng.h"
#include "support/server.h"

#include <getopt.h>
#include <libpq-fe.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SENDERS 4
#define BATCH 512
#define PACKET_BYTES (1u << 20)
#define FILE_BYTES (1u << 20)
#define ROW_FRAMES 2048 /* the wire's */
#define REFIT_LOOKS 10  /* tiers are fitted anew so often, about every third day */
#define TIMEOUT_MS 120000
#define WAIT_MS 600000
#define MODELS 64      /* at most, of a tier */
#define STALLED_S 3600 /* of one job, on a machine that is busy with other things */

static const char *const metric_keys[SIM_METRICS] = {"p50", "p90", "mean", "janks"};

/* One file on its way. */
struct file {
    char id[37], install[37];
    unsigned arm;
    struct fw_buf body;
};

struct bench {
    const struct sim_options *o;
    unsigned run;
    struct server *server;
    PGconn *pg;
    struct fw_compressor *compressor;
    struct fw_buf packets;
    char (*install)[37]; /* ids, by number; "" until it plays */
    struct file *file;   /* played, not sent yet */
    size_t files, cap;
    uint64_t sessions; /* played so far */
    unsigned looks;
    bool tiered, frozen;
    struct sim_release seen; /* what the server says */
    struct sim_slice whole[SIM_TIERS];
    bool told_right, told_wrong; /* an alert was opened in the slowed slice, in another one */
    unsigned models, misplaced;
    struct {
        int64_t sessions, shown_e6[SIM_TIMES];
    } planted[SIM_TIERS][MODELS]; /* of the new build in the slowed scene */
};

static void die(const char *what)
{
    fprintf(stderr, "alerts: %s\n", what);
    exit(1);
}

static void need(bool good)
{
    if (!good)
        die("out of memory");
}

static int64_t now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* Writing ----------------------------------------------------------------------------------------
 */

static void uuid_of(struct rng *r, char out[37])
{
    const uint64_t a = rng_next(r), b = rng_next(r);

    snprintf(out, 37, "%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xfff, (unsigned)(b >> 48) & 0xfff,
             (unsigned long long)b & 0xffffffffffff);
}

/* An id that falls into the install's group, as the simulation drew it. */
static const char *install_id(struct bench *b, const struct sim_played *s)
{
    char *id = b->install[s->install];
    struct rng r = rng_of(b->o->seed ^ UINT64_C(0x1d5ea7), (uint64_t)b->run << 32 | s->install);
    unsigned char hash[SHA256_BYTES];

    if (*id)
        return id;
    do {
        uuid_of(&r, id);
        sha256(id, strlen(id), hash);
    } while (hash[0] % INSTALL_GROUPS != s->group);
    return id;
}

/* What phones of such a tier are made of; models of one tier differ in nothing but their speed. */
static void write_header(struct bench *b, const struct sim_played *s, const unsigned char id[16])
{
    static const struct fw_wire_cluster cluster[SIM_TIERS][2] = {
        {{4, 1600000}, {4, 2000000}}, {{6, 1900000}, {2, 2400000}}, {{4, 2000000}, {4, 3000000}}};
    static const uint32_t ram_mb[SIM_TIERS] = {3072, 6144, 12288};
    char model[32], soc[32];
    const struct fw_wire_header h = {.app = "game",
                                     .version_name = s->arm ? "2.0.0" : "1.0.0",
                                     .version_code = s->arm ? 200 : 100,
                                     .build_id = s->arm ? "build-200" : "build-100",
                                     .sdk_version = FW_VERSION,
                                     .platform = FW_PLATFORM_ANDROID,
                                     .wall_start_ms = (int64_t)time(NULL) * 1000,
                                     .manufacturer = "Simulated",
                                     .model = model,
                                     .soc = soc,
                                     .os_version = "14",
                                     .clusters = cluster[s->tier],
                                     .n_clusters = 2,
                                     .ram_mb = ram_mb[s->tier],
                                     .screen_width_px = 1080,
                                     .screen_height_px = 2400,
                                     .refresh_millihertz = 60000};
    struct fw_wire_header copy = h;

    snprintf(model, sizeof model, "%u-%u", s->tier, s->model);
    snprintf(soc, sizeof soc, "SoC %u-%u", s->tier, s->model % 8);
    memcpy(copy.session_id, id, sizeof copy.session_id);
    need(fw_wire_header(&b->packets, &copy));
}

static uint64_t write_scene(struct bench *b, unsigned scene, const uint32_t *us, uint64_t at_us)
{
    char map[16];

    snprintf(map, sizeof map, "%u", scene);
    need(fw_wire_scene(&b->packets, at_us, "level", map, NULL, 0));
    for (unsigned i = 0, n; i < b->o->frames; i += n) {
        n = b->o->frames - i < ROW_FRAMES ? b->o->frames - i : ROW_FRAMES;

        const struct fw_wire_frames f = {.start_us = at_us,
                                         .interval_us = us + i,
                                         .n = n,
                                         .target_interval_us = 16667,
                                         .refresh_millihertz = 60000};

        need(fw_wire_frames(&b->packets, &f));
        for (unsigned k = i; k < i + n; k++)
            at_us += us[k];
    }
    return at_us;
}

static struct file *new_file(struct bench *b)
{
    if (b->files == b->cap) {
        struct file *more = realloc(b->file, (b->cap + BATCH) * sizeof *more);

        need(more);
        b->file = more;
        b->cap += BATCH;
    }
    return &b->file[b->files++];
}

static void write_session(struct bench *b, const struct sim_played *s)
{
    struct rng r = rng_of(b->o->seed ^ UINT64_C(0x5e5510), (uint64_t)b->run << 32 | b->sessions++);
    struct file *f = new_file(b);
    unsigned char id[FW_SESSION_ID_BYTES];
    uint64_t at_us = 0;

    for (size_t i = 0; i < sizeof id; i++)
        id[i] = (unsigned char)rng_next(&r);
    uuid_of(&r, f->id);
    snprintf(f->install, sizeof f->install, "%s", install_id(b, s));
    fw_wire_session_id(id, f->install);
    f->arm = s->arm;
    fw_buf_reset(&b->packets);
    write_header(b, s, id);
    need(fw_wire_lifecycle(&b->packets, 0, FW_LIFE_FOREGROUND, 0));
    for (unsigned i = 0; i < s->scenes; i++)
        at_us = write_scene(b, s->in[i].scene, s->in[i].frame_us, at_us);
    need(fw_wire_end(&b->packets, at_us, FW_END_STOPPED));
    fw_buf_init(&f->body, FILE_BYTES);
    need(fw_compress(b->compressor, b->packets.at, b->packets.len, &f->body));
}

/* Sending ----------------------------------------------------------------------------------------
 */

struct sending {
    struct file *file;
    size_t n;
    const char *url, *key;
    atomic_size_t next;
    atomic_int failed; /* HTTP status, or -1 */
};

struct sender {
    struct sending *all;
    struct fw_transport_curl *transport;
    pthread_t thread;
    unsigned char chunk[FW_TUS_CHUNK_BYTES];
};

static void send_file(struct sender *w, struct file *f)
{
    const struct fw_server server = {.url = w->all->url,
                                     .api_key = w->all->key,
                                     .transport = {fw_transport_curl_exchange, w->transport},
                                     .timeout_ms = TIMEOUT_MS};
    const struct fw_tus_field fields[] = {
        {"kind", "session"}, {"fileid", f->id}, {"install", f->install}};
    struct fw_tus t = {.server = &server,
                       .fields = fields,
                       .n_fields = sizeof fields / sizeof *fields,
                       .length = f->body.len,
                       .read = fw_tus_read_memory,
                       .user = f->body.at,
                       .chunk = w->chunk,
                       .chunk_bytes = sizeof w->chunk,
                       .random = 1};

    if (fw_tus_run(&t, WAIT_MS) != FW_TUS_DONE)
        atomic_store(&w->all->failed, t.status ? t.status : -1);
}

static void *send_some(void *arg)
{
    struct sender *w = arg;
    size_t i;

    while (!atomic_load(&w->all->failed) && (i = atomic_fetch_add(&w->all->next, 1)) < w->all->n)
        send_file(w, &w->all->file[i]);
    return NULL;
}

static void send_files(struct bench *b, struct file *file, size_t n)
{
    struct sender *sender = calloc(SENDERS, sizeof *sender);
    struct sending all = {.file = file, .n = n, .key = b->server->ingest};
    char url[64];

    snprintf(url, sizeof url, "http://127.0.0.1:%u", b->server->port);
    all.url = url;
    need(sender);
    for (unsigned i = 0; i < SENDERS; i++) {
        sender[i].all = &all;
        sender[i].transport = fw_transport_curl_new(NULL);
        need(sender[i].transport);
    }
    for (unsigned i = 0; i < SENDERS; i++)
        if (pthread_create(&sender[i].thread, NULL, send_some, &sender[i]) != 0)
            die("no thread");
    for (unsigned i = 0; i < SENDERS; i++) {
        pthread_join(sender[i].thread, NULL);
        fw_transport_curl_free(sender[i].transport);
    }
    free(sender);
    if (atomic_load(&all.failed)) {
        fprintf(stderr, "alerts: the server did not take a file (status %d)\n", all.failed);
        exit(1);
    }
    for (size_t i = 0; i < n; i++)
        fw_buf_fini(&file[i].body);
}

/* The server's work ------------------------------------------------------------------------------
 */

static long long ask(struct bench *b, const char *sql)
{
    PGresult *res = PQexec(b->pg, sql);
    const long long value = PQntuples(res) == 1 ? strtoll(PQgetvalue(res, 0, 0), NULL, 10) : -1;

    if (value < 0)
        die("the database does not answer");
    PQclear(res);
    return value;
}

/* Until no job of the kind is left; a job that died ends the bench, and so does a standstill. */
static void await_jobs(struct bench *b, const char *kind)
{
    char sql[128];
    long long left, before = -1;
    int64_t since = now_s();

    snprintf(sql, sizeof sql, "SELECT count(*) FROM job WHERE kind = '%s'", kind);
    while ((left = ask(b, sql)) > 0) {
        if (left != before) {
            before = left;
            since = now_s();
        }
        if (ask(b, "SELECT count(*) FROM job WHERE state = 'dead'") > 0)
            die("a job died");
        if (now_s() - since > STALLED_S)
            die("jobs are not done");
        poll(NULL, 0, 10);
    }
}

static void run_job(struct bench *b, const char *kind)
{
    char path[64], headers[128];

    snprintf(path, sizeof path, "/v1/schedule/%s", kind);
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", b->server->admin);
    if (server_call(b->server, "POST", path, headers, "", 0)->status / 100 != 2)
        die("a job could not be scheduled");
    await_jobs(b, kind);
}

static void send_all(struct bench *b)
{
    send_files(b, b->file, b->files);
    b->files = 0;
}

/* The first session of the new build brings its expectation; what is played beside comes after. */
static bool freeze(struct bench *b)
{
    size_t i = 0;

    while (i < b->files && !b->file[i].arm)
        i++;
    if (i == b->files)
        return false;
    send_files(b, &b->file[i], 1);
    memmove(&b->file[i], &b->file[i + 1], (b->files - i - 1) * sizeof *b->file);
    b->files--;
    await_jobs(b, "part");
    run_job(b, "expect");
    if (ask(b, "SELECT count(*) FROM expectation WHERE phase = 'done'") != 1)
        die("no expectation was frozen");
    return true;
}

/* Whichever tier the server puts the model into, this is what was done to its sessions. */
static void note_planted(struct bench *b, const struct sim_played *s)
{
    for (unsigned i = 0; s->arm && i < s->scenes; i++) {
        if (s->in[i].scene != 0)
            continue;
        b->planted[s->tier][s->model].sessions++;
        for (unsigned m = 0; m < SIM_TIMES; m++)
            b->planted[s->tier][s->model].shown_e6[m] += s->in[i].shown_e6[m];
    }
}

static void played(void *user, const struct sim_played *s)
{
    struct bench *b = user;

    if (s->tier >= SIM_TIERS || s->model >= MODELS)
        die("a model of another world");
    note_planted(b, s);

    if (s->at >= 0 && !b->tiered) {
        send_all(b);
        await_jobs(b, "part");
        run_job(b, "tiers");
        b->tiered = true;
    }
    if (s->scenes)
        write_session(b, s);
    if (s->at < 0 && b->files == BATCH)
        send_all(b);
}

/* Looking ----------------------------------------------------------------------------------------
 */

struct row { /* of table alert */
    int64_t tier, sessions;
    const char *scene, *metric, *level;
    bool opened;
    double change;
};

static void first(int64_t *at, bool now, int64_t sessions)
{
    if (!*at && now)
        *at = sessions;
}

/* The server's tier 1 is the fastest, the simulation's tier 0 the slowest. */
static struct sim_slice *slice_of(struct bench *b, const struct row *r)
{
    unsigned tier = (unsigned)(SIM_TIERS - r->tier), scene;

    if (r->tier < 1 || r->tier > SIM_TIERS)
        die("the server made other tiers");
    if (sscanf(r->scene, "level/%u", &scene) != 1)
        return &b->whole[tier];
    return &b->seen.slice[tier * SIM_SCENES + scene % SIM_SCENES];
}

static void note_row(struct bench *b, const struct row *r)
{
    struct sim_slice *s = slice_of(b, r);
    const bool alert = !strcmp(r->level, "alert");

    for (unsigned m = 0; m < SIM_METRICS; m++) {
        if (strcmp(r->metric, metric_keys[m]) != 0)
            continue;
        s->d[m] = log1p(r->change);
        first(&s->warn, alert || !strcmp(r->level, "warn"), r->sessions);
        first(&s->alert, alert, r->sessions);
        first(&s->improved, !strcmp(r->level, "improved"), r->sessions);
        if (s->sessions < r->sessions)
            s->sessions = r->sessions;
    }
    if (r->opened && s == &b->seen.slice[0])
        b->told_right = true;
    else if (r->opened)
        b->told_wrong = true;
}

static void read_alerts(struct bench *b)
{
    PGresult *res = PQexec(b->pg, "SELECT tier, sessions, scene, metric, level,"
                                  " (opened_at IS NOT NULL)::int, coalesce(change, 0) FROM alert");

    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        die("the alerts could not be read");
    for (int i = 0; i < PQntuples(res); i++) {
        const struct row r = {.tier = strtoll(PQgetvalue(res, i, 0), NULL, 10),
                              .sessions = strtoll(PQgetvalue(res, i, 1), NULL, 10),
                              .scene = PQgetvalue(res, i, 2),
                              .metric = PQgetvalue(res, i, 3),
                              .level = PQgetvalue(res, i, 4),
                              .opened = PQgetvalue(res, i, 5)[0] == '1',
                              .change = strtod(PQgetvalue(res, i, 6), NULL)};

        note_row(b, &r);
    }
    PQclear(res);
}

static void looked(void *user)
{
    struct bench *b = user;

    b->looks++;
    if (!b->frozen && !(b->frozen = freeze(b)))
        return;
    send_all(b);
    await_jobs(b, "part");
    if (b->looks % REFIT_LOOKS == 0)
        run_job(b, "tiers");
    run_job(b, "alerts");
    read_alerts(b);
}

/* Releases ---------------------------------------------------------------------------------------
 */

static void register_build(struct bench *b, unsigned code)
{
    char body[256], headers[160];
    const int n = snprintf(body, sizeof body,
                           "{\"platform\": \"android\", \"version_name\": \"%u.0.0\","
                           " \"version_code\": %u, \"build_uid\": \"build-%u\"}",
                           code / 100, code, code);

    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nContent-Type: application/json\r\n", b->server->admin);
    if (server_call(b->server, "POST", "/v1/builds", headers, body, (size_t)n)->status / 100 != 2)
        die("a build could not be registered");
}

/* A server on which nothing recurs by itself: jobs run when the simulation says so. */
static void start_server(struct bench *b)
{
    b->server = server_new(SERVER_BINARY);
    pg_sql(b->server->conninfo,
           "INSERT INTO schedule_run (app_id, kind, queued_at) SELECT app_id, kind, 'infinity'"
           " FROM app, unnest(ARRAY['expect', 'tiers', 'alerts', 'reports', 'verdicts', 'tickets'])"
           " AS k (kind)");
    server_start(b->server);
    b->pg = PQconnectdb(b->server->conninfo);
    register_build(b, 100);
    register_build(b, 200);
}

/* What was planted, of the sessions that the server counts in the slice: models of other tiers are
 * not slowed, and frames that a display holds back may look like this tier's. */
static void sum_planted(struct bench *b)
{
    PGresult *res = PQexec(b->pg, "SELECT model FROM device_model WHERE tier = 3");
    int64_t sessions = 0, sum[SIM_TIMES] = {0};

    for (int i = 0; i < PQntuples(res); i++) {
        unsigned tier, model;

        if (sscanf(PQgetvalue(res, i, 0), "%u-%u", &tier, &model) != 2 || tier >= SIM_TIERS ||
            model >= MODELS)
            die("the server has other models");
        sessions += b->planted[tier][model].sessions;
        for (unsigned m = 0; m < SIM_TIMES; m++)
            sum[m] += b->planted[tier][model].shown_e6[m];
    }
    PQclear(res);
    for (unsigned m = 0; m < SIM_TIMES && sessions; m++)
        b->seen.slice[0].shown[m] = 1e-6 * (double)sum[m] / (double)sessions;
}

static void stop_server(struct bench *b)
{
    sum_planted(b);
    b->models = (unsigned)ask(b, "SELECT count(*) FROM device_model");
    b->misplaced = (unsigned)ask(b, "SELECT count(*) FROM device_model"
                                    " WHERE tier <> 3 - left(model, 1)::int");
    PQfinish(b->pg);
    if (server_stop(b->server) != 0)
        die("the server did not end well");
    server_free(b->server);
}

static void play_release(struct bench *b, struct sim_release *functions)
{
    const struct sim_watcher watcher = {b, played, looked};
    struct sim_options o = *b->o;

    o.watcher = &watcher;
    b->install = calloc((size_t)o.installs * SIM_TIERS, sizeof *b->install);
    b->compressor = fw_compressor_new(PACKET_BYTES);
    fw_buf_init(&b->packets, PACKET_BYTES);
    need(b->install && b->compressor);
    start_server(b);
    need(sim_release(&o, b->run, functions));
    b->seen.work = functions->work;
    stop_server(b);
    fw_compressor_free(b->compressor);
    fw_buf_fini(&b->packets);
    free(b->install);
    free(b->file);
}

struct result {
    struct release_tally server, functions;
    unsigned whole, whole_warn, whole_alert, right, wrong, models, misplaced, same;
    double d[SIM_METRICS], most[SIM_METRICS];
    unsigned d_n[SIM_METRICS];
};

/* What both say of the same slice. */
static void add_beside(struct result *to, const struct sim_slice *a, const struct sim_slice *b)
{
    to->same += (a->warn > 0) == (b->warn > 0) && (a->alert > 0) == (b->alert > 0) &&
                (a->improved > 0) == (b->improved > 0);
    for (unsigned m = 0; m < SIM_METRICS; m++) {
        const double off = fabs(a->d[m] - b->d[m]);

        if (!(fabs(a->d[m]) > 0) || !(fabs(b->d[m]) > 0))
            continue;
        to->d[m] += off;
        to->most[m] = off > to->most[m] ? off : to->most[m];
        to->d_n[m]++;
    }
}

static void add_release(struct result *to, const struct bench *b,
                        const struct sim_release *functions)
{
    release_tally_add(&to->server, &b->seen, b->o->effect);
    release_tally_add(&to->functions, functions, b->o->effect);
    for (unsigned t = fabs(b->o->effect) > 0 ? 1u : 0u; t < SIM_TIERS; t++) {
        to->whole++;
        to->whole_warn += b->whole[t].warn > 0;
        to->whole_alert += b->whole[t].alert > 0;
    }
    for (unsigned s = 0; s < SIM_SLICES; s++)
        add_beside(to, &b->seen.slice[s], &functions->slice[s]);
    to->right += b->told_right && !b->told_wrong;
    to->wrong += b->told_wrong;
    to->models += b->models;
    to->misplaced += b->misplaced;
}

static void print_result(struct result *r, const struct sim_options *o)
{
    const unsigned runs = r->server.runs;

    puts("\nthe analysis functions alone");
    release_tally_print(&r->functions, o, true);
    puts("\nthe same sessions through HTTP and PostgreSQL");
    release_tally_print(&r->server, o, false);
    puts("");
    print_share("ALERT, all scenes of a tier", r->whole_alert, r->whole);
    print_share("WARN or ALERT, the same", r->whole_warn, r->whole);
    if (fabs(o->effect) > 0)
        print_share("told of the slowed slice alone", r->right, runs);
    print_share("told of another slice", r->wrong, runs);
    print_share("slices with the functions' levels", r->same, runs * SIM_SLICES);
    print_share("models in another tier, or in none", r->misplaced, r->models);
    for (unsigned m = 0; m < SIM_METRICS; m++)
        printf("D of %-5s beside the functions': off by %.4f on average, at most %.4f\n",
               metric_keys[m], r->d_n[m] ? r->d[m] / r->d_n[m] : 0, r->most[m]);
}

static void simulate(const struct sim_options *o, unsigned runs)
{
    struct result r = {0};

    need(release_tally_init(&r.server, runs) && release_tally_init(&r.functions, runs));
    for (unsigned run = 0; run < runs; run++) {
        static struct bench b;
        struct sim_release functions;
        int64_t began = now_s();

        b = (struct bench){.o = o, .run = run};
        play_release(&b, &functions);
        add_release(&r, &b, &functions);
        fprintf(stderr, "release %u of %u: %llu sessions in %lld s\n", run + 1, runs,
                (unsigned long long)b.sessions, (long long)(now_s() - began));
    }
    print_result(&r, o);
    release_tally_fini(&r.server);
    release_tally_fini(&r.functions);
}

static int usage(void)
{
    fputs("usage: alerts_server_bench [--seed S] [--runs N] [--effect E] [--mix none|early|slow]\n"
          "    [--vsync] [--shown] [--sessions N | --installs N] [--before DAYS] [--day-sd D] "
          "[--model-sd D]\n"
          "    [--frames N]\n",
          stderr);
    return 2;
}

/* Installs of a tier that play so many sessions in all. */
static unsigned installs_for(unsigned long sessions, const struct sim_options *o)
{
    return (unsigned)(1 + (double)sessions / (SIM_TIERS * sim_sessions_of_install(o)));
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        SIM_OPTIONS, {"runs", 1, 0, 'n'}, {"sessions", 1, 0, 'N'}, {0, 0, 0, 0}};
    struct sim_options o = sim_defaults();
    unsigned long runs = 3, sessions = 0;
    struct err err;
    int c;

    o.installs = 200;
    o.model_sd = 0.05; /* so that the server's tiers are the simulation's */
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (c == 'n')
            runs = strtoul(optarg, NULL, 10);
        else if (c == 'N')
            sessions = strtoul(optarg, NULL, 10);
        else if (c == 'c' || !sim_option(c, optarg, &o))
            return usage();
    if (sessions && sessions <= 1000000)
        o.installs = installs_for(sessions, &o);
    if (optind < argc || !runs || runs > 1000 || sessions > 1000000 || !sim_options_good(&o))
        return usage();
    if (!pg_start((struct pg_options){0}, &err)) {
        fprintf(stderr, "alerts: %s\n", err.text);
        return 1;
    }
    sim_options_print(&o, (unsigned)runs);
    simulate(&o, (unsigned)runs);
    pg_stop();
    return 0;
}
