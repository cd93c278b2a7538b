#include "server/jobs/tiers/tier_name.h"

#include <stdio.h>
#include <string.h>

void tier_name(int64_t tier, int64_t tiers, char out[TIER_NAME_BYTES])
{
    if (tier < 0)
        snprintf(out, TIER_NAME_BYTES, "all");
    else if (tier == 0)
        snprintf(out, TIER_NAME_BYTES, "untiered");
    else if (tier == 1)
        snprintf(out, TIER_NAME_BYTES, "high");
    else if (tier == tiers)
        snprintf(out, TIER_NAME_BYTES, "low");
    else if (tiers == 3)
        snprintf(out, TIER_NAME_BYTES, "mid");
    else
        snprintf(out, TIER_NAME_BYTES, "mid-%d", (int)(tier - 1));
}

bool tier_parse(const char *text, int64_t tiers, int64_t *out)
{
    if (text[0] >= '0' && text[0] <= '9' && !text[1]) {
        *out = text[0] - '0';
        return true;
    }
    for (int64_t t = -1; t <= tiers; t++) {
        char name[TIER_NAME_BYTES];

        tier_name(t, tiers, name);
        if (strcmp(name, text) == 0) {
            *out = t;
            return true;
        }
    }
    return false;
}
