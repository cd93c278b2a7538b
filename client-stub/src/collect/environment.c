#include "src/collect/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void found(struct fw_environment *e, bool *flag, const char *name, const char *what)
{
    *flag = true;
    if (e->n < FW_MAX_EVIDENCE)
        snprintf(e->text[e->n++], FW_EVIDENCE_BYTES, "%s: %.70s", name, what);
}

/* Only on Android: on a computer /bin/su says nothing. */
static void look_for_su(struct fw_environment *e, const char *root)
{
    static const char *const paths[] = {
        "/system/bin/su", "/system/xbin/su",     "/sbin/su",           "/vendor/bin/su",
        "/su/bin/su",     "/data/local/xbin/su", "/data/local/bin/su", "/system/app/Superuser.apk",
        "/sbin/magisk",   "/data/adb/magisk"};
    char path[512];

    snprintf(path, sizeof path, "%s/system/build.prop", root);
    if (access(path, F_OK) != 0)
        return;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(path, sizeof path, "%s%s", root, paths[i]);
        if (access(path, F_OK) == 0)
            found(e, &e->rooted, "rooted", paths[i]);
    }
}

static void look_for_debugger(struct fw_environment *e, struct fw_reader *r)
{
    char text[4096], what[32];
    int64_t tracer;

    if (fw_read_file(r, r->proc, text, sizeof text, "self/status") < 0 ||
        !fw_parse_field(text, "TracerPid", &tracer) || tracer == 0)
        return;
    snprintf(what, sizeof what, "TracerPid %" PRId64, tracer);
    found(e, &e->debugger, "debugger", what);
}

static void look_for_emulator(struct fw_environment *e, struct fw_reader *r, const char *root)
{
    static const char *const paths[] = {"/dev/qemu_pipe", "/dev/goldfish_pipe", "/dev/vboxguest",
                                        "/system/bin/nox-prop", "/system/bin/microvirt-prop"};
    static const char *const chips[] = {"goldfish", "ranchu", "vbox86"};
    char path[512], text[8192];

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(path, sizeof path, "%s%s", root, paths[i]);
        if (access(path, F_OK) == 0)
            found(e, &e->emulator, "emulator", paths[i]);
    }
    if (fw_read_file(r, r->proc, text, sizeof text, "cpuinfo") < 0)
        return;
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (strcasestr(text, chips[i]))
            found(e, &e->emulator, "emulator", chips[i]);
}

void fw_environment_look(struct fw_environment *e, struct fw_reader *r, const char *root)
{
    *e = (struct fw_environment){0};
    fw_reader_begin(r);
    look_for_debugger(e, r);
    look_for_su(e, root);
    fw_reader_begin(r);
    look_for_emulator(e, r, root);
}
