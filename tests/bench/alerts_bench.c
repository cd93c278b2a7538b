/*
 * alerts_bench: how often the alerts cry wolf and how soon they find what is there, on made-up
 * releases (support/release_sim.h), how often verdicts are wrong (support/fix_sim.h), how steady
 * tiers are (support/tier_sim.h). Called by alerts.sh, which tells the options. Prints shares with
 * Clopper-Pearson bounds at 95 %.
 */
#include "support/fix_sim.h"
#include "support/release_sim.h"
#include "support/tier_sim.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tally {
    unsigned runs, slices;
    unsigned warn, alert, improved, plain, releases_warn, releases_alert; /* on nothing */
    unsigned warn_by[3], alert_by[3], found_plain;                        /* slice 0 */
    double d[SIM_METRICS], d2[SIM_METRICS], v[SIM_METRICS], raw, sessions, effect[SIM_METRICS];
    int64_t *warn_at, *alert_at; /* of slice 0; runs of them */
};
static const int64_t by[3] = {500, 1000, 1500};

static void add_nothing(struct tally *t, const struct sim_slice *s)
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

static void add_release(struct tally *t, const struct sim_release *r, double effect)
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
    t->found_plain += hit->plain > 0;
    t->sessions += (double)hit->sessions;
    t->warn_at[t->runs] = hit->warn > 0 ? hit->warn : INT64_MAX;
    t->alert_at[t->runs] = hit->alert > 0 ? hit->alert : INT64_MAX;
    t->runs++;
}

static void print_share(const char *what, unsigned x, unsigned n)
{
    struct interval i = clopper_pearson(x, n, 1.96);

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

static void print_estimates(const struct tally *t)
{
    static const char *const name[SIM_METRICS] = {"P50", "P90", "mean", "janks"};

    for (unsigned m = 0; m < SIM_METRICS; m++) {
        double n = t->slices, mean = t->d[m] / n;

        printf("D of %-5s on nothing: mean %+.4f, sd %.4f, root of mean V %.4f\n", name[m], mean,
               sqrt(t->d2[m] / n - mean * mean), sqrt(t->v[m] / n));
    }
    printf("raw change of P90 on nothing: %+.2f %%\n", 100 * t->raw / t->slices);
}

static void print_found(const struct sim_options *o, struct tally *t)
{
    static const char *const name[SIM_METRICS] = {"P50", "P90", "mean", "janks"};

    printf("\nslice with %+.0f %% work a frame; sessions at the end: %.0f; measured:",
           100 * o->effect, t->sessions / t->runs);
    for (unsigned m = 0; m < SIM_METRICS; m++)
        printf(" %s %+.1f %%", name[m], 100 * expm1(t->effect[m] / t->runs));
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
    print_share("plain +20 % rule, ever", t->found_plain, t->runs);
}

static int simulate_releases(const struct sim_options *o, unsigned runs)
{
    struct tally t = {.warn_at = calloc(runs, sizeof(int64_t)),
                      .alert_at = calloc(runs, sizeof(int64_t))};
    int status = 0;

    for (unsigned run = 0; !status && run < runs; run++) {
        struct sim_release r;

        if (!t.warn_at || !t.alert_at || !sim_release(o, run, &r)) {
            fputs("alerts: out of memory\n", stderr);
            status = 1;
            break;
        }
        add_release(&t, &r, o->effect);
    }
    if (!status) {
        printf("slices in which nothing changed, %d looks each\n", SIM_LOOKS);
        print_share("ALERT", t.alert, t.slices);
        print_share("WARN or ALERT", t.warn, t.slices);
        print_share("improved", t.improved, t.slices);
        print_share("plain +20 % rule", t.plain, t.slices);
        print_share("releases with an ALERT on nothing", t.releases_alert, t.runs);
        print_share("releases with a WARN on nothing", t.releases_warn, t.runs);
        print_estimates(&t);
        if (fabs(o->effect) > 0)
            print_found(o, &t);
    }
    free(t.warn_at);
    free(t.alert_at);
    return status;
}

static void simulate_fixes(uint64_t seed, unsigned runs)
{
    static const double rr[] = {0, 0.1, 0.2, 0.5, 1, 2}, dispersion[] = {0, 1, 4};

    for (unsigned d = 0; d < 3; d++)
        for (unsigned k = 0; k < sizeof rr / sizeof *rr; k++) {
            const struct fix_options o = {seed, rr[k], 0.5, dispersion[d], 4000};
            unsigned wrong = 0, last[VERDICT_TOO_LITTLE + 1] = {0};
            double phi = 0;

            for (unsigned run = 0; run < runs; run++) {
                struct fix_labels l;
                bool bad = false;

                fix_sim(&o, run, &l);
                for (unsigned i = 0; i < l.looks; i++)
                    bad |= fix_wrong(l.label[i], o.rr);
                wrong += bad;
                last[l.looks ? l.label[l.looks - 1] : VERDICT_TOO_LITTLE]++;
                phi += l.phi / runs;
            }

            struct interval i = clopper_pearson(wrong, runs, 1.96);

            printf("RR %.1f, dispersion %.0f (phi %.2f): wrong at any look %.2f %% [%.2f, %.2f]; "
                   "last:",
                   o.rr, o.dispersion, phi, 100.0 * wrong / runs, 100 * i.low, 100 * i.high);
            for (int v = 0; v <= VERDICT_TOO_LITTLE; v++)
                if (last[v])
                    printf(" %s %.1f %%", verdict_text((enum verdict_label)v),
                           100.0 * last[v] / runs);
            putchar('\n');
        }
}

struct tier_tally {
    double ari, direct, explained, k_ari, k_explained;
};

/* Tiers of two weeks, cuts frozen in the first: with hysteresis, and by the cuts alone. */
static bool simulate_tiers_once(uint64_t seed, struct arena *mem, struct tier_tally *t)
{
    static struct tier_sim week[2];
    unsigned ours[2][TIER_SIM_MODELS], direct[TIER_SIM_MODELS], theirs[2][TIER_SIM_MODELS];
    struct tier_score score[2][TIER_SIM_MODELS];
    struct tier_fit fit;
    struct tier_cuts cuts;
    struct err err;

    for (unsigned k = 0; k < 2; k++) {
        tier_sim(seed, k, 4000, &week[k]);
        if (!tier_fit(week[k].device, TIER_SIM_MODELS, mem, &fit, &err))
            return false;
        for (unsigned m = 0; m < TIER_SIM_MODELS; m++)
            tier_score(&fit, &week[k].device[m], &score[k][m]);
        tier_sim_k_means(week[k].device, TIER_SIM_MODELS, 3, seed + k, theirs[k]);
    }
    if (!tier_place_cuts(score[0], TIER_SIM_MODELS, 3, mem, &cuts, &err))
        return false;
    for (unsigned m = 0; m < TIER_SIM_MODELS; m++) {
        ours[0][m] = tier_of(&cuts, score[0][m].capability);
        ours[1][m] = tier_assign(&cuts, &score[1][m], ours[0][m]);
        direct[m] = tier_of(&cuts, score[1][m].capability);
    }
    t->ari += adjusted_rand(ours[0], ours[1], TIER_SIM_MODELS);
    t->direct += adjusted_rand(ours[0], direct, TIER_SIM_MODELS);
    t->explained += tier_sim_explained(&week[1], ours[1]);
    t->k_ari += adjusted_rand(theirs[0], theirs[1], TIER_SIM_MODELS);
    t->k_explained += tier_sim_explained(&week[1], theirs[1]);
    return true;
}

static int simulate_tiers(uint64_t seed, unsigned runs)
{
    struct tier_tally t = {0};

    printf("tiers: seed %llu, %u worlds of %d models\n", (unsigned long long)seed, runs,
           TIER_SIM_MODELS);
    for (unsigned run = 0; run < runs; run++) {
        struct arena *mem = arena_new(8u << 20);
        bool ok = mem && simulate_tiers_once(seed + 10 * run, mem, &t);

        arena_free(mem);
        if (!ok) {
            fputs("alerts: tiers could not be made\n", stderr);
            return 1;
        }
    }
    printf(
        "adjusted Rand index, one week to the next: %.3f (by the cuts alone %.3f), k-means %.3f\n",
        t.ari / runs, t.direct / runs, t.k_ari / runs);
    printf("variance of capability between tiers, by sessions: %.3f, k-means %.3f\n",
           t.explained / runs, t.k_explained / runs);
    return 0;
}

static int usage(void)
{
    fputs(
        "usage: alerts_bench [--seed S] [--runs N] [--effect E] [--mix none|early|slow] [--vsync]\n"
        "    [--control own|shrunken|model] [--before DAYS] [--day-sd D] [--installs N] [--frames "
        "N] | "
        "--verdicts\n",
        stderr);
    return 2;
}

static int index_of(const char *word, const char *const list[], int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(word, list[i]))
            return i;
    return -1;
}

int main(int argc, char **argv)
{
    static const char *const mixes[] = {"none", "early", "slow"}, *const controls[] = {
                                                                      "own", "shrunken", "model"};
    static const struct option options[] = {{"seed", 1, 0, 's'},
                                            {"runs", 1, 0, 'n'},
                                            {"effect", 1, 0, 'e'},
                                            {"mix", 1, 0, 'm'},
                                            {"vsync", 0, 0, 'v'},
                                            {"day-sd", 1, 0, 'd'},
                                            {"installs", 1, 0, 'i'},
                                            {"frames", 1, 0, 'f'},
                                            {"control", 1, 0, 'c'},
                                            {"before", 1, 0, 'b'},
                                            {"verdicts", 0, 0, 'V'},
                                            {"tiers", 0, 0, 'T'},
                                            {0, 0, 0, 0}};
    struct sim_options o = sim_defaults();
    unsigned runs = 100;
    bool verdicts = false, tiers = false;
    int c, i;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (c) {
        case 's':
            o.seed = strtoull(optarg, NULL, 10);
            break;
        case 'n':
            runs = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'e':
            o.effect = strtod(optarg, NULL);
            break;
        case 'm':
            if ((i = index_of(optarg, mixes, 3)) < 0)
                return usage();
            o.mix = (enum sim_mix)i;
            break;
        case 'c':
            if ((i = index_of(optarg, controls, 3)) < 0)
                return usage();
            o.control = (enum sim_control)i;
            break;
        case 'v':
            o.vsync = true;
            break;
        case 'd':
            o.day_sd = strtod(optarg, NULL);
            break;
        case 'i':
            o.installs = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'f':
            o.frames = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'b':
            o.days_before = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'V':
            verdicts = true;
            break;
        case 'T':
            tiers = true;
            break;
        default:
            return usage();
        }
    if (optind < argc || !runs || runs > 1000000 || !o.installs || o.installs > 100000 ||
        !o.frames || !o.days_before || o.days_before > 60)
        return usage();
    if (tiers)
        return simulate_tiers(o.seed, runs);
    if (verdicts) {
        printf("verdicts: seed %llu, %u fixes each\n", (unsigned long long)o.seed, runs);
        simulate_fixes(o.seed, runs);
        return 0;
    }
    printf("alerts: seed %llu, %u releases, effect %+.0f %%, mix %s, control %s%s, %u days before, "
           "day sd %.2f, %u "
           "installs a tier, %u frames\n",
           (unsigned long long)o.seed, runs, 100 * o.effect, mixes[o.mix], controls[o.control],
           o.vsync ? ", vsync" : "", o.days_before, o.day_sd, o.installs, o.frames);
    return simulate_releases(&o, runs);
}
