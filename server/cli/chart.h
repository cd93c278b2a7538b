/*
 * chart: a session's timeline drawn in text: one column a piece of time. Works on timeline JSON as
 * docs/session-json.md has it; what is missing there is left out of the drawing.
 */
#pragma once
#include "term.h"

#include <jansson.h>

/* Columns that the drawing has for time on this terminal: ask the server for as many buckets. */
unsigned chart_columns(const struct term *t);

void chart_draw(const struct term *t, const json_t *timeline);
