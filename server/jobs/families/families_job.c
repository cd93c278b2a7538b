/* 'families': adds what sessions changed to the counts of stacks and families, and groups stacks
 * anew that read differently or were grouped under other rules: what was counted under a stack
 * moves with it from one family to another. No rule and no symbol moves a count of a stack.
 *
 * Batches are transactions of their own, under families_lock: between any two of them the counts of
 * a family are the sums over its stacks. */
#include "server/jobs/families/family_counts.h"
#include "server/jobs/families/family_examples.h"
#include "server/jobs/families/family_group.h"
#include "server/jobs/job_run.h"

#include "stacks/distinct.h"
#include "stacks/rules_index.h"

#include <stdlib.h>
#include <string.h>

#define DELTAS_AT_ONCE 4096           /* every batch writes the rows of the largest families anew */
#define TALLY_BYTES_AT_ONCE (8 << 20) /* several times as much when they are read */
#define STACKS_AT_ONCE 256
#define GATHERED_AT_MOST 200000 /* changes, before they are written */
#define SEPARATOR '\x1e'
#define FOLDED_CAP ((size_t)8 << 20)

struct families {
    struct job_run *run;
    int64_t app;
    struct grouping grouping;
    struct counts *counts;
    struct arena *scratch; /* of one stack */
    struct bytes *touched; /* families whose row may change: in run->work */
    size_t n_touched, room;
};

struct member {                /* a stack with its family */
    struct bytes hash, family; /* family: .at NULL if it has none yet */
    int64_t kind;
    const char *platform, *symbols, *frames;
};
static const struct db_col member_cols[] = {
    DB_COL(member, hash),     DB_COL(member, kind),    DB_COL(member, family),
    DB_COL(member, platform), DB_COL(member, symbols), DB_COL(member, frames),
};
static const struct db_map member_map = DB_MAP(member, member_cols);

static bool out_of_memory(struct err *err)
{
    return err_full(err, "families");
}

static bool touch(struct families *f, struct bytes family, struct err *err)
{
    if (f->n_touched == f->room) {
        size_t room = f->room ? f->room * 2 : 256;
        struct bytes *more = arena_array(f->run->work, room, sizeof *more);

        if (!more)
            return out_of_memory(err);
        if (f->n_touched)
            memcpy(more, f->touched, f->n_touched * sizeof *more);
        f->touched = more;
        f->room = room;
    }
    f->touched[f->n_touched++] = family;
    return true;
}

/* Stacks and their families ---------------------------------------------------------------------
 */

struct put_columns { /* parameters of stack_family_put */
    struct bytes *hash, *family, *prints;
    int64_t *kind, *flags;
    const char **class, **title, **owner, **platform, **folded;
};

static bool new_put_columns(struct arena *mem, size_t n, struct put_columns *c)
{
    *c = (struct put_columns){
        .hash = arena_array(mem, n, sizeof *c->hash),
        .family = arena_array(mem, n, sizeof *c->family),
        .prints = arena_array(mem, n, sizeof *c->prints),
        .kind = arena_array(mem, n, sizeof *c->kind),
        .flags = arena_array(mem, n, sizeof *c->flags),
        .class = arena_array(mem, n, sizeof *c->class),
        .title = arena_array(mem, n, sizeof *c->title),
        .owner = arena_array(mem, n, sizeof *c->owner),
        .platform = arena_array(mem, n, sizeof *c->platform),
        .folded = arena_array(mem, n, sizeof *c->folded),
    };
    return !arena_full(mem);
}

static const char *folded_text(const struct grouped *g, struct arena *mem)
{
    struct buf text;
    const char *copy;

    buf_init(&text, FOLDED_CAP);
    for (size_t i = 0; i < g->n_folded; i++) {
        if (i)
            buf_byte(&text, SEPARATOR);
        for (const char *c = g->folded[i]; *c; c++)
            buf_byte(&text, *c == SEPARATOR ? ' ' : (uint8_t)*c);
    }
    copy = buf_ok(&text) ? arena_dup(mem, text.at ? (const char *)text.at : "", text.len) : NULL;
    buf_fini(&text);
    return copy;
}

static const char *copy_text(const char *text, struct arena *mem)
{
    return arena_dup(mem, text ? text : "", text ? strlen(text) : 0);
}

static void put_grouped(struct put_columns *c, size_t i, const struct member *m,
                        const struct grouped *g, struct arena *mem)
{
    c->hash[i] = m->hash;
    c->kind[i] = m->kind;
    c->family[i] =
        (struct bytes){(unsigned char *)arena_dup(mem, (const char *)g->family, FINGERPRINT_BYTES),
                       FINGERPRINT_BYTES};
    c->prints[i] = (struct bytes){
        (unsigned char *)arena_dup(mem, (const char *)g->is.fingerprint, sizeof g->is.fingerprint),
        sizeof g->is.fingerprint};
    c->class[i] = stack_class_name[g->is.class];
    c->title[i] = copy_text(g->is.title, mem);
    c->owner[i] = copy_text(g->is.owner, mem);
    c->flags[i] = g->is.ignored | g->is.provisional << 1;
    c->platform[i] = copy_text(m->platform, mem);
    c->folded[i] = folded_text(g, mem);
}

/* Groups n stacks and writes what came of it; family[i] is then that of member i. */
static bool group_members(struct families *f, const struct member *m, size_t n,
                          struct bytes **family, struct err *err)
{
    struct arena *mem = f->run->work;
    struct put_columns c;

    if (!new_put_columns(mem, n, &c))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        const struct group_stack stack = {m[i].kind, m[i].platform, m[i].symbols, m[i].frames};
        struct grouped *g = arena_alloc(f->scratch, sizeof *g);

        if (!g || !group_stack(&f->grouping, &stack, f->scratch, g, err))
            return g ? false : out_of_memory(err);
        put_grouped(&c, i, &m[i], g, mem);
        arena_reset(f->scratch);
    }
    if (arena_full(mem))
        return out_of_memory(err);
    *family = c.family;
    return !n ||
           db_exec(f->run->db, Q_STACK_FAMILY_PUT,
                   DB_ARGS(db_i64(f->app), db_i64(f->grouping.version), db_bytess(c.hash, n),
                           db_i64s(c.kind, n), db_bytess(c.family, n), db_bytess(c.prints, n),
                           db_texts(c.class, n), db_texts(c.title, n), db_texts(c.owner, n),
                           db_i64s(c.flags, n), db_texts(c.platform, n), db_texts(c.folded, n)),
                   err);
}

/* Moving from one family to another -------------------------------------------------------------
 */

struct counted {
    int64_t shard, build_id, day, tier, model_id;
    const char *os, *scene, *cause;
    int64_t events, jank_us;
    struct bytes sessions, installs;
};
static const struct db_col counted_cols[] = {
    DB_COL(counted, shard),   DB_COL(counted, build_id), DB_COL(counted, day),
    DB_COL(counted, tier),    DB_COL(counted, model_id), DB_COL(counted, os),
    DB_COL(counted, scene),   DB_COL(counted, cause),    DB_COL(counted, events),
    DB_COL(counted, jank_us), DB_COL(counted, sessions), DB_COL(counted, installs),
};
static const struct db_map counted_map = DB_MAP(counted, counted_cols);

static bool add_counted(struct families *f, const struct counted *c, struct bytes family, int sign,
                        struct err *err)
{
    const struct count_facts facts = {c->shard,    c->build_id, c->day,   c->tier,
                                      c->model_id, c->os,       c->scene, c->cause};
    const struct count_change change = {.events = sign * c->events,
                                        .jank_us = sign * c->jank_us,
                                        .sign = sign,
                                        .sessions = c->sessions,
                                        .installs = c->installs};

    return counts_add_family(f->counts, family.at, &facts, &change, err);
}

/* Row by row, so that a stack with many rows needs no more memory than they. */
static bool move(struct families *f, const struct member *m, struct bytes to, struct err *err)
{
    struct db_rows rows;
    const struct counted *c;

    if (!db_all(f->run->db, Q_STACK_COUNT_OF,
                DB_ARGS(db_i64(f->app), db_bytes(m->hash.at, m->hash.len), db_i64(m->kind)),
                &counted_map, f->run->work, &rows, err))
        return false;
    c = rows.at;
    for (size_t i = 0; i < rows.n; i++) {
        if (!add_counted(f, &c[i], m->family, -1, err) || !add_counted(f, &c[i], to, +1, err))
            return false;
        if (counts_waiting(f->counts) > GATHERED_AT_MOST &&
            !counts_flush(f->counts, f->run->db, err))
            return false;
    }
    return true;
}

static bool regroup(struct families *f, const struct db_rows *rows, struct err *err)
{
    const struct member *m = rows->at;
    struct bytes *family;

    if (!group_members(f, m, rows->n, &family, err))
        return false;
    for (size_t i = 0; i < rows->n; i++) {
        if (!touch(f, m[i].family, err))
            return false;
        if (memcmp(m[i].family.at, family[i].at, FINGERPRINT_BYTES) == 0)
            continue;
        if (!touch(f, family[i], err) || !move(f, &m[i], family[i], err))
            return false;
    }
    return counts_flush(f->counts, f->run->db, err);
}

/* Batches: each returns whether there may be more ------------------------------------------------
 */

struct hash_row {
    struct bytes hash;
};
static const struct db_col hash_cols[] = {DB_COL(hash_row, hash)};
static const struct db_map hash_map = DB_MAP(hash_row, hash_cols);

/* Those that read differently. */
static bool changed_stacks(struct families *f, bool *more, struct err *err)
{
    struct job_run *run = f->run;
    struct db_rows taken, members;

    if (!db_all(run->db, Q_STACK_REGROUP_TAKE, DB_ARGS(db_i64(f->app), db_i64(STACKS_AT_ONCE)),
                &hash_map, run->work, &taken, err))
        return false;
    *more = taken.n == STACKS_AT_ONCE;
    if (!taken.n)
        return true;
    /* a row of hash_row is a struct bytes */
    return db_all(run->db, Q_STACK_FAMILY_BY_HASH,
                  DB_ARGS(db_i64(f->app), db_bytess((const struct bytes *)taken.at, taken.n)),
                  &member_map, run->work, &members, err) &&
           regroup(f, &members, err);
}
_Static_assert(sizeof(struct hash_row) == sizeof(struct bytes), "rows of hashes are an array");

/* Those grouped under other rules. */
static bool outdated_stacks(struct families *f, bool *more, struct err *err)
{
    struct job_run *run = f->run;
    struct db_rows members;

    if (!db_all(run->db, Q_STACK_FAMILY_OUTDATED,
                DB_ARGS(db_i64(f->app), db_i64(f->grouping.version), db_i64(STACKS_AT_ONCE)),
                &member_map, run->work, &members, err))
        return false;
    *more = members.n == STACKS_AT_ONCE;
    return !members.n || regroup(f, &members, err);
}

struct delta {
    int64_t seq, shard, build_id, day, tier, model_id, sign;
    struct bytes session_id, install_hash, tally;
};
static const struct db_col delta_cols[] = {
    DB_COL(delta, seq),      DB_COL(delta, shard),    DB_COL(delta, session_id),
    DB_COL(delta, build_id), DB_COL(delta, day),      DB_COL(delta, install_hash),
    DB_COL(delta, tier),     DB_COL(delta, model_id), DB_COL(delta, sign),
    DB_COL(delta, tally),
};
static const struct db_map delta_map = DB_MAP(delta, delta_cols);

struct stack_key { /* of a line, and where it counts */
    const unsigned char *hash;
    int64_t kind, build_id;
    struct bytes family;
};

static int by_stack(const void *va, const void *vb)
{
    const struct stack_key *a = va, *b = vb;
    int order = memcmp(a->hash, b->hash, TALLY_HASH_BYTES);

    return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

struct fold { /* one batch of changes */
    const struct delta *deltas;
    size_t n;
    struct tally *tallies;
    struct stack_key *keys; /* by hash and kind */
    size_t n_keys;
};

static bool read_tallies(struct families *f, struct fold *x, struct err *err)
{
    size_t lines = 0;

    x->tallies = arena_array(f->run->work, x->n, sizeof *x->tallies);
    if (!x->tallies)
        return out_of_memory(err);
    for (size_t i = 0; i < x->n; i++) {
        const struct delta *d = &x->deltas[i];

        if (!tally_read(d->tally.at, d->tally.len, f->run->work, &x->tallies[i], err))
            return false;
        lines += x->tallies[i].n_lines;
    }
    x->keys = arena_array(f->run->work, lines, sizeof *x->keys);
    return x->keys || out_of_memory(err);
}

static void collect_keys(struct fold *x)
{
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->tallies[i].n_lines; k++) {
            const struct tally_line *line = &x->tallies[i].lines[k];

            x->keys[n++] =
                (struct stack_key){line->hash, line->kind, x->deltas[i].build_id, {NULL, 0}};
        }
    if (n)
        qsort(x->keys, n, sizeof *x->keys, by_stack);
    for (size_t i = 0; i < n; i++)
        if (!kept || by_stack(&x->keys[kept - 1], &x->keys[i]) != 0)
            x->keys[kept++] = x->keys[i];
    x->n_keys = kept;
}

static bool find_members(struct families *f, const struct fold *x, struct db_rows *out,
                         struct err *err)
{
    struct arena *mem = f->run->work;
    struct bytes *hash = arena_array(mem, x->n_keys, sizeof *hash);
    int64_t *kind = arena_array(mem, x->n_keys, sizeof *kind);
    int64_t *build = arena_array(mem, x->n_keys, sizeof *build);

    if (arena_full(mem))
        return out_of_memory(err);
    for (size_t i = 0; i < x->n_keys; i++) {
        hash[i] = (struct bytes){x->keys[i].hash, TALLY_HASH_BYTES};
        kind[i] = x->keys[i].kind;
        build[i] = x->keys[i].build_id;
    }
    if (!db_all(f->run->db, Q_STACK_FAMILY_FIND,
                DB_ARGS(db_i64(f->app), db_bytess(hash, x->n_keys), db_i64s(kind, x->n_keys),
                        db_i64s(build, x->n_keys)),
                &member_map, mem, out, err))
        return false;
    return out->n == x->n_keys || err_set(err, ERR_DB, "stacks vanished");
}

/* The family of each stack; those that have none yet get one. */
static bool find_families(struct families *f, struct fold *x, struct err *err)
{
    struct db_rows rows;
    struct member *fresh = arena_array(f->run->work, x->n_keys, sizeof *fresh);
    const struct member *m;
    struct bytes *family;
    size_t n = 0;

    if (!fresh)
        return out_of_memory(err);
    if (!find_members(f, x, &rows, err))
        return false;
    m = rows.at;
    for (size_t i = 0; i < x->n_keys; i++)
        if (!m[i].family.at)
            fresh[n++] = m[i];
    if (!group_members(f, fresh, n, &family, err))
        return false;
    for (size_t i = 0, at = 0; i < x->n_keys; i++) {
        x->keys[i].family = m[i].family.at ? m[i].family : family[at++];
        if (!touch(f, x->keys[i].family, err))
            return false;
    }
    return true;
}

static const struct stack_key *find_key(const struct fold *x, const struct tally_line *line)
{
    const struct stack_key wanted = {line->hash, line->kind, 0, {NULL, 0}};

    return bsearch(&wanted, x->keys, x->n_keys, sizeof *x->keys, by_stack);
}

static struct count_facts facts_of(const struct fold *x, size_t i, const char *scene,
                                   const char *cause)
{
    const struct delta *d = &x->deltas[i];

    return (struct count_facts){d->shard,    d->build_id,      d->day, d->tier,
                                d->model_id, x->tallies[i].os, scene,  cause};
}

static struct count_change change_of(const struct delta *d, int64_t events, int64_t us)
{
    bool has = d->install_hash.len > 0;

    return (struct count_change){
        .events = d->sign * events,
        .jank_us = d->sign * us,
        .sign = (int)d->sign,
        .session = distinct_cell(d->session_id.at, d->session_id.len),
        .install = has ? distinct_cell(d->install_hash.at, d->install_hash.len) : 0,
        .has_install = has};
}

static bool count_line(struct families *f, const struct fold *x, size_t i,
                       const struct tally_line *line, struct err *err)
{
    const struct stack_key *key = find_key(x, line);
    const struct count_facts facts = facts_of(x, i, line->scene, line->cause);
    const struct count_change change = change_of(&x->deltas[i], line->events, line->jank_us);

    if (!key)
        return err_set(err, ERR_INTERNAL, "a stack of the batch has no family");
    return counts_add_stack(f->counts, (int)line->kind, line->hash, &facts, &change, err) &&
           counts_add_family(f->counts, key->family.at, &facts, &change, err) &&
           (counts_waiting(f->counts) <= GATHERED_AT_MOST ||
            counts_flush(f->counts, f->run->db, err));
}

static bool count_session(struct families *f, const struct fold *x, size_t i, struct err *err)
{
    const struct tally *t = &x->tallies[i];
    struct count_facts facts = facts_of(x, i, "", "");
    struct count_change change = change_of(&x->deltas[i], 1, t->foreground_us);

    if (!t->counts)
        return true;
    if (!counts_add_session(f->counts, &facts, false, &change, err))
        return false;
    for (size_t k = 0; k < t->n_scenes; k++) {
        facts = facts_of(x, i, t->scenes[k].scene, "");
        change = change_of(&x->deltas[i], 1, t->scenes[k].foreground_us);
        if (!counts_add_session(f->counts, &facts, true, &change, err))
            return false;
    }
    return true;
}

static bool count_change(struct families *f, const struct fold *x, size_t i, struct err *err)
{
    const struct tally *t = &x->tallies[i];

    for (size_t k = 0; k < t->n_lines; k++)
        if (!count_line(f, x, i, &t->lines[k], err))
            return false;
    return count_session(f, x, i, err);
}

static int by_session(const void *va, const void *vb)
{
    const struct example_session *a = va, *b = vb;

    return memcmp(a->id.at, b->id.at, 16);
}

/* Each session once, as its last change has it. */
static bool store_examples(struct families *f, const struct fold *x, struct err *err)
{
    struct arena *mem = f->run->work;
    struct example_session *s = arena_array(mem, x->n, sizeof *s);
    size_t n = 0;

    if (!s)
        return out_of_memory(err);
    for (size_t i = 0; i < x->n; i++) {
        const struct delta *d = &x->deltas[i];
        size_t at = 0;

        while (at < n && memcmp(s[at].id.at, d->session_id.at, 16) != 0)
            at++;
        if (at == n)
            s[n++] = (struct example_session){.id = d->session_id};
        s[at].shard = d->shard;
        s[at].build_id = d->build_id;
        s[at].day = d->day;
        s[at].changed = s[at].changed || d->sign < 0;
        s[at].tally = d->sign > 0 ? &x->tallies[i] : NULL;
    }
    if (n)
        qsort(s, n, sizeof *s, by_session);
    return examples_store(f->run->db, f->app, s, n, mem, err);
}

static bool session_changes(struct families *f, bool *more, struct err *err)
{
    struct job_run *run = f->run;
    struct db_rows rows;
    struct fold x;

    if (!db_all(run->db, Q_STACK_DELTA_TAKE,
                DB_ARGS(db_i64(f->app), db_i64(DELTAS_AT_ONCE), db_i64(TALLY_BYTES_AT_ONCE)),
                &delta_map, run->work, &rows, err))
        return false;
    *more = rows.n > 0;
    if (!rows.n)
        return true;
    x = (struct fold){.deltas = rows.at, .n = rows.n};
    if (!read_tallies(f, &x, err))
        return false;
    collect_keys(&x);
    if (!find_families(f, &x, err))
        return false;
    for (size_t i = 0; i < x.n; i++)
        if (!count_change(f, &x, i, err))
            return false;
    return counts_flush(f->counts, run->db, err) && store_examples(f, &x, err);
}

/* The job ---------------------------------------------------------------------------------------
 */

static bool refresh(struct families *f, struct err *err)
{
    struct db_args args = DB_ARGS(db_i64(f->app), db_bytess(f->touched, f->n_touched));

    return !f->n_touched || (db_exec(f->run->db, Q_FAMILY_REFRESH, args, err) &&
                             db_exec(f->run->db, Q_FAMILY_GONE, args, err));
}

typedef bool batch_fn(struct families *f, bool *more, struct err *err);

/* One transaction. Rules may have changed since the last one. */
static bool batch(struct families *f, batch_fn *work, bool last, bool *more, struct err *err)
{
    struct job_run *run = f->run;

    arena_reset(run->mem);
    arena_reset(run->work);
    arena_reset(f->scratch);
    f->n_touched = f->room = 0;
    grouping_fini(&f->grouping);
    *more = false;
    return db_begin(run->db, err) &&
           db_exec(run->db, Q_FAMILIES_LOCK, DB_ARGS(db_i64(f->app)), err) &&
           grouping_read(run->db, f->app, run->mem, &f->grouping, err) &&
           grouping_index(&f->grouping, RULES_NO_LIMIT, err) && work(f, more, err) &&
           refresh(f, err) && (!last || *more || queue_done(run->db, &run->job, err)) &&
           db_commit(run->db, err);
}

static bool all_batches(struct families *f, batch_fn *work, bool last, struct err *err)
{
    for (bool more = true; more;)
        if (!batch(f, work, last, &more, err) || (more && !job_extend(f->run, err)))
            return false;
    return true;
}

struct due {
    bool early;
    int64_t due_us;
};
static const struct db_col due_cols[] = {DB_COL(due, early), DB_COL(due, due_us)};
static const struct db_map due_map = DB_MAP(due, due_cols);

/* A little later more changes come together, and rows are written once for all of them. */
static bool too_early(struct job_run *run, struct due *out, struct err *err)
{
    *out = (struct due){.early = false};
    if (!run->config->families_ms)
        return true;
    return db_one(run->db, Q_FAMILIES_DUE,
                  DB_ARGS(db_i64(run->job.job_id), db_i64(run->config->families_ms),
                          db_i64(run->job.app_id), db_i64(DELTAS_AT_ONCE),
                          db_i64(run->config->clock_offset_ms)),
                  &due_map, run->mem, out, err);
}

bool families_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct families f = {.run = run, .app = run->job.app_id};
    struct due due;
    bool ok;

    if (!too_early(run, &due, err))
        return false;
    if (due.early) {
        *out = JOB_LATER;
        return queue_later(run->db, &run->job, due.due_us, err);
    }
    f.counts = counts_new(f.app);
    f.scratch = arena_new(run->config->arena_bytes);
    ok = (f.counts && f.scratch) || out_of_memory(err);
    ok = ok && db_exec(run->db, Q_FAMILIES_WAIT, DB_ARGS(db_i64(f.app)), err) &&
         all_batches(&f, changed_stacks, false, err) &&
         all_batches(&f, outdated_stacks, false, err) &&
         all_batches(&f, session_changes, true, err);
    grouping_fini(&f.grouping);
    counts_free(f.counts);
    arena_free(f.scratch);
    if (ok)
        *out = JOB_DONE;
    return ok;
}
