/*
 * alerts_bench: how often the alerts cry wolf and how soon they find what is there, on made-up
 * releases (support/release_sim.h), how often verdicts are wrong (support/fix_sim.h), how steady
 * tiers are (support/tier_sim.h). Called by alerts.sh, which tells the options. Prints shares with
 * Clopper-Pearson bounds at 95 %.
 */
#include "support/fix_sim.h"
#include "support/release_tally.h"
#include "support/tier_sim.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int simulate_releases(const struct sim_options *o, unsigned runs)
{
    struct release_tally t;
    struct sim_release r;
    bool ok = release_tally_init(&t, runs);

    for (unsigned run = 0; ok && run < runs; run++) {
        ok = sim_release(o, run, &r);
        if (ok)
            release_tally_add(&t, &r, o->effect);
    }
    if (ok)
        release_tally_print(&t, o, true);
    else
        fputs("alerts: out of memory\n", stderr);
    release_tally_fini(&t);
    return ok ? 0 : 1;
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
    fputs("usage: alerts_bench [--seed S] [--runs N] [--effect E] [--mix none|early|slow] "
          "[--vsync] [--shown]\n"
          "    [--control own|shrunken|model] [--before DAYS] [--day-sd D] [--model-sd D]\n"
          "    [--installs N] [--frames N] | --verdicts | --tiers\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {SIM_OPTIONS,
                                            {"runs", 1, 0, 'n'},
                                            {"verdicts", 0, 0, 'V'},
                                            {"tiers", 0, 0, 'T'},
                                            {0, 0, 0, 0}};
    struct sim_options o = sim_defaults();
    unsigned runs = 100;
    bool verdicts = false, tiers = false;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (c == 'n')
            runs = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 'V')
            verdicts = true;
        else if (c == 'T')
            tiers = true;
        else if (!sim_option(c, optarg, &o))
            return usage();
    if (optind < argc || !runs || runs > 1000000 || !sim_options_good(&o))
        return usage();
    if (tiers)
        return simulate_tiers(o.seed, runs);
    if (verdicts) {
        printf("verdicts: seed %llu, %u fixes each\n", (unsigned long long)o.seed, runs);
        simulate_fixes(o.seed, runs);
        return 0;
    }
    sim_options_print(&o, runs);
    return simulate_releases(&o, runs);
}
