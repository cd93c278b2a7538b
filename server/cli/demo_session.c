#include "demo_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US 1000000u
#define SLICE_US (30u * SECOND_US)
#define HARDWARE_US (5u * SECOND_US)
#define BURST_US 200000u
#define ROW_FRAMES 2048
#define SLICE_BYTES (512u * 1024)
#define PART_BYTES (4u * 1024 * 1024)

struct demo_scene {
    const char *mode, *map;
    unsigned weight, cost_us; /* of a frame on a middling phone */
    double janks_per_minute;
    unsigned players;
};

static const struct demo_scene scenes[] = {
    {"login", "lobby", 0, 5000, 0.3, 0},           {"city", "harbor", 30, 12500, 0.7, 60},
    {"city", "market", 15, 13500, 0.9, 90},        {"dungeon", "frost_dungeon", 20, 10500, 0.6, 5},
    {"dungeon", "lava_cave", 10, 12000, 0.8, 5},   {"battle", "arena_5v5", 20, 14000, 0.9, 10},
    {"battle", "castle_siege", 5, 18500, 1.6, 80},
};
#define N_SCENES (sizeof scenes / sizeof *scenes)

static const char *const steps[] = {"open_inventory", "equip_item",  "talk_to_npc",   "cast_skill",
                                    "drink_potion",   "open_chest",  "accept_quest",  "open_shop",
                                    "join_party",     "start_match", "claim_rewards", "open_map"};

static const double tier_cost[DEMO_TIERS] = {2.3, 1.1, 0.6};
static const double tier_janks[DEMO_TIERS] = {3.0, 1.0, 0.4};
static const uint32_t tier_target_us[DEMO_TIERS] = {33333, 16667, 16667};

struct player {
    const struct demo_config *config;
    const struct demo_device *device;
    const struct demo_version *version;
    struct demo_session *out;
    struct fw_compressor *compressor;
    struct fw_buf slice;
    uint64_t random;
    double load;          /* slow wandering of the frame cost, about 1 */
    double heat_c;        /* above 30 degrees when long at play */
    double device_factor; /* this model against its tier */
    uint64_t t_us, slice_begin_us, part_begin_us, next_hardware_us, next_step_us;
    uint64_t end_us, next_burst_us;
    unsigned burst_left; /* samples of the burst after a jank */
    bool busy;           /* the jank that the burst is about kept the processor busy */
    const struct demo_scene *scene;
    uint32_t row[ROW_FRAMES];
    size_t n_row;
    uint64_t row_start_us;
    uint64_t main_cpu_us, main_wait_us;
    int64_t memory_kb;
    float x, y;
    bool stack_written[32];
    bool rooted, debugger, emulator, developer_mode, repackaged;
    bool bad_values, bad_clock, crashes, feedback;
    bool failed;
};

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(struct player *p)
{
    p->random += 0x9e3779b97f4a7c15u;
    return mix(p->random);
}

static double uniform(struct player *p)
{
    return (double)(draw(p) >> 11) * 0x1p-53;
}

static uint64_t below(struct player *p, uint64_t n)
{
    return draw(p) % n;
}

static bool chance(struct player *p, double probability)
{
    return uniform(p) < probability;
}

/* About standard normal: the sum of four uniforms, scaled. */
static double normal(struct player *p)
{
    return (uniform(p) + uniform(p) + uniform(p) + uniform(p) - 2) * 1.7320508;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = mix(h ^ (unsigned char)*text);
    return h;
}

static void fill_bytes(uint64_t seed, unsigned char *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i % 8 == 0)
            seed = mix(seed);
        out[i] = (unsigned char)(seed >> (i % 8 * 8));
    }
}

/* A build changes the game's own modules; the system's hang on the system. */
static uint64_t module_seed(bool ios, unsigned module, const struct demo_version *v)
{
    const struct demo_module *m = &demo_modules[ios][module - 1];
    uint64_t h = hash_text(ios, m->name);

    return m->game ? mix(hash_text(h, v->name) ^ v->code) : h;
}

void demo_debug_id(bool ios, unsigned module, const struct demo_version *v, unsigned char out[20])
{
    fill_bytes(module_seed(ios, module, v), out, 20);
}

uint64_t demo_offset(bool ios, unsigned module, const struct demo_version *v, const char *function)
{
    return hash_text(module_seed(ios, module, v), function) % (DEMO_MODULE_BYTES / 4) * 4;
}

void demo_build_uid(bool ios, const struct demo_version *v, char out[64])
{
    snprintf(out, 64, "build-%llu-%s", (unsigned long long)v->code, ios ? "ios" : "android");
}

static void check(struct player *p, bool good)
{
    p->failed |= !good;
}

/* Files and slices ----------------------------------------------------------------------------- */

static void write_header(struct player *p)
{
    const struct demo_device *d = p->device;
    const char *const evidence[] = {p->rooted ? "rooted: /system/xbin/su"
                                              : "emulator: ro.kernel.qemu"};
    struct fw_wire_cluster clusters[3];
    char build_uid[64];
    size_t n = 0;

    for (; n < 3 && d->cluster[n].cores; n++)
        clusters[n] = (struct fw_wire_cluster){d->cluster[n].cores, d->cluster[n].max_khz};
    demo_build_uid(d->ios, p->version, build_uid);

    struct fw_wire_header h = {
        .part = (uint32_t)p->out->n_parts - 1,
        .part_start_us = p->part_begin_us,
        .app = p->config->app,
        .version_name = p->version->name,
        .version_code = p->version->code,
        .build_id = build_uid,
        .sdk_version = FW_VERSION,
        .platform = d->ios ? FW_PLATFORM_IOS : FW_PLATFORM_ANDROID,
        .manufacturer = d->manufacturer,
        .model = d->model,
        .soc = d->soc,
        .gpu = d->gpu,
        .os_version = d->os_version,
        .clusters = clusters,
        .n_clusters = n,
        .ram_mb = d->ram_mb,
        .screen_width_px = d->width_px,
        .screen_height_px = d->height_px,
        .refresh_millihertz = d->refresh_hz * 1000,
        .rooted = p->rooted,
        .debugger = p->debugger,
        .emulator = p->emulator,
        .developer_mode = p->developer_mode,
        .repackaged = p->repackaged,
        .evidence = evidence,
        .n_evidence = p->rooted || p->emulator,
    };
    /* Drawn from the session's id, so that each part says the same. */
    const uint64_t before = p->out->id[0] * 256u + p->out->id[1];

    h.wall_start_ms = p->config->wall_ms - (int64_t)(p->end_us / 1000) - (int64_t)before * 200;
    if (p->bad_clock)
        h.wall_start_ms -= (int64_t)400 * 24 * 3600 * 1000;
    memcpy(h.session_id, p->out->id, sizeof h.session_id);
    check(p, fw_wire_header(&p->slice, &h));
}

static void write_modules(struct player *p)
{
    const bool ios = p->device->ios;

    for (unsigned id = 1; id <= DEMO_MODULES; id++) {
        struct fw_wire_module m = {
            .id = id,
            .name = demo_modules[ios][id - 1].name,
            .arch = "arm64",
            .debug_id_len = ios ? 16 : 20,
            .load_address = 0x7000000000u + (uint64_t)id * 0x10000000u,
            .size = DEMO_MODULE_BYTES,
        };

        demo_debug_id(ios, id, p->version, m.debug_id);
        check(p, fw_wire_module(&p->slice, &m));
    }
}

static void begin_part(struct player *p)
{
    if (p->out->n_parts == DEMO_MAX_PARTS) {
        p->failed = true;
        return;
    }
    fw_buf_init(&p->out->part[p->out->n_parts++], PART_BYTES);
    p->part_begin_us = p->slice_begin_us = p->t_us;
    memset(p->stack_written, 0, sizeof p->stack_written);
    write_header(p);
    write_modules(p);
}

static void flush_row(struct player *p)
{
    const struct fw_wire_frames f = {
        .start_us = p->row_start_us,
        .interval_us = p->row,
        .n = p->n_row,
        .target_interval_us = tier_target_us[p->device->tier],
        .refresh_millihertz = p->device->refresh_hz * 1000,
    };

    if (p->n_row)
        check(p, fw_wire_frames(&p->slice, &f));
    p->n_row = 0;
}

static void end_slice(struct player *p)
{
    flush_row(p);
    check(p, fw_compress(p->compressor, p->slice.at, p->slice.len,
                         &p->out->part[p->out->n_parts - 1]));
    fw_buf_reset(&p->slice);
    p->slice_begin_us = p->t_us;
}

static void write_self_report(struct player *p)
{
    static const struct fw_wire_collector_off off = {"skin_temperature", "permission denied", 3};
    const struct fw_wire_self_report r = {
        .t_us = p->t_us,
        .cpu_us = p->t_us / 400,
        .bytes_written = p->t_us / 11000,
        .bytes_uploaded = p->t_us / 12000,
        .wakeups = p->t_us / SECOND_US,
        .memory_bytes = 900000,
        .off = &off,
        .n_off = p->device->manufacturer[0] == 'H',
    };

    check(p, fw_wire_self_report(&p->slice, &r));
}

/* Hardware ------------------------------------------------------------------------------------- */

static double temperature_c(const struct player *p)
{
    return 30 + p->heat_c * (1 - exp(-(double)p->t_us / 240e6));
}

static int thermal_status(const struct player *p)
{
    const double t = temperature_c(p);

    return t > 46 ? 4 : t > 43.5 ? 3 : t > 41 ? 2 : t > 39 ? 1 : 0;
}

/* What is left of the clock at each thermal status. */
static double clock_factor(const struct player *p)
{
    static const double factor[] = {1, 0.97, 0.88, 0.72, 0.58};

    return factor[thermal_status(p)];
}

static void fill_cores(struct player *p, struct fw_wire_hardware *h)
{
    for (size_t c = 0; c < 3 && p->device->cluster[c].cores; c++)
        for (unsigned i = 0; i < p->device->cluster[c].cores; i++) {
            const double busy = 0.75 + 0.25 * uniform(p);

            h->core_khz[h->n_cores++] =
                (uint32_t)(p->device->cluster[c].max_khz * clock_factor(p) * busy);
        }
}

static void fill_memory(struct player *p, struct fw_wire_hardware *h)
{
    const int64_t kb = p->memory_kb + (int64_t)below(p, 20000);

    if (p->device->ios) {
        h->phys_footprint_kb = kb;
        return;
    }
    h->pss_kb = kb;
    h->native_heap_kb = kb * 55 / 100;
    h->java_heap_kb = kb * 6 / 100;
    h->rss_kb = kb * 125 / 100;
    h->rss_anon_kb = kb * 80 / 100;
    h->swap_kb = p->device->ram_mb < 4000 ? kb / 8 : 0;
}

static void spoil(struct player *p, struct fw_wire_hardware *h)
{
    switch (below(p, 4)) {
    case 0:
        if (h->n_cores)
            h->core_khz[0] = 99000000;
        break;
    case 1:
        h->battery_millicelsius = 0;
        break;
    case 2:
        h->battery_millicelsius = -127000;
        break;
    default:
        h->thread_count = 4000000;
    }
}

static void write_hardware(struct player *p, bool burst)
{
    struct fw_wire_hardware h;

    fw_wire_hardware_init(&h);
    h.t_us = (int64_t)p->t_us;
    h.burst = burst;
    h.process_cpu_permille = 180 + (int64_t)below(p, 120);
    h.total_cpu_permille = h.process_cpu_permille + 80 + (int64_t)below(p, 150);
    if (burst && p->busy)
        h.total_cpu_permille = 930 + (int64_t)below(p, 70);
    h.battery_millicelsius = (int64_t)(temperature_c(p) * 10) * 100;
    h.skin_millicelsius = h.battery_millicelsius + 1500;
    h.thermal_status = thermal_status(p);
    h.thread_count = 90 + (int64_t)below(p, 30);
    h.main_cpu_us = (int64_t)p->main_cpu_us;
    h.main_wait_us = (int64_t)p->main_wait_us;
    h.gpu_time_us = (int64_t)(p->scene->cost_us * tier_cost[p->device->tier] * 0.7);
    h.battery_permille = 950 - (int64_t)(p->t_us / SECOND_US / 6);
    h.charging = p->out->id[2] % 8 == 0;
    h.network = p->out->id[3] % 4 == 0 ? 3 : 2;
    if (!p->device->ios)
        fill_cores(p, &h);
    fill_memory(p, &h);
    if (p->bad_values && chance(p, 0.2))
        spoil(p, &h);
    check(p, fw_wire_hardware(&p->slice, &h));
}

/* "battle" is every map of the mode, "battle/arena_5v5" one. */
static bool is_scene(const struct demo_scene *scene, const char *name)
{
    size_t n = strlen(scene->mode);

    return strncmp(name, scene->mode, n) == 0 &&
           (!name[n] || (name[n] == '/' && strcmp(name + n + 1, scene->map) == 0));
}

static bool is_slow(const struct player *p)
{
    const struct demo_config *c = p->config;

    return (c->slow_percent || c->more_janks_percent) &&
           p->version == &c->version[c->n_versions - 1] &&
           (c->slow_tier < 0 || c->slow_tier == (int)p->device->tier) &&
           (!c->slow_scene || is_scene(p->scene, c->slow_scene));
}

/* Stacks and janks ----------------------------------------------------------------------------- */

static const struct demo_stack *pick_stack(struct player *p)
{
    unsigned total = 0, at;

    for (size_t i = 0; i < n_demo_stacks; i++)
        if (!demo_stacks[i].where || strcmp(demo_stacks[i].where, p->scene->mode) == 0)
            total += demo_stacks[i].weight;
    at = (unsigned)below(p, total);
    for (size_t i = 0; i < n_demo_stacks; i++) {
        if (demo_stacks[i].where && strcmp(demo_stacks[i].where, p->scene->mode) != 0)
            continue;
        if (at < demo_stacks[i].weight)
            return &demo_stacks[i];
        at -= demo_stacks[i].weight;
    }
    return &demo_stacks[0];
}

/* What the newest version does that the others do not: the rarest of what is the scene's alone. */
static const struct demo_stack *worse_stack(const struct player *p)
{
    const struct demo_stack *found = &demo_stacks[n_demo_stacks - 1];

    for (size_t i = 0; i < n_demo_stacks; i++)
        if (demo_stacks[i].where && strcmp(demo_stacks[i].where, p->scene->mode) == 0)
            found = &demo_stacks[i];
    return found;
}

static double more_janks(const struct player *p)
{
    return is_slow(p) ? p->config->more_janks_percent / 100.0 : 0;
}

static const struct demo_stack *jank_stack(struct player *p)
{
    const double more = more_janks(p);

    return more > 0 && chance(p, more / (1 + more)) ? worse_stack(p) : pick_stack(p);
}

/* Writes the stack once a file; returns its id. */
static uint32_t use_stack(struct player *p, const struct demo_stack *s)
{
    const uint32_t id = (uint32_t)(s - demo_stacks) + 1;
    struct fw_wire_stack_frame frames[DEMO_STACK_FRAMES];
    struct fw_wire_stack stack = {.id = id, .frames = frames, .thread = "main"};

    if (p->stack_written[id])
        return id;
    p->stack_written[id] = true;
    for (; stack.n < DEMO_STACK_FRAMES && s->frame[stack.n].function; stack.n++) {
        const struct demo_frame *f = &s->frame[stack.n];

        frames[stack.n] = (struct fw_wire_stack_frame){.text = f->function};
        if (f->module)
            frames[stack.n] = (struct fw_wire_stack_frame){
                .module = f->module,
                .offset = demo_offset(p->device->ios, f->module, p->version, f->function),
            };
    }
    check(p, fw_wire_stack(&p->slice, &stack));
    return id;
}

static void add_interval(struct player *p, uint32_t us)
{
    if (p->n_row == ROW_FRAMES)
        flush_row(p);
    if (!p->n_row)
        p->row_start_us = p->t_us;
    p->row[p->n_row++] = us;
    p->t_us += us;
}

/* 105 ms and up, most of them short. */
static uint32_t jank_us(struct player *p)
{
    const double ms = 105 + 130 * -log(1 - uniform(p) * 0.9999);

    return (uint32_t)((ms > 4000 ? 4000 : ms) * 1000);
}

/* A stack that ends in the system's library waits for something. */
static bool waits(const struct demo_stack *s)
{
    return s->frame[0].module == MODULE_LIBC;
}

/* One look just before the jank and one just after; the burst of 10 goes on while frames go by. */
static void play_jank(struct player *p)
{
    const uint32_t duration = jank_us(p);
    const uint64_t start = p->t_us;
    const struct demo_stack *what = jank_stack(p);
    const uint32_t stack = use_stack(p, what);
    struct fw_wire_stack_sample samples[4];
    struct fw_wire_jank j = {.start_us = start,
                             .duration_us = duration,
                             .level = fw_wire_jank_level(duration),
                             .samples = samples};

    while (j.n_samples < 4 && (j.n_samples + 1) * 100000 < duration) {
        samples[j.n_samples] =
            (struct fw_wire_stack_sample){start + (j.n_samples + 1) * 100000, stack};
        j.n_samples++;
    }
    p->busy = false;
    write_hardware(p, true);
    add_interval(p, duration);
    check(p, fw_wire_jank(&p->slice, &j));
    p->main_cpu_us += waits(what) ? duration / 50 : duration * 97 / 100;
    p->busy = !waits(what);
    write_hardware(p, true);
    p->burst_left = 8;
    p->next_burst_us = p->t_us + BURST_US;
}

/* Play ----------------------------------------------------------------------------------------- */

static uint32_t frame_us(struct player *p)
{
    const double target = tier_target_us[p->device->tier];
    double us;

    p->load += 0.02 * (1 - p->load) + 0.02 * normal(p);
    us = p->scene->cost_us * tier_cost[p->device->tier] * p->device_factor * p->load /
         clock_factor(p) * exp(0.10 * normal(p));
    us = (us < target ? target : us) + 120 * normal(p);
    if (is_slow(p))
        us *= 1 + p->config->slow_percent / 100.0;
    if (us < 2000)
        us = 2000;
    if (p->bad_values && below(p, 2000) == 0)
        us = below(p, 2) ? 99e6 : 0;
    return (uint32_t)us;
}

static void enter_scene(struct player *p, const struct demo_scene *s)
{
    const struct fw_wire_attribute players = {"players", s->players + (int64_t)below(p, 10)};

    flush_row(p);
    p->scene = s;
    p->memory_kb += (int64_t)below(p, 30000) - 10000;
    check(p, fw_wire_scene(&p->slice, p->t_us, s->mode, s->map, &players, 1));
    check(p, fw_wire_position(&p->slice, p->t_us, p->x, p->y));
}

static const struct demo_scene *next_scene(struct player *p)
{
    unsigned at = (unsigned)below(p, 100);

    for (size_t i = 1; i < N_SCENES; i++) {
        if (at < scenes[i].weight)
            return &scenes[i];
        at -= scenes[i].weight;
    }
    return &scenes[1];
}

static void go_away(struct player *p)
{
    flush_row(p);
    check(p, fw_wire_lifecycle(&p->slice, p->t_us, FW_LIFE_BACKGROUND, 0));
    p->t_us += SECOND_US * (3 + below(p, 30));
    check(p, fw_wire_lifecycle(&p->slice, p->t_us, FW_LIFE_FOREGROUND, 0));
}

static void write_moments(struct player *p)
{
    if (p->burst_left && p->t_us >= p->next_burst_us) {
        p->busy = false;
        write_hardware(p, true);
        p->burst_left--;
        p->next_burst_us += BURST_US;
    }
    if (p->t_us >= p->next_hardware_us) {
        write_hardware(p, false);
        p->next_hardware_us = p->t_us + HARDWARE_US;
    }
    if (p->t_us >= p->next_step_us) {
        check(p, fw_wire_step(&p->slice, p->t_us, steps[below(p, sizeof steps / sizeof *steps)]));
        p->x += (float)below(p, 41) - 20;
        p->y += (float)below(p, 41) - 20;
        check(p, fw_wire_position(&p->slice, p->t_us, p->x, p->y));
        p->next_step_us = p->t_us + SECOND_US * (2 + below(p, 6));
    }
    if (p->t_us - p->slice_begin_us >= SLICE_US)
        end_slice(p);
    if (p->t_us - p->part_begin_us >= (uint64_t)p->config->part_seconds * SECOND_US &&
        p->t_us < p->end_us) {
        write_self_report(p);
        end_slice(p);
        begin_part(p);
    }
}

static void play_scene(struct player *p, uint64_t until_us)
{
    const double rate =
        p->scene->janks_per_minute * tier_janks[p->device->tier] * (1 + more_janks(p));
    uint64_t next_jank = p->t_us + (uint64_t)(60e6 / rate * -log(1 - uniform(p) * 0.9999));

    while (p->t_us < until_us && p->t_us < p->end_us && !p->failed) {
        if (p->t_us >= next_jank) {
            play_jank(p);
            next_jank = p->t_us + (uint64_t)(60e6 / rate * -log(1 - uniform(p) * 0.9999));
        }
        const uint32_t us = frame_us(p);

        add_interval(p, us);
        p->main_cpu_us += us * 6 / 10;
        write_moments(p);
    }
}

static void end_session(struct player *p)
{
    flush_row(p);
    if (p->feedback)
        check(p, fw_wire_feedback(&p->slice, p->t_us, "performance",
                                  "The game gets hot and slow in large battles."));
    if (p->crashes) {
        const struct fw_wire_crash c = {.t_us = p->t_us,
                                        .signal = 11,
                                        .stack = use_stack(p, pick_stack(p)),
                                        .reason = "SIGSEGV, address 0x18"};

        check(p, fw_wire_crash(&p->slice, &c));
    }
    write_self_report(p);
    /* One in twenty is never heard of again. */
    if (!chance(p, 0.05))
        check(p, fw_wire_end(&p->slice, p->t_us, p->crashes ? FW_END_RECOVERED : FW_END_STOPPED));
    end_slice(p);
}

static void play(struct player *p)
{
    begin_part(p);
    check(p, fw_wire_lifecycle(&p->slice, 0, FW_LIFE_FOREGROUND, 0));
    enter_scene(p, &scenes[0]);
    play_scene(p, SECOND_US * (4 + below(p, 8)));
    while (p->t_us < p->end_us && !p->failed) {
        enter_scene(p, next_scene(p));
        play_scene(p, p->t_us + SECOND_US * (20 + below(p, 60)));
        if (chance(p, 0.15) && p->t_us < p->end_us)
            go_away(p);
        if (p->device->ram_mb < 3000 && chance(p, 0.1))
            check(p, fw_wire_lifecycle(&p->slice, p->t_us, FW_LIFE_LOW_MEMORY, 0));
    }
    end_session(p);
}

/* Who plays ------------------------------------------------------------------------------------ */

static const struct demo_device *pick_device(struct player *p)
{
    unsigned total = 0, at;

    for (size_t i = 0; i < n_demo_devices; i++)
        total += demo_devices[i].share;
    at = (unsigned)below(p, total);
    for (size_t i = 0; i < n_demo_devices; i++) {
        if (at < demo_devices[i].share)
            return &demo_devices[i];
        at -= demo_devices[i].share;
    }
    return &demo_devices[0];
}

/* An install keeps its phone and its state over all its sessions. */
static void choose_install(struct player *p, uint64_t install)
{
    unsigned char b[16];

    p->random = mix(p->config->seed * 0x51ed27u ^ install);
    p->device = pick_device(p);
    p->rooted = chance(p, 0.03);
    p->emulator = !p->device->ios && chance(p, 0.01);
    p->debugger = chance(p, 0.003);
    p->repackaged = chance(p, 0.005);
    p->developer_mode = p->rooted || chance(p, 0.04);
    fill_bytes(draw(p), b, sizeof b);
    snprintf(p->out->install, sizeof p->out->install,
             "%02x%02x%02x%02x-%02x%02x-4%01x%02x-a%01x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6] & 15, b[7], b[8] & 15, b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
    p->device_factor =
        0.9 + 0.2 * (double)(hash_text(7, p->device->model) % 1000) / 1000; /* model to model */
}

/* Versions come one after another; while one spreads, the one before it is still played. */
static size_t adopted(struct player *p, uint64_t index)
{
    const double at = (double)index / (double)p->config->sessions * (double)p->config->n_versions;
    const size_t newest = (size_t)at;

    return newest - (newest > 0 && !chance(p, 0.35 + 0.5 * (at - (double)newest)));
}

static void choose_session(struct player *p, uint64_t index)
{
    const double spread = exp(0.5 * normal(p));
    const double seconds = p->config->mean_seconds * (spread < 0.33  ? 0.33
                                                      : spread > 3.0 ? 3.0
                                                                     : spread);

    p->random = mix(p->config->seed ^ mix(index));
    p->version = &p->config->version[adopted(p, index)];
    p->end_us = (uint64_t)seconds * SECOND_US;
    p->heat_c = 8 + 10 * uniform(p);
    p->load = 1;
    p->memory_kb = (p->device->ram_mb < 4000 ? 520000 : 900000) + (int64_t)below(p, 200000);
    p->bad_values = chance(p, 0.03);
    p->bad_clock = chance(p, 0.01);
    p->crashes = chance(p, 0.015);
    p->feedback = chance(p, 0.02);
    fill_bytes(draw(p), p->out->id, sizeof p->out->id);
}

/* The SDK's rule for the id's last byte: fw_wire_session_id on these bytes. */
static void group_id(struct player *p)
{
    unsigned char ruled[FW_SESSION_ID_BYTES];

    fw_wire_session_id(ruled, p->out->install);
    p->out->id[15] = (unsigned char)((p->out->id[15] & 0xc0) | (ruled[15] & 0x3f));
}

bool demo_session_make(const struct demo_config *config, uint64_t index, struct demo_session *out)
{
    const uint64_t installs = config->sessions / 4 + 1; /* players come back */
    struct player *p = calloc(1, sizeof *p);

    memset(out, 0, sizeof *out);
    if (!p)
        return false;
    p->config = config;
    p->out = out;
    p->compressor = fw_compressor_new(SLICE_BYTES);
    fw_buf_init(&p->slice, SLICE_BYTES);
    choose_install(p, mix(index ^ config->seed << 20) % installs);
    choose_session(p, index);
    group_id(p);
    if (p->compressor)
        play(p);

    const bool good = p->compressor && !p->failed;

    fw_compressor_free(p->compressor);
    fw_buf_fini(&p->slice);
    free(p);
    if (!good)
        demo_session_fini(out);
    return good;
}

void demo_session_fini(struct demo_session *s)
{
    for (size_t i = 0; i < s->n_parts; i++)
        fw_buf_fini(&s->part[i]);
    s->n_parts = 0;
}
