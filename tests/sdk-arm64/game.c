/* A game on arm64: renders nothing, hitches in functions of known names, and crashes if told to.
 *   game STORAGE [crash|leaf] */
#include <framewatch.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAMED __attribute__((noipa))

static volatile unsigned long work;

static unsigned long long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

NAMED static void find_the_way(unsigned long long until)
{
    while (now_ms() < until)
        work += 1;
}

NAMED static void move_the_monsters(unsigned ms)
{
    find_the_way(now_ms() + ms);
    work += 2;
}

NAMED static void fall_off_the_map(int *nowhere)
{
    *nowhere = 7;
    work += 3;
}

NAMED static void open_the_gate(int *nowhere)
{
    fall_off_the_map(nowhere);
    work += 4;
}

/* A leaf: its frame is nowhere on the stack. */
static atomic_bool dawn;
NAMED static void watch_the_sky(void)
{
    while (!atomic_load_explicit(&dawn, memory_order_relaxed))
        work += 1;
}

NAMED static void keep_watch(void)
{
    watch_the_sky();
    work += 2;
}

static void *bring_the_dawn(void *user)
{
    struct timespec t = {.tv_sec = 3};

    nanosleep(&t, NULL);
    atomic_store(&dawn, true);
    return user;
}

static void watch_until_dawn(void)
{
    pthread_t sun;

    if (pthread_create(&sun, NULL, bring_the_dawn, NULL) != 0)
        return;
    keep_watch();
    pthread_join(sun, NULL);
}

int main(int argc, char **argv)
{
    fw_options o;
    fw_context *fw;
    char id[33];

    if (argc < 2)
        return 2;
    fw_options_init(&o);
    o.server_url = "https://frames.example.org";
    o.api_key = "none";
    o.storage_path = argv[1];
    o.app = "arm64";
    o.version_name = "1";
    o.flags = FW_NO_UPLOAD;
    fw = fw_start(&o);
    fw_session_id(fw, id);
    printf("%s\n", id);
    fflush(stdout);
    fw_frame(fw);
    if (argc > 2 && strcmp(argv[2], "leaf") == 0) {
        watch_until_dawn();
        fw_frame(fw);
        fw_stop(fw);
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        move_the_monsters(1500); /* the machine below may be slow to look */
        fw_frame(fw);
    }
    if (argc > 2 && strcmp(argv[2], "crash") == 0)
        open_the_gate(NULL);
    fw_stop(fw);
    return id[0] ? 0 : 1;
}
