#include "src/collect/device.h"

#include "platform/platform.h"
#include "src/collect/collectors.h"
#include "src/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

void fw_device_told(struct fw_device_facts *d, const fw_device *told)
{
    *d = (struct fw_device_facts){
        .screen_width_px = told->screen_width_px,
        .screen_height_px = told->screen_height_px,
        .refresh_millihertz = told->refresh_millihertz,
    };
    fw_copy_text(d->manufacturer, sizeof d->manufacturer, told->manufacturer);
    fw_copy_text(d->model, sizeof d->model, told->model);
    fw_copy_text(d->soc, sizeof d->soc, told->soc);
    fw_copy_text(d->gpu, sizeof d->gpu, told->gpu);
    fw_copy_text(d->os_version, sizeof d->os_version, told->os_version);
}

static void first_line(char *text)
{
    text[strcspn(text, "\r\n")] = 0;
}

static void from_file(struct fw_reader *r, char *out, size_t size, const char *root,
                      const char *path)
{
    char text[256];

    if (out[0] || fw_read_file(r, root, text, sizeof text, "%s", path) <= 0)
        return;
    first_line(text);
    fw_copy_text(out, size, text);
}

static void from_property(char *out, size_t size, const char *name)
{
    char text[FW_NAME_BYTES + 1];

    if (!out[0] && fw_platform_property(name, text, sizeof text))
        fw_copy_text(out, size, text);
}

/* The value of "NAME<blanks>: VALUE" in /proc/cpuinfo. */
static void from_cpuinfo(struct fw_reader *r, char *out, size_t size, const char *name)
{
    char text[4096];

    if (out[0] || fw_read_file(r, r->proc, text, sizeof text, "cpuinfo") <= 0)
        return;
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, strlen(name)) != 0)
            continue;

        char *value = line + strcspn(line, ":\n");
        if (*value == ':') {
            value += 1 + strspn(value + 1, " \t");
            first_line(value);
            fw_copy_text(out, size, value);
        }
        return;
    }
}

static void find_ram(struct fw_device_facts *d, struct fw_reader *r)
{
    char text[256];
    int64_t kb = (int64_t)(fw_platform_ram_bytes() / 1024);

    if (kb > 0)
        d->ram_mb = (uint32_t)(kb / 1024);
    else if (fw_read_file(r, r->proc, text, sizeof text, "meminfo") > 0 &&
             fw_parse_field(text, "MemTotal", &kb) && kb > 0)
        d->ram_mb = (uint32_t)(kb / 1024);
}

static void find_os(struct fw_device_facts *d)
{
    struct utsname u;

    if (!d->os_version[0] && uname(&u) == 0)
        snprintf(d->os_version, sizeof d->os_version, "%.30s %.80s", u.sysname, u.release);
}

void fw_device_look(struct fw_device_facts *d, struct fw_reader *r, unsigned cores)
{
    fw_reader_begin(r);
    from_property(d->manufacturer, sizeof d->manufacturer, "ro.product.manufacturer");
    from_property(d->model, sizeof d->model, "ro.product.model");
    from_property(d->soc, sizeof d->soc, "ro.soc.model");
    from_property(d->soc, sizeof d->soc, "ro.board.platform");
    from_property(d->os_version, sizeof d->os_version, "ro.build.version.release");
    from_file(r, d->manufacturer, sizeof d->manufacturer, r->sys, "class/dmi/id/sys_vendor");
    from_file(r, d->model, sizeof d->model, r->sys, "class/dmi/id/product_name");
    from_cpuinfo(r, d->soc, sizeof d->soc, "Hardware");
    from_cpuinfo(r, d->soc, sizeof d->soc, "model name");
    find_os(d);
    find_ram(d, r);
    d->n_clusters = fw_freq_clusters(r, cores, d->cluster, FW_MAX_CLUSTERS);
}
