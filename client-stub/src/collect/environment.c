#include "src/collect/environment.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANDROID (1u << FW_PLATFORM_ANDROID)
#define IOS (1u << FW_PLATFORM_IOS)
#define LINUX (1u << FW_PLATFORM_LINUX)
#define MAX_PATH_BYTES 512
#define WORD_BYTES 64 /* longer than any word that is looked for in a list of mappings */
#define MAX_MAPS_BYTES (4u * 1024u * 1024u)
#define MAX_HOST_ROWS 8

static const char *const family_name[] = {"root", "debugger", "emulator", "developer",
                                          "repackaged"};

/* A check in the making: what it found goes by its own name. */
struct look {
    struct fw_environment *e;
    struct fw_reader *r;
    const struct fw_surroundings *s;
    fw_evidence_kind family;
    const char *name;
};

static void found(struct look *k, const char *detail)
{
    struct fw_environment *e = k->e;

    e->family[k->family] = true;
    if (e->n < FW_MAX_EVIDENCE)
        snprintf(e->text[e->n++], FW_EVIDENCE_BYTES, "%s.%.32s: %.48s", family_name[k->family],
                 k->name, detail);
}

static void any_path(struct look *k, const char *const *paths)
{
    char path[MAX_PATH_BYTES];

    for (; *paths; paths++) {
        snprintf(path, sizeof path, "%s%s", k->s->root, *paths);
        if (access(path, F_OK) == 0) {
            found(k, *paths);
            return;
        }
    }
}

/* The property's value if it holds one of the words; "" matches a value that is there at all. */
static void property_with(struct look *k, const char *name, const char *const *words)
{
    char value[128], detail[64];

    if (!k->s->property(name, value, sizeof value))
        return;
    for (; *words; words++)
        if (strcasestr(value, *words)) {
            snprintf(detail, sizeof detail, "%.30s=%.30s", name, value);
            found(k, detail);
            return;
        }
}

#define PATHS(...) any_path(k, (const char *const[]){__VA_ARGS__, NULL})
#define PROPERTY(name, ...) property_with(k, name, (const char *const[]){__VA_ARGS__, NULL})

/* Root. */

static void su(struct look *k)
{
    PATHS("/system/bin/su", "/system/xbin/su", "/sbin/su", "/vendor/bin/su", "/su/bin/su",
          "/data/local/xbin/su", "/data/local/bin/su");
}

static void root_manager(struct look *k)
{
    PATHS("/sbin/magisk", "/data/adb/magisk", "/data/adb/ksu", "/data/adb/ap",
          "/system/app/Superuser.apk");
}

static void test_keys(struct look *k)
{
    PROPERTY("ro.build.tags", "test-keys");
}

static void debuggable(struct look *k)
{
    PROPERTY("ro.debuggable", "1");
}

static void insecure(struct look *k)
{
    PROPERTY("ro.secure", "0");
}

static void selinux(struct look *k)
{
    int64_t enforcing;

    if (fw_read_number(k->r, k->r->sys, &enforcing, "fs/selinux/enforce") && enforcing == 0)
        found(k, "permissive");
}

static void jailbreak(struct look *k)
{
    PATHS("/Applications/Cydia.app", "/Applications/Sileo.app", "/var/jb",
          "/Library/MobileSubstrate/MobileSubstrate.dylib", "/usr/sbin/sshd", "/etc/apt");
}

/* Debuggers and what is injected. */

static void tracer(struct look *k)
{
    char text[4096], what[32];
    int64_t pid;

    if (fw_read_file(k->r, k->r->proc, text, sizeof text, "self/status") < 0 ||
        !fw_parse_field(text, "TracerPid", &pid) || pid == 0)
        return;
    snprintf(what, sizeof what, "TracerPid %" PRId64, pid);
    found(k, what);
}

static void traced(struct look *k)
{
    PROPERTY("fw.traced", "1");
}

static const char *hook_in(const char *text)
{
    static const char *const words[] = {"frida", "xposed", "libsubstrate", "libriru", "zygisk"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(text, words[i]))
            return words[i];
    return NULL;
}

/* The list of mappings is long: read block by block, each with the end of the one before. */
static void hook(struct look *k)
{
    char path[MAX_PATH_BYTES], text[8192];
    const char *word = NULL;
    size_t keep = 0, all = 0;
    ssize_t n;

    snprintf(path, sizeof path, "%s/self/maps", k->r->proc);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    while (!word && all < MAX_MAPS_BYTES && !fw_reader_late(k->r) &&
           (n = read(fd, text + keep, sizeof text - keep - 1)) > 0) {
        size_t have = keep + (size_t)n;

        all += (size_t)n;
        text[have] = 0;
        word = hook_in(text);
        keep = have < WORD_BYTES ? have : WORD_BYTES;
        memmove(text, text + have - keep, keep);
    }
    close(fd);
    if (word)
        found(k, word);
}

/* Emulators. */

static void device_node(struct look *k)
{
    PATHS("/dev/qemu_pipe", "/dev/goldfish_pipe", "/dev/vboxguest", "/system/bin/nox-prop",
          "/system/bin/microvirt-prop", "/system/lib/libc_malloc_debug_qemu.so");
}

static void processor(struct look *k)
{
    static const char *const chips[] = {"goldfish", "ranchu", "vbox86"};
    char text[8192];

    if (fw_read_file(k->r, k->r->proc, text, sizeof text, "cpuinfo") < 0)
        return;
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (strcasestr(text, chips[i])) {
            found(k, chips[i]);
            return;
        }
}

static void qemu(struct look *k)
{
    PROPERTY("ro.kernel.qemu", "1");
}

static void hardware_name(struct look *k)
{
    PROPERTY("ro.hardware", "goldfish", "ranchu", "vbox86", "ttvm", "nox");
}

static void model_name(struct look *k)
{
    PROPERTY("ro.product.model", "sdk_gphone", "emulator", "android sdk built for");
}

static void simulator(struct look *k)
{
    PROPERTY("fw.simulator", "1");
}

/* Developers. */

static void adb(struct look *k)
{
    PROPERTY("init.svc.adbd", "running");
}

static void usb(struct look *k)
{
    PROPERTY("sys.usb.config", "adb");
}

/* Installed with a profile: neither from the App Store nor by TestFlight. */
static void provision(struct look *k)
{
    char executable[MAX_PATH_BYTES], path[MAX_PATH_BYTES];

    if (!k->s->property("fw.executable", executable, sizeof executable))
        return;
    executable[strrchr(executable, '/') ? strrchr(executable, '/') - executable : 0] = 0;
    if ((size_t)snprintf(path, sizeof path, "%s%s/embedded.mobileprovision", k->s->root,
                         executable) < sizeof path &&
        access(path, F_OK) == 0)
        found(k, "embedded.mobileprovision");
}

static const struct {
    fw_evidence_kind family;
    const char *name;
    unsigned platforms;
    void (*run)(struct look *k);
} check[] = {
    {FW_EVIDENCE_ROOT, "su", ANDROID, su},
    {FW_EVIDENCE_ROOT, "manager", ANDROID, root_manager},
    {FW_EVIDENCE_ROOT, "test_keys", ANDROID, test_keys},
    {FW_EVIDENCE_ROOT, "debuggable", ANDROID, debuggable},
    {FW_EVIDENCE_ROOT, "insecure", ANDROID, insecure},
    {FW_EVIDENCE_ROOT, "selinux", ANDROID, selinux},
    {FW_EVIDENCE_ROOT, "jailbreak", IOS, jailbreak},
    {FW_EVIDENCE_DEBUGGER, "tracer", ANDROID | LINUX, tracer},
    {FW_EVIDENCE_DEBUGGER, "hook", ANDROID | LINUX, hook},
    {FW_EVIDENCE_DEBUGGER, "traced", IOS, traced},
    {FW_EVIDENCE_EMULATOR, "simulator", IOS, simulator},
    {FW_EVIDENCE_EMULATOR, "device_node", ANDROID, device_node},
    {FW_EVIDENCE_EMULATOR, "processor", ANDROID, processor},
    {FW_EVIDENCE_EMULATOR, "qemu", ANDROID, qemu},
    {FW_EVIDENCE_EMULATOR, "hardware", ANDROID, hardware_name},
    {FW_EVIDENCE_EMULATOR, "model", ANDROID, model_name},
    {FW_EVIDENCE_DEVELOPER, "adb", ANDROID, adb},
    {FW_EVIDENCE_DEVELOPER, "usb", ANDROID, usb},
    {FW_EVIDENCE_DEVELOPER, "provision", IOS, provision},
};

static void ask_game(struct look *k)
{
    fw_evidence row[MAX_HOST_ROWS] = {{FW_EVIDENCE_ROOT, NULL, NULL}};
    size_t n = k->s->ask ? k->s->ask(k->s->user, row, MAX_HOST_ROWS) : 0;

    for (size_t i = 0; i < n && i < MAX_HOST_ROWS; i++) {
        if ((unsigned)row[i].kind > FW_EVIDENCE_REPACKAGED || !row[i].check || !row[i].check[0])
            continue;
        k->family = row[i].kind;
        k->name = row[i].check;
        found(k, row[i].detail ? row[i].detail : "");
    }
}

void fw_environment_look(struct fw_environment *e, struct fw_reader *r,
                         const struct fw_surroundings *s)
{
    struct look k = {e, r, s, FW_EVIDENCE_ROOT, ""};

    *e = (struct fw_environment){0};
    for (size_t i = 0; i < sizeof check / sizeof *check; i++) {
        if (!(check[i].platforms >> s->platform & 1))
            continue;
        k.family = check[i].family;
        k.name = check[i].name;
        fw_reader_begin(r); /* each has its own 200 ms */
        check[i].run(&k);
    }
    ask_game(&k);
}
