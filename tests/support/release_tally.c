#include "support/release_tally.h"

#include "stats/normal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define Z95 1.96

static const int64_t by[3] = {500, 1000, 1500};
static const char *const metric_name[SIM_METRICS] = {"P50", "P90", "mean", "janks"};
static const char *const mixes[] = {"none", "early", "slow"};
static const char *const controls[] = {"own", "shrunken", "model"};

bool release_tally_init(struct release_tally *t, unsigned most)
{
    *t = (struct release_tally){.most = most,
                                .warn_at = calloc(most, sizeof(int64_t)),
                                .alert_at = calloc(most, sizeof(int64_t))};
    return t->warn_at && t->alert_at;
}

void release_tally_fini(struct release_tally *t)
{
    free(t->warn_at);
    free(t->alert_at);
}

static void add_nothing(struct release_tally *t, const struct sim_slice *s)
{
    t->slices++;
    t->warn += s->warn > 0;
    t->alert += s->alert > 0;
    t->improved += s->improved > 0;
    t->plain += s->plain > 0;
    t->raw += s->raw;
    for (unsigned m = 0; m < SIM_METRICS; m++) {
        t->d[m] += s->d[m];
        t->d2[m] += s->d[m] * s->d[m];
        t->v[m] += s->v[m];
    }
}

void release_tally_add(struct release_tally *t, const struct sim_release *r, double effect)
{
    const struct sim_slice *hit = &r->slice[0];
    bool warned = false, alerted = false;

    for (unsigned s = fabs(effect) > 0 ? 1u : 0u; s < SIM_SLICES; s++) {
        add_nothing(t, &r->slice[s]);
        warned |= r->slice[s].warn > 0;
        alerted |= r->slice[s].alert > 0;
    }
    t->releases_warn += warned;
    t->releases_alert += alerted;
    for (unsigned k = 0; k < 3; k++) {
        t->warn_by[k] += hit->warn > 0 && hit->warn <= by[k];
        t->alert_by[k] += hit->alert > 0 && hit->alert <= by[k];
    }
    for (unsigned m = 0; m < SIM_METRICS; m++)
        t->effect[m] += hit->d[m];
    for (unsigned m = 0; m < SIM_TIMES; m++)
        t->shown[m] += hit->shown[m];
    t->work += r->work;
    t->found_plain += hit->plain > 0;
    t->sessions += (double)hit->sessions;
    t->warn_at[t->runs] = hit->warn > 0 ? hit->warn : INT64_MAX;
    t->alert_at[t->runs] = hit->alert > 0 ? hit->alert : INT64_MAX;
    t->runs++;
}

void print_share(const char *what, unsigned x, unsigned n)
{
    struct interval i = clopper_pearson(x, n, Z95);

    printf("%-34s %7.3f %%  [%.3f, %.3f]  %u of %u\n", what, 100.0 * x / n, 100 * i.low,
           100 * i.high, x, n);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void print_sessions(const char *what, int64_t *at, unsigned n)
{
    static const unsigned percent[] = {50, 90, 99};

    qsort(at, n, sizeof *at, by_size);
    printf("%-34s", what);
    for (unsigned k = 0; k < 3; k++) {
        int64_t v = at[(n - 1) * percent[k] / 100];

        if (v == INT64_MAX)
            printf("  %u %%: never", percent[k]);
        else
            printf("  %u %%: %lld", percent[k], (long long)v);
    }
    putchar('\n');
}

static void print_estimates(const struct release_tally *t)
{
    for (unsigned m = 0; m < SIM_METRICS; m++) {
        double n = t->slices, mean = t->d[m] / n;

        printf("D of %-5s on nothing: mean %+.4f, sd %.4f, root of mean V %.4f\n", metric_name[m],
               mean, sqrt(t->d2[m] / n - mean * mean), sqrt(t->v[m] / n));
    }
    printf("raw change of P90 on nothing: %+.2f %%\n", 100 * t->raw / t->slices);
}

static void print_found(struct release_tally *t, bool functions)
{
    printf("\nslice with %+.1f %% work a frame; sessions at the end: %.0f\n",
           100 * t->work / t->runs, t->sessions / t->runs);
    printf("what that does to the frames of its sessions:");
    for (unsigned m = 0; m < SIM_TIMES; m++)
        printf(" %s %+.1f %%", metric_name[m], 100 * expm1(t->shown[m] / t->runs));
    printf("\nmeasured:");
    for (unsigned m = 0; m < SIM_METRICS; m++)
        printf(" %s %+.1f %%", metric_name[m], 100 * expm1(t->effect[m] / t->runs));
    putchar('\n');
    for (unsigned k = 0; k < 3; k++) {
        char what[40];

        snprintf(what, sizeof what, "WARN or ALERT by %lld sessions", (long long)by[k]);
        print_share(what, t->warn_by[k], t->runs);
        snprintf(what, sizeof what, "ALERT by %lld sessions", (long long)by[k]);
        print_share(what, t->alert_by[k], t->runs);
    }
    print_sessions("sessions to WARN", t->warn_at, t->runs);
    print_sessions("sessions to ALERT", t->alert_at, t->runs);
    if (functions)
        print_share("plain +20 % rule, ever", t->found_plain, t->runs);
}

void release_tally_print(struct release_tally *t, const struct sim_options *o, bool functions)
{
    printf("slices in which nothing changed, %d looks each\n", SIM_LOOKS);
    print_share("ALERT", t->alert, t->slices);
    print_share("WARN or ALERT", t->warn, t->slices);
    print_share("improved", t->improved, t->slices);
    if (functions)
        print_share("plain +20 % rule", t->plain, t->slices);
    print_share("releases with an ALERT on nothing", t->releases_alert, t->runs);
    print_share("releases with a WARN on nothing", t->releases_warn, t->runs);
    if (functions)
        print_estimates(t);
    if (fabs(o->effect) > 0)
        print_found(t, functions);
}

static int index_of(const char *word, const char *const list[], int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(word, list[i]))
            return i;
    return -1;
}

bool sim_option(int c, const char *value, struct sim_options *o)
{
    int i = 0;

    switch (c) {
    case 's':
        o->seed = strtoull(value, NULL, 10);
        break;
    case 'e':
        o->effect = strtod(value, NULL);
        break;
    case 'm':
        i = index_of(value, mixes, 3);
        o->mix = (enum sim_mix)i;
        break;
    case 'c':
        i = index_of(value, controls, 3);
        o->control = (enum sim_control)i;
        break;
    case 'v':
        o->vsync = true;
        break;
    case 'S':
        o->shown = true;
        break;
    case 'd':
        o->day_sd = strtod(value, NULL);
        break;
    case 'M':
        o->model_sd = strtod(value, NULL);
        break;
    case 'i':
        o->installs = (unsigned)strtoul(value, NULL, 10);
        break;
    case 'f':
        o->frames = (unsigned)strtoul(value, NULL, 10);
        break;
    case 'b':
        o->days_before = (unsigned)strtoul(value, NULL, 10);
        break;
    default:
        return false;
    }
    return i >= 0;
}

bool sim_options_good(const struct sim_options *o)
{
    return o->installs && o->installs <= 100000 && o->frames && o->frames <= 100000 &&
           o->days_before && o->days_before <= 60 && o->model_sd >= 0 && o->day_sd >= 0 &&
           (!o->shown || (o->effect >= 0 && o->effect <= 1));
}

void sim_options_print(const struct sim_options *o, unsigned runs)
{
    printf("alerts: seed %llu, %u releases, effect %+.0f %% of %s, mix %s, control %s%s, %u days "
           "before, "
           "day sd %.2f, model sd %.2f, %u installs a tier, %u frames\n",
           (unsigned long long)o->seed, runs, 100 * o->effect, o->shown ? "P90" : "work",
           mixes[o->mix], controls[o->control], o->vsync ? ", vsync" : "", o->days_before,
           o->day_sd, o->model_sd, o->installs, o->frames);
}
