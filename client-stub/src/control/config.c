#include "src/control/config.h"

#include "src/collect/collectors.h"
#include "src/control/json.h"

#include <stdio.h>
#include <string.h>

#define KEY_BYTES 32

void fw_config_init(struct fw_config *c)
{
    *c = (struct fw_config){
        .enabled = true,
        .frames = true,
        .hardware = true,
        .stacks = true,
        .steps = true,
        .positions = true,
        .hardware_period_ms = 5000,
        .slice_ms = 30000,
        .jank_stack_ms = 100,
        .config_period_s = 3600,
        .all_scenes = true,
        .daily_bytes = 2097152,
        .monthly_bytes = 20971520,
        .wifi_only = true,
    };
}

static int64_t clamped(struct fw_json *j, int64_t low, int64_t high, int64_t otherwise)
{
    int64_t value = otherwise;

    fw_json_i64(j, &value);
    return value < low ? low : value > high ? high : value;
}

/* A collector by its name. */
static void read_collector(struct fw_json *j, struct fw_config *c, const char *key)
{
    bool wanted = true;

    for (enum fw_collector i = 0; i < FW_COLLECTORS; i++) {
        if (strcmp(key, fw_collector_name(i)) != 0)
            continue;
        fw_json_bool(j, &wanted);
        c->collectors_off = (c->collectors_off & ~(1u << i)) | (wanted ? 0 : 1u << i);
        return;
    }
    fw_json_skip(j);
}

static void read_metrics(struct fw_json *j, struct fw_config *c)
{
    char key[KEY_BYTES];

    if (fw_json_peek(j) != FW_JSON_OBJECT) {
        fw_json_skip(j);
        return;
    }
    fw_json_enter(j);
    while (fw_json_key(j, key, sizeof key)) {
        bool *metric = !strcmp(key, "frames")      ? &c->frames
                       : !strcmp(key, "hardware")  ? &c->hardware
                       : !strcmp(key, "stacks")    ? &c->stacks
                       : !strcmp(key, "steps")     ? &c->steps
                       : !strcmp(key, "positions") ? &c->positions
                                                   : NULL;
        if (metric)
            fw_json_bool(j, metric);
        else
            read_collector(j, c, key);
    }
}

static void read_upload(struct fw_json *j, struct fw_config *c)
{
    char key[KEY_BYTES];

    if (fw_json_peek(j) != FW_JSON_OBJECT) {
        fw_json_skip(j);
        return;
    }
    fw_json_enter(j);
    while (fw_json_key(j, key, sizeof key)) {
        if (!strcmp(key, "daily_bytes"))
            c->daily_bytes = (uint64_t)clamped(j, 0, 1073741824, (int64_t)c->daily_bytes);
        else if (!strcmp(key, "monthly_bytes"))
            c->monthly_bytes = (uint64_t)clamped(j, 0, 34359738368, (int64_t)c->monthly_bytes);
        else if (!strcmp(key, "wifi_only"))
            fw_json_bool(j, &c->wifi_only);
        else
            fw_json_skip(j);
    }
}

/* No usable pattern at all means the default, every scene. */
static void read_scenes(struct fw_json *j, struct fw_config *c)
{
    char pattern[FW_PATTERN_BYTES];
    bool all = false;

    if (fw_json_peek(j) != FW_JSON_ARRAY) {
        fw_json_skip(j);
        return;
    }
    c->n_scenes = 0;
    fw_json_enter(j);
    while (fw_json_item(j)) {
        if (!fw_json_text(j, pattern, sizeof pattern) || !pattern[0] ||
            c->n_scenes == FW_MAX_SCENES)
            continue;
        all |= !strcmp(pattern, "*");
        memcpy(c->scene[c->n_scenes++], pattern, sizeof pattern);
    }
    c->all_scenes = all || !c->n_scenes;
}

static void read_field(struct fw_json *j, struct fw_config *c, const char *key)
{
    if (!strcmp(key, "version"))
        c->version = clamped(j, 0, INT64_MAX, c->version);
    else if (!strcmp(key, "enabled"))
        fw_json_bool(j, &c->enabled);
    else if (!strcmp(key, "metrics"))
        read_metrics(j, c);
    else if (!strcmp(key, "hardware_period_ms"))
        c->hardware_period_ms = (uint32_t)clamped(j, 1000, 60000, c->hardware_period_ms);
    else if (!strcmp(key, "slice_ms"))
        c->slice_ms = (uint32_t)clamped(j, 5000, 300000, c->slice_ms);
    else if (!strcmp(key, "jank_stack_ms"))
        c->jank_stack_ms = (uint32_t)clamped(j, 50, 5000, c->jank_stack_ms);
    else if (!strcmp(key, "config_period_s"))
        c->config_period_s = (uint32_t)clamped(j, 60, 86400, c->config_period_s);
    else if (!strcmp(key, "scenes"))
        read_scenes(j, c);
    else if (!strcmp(key, "upload"))
        read_upload(j, c);
    else
        fw_json_skip(j);
}

bool fw_config_parse(struct fw_config *c, const void *json, size_t n)
{
    struct fw_config read = *c;
    struct fw_json j;
    char key[KEY_BYTES];

    fw_json_begin(&j, json, n);
    if (fw_json_peek(&j) != FW_JSON_OBJECT)
        return false;
    fw_json_enter(&j);
    while (fw_json_key(&j, key, sizeof key))
        read_field(&j, &read, key);
    if (!fw_json_done(&j))
        return false;
    *c = read;
    return true;
}

bool fw_config_wants_scene(const struct fw_config *c, const char *mode, const char *map)
{
    char name[FW_PATTERN_BYTES + 1] = "";

    if (c->all_scenes)
        return true;
    if (*mode || *map)
        snprintf(name, sizeof name, "%s/%s", mode, map);
    for (size_t i = 0; i < c->n_scenes; i++) {
        const char *pattern = c->scene[i];
        size_t n = strlen(pattern);

        if (pattern[n - 1] == '*' ? !strncmp(name, pattern, n - 1) && name[0]
                                  : !strcmp(name, pattern))
            return true;
    }
    return false;
}
