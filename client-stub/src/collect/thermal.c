#include "src/collect/collectors.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ZONE "class/thermal/thermal_zone%d/"
#define MAX_ZONES 128
#define MISSING_IN_A_ROW 8 /* numbers have gaps; after so many there are no more */
#define READS_UNTIL_PROBE 15
#define COLDEST_MC (-40000)
#define HOTTEST_MC 125000

/* Best first. What phones call the zone near the hand, then the SoC. */
static const char *const skin_names[] = {"skin",    "quiet", "xo_therm", "xo-therm",    "ap_therm",
                                         "shell",   "soc",   "tsens",    "mtktscpu",    "cpu-0-0",
                                         "cputhrm", "cpu",   "exynos",   "x86_pkg_temp"};
#define N_SKIN_NAMES (sizeof skin_names / sizeof *skin_names)

int64_t fw_plausible_unit(int64_t raw)
{
    static const int64_t unit[] = {1000, 100, 1};

    for (size_t i = 0; i < 3; i++)
        if (raw >= 20000 / unit[i] && raw <= 90000 / unit[i])
            return unit[i];
    return 0;
}

/* The place of the first known name inside `type`; N_SKIN_NAMES: none. */
static size_t rank_of(const char *type)
{
    char lower[FW_MAX_ZONE_NAME];
    size_t n = 0;

    for (; type[n] && n < sizeof lower - 1; n++)
        lower[n] = (char)tolower((unsigned char)type[n]);
    lower[n] = 0;
    if (strstr(lower, "batt"))
        return N_SKIN_NAMES + 1; /* the battery's own */
    for (size_t i = 0; i < N_SKIN_NAMES; i++)
        if (strstr(lower, skin_names[i]))
            return i;
    return N_SKIN_NAMES;
}

/* Once known, a zone may be colder or hotter than what proved its unit; what no phone survives is
 * the driver's way of saying that it does not know. */
static int64_t zone_millicelsius(struct fw_reader *r, const struct fw_zone *zone)
{
    int64_t raw;

    return fw_read_number(r, r->sys, &raw, ZONE "temp", zone->number) &&
                   raw >= COLDEST_MC / zone->unit && raw <= HOTTEST_MC / zone->unit
               ? raw * zone->unit
               : FW_ABSENT;
}

/* False only when no zone could be read at all. */
static bool probe(struct fw_thermal *t, struct fw_reader *r)
{
    size_t best = N_SKIN_NAMES + 1;
    bool readable = false, any = false;
    int missing = 0;

    t->skin.number = t->battery.number = -1;
    for (int zone = 0; zone < MAX_ZONES && missing < MISSING_IN_A_ROW; zone++) {
        char type[FW_MAX_ZONE_NAME];
        int64_t raw;

        if (fw_read_file(r, r->sys, type, sizeof type, ZONE "type", zone) < 0)
            type[0] = 0;
        if (r->slow)
            return false;

        bool has_temp = fw_read_number(r, r->sys, &raw, ZONE "temp", zone);
        if (r->slow)
            return false;
        missing = type[0] || has_temp ? 0 : missing + 1;
        any |= !missing;
        readable |= has_temp;

        int64_t unit = has_temp ? fw_plausible_unit(raw) : 0;
        if (!unit)
            continue;

        size_t rank = rank_of(type);
        if (rank > N_SKIN_NAMES && t->battery.number < 0)
            t->battery = (struct fw_zone){zone, unit};
        if (rank < best) {
            best = rank;
            t->skin = (struct fw_zone){zone, unit};
        }
    }
    if (!any)
        fw_reader_fail(r, "no thermal zone");
    return readable;
}

/* A device that is cold at start has no plausible zone yet: it is asked again, rarely. */
static bool probe_when_due(struct fw_thermal *t, struct fw_reader *r)
{
    if (t->probed && (t->skin.number >= 0 || t->battery.number >= 0))
        return true;
    if (t->probed && t->until_probe) {
        t->until_probe--;
        return true;
    }
    if (!probe(t, r))
        return false;
    t->probed = true;
    t->until_probe = READS_UNTIL_PROBE;
    return true;
}

bool fw_thermal_read(struct fw_thermal *t, struct fw_reader *r, struct fw_wire_hardware *out)
{
    if (!probe_when_due(t, r))
        return false;
    if (t->skin.number >= 0)
        out->skin_millicelsius = zone_millicelsius(r, &t->skin);
    if (t->battery.number >= 0 && !r->slow)
        out->battery_millicelsius = zone_millicelsius(r, &t->battery);
    /* A zone with a value that cannot be reads absent but did not fail; a vanished one did. */
    return t->skin.number < 0 || out->skin_millicelsius != FW_ABSENT || !r->reason[0];
}
