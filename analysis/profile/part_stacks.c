/* The packets of a part that name each other by id. */
#include "base/buf.h"
#include "base/digest.h"
#include "profile/part_decoder.h"

#include <stdlib.h>
#include <string.h>

/* id -> place in a list. Of several with one id the first counts. */
struct id {
    uint32_t id;
    uint32_t at;
};
struct ids {
    struct id *list;
    size_t n;
};

static int by_id(const void *a, const void *b)
{
    const struct id *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Writers number from 1 on, so the list is sorted as it comes. */
static void sort_ids(struct ids *ids)
{
    for (size_t i = 1; i < ids->n; i++)
        if (by_id(&ids->list[i - 1], &ids->list[i]) > 0) {
            qsort(ids->list, ids->n, sizeof *ids->list, by_id);
            return;
        }
}

/* Place of an id, SIZE_MAX if nothing has it. */
static size_t find_id(const struct ids *ids, uint32_t id)
{
    size_t low = 0, high = ids->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (ids->list[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < ids->n && ids->list[low].id == id ? ids->list[low].at : SIZE_MAX;
}

static void take_module(struct decoder *d, const Framewatch__Module *from, struct part_module *m)
{
    size_t n = from->has_debug_id ? from->debug_id.len : 0;

    m->name = decoder_text(d, from->name, d->limits->name_bytes);
    m->arch = decoder_text(d, from->arch, d->limits->name_bytes);
    m->base = from->load_address;
    m->size = from->size;
    m->debug_id_len = n < MAX_DEBUG_ID_BYTES ? n : MAX_DEBUG_ID_BYTES;
    if (m->debug_id_len)
        memcpy(m->debug_id, from->debug_id.data, m->debug_id_len);
}

static bool resolve_modules(struct decoder *d, struct ids *ids)
{
    size_t n = d->n_raw_modules;

    if (n > d->limits->modules)
        return decoder_too_many(d, "modules", d->limits->modules);
    ids->list = arena_array(d->mem, n, sizeof *ids->list);
    d->part.modules = arena_array(d->mem, n, sizeof *d->part.modules);
    if (!ids->list || !d->part.modules)
        return false;
    for (size_t i = 0; i < n; i++) {
        take_module(d, d->raw_modules[i], &d->part.modules[i]);
        ids->list[i] = (struct id){d->raw_modules[i]->id, (uint32_t)i};
    }
    ids->n = d->part.n_modules = n;
    sort_ids(ids);
    return true;
}

static void put_bytes(struct buf *b, const void *bytes, size_t n)
{
    buf_varint(b, n);
    buf_put(b, bytes, n);
}

/* The text that is hashed. An address outside every module is another one in each process (address
 * space layout), so there only its being unknown counts. */
static void put_frame(struct buf *b, const struct part_stack_frame *f)
{
    if (f->text) {
        buf_byte(b, 't');
        put_bytes(b, f->text, strlen(f->text));
    } else if (f->module) {
        buf_byte(b, 'm');
        put_bytes(b, f->module->name, strlen(f->module->name));
        put_bytes(b, f->module->debug_id, f->module->debug_id_len);
        buf_varint(b, f->offset);
    } else {
        buf_byte(b, '?');
    }
}

/* Managed names mean what one build's mapping says: equal texts of two builds are two stacks. */
static void put_build(struct buf *b, const struct part_header *h)
{
    const char *names[] = {h->platform, h->version_name, h->build_id};

    buf_byte(b, 'b');
    buf_varint(b, h->version_code);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_bytes(b, names[i] ? names[i] : "", names[i] ? strlen(names[i]) : 0);
}

static void take_frame(struct decoder *d, const struct ids *modules,
                       const Framewatch__StackFrame *from, struct part_stack_frame *f)
{
    size_t module = from->has_module ? find_id(modules, from->module) : SIZE_MAX;

    f->text = from->text ? decoder_text(d, from->text, FRAME_TEXT_BYTES) : NULL;
    f->module = module == SIZE_MAX || f->text ? NULL : &d->part.modules[module];
    f->offset = f->text ? 0 : from->offset;
}

static bool take_stack(struct decoder *d, const struct ids *modules, const Framewatch__Stack *from,
                       struct part_stack *s, struct buf *canonical)
{
    unsigned char hash[SHA256_BYTES];

    if (from->n_frame > d->limits->stack_frames)
        return decoder_too_many(d, "frames in a stack", d->limits->stack_frames);

    struct part_stack_frame *frames = arena_array(d->mem, from->n_frame, sizeof *frames);

    if (!frames)
        return false;
    buf_reset(canonical);
    s->managed = false;
    for (size_t i = 0; i < from->n_frame; i++) {
        take_frame(d, modules, from->frame[i], &frames[i]);
        put_frame(canonical, &frames[i]);
        s->managed |= frames[i].text != NULL;
    }
    if (s->managed)
        put_build(canonical, &d->part.header);
    sha256(canonical->at, canonical->len, hash);
    d->out_of_memory |= !buf_ok(canonical);
    memcpy(s->hash, hash, sizeof s->hash);
    s->thread = decoder_text(d, from->thread, d->limits->name_bytes);
    s->frames = frames;
    s->n = from->n_frame;
    return !d->out_of_memory;
}

static bool resolve_stacks(struct decoder *d, const struct ids *modules, struct ids *ids)
{
    size_t n = d->n_raw_stacks;
    struct buf canonical;
    bool ok = true;

    ids->list = arena_array(d->mem, n, sizeof *ids->list);
    d->part.stacks = arena_array(d->mem, n, sizeof *d->part.stacks);
    if (!ids->list || !d->part.stacks)
        return false;
    buf_init(&canonical,
             (d->limits->stack_frames + 4) * (FRAME_TEXT_BYTES + d->limits->name_bytes));
    for (size_t i = 0; ok && i < n; i++) {
        ok = take_stack(d, modules, d->raw_stacks[i], &d->part.stacks[i], &canonical);
        ids->list[i] = (struct id){d->raw_stacks[i]->id, (uint32_t)i};
    }
    buf_fini(&canonical);
    ids->n = d->part.n_stacks = n;
    sort_ids(ids);
    return ok;
}

static bool take_jank(struct decoder *d, const struct ids *stacks, const Framewatch__Jank *from)
{
    size_t n = from->n_sample < MAX_JANK_SAMPLES ? from->n_sample : MAX_JANK_SAMPLES;
    size_t n_hardware = from->n_hardware < MAX_JANK_HARDWARE ? from->n_hardware : MAX_JANK_HARDWARE;
    struct part_stack_sample *samples = arena_array(d->mem, n, sizeof *samples);
    struct part_jank *j = PUSH(d, &d->part, janks);

    if (!samples || !j)
        return false;
    *j = (struct part_jank){from->start_us, from->duration_us, from->level, samples, 0};
    d->part.samples_over_limit += from->n_sample - n;
    for (size_t i = 0; i < n; i++) {
        size_t at = find_id(stacks, from->sample[i]->stack);

        if (at != SIZE_MAX)
            samples[j->n_samples++] =
                (struct part_stack_sample){from->sample[i]->t_us, &d->part.stacks[at]};
    }
    if (d->part.n_hardware + n_hardware > d->limits->packets)
        return decoder_too_many(d, "hardware samples", d->limits->packets);
    for (size_t i = 0; i < n_hardware; i++)
        decoder_hardware(d, from->hardware[i]);
    return true;
}

static bool take_crash(struct decoder *d, const struct ids *stacks, const Framewatch__Crash *from)
{
    struct part_crash *c = PUSH(d, &d->part, crashes);
    size_t at = from->has_stack ? find_id(stacks, from->stack) : SIZE_MAX;

    if (!c)
        return false;
    *c = (struct part_crash){from->t_us, from->signal, decoder_text(d, from->reason, REASON_BYTES),
                             at == SIZE_MAX ? NULL : &d->part.stacks[at]};
    return true;
}

bool decoder_resolve(struct decoder *d)
{
    struct ids modules = {0}, stacks = {0};

    if (!resolve_modules(d, &modules) || !resolve_stacks(d, &modules, &stacks))
        return false;
    for (size_t i = 0; i < d->n_raw_janks; i++)
        if (!take_jank(d, &stacks, d->raw_janks[i]))
            return false;
    for (size_t i = 0; i < d->n_raw_crashes; i++)
        if (!take_crash(d, &stacks, d->raw_crashes[i]))
            return false;
    return true;
}
