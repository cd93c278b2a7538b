#include "plan.h"

#include <stdlib.h>

const struct scene scenes[N_SCENES] = {
    {"login", "lobby", 24, 0.12f, 0, 0.05f, 0.07f, 0.15f},
    {"city", "harbor", 220, 0.05f, 0, 0.20f, 0.35f, 0.50f},
    {"dungeon", "frost_dungeon", 40, 0.16f, 6, 0.02f, 0.03f, 0.06f},
    {"battle", "arena", 140, 0.06f, 2, 0.25f, 0.08f, 0.05f},
};

const char *const steps[N_STEPS] = {
    "open_inventory", "equip_sword", "talk_to_smith",   "cast_fireball",
    "drink_potion",   "open_chest",  "invite_to_party", "close_shop",
};

/* Where each scene begins, in thousandths of the run. */
static const uint32_t scene_begin[N_SCENES] = {0, 120, 400, 700};
/* Milliseconds of the levels minor, normal, severe and a second minor one: cycled through. */
static const uint32_t hitch_ms[4] = {150, 300, 180, 620};

struct builder {
    struct plan plan;
    size_t capacity;
    uint64_t random;
};

static uint32_t draw(struct builder *b, uint32_t below)
{
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(b->random >> 33) % below;
}

static void put(struct builder *b, struct event e)
{
    struct plan *p = &b->plan;

    if (p->n == b->capacity) {
        const size_t capacity = b->capacity ? b->capacity * 2 : 64;
        struct event *grown = realloc(p->events, capacity * sizeof *grown);

        if (!grown)
            return;
        p->events = grown;
        b->capacity = capacity;
    }
    p->events[p->n++] = e;
    p->hitches += (e.action == HITCH || e.action == ENTER_SCENE) && e.ms > 100;
}

/* Events of one action every `every` ms, each moved by up to a quarter of that. */
static void repeat(struct builder *b, enum action action, uint32_t length_ms, uint32_t every)
{
    for (uint32_t at = every; at + every / 4 < length_ms; at += every)
        put(b, (struct event){.at_ms = at + draw(b, every / 4 + 1),
                              .action = action,
                              .value = draw(b, action == STEP ? N_STEPS : 1u << 30)});
}

static void put_hitches(struct builder *b, uint32_t length_ms, uint32_t every)
{
    uint32_t n = draw(b, N_HITCHES);

    for (uint32_t at = every; at + 1500 < length_ms; at += every, n++)
        put(b, (struct event){.at_ms = at + draw(b, every / 8 + 1),
                              .action = HITCH,
                              .value = n % N_HITCHES,
                              .ms = hitch_ms[(n / N_HITCHES + n) % 4] + draw(b, 40)});
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    return x->action < y->action ? -1 : x->action > y->action;
}

struct plan plan_make(uint64_t seed, uint32_t length_ms, uint32_t jank_every_ms)
{
    struct builder b = {.random = seed * 2862933555777941757u + 3037000493u};
    const uint32_t mille = length_ms / 1000;

    for (uint32_t i = 0; i < N_SCENES; i++)
        put(&b, (struct event){.at_ms = scene_begin[i] * mille,
                               .action = ENTER_SCENE,
                               .value = i,
                               .ms = i ? 160 + draw(&b, 240) : 0});
    if (length_ms >= 8000)
        put(&b, (struct event){.at_ms = 560 * mille, .action = BACKGROUND, .ms = 1000});
    put(&b, (struct event){.at_ms = 650 * mille, .action = LOW_MEMORY});
    put(&b, (struct event){.at_ms = 900 * mille, .action = FEEDBACK});
    repeat(&b, STEP, length_ms, 1300);
    repeat(&b, MOVE, length_ms, 500);
    if (jank_every_ms)
        put_hitches(&b, length_ms, jank_every_ms);
    if (b.plan.events)
        qsort(b.plan.events, b.plan.n, sizeof *b.plan.events, by_time);
    return b.plan;
}
