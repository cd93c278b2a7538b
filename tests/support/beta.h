/*
 * beta: the jank reports of a beta that never was, from a seed: a game in C++, Java and Kotlin, C#,
 * Rust and Lua on two architectures and two builds, with causes that are known. What makes stacks
 * of one cause differ, and of different ones look alike, is what compilers, unwinders and programs
 * do: lines, sites and addresses differ from sample to sample; each architecture inlines other
 * functions; some libraries have no records of it, so their inlined frames are missing; calls in
 * tail position leave no caller; parameters differ with the width of size_t, closures are numbered
 * anew by each build, parts of functions are cloned, hashes change; recursion has any depth and is
 * met anywhere in its cycle; what a cause was doing in the system, in helpers of the engine,
 * differs; causes share callers, share callees, and one differs from another by a function between
 * the same two; a mapping allows several names; unwinding stops early; some stacks are met once.
 * Beside them: the system's own stacks, threads that were held, stacks nobody can read.
 */
#pragma once
#include "base/arena.h"
#include "stacks/family.h"

#include <stdint.h>

#define BETA_FRAMES 96

struct beta; /* heap */

struct beta_jank {
    int cause;              /* < 0: no cause of the app; beyond the causes: met once */
    enum stack_class class; /* what it is, by truth */
    bool late;              /* its symbols come later: beta_raw() is what is known at first */
    unsigned steps;         /* of `step` */
    uint32_t duration_ms;
    uint64_t session, install;
    int64_t build;
    const char *scene, *step[16];
    struct stack_frame frames[BETA_FRAMES];
    size_t n;
};

struct beta *beta_new(uint64_t seed, unsigned causes, uint64_t installs);
void beta_free(struct beta *b);
const struct rules *beta_rules(const struct beta *b);
/* Jank number `i`, any order; texts live in mem. */
bool beta_jank(const struct beta *b, uint64_t i, struct arena *mem, struct beta_jank *out);
/* The same stack before its symbols: a frame an address. */
void beta_raw(const struct beta_jank *with, struct beta_jank *out);
