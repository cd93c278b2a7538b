#include "src/control/desk.h"

#include <string.h>

void fw_desk_init(struct fw_desk *d)
{
    memset(d, 0, sizeof *d);
    pthread_mutex_init(&d->mutex, NULL);
}

void fw_desk_fini(struct fw_desk *d)
{
    pthread_mutex_destroy(&d->mutex);
}

static bool same_module(const struct fw_desk_module *a, const struct fw_desk_module *b)
{
    return a->load_address == b->load_address && a->size == b->size &&
           a->build_id_len == b->build_id_len &&
           !memcmp(a->build_id, b->build_id, a->build_id_len) && !strcmp(a->name, b->name);
}

uint16_t fw_desk_add_module(struct fw_desk *d, const struct fw_desk_module *m)
{
    uint16_t place = FW_DESK_NO_MODULE;

    pthread_mutex_lock(&d->mutex);
    for (size_t i = 0; i < d->n_modules && place == FW_DESK_NO_MODULE; i++)
        if (same_module(&d->module[i], m))
            place = (uint16_t)i;
    if (place == FW_DESK_NO_MODULE && d->n_modules < FW_DESK_MODULES) {
        place = (uint16_t)d->n_modules;
        d->module[d->n_modules++] = *m;
    }
    pthread_mutex_unlock(&d->mutex);
    return place;
}

/* The frame's place: its own, a free one, or the oldest's. */
static struct fw_desk_frame *place_of(struct fw_desk *d, uint64_t began_ns)
{
    struct fw_desk_frame *best = &d->frame[0];

    for (size_t i = 0; i < FW_DESK_FRAMES; i++) {
        struct fw_desk_frame *f = &d->frame[i];

        if (f->began_ns == began_ns)
            return f;
        if (f->began_ns < best->began_ns)
            best = f;
    }
    best->began_ns = began_ns;
    best->n = 0;
    return best;
}

bool fw_desk_add_sample(struct fw_desk *d, uint64_t began_ns, const struct fw_desk_sample *s)
{
    pthread_mutex_lock(&d->mutex);

    struct fw_desk_frame *f = place_of(d, began_ns);
    bool fits = f->n < FW_DESK_SAMPLES;

    if (fits)
        f->sample[f->n++] = *s;
    pthread_mutex_unlock(&d->mutex);
    return fits;
}

bool fw_desk_take(struct fw_desk *d, uint64_t began_ns, struct fw_desk_frame *out)
{
    bool found = false;

    pthread_mutex_lock(&d->mutex);
    for (size_t i = 0; i < FW_DESK_FRAMES && !found; i++)
        if (d->frame[i].began_ns == began_ns) {
            *out = d->frame[i];
            d->frame[i].began_ns = 0;
            d->frame[i].n = 0;
            found = true;
        }
    pthread_mutex_unlock(&d->mutex);
    return found;
}

void fw_desk_get_module(struct fw_desk *d, uint16_t place, struct fw_desk_module *out)
{
    pthread_mutex_lock(&d->mutex);
    *out = d->module[place];
    pthread_mutex_unlock(&d->mutex);
}
