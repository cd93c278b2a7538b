#include "support/release_sim.h"

#include "stats/expectation.h"
#include "stats/sketch.h"
#include "stats/verdict.h"
#include "support/control.h"
#include "support/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODELS 40 /* per tier */
#define MOST_DAYS_BEFORE 60
#define DAYS_AFTER 14
#define INSTALL_SD 0.12
#define SESSION_SD 0.14
#define SCENE_SD 0.10 /* of one scene in one session */
#define FRAME_SD 0.25
#define FRAME_TABLE 4096
#define JANK_MS 100
#define SESSIONS_A_DAY 0.6
#define SCENE_PLAYED 0.5
#define NEWCOMERS 0.1 /* installs that come after the release and have no past */
#define HALF_UPDATED_DAYS 3.5
#define MIX_STRENGTH 1.0
#define MOST_LN_WORK 1.5 /* to look for what shows as much as is wanted */

struct install {
    unsigned tier, model, group;
    double speed; /* ln, of the install itself */
    double jank;  /* ln, its own rate of spikes */
    double per_day, joins, updates;
};

/* What is known of one (install, scene, metric). */
struct known {
    struct moments past;
    struct expected x;
    int64_t n[2], sum_y_e6[2]; /* of all its sessions, by build: the pairs */
};

/* What one install showed of janks in one scene before the release. */
struct jank_known {
    int64_t count, frames;
    int64_t count_on[2], frames_on[2]; /* in all, by build */
};

struct past {
    struct moments model[MODELS], all;
    struct variance_sums sums;
};

struct jank_past {
    int64_t count[MODELS], frames[MODELS], all_count, all_frames;
};

struct slice {
    struct past past[SIM_TIMES];
    struct jank_past janks;
    struct groups r[SIM_TIMES][2];
    struct rates rates[2];
    struct sketch frames[2]; /* baseline: all of its time, as a dashboard would */
    struct alert_latch latch[SIM_METRICS];
    int64_t sessions[2];
    int64_t controlled[2];       /* sessions that have a control */
    int64_t shown_e6[SIM_TIMES]; /* what the planted work did to those of the new build */
};

struct world {
    const struct sim_options *o;
    struct rng rng;
    double ln_work;            /* planted: of the slow tier's first scene, on the new build */
    double frame[FRAME_TABLE]; /* quantiles of the spread of frames around their session */
    double model_speed[SIM_TIERS][MODELS], day[MOST_DAYS_BEFORE + DAYS_AFTER];
    struct install *install;
    struct known (*known)[SIM_SCENES][SIM_TIMES];
    struct jank_known (*janks)[SIM_SCENES];
    unsigned installs;
    struct slice *slice;
    uint32_t *frame_us; /* of each scene of a session, for the watcher */
};

struct sim_options sim_defaults(void)
{
    return (struct sim_options){.seed = 1,
                                .effect = 0,
                                .days_before = 14,
                                .mix = SIM_MIX_NONE,
                                .installs = 700,
                                .frames = 100,
                                .model_sd = 0.12,
                                .day_sd = 0.02};
}

double sim_sessions_of_install(const struct sim_options *o)
{
    return SESSIONS_A_DAY * (o->days_before * (1 - NEWCOMERS) + DAYS_AFTER * (1 - NEWCOMERS / 2));
}

/* Popularity of models falls as 1 / (k + 2). */
static unsigned some_model(struct rng *r)
{
    double sum = 0, at;

    for (unsigned k = 0; k < MODELS; k++)
        sum += 1.0 / (k + 2);
    at = rng_uniform(r) * sum;
    for (unsigned k = 0; k < MODELS; k++)
        if ((at -= 1.0 / (k + 2)) < 0)
            return k;
    return MODELS - 1;
}

static void make_install(struct world *w, unsigned i)
{
    struct rng *r = &w->rng;
    struct install *a = &w->install[i];

    a->tier = i % SIM_TIERS;
    a->model = some_model(r);
    a->group = (unsigned)(rng_next(r) % INSTALL_GROUPS);
    a->speed = INSTALL_SD * rng_normal(r);
    a->jank = 0.5 * rng_normal(r);
    a->per_day = SESSIONS_A_DAY * exp(0.8 * rng_normal(r) - 0.32);
    a->joins = rng_uniform(r) < NEWCOMERS ? DAYS_AFTER * rng_uniform(r) : -1e9;

    double slow =
        (w->model_speed[a->tier][a->model] + a->speed) / hypot(w->o->model_sd, INSTALL_SD);
    double lean = w->o->mix == SIM_MIX_EARLY ? -slow : w->o->mix == SIM_MIX_SLOW ? slow : 0;
    double rate = M_LN2 / HALF_UPDATED_DAYS * exp(MIX_STRENGTH * lean);

    a->updates = a->joins >= 0 ? a->joins : -log(rng_uniform(r)) / rate;
}

static void make_world(struct world *w)
{
    for (unsigned i = 0; i < FRAME_TABLE; i++)
        w->frame[i] = exp(FRAME_SD * normal_quantile((i + 0.5) / FRAME_TABLE));
    for (unsigned t = 0; t < SIM_TIERS; t++)
        for (unsigned k = 0; k < MODELS; k++)
            w->model_speed[t][k] = w->o->model_sd * rng_normal(&w->rng);
    for (unsigned d = 0; d < w->o->days_before + DAYS_AFTER; d++)
        w->day[d] = w->o->day_sd * rng_normal(&w->rng);
    for (unsigned i = 0; i < w->installs; i++)
        make_install(w, i);
    for (unsigned s = 0; s < SIM_SLICES; s++)
        for (unsigned m = 0; m < SIM_METRICS; m++)
            w->slice[s].latch[m] = ALERT_LATCH_NEW;
}

/* The metrics of one session in one scene. */
struct seen {
    int64_t y_e6[SIM_TIMES], janks, frames;
    struct sketch sketch;
};

/* A display that is locked shows a frame at its next refresh, give or take what timers are late. */
static double shown_ms(const struct world *w, double work_ms, double late_ms)
{
    const double vsync = 1000.0 / 60;

    return w->o->vsync ? ceil(work_ms / vsync) * vsync + late_ms : work_ms;
}

static void set_times(const struct world *w, struct seen *s, double sum_ms)
{
    ln_e6(1e-3 * sketch_quantile_us(&s->sketch, 0.5), &s->y_e6[0]);
    ln_e6(1e-3 * sketch_quantile_us(&s->sketch, 0.9), &s->y_e6[1]);
    ln_e6(sum_ms / w->o->frames, &s->y_e6[2]);
}

/* The frames as they are with the planted work, and what the same would have shown without it. */
static void play_frames(struct world *w, double ln_ms, double ln_work, double ln_jank,
                        uint32_t *frame_us, struct seen *out, struct seen *without)
{
    struct rng *r = &w->rng;
    double work_ms = exp(ln_ms + ln_work), less = exp(-ln_work), spike = 0.004 * exp(ln_jank);
    double sum = 0, sum_without = 0;

    memset(out, 0, sizeof *out);
    memset(without, 0, sizeof *without);
    out->frames = w->o->frames;
    for (unsigned f = 0; f < w->o->frames; f++) {
        uint64_t random = rng_next(r);
        double ms = work_ms * w->frame[random % FRAME_TABLE], ms_without, late;

        if ((double)(random >> 32) * 0x1p-32 < spike)
            ms *= 2 + 8 * rng_uniform(r);
        late = w->o->vsync ? 0.05 * (rng_uniform(r) - 0.5) : 0;
        ms_without = shown_ms(w, less * ms, late);
        ms = shown_ms(w, ms, late);
        out->janks += ms > JANK_MS;
        sum += ms;
        sum_without += ms_without;
        frame_us[f] = (uint32_t)(1000 * ms + 0.5);
        sketch_add(&out->sketch, frame_us[f]);
        sketch_add(&without->sketch, (uint32_t)(1000 * ms_without + 0.5));
    }
    set_times(w, out, sum);
    set_times(w, without, sum_without);
}

/* An install's sessions on each build, whenever they were: as the server keeps them. */
static void add_to_pairs(struct world *w, unsigned i, unsigned scene, unsigned arm,
                         const struct seen *s)
{
    for (unsigned m = 0; m < SIM_TIMES; m++) {
        w->known[i][scene][m].n[arm]++;
        w->known[i][scene][m].sum_y_e6[arm] += s->y_e6[m];
    }
    w->janks[i][scene].count_on[arm] += s->janks;
    w->janks[i][scene].frames_on[arm] += s->frames;
}

static void remember(struct world *w, unsigned i, unsigned scene, const struct seen *s)
{
    const struct install *a = &w->install[i];
    struct slice *slice = &w->slice[a->tier * SIM_SCENES + scene];

    for (unsigned m = 0; m < SIM_TIMES; m++) {
        moments_add(&w->known[i][scene][m].past, s->y_e6[m]);
        moments_add(&slice->past[m].model[a->model], s->y_e6[m]);
        moments_add(&slice->past[m].all, s->y_e6[m]);
    }
    w->janks[i][scene].count += s->janks;
    w->janks[i][scene].frames += s->frames;
    slice->janks.count[a->model] += s->janks;
    slice->janks.frames[a->model] += s->frames;
    slice->janks.all_count += s->janks;
    slice->janks.all_frames += s->frames;
    sketch_merge(&slice->frames[0], &s->sketch, 1);
}

/* Janks expected, in 1e-6; -1 if nothing can be said. */
static int64_t janks_expected(const struct world *w, unsigned i, unsigned scene, int64_t frames)
{
    const struct install *a = &w->install[i];
    const struct jank_past *p = &w->slice[a->tier * SIM_SCENES + scene].janks;
    const struct jank_known *own = &w->janks[i][scene];

    if (w->o->control == SIM_OWN)
        return rate_expected_own(frames, own->count, own->frames);
    return rate_expected(frames, p->count[a->model], p->frames[a->model], p->all_count,
                         p->all_frames);
}

static void compare(struct world *w, unsigned i, unsigned scene, unsigned arm, const struct seen *s,
                    const struct seen *without)
{
    const struct install *a = &w->install[i];
    struct slice *slice = &w->slice[a->tier * SIM_SCENES + scene];
    int64_t janks = janks_expected(w, i, scene, s->frames);

    sketch_merge(&slice->frames[arm], &s->sketch, 1);
    slice->sessions[arm]++;
    if (janks >= 0)
        rates_add(&slice->rates[arm], a->group, s->janks, janks);
    if (!w->known[i][scene][0].x.weight)
        return;
    slice->controlled[arm]++;
    for (unsigned m = 0; m < SIM_TIMES; m++) {
        const struct known *k = &w->known[i][scene][m];
        int64_t r = expectation_residual(s->y_e6[m], k->x.x_e6);

        groups_add(&slice->r[m][arm], a->group, k->x.weight, k->x.weight * r);
        if (arm)
            slice->shown_e6[m] += s->y_e6[m] - without->y_e6[m];
    }
}

static double install_ln_ms(const struct world *w, const struct install *a)
{
    static const double tier_ln_ms[SIM_TIERS] = {3.3, 2.9, 2.5};

    return tier_ln_ms[a->tier] + w->model_speed[a->tier][a->model] + a->speed;
}

static void play_session(struct world *w, unsigned i, double at)
{
    static const double scene_ln[SIM_SCENES] = {0, .2, -.1, .1};
    const struct install *a = &w->install[i];
    unsigned arm = at >= 0 && at >= a->updates;
    double ln_ms = install_ln_ms(w, a) + w->day[(unsigned)(at + w->o->days_before)] +
                   SESSION_SD * rng_normal(&w->rng);
    double ln_jank = a->jank + 0.3 * rng_normal(&w->rng);
    struct sim_played played = {at, i, a->tier, a->model, a->group, arm, 0, {{0, NULL, {0}}}};

    for (unsigned scene = 0; scene < SIM_SCENES; scene++) {
        uint32_t *frame_us = w->frame_us + (size_t)scene * w->o->frames;
        struct seen s, without;

        if (rng_uniform(&w->rng) > SCENE_PLAYED)
            continue;

        double worse = arm && a->tier == 0 && scene == 0 ? w->ln_work : 0;

        play_frames(w, ln_ms + scene_ln[scene] + SCENE_SD * rng_normal(&w->rng), worse, ln_jank,
                    frame_us, &s, &without);
        played.in[played.scenes].scene = scene;
        played.in[played.scenes].frame_us = frame_us;
        for (unsigned m = 0; m < SIM_TIMES; m++)
            played.in[played.scenes].shown_e6[m] = s.y_e6[m] - without.y_e6[m];
        played.scenes++;
        add_to_pairs(w, i, scene, arm, &s);
        if (at < 0)
            remember(w, i, scene, &s);
        else
            compare(w, i, scene, arm, &s, &without);
    }
    if (w->o->watcher)
        w->o->watcher->played(w->o->watcher->user, &played);
}

static void play(struct world *w, double from, double to)
{
    for (unsigned i = 0; i < w->installs; i++) {
        const struct install *a = &w->install[i];
        unsigned n = a->joins < to ? rng_poisson(&w->rng, a->per_day * (to - from)) : 0;

        for (; n; n--) {
            double at = from + (to - from) * rng_uniform(&w->rng);

            if (at >= a->joins)
                play_session(w, i, at);
        }
    }
}

/* What so much more work does to P90 as it is shown, over sessions of the slow tier's installs; the
 * same ones whatever the work. */
static double shown_by(struct world *w, double ln_work)
{
    const struct rng rng = w->rng;
    double sum = 0, weight = 0;

    w->rng = rng_of(w->o->seed ^ UINT64_C(0x540391), 0);
    for (unsigned i = 0; i < w->installs; i += SIM_TIERS) {
        const struct install *a = &w->install[i];
        double sd = hypot(SESSION_SD, SCENE_SD);
        struct seen s, without;

        play_frames(w, install_ln_ms(w, a) + sd * rng_normal(&w->rng), ln_work, a->jank,
                    w->frame_us, &s, &without);
        sum += a->per_day * (double)(s.y_e6[1] - without.y_e6[1]);
        weight += a->per_day;
    }
    w->rng = rng;
    return 1e-6 * sum / weight;
}

/* ln of what the work of a frame is multiplied by. */
static double planted_work(struct world *w)
{
    double low = 0, high = MOST_LN_WORK, wanted = log1p(w->o->effect);

    if (!w->o->shown)
        return wanted;
    while (high - low > 1e-3)
        if (shown_by(w, (low + high) / 2) < wanted)
            low = (low + high) / 2;
        else
            high = (low + high) / 2;
    return high;
}

static struct past *past_of(struct world *w, unsigned i, unsigned scene, unsigned m)
{
    return &w->slice[w->install[i].tier * SIM_SCENES + scene].past[m];
}

static struct expected control_of(const struct world *w, const struct known *k,
                                  const struct variances *v)
{
    int64_t mu = k->x.x_e6, n = k->past.n, sum = k->past.sum_e6;

    if (w->o->control == SIM_OWN)
        return expectation_own(mu, n, sum);
    if (w->o->control == SIM_SHRUNKEN)
        mu = expectation_install(mu, n, sum, v);
    return (struct expected){mu, EXPECTATION_WEIGHT};
}

/* The new build appears: what is expected of every model and install is fixed. */
static void freeze(struct world *w)
{
    for (unsigned i = 0; i < w->installs; i++)
        for (unsigned c = 0; c < SIM_SCENES * SIM_TIMES; c++) {
            struct past *p = past_of(w, i, c / SIM_TIMES, c % SIM_TIMES);
            struct known *k = &w->known[i][c / SIM_TIMES][c % SIM_TIMES];

            expectation_model(&p->model[w->install[i].model], &p->all, &p->all, &k->x.x_e6);
            variance_add(&p->sums, &k->past, k->x.x_e6);
        }
    for (unsigned i = 0; i < w->installs; i++)
        for (unsigned c = 0; c < SIM_SCENES * SIM_TIMES; c++) {
            struct past *p = past_of(w, i, c / SIM_TIMES, c % SIM_TIMES);
            struct known *k = &w->known[i][c / SIM_TIMES][c % SIM_TIMES];
            struct variances v = variance_components(&p->sums);

            k->x = control_of(w, k, &v);
        }
}

static void pair_up(const struct world *w, unsigned tier, unsigned scene, unsigned m,
                    struct paired *out)
{
    memset(out, 0, sizeof *out);
    for (unsigned i = tier; i < w->installs; i += SIM_TIERS) {
        const struct known *k = &w->known[i][scene][m];

        paired_add(out, w->install[i].group, k->n[1], k->sum_y_e6[1], k->n[0], k->sum_y_e6[0]);
    }
}

/* Janks of installs seen on both builds. */
static bool pair_up_janks(const struct world *w, unsigned tier, unsigned scene,
                          struct estimate *out)
{
    struct rates now = {0};
    int64_t installs = 0;

    for (unsigned i = tier; i < w->installs; i += SIM_TIERS) {
        const struct jank_known *k = &w->janks[i][scene];
        int64_t expected = rate_expected_own(k->frames_on[1], k->count_on[0], k->frames_on[0]);

        if (expected < 0)
            continue;
        rates_add(&now, w->install[i].group, k->count_on[1], expected);
        installs++;
    }
    if (!rates_own_change(&now, out))
        return false;
    out->n = installs;
    return true;
}

static void first(int64_t *at, bool now, int64_t sessions)
{
    if (!*at && now)
        *at = sessions;
}

static bool look_of(struct world *w, unsigned s, unsigned m, struct alert_look *look)
{
    struct slice *slice = &w->slice[s];
    struct paired pairs;
    struct rate_ratio rr;

    *look = (struct alert_look){.sessions_new = slice->controlled[1],
                                .sessions_base = slice->controlled[0],
                                .installs_new = groups_installs(groups_filled(&slice->r[0][1])),
                                .installs_base = groups_installs(groups_filled(&slice->r[0][0])),
                                .counted = m >= SIM_TIMES};
    if (look->counted) {
        if (!rates_compare(&slice->rates[0], &slice->rates[1], VERDICT_Z, &rr))
            return false;
        look->change = rr.ln_ratio;
        look->information = rr.information;
        look->has_pairs = pair_up_janks(w, s / SIM_SCENES, s % SIM_SCENES, &look->pairs);
        return true;
    }
    pair_up(w, s / SIM_SCENES, s % SIM_SCENES, m, &pairs);
    look->has_pairs = paired_mean(&pairs, &look->pairs);
    return groups_difference(&slice->r[m][1], &slice->r[m][0], &look->change);
}

static void look_at(struct world *w, unsigned s, struct sim_slice *out)
{
    struct slice *slice = &w->slice[s];
    bool enough = slice->sessions[1] >= ALERT_MIN_SESSIONS;

    out->sessions = slice->sessions[1];
    out->raw = enough ? sketch_quantile_us(&slice->frames[1], 0.9) /
                                sketch_quantile_us(&slice->frames[0], 0.9) -
                            1
                      : 0;
    first(&out->plain, out->raw > ALERT_THETA, out->sessions);
    for (unsigned m = 0; m < SIM_METRICS; m++) {
        const struct alert_rule rule = {ALERT_THETA,
                                        eprocess_ln_threshold(SIM_SLICES, SIM_METRICS, ALERT_ALPHA),
                                        m < SIM_TIMES ? EPROCESS_TAU : EPROCESS_TAU_COUNTS};
        struct alert_look look;
        struct alert_finding f;

        if (!look_of(w, s, m, &look))
            continue;
        alert_judge(&rule, &look, &slice->latch[m], &f);
        if (m < SIM_TIMES && slice->controlled[1])
            out->shown[m] = 1e-6 * (double)slice->shown_e6[m] / (double)slice->controlled[1];
        out->d[m] = look.change.mean;
        out->v[m] = look.change.var;
        first(&out->warn, f.level >= ALERT_WARN, out->sessions);
        first(&out->alert, f.level == ALERT_ALERT, out->sessions);
        first(&out->improved, f.level == ALERT_IMPROVED, out->sessions);
    }
}

bool sim_release(const struct sim_options *o, unsigned run, struct sim_release *out)
{
    struct world *w = calloc(1, sizeof *w);
    bool ok = false;

    if (!w)
        return false;
    w->o = o;
    w->rng = rng_of(o->seed, run);
    w->installs = o->installs * SIM_TIERS;
    w->install = calloc(w->installs, sizeof *w->install);
    w->known = calloc(w->installs, sizeof *w->known);
    w->janks = calloc(w->installs, sizeof *w->janks);
    w->slice = calloc(SIM_SLICES, sizeof *w->slice);
    w->frame_us = calloc((size_t)o->frames * SIM_SCENES, sizeof *w->frame_us);
    if (!w->install || !w->known || !w->janks || !w->slice || !w->frame_us)
        goto out;
    make_world(w);
    w->ln_work = planted_work(w);
    play(w, -(double)o->days_before, 0);
    freeze(w);
    *out = (struct sim_release){.work = expm1(w->ln_work)};
    for (unsigned k = 0; k < SIM_LOOKS; k++) {
        play(w, (double)DAYS_AFTER * k / SIM_LOOKS, (double)DAYS_AFTER * (k + 1) / SIM_LOOKS);
        for (unsigned s = 0; s < SIM_SLICES; s++)
            look_at(w, s, &out->slice[s]);
        if (o->watcher)
            o->watcher->looked(o->watcher->user);
    }
    ok = true;
out:
    free(w->install);
    free(w->known);
    free(w->janks);
    free(w->slice);
    free(w->frame_us);
    free(w);
    return ok;
}
