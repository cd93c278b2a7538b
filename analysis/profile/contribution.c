#include "profile/contribution.h"

#include "base/cursor.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define FORMAT 1
#define MAX_SCENE_KEY 512
#define MAX_STORED_SLICES 4096

/* Columns as bare int64_t rows, for arithmetic and storage alike. */
#define X(name) +1
enum { ROLLUP_COUNT = 0 ROLLUP_COLUMNS(X), MODEL_COUNT = 0 MODEL_COLUMNS(X) };
#undef X

static const size_t rollup_offset[ROLLUP_COUNT] = {
#define X(name) offsetof(struct rollup_delta, name),
    ROLLUP_COLUMNS(X)
#undef X
};
static const size_t model_offset[MODEL_COUNT] = {
#define X(name) offsetof(struct contribution, model.name),
    MODEL_COLUMNS(X)
#undef X
};

static int64_t *column(void *owner, size_t offset)
{
    return (int64_t *)(void *)((char *)owner + offset);
}

static int64_t value(const void *owner, size_t offset)
{
    return *(const int64_t *)(const void *)((const char *)owner + offset);
}

/* Wraps, so that what was added can always be taken away again. */
static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Of a session ----------------------------------------------------------------------------------
 */

static void fill_slice(const struct session_result *r, const struct slice *from,
                       struct rollup_delta *to)
{
    to->scene = from->scene;
    to->sessions = 1;
    to->slow_sessions = from == r->slices && r->slow_session;
    to->frames = from->frames;
    to->frame_sum_us = from->frame_sum_us;
    to->foreground_us = from->foreground_us;
    to->janks_minor = from->janks[JANK_MINOR];
    to->janks_normal = from->janks[JANK_NORMAL];
    to->janks_severe = from->janks[JANK_SEVERE];
    to->jank_us = from->jank_us;
    to->perfdog_janks = from->perfdog_janks;
    to->perfdog_big_janks = from->perfdog_big_janks;
    to->perfdog_stutter_us = from->perfdog_stutter_us;
    to->missed_frames = from->missed_frames;
    to->sketch = from->sketch;
}

static void fill_model(const struct session_result *r, struct contribution *out)
{
    double p90_ms = sketch_quantile_us(&r->slices[0].sketch, 0.90) / 1000;

    if (!(p90_ms > 0))
        return;

    double ln = log(p90_ms);

    out->model.sessions = 1;
    out->model.ln_p90_e6 = llround(1e6 * ln);
    out->model.ln_p90_sq_e6 = llround(1e6 * ln * ln);
    out->model.median_mhz = r->median_khz / 1000;
    out->model.median_mhz_sessions = r->median_khz > 0;
    out->model.throttled_mhz = r->throttled_khz / 1000;
    out->model.throttled_mhz_sessions = r->throttled_khz > 0;
    out->model.mean_battery_decicelsius = r->mean_battery_millicelsius / 100;
    out->model.mean_battery_sessions = r->mean_battery_millicelsius > 0;
}

bool contribution_of(const struct session_result *r, struct arena *mem, struct contribution *out,
                     struct err *err)
{
    struct contribution c = {.slices =
                                 arena_array(mem, r->excluded ? 1 : r->n_slices, sizeof *c.slices)};

    if (!c.slices)
        return err_set(err, ERR_TOO_BIG, "%zu slices need more memory than a session may take",
                       r->n_slices);
    if (r->excluded) {
        c.slices[0].scene = "";
        c.slices[0].excluded_sessions = 1;
        c.n_slices = 1;
    } else {
        for (size_t i = 0; i < r->n_slices; i++)
            if (i == 0 || r->slices[i].frames || r->slices[i].foreground_us)
                fill_slice(r, &r->slices[i], &c.slices[c.n_slices++]);
        fill_model(r, &c);
    }
    *out = c;
    return true;
}

/* Stored form -------------------------------------------------------------------------------------
 * Format byte; the model columns, zigzag; number of slices; for each its key's length and bytes,
 * its columns, zigzag, its sketch's length and bytes. Keys ascend. */

static void write_slice(const struct rollup_delta *d, struct buf *sketch, struct buf *out)
{
    size_t n = strlen(d->scene);

    buf_varint(out, n);
    buf_put(out, d->scene, n);
    for (size_t i = 0; i < ROLLUP_COUNT; i++)
        buf_zigzag(out, value(d, rollup_offset[i]));
    buf_reset(sketch);
    sketch_write(&d->sketch, sketch);
    buf_varint(out, sketch->len);
    buf_put(out, sketch->at, sketch->len);
}

void contribution_write(const struct contribution *c, struct buf *out)
{
    struct buf sketch;

    buf_init(&sketch, 64 * 1024);
    buf_byte(out, FORMAT);
    for (size_t i = 0; i < MODEL_COUNT; i++)
        buf_zigzag(out, value(c, model_offset[i]));
    buf_varint(out, c->n_slices);
    for (size_t i = 0; i < c->n_slices; i++)
        write_slice(&c->slices[i], &sketch, out);
    if (!buf_ok(&sketch))
        out->failed = true;
    buf_fini(&sketch);
}

static int64_t read_zigzag(struct cursor *in)
{
    uint64_t z = cursor_uleb(in);

    return (int64_t)(z >> 1 ^ (0 - (z & 1)));
}

static bool read_slice(struct cursor *in, struct arena *mem, struct rollup_delta *d,
                       struct err *err)
{
    size_t n = (size_t)cursor_uleb(in);
    const unsigned char *key = n <= MAX_SCENE_KEY ? cursor_bytes(in, n) : NULL;

    if (!key || memchr(key, 0, n)) {
        in->failed = true;
        return true;
    }
    d->scene = arena_dup(mem, (const char *)key, n);
    for (size_t i = 0; i < ROLLUP_COUNT; i++)
        *column(d, rollup_offset[i]) = read_zigzag(in);
    n = (size_t)cursor_uleb(in);

    const unsigned char *sketch = cursor_bytes(in, n);

    return !sketch || sketch_read(sketch, n, 1, &d->sketch, err);
}

/* Slices one by one, into an array sized by what the bytes can hold at most. */
static bool read_slices(struct cursor *in, struct arena *mem, struct contribution *c,
                        struct err *err)
{
    uint64_t n = cursor_uleb(in);

    if (n > MAX_STORED_SLICES || n * (ROLLUP_COUNT + 2) > cursor_left(in)) {
        in->failed = true;
        return true;
    }
    c->slices = arena_array(mem, n, sizeof *c->slices);
    while (c->slices && !in->failed && c->n_slices < n) {
        struct rollup_delta *d = &c->slices[c->n_slices];

        if (!read_slice(in, mem, d, err))
            return false;
        if (c->n_slices && d->scene && strcmp(d[-1].scene, d->scene) >= 0)
            in->failed = true;
        if (!d->scene)
            break;
        c->n_slices++;
    }
    return true;
}

bool contribution_read(const void *bytes, size_t n, struct arena *mem, struct contribution *out,
                       struct err *err)
{
    struct cursor in = cursor_over(bytes, n, "contribution");
    struct contribution c = {0};

    if (n) {
        uint8_t format = cursor_u8(&in);

        if (format != FORMAT)
            return err_set(err, ERR_INVALID, "contribution: format %u, expected %u", format,
                           FORMAT);
        for (size_t i = 0; i < MODEL_COUNT; i++)
            *column(&c, model_offset[i]) = read_zigzag(&in);
        if (!read_slices(&in, mem, &c, err))
            return false;
    }
    if (arena_full(mem))
        return err_set(err, ERR_TOO_BIG, "contribution: needs more memory than it may take");
    if (in.failed || cursor_left(&in))
        return err_set(err, ERR_INVALID, "contribution: malformed at byte %zu of %zu",
                       cursor_offset(&in), n);
    *out = c;
    return true;
}

/* Difference
 * ---------------------------------------------------------------------------------------- */

static bool is_zero(const struct rollup_delta *d)
{
    for (size_t i = 0; i < ROLLUP_COUNT; i++)
        if (value(d, rollup_offset[i]))
            return false;
    for (unsigned k = 0; k < SKETCH_BUCKETS; k++)
        if (d->sketch.count[k])
            return false;
    return true;
}

/* now - before; either may be NULL. */
static void subtract(const struct rollup_delta *now, const struct rollup_delta *before,
                     struct rollup_delta *out)
{
    static const struct rollup_delta none;

    *out = now ? *now : none;
    if (!before)
        return;
    out->scene = before->scene;
    for (size_t i = 0; i < ROLLUP_COUNT; i++)
        *column(out, rollup_offset[i]) =
            minus(value(out, rollup_offset[i]), value(before, rollup_offset[i]));
    sketch_merge(&out->sketch, &before->sketch, -1);
}

static void subtract_slices(const struct contribution *now, const struct contribution *before,
                            struct contribution *out)
{
    size_t i = 0, k = 0;

    while (i < now->n_slices || k < before->n_slices) {
        int order = i == now->n_slices      ? 1
                    : k == before->n_slices ? -1
                                            : strcmp(now->slices[i].scene, before->slices[k].scene);
        struct rollup_delta *d = &out->slices[out->n_slices];

        subtract(order <= 0 ? &now->slices[i] : NULL, order >= 0 ? &before->slices[k] : NULL, d);
        out->n_slices += !is_zero(d);
        i += order <= 0;
        k += order >= 0;
    }
}

bool contribution_diff(const struct contribution *now, const struct contribution *before,
                       struct arena *mem, struct contribution *out, struct err *err)
{
    struct contribution c = {
        .slices = arena_array(mem, now->n_slices + before->n_slices, sizeof *c.slices)};

    if (!c.slices)
        return err_set(err, ERR_TOO_BIG, "%zu slices need more memory than they may take",
                       now->n_slices + before->n_slices);
    for (size_t i = 0; i < MODEL_COUNT; i++)
        *column(&c, model_offset[i]) =
            minus(value(now, model_offset[i]), value(before, model_offset[i]));
    subtract_slices(now, before, &c);
    *out = c;
    return true;
}
