/*
 * fix_sim: a made-up fix of one jank family, judged through the real verdicts. Installs differ in
 * how often they jank (gamma), play for different times and are looked at by the schedule of looks,
 * one install after the other. Equal options and run: equal labels.
 */
#pragma once
#include "stats/verdict.h"

#include <stdint.h>

struct fix_options {
    uint64_t seed;
    double rr;         /* true ratio of rates, new to old */
    double per_hour;   /* rate of the old build */
    double dispersion; /* variance of an install's own rate, mean 1; 0: all alike */
    unsigned installs; /* of each build at most */
};

struct fix_labels {
    unsigned looks; /* 0..VERDICT_LOOKS */
    enum verdict_label label[VERDICT_LOOKS];
    double phi; /* at the last look */
};
void fix_sim(const struct fix_options *o, unsigned run, struct fix_labels *out);

/* Whether a label claims what is not so. */
bool fix_wrong(enum verdict_label label, double rr);
