#include "profile/view.h"

#include "base/digest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const view_level_name[4] = {"none", "minor", "normal", "severe"};
const char *const view_state_name[5] = {"valid", "background", "suspended", "invalid", "overlap"};
const char *const view_lifecycle_name[5] = {"unknown", "background", "foreground", "low_memory",
                                            "suspended"};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

const char *view_scene_key(const struct session *s, size_t i)
{
    return s->scenes[s->change_scene[i]].key;
}

uint64_t view_scene_end(const struct session *s, size_t i)
{
    return i + 1 < s->n_scene_changes ? s->scene_changes[i + 1].t_us : s->end_us;
}

bool view_next_background(const struct session *s, size_t *at, struct view_span *out)
{
    while (*at < s->n_lifecycle && s->lifecycle[*at].kind != LIFE_BACKGROUND)
        ++*at;
    if (*at == s->n_lifecycle)
        return false;
    out->from_us = s->lifecycle[*at].t_us;
    while (*at < s->n_lifecycle && s->lifecycle[*at].kind != LIFE_FOREGROUND)
        ++*at;
    out->to_us = *at < s->n_lifecycle ? s->lifecycle[*at].t_us : s->end_us;
    return true;
}

void view_hex(const void *bytes, size_t n, struct buf *out)
{
    const unsigned char *at = bytes;
    char text[2 * 32 + 1];

    while (n) {
        size_t piece = n < 32 ? n : 32;

        to_hex(at, piece, text);
        buf_put(out, text, 2 * piece);
        at += piece;
        n -= piece;
    }
}

void view_real(struct buf *out, double v, bool single)
{
    char text[32];

    if (!isfinite(v)) {
        buf_text(out, "null");
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
            break;
    }
    buf_text(out, text);
}

void view_frame_text(const struct part_stack_frame *f, struct buf *out)
{
    if (f->text)
        buf_text(out, f->text);
    else if (f->module)
        buf_printf(out, "%s+0x%llx", or_empty(f->module->name), (unsigned long long)f->offset);
    else
        buf_printf(out, "0x%llx", (unsigned long long)f->offset);
}

void view_json_text(struct buf *out, const char *text)
{
    buf_json_string(out, or_empty(text));
}

void view_key(struct buf *out, const char *name)
{
    buf_text(out, ",\"");
    buf_text(out, name);
    buf_text(out, "\":");
}

void view_key_i64(struct buf *out, const char *name, int64_t v)
{
    view_key(out, name);
    buf_i64(out, v);
}

void view_key_u64(struct buf *out, const char *name, uint64_t v)
{
    view_key_i64(out, name, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

void view_key_bool(struct buf *out, const char *name, bool v)
{
    view_key(out, name);
    buf_text(out, v ? "true" : "false");
}

void view_key_text(struct buf *out, const char *name, const char *text)
{
    view_key(out, name);
    view_json_text(out, text);
}

static void frame_json(const struct part_stack_frame *f, struct buf *out)
{
    if (f->text) {
        buf_text(out, "{\"text\":");
        view_json_text(out, f->text);
    } else {
        buf_printf(out, "{\"offset\":\"0x%llx\"", (unsigned long long)f->offset);
        if (f->module) {
            view_key_text(out, "module", f->module->name);
            view_key(out, "debug_id");
            buf_byte(out, '"');
            view_hex(f->module->debug_id, f->module->debug_id_len, out);
            buf_byte(out, '"');
        }
    }
    buf_byte(out, '}');
}

void view_stack_json(const struct part_stack *stack, struct buf *out)
{
    bool first = true;

    buf_text(out, "{\"hash\":\"");
    view_hex(stack->hash, sizeof stack->hash, out);
    buf_byte(out, '"');
    view_key_text(out, "thread", stack->thread);
    view_key(out, "frames");
    buf_byte(out, '[');
    for (size_t i = 0; i < stack->n; i++) {
        view_comma(out, &first);
        frame_json(&stack->frames[i], out);
    }
    buf_text(out, "]}");
}

/* Series ---------------------------------------------------------------------------------------
 * A series is a row of points, each of a sample: (hardware field f) or (core c). */

struct series {
    const struct session *s;
    bool is_core;
    unsigned which; /* enum hardware_field or core number */
    size_t from, to, step;
};

enum reading { ABSENT, OUT_OF_BOUNDS, GOOD };

static enum reading read_core(const struct hardware_sample *h, unsigned core, int64_t *v)
{
    if (core >= h->n_cores)
        return ABSENT;
    *v = h->core_khz[core];
    return h->invalid_cores >> core & 1 ? OUT_OF_BOUNDS : GOOD;
}

static enum reading read_at(const struct series *x, size_t i, int64_t *v)
{
    const struct hardware_sample *h = &x->s->hardware[i];

    if (x->is_core)
        return read_core(h, x->which, v);
    *v = h->value[x->which];
    return h->present >> x->which & 1 ? GOOD : h->invalid >> x->which & 1 ? OUT_OF_BOUNDS : ABSENT;
}

static bool series_is_empty(const struct series *x)
{
    int64_t v;

    for (size_t i = x->from; i < x->to; i++)
        if (read_at(x, i, &v) != ABSENT)
            return false;
    return true;
}

/* The samples that stand for [at, end): least, greatest and first out of bounds, in time order. */
struct chosen {
    size_t at[3], n;
};

static void choose_one(struct chosen *c, size_t i)
{
    size_t at = c->n;

    for (size_t k = 0; k < c->n; k++)
        if (c->at[k] == i)
            return;
    for (; at > 0 && c->at[at - 1] > i; at--)
        c->at[at] = c->at[at - 1];
    c->at[at] = i;
    c->n++;
}

static struct chosen choose(const struct series *x, size_t at, size_t end)
{
    struct chosen c = {.n = 0};
    size_t least = end, most = end, odd = end;
    int64_t v, low = INT64_MAX, high = INT64_MIN;

    for (size_t i = at; i < end; i++) {
        enum reading r = read_at(x, i, &v);

        if (r == OUT_OF_BOUNDS && odd == end)
            odd = i;
        if (r == GOOD && (least == end || v < low))
            low = v, least = i;
        if (r == GOOD && (most == end || v > high))
            high = v, most = i;
    }
    if (least < end)
        choose_one(&c, least);
    if (most < end)
        choose_one(&c, most);
    if (odd < end)
        choose_one(&c, odd);
    return c;
}

static void put_point(const struct series *x, size_t i, bool time, struct buf *out)
{
    int64_t v = 0;
    enum reading r = read_at(x, i, &v);

    if (time)
        buf_i64(out, (int64_t)x->s->hardware[i].t_us);
    else if (r == GOOD)
        buf_i64(out, v);
    else
        buf_text(out, "null");
}

/* Times or values of the series' points as a JSON array. */
static void put_points(const struct series *x, bool time, struct buf *out)
{
    bool first = true;

    buf_byte(out, '[');
    for (size_t at = x->from; at < x->to; at += x->step) {
        struct chosen c = choose(x, at, x->to - at < x->step ? x->to : at + x->step);

        for (size_t k = 0; k < c.n; k++) {
            view_comma(out, &first);
            put_point(x, c.at[k], time, out);
        }
    }
    buf_byte(out, ']');
}

static void put_series(const struct series *x, const char *value_name, struct buf *out)
{
    view_key(out, "t_us");
    put_points(x, true, out);
    view_key(out, value_name);
    put_points(x, false, out);
    buf_byte(out, '}');
}

static size_t step_for(size_t n, size_t most)
{
    return most && n > most ? (n + most - 1) / most : 1;
}

void view_hardware_json(const struct session *s, size_t from, size_t to, size_t most,
                        struct buf *out)
{
    bool first = true;

    buf_byte(out, '[');
    for (unsigned f = 0; f < HW_COUNT; f++) {
        struct series x = {s, false, f, from, to, step_for(to - from, most)};

        if (series_is_empty(&x))
            continue;
        view_comma(out, &first);
        buf_text(out, "{\"name\":");
        view_json_text(out, hardware_info[f].name);
        view_key_text(out, "unit", hardware_info[f].unit);
        view_key_text(out, "group", hardware_info[f].group);
        put_series(&x, "value", out);
    }
    buf_byte(out, ']');
}

/* Maximum frequency of the cluster that a core belongs to, 0 if unknown. Clusters are listed little
 * to big, cores numbered in that order. */
static uint32_t core_max_khz(const struct part_header *h, unsigned core)
{
    uint64_t before = 0;

    for (size_t i = 0; i < h->n_clusters; i++) {
        before += h->clusters[i].cores;
        if (core < before)
            return h->clusters[i].max_khz;
    }
    return 0;
}

void view_cores_json(const struct session *s, size_t from, size_t to, size_t most, struct buf *out)
{
    unsigned cores = view_core_count(s);
    bool first = true;

    buf_byte(out, '[');
    for (unsigned c = 0; c < cores; c++) {
        struct series x = {s, true, c, from, to, step_for(to - from, most)};

        if (series_is_empty(&x))
            continue;
        view_comma(out, &first);
        buf_text(out, "{\"core\":");
        buf_i64(out, c);
        view_key_i64(out, "cluster_max_khz", core_max_khz(&s->header, c));
        put_series(&x, "khz", out);
    }
    buf_byte(out, ']');
}

unsigned view_core_count(const struct session *s)
{
    unsigned most = 0;

    for (size_t i = 0; i < s->n_hardware; i++)
        if (s->hardware[i].n_cores > most)
            most = s->hardware[i].n_cores;
    return most < MAX_CORES ? most : MAX_CORES;
}
