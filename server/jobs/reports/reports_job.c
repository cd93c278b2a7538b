/* 'reports': makes the comparison of a build when it has enough sessions, anew at each doubling,
 * and the health checks of days 3, 7 and 14; stores them, and tells that they are there. */
#include "server/jobs/job_run.h"
#include "server/jobs/reports/health.h"
#include "server/jobs/reports/report_doc.h"
#include "server/notify/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SESSIONS 200 /* of a build, for its first comparison */

struct due_row {
    int64_t build_id, baseline_id, days, checked, step;
    bool registered;
    const char *build, *baseline;
};
static const struct db_col due_cols[] = {
    DB_COL(due_row, build_id), DB_COL(due_row, baseline_id), DB_COL(due_row, days),
    DB_COL(due_row, checked),  DB_COL(due_row, step),        DB_COL(due_row, registered),
    DB_COL(due_row, build),    DB_COL(due_row, baseline),
};
static const struct db_map due_map = DB_MAP(due_row, due_cols);

struct put_row {
    int64_t id;
};
static const struct db_col put_cols[] = {DB_COL(put_row, id)};
static const struct db_map put_map = DB_MAP(put_row, put_cols);

/* Stores it unless it is there; *fresh says which. Takes the document. */
static bool store(struct job_run *run, const char *kind, const struct due_row *d, int64_t step,
                  int64_t sessions, json_t *doc, bool *fresh, struct err *err)
{
    char *text = json_dumps(doc, JSON_COMPACT);
    struct db_rows rows = {0};
    bool ok = text || err_memory(err);

    ok =
        ok && db_all(run->db, Q_REPORT_PUT,
                     DB_ARGS(db_i64(run->job.app_id), db_text(kind), db_i64(d->build_id),
                             db_i64(d->baseline_id), db_i64(step), db_i64(sessions), db_text(text)),
                     &put_map, run->mem, &rows, err);
    *fresh = rows.n > 0;
    free(text);
    json_decref(doc);
    return ok;
}

static bool tell(struct job_run *run, const char *key, int64_t version, const char *title,
                 const char *text, const char *url, struct err *err)
{
    const struct notify_report report = {key, version, title, text, url};

    return notify_report(run->db, run->job.app_id, &report, run->mem, err);
}

/* Doublings of the first number of sessions; -1: too few yet. */
static int64_t step_of(int64_t sessions)
{
    int64_t step = -1;

    for (int64_t n = FIRST_SESSIONS; n <= sessions && step < 40; n *= 2)
        step++;
    return step;
}

static void put_change(const json_t *figures, const char *name, char *out, size_t size)
{
    const json_t *f = json_object_get(figures, name);
    const json_t *change = json_object_get(f, "change");

    if (json_is_number(change))
        snprintf(out, size, "%s %+.1f %%", name, 100 * json_number_value(change));
    else
        snprintf(out, size, "%s not yet comparable", name);
}

static const json_t *whole_figures(const json_t *doc)
{
    size_t i;
    const json_t *slice;

    json_array_foreach(json_object_get(doc, "slices"), i, slice)
    {
        if (json_is_null(json_object_get(slice, "tier")) &&
            !*json_string_value(json_object_get(slice, "scene")))
            return json_object_get(slice, "figures");
    }
    return NULL;
}

static bool compare(struct job_run *run, const struct due_row *d, struct err *err)
{
    const struct report_ask ask = {
        .app = run->job.app_id, .build = d->build_id, .baseline = d->baseline_id};
    char key[64], title[200], p90[64], janks[64], text[256], url[1024] = "";
    int64_t sessions = 0;
    bool fresh;
    json_t *doc = report_doc(run->db, &ask, run->mem, &sessions, err);

    if (!doc)
        return false;
    if (step_of(sessions) <= d->step) {
        json_decref(doc);
        return true;
    }
    put_change(whole_figures(doc), "p90", p90, sizeof p90);
    put_change(whole_figures(doc), "janks", janks, sizeof janks);
    if (!store(run, "comparison", d, step_of(sessions), sessions, doc, &fresh, err))
        return false;
    snprintf(key, sizeof key, "report %lld", (long long)d->build_id);
    snprintf(title, sizeof title, "%.80s against %.80s", d->build, d->baseline);
    snprintf(text, sizeof text, "%lld sessions; all devices: %s, %s.", (long long)sessions, p90,
             janks);
    if (*run->config->public_url)
        snprintf(url, sizeof url, "%s/compare?build=%lld", run->config->public_url,
                 (long long)d->build_id);
    return !fresh || tell(run, key, step_of(sessions) + 1, title, text, url, err);
}

static bool check(struct job_run *run, const struct due_row *d, int64_t day, struct err *err)
{
    json_t *doc = health_doc(run->db, run->job.app_id, d->build_id, day,
                             run->config->clock_offset_ms, run->mem, err);
    char key[64], title[200], text[1000] = "Nothing to do.", url[1024] = "";
    size_t i, at = 0;
    const json_t *finding;
    bool fresh, fine;

    if (!doc)
        return false;
    fine = json_is_true(json_object_get(doc, "nothing_to_do"));
    json_array_foreach(json_object_get(doc, "findings"), i, finding)
    {
        if (!fine && at + 260 < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s\n",
                                   json_string_value(json_object_get(finding, "text")));
    }
    if (!store(run, "health", d, day, json_integer_value(json_object_get(doc, "sessions")), doc,
               &fresh, err))
        return false;
    snprintf(key, sizeof key, "health %lld day %lld", (long long)d->build_id, (long long)day);
    snprintf(title, sizeof title, "Day %lld of %.80s: %s", (long long)day, d->build,
             fine ? "nothing to do" : "please look");
    if (*run->config->public_url)
        snprintf(url, sizeof url, "%s/builds", run->config->public_url);
    return !fresh || tell(run, key, 1, title, text, url, err);
}

static bool one_build(struct job_run *run, const struct due_row *d, struct err *err)
{
    static const int64_t days[] = {3, 7, 14};
    static const int64_t until[] = {7, 14, 21}; /* later than that a check is not made up for */

    arena_reset(run->mem);
    if (!job_extend(run, err) || !db_begin(run->db, err))
        return false;
    if (d->baseline_id && !compare(run, d, err))
        return false;
    for (unsigned i = 0; d->registered && i < 3; i++)
        if (d->days >= days[i] && d->days < until[i] && !(d->checked >> i & 1) &&
            !check(run, d, days[i], err))
            return false;
    return db_commit(run->db, err);
}

bool reports_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct arena *mem = arena_new(1 << 20); /* over the builds, which use the run's */
    struct db_rows rows = {0};
    bool ok = mem || err_memory(err);

    *out = JOB_DONE;
    ok = ok && db_all(run->db, Q_REPORT_DUE,
                      DB_ARGS(db_i64(run->job.app_id), db_i64(run->config->clock_offset_ms)),
                      &due_map, mem, &rows, err);
    for (size_t i = 0; ok && i < rows.n; i++)
        ok = one_build(run, (const struct due_row *)rows.at + i, err);
    arena_free(mem);
    return ok && db_begin(run->db, err) && queue_done(run->db, &run->job, err) &&
           db_commit(run->db, err);
}
