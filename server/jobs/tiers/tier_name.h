/*
 * tier_name: how people call tiers. Tier 1 is the fastest: of three "high", "mid", "low"; of more
 * those between are "mid-1" …. 0 is "untiered". Stateless.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TIER_NAME_BYTES 16

void tier_name(int64_t tier, int64_t tiers, char out[TIER_NAME_BYTES]);
/* The same name, or the number; "all" is -1. False if it is none. */
bool tier_parse(const char *text, int64_t tiers, int64_t *out) MUST_CHECK;
