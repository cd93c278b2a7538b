#include "server/jobs/alerts/alert_why.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "server/jobs/tiers/tier_name.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCENES_SHOWN 5
#define TEXT_CAP 8192

struct why_family {
    const char *family, *title, *owner;
    double now, base;
    int64_t events;
};
static const struct db_col family_cols[] = {
    DB_COL(why_family, family), DB_COL(why_family, title), DB_COL(why_family, owner),
    DB_COL(why_family, now),    DB_COL(why_family, base),  DB_COL(why_family, events),
};
static const struct db_map family_map = DB_MAP(why_family, family_cols);

static json_t *number(double v)
{
    return isfinite(v) && fabs(v) < 1e200 ? json_real(v) : json_null();
}

static bool read_families(struct db *db, const struct alert_setting *s,
                          const struct alert_look_at *look, struct arena *mem, struct db_rows *out,
                          struct err *err)
{
    size_t room = strlen(look->scene) + 32;
    char *value = arena_alloc(mem, room);

    if (!value)
        return err_full(err, "alerts");
    if (*look->scene)
        snprintf(value, room, "%d %s", (int)look->tier, look->scene);
    else
        snprintf(value, room, "%d", (int)look->tier);
    return db_all(db, Q_ALERT_FAMILIES,
                  DB_ARGS(db_i64(s->app), db_i64(s->build_id), db_i64(s->baseline_id),
                          db_text(*look->scene ? "tier_scene" : "tier"), db_text(value),
                          db_i64(look->figure.n), db_i64(look->figure.n_base)),
                  &family_map, mem, out, err);
}

static json_t *families_json(const struct db_rows *rows)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rows->n; i++) {
        const struct why_family *f = (const struct why_family *)rows->at + i;

        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:o, s:o}", "family", f->family,
                                              "title", f->title, "owner", f->owner, "events",
                                              f->events, "per_session", number(f->now),
                                              "baseline_per_session", number(f->base)));
    }
    return list;
}

static int by_change(const void *va, const void *vb)
{
    const struct alert_look_at *const *a = va, *const *b = vb;

    return ((*a)->finding.change < (*b)->finding.change) -
           ((*a)->finding.change > (*b)->finding.change);
}

/* The same metric in the tier's scenes, the worst first. */
static size_t worst_scenes(const struct alert_look_at *all, size_t n,
                           const struct alert_look_at *look, struct arena *mem,
                           const struct alert_look_at ***out)
{
    const struct alert_look_at **found = arena_array(mem, n, sizeof *found);
    size_t n_found = 0;

    for (size_t i = 0; found && i < n; i++)
        if (all[i].tier == look->tier && all[i].metric == look->metric && *all[i].scene &&
            all[i].finding.reason != ALERT_REASON_TOO_FEW)
            found[n_found++] = &all[i];
    if (found)
        qsort(found, n_found, sizeof *found, by_change);
    *out = found;
    return n_found < SCENES_SHOWN ? n_found : SCENES_SHOWN;
}

static json_t *look_json(const struct alert_look_at *l)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s}", "scene", l->scene, "metric",
                     metric_info[l->metric].name, "change", number(l->finding.change), "low",
                     number(l->finding.interval.low), "high", number(l->finding.interval.high),
                     "reason", alert_reason_text(l->finding.reason));
}

static json_t *other_metrics(const struct alert_look_at *all, size_t n,
                             const struct alert_look_at *look)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        if (all[i].tier == look->tier && strcmp(all[i].scene, look->scene) == 0 &&
            all[i].metric != look->metric && all[i].finding.level >= ALERT_WARN)
            json_array_append_new(list, look_json(&all[i]));
    return list;
}

static json_t *pairs_json(const struct alert_look_at *l)
{
    if (!l->has_pairs)
        return json_null();
    return json_pack("{s:I, s:o, s:o}", "installs", l->pairs.n, "change",
                     number(expm1(l->pairs.mean)), "ln_e", number(l->finding.ln_e_pairs));
}

static json_t *evidence_json(const struct alert_look_at *l)
{
    const struct figure *f = &l->figure;

    return json_pack("{s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "value",
                     number(f->value), "baseline", number(f->base), "unit",
                     metric_info[l->metric].unit, "sessions", f->sessions_new, "baseline_sessions",
                     f->sessions_base, "installs", l->installs, "baseline_n", f->n_base,
                     "same_time", f->beside, "mix", number(f->mix), "theta", number(l->theta),
                     "ln_e", number(l->finding.ln_e_worse), "pairs", pairs_json(l));
}

static const char *place(const struct alert_look_at *l)
{
    return *l->scene ? l->scene : "whole sessions";
}

static void put_summary(const struct alert_setting *s, const struct alert_look_at *l,
                        struct buf *out)
{
    char tier[TIER_NAME_BYTES];

    tier_name(l->tier, s->tiers, tier);
    buf_printf(out, "%s on %s devices, %s: %+.1f %% against %s (%+.1f … %+.1f %%)",
               metric_info[l->metric].name, tier, place(l), 100 * l->finding.change, s->baseline,
               100 * l->finding.interval.low, 100 * l->finding.interval.high);
}

static void put_detail(const struct alert_look_at *l, const struct alert_look_at **scene,
                       size_t n_scenes, const struct db_rows *families, struct buf *out)
{
    const struct figure *f = &l->figure;

    buf_printf(out,
               "%.4g %s, baseline %.4g; %lld sessions, %lld of %lld compared with their own "
               "past, %lld installs seen.\n",
               f->value, metric_info[l->metric].unit, f->base, (long long)f->n,
               (long long)f->sessions_new, (long long)f->n, (long long)l->installs);
    if (isfinite(f->mix))
        buf_printf(out, "Mix of devices and players, taken out: %+.1f %%.\n", 100 * f->mix);
    if (l->has_pairs)
        buf_printf(out, "%lld installs that have both builds: %+.1f %%.\n", (long long)l->pairs.n,
                   100 * expm1(l->pairs.mean));
    if (!*l->scene)
        for (size_t i = 0; i < n_scenes; i++)
            buf_printf(out, "Scene %s: %+.1f %%.\n", scene[i]->scene,
                       100 * scene[i]->finding.change);
    for (size_t i = 0; i < families->n; i++) {
        const struct why_family *w = (const struct why_family *)families->at + i;

        buf_printf(out, "Jank family %.80s: %.3g a session, was %.3g.\n", w->title, w->now,
                   w->base);
    }
}

/* Names in it may have been cut within a character. */
static void set_text(json_t *tree, const char *name, struct buf *text)
{
    buf_byte(text, 0);
    if (buf_ok(text)) {
        utf8_clean((char *)text->at, text->len);
        json_object_set_new(tree, name, json_string((const char *)text->at));
    }
    buf_fini(text);
}

static const char *take_json(json_t *tree, struct arena *mem)
{
    char *text = tree ? json_dumps(tree, JSON_COMPACT) : NULL;
    const char *copy = text ? arena_dup(mem, text, strlen(text)) : NULL;

    json_decref(tree);
    free(text);
    return copy;
}

bool alert_why(struct db *db, const struct alert_setting *setting, const struct alert_look_at *all,
               size_t n, const struct alert_look_at *look, struct arena *mem,
               struct alert_story *out, struct err *err)
{
    const struct alert_look_at **scene;
    struct db_rows families;
    struct buf summary, detail;
    size_t n_scenes = worst_scenes(all, n, look, mem, &scene);
    json_t *tree, *scenes;

    if (!read_families(db, setting, look, mem, &families, err))
        return false;
    tree = evidence_json(look);
    scenes = json_array();
    for (size_t i = 0; i < n_scenes; i++)
        json_array_append_new(scenes, look_json(scene[i]));
    json_object_set_new(tree, "scenes", scenes);
    json_object_set_new(tree, "metrics", other_metrics(all, n, look));
    json_object_set_new(tree, "families", families_json(&families));
    buf_init(&summary, TEXT_CAP);
    put_summary(setting, look, &summary);
    buf_init(&detail, TEXT_CAP);
    put_detail(look, scene, n_scenes, &families, &detail);
    set_text(tree, "summary", &summary);
    set_text(tree, "detail", &detail);
    out->evidence = take_json(tree, mem);
    return out->evidence || err_full(err, "alerts");
}
