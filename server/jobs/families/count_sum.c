#include "server/jobs/families/count_sum.h"

#include <math.h>

#define SKETCH_CAP ((size_t)1 << 20) /* one, as it is stored */

bool counts_out_of_memory(struct err *err)
{
    return err_full(err, "counts of stacks");
}

static const struct db_col held_cols[] = {
    DB_COL(count_held, events),
    DB_COL(count_held, jank_us),
    DB_COL(count_held, sessions),
    DB_COL(count_held, installs),
};
const struct db_map count_held_map = DB_MAP(count_held, held_cols);

static bool add_set(struct distinct *to, struct bytes whole, bool has, uint32_t cell, int sign,
                    struct err *err)
{
    if (whole.at)
        return !whole.len || distinct_read(whole.at, whole.len, sign, to, err);
    return !has || distinct_add(to, cell, sign, err);
}

bool count_add(struct count_sums *s, const struct count_change *c, bool distinct, struct err *err)
{
    s->events += c->events;
    s->jank_us += c->jank_us;
    return !distinct ||
           (add_set(&s->sessions, c->sessions, true, c->session, c->sign, err) &&
            add_set(&s->installs, c->installs, c->has_install, c->install, c->sign, err));
}

/* An event has one session, so there are no more sessions than events. */
static int64_t estimate(const struct distinct *d, int64_t events)
{
    int64_t n = llround(distinct_estimate(d));

    return n < events ? n : events;
}

static bool store_set(const struct distinct *d, bool wanted, struct arena *mem, struct bytes *out,
                      struct err *err)
{
    struct buf text;
    bool ok;

    *out = (struct bytes){(const unsigned char *)"", 0};
    if (!wanted)
        return true;
    buf_init(&text, SKETCH_CAP);
    distinct_write(d, &text);
    ok = buf_ok(&text);
    if (ok)
        *out = (struct bytes){
            (const unsigned char *)arena_dup(mem, (const char *)text.at, text.len), text.len};
    buf_fini(&text);
    return (ok && out->at) || counts_out_of_memory(err);
}

bool count_begin(struct arena *row, const struct count_held *have, bool distinct,
                 struct count_sums *s, struct err *err)
{
    arena_reset(row);
    *s = (struct count_sums){.events = have->events, .jank_us = have->jank_us};
    distinct_init(&s->sessions, row);
    distinct_init(&s->installs, row);
    return !distinct ||
           ((!have->sessions.len ||
             distinct_read(have->sessions.at, have->sessions.len, 1, &s->sessions, err)) &&
            (!have->installs.len ||
             distinct_read(have->installs.at, have->installs.len, 1, &s->installs, err)));
}

bool count_end(struct arena *mem, const struct count_sums *s, bool distinct, struct count_sum *out,
               struct err *err)
{
    *out = (struct count_sum){.events = s->events, .jank_us = s->jank_us};
    if (s->events < 0)
        return err_set(err, ERR_INTERNAL, "a count of stacks would fall below nothing");
    if (distinct && s->events) {
        out->n_sessions = estimate(&s->sessions, s->events);
        out->n_installs = estimate(&s->installs, s->events);
    }
    return store_set(&s->sessions, distinct && s->events, mem, &out->sessions, err) &&
           store_set(&s->installs, distinct && s->events, mem, &out->installs, err);
}

bool count_columns_new(struct arena *mem, size_t n, struct count_columns *s)
{
    *s = (struct count_columns){
        .events = arena_array(mem, n, sizeof *s->events),
        .jank_us = arena_array(mem, n, sizeof *s->jank_us),
        .n_sessions = arena_array(mem, n, sizeof *s->n_sessions),
        .n_installs = arena_array(mem, n, sizeof *s->n_installs),
        .sessions = arena_array(mem, n, sizeof *s->sessions),
        .installs = arena_array(mem, n, sizeof *s->installs),
    };
    return !arena_full(mem);
}

void count_columns_put(struct count_columns *s, size_t i, const struct count_sum *v)
{
    s->events[i] = v->events;
    s->jank_us[i] = v->jank_us;
    s->n_sessions[i] = v->n_sessions;
    s->n_installs[i] = v->n_installs;
    s->sessions[i] = v->sessions;
    s->installs[i] = v->installs;
}
