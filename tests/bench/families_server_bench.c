/* What tests/bench/families_server.sh needs of the generated beta:
 *   families_server_bench symbols SEED JANKS INSTALLS CAUSES FOLDER
 *       the files that read its stacks (support/beta_symbols.h) and rules.json, its app's rules;
 *       prints a line "NAME.s DEBUG_ID FOLDER" each
 *   families_server_bench upload SEED JANKS INSTALLS CAUSES FROM TO COPY PORT KEY_FILE TRUTH
 *       janks FROM to TO (of JANKS) in session files over HTTP to 127.0.0.1, each session with all
 *       its janks of these, and a quarter as many sessions without janks. Another COPY: the same
 *       janks in other sessions; copies 2k and 2k + 1 are of the same installs. Adds a line "STACK
 *       CAUSE CLASS" for each jank to the file TRUTH: the stack's hash; causes below 0 are none of
 *       the app's. Prints a line of JSON. */
#include "base/digest.h"
#include "profile/part.h"
#include "server/notify/sign.h"
#include "support/beta_symbols.h"
#include "support/session_builder.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEMORY ((size_t)256 << 20)
#define SENDERS 8
#define MODELS 60
#define DAYS 10
#define STEP_US 200000
#define CALM_FRAMES 240 /* before a jank */

struct jank_of {
    uint64_t session, number;
};

struct upload {
    const struct beta *beta;
    const struct beta_symbols *symbols;
    struct jank_of *janks; /* by session */
    size_t n;
    uint64_t copy, installs;
    int64_t today_ms;
    char url[64], key[300];
    FILE *truth;
    atomic_size_t next; /* place in janks of the next session */
    atomic_uint_fast64_t sessions, bytes, clean;
    atomic_bool failed;
};

struct sender {
    struct upload *u;
    CURL *curl;
    struct arena *mem;
};

static int die(const char *what)
{
    fprintf(stderr, "families_server_bench: %s\n", what);
    return 1;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Stays the same for the same numbers. */
static uint64_t fact(uint64_t what, uint64_t of)
{
    uint64_t in[] = {what, of}, out;
    unsigned char sum[SHA256_BYTES];

    sha256(in, sizeof in, sum);
    memcpy(&out, sum, sizeof out);
    return out;
}

/* Session files -----------------------------------------------------------------------------------
 */

struct session {
    uint64_t number, install;
    int64_t build;
    char install_id[40], model[24], soc[16], os[4], version[8], build_id[16];
};

/* Few models have most phones, and a session's shard is its install's. */
static struct session_builder *begin_session(const struct upload *u, struct session *s)
{
    static const uint32_t ram[] = {3, 4, 6, 8, 12};
    uint64_t phone = fact(1, s->install);
    double share = (double)(phone >> 11) * 0x1p-53;
    unsigned model = (unsigned)(share * share * MODELS);
    struct session_builder *b = sb_new(0);
    unsigned char id[SHA256_BYTES], install[SHA256_BYTES];

    snprintf(s->install_id, sizeof s->install_id, "beta-%" PRIu64, s->install);
    snprintf(s->model, sizeof s->model, "Phone %u", model);
    snprintf(s->soc, sizeof s->soc, "SoC %u", model % 17);
    snprintf(s->os, sizeof s->os, "%u", 10 + (unsigned)(phone % 5));
    snprintf(s->version, sizeof s->version, "2.%d.0", (int)s->build);
    snprintf(s->build_id, sizeof s->build_id, "beta-%d", (int)s->build);
    sha256(&s->number, sizeof s->number, id);
    sha256(s->install_id, strlen(s->install_id), install);
    memcpy(b->session_id, id, SESSION_ID_BYTES);
    b->session_id[SESSION_ID_BYTES - 1] =
        (unsigned char)((id[SESSION_ID_BYTES - 1] & 0xc0) | (install[0] & 0x3f));
    b->model = s->model;
    b->soc = s->soc;
    b->os_version = s->os;
    b->ram_mb = ram[model % 5] * 1024;
    b->version_name = s->version;
    b->version_code = 200 + 10 * (uint64_t)s->build;
    b->build_id = s->build_id;
    b->wall_start_ms = u->today_ms - (int64_t)(fact(2, s->number) % (DAYS * 86400000ull));
    sb_part(b, 0, 0);
    sb_hardware(b, 0, SB_VALUES({HW_pss_kb, 800000}), SB_CORES(1800000, 2400000));
    return b;
}

/* The number of a module in the file, told there when it is first met. */
static uint32_t module_of(struct session_builder *b, const struct beta_image *image,
                          const struct beta_image **known, uint32_t *n)
{
    for (uint32_t i = 0; i < *n; i++)
        if (known[i] == image)
            return i + 1;
    known[*n] = image;
    *n += 1;
    return sb_module(b, image->name, image->debug_id, UINT64_C(0x7000000000) + *n * 0x20000000ull,
                     0x10000000);
}

static uint64_t add_jank(struct session_builder *b, const struct beta_jank *j, uint64_t t,
                         uint32_t stack)
{
    uint32_t duration = j->duration_ms * 1000 + 5000; /* past the threshold of 100 ms */
    uint32_t level = duration > 500000 ? 3 : duration > 250000 ? 2 : 1;

    sb_scene(b, t, j->scene, "");
    for (unsigned i = 0; i < j->steps; i++)
        sb_step(b, t + (i + 1) * STEP_US, j->step[i]);
    t = sb_steady(b, t, CALM_FRAMES, 16670);
    sb_jank(b, t, duration, level, SB_SAMPLES({t + 90000, stack}));
    return sb_frames(b, t, SB_INTERVALS(duration, 16670, 16670, 16670));
}

/* Lists what was planted under the hash that a reader gives each stack. */
static bool tell_truth(struct sender *x, const void *bytes, size_t size, const int *cause,
                       const enum stack_class *class, size_t n)
{
    struct part part;
    struct err err;
    char hex[33];

    if (!part_decode(bytes, size, &part_limits_default, x->mem, &part, &err) || part.n_stacks != n)
        return false;
    flockfile(x->u->truth);
    for (size_t i = 0; i < n; i++) {
        to_hex(part.stacks[i].hash, sizeof part.stacks[i].hash, hex);
        fprintf(x->u->truth, "%s\t%d\t%s\n", hex, cause[i], stack_class_name[class[i]]);
    }
    funlockfile(x->u->truth);
    return true;
}

/* HTTP --------------------------------------------------------------------------------------------
 */

static bool send_file(struct sender *x, const struct session *s, const void *bytes, size_t size)
{
    char file[64], text[512];
    struct curl_slist *list = NULL;
    long status = 0;
    bool ok;

    snprintf(file, sizeof file, "beta-%" PRIu64, s->number);
    snprintf(text, sizeof text, "Upload-Metadata: kind c2Vzc2lvbg==,fileid %s,install %s",
             base64(x->mem, file, strlen(file)),
             base64(x->mem, s->install_id, strlen(s->install_id)));
    list = curl_slist_append(list, text);
    snprintf(text, sizeof text, "Upload-Length: %zu", size);
    list = curl_slist_append(list, text);
    list = curl_slist_append(list, x->u->key);
    list = curl_slist_append(list, "Tus-Resumable: 1.0.0");
    list = curl_slist_append(list, "Content-Type: application/offset+octet-stream");
    list = curl_slist_append(list, "Expect:");
    curl_easy_setopt(x->curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(x->curl, CURLOPT_POSTFIELDS, bytes);
    curl_easy_setopt(x->curl, CURLOPT_POSTFIELDSIZE, (long)size);
    ok = curl_easy_perform(x->curl) == CURLE_OK &&
         curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK && status == 201;
    curl_slist_free_all(list);
    if (!ok)
        fprintf(stderr, "families_server_bench: status %ld\n", status);
    x->u->bytes += size;
    return ok;
}

/* Session ---------------------------------------------------------------------------------------
 */

/* A session file in the making, and what is true of its stacks. */
struct making {
    struct session s;
    struct session_builder *b;
    const struct beta_image **known;
    uint32_t modules;
    uint64_t t;
    int *cause;
    enum stack_class *class;
};

static bool put_stack(struct sender *x, struct making *m, const struct beta_jank *j, uint32_t *id)
{
    struct sent_frame *sent = arena_array(x->mem, BETA_FRAMES, sizeof *sent);
    struct sb_stack_frame *frames = arena_array(x->mem, BETA_FRAMES, sizeof *frames);
    size_t n = sent && frames ? beta_sent(x->u->symbols, j, x->mem, sent) : 0;

    for (size_t i = 0; i < n; i++)
        frames[i] = (struct sb_stack_frame){
            .module = sent[i].image ? module_of(m->b, sent[i].image, m->known, &m->modules) : 0,
            .offset = sent[i].offset,
            .text = sent[i].text};
    *id = n ? sb_stack(m->b, "main", frames, n) : 0;
    return n > 0;
}

static bool put_jank(struct sender *x, struct making *m, const struct jank_of *of, size_t i)
{
    struct upload *u = x->u;
    struct beta_jank *j = arena_alloc(x->mem, sizeof *j);
    uint32_t stack;

    if (!j || !beta_jank(u->beta, of->number, x->mem, j))
        return false;
    if (!m->b) {
        m->s = (struct session){.number = j->session * 64 + u->copy,
                                .install = j->install + u->copy / 2 * u->installs,
                                .build = j->build};
        m->b = begin_session(u, &m->s);
    }
    if (!put_stack(x, m, j, &stack))
        return false;
    m->t = add_jank(m->b, j, m->t, stack);
    m->cause[i] = j->cause;
    m->class[i] = j->class;
    return true;
}

static bool send_session(struct sender *x, const struct jank_of *list, size_t n)
{
    struct making m = {
        .known = arena_array(x->mem, beta_images(x->u->symbols), sizeof *m.known),
        .cause = arena_array(x->mem, n, sizeof *m.cause),
        .class = arena_array(x->mem, n, sizeof *m.class),
    };
    size_t size;
    const unsigned char *bytes;
    bool ok = m.known && m.cause && m.class;

    for (size_t i = 0; ok && i < n; i++)
        ok = put_jank(x, &m, &list[i], i);
    if (ok) {
        m.t = sb_steady(m.b, m.t, 600, 16670);
        sb_end(m.b, m.t, END_STOPPED);
        bytes = sb_bytes(m.b, &size);
        ok = tell_truth(x, bytes, size, m.cause, m.class, n) && send_file(x, &m.s, bytes, size);
    }
    sb_free(m.b);
    return ok;
}

/* The same steps in the same scenes, and nothing came of it. */
static bool send_clean(struct sender *x, const struct jank_of *like)
{
    struct upload *u = x->u;
    struct beta_jank *j = arena_alloc(x->mem, sizeof *j);
    struct session s = {0};
    struct session_builder *b;
    uint64_t t = 0;
    size_t size;
    const unsigned char *bytes;
    bool ok = j && beta_jank(u->beta, like->number, x->mem, j);

    if (!ok)
        return false;
    s = (struct session){.number = (UINT64_C(1) << 60) + like->number * 64 + u->copy,
                         .install =
                             fact(3, like->number) % u->installs + u->copy / 2 * u->installs};
    s.build = (int64_t)(fact(4, s.install) % 100 < 40);
    b = begin_session(u, &s);
    sb_scene(b, 0, j->scene, "");
    for (unsigned i = 0; i < j->steps; i++)
        sb_step(b, (i + 1) * STEP_US, j->step[(i + 5) % j->steps]);
    t = sb_steady(b, t, 900, 16670);
    sb_end(b, t, END_STOPPED);
    bytes = sb_bytes(b, &size);
    ok = send_file(x, &s, bytes, size);
    sb_free(b);
    u->clean++;
    return ok;
}

/* Takes sessions from the list as long as there are some. */
static bool take_session(struct upload *u, size_t *from, size_t *to)
{
    size_t at = u->next;

    do {
        if (at >= u->n)
            return false;
        for (*to = at + 1; *to < u->n && u->janks[*to].session == u->janks[at].session; (*to)++)
            ;
    } while (!atomic_compare_exchange_weak(&u->next, &at, *to));
    *from = at;
    return true;
}

static void *send_some(void *user)
{
    struct upload *u = user;
    struct sender x = {u, curl_easy_init(), arena_new(MEMORY)};
    size_t from, to;

    if (!x.curl || !x.mem)
        u->failed = true;
    curl_easy_setopt(x.curl, CURLOPT_URL, u->url);
    curl_easy_setopt(x.curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(x.curl, CURLOPT_TIMEOUT, 300L);
    while (!u->failed && take_session(u, &from, &to)) {
        arena_reset(x.mem);
        if (!send_session(&x, u->janks + from, to - from) ||
            (u->sessions++ % 4 == 0 && !send_clean(&x, u->janks + from)))
            u->failed = true;
    }
    curl_easy_cleanup(x.curl);
    arena_free(x.mem);
    return NULL;
}

/* Program ---------------------------------------------------------------------------------------
 */

static int by_session(const void *va, const void *vb)
{
    const struct jank_of *a = va, *b = vb;

    if (a->session != b->session)
        return a->session < b->session ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* All janks of the beta, for places to be the same in every run; and whose they are. */
static bool learn(const struct beta *beta, uint64_t janks, struct beta_symbols *symbols,
                  struct jank_of *list)
{
    struct arena *mem = arena_new(MEMORY);
    bool ok = mem != NULL;

    for (uint64_t i = 0; ok && i < janks; i++) {
        struct beta_jank *j;

        arena_reset(mem);
        j = arena_alloc(mem, sizeof *j);
        ok = j && beta_jank(beta, i, mem, j) && beta_learn(symbols, j);
        if (ok)
            list[i] = (struct jank_of){j->session, i};
    }
    arena_free(mem);
    return ok;
}

static bool read_key(struct upload *u, const char *path)
{
    FILE *f = fopen(path, "re");
    char key[256] = "";
    bool ok = f && fgets(key, sizeof key, f);

    if (f)
        fclose(f);
    key[strcspn(key, "\r\n")] = '\0';
    snprintf(u->key, sizeof u->key, "Authorization: Bearer %s", key);
    return ok;
}

static int upload(struct upload *u)
{
    pthread_t threads[SENDERS];
    double from = now_s();

    qsort(u->janks, u->n, sizeof *u->janks, by_session);
    curl_global_init(CURL_GLOBAL_ALL);
    for (size_t i = 0; i < SENDERS; i++)
        if (pthread_create(&threads[i], NULL, send_some, u) != 0)
            abort();
    for (size_t i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    printf("{\"sessions\":%" PRIu64 ",\"clean\":%" PRIu64 ",\"janks\":%zu,\"bytes\":%" PRIu64
           ",\"seconds\":%.2f}\n",
           (uint64_t)(u->sessions + u->clean), (uint64_t)u->clean, u->n, (uint64_t)u->bytes,
           now_s() - from);
    return u->failed ? die("not all was taken") : 0;
}

static uint64_t number(char **argv, int at)
{
    return strtoull(argv[at], NULL, 10);
}

static void put_rules(FILE *f, const char *name, const struct rule *list, size_t n)
{
    fprintf(f, "\"%s\": [", name);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s{\"field\": \"%s\", \"pattern\": \"%s\"}", i ? ", " : "",
                rule_field_name[list[i].field], list[i].pattern);
    fputc(']', f);
}

static bool write_rules(const struct rules *r, const char *folder)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/rules.json", folder);
    f = fopen(path, "we");
    if (!f)
        return false;
    fputc('{', f);
    put_rules(f, "include", r->include, r->n_include);
    fputs(", ", f);
    put_rules(f, "exclude", r->exclude, r->n_exclude);
    fputs("}\n", f);
    return fclose(f) == 0;
}

static int run(int argc, char **argv, struct beta *beta, struct beta_symbols *symbols)
{
    uint64_t janks = number(argv, 3);
    struct jank_of *list = calloc(janks + 1, sizeof *list);
    struct upload u = {.beta = beta, .symbols = symbols, .installs = number(argv, 4)};
    int code = 1;

    if (!list || !learn(beta, janks, symbols, list)) {
        die("cannot make the beta");
    } else if (strcmp(argv[1], "symbols") == 0) {
        code =
            beta_symbols_write(symbols, argv[6], stdout) && write_rules(beta_rules(beta), argv[6])
                ? 0
                : die("cannot write symbols");
    } else if (argc == 12 && number(argv, 6) < number(argv, 7) && number(argv, 7) <= janks) {
        u.janks = list + number(argv, 6);
        u.n = number(argv, 7) - number(argv, 6);
        u.copy = number(argv, 8);
        u.today_ms = (int64_t)time(NULL) / 86400 * 86400000;
        snprintf(u.url, sizeof u.url, "http://127.0.0.1:%s/v1/uploads", argv[9]);
        u.truth = fopen(argv[11], "ae");
        code = u.truth && read_key(&u, argv[10]) ? upload(&u) : die("cannot open a file");
        if (u.truth && fclose(u.truth) != 0)
            code = die("cannot write what is true");
    }
    free(list);
    return code;
}

int main(int argc, char **argv)
{
    struct beta *beta;
    struct beta_symbols *symbols;
    int code;

    if (argc < 7)
        return die("symbols SEED JANKS INSTALLS CAUSES FOLDER | "
                   "upload SEED JANKS INSTALLS CAUSES FROM TO COPY PORT KEY_FILE TRUTH");
    beta = beta_new(number(argv, 2), (unsigned)number(argv, 5), number(argv, 4));
    symbols = beta_symbols_new();
    code = beta && symbols ? run(argc, argv, beta, symbols) : die("out of memory");
    beta_free(beta);
    beta_symbols_free(symbols);
    return code;
}
