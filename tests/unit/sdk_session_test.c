/* The public interface end to end, against a tus and configuration server in memory. */
#include "src/clock.h"
#include "src/control/context.h"

#include "session.pb-c.h"
#include "support/stack_room.h"

#include <zstd.h>

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull
#define PATIENCE_NS (120 * 1000 * MS) /* a machine may be busy with other things */
#define MAX_UPLOADS 16
#define MAX_SLOW_LOOKS 20
#define MAX_UPLOAD_BYTES 400000u

struct upload {
    char metadata[512];
    unsigned char bytes[MAX_UPLOAD_BYTES];
    size_t have, length;
};

struct game {
    char path[64];
    fw_options options;
    fw_network network;
    _Atomic unsigned looks; /* at the hardware that were recorded: each asks for the network */
    char said[4096];

    pthread_mutex_t mutex; /* guards all below */
    bool down;
    const char *config; /* NULL: 404 */
    struct upload upload[MAX_UPLOADS];
    size_t n_uploads;
    unsigned requests;

    Framewatch__SessionLog *log[MAX_UPLOADS];
};

static const char *header(const fw_http_request *r, const char *name)
{
    size_t n = strlen(name);

    for (const char *const *h = r->headers; *h; h++)
        if (!strncasecmp(*h, name, n) && (*h)[n] == ':')
            return *h + n + 2;
    return NULL;
}

static void append(struct upload *u, fw_http_request *r)
{
    char text[32];

    if (u->have + r->body_len <= MAX_UPLOAD_BYTES && r->body_len)
        memcpy(u->bytes + u->have, r->body, r->body_len);
    u->have += r->body_len;
    snprintf(text, sizeof text, "%zu", u->have);
    r->on_header(r->sink, "Upload-Offset", text);
}

static void serve_create(struct game *g, fw_http_request *r)
{
    char location[64];
    struct upload *u = NULL;

    for (size_t i = 0; i < g->n_uploads; i++)
        if (!strcmp(g->upload[i].metadata, header(r, "Upload-Metadata")))
            u = &g->upload[i];
    if (!u) {
        u = &g->upload[g->n_uploads++];
        snprintf(u->metadata, sizeof u->metadata, "%s", header(r, "Upload-Metadata"));
        u->length = (size_t)strtoul(header(r, "Upload-Length"), NULL, 10);
        append(u, r);
    } else {
        r->body_len = 0;
        append(u, r);
    }
    snprintf(location, sizeof location, "/v1/uploads/%zu", (size_t)(u - g->upload));
    r->on_header(r->sink, "Location", location);
    r->status = 201;
}

static int exchange(void *user, fw_http_request *r)
{
    struct game *g = user;
    int result = 0;

    pthread_mutex_lock(&g->mutex);
    g->requests++;
    if (g->down) {
        result = -1;
    } else if (strstr(r->url, "/v1/config")) {
        r->status = g->config ? 200 : 404;
        if (g->config) {
            r->on_header(r->sink, "ETag", "\"x\"");
            r->on_body(r->sink, g->config, strlen(g->config));
        }
    } else if (!strcmp(r->method, "POST")) {
        serve_create(g, r);
    } else {
        struct upload *u = &g->upload[strtoul(strrchr(r->url, '/') + 1, NULL, 10) % MAX_UPLOADS];

        append(u, r);
        r->status = !strcmp(r->method, "HEAD") ? 200 : 204;
    }
    pthread_mutex_unlock(&g->mutex);
    return result;
}

static fw_network network(void *user)
{
    struct game *g = user;
    char thread[16] = "";

    prctl(PR_GET_NAME, thread);
    if (!strcmp(thread, "fw-sample"))
        atomic_fetch_add(&g->looks, 1);
    return g->network;
}

static void say(void *user, fw_log_level level, const char *text)
{
    struct game *g = user;
    size_t n;

    (void)level;
    pthread_mutex_lock(&g->mutex);
    n = strlen(g->said);
    snprintf(g->said + n, sizeof g->said - n, "%s\n", text);
    pthread_mutex_unlock(&g->mutex);
}

static bool has_said(struct game *g, const char *text)
{
    pthread_mutex_lock(&g->mutex);
    bool found = strstr(g->said, text);
    pthread_mutex_unlock(&g->mutex);
    return found;
}

static int set_up(void **state)
{
    struct game *g = calloc(1, sizeof *g);

    pthread_mutex_init(&g->mutex, NULL);
    snprintf(g->path, sizeof g->path, "/tmp/sdk_session_XXXXXX");
    assert_non_null(mkdtemp(g->path));
    g->network = FW_NETWORK_WIFI;
    fw_options_init(&g->options);
    g->options.server_url = "http://server.example/";
    g->options.api_key = "key";
    g->options.storage_path = g->path;
    g->options.app = "Game";
    g->options.version_name = "1.2";
    g->options.version_code = 12;
    g->options.target_interval_us = 16667;
    g->options.device.model = "X1";
    g->options.flags = FW_UPLOAD_AT_STOP;
    g->options.transport = exchange;
    g->options.network = network;
    g->options.log = say;
    g->options.user = g;
    *state = g;
    return 0;
}

static int tear_down(void **state)
{
    struct game *g = *state;
    DIR *d = opendir(g->path);
    struct dirent *e;

    while ((e = readdir(d)))
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(g->path);
    for (size_t i = 0; i < MAX_UPLOADS; i++)
        if (g->log[i])
            framewatch__session_log__free_unpacked(g->log[i], NULL);
    pthread_mutex_destroy(&g->mutex);
    free(g);
    return 0;
}

static void forget_uploads(struct game *g)
{
    memset(g->upload, 0, sizeof g->upload);
    g->n_uploads = 0;
}

/* The packets of an upload, decoded by protobuf-c. */
static const Framewatch__SessionLog *arrived(struct game *g, size_t i)
{
    static unsigned char raw[1 << 20];
    size_t len = 0;

    assert_true(i < g->n_uploads);
    assert_int_equal(g->upload[i].have, g->upload[i].length);
    for (size_t at = 0; at < g->upload[i].have;) {
        size_t n = ZSTD_findFrameCompressedSize(g->upload[i].bytes + at, g->upload[i].have - at);
        assert_false(ZSTD_isError(n));
        size_t got = ZSTD_decompress(raw + len, sizeof raw - len, g->upload[i].bytes + at, n);
        assert_false(ZSTD_isError(got));
        len += got;
        at += n;
    }
    g->log[i] = framewatch__session_log__unpack(NULL, len, raw);
    assert_non_null(g->log[i]);
    assert_int_equal(g->log[i]->packet[0]->body_case, FRAMEWATCH__PACKET__BODY_HEADER);
    return g->log[i];
}

static size_t count(const Framewatch__SessionLog *log, Framewatch__Packet__BodyCase kind)
{
    size_t n = 0;

    for (size_t i = 0; i < log->n_packet; i++)
        n += log->packet[i]->body_case == kind;
    return n;
}

static const Framewatch__Packet *nth(const Framewatch__SessionLog *log,
                                     Framewatch__Packet__BodyCase kind, size_t n)
{
    for (size_t i = 0; i < log->n_packet; i++)
        if (log->packet[i]->body_case == kind && n-- == 0)
            return log->packet[i];
    fail_msg("no such packet");
    return NULL;
}

static size_t count_frames(const Framewatch__SessionLog *log)
{
    size_t n = 0;

    for (size_t i = 0; i < log->n_packet; i++)
        if (log->packet[i]->body_case == FRAMEWATCH__PACKET__BODY_FRAMES)
            n += log->packet[i]->frames->n_delta;
    return n;
}

/* Frames of a millisecond from `from` on; where the row ends. */
static uint64_t play(fw_context *fw, uint64_t from, unsigned frames)
{
    for (unsigned i = 0; i < frames; i++, from += MS)
        fw_frame_at(fw, from);
    return from;
}

static void a_session_arrives_whole(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);
    const fw_attribute players = {"players", 5};
    char id[33], hex[33];

    assert_non_null(fw);
    fw_session_id(fw, id);
    fw_scene(fw, "battle", "frost", &players, 1);
    fw_step(fw, "open door");
    fw_position(fw, 1.5f, 2.5f);
    uint64_t t = play(fw, fw_now_ns(), 200);
    t = play(fw, t + 300 * MS, 100); /* one frame of 301 ms */
    fw_low_memory(fw);
    fw_feedback(fw, "lag", "it lags");
    fw_stop(fw);

    assert_int_equal(g->n_uploads, 1);
    const Framewatch__SessionLog *log = arrived(g, 0);
    const Framewatch__Header *h = log->packet[0]->header;

    for (size_t i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", h->session_id.data[i]);
    assert_string_equal(hex, id);
    assert_string_equal(h->app, "Game");
    assert_string_equal(h->device->model, "X1");
    assert_int_equal(h->version_code, 12);
    assert_int_equal(count_frames(log), 299);
    assert_int_equal(nth(log, FRAMEWATCH__PACKET__BODY_FRAMES, 0)->frames->target_interval_us,
                     16667);

    const Framewatch__Jank *jank = nth(log, FRAMEWATCH__PACKET__BODY_JANK, 0)->jank;
    assert_int_equal(jank->duration_us, 301000);
    assert_int_equal(jank->level, 2);
    const Framewatch__Scene *scene = nth(log, FRAMEWATCH__PACKET__BODY_SCENE, 0)->scene;
    assert_string_equal(scene->map, "frost");
    assert_int_equal(scene->attribute[0]->value, 5);
    assert_string_equal(nth(log, FRAMEWATCH__PACKET__BODY_STEP, 0)->step->name, "open door");
    assert_true(nth(log, FRAMEWATCH__PACKET__BODY_POSITION, 0)->position->x == 1.5f);
    assert_int_equal(nth(log, FRAMEWATCH__PACKET__BODY_LIFECYCLE, 0)->lifecycle->kind,
                     FRAMEWATCH__LIFECYCLE__KIND__LOW_MEMORY);
    assert_string_equal(nth(log, FRAMEWATCH__PACKET__BODY_FEEDBACK, 0)->feedback->text, "it lags");
    assert_int_equal(log->packet[log->n_packet - 1]->end->reason, FRAMEWATCH__END__REASON__STOPPED);

    const Framewatch__SelfReport *self =
        nth(log, FRAMEWATCH__PACKET__BODY_SELF_REPORT, 0)->self_report;
    assert_in_range(self->memory_bytes, 500000, 2 * 1024 * 1024);
    assert_int_equal(self->dropped_frames, 0);
    assert_non_null(strstr(g->upload[0].metadata, "kind c2Vzc2lvbg==,fileid "));
}

static void a_scenes_texts_are_scrubbed(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);
    const fw_attribute attributes[] = {{"tel 138 1234 5678", 1}, {"players", 5}};

    assert_non_null(fw);
    fw_scene(fw, "bob@example.com", "tel:13812345678", attributes, 2);
    play(fw, fw_now_ns(), 100);
    fw_stop(fw);

    const Framewatch__Scene *scene = nth(arrived(g, 0), FRAMEWATCH__PACKET__BODY_SCENE, 0)->scene;
    assert_string_equal(scene->mode, "[mail]");
    assert_string_equal(scene->map, "tel:[number]");
    assert_string_equal(scene->attribute[0]->key, "tel [number]");
    assert_string_equal(scene->attribute[1]->key, "players");
    assert_int_equal(scene->attribute[1]->value, 5);
}

/* A Lua game: the interpreter runs in native code. */
static struct {
    bool in_c;
    _Atomic unsigned asked;
    _Atomic(void *) user; /* as it came */
} lua;

static void tell_managed(void *user, fw_managed_stack *out)
{
    atomic_store(&lua.user, user);
    if (lua.in_c)
        fw_managed_frame(out, FW_MANAGED_LUA, "[C]: in function 'draw'");
    fw_managed_frame(out, FW_MANAGED_LUA, "main.lua:12: in function 'frame'");
    atomic_fetch_add(&lua.asked, 1);
}

/* A session apart from the network: a configuration that comes within a frame breaks its row. */
static void send_what_was_recorded(struct game *g)
{
    if (g->log[0])
        framewatch__session_log__free_unpacked(g->log[0], NULL);
    g->log[0] = NULL;
    forget_uploads(g);
    g->options.flags = FW_UPLOAD_AT_STOP | FW_NO_STACKS;
    fw_stop(fw_start(&g->options));
}

/* Whether a long frame has a managed stack. */
static bool is_told(fw_context *fw)
{
    bool told = false;

    pthread_mutex_lock(&fw->desk.mutex);
    for (size_t i = 0; i < FW_DESK_TEXTS; i++)
        told |= fw->desk.texts[i].used;
    pthread_mutex_unlock(&fw->desk.mutex);
    return told;
}

static bool has_text(const Framewatch__Stack *s)
{
    for (size_t i = 0; i < s->n_frame; i++)
        if (s->frame[i]->text)
            return true;
    return false;
}

/* Frames after the one that was waited for may be long too, on a busy machine, and have none. */
static bool any_jank_has_stacks(const Framewatch__SessionLog *log)
{
    for (size_t i = 0; i < count(log, FRAMEWATCH__PACKET__BODY_JANK); i++)
        if (nth(log, FRAMEWATCH__PACKET__BODY_JANK, i)->jank->n_sample)
            return true;
    return false;
}

/* The first stack with managed frames. */
static const Framewatch__Stack *stack_of_long_frame(struct game *g, uint32_t flags, bool in_c)
{
    fw_context *fw;
    const Framewatch__SessionLog *log;

    g->options.flags = FW_NO_UPLOAD | flags;
    g->options.managed_stack = tell_managed;
    lua.in_c = in_c;
    atomic_store(&lua.asked, 0);
    fw = fw_start(&g->options);
    fw_frame(fw);
    for (uint64_t until = fw_now_ns() + PATIENCE_NS; fw_now_ns() < until && !is_told(fw);)
        usleep(1000);
    fw_frame(fw);
    fw_stop(fw);
    assert_ptr_equal(atomic_load(&lua.user), g);
    send_what_was_recorded(g);
    log = arrived(g, 0);
    assert_true(any_jank_has_stacks(log));
    for (size_t i = 0; i < log->n_packet; i++)
        if (log->packet[i]->body_case == FRAMEWATCH__PACKET__BODY_STACK &&
            has_text(log->packet[i]->stack))
            return log->packet[i]->stack;
    fail_msg("no such stack");
    return NULL;
}

static void managed_frames_stand_where_the_main_thread_was_in_them(void **state)
{
    struct game *g = *state;
    const Framewatch__Stack *s = stack_of_long_frame(g, FW_NO_STACKS, false);

    assert_int_equal(s->n_frame, 1);
    assert_string_equal(s->frame[0]->text, "main.lua:12: in function 'frame'");
    assert_false(s->frame[0]->has_module || s->frame[0]->has_offset);

    s = stack_of_long_frame(g, 0, false);
    assert_true(s->n_frame > 3);
    assert_string_equal(s->frame[0]->text, "main.lua:12: in function 'frame'");
    for (size_t i = 1; i < s->n_frame; i++)
        assert_true(!s->frame[i]->text && s->frame[i]->has_module);

    s = stack_of_long_frame(g, 0, true);
    assert_true(s->n_frame > 4);
    assert_string_equal(s->frame[s->n_frame - 2]->text, "[C]: in function 'draw'");
    assert_string_equal(s->frame[s->n_frame - 1]->text, "main.lua:12: in function 'frame'");
    assert_null(s->frame[0]->text);
}

static void stall(void *user, fw_managed_stack *out)
{
    tell_managed(user, out);
    usleep(210000); /* a slow runtime */
}

static void a_games_slow_managed_stacks_are_told_as_a_collector_that_is_off(void **state)
{
    struct game *g = *state;
    fw_context *fw;
    const Framewatch__SessionLog *log;
    const Framewatch__SelfReport *self;
    size_t n;

    g->options.flags = FW_NO_UPLOAD | FW_NO_STACKS;
    g->options.managed_stack = stall;
    atomic_store(&lua.asked, 0);
    fw = fw_start(&g->options);
    fw_frame(fw);
    for (uint64_t until = fw_now_ns() + PATIENCE_NS;
         fw_now_ns() < until && !has_said(g, "managed stacks are off");)
        usleep(1000);
    fw_frame(fw);
    fw_stop(fw);
    assert_int_equal(atomic_load(&lua.asked), 3);
    send_what_was_recorded(g);
    log = arrived(g, 0);
    n = count(log, FRAMEWATCH__PACKET__BODY_SELF_REPORT);
    self = nth(log, FRAMEWATCH__PACKET__BODY_SELF_REPORT, n - 1)->self_report;
    assert_string_equal(self->collector_off[self->n_collector_off - 1]->name, "managed");
    assert_string_equal(self->collector_off[self->n_collector_off - 1]->reason,
                        "slower than 200 ms");
    assert_int_equal(self->collector_off[self->n_collector_off - 1]->failures, 3);
    assert_string_equal(self->collector_cost[self->n_collector_cost - 1]->name, "managed");
    assert_int_equal(self->collector_cost[self->n_collector_cost - 1]->looks, 3);
    assert_true(self->collector_cost[self->n_collector_cost - 1]->max_us >= 200000);
    assert_in_range(self->memory_bytes, 500000, 2 * 1024 * 1024);
}

static void what_was_sent_is_deleted_and_what_was_not_is_kept(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->down = true;
    g->options.flags = 0;
    fw = fw_start(&g->options);
    play(fw, fw_now_ns(), 50);
    fw_stop(fw);
    assert_int_equal(g->n_uploads, 0);

    g->down = false;
    g->options.flags = FW_UPLOAD_AT_STOP;
    fw = fw_start(&g->options);
    play(fw, fw_now_ns(), 30);
    fw_stop(fw);
    assert_int_equal(g->n_uploads, 2);
    assert_int_equal(count_frames(arrived(g, 0)), 49);
    assert_int_equal(count_frames(arrived(g, 1)), 29);

    struct fw_store s;
    struct fw_file list[FW_LIST_MAX];
    struct fw_log silence = {0};
    assert_true(fw_store_open(&s, g->path, &silence));
    assert_int_equal(fw_store_list(&s, list), 0);
    fw_store_close(&s);
}

/* Another process: plays a session until its frames are in the file, and is gone. */
static int play_and_die(const char *path)
{
    fw_options options;

    fw_options_init(&options);
    options.storage_path = path;
    options.slice_ms = 100;
    options.flags = FW_NO_UPLOAD;

    fw_context *fw = fw_start(&options);
    play(fw, fw_now_ns(), 100);
    for (uint64_t until = fw_now_ns() + PATIENCE_NS;
         fw_now_ns() < until && atomic_load(&fw->store.bytes_written) < 600;) {
        usleep(10000);
        fw_recorder_wake(&fw->recorder);
    }
    _exit(0);
}

static void a_killed_session_is_closed_by_the_next_launch(void **state)
{
    struct game *g = *state;
    char self[512] = "";
    pid_t child;

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    child = fork();
    if (!child) {
        execl(self, self, g->path, NULL);
        _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);

    fw_stop(fw_start(&g->options));
    assert_int_equal(g->n_uploads, 2);
    const Framewatch__SessionLog *log = arrived(g, 0);
    assert_int_equal(log->packet[log->n_packet - 1]->end->reason,
                     FRAMEWATCH__END__REASON__RECOVERED);
    assert_int_equal(count_frames(log), 99);
}

static void await_uploads(struct game *g, size_t n)
{
    size_t have = 0;

    for (uint64_t until = fw_now_ns() + PATIENCE_NS; have < n && fw_now_ns() < until;) {
        usleep(5000);
        pthread_mutex_lock(&g->mutex);
        have = g->n_uploads;
        pthread_mutex_unlock(&g->mutex);
    }
    assert_true(have >= n);
}

static void the_background_breaks_the_row_and_finishes_the_file(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);
    uint64_t t = play(fw, fw_now_ns(), 100);

    while (fw_now_ns() < t)
        usleep(1000);
    fw_background(fw);
    fw_frame(fw); /* an engine that goes on ticking */
    await_uploads(g, 1);
    fw_foreground(fw);
    play(fw, fw_now_ns(), 100);
    fw_stop(fw);
    assert_int_equal(g->n_uploads, 2);
    const Framewatch__SessionLog *first = arrived(g, 0), *second = arrived(g, 1);
    assert_int_equal(first->packet[0]->header->part, 0);
    assert_int_equal(second->packet[0]->header->part, 1);
    assert_int_equal(count_frames(first) + count_frames(second), 198);
    assert_int_equal(nth(first, FRAMEWATCH__PACKET__BODY_LIFECYCLE, 0)->lifecycle->kind,
                     FRAMEWATCH__LIFECYCLE__KIND__ENTER_BACKGROUND);
    assert_int_equal(count(first, FRAMEWATCH__PACKET__BODY_JANK), 0);
}

static void the_kill_switch_records_and_sends_nothing(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->config = "{\"version\": 2, \"enabled\": false}";
    fw = fw_start(&g->options);
    fw_stop(fw); /* the configuration is fetched and kept */
    forget_uploads(g);
    fw = fw_start(&g->options);
    play(fw, fw_now_ns(), 50);
    fw_step(fw, "x");
    fw_stop(fw);
    assert_int_equal(g->n_uploads, 0);
    g->config = "{\"version\": 3}";
    fw = fw_start(&g->options); /* still off until it hears otherwise */
    for (uint64_t until = fw_now_ns() + PATIENCE_NS;
         fw_now_ns() < until && !has_said(g, "configuration 3");)
        usleep(10000);
    play(fw, fw_now_ns(), 50);
    fw_stop(fw);
    assert_in_range(g->n_uploads, 1, 3);
    assert_int_equal(count_frames(arrived(g, g->n_uploads - 1)), 49);
}

static void metrics_that_are_off_are_absent(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->config = "{\"version\": 2, \"metrics\": {\"steps\": false, \"positions\": false,"
                "\"hardware\": false, \"frames\": false}}";
    fw_stop(fw_start(&g->options));
    forget_uploads(g);
    fw = fw_start(&g->options);
    fw_step(fw, "x");
    fw_position(fw, 1, 1);
    play(fw, fw_now_ns(), 50);
    fw_scene(fw, "a", "b", NULL, 0);
    fw_stop(fw);

    const Framewatch__SessionLog *log = arrived(g, 0);
    assert_int_equal(count(log, FRAMEWATCH__PACKET__BODY_STEP), 0);
    assert_int_equal(count(log, FRAMEWATCH__PACKET__BODY_POSITION), 0);
    assert_int_equal(count(log, FRAMEWATCH__PACKET__BODY_HARDWARE), 0);
    assert_int_equal(count(log, FRAMEWATCH__PACKET__BODY_FRAMES), 0);
    assert_int_equal(count(log, FRAMEWATCH__PACKET__BODY_SCENE), 1);
}

static void only_wanted_scenes_are_recorded(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->config = "{\"version\": 2, \"scenes\": [\"battle/*\"]}";
    fw_stop(fw_start(&g->options));
    forget_uploads(g);
    fw = fw_start(&g->options);
    uint64_t t = play(fw, fw_now_ns(), 20); /* before the first scene */
    while (fw_now_ns() < t)
        usleep(1000);
    fw_scene(fw, "battle", "frost", NULL, 0);
    t = play(fw, fw_now_ns(), 30);
    while (fw_now_ns() < t)
        usleep(1000);
    fw_scene(fw, "city", "", NULL, 0);
    fw_position(fw, 9, 9);
    play(fw, fw_now_ns(), 40);
    fw_stop(fw);

    const Framewatch__SessionLog *log = arrived(g, 0);
    assert_int_equal(count_frames(log), 29);
    assert_int_equal(count(log, FRAMEWATCH__PACKET__BODY_SCENE), 2);
    assert_int_equal(count(log, FRAMEWATCH__PACKET__BODY_POSITION), 0);
}

static void a_metered_network_carries_the_configuration_and_a_summary(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->network = FW_NETWORK_CELLULAR;
    fw = fw_start(&g->options);
    fw_scene(fw, "battle", "frost", NULL, 0);
    uint64_t t = play(fw, fw_now_ns(), 20);
    play(fw, t + 300 * MS, 20);
    fw_stop(fw);
    assert_int_equal(g->n_uploads, 1);
    assert_in_range(g->upload[0].length, 100, FW_SUMMARY_BYTES);

    const Framewatch__SessionLog *log = arrived(g, 0);
    const Framewatch__Summary *s = nth(log, FRAMEWATCH__PACKET__BODY_SUMMARY, 0)->summary;
    assert_int_equal(log->n_packet, 2);
    assert_int_equal(s->frames, 39);
    assert_int_equal(s->normal_janks, 1);
    assert_int_equal(s->frame_max_us, 301000);
    assert_int_equal(s->n_scene, 1);
    assert_string_equal(s->scene[0]->map, "frost");
}

/* Stacks of the running frame that lie on the desk, and frames there that nobody has taken yet. */
static size_t stacks_of_running_frame(fw_context *fw, size_t *frames)
{
    uint64_t began = atomic_load(&fw->hook.present_ns);
    size_t n = 0;

    *frames = 0;
    pthread_mutex_lock(&fw->desk.mutex);
    for (size_t i = 0; i < FW_DESK_FRAMES; i++) {
        *frames += fw->desk.frame[i].n > 0;
        if (fw->desk.frame[i].began_ns == began)
            n = fw->desk.frame[i].n;
    }
    pthread_mutex_unlock(&fw->desk.mutex);
    return n;
}

/* A frame that lasts at least so long, until its stack was taken and the desk has room again. */
static void long_frame(fw_context *fw, uint64_t ns)
{
    uint64_t began, end;
    size_t frames_on_desk;

    fw_frame(fw);
    began = fw_now_ns();
    do {
        usleep(1000);
        end = fw_now_ns();
    } while (end - began < PATIENCE_NS &&
             (end - began < ns || stacks_of_running_frame(fw, &frames_on_desk) == 0 ||
              frames_on_desk > FW_DESK_FRAMES / 2));
}

/* The first jank with a stack; a starved machine's watchdog may miss some. */
static const Framewatch__Jank *sampled_jank(const Framewatch__SessionLog *log)
{
    for (size_t i = 0; i < log->n_packet; i++) {
        const Framewatch__Packet *p = log->packet[i];

        if (p->body_case == FRAMEWATCH__PACKET__BODY_JANK && p->jank->n_sample)
            return p->jank;
    }
    fail_msg("no long frame has a stack");
    return NULL;
}

static void a_long_frame_carries_stack_and_burst(void **state)
{
    struct game *g = *state;
    fw_context *fw;
    uint64_t until = fw_now_ns() + PATIENCE_NS;

    g->options.hardware_period_ms = 60000; /* nothing but the burst is recorded */
    fw = fw_start(&g->options);
    /* ten looks, 200 ms apart; looks that take too long are left out, and pause for half a minute
     */
    for (unsigned rounds = 0; fw_now_ns() < until && (rounds < 3 || atomic_load(&g->looks) < 10);
         rounds++) {
        uint64_t pause = fw_now_ns() + 3000 * MS;

        long_frame(fw, 450 * MS);
        fw_frame(fw);
        while (fw_now_ns() < pause && atomic_load(&g->looks) < 10) {
            usleep(4000);
            fw_frame(fw);
        }
    }
    fw_stop(fw);

    const Framewatch__SessionLog *log = arrived(g, 0);
    const Framewatch__Jank *jank = sampled_jank(log);
    const Framewatch__Stack *stack = NULL;
    size_t burst = 0;

    assert_in_range(jank->n_sample, 1, 8);
    assert_in_range(jank->sample[0]->t_us - jank->start_us, 100000, jank->duration_us);
    for (size_t i = 0; i < log->n_packet; i++) {
        const Framewatch__Packet *p = log->packet[i];

        if (p->body_case == FRAMEWATCH__PACKET__BODY_STACK &&
            p->stack->id == jank->sample[0]->stack)
            stack = p->stack;
        burst += p->body_case == FRAMEWATCH__PACKET__BODY_HARDWARE && p->hardware->burst;
    }
    assert_non_null(stack);
    assert_string_equal(stack->thread, "main");
    assert_in_range(stack->n_frame, 3, 96);
    assert_in_range(count(log, FRAMEWATCH__PACKET__BODY_MODULE), 1, 64);
    assert_true(burst >= 9); /* a slow machine may have recorded one look that is due anyhow */
}

static void a_row_of_long_frames_keeps_the_stacks_of_each(void **state)
{
    struct game *g = *state;
    fw_context *fw;
    size_t with_stack = 0;

    g->options.jank_stack_ms = 20;
    fw = fw_start(&g->options);
    for (int i = 0; i < 31; i++)
        long_frame(fw, 60 * MS);
    fw_frame(fw);
    fw_stop(fw);

    const Framewatch__SessionLog *log = arrived(g, 0);
    for (size_t i = 0; i < log->n_packet; i++)
        with_stack += log->packet[i]->body_case == FRAMEWATCH__PACKET__BODY_JANK &&
                      log->packet[i]->jank->n_sample > 0;
    assert_int_equal(with_stack, 31);
}

static void a_session_that_ends_within_a_long_frame_tells_it(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);

    fw_frame(fw);
    for (uint64_t until = fw_now_ns() + 260 * MS; fw_now_ns() < until;)
        usleep(1000);
    fw_stop(fw);
    assert_true(nth(arrived(g, 0), FRAMEWATCH__PACKET__BODY_JANK, 0)->jank->duration_us >= 260000);
}

static void times_that_cannot_be_are_counted_and_left_out(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);
    uint64_t t = play(fw, fw_now_ns(), 20);

    fw_frame_at(fw, 0);
    fw_frame_at(fw, t + 3600 * 1000 * MS);
    play(fw, t, 20);
    fw_stop(fw);

    const Framewatch__SessionLog *log = arrived(g, 0);
    assert_int_equal(count_frames(log), 38);
    assert_int_equal(nth(log, FRAMEWATCH__PACKET__BODY_SELF_REPORT, 0)->self_report->dropped_frames,
                     2);
}

/* The recorder looks at the clock, then for a configuration, then for frames. */
static void frames_that_come_while_the_recorder_is_held_up_are_kept(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);
    struct fw_recorder *r = &fw->recorder;
    uint64_t until = fw_now_ns() + PATIENCE_NS;

    while (atomic_load(&r->turns) < 2 && fw_now_ns() < until)
        usleep(1000);
    pthread_mutex_lock(&r->mailbox.mutex);
    fw_recorder_wake(r);
    while (!(atomic_load(&r->turns) & 1) && fw_now_ns() < until)
        usleep(1000);
    for (until = fw_now_ns() + 1100 * MS; fw_now_ns() < until;)
        usleep(1000); /* it has been held up for more than a second */
    play(fw, fw_now_ns(), 50);
    pthread_mutex_unlock(&r->mailbox.mutex);
    fw_stop(fw);
    assert_int_equal(count_frames(arrived(g, 0)), 49);
}

static void a_null_session_does_nothing(void **state)
{
    struct game *g = *state;
    char id[33] = "x";

    g->options.storage_path = NULL;
    assert_null(fw_start(&g->options));
    assert_true(has_said(g, "storage_path"));
    assert_null(fw_start(NULL));
    fw_frame(NULL);
    fw_frame_at(NULL, 1);
    fw_target(NULL, 1, 1);
    fw_scene(NULL, "a", "b", NULL, 0);
    fw_position(NULL, 1, 1);
    fw_step(NULL, "x");
    fw_background(NULL);
    fw_foreground(NULL);
    fw_low_memory(NULL);
    fw_gpu_time(NULL, 1);
    fw_feedback(NULL, "a", "b");
    fw_session_id(NULL, id);
    assert_string_equal(id, "");
    fw_stop(NULL);
}

static void bad_options_are_refused_with_a_reason(void **state)
{
    struct game *g = *state;

    g->options.server_url = "ftp://x";
    assert_null(fw_start(&g->options));
    assert_true(has_said(g, "server_url"));
    g->options.server_url = "http://x";
    g->options.storage_path = "/proc/nowhere/at/all";
    assert_null(fw_start(&g->options));
    assert_true(has_said(g, "/proc/nowhere"));
    g->options.storage_path = g->path;
    g->options.size = 4; /* older than any library */
    assert_null(fw_start(&g->options));
}

static void one_session_at_a_time(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);

    assert_non_null(fw);
    assert_null(fw_start(&g->options));
    assert_true(has_said(g, "runs already"));
    fw_stop(fw);
    fw = fw_start(&g->options);
    assert_non_null(fw);
    fw_stop(fw);
}

static void a_gpu_time_is_recorded_once(void **state)
{
    struct game *g = *state;
    size_t told = 0, n;

    g->options.hardware_period_ms = 200;
    fw_context *fw = fw_start(&g->options);
    assert_non_null(fw);
    fw_gpu_time(fw, 700000);
    for (uint64_t until = fw_now_ns() + PATIENCE_NS;
         fw_now_ns() < until && atomic_load(&g->looks) < 4;)
        usleep(1000);
    fw_stop(fw);

    const Framewatch__SessionLog *log = arrived(g, 0);
    for (size_t i = 0; i < log->n_packet; i++)
        told += log->packet[i]->body_case == FRAMEWATCH__PACKET__BODY_HARDWARE &&
                log->packet[i]->hardware->gpu_time_us == 700000;
    n = count(log, FRAMEWATCH__PACKET__BODY_SELF_REPORT);
    /* looks that were left out on a busy machine may have taken it with them */
    assert_in_range(
        told, !nth(log, FRAMEWATCH__PACKET__BODY_SELF_REPORT, n - 1)->self_report->dropped_samples,
        1);
}

static void *shout(void *user)
{
    fw_context *fw = user;

    for (int i = 0; i < 2000; i++) {
        fw_step(fw, "from another thread");
        fw_position(fw, (float)i, 0);
        fw_gpu_time(fw, 7000);
        if (i % 100 == 0)
            fw_scene(fw, "a", "b", NULL, 0);
        if (i % 500 == 0)
            fw_target(fw, (uint32_t)i, 60000);
    }
    return NULL;
}

static void all_calls_but_the_games_own_may_come_from_any_thread(void **state)
{
    struct game *g = *state;
    fw_context *fw = fw_start(&g->options);
    pthread_t thread[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, shout, fw);
    play(fw, fw_now_ns(), 500);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    fw_stop(fw);
    assert_int_equal(count_frames(arrived(g, 0)), 499);
    const Framewatch__SelfReport *self =
        nth(g->log[0], FRAMEWATCH__PACKET__BODY_SELF_REPORT,
            count(g->log[0], FRAMEWATCH__PACKET__BODY_SELF_REPORT) - 1)
            ->self_report;
    /* What did not fit is counted; so are the few fw_target() calls that did not, and looks at the
     * hardware that a machine busy with other things made too slow. */
    assert_in_range(count(g->log[0], FRAMEWATCH__PACKET__BODY_STEP) +
                        count(g->log[0], FRAMEWATCH__PACKET__BODY_POSITION) +
                        count(g->log[0], FRAMEWATCH__PACKET__BODY_SCENE) + self->dropped_samples,
                    3 * (2000 + 2000 + 20), 3 * (2000 + 2000 + 20) + 3 * 4 + MAX_SLOW_LOOKS);
}

/* A line of /proc/self/task/TID/comm, or "". */
static void thread_name(const char *tid, char *out, int size)
{
    char path[300];

    snprintf(path, sizeof path, "/proc/self/task/%s/comm", tid);

    FILE *f = fopen(path, "re");

    *out = 0;
    if (f && !fgets(out, size, f))
        *out = 0;
    if (f)
        fclose(f);
}

/* How many of the SDK's threads are as nice as they should be, or nicer. */
static int nice_threads(void)
{
    static const struct {
        const char *name;
        int nice;
    } expected[] = {{"fw-sample\n", 10}, {"fw-watch\n", 5}, {"fw-upload\n", 15}};
    DIR *d = opendir("/proc/self/task");
    int n = 0;

    for (struct dirent *e; (e = readdir(d));) {
        char name[32];

        thread_name(e->d_name, name, sizeof name);
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
            n += !strcmp(name, expected[i].name) &&
                 getpriority(PRIO_PROCESS, (id_t)strtoul(e->d_name, NULL, 10)) >= expected[i].nice;
    }
    closedir(d);
    return n;
}

static void the_sdks_threads_give_way_to_the_games(void **state)
{
    struct game *g = *state;
    int own = getpriority(PRIO_PROCESS, 0);
    uint64_t until = fw_now_ns() + PATIENCE_NS;
    fw_context *fw = fw_start(&g->options);

    while (nice_threads() != 3 && fw_now_ns() < until)
        usleep(1000); /* they say so themselves, when they first run */
    assert_int_equal(nice_threads(), 3);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
    fw_stop(fw);
}

#define GAME_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(int argc, char **argv)
{
    stack_room();

    if (argc == 2)
        return play_and_die(argv[1]);

    const struct CMUnitTest tests[] = {
        GAME_TEST(a_session_arrives_whole),
        GAME_TEST(a_scenes_texts_are_scrubbed),
        GAME_TEST(managed_frames_stand_where_the_main_thread_was_in_them),
        GAME_TEST(a_games_slow_managed_stacks_are_told_as_a_collector_that_is_off),
        GAME_TEST(what_was_sent_is_deleted_and_what_was_not_is_kept),
        GAME_TEST(a_killed_session_is_closed_by_the_next_launch),
        GAME_TEST(the_background_breaks_the_row_and_finishes_the_file),
        GAME_TEST(the_kill_switch_records_and_sends_nothing),
        GAME_TEST(metrics_that_are_off_are_absent),
        GAME_TEST(only_wanted_scenes_are_recorded),
        GAME_TEST(a_metered_network_carries_the_configuration_and_a_summary),
        GAME_TEST(a_long_frame_carries_stack_and_burst),
        GAME_TEST(a_row_of_long_frames_keeps_the_stacks_of_each),
        GAME_TEST(a_session_that_ends_within_a_long_frame_tells_it),
        GAME_TEST(times_that_cannot_be_are_counted_and_left_out),
        GAME_TEST(frames_that_come_while_the_recorder_is_held_up_are_kept),
        GAME_TEST(a_null_session_does_nothing),
        GAME_TEST(bad_options_are_refused_with_a_reason),
        GAME_TEST(one_session_at_a_time),
        GAME_TEST(a_gpu_time_is_recorded_once),
        GAME_TEST(all_calls_but_the_games_own_may_come_from_any_thread),
        GAME_TEST(the_sdks_threads_give_way_to_the_games),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
