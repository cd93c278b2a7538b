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
    fw_release(d->memory, d->texts);
    d->texts = NULL;
}

bool fw_desk_make_texts(struct fw_desk *d, const struct fw_allocator *memory)
{
    d->memory = memory;
    d->texts = fw_alloc_zeroed(memory, FW_DESK_TEXTS * sizeof *d->texts);
    return d->texts;
}

size_t fw_desk_memory(const struct fw_desk *d)
{
    return d->texts ? FW_DESK_TEXTS * sizeof *d->texts : 0;
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

static void free_texts(struct fw_desk *d, const struct fw_desk_frame *f)
{
    for (unsigned i = 0; i < f->n; i++)
        if (f->sample[i].texts)
            d->texts[f->sample[i].texts - 1].used = false;
}

static uint8_t keep_texts(struct fw_desk *d, const struct fw_desk_texts *managed)
{
    for (uint8_t i = 0; d->texts && managed && i < FW_DESK_TEXTS; i++) {
        struct fw_desk_texts *t = &d->texts[i];

        if (t->used)
            continue;
        t->used = true;
        t->n = managed->n;
        t->native_first = managed->native_first;
        t->len = managed->len;
        memcpy(t->bytes, managed->bytes, managed->len);
        return i + 1;
    }
    return 0;
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
    free_texts(d, best);
    best->began_ns = began_ns;
    best->n = 0;
    return best;
}

bool fw_desk_add_sample(struct fw_desk *d, uint64_t began_ns, const struct fw_desk_sample *s,
                        const struct fw_desk_texts *managed)
{
    pthread_mutex_lock(&d->mutex);

    struct fw_desk_frame *f = place_of(d, began_ns);
    bool fits = f->n < FW_DESK_SAMPLES;

    if (fits) {
        f->sample[f->n] = *s;
        f->sample[f->n++].texts = keep_texts(d, managed);
    }
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

const struct fw_desk_texts *fw_desk_texts_of(const struct fw_desk *d,
                                             const struct fw_desk_sample *s)
{
    return s->texts ? &d->texts[s->texts - 1] : NULL;
}

void fw_desk_give_back(struct fw_desk *d, const struct fw_desk_frame *taken)
{
    pthread_mutex_lock(&d->mutex);
    free_texts(d, taken);
    pthread_mutex_unlock(&d->mutex);
}

void fw_desk_get_module(struct fw_desk *d, uint16_t place, struct fw_desk_module *out)
{
    pthread_mutex_lock(&d->mutex);
    *out = d->module[place];
    pthread_mutex_unlock(&d->mutex);
}
