#include "src/collect/collectors.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define SUPPLY "class/power_supply/"
#define MAX_SUPPLIES 32

/* The folder whose type is Battery: "battery" on most phones, "bms", "BAT0" elsewhere. */
static bool find_supply(struct fw_power *p, struct fw_reader *r)
{
    char path[512], type[32];
    struct dirent *entry;

    if ((size_t)snprintf(path, sizeof path, "%s/" SUPPLY, r->sys) >= sizeof path)
        return fw_reader_fail(r, "path too long");
    DIR *d = opendir(path);
    if (!d)
        return fw_reader_fail(r, "no power supply");
    for (int i = 0; i < MAX_SUPPLIES && !p->supply[0] && (entry = readdir(d)) && !r->slow; i++) {
        size_t n = strlen(entry->d_name);

        if (entry->d_name[0] == '.' || n >= sizeof p->supply)
            continue;
        if (fw_read_file(r, r->sys, type, sizeof type, SUPPLY "%s/type", entry->d_name) > 0 &&
            !strncmp(type, "Battery", 7))
            memcpy(p->supply, entry->d_name, n + 1);
    }
    closedir(d);
    return p->supply[0] || fw_reader_fail(r, "no battery");
}

/* Tenth degrees are the documented unit; what no battery reaches in them is in thousandths. */
static int64_t battery_millicelsius(int64_t raw)
{
    if (raw >= -400 && raw <= 1000)
        return raw * 100;
    return raw >= -40000 && raw <= 100000 ? raw : FW_ABSENT;
}

bool fw_power_read(struct fw_power *p, struct fw_reader *r, struct fw_wire_hardware *out)
{
    char status[32];
    int64_t value;
    bool any = false;

    if (!p->supply[0] && !find_supply(p, r))
        return false;
    if (fw_read_number(r, r->sys, &value, SUPPLY "%s/temp", p->supply)) {
        any = true;
        if (battery_millicelsius(value) != FW_ABSENT)
            out->battery_millicelsius = battery_millicelsius(value);
    }
    if (!r->slow && fw_read_number(r, r->sys, &value, SUPPLY "%s/capacity", p->supply) &&
        value >= 0 && value <= 100) {
        any = true;
        out->battery_permille = value * 10;
    }
    if (!r->slow &&
        fw_read_file(r, r->sys, status, sizeof status, SUPPLY "%s/status", p->supply) > 0) {
        any = true;
        out->charging = !strncmp(status, "Charging", 8) || !strncmp(status, "Full", 4);
    }
    return any;
}
