/*
 * eprocess: evidence that may be looked at after every session. The e-value of H0: D <= d0 is a
 * likelihood ratio of the one-sided normal mixture with scale tau, where D is an estimated change
 * of means of logarithms and V its variance:
 *
 *   m = (D - d0) tau / sqrt(V (V + tau^2))
 *   ln e = ln 2 + 1/2 ln(V / (V + tau^2)) + m^2 / 2 + ln Phi(m)
 *
 * Under H0 the chance that e ever reaches A is at most 1/A (Ville). Pure.
 */
#pragma once
#include "stats/normal.h"

#define EPROCESS_TAU 0.08        /* logarithms of times and memory */
#define EPROCESS_TAU_COUNTS 0.25 /* rates of events, which vary more */

/* V > 0, tau > 0; V not above 0 or not a number gives -inf: no evidence. */
double eprocess_ln_e(double d, double v, double d0, double tau);

/* ln A, A = slices x metrics / alpha: all slices and metrics of a build looked at together alarm
 * wrongly with a chance of alpha at most. Both counts are taken as at least 1. */
double eprocess_ln_threshold(unsigned slices, unsigned metrics, double alpha);

/* Anytime interval of D: holds at every look together with chance 1 - alpha. Half width
 * sqrt(V (V + tau^2) / tau^2 (2 ln(1/alpha) + ln((V + tau^2) / V))). */
struct interval eprocess_interval(double d, double v, double alpha, double tau);
