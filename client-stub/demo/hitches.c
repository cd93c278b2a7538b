#include "hitches.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Each named function keeps a frame of its own. */
#define NAMED __attribute__((noinline))

#define TEXTURE_SIDE 256
#define MAZE_SIDE 96

struct hitches {
    struct renderer *renderer;
    uint64_t random;
    pthread_mutex_t world; /* guards nothing but the time it is held */
    uint8_t texture[TEXTURE_SIDE * TEXTURE_SIDE * 4];
    uint16_t distance[MAZE_SIDE * MAZE_SIDE];
    uint8_t wall[MAZE_SIDE * MAZE_SIDE];
    uint16_t open[MAZE_SIDE * MAZE_SIDE];
};

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void rest_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};

    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

static uint32_t next_random(struct hitches *h)
{
    h->random = h->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(h->random >> 33);
}

struct hitches *hitches_new(struct renderer *r, uint64_t seed)
{
    struct hitches *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->renderer = r;
    h->random = seed;
    pthread_mutex_init(&h->world, NULL);
    return h;
}

void hitches_free(struct hitches *h)
{
    if (!h)
        return;
    pthread_mutex_destroy(&h->world);
    free(h);
}

/* Starts `run` beside the game; false: the caller does without. */
static bool beside(pthread_t *thread, void *(*run)(void *), void *arg)
{
    return pthread_create(thread, NULL, run, arg) == 0;
}

/* A storage that gives a chunk now and then: the other end of a pipe. */
struct slow_file {
    int fd;
    unsigned ms;
};

static void *serve_file(void *arg)
{
    struct slow_file *f = arg;
    const uint64_t end = now_us() + (uint64_t)f->ms * 1000;
    char chunk[512];

    memset(chunk, 'x', sizeof chunk);
    while (now_us() < end) {
        rest_us(20000);
        if (write(f->fd, chunk, sizeof chunk) < 0)
            break;
    }
    close(f->fd);
    return NULL;
}

NAMED static size_t read_asset_file(int fd)
{
    char chunk[4096];
    size_t total = 0;

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return total;
        total += (size_t)n;
    }
}

NAMED void load_level_assets(struct hitches *h, const char *map, unsigned ms)
{
    int ends[2];
    pthread_t storage;

    (void)h;
    if (pipe(ends) != 0)
        return;

    struct slow_file file = {ends[1], ms};

    if (beside(&storage, serve_file, &file)) {
        size_t n = read_asset_file(ends[0]);

        pthread_join(storage, NULL);
        if (n == 0)
            fprintf(stderr, "demo_game: assets of %s are empty\n", map);
    } else {
        close(ends[1]);
    }
    close(ends[0]);
}

/* Four pixels a side from two colours and 16 two-bit weights, like the block formats of phones. */
NAMED static void decode_block(uint8_t *out, uint32_t colors, uint32_t weights)
{
    for (unsigned i = 0; i < 16; i++) {
        const unsigned w = weights >> (2 * i) & 3;
        uint8_t *pixel = out + ((i / 4) * TEXTURE_SIDE + i % 4) * 4;

        for (unsigned c = 0; c < 3; c++) {
            const unsigned a = colors >> (5 * c) & 31, b = colors >> (15 + 5 * c) & 31;

            pixel[c] = (uint8_t)((a * (3 - w) + b * w) * 255 / 93);
        }
        pixel[3] = 255;
    }
}

NAMED static void decode_texture(struct hitches *h)
{
    for (unsigned y = 0; y < TEXTURE_SIDE; y += 4)
        for (unsigned x = 0; x < TEXTURE_SIDE; x += 4) {
            const uint32_t colors = next_random(h), weights = next_random(h);

            decode_block(h->texture + (y * TEXTURE_SIDE + x) * 4, colors, weights);
        }
}

NAMED void decompress_textures(struct hitches *h, unsigned ms)
{
    const uint64_t end = now_us() + (uint64_t)ms * 1000;

    do {
        decode_texture(h);
        renderer_texture(h->renderer, h->texture, TEXTURE_SIDE);
    } while (now_us() < end);
}

struct holder {
    struct hitches *h;
    unsigned ms;
    pthread_barrier_t held;
};

static void *rebuild_collision(void *arg)
{
    struct holder *p = arg;

    pthread_mutex_lock(&p->h->world);
    pthread_barrier_wait(&p->held);
    rest_us((uint64_t)p->ms * 1000);
    pthread_mutex_unlock(&p->h->world);
    return NULL;
}

NAMED static void lock_world(struct hitches *h)
{
    pthread_mutex_lock(&h->world);
}

NAMED void step_physics(struct hitches *h, unsigned ms)
{
    struct holder p = {.h = h, .ms = ms};
    pthread_t thread;

    pthread_barrier_init(&p.held, NULL, 2);
    if (beside(&thread, rebuild_collision, &p)) {
        pthread_barrier_wait(&p.held);
        lock_world(h);
        pthread_mutex_unlock(&h->world);
        pthread_join(thread, NULL);
    }
    pthread_barrier_destroy(&p.held);
}

/* Breadth first through a random maze; the number of cells reached. */
NAMED static unsigned find_path(struct hitches *h, unsigned from)
{
    unsigned head = 0, tail = 0;

    memset(h->distance, 0xff, sizeof h->distance);
    h->distance[from] = 0;
    h->open[tail++] = (uint16_t)from;
    while (head < tail) {
        static const int side[4] = {-1, 1, -MAZE_SIDE, MAZE_SIDE};
        const unsigned at = h->open[head++];

        for (unsigned i = 0; i < 4; i++) {
            const unsigned to = at + (unsigned)side[i];

            if (to >= MAZE_SIDE * MAZE_SIDE || h->wall[to] || h->distance[to] != 0xffff)
                continue;
            h->distance[to] = (uint16_t)(h->distance[at] + 1);
            h->open[tail++] = (uint16_t)to;
        }
    }
    return tail;
}

NAMED void spawn_monsters(struct hitches *h, unsigned ms)
{
    const uint64_t end = now_us() + (uint64_t)ms * 1000;

    for (size_t i = 0; i < sizeof h->wall; i++)
        h->wall[i] = next_random(h) % 4 == 0;
    do {
        find_path(h, next_random(h) % (MAZE_SIDE * MAZE_SIDE));
    } while (now_us() < end);
}

NAMED static void write_save_file(int fd)
{
    char block[4096];

    memset(block, 's', sizeof block);
    for (unsigned i = 0; i < 16; i++)
        if (write(fd, block, sizeof block) < 0)
            return;
    fsync(fd);
}

NAMED void save_progress(struct hitches *h, unsigned ms)
{
    const uint64_t end = now_us() + (uint64_t)ms * 1000;
    char path[] = "/tmp/demo_game_save_XXXXXX";
    int fd = mkstemp(path);

    (void)h;
    if (fd < 0)
        return;
    unlink(path);
    write_save_file(fd);
    /* A phone's flash under pressure takes this long; a test machine's does not. */
    while (now_us() < end)
        rest_us(5000);
    close(fd);
}
