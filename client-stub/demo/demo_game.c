/*
 * demo_game: a small game with the SDK inside, to see Framewatch work on frames that were really
 * rendered and functions that really blocked. Headless: EGL without a window, on whatever OpenGL
 * ES 2 there is (LIBGL_ALWAYS_SOFTWARE=1 asks Mesa for its software renderer).
 *
 * Prints what it does on stdout and the session's id as the last line.
 */
#include "framewatch_gl.h"
#include "hitches.h"
#include "plan.h"
#include "render.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WIDTH 480
#define HEIGHT 270
#define MAX_SPRITES 256

struct settings {
    const char *server, *key_file, *storage, *version, *frame_times;
    bool no_sdk, overlay;
    unsigned long seconds, seed, jank_every_ms, fps, version_code, slice_ms, hardware_ms;
    char key[256];
};

struct game {
    const struct settings *settings;
    fw_context *fw;
    fw_gl *gl;
    bool gpu_time; /* by the GPU's own clock */
    FILE *frame_times;
    struct renderer *renderer;
    struct hitches *hitches;
    struct plan plan;
    size_t next_event;
    const struct scene *scene;
    float x, y; /* the player */
    uint64_t begin_us, last_us, longest_us, frames;
    struct sprite sprites[MAX_SPRITES];
};

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void sleep_until_us(uint64_t at)
{
    const struct timespec t = {(time_t)(at / 1000000), (long)(at % 1000000) * 1000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static void enter_scene(struct game *g, const struct event *e)
{
    const struct scene *s = &scenes[e->value];
    const fw_attribute players = {"players", (int64_t)s->sprites / 4};

    g->scene = s;
    fw_scene(g->fw, s->mode, s->map, &players, 1);
    printf("%6.1f s  %s on %s\n", (double)e->at_ms / 1000, s->mode, s->map);
    fflush(stdout);
    if (e->ms)
        load_level_assets(g->hitches, s->map, e->ms);
}

static void hitch(struct game *g, const struct event *e)
{
    static void (*const what[N_HITCHES])(struct hitches *, unsigned) = {
        [HITCH_TEXTURES] = decompress_textures,
        [HITCH_PHYSICS] = step_physics,
        [HITCH_MONSTERS] = spawn_monsters,
        [HITCH_SAVE] = save_progress,
    };

    what[e->value](g->hitches, e->ms);
}

static void move_player(struct game *g, uint32_t draw)
{
    g->x += (float)(draw % 2001) / 100 - 10;
    g->y += (float)(draw / 2001 % 2001) / 100 - 10;
    fw_position(g->fw, g->x, g->y);
}

static void go_away(struct game *g, unsigned ms)
{
    fw_background(g->fw);
    sleep_until_us(now_us() + (uint64_t)ms * 1000);
    fw_foreground(g->fw);
    g->last_us = 0; /* the pause was no frame */
}

static void run_event(struct game *g, const struct event *e)
{
    switch (e->action) {
    case ENTER_SCENE:
        enter_scene(g, e);
        break;
    case HITCH:
        hitch(g, e);
        break;
    case STEP:
        fw_step(g->fw, steps[e->value]);
        break;
    case MOVE:
        move_player(g, e->value);
        break;
    case BACKGROUND:
        go_away(g, e->ms);
        break;
    case LOW_MEMORY:
        fw_low_memory(g->fw);
        break;
    case FEEDBACK:
        fw_feedback(g->fw, "performance", "It stutters whenever monsters appear.");
        break;
    }
}

static void place_sprites(struct game *g, float t)
{
    for (unsigned i = 0; i < g->scene->sprites; i++) {
        const float k = (float)i;

        /* Triangle waves: each sprite on a path of its own, no libm. */
        float u = t * (0.05f + 0.001f * k) + k * 0.37f, v = t * 0.07f + k * 0.61f;

        u -= (float)(int)u;
        v -= (float)(int)v;
        g->sprites[i] = (struct sprite){
            .x = (u < 0.5f ? u : 1 - u) * 4 - 1,
            .y = (v < 0.5f ? v : 1 - v) * 4 - 1,
            .size = g->scene->sprite_size,
            .red = u,
            .green = v,
            .blue = 1 - u,
        };
    }
}

static void draw_frame(struct game *g, float t)
{
    const struct scene *s = g->scene;

    fw_gl_frame_begin(g->gl);
    renderer_begin(g->renderer, s->red, s->green, s->blue);
    place_sprites(g, t);
    renderer_sprites(g->renderer, g->sprites, s->sprites, s->lights, t);
    if (g->settings->overlay)
        fw_gl_overlay(g->gl, 8, 8, WIDTH, HEIGHT, 1);
    fw_gl_frame_end(g->gl);

    const uint32_t us = renderer_present(g->renderer);
    if (!g->gpu_time)
        fw_gpu_time(g->fw, us);
}

/* After present: tells the SDK and keeps the longest interval for the closing line. */
static void end_frame(struct game *g)
{
    const uint64_t now = now_us();

    fw_frame(g->fw);
    if (g->frame_times && g->last_us)
        fprintf(g->frame_times, "%" PRIu64 "\n", now - g->last_us);
    if (g->last_us && now - g->last_us > g->longest_us)
        g->longest_us = now - g->last_us;
    g->last_us = now;
    g->frames++;
}

/* At most one that blocks a frame: each shows as a long frame of its own. */
static void run_due_events(struct game *g, uint32_t now_ms)
{
    while (g->next_event < g->plan.n && g->plan.events[g->next_event].at_ms <= now_ms) {
        const struct event *e = &g->plan.events[g->next_event++];

        run_event(g, e);
        if (e->ms)
            return;
    }
}

static void run_game(struct game *g)
{
    const uint64_t interval = 1000000 / g->settings->fps;
    const uint64_t length = g->settings->seconds * 1000000;
    uint64_t due = now_us();

    g->begin_us = due;
    for (;;) {
        const uint64_t elapsed = now_us() - g->begin_us;

        if (elapsed >= length)
            return;
        run_due_events(g, (uint32_t)(elapsed / 1000));
        draw_frame(g, (float)elapsed / 1e6f);
        due += interval;
        if (due > now_us())
            sleep_until_us(due);
        else
            due = now_us(); /* late: no catching up, like vsync */
        end_frame(g);
    }
}

static void log_line(void *user, fw_log_level level, const char *text)
{
    static const char *const name[] = {"error", "warning", "info"};

    (void)user;
    fprintf(stderr, "framewatch sdk: %s: %s\n", name[level], text);
}

static fw_context *start_sdk(const struct settings *s, const struct renderer *r)
{
    fw_options o;

    fw_options_init(&o);
    o.server_url = s->server ? s->server : "http://127.0.0.1:1";
    o.api_key = s->key;
    o.storage_path = s->storage;
    o.app = "demo_game";
    o.version_name = s->version;
    o.version_code = s->version_code;
    o.build_id = "demo_game";
    o.device.gpu = renderer_gpu(r);
    o.device.screen_width_px = WIDTH;
    o.device.screen_height_px = HEIGHT;
    o.device.refresh_millihertz = (uint32_t)s->fps * 1000;
    o.target_interval_us = (uint32_t)(1000000 / s->fps);
    o.hardware_period_ms = (uint32_t)s->hardware_ms;
    o.slice_ms = (uint32_t)s->slice_ms;
    o.flags = s->server ? FW_UPLOAD_AT_STOP : FW_NO_UPLOAD;
    o.log = log_line;
    return fw_start(&o);
}

static void start_gl(struct game *g)
{
    fw_gl_counts counts = {.size = sizeof counts};

    g->gl = g->fw ? fw_gl_new(g->fw, renderer_proc) : NULL;
    if (g->gl)
        fw_gl_read_counts(g->gl, &counts);
    g->gpu_time = counts.timestamps;
}

static int play(const struct settings *s)
{
    struct game g = {.settings = s, .scene = &scenes[0]};
    char id[33];
    int result = 1;

    g.renderer = renderer_new(WIDTH, HEIGHT);
    if (!g.renderer)
        return 1;
    g.plan = plan_make(s->seed, (uint32_t)(s->seconds * 1000), (uint32_t)s->jank_every_ms);
    g.hitches = hitches_new(g.renderer, s->seed);
    if (!s->no_sdk)
        g.fw = start_sdk(s, g.renderer);
    start_gl(&g);
    if (s->frame_times)
        g.frame_times = fopen(s->frame_times, "w");
    if (!g.plan.events || !g.hitches || (!g.fw && !s->no_sdk) ||
        (s->frame_times && !g.frame_times)) {
        fprintf(stderr, "demo_game: could not start\n");
        goto out;
    }
    printf("%s, %dx%d at %lu frames/s for %lu s\n", renderer_gpu(g.renderer), WIDTH, HEIGHT, s->fps,
           s->seconds);
    run_game(&g);
    fw_session_id(g.fw, id);
    printf("%" PRIu64 " frames, %u planned hitches over 100 ms, longest frame %" PRIu64 " ms\n",
           g.frames, g.plan.hitches, g.longest_us / 1000);
    if (s->server)
        printf("sending the session\n");
    fflush(stdout);
    fw_stop(g.fw);
    g.fw = NULL;
    printf("%s\n", id);
    result = 0;
out:
    if (g.frame_times && fclose(g.frame_times) != 0)
        result = 1;
    fw_gl_free(g.gl);
    fw_stop(g.fw);
    hitches_free(g.hitches);
    free(g.plan.events);
    renderer_free(g.renderer);
    return result;
}

static const char usage[] =
    "demo_game [OPTION]…\n"
    "Renders a small game headless with the Framewatch SDK inside; prints the session's id last.\n"
    "  --server URL        where to send the session; without it nothing is sent\n"
    "  --key-file FILE     file with an ingest key\n"
    "  --storage DIR       folder of the SDK (/tmp/framewatch-demo)\n"
    "  --seconds N         how long to play, 2..3600 (20)\n"
    "  --seed N            of scenes, hitches and moves (1)\n"
    "  --jank-every MS     a hitch so often, 0 = none (2200)\n"
    "  --fps N             frame rate aimed at, 10..240 (60)\n"
    "  --slice-ms MS       length of the SDK's slices, 1000..60000 (5000)\n"
    "  --version NAME      version of the game (1.0.0)\n"
    "  --version-code N    its number (100)\n"
    "  --hardware-ms MS    time between two looks at the hardware, 200..60000 (1000)\n"
    "  --overlay           draw the SDK's figures into the picture\n"
    "  --no-sdk            play without the SDK, to compare\n"
    "  --frame-times FILE  write each frame's microseconds\n";

static bool read_number(const char *text, unsigned long min, unsigned long max, unsigned long *out)
{
    char *end;

    errno = 0;
    const unsigned long v = strtoul(text, &end, 10);

    if (errno || *end || end == text || *text == '-' || v < min || v > max)
        return false;
    *out = v;
    return true;
}

static bool read_key(struct settings *s)
{
    FILE *f = fopen(s->key_file, "r");
    bool good = f && fgets(s->key, sizeof s->key, f);

    if (f)
        fclose(f);
    if (!good)
        fprintf(stderr, "demo_game: cannot read a key from %s\n", s->key_file);
    s->key[strcspn(s->key, "\r\n")] = '\0';
    return good;
}

/* -1: go on; else the exit code. */
static int read_options(int argc, char **argv, struct settings *s)
{
    static const struct option options[] = {
        {"server", 1, NULL, 's'},      {"key-file", 1, NULL, 'k'},
        {"storage", 1, NULL, 'd'},     {"seconds", 1, NULL, 't'},
        {"seed", 1, NULL, 'r'},        {"jank-every", 1, NULL, 'j'},
        {"fps", 1, NULL, 'f'},         {"slice-ms", 1, NULL, 'l'},
        {"version", 1, NULL, 'v'},     {"version-code", 1, NULL, 'c'},
        {"help", 0, NULL, 'h'},        {"overlay", 0, NULL, 'o'},
        {"hardware-ms", 1, NULL, 'w'}, {"no-sdk", 0, NULL, 'n'},
        {"frame-times", 1, NULL, 'i'}, {NULL, 0, NULL, 0}};
    bool good = true;

    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1 && good;) {
        switch (c) {
        case 's':
            s->server = optarg;
            break;
        case 'k':
            s->key_file = optarg;
            break;
        case 'd':
            s->storage = optarg;
            break;
        case 'v':
            s->version = optarg;
            break;
        case 't':
            good = read_number(optarg, 2, 3600, &s->seconds);
            break;
        case 'r':
            good = read_number(optarg, 0, UINT32_MAX, &s->seed);
            break;
        case 'j':
            good = read_number(optarg, 0, 3600000, &s->jank_every_ms);
            break;
        case 'f':
            good = read_number(optarg, 10, 240, &s->fps);
            break;
        case 'l':
            good = read_number(optarg, 1000, 60000, &s->slice_ms);
            break;
        case 'c':
            good = read_number(optarg, 0, UINT32_MAX, &s->version_code);
            break;
        case 'w':
            good = read_number(optarg, 200, 60000, &s->hardware_ms);
            break;
        case 'o':
            s->overlay = true;
            break;
        case 'n':
            s->no_sdk = true;
            break;
        case 'i':
            s->frame_times = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (!good || optind != argc) {
        fprintf(stderr, "demo_game: not understood: %s\n", good ? argv[optind] : optarg);
        fputs(usage, stderr);
        return 2;
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct settings s = {.storage = "/tmp/framewatch-demo",
                         .version = "1.0.0",
                         .seconds = 20,
                         .seed = 1,
                         .jank_every_ms = 2200,
                         .fps = 60,
                         .version_code = 100,
                         .slice_ms = 5000,
                         .hardware_ms = 1000};
    const int code = read_options(argc, argv, &s);

    if (code >= 0)
        return code;
    if (s.server && !s.key_file) {
        fprintf(stderr, "demo_game: --server needs --key-file\n");
        return 2;
    }
    if (s.key_file && !read_key(&s))
        return 1;
    return play(&s);
}
