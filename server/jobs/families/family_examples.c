#include "server/jobs/families/family_examples.h"

#include "base/buf.h"
#include "base/digest.h"

#include <string.h>

#define PRIORITY_BYTES 16
#define STEPS_CAP ((size_t)TALLY_STEPS * (TALLY_STEP_BYTES + 1) + 1)
#define SEPARATOR '\x1e'

struct slot {
    int64_t number;
    struct bytes priority;
};

static bool out_of_memory(struct err *err)
{
    return err_full(err, "examples");
}

/* Where it may stand, and how it fares there: from its session and what it is alone. */
static struct slot slot_of(const struct example_session *s, const void *what, size_t len,
                           unsigned slots, struct arena *mem)
{
    unsigned char sum[SHA256_BYTES];

    hmac_sha256(s->id.at, s->id.len, what, len, sum);
    return (struct slot){
        (int64_t)(((unsigned)sum[16] | (unsigned)sum[17] << 8) % slots),
        {(unsigned char *)arena_dup(mem, (const char *)sum, PRIORITY_BYTES), PRIORITY_BYTES}};
}

static const char *steps_text(const struct tally_steps *s, struct arena *mem)
{
    struct buf text;
    const char *copy;

    buf_init(&text, STEPS_CAP);
    for (size_t i = 0; i < s->n; i++) {
        if (i)
            buf_byte(&text, SEPARATOR);
        for (const char *c = s->at[i]; *c; c++)
            buf_byte(&text, *c == SEPARATOR ? ' ' : (uint8_t)*c);
    }
    copy = buf_ok(&text) ? arena_dup(mem, text.at ? (const char *)text.at : "", text.len) : NULL;
    buf_fini(&text);
    return copy;
}

struct columns {
    struct bytes *hash, *priority, *session;
    int64_t *kind, *build, *slot, *shard, *day, *start, *duration;
    const char **scene, **cause, **steps;
    size_t n;
};

static bool new_columns(struct arena *mem, size_t n, struct columns *c)
{
    *c = (struct columns){
        .hash = arena_array(mem, n, sizeof *c->hash),
        .priority = arena_array(mem, n, sizeof *c->priority),
        .session = arena_array(mem, n, sizeof *c->session),
        .kind = arena_array(mem, n, sizeof *c->kind),
        .build = arena_array(mem, n, sizeof *c->build),
        .slot = arena_array(mem, n, sizeof *c->slot),
        .shard = arena_array(mem, n, sizeof *c->shard),
        .day = arena_array(mem, n, sizeof *c->day),
        .start = arena_array(mem, n, sizeof *c->start),
        .duration = arena_array(mem, n, sizeof *c->duration),
        .scene = arena_array(mem, n, sizeof *c->scene),
        .cause = arena_array(mem, n, sizeof *c->cause),
        .steps = arena_array(mem, n, sizeof *c->steps),
    };
    return !arena_full(mem);
}

static void put_common(struct columns *c, const struct example_session *s, struct slot slot,
                       const char *scene, const struct tally_steps *steps, struct arena *mem)
{
    size_t i = c->n++;

    c->session[i] = s->id;
    c->shard[i] = s->shard;
    c->build[i] = s->build_id;
    c->day[i] = s->day;
    c->slot[i] = slot.number;
    c->priority[i] = slot.priority;
    c->scene[i] = scene;
    c->steps[i] = steps ? steps_text(steps, mem) : NULL;
}

static void put_line(struct columns *c, const struct example_session *s,
                     const struct tally_line *line, struct arena *mem)
{
    unsigned char what[TALLY_HASH_BYTES + 8];
    size_t i = c->n;

    memcpy(what, line->hash, TALLY_HASH_BYTES);
    for (unsigned k = 0; k < 8; k++)
        what[TALLY_HASH_BYTES + k] = (unsigned char)((uint64_t)line->start_us >> 8 * k);
    put_common(c, s, slot_of(s, what, sizeof what, EXAMPLE_SLOTS, mem), line->scene,
               line->first ? &line->steps : NULL, mem);
    c->hash[i] = (struct bytes){line->hash, TALLY_HASH_BYTES};
    c->kind[i] = line->kind;
    c->cause[i] = line->cause;
    c->start[i] = line->start_us;
    c->duration[i] = line->duration_us;
}

static bool add_lines(struct db *db, int64_t app, const struct example_session *s, size_t n,
                      size_t n_lines, struct arena *mem, struct err *err)
{
    struct columns c;

    if (!n_lines)
        return true;
    if (!new_columns(mem, n_lines, &c))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; s[i].tally && k < s[i].tally->n_lines; k++)
            put_line(&c, &s[i], &s[i].tally->lines[k], mem);
    if (arena_full(mem))
        return out_of_memory(err);
    return db_exec(db, Q_EXAMPLE_ADD,
                   DB_ARGS(db_i64(app), db_bytess(c.hash, c.n), db_i64s(c.kind, c.n),
                           db_i64s(c.build, c.n), db_i64s(c.slot, c.n), db_bytess(c.priority, c.n),
                           db_i64s(c.shard, c.n), db_uuids(c.session, c.n), db_i64s(c.day, c.n),
                           db_texts(c.scene, c.n), db_texts(c.cause, c.n), db_i64s(c.start, c.n),
                           db_i64s(c.duration, c.n), db_texts(c.steps, c.n)),
                   err);
}

static bool add_windows(struct db *db, int64_t app, const struct example_session *s, size_t n,
                        size_t n_windows, struct arena *mem, struct err *err)
{
    struct columns c;

    if (!n_windows)
        return true;
    if (!new_columns(mem, n_windows, &c))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; s[i].tally && k < s[i].tally->n_clean; k++) {
            const struct tally_clean *w = &s[i].tally->clean[k];

            put_common(&c, &s[i], slot_of(&s[i], w->scene, strlen(w->scene), CLEAN_SLOTS, mem),
                       w->scene, &w->steps, mem);
        }
    if (arena_full(mem))
        return out_of_memory(err);
    return db_exec(db, Q_CLEAN_WINDOW_ADD,
                   DB_ARGS(db_i64(app), db_i64s(c.build, c.n), db_texts(c.scene, c.n),
                           db_i64s(c.slot, c.n), db_bytess(c.priority, c.n), db_i64s(c.shard, c.n),
                           db_uuids(c.session, c.n), db_i64s(c.day, c.n), db_texts(c.steps, c.n)),
                   err);
}

static bool forget(struct db *db, const struct example_session *s, size_t n, struct arena *mem,
                   struct err *err)
{
    int64_t *shard = arena_array(mem, n, sizeof *shard);
    struct bytes *id = arena_array(mem, n, sizeof *id);
    size_t changed = 0;

    if (arena_full(mem))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        if (s[i].changed) {
            shard[changed] = s[i].shard;
            id[changed++] = s[i].id;
        }
    return !changed || db_exec(db, Q_EXAMPLE_FORGET,
                               DB_ARGS(db_i64s(shard, changed), db_uuids(id, changed)), err);
}

bool examples_store(struct db *db, int64_t app, const struct example_session *sessions, size_t n,
                    struct arena *mem, struct err *err)
{
    size_t lines = 0, windows = 0;

    for (size_t i = 0; i < n; i++) {
        lines += sessions[i].tally ? sessions[i].tally->n_lines : 0;
        windows += sessions[i].tally ? sessions[i].tally->n_clean : 0;
    }
    return forget(db, sessions, n, mem, err) && add_lines(db, app, sessions, n, lines, mem, err) &&
           add_windows(db, app, sessions, n, windows, mem, err);
}
