/*
 * views_fixture: a session filled by hand, with one of everything that views show, so that they are
 * judged without the decoder and the analysis.
 */
#pragma once
#include "profile/analyse.h"

#include <string.h>

#define FIXTURE_FRAMES 640
#define FIXTURE_HARDWARE 12

struct fixture {
    struct session s;
    struct session_result r;
    struct frame frames[FIXTURE_FRAMES];
    struct hardware_sample hardware[FIXTURE_HARDWARE];
};

static const struct part_cluster fixture_clusters[] = {{4, 1804800}, {4, 2419200}};
static const struct part_module fixture_module = {
    .name = "libgame.so", .arch = "arm64", .debug_id = {0xde, 0xad, 0xbe, 0xef}, .debug_id_len = 4};
static const struct part_stack_frame fixture_frames[] = {
    {&fixture_module, 0x1f30, NULL},
    {NULL, 0, "Game.Scene.LoadAll(\"frost\")"},
    {NULL, 0x7f0011223344, NULL},
};
static const struct part_stack fixture_stacks[] = {
    {.hash = {1, 2, 3}, .thread = "main", .frames = fixture_frames, .n = 3},
    {.hash = {4, 5, 6}, .thread = "main", .frames = fixture_frames + 1, .n = 1},
};
static const struct part_stack_sample fixture_samples[] = {{3110000, &fixture_stacks[0]},
                                                           {3160000, &fixture_stacks[1]}};
static const struct part_attribute fixture_attributes[] = {{"players", 12}, {"wave", -1}};
static const struct part_scene fixture_changes[] = {
    {.t_us = 0, .mode = "lobby", .map = "town"},
    {.t_us = 4000000,
     .mode = "battle",
     .map = "frost \"cave\" 冰",
     .attributes = fixture_attributes,
     .n_attributes = 2},
};
static const struct session_scene fixture_scenes[] = {
    {"", "", ""},
    {"battle/frost \"cave\" 冰", "battle", "frost \"cave\" 冰"},
    {"lobby/town", "lobby", "town"},
};
static uint16_t fixture_change_scene[] = {2, 1};
static const struct part_position fixture_positions[] = {{1000000, 1.5f, -2.25f},
                                                         {2000000, 3.0f, 0.1f}};
static const struct part_lifecycle fixture_lifecycle[] = {
    {6000000, 0, LIFE_BACKGROUND},
    {7000000, 0, LIFE_FOREGROUND},
    {7500000, 0, LIFE_LOW_MEMORY},
    {8000000, 4500, LIFE_SUSPENDED},
};
static const struct session_span fixture_foreground[] = {{0, 6000000}, {7000000, 12000000}};
static const struct part_step fixture_steps[] = {
    {500000, "open_menu"}, {3000000, "press <start>"}, {9000000, "cast\tspell\x1b[31m"}};
static const struct part_crash fixture_crashes[] = {
    {.t_us = 10900000, .signal = 11, .reason = "SIGSEGV at 0x0", .stack = &fixture_stacks[0]}};
static const struct part_feedback fixture_feedback[] = {
    {9500000, "lag", "it stutters\nin the cave"}};

static inline void fixture_fill_frames(struct fixture *f)
{
    uint64_t t = 0;

    for (size_t i = 0; i < FIXTURE_FRAMES; i++) {
        uint32_t interval = 16600 + (uint32_t)(i * 37 % 140);

        if (i == 180)
            interval = 310000;
        if (i == 300)
            interval = 34000;
        if (i == 500)
            interval = 720000;
        f->frames[i] = (struct frame){.start_us = t,
                                      .interval_us = interval,
                                      .target_us = i < 400 ? 16667 : 33333,
                                      .scene = t < 4000000 ? 2 : 1,
                                      .state = FRAME_VALID,
                                      .jank = i == 180   ? JANK_NORMAL
                                              : i == 500 ? JANK_SEVERE
                                                         : JANK_NONE,
                                      .perfdog_jank = i == 180 || i == 500,
                                      .perfdog_big = i == 180 || i == 500,
                                      .missed = i == 180 || i == 300 || i == 500,
                                      .row_start = i == 0};
        if (i >= 350 && i < 356)
            f->frames[i].state = FRAME_BACKGROUND;
        if (i == 600) {
            f->frames[i].state = FRAME_INVALID;
            f->frames[i].interval_us = 0;
        }
        if (i == 601)
            f->frames[i].state = FRAME_OVERLAP;
        t += f->frames[i].interval_us;
    }
}

static inline void fixture_fill_hardware(struct fixture *f)
{
    for (unsigned i = 0; i < FIXTURE_HARDWARE; i++) {
        struct hardware_sample *h = &f->hardware[i];

        *h = (struct hardware_sample){.t_us = i * 900000, .n_cores = 8, .burst = i % 3 == 1};
        h->present = 1u << HW_battery_millicelsius | 1u << HW_pss_kb | 1u << HW_charging;
        h->value[HW_battery_millicelsius] = 31000 + (int64_t)i * 700;
        h->value[HW_pss_kb] = 812000 + (int64_t)(i % 5) * 10240;
        h->value[HW_charging] = i > 6;
        for (unsigned c = 0; c < 8; c++)
            h->core_khz[c] = c < 4 ? 1804800 : i < 8 ? 2419200 : 1209600;
        h->core_khz[7] = 0;
    }
    f->hardware[4].present &= ~(1u << HW_battery_millicelsius);
    f->hardware[4].invalid = 1u << HW_battery_millicelsius;
    f->hardware[5].invalid_cores = 1u << 2;
    f->hardware[5].core_khz[2] = 0;
}

static const struct jank_event fixture_events[] = {
    {.start_us = 3000220,
     .duration_us = 310000,
     .level = JANK_NORMAL,
     .from_frames = true,
     .perfdog_jank = true,
     .perfdog_big = true,
     .scene = 2,
     .cause = CAUSE_throttled,
     .evidence = "big cores 2419 -> 1210 MHz at 36.6 °C",
     .samples = fixture_samples,
     .n_samples = 2,
     .hardware_from = 2,
     .hardware_to = 5},
    {.start_us = 3200000, .duration_us = 150000, .level = JANK_MINOR, .scene = 2},
    {.start_us = 8609060,
     .duration_us = 720000,
     .level = JANK_SEVERE,
     .from_frames = true,
     .perfdog_jank = true,
     .perfdog_big = true,
     .scene = 1},
};

static inline void fixture_fill(struct fixture *f)
{
    struct part_header *h = &f->s.header;

    memset(f, 0, sizeof *f);
    fixture_fill_frames(f);
    fixture_fill_hardware(f);
    for (unsigned i = 0; i < SESSION_ID_BYTES; i++)
        h->session_id[i] = (unsigned char)(0xa0 + i);
    h->app = "dungeon";
    h->platform = "android";
    h->version_name = "2.14.0";
    h->version_code = 21400;
    h->build_id = "5f3c";
    h->sdk_version = "0.1.0";
    h->wall_start_ms = INT64_C(1714971600123);
    h->manufacturer = "Example";
    h->model = "Phone 9";
    h->soc = "SM8450";
    h->gpu = "Adreno 730";
    h->os_version = "14";
    h->ram_mb = 7600;
    h->clusters = fixture_clusters;
    h->n_clusters = 2;
    f->s.n_parts = 1;
    f->s.change_scene = fixture_change_scene;
    f->s.end_us = 12000000;
#define LEND(list, of) (f->s.list = (void *)(of), f->s.n_##list = sizeof(of) / sizeof *(of))
    LEND(frames, f->frames);
    LEND(hardware, f->hardware);
    LEND(scene_changes, fixture_changes);
    LEND(scenes, fixture_scenes);
    LEND(positions, fixture_positions);
    LEND(lifecycle, fixture_lifecycle);
    LEND(foreground, fixture_foreground);
    LEND(steps, fixture_steps);
    LEND(stacks, fixture_stacks);
    LEND(crashes, fixture_crashes);
    LEND(feedback, fixture_feedback);
#undef LEND
    f->r.events = (void *)fixture_events;
    f->r.n_events = sizeof fixture_events / sizeof *fixture_events;
}
