/* 'tickets': the families that most sessions show are wanted in the bug tracker, with counts as
 * they are now and the verdict of each platform; a family that comes back in a later build of a
 * platform is wanted open again. The ticket of a family that was merged into another says so, and
 * where its counts are; if that one has no ticket, it goes on as its ticket. On schedule. What
 * reaches the tracker is notify's. */
#include "base/digest.h"
#include "server/jobs/families/family_stack.h"
#include "server/jobs/families/ticket_text.h"
#include "server/jobs/job_run.h"
#include "server/notify/notify.h"

#include <stdio.h>
#include <string.h>

#define RECENT_DAYS 14
#define VALUES 5 /* of each dimension */
#define COMMENT_CAP ((size_t)TICKET_COMMENT_MAX)

static const struct db_col family_cols[] = {
    DB_COL(ticket_family, family),       DB_COL(ticket_family, filed),
    DB_COL(ticket_family, kind),         DB_COL(ticket_family, title),
    DB_COL(ticket_family, owner),        DB_COL(ticket_family, stacks),
    DB_COL(ticket_family, first_day),    DB_COL(ticket_family, last_day),
    DB_COL(ticket_family, events),       DB_COL(ticket_family, jank_ms),
    DB_COL(ticket_family, sessions),     DB_COL(ticket_family, installs),
    DB_COL(ticket_family, of_sessions),  DB_COL(ticket_family, episode),
    DB_COL(ticket_family, came_back_in),
};
static const struct db_map family_map = DB_MAP(ticket_family, family_cols);

static const struct db_col verdict_cols[] = {
    DB_COL(ticket_verdict, platform),    DB_COL(ticket_verdict, build_id),
    DB_COL(ticket_verdict, baseline_id), DB_COL(ticket_verdict, label),
    DB_COL(ticket_verdict, build),       DB_COL(ticket_verdict, baseline),
    DB_COL(ticket_verdict, ratio),       DB_COL(ticket_verdict, low),
    DB_COL(ticket_verdict, high),        DB_COL(ticket_verdict, events_new),
    DB_COL(ticket_verdict, expected),
};
static const struct db_map verdict_map = DB_MAP(ticket_verdict, verdict_cols);

static const struct db_col part_cols[] = {
    DB_COL(ticket_part, dim),         DB_COL(ticket_part, value),
    DB_COL(ticket_part, events),      DB_COL(ticket_part, jank_ms),
    DB_COL(ticket_part, sessions),    DB_COL(ticket_part, installs),
    DB_COL(ticket_part, of_sessions), DB_COL(ticket_part, about_json),
};
static const struct db_map part_map = DB_MAP(ticket_part, part_cols);

static bool out_of_memory(struct err *err)
{
    return err_full(err, "tickets");
}

/* The largest stack, grouped again to tell its frames apart. */
static bool read_stack(struct job_run *run, const struct grouping *g, struct bytes family,
                       struct grouped *out, struct err *err)
{
    const struct family_stack *row;

    if (!family_stack_largest(run->db, run->job.app_id, family, run->work, &row, err))
        return false;
    if (!row)
        return err_set(err, ERR_INTERNAL, "a family without stacks");

    const struct group_stack stack = {row->kind, row->platform, row->symbols, row->frames};

    return group_stack(g, &stack, run->work, out, err);
}

/* The text, moved into the job's memory. */
static const char *take(struct job_run *run, struct buf *text)
{
    const char *copy = buf_ok(text)
                           ? arena_dup(run->work, text->at ? (const char *)text->at : "", text->len)
                           : NULL;

    buf_fini(text);
    return copy;
}

static bool read_facts(struct job_run *run, const struct grouping *g, struct ticket_facts *out,
                       struct err *err)
{
    struct bytes id = out->family->family;
    struct grouped *stack = arena_alloc(run->work, sizeof *stack);
    struct db_rows parts, verdicts;

    if (!stack)
        return out_of_memory(err);
    if (!read_stack(run, g, id, stack, err) ||
        !db_all(
            run->db, Q_FAMILY_BREAKDOWN,
            DB_ARGS(db_i64(run->job.app_id), db_bytes(id.at, id.len), db_i64(0), db_i64(VALUES)),
            &part_map, run->work, &parts, err) ||
        !db_all(run->db, Q_FAMILY_TICKET_VERDICTS,
                DB_ARGS(db_i64(run->job.app_id), db_bytes(id.at, id.len)), &verdict_map, run->work,
                &verdicts, err))
        return false;
    out->stack = stack;
    out->parts = parts.at;
    out->n_parts = parts.n;
    out->verdicts = verdicts.at;
    out->n_verdicts = verdicts.n;
    return true;
}

static const char *body_of(struct job_run *run, const struct ticket_facts *facts)
{
    struct buf text;

    buf_init(&text, TICKET_BODY_MAX);
    ticket_body(facts, &text);
    return take(run, &text);
}

/* Says it once for each id. */
static bool want(struct job_run *run, struct ticket_want *w, const char *id, const char *comment,
                 struct err *err)
{
    w->comment_id = id;
    w->comment = comment;
    return ticket_want(run->db, run->job.app_id, w, run->work, err);
}

static bool want_return(struct job_run *run, struct ticket_want *w, const struct ticket_family *f,
                        struct err *err)
{
    char id[64];
    struct buf text;
    const char *comment;

    snprintf(id, sizeof id, "episode %lld", (long long)f->episode);
    buf_init(&text, COMMENT_CAP);
    buf_text(&text, "It came back in build ");
    notify_put_code(&text, f->came_back_in);
    buf_text(&text, ".\n");
    comment = take(run, &text);
    return comment ? want(run, w, id, comment, err) : out_of_memory(err);
}

/* The id says the platform and the pair, so each one's verdict is told once. */
static bool want_verdict(struct job_run *run, struct ticket_want *w, const struct ticket_verdict *v,
                         struct err *err)
{
    char id[TICKET_KEY_MAX + 1];
    struct buf text;
    const char *comment;

    snprintf(id, sizeof id, "verdict %s %lld against %lld: %s", v->platform, (long long)v->build_id,
             (long long)v->baseline_id, v->label);
    buf_init(&text, COMMENT_CAP);
    ticket_verdict(v, &text);
    comment = take(run, &text);
    return comment ? want(run, w, id, comment, err) : out_of_memory(err);
}

/* The ticket as it is now, with a comment for each thing that is to be told. */
static bool want_all(struct job_run *run, struct ticket_want *w, const struct ticket_facts *facts,
                     struct err *err)
{
    bool told = facts->family->came_back_in != NULL;

    if (told && !want_return(run, w, facts->family, err))
        return false;
    for (size_t i = 0; i < facts->n_verdicts; i++) {
        if (strcmp(facts->verdicts[i].label, "too_little_data") == 0)
            continue;
        if (!want_verdict(run, w, &facts->verdicts[i], err))
            return false;
        told = true;
    }
    return told || want(run, w, NULL, NULL, err);
}

/* The family's page; "" where the server has no address of its own. */
static void page_of(const struct job_run *run, struct bytes family, char *url, size_t size)
{
    char hex[2 * FINGERPRINT_BYTES + 1];

    to_hex(family.at, family.len, hex);
    *url = '\0';
    if (*run->config->public_url)
        snprintf(url, size, "%s/janks/%s", run->config->public_url, hex);
}

static bool file(struct job_run *run, const struct grouping *g, const struct ticket_family *f,
                 struct err *err)
{
    const char *label[] = {f->kind ? "crash" : "jank"};
    struct ticket_facts facts = {.family = f};
    char key[33], title[240], url[1024] = "";
    struct ticket_want w = {.key = key,
                            .title = title,
                            .owner = f->owner,
                            .labels = label,
                            .n_labels = 1,
                            .url = url,
                            .episode = f->episode};

    to_hex(f->filed.at, f->filed.len, key);
    page_of(run, f->family, url, sizeof url);
    snprintf(title, sizeof title, "%s: %s", f->kind ? "Crash" : "Jank", f->title);
    if (!read_facts(run, g, &facts, err))
        return false;
    w.body = body_of(run, &facts);
    return w.body ? want_all(run, &w, &facts, err) : out_of_memory(err);
}

/* Tickets of families that are in another one ---------------------------------------------------
 */

struct merged_row {
    struct bytes family, target, ticket;
    int64_t kind;
    const char *title;
    int64_t edit_id;
    const char *by_kin;
    int64_t episode;
};
static const struct db_col merged_cols[] = {
    DB_COL(merged_row, family), DB_COL(merged_row, target),  DB_COL(merged_row, ticket),
    DB_COL(merged_row, kind),   DB_COL(merged_row, title),   DB_COL(merged_row, edit_id),
    DB_COL(merged_row, by_kin), DB_COL(merged_row, episode),
};
static const struct db_map merged_map = DB_MAP(merged_row, merged_cols);

static const char *merged_text(struct job_run *run, const struct merged_row *m)
{
    char ticket[2 * FINGERPRINT_BYTES + 1];
    struct buf text;

    to_hex(m->ticket.at, m->ticket.len, ticket);
    buf_init(&text, COMMENT_CAP);
    buf_text(&text, *m->by_kin ? "As kin, this is now part of " : "By hand, this was put into ");
    notify_put_code(&text, m->title);
    buf_text(&text, ". The ticket of family ");
    notify_put_code(&text, ticket);
    buf_text(&text, " tells the counts of both; this one can be closed.\n");
    return take(run, &text);
}

static bool tell_merged(struct job_run *run, const struct merged_row *m, struct err *err)
{
    const char *label[] = {m->kind ? "crash" : "jank"};
    char key[2 * FINGERPRINT_BYTES + 1], title[240], url[1024], id[64];
    const char *text = merged_text(run, m);
    struct ticket_want w = {.key = key,
                            .title = title,
                            .body = text,
                            .labels = label,
                            .n_labels = 1,
                            .url = url,
                            .episode = m->episode};

    if (!text)
        return out_of_memory(err);
    to_hex(m->family.at, m->family.len, key);
    page_of(run, m->target, url, sizeof url);
    snprintf(title, sizeof title, "Merged: %s", m->title);
    snprintf(id, sizeof id, "merge %lld", (long long)m->edit_id);
    return want(run, &w, id, text, err);
}

static bool tell_all_merged(struct job_run *run, struct err *err)
{
    const struct merged_row *m;
    struct db_rows rows;

    if (!db_all(run->db, Q_FAMILY_TICKET_MERGED, DB_ARGS(db_i64(run->job.app_id)), &merged_map,
                run->mem, &rows, err))
        return false;
    m = rows.at;
    for (size_t i = 0; i < rows.n; i++) {
        arena_reset(run->work);
        if (!tell_merged(run, &m[i], err))
            return false;
    }
    return true;
}

static bool file_all(struct job_run *run, const struct grouping *g, struct err *err)
{
    int64_t app = run->job.app_id;
    int64_t ppm = g->rules.rules.min_rate_ppm;
    const struct ticket_family *f;
    struct db_rows rows;

    if (!db_exec(
            run->db, Q_FAMILY_TICKET_CHOOSE,
            DB_ARGS(db_i64(app), db_i64(g->rules.tickets_top), db_i64(RECENT_DAYS), db_i64(ppm)),
            err) ||
        !db_exec(run->db, Q_FAMILY_TICKET_FIXED, DB_ARGS(db_i64(app)), err) ||
        !db_exec(run->db, Q_FAMILY_TICKET_CLOSED, DB_ARGS(db_i64(app)), err) ||
        !db_exec(run->db, Q_FAMILY_TICKET_RETURN, DB_ARGS(db_i64(app), db_i64(ppm)), err) ||
        !db_all(run->db, Q_FAMILY_TICKET_LIST, DB_ARGS(db_i64(app)), &family_map, run->mem, &rows,
                err))
        return false;
    f = rows.at;
    for (size_t i = 0; i < rows.n; i++) {
        arena_reset(run->work);
        if (!file(run, g, &f[i], err))
            return false;
    }
    return tell_all_merged(run, err);
}

bool tickets_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct grouping g;

    *out = JOB_DONE;
    return db_begin(run->db, err) &&
           db_exec(run->db, Q_FAMILIES_LOCK, DB_ARGS(db_i64(run->job.app_id)), err) &&
           grouping_read(run->db, run->job.app_id, run->mem, &g, err) &&
           (!g.rules.tickets || file_all(run, &g, err)) && queue_done(run->db, &run->job, err) &&
           db_commit(run->db, err);
}
