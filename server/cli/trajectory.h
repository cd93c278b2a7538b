/*
 * trajectory: what one session went through, told on a terminal: facts, percentiles, janks by the
 * three definitions, scenes, the drawn timeline, the worst janks with their stacks, the last steps.
 */
#pragma once
#include "term.h"

#include <jansson.h>

/* The answers of GET /v1/sessions/{id}, …/timeline and …/janks; what is missing is not told. */
struct trajectory {
    const json_t *summary, *timeline, *janks;
    unsigned worst; /* janks told one by one */
};

void trajectory_print(const struct term *t, const struct trajectory *x);
