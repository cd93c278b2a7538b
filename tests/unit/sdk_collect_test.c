/* Collectors on trees shaped like phones' /proc and /sys. */
#include "src/clock.h"
#include "src/collect/collectors.h"
#include "src/collect/device.h"
#include "src/collect/environment.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 120000 /* a machine may be busy with other things */
#define SLOW_MS 1000       /* what a hung file costs here, and no other one takes */

struct tree {
    char root[64], proc[80], sys[80];
    struct fw_collectors c;
    struct fw_wire_hardware h;
};

static int set_up(void **state)
{
    struct tree *t = calloc(1, sizeof *t);

    snprintf(t->root, sizeof t->root, "/tmp/sdk_collect_XXXXXX");
    assert_non_null(mkdtemp(t->root));
    snprintf(t->proc, sizeof t->proc, "%s/proc", t->root);
    snprintf(t->sys, sizeof t->sys, "%s/sys", t->root);
    *state = t;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    struct tree *t = *state;

    nftw(t->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(t);
    return 0;
}

static void make_parents(char *path)
{
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0700);
            *p = '/';
        }
}

/* name: "proc/stat", "sys/…"; NULL text: a file that opens but cannot be read. */
static void given(struct tree *t, const char *name, const char *text)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", t->root, name);
    make_parents(path);
    if (!text) {
        remove(path);
        assert_int_equal(mkdir(path, 0700), 0);
        return;
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void given_no(struct tree *t, const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", t->root, name);
    remove(path);
}

/* A file that never has anything to read: what a hung driver looks like. */
static void given_blocking(struct tree *t, const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", t->root, name);
    make_parents(path);
    remove(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void given_process(struct tree *t, int utime, int stime, int cutime, int cstime, int threads)
{
    char text[256];

    snprintf(text, sizeof text,
             "4242 (my (odd) game) S 1 2 3 4 5 6 7 8 9 10 %d %d %d %d 20 0 %d 0 12345 1 2\n", utime,
             stime, cutime, cstime, threads);
    given(t, "proc/self/stat", text);
}

static void given_phone(struct tree *t)
{
    char name[128];

    given(t, "proc/stat", "cpu  100 10 50 800 20 5 5 0 0 0\ncpu0 1 2 3\n");
    given_process(t, 40, 10, 5, 5, 37);
    given(t, "proc/self/status",
          "Name:\tgame\nTracerPid:\t0\nVmRSS:\t  500000 kB\nRssAnon:\t  300000 kB\n"
          "VmSwap:\t   20000 kB\nThreads:\t37\n");
    given(t, "proc/self/smaps_rollup", "00400000-7fff [rollup]\nRss: 500000 kB\nPss: 420000 kB\n");
    given(t, "proc/self/task/77/schedstat", "9000000 3000000 55\n");
    given(t, "sys/devices/system/cpu/possible", "0-7\n");
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i);
        given(t, name, i < 4 ? "1785600\n" : "2841600\n");
        snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", i);
        given(t, name, i < 4 ? "1785600\n" : i < 7 ? "2419200\n" : "2841600\n");
    }
    given(t, "sys/class/thermal/thermal_zone0/type", "pm8150b-ibat-lvl0\n");
    given(t, "sys/class/thermal/thermal_zone0/temp", "0\n");
    given(t, "sys/class/thermal/thermal_zone1/type", "cpu-0-0-usr\n");
    given(t, "sys/class/thermal/thermal_zone1/temp", "55100\n");
    given(t, "sys/class/thermal/thermal_zone2/type", "battery\n");
    given(t, "sys/class/thermal/thermal_zone2/temp", "31000\n");
    given(t, "sys/class/thermal/thermal_zone4/type", "quiet-therm-adc\n");
    given(t, "sys/class/thermal/thermal_zone4/temp", "39250\n");
    given(t, "sys/class/power_supply/usb/type", "USB\n");
    given(t, "sys/class/power_supply/battery/type", "Battery\n");
    given(t, "sys/class/power_supply/battery/temp", "312\n");
    given(t, "sys/class/power_supply/battery/capacity", "87\n");
    given(t, "sys/class/power_supply/battery/status", "Discharging\n");
}

static unsigned heap_asked;

static bool heap_of_90_mb(int64_t *kb)
{
    heap_asked++;
    *kb = 90000;
    return true;
}

static bool no_heap(int64_t *kb)
{
    (void)kb;
    return false;
}

static void start(struct tree *t)
{
    fw_collectors_init(&t->c, t->proc, t->sys, 77);
    t->c.reader.slow_ms = PATIENCE_MS;
    t->c.heap.ask = heap_of_90_mb;
    heap_asked = 0;
}

static bool collect(struct tree *t)
{
    return fw_collect(&t->c, fw_now_ns(), false, &t->h);
}

static void a_phone_is_read_whole(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    assert_true(collect(t));
    assert_true(t->h.process_cpu_permille == FW_ABSENT); /* a difference needs two looks */
    assert_int_equal(t->h.n_cores, 8);
    assert_int_equal(t->h.core_khz[0], 1785600);
    assert_int_equal(t->h.core_khz[7], 2841600);
    assert_int_equal(t->h.rss_kb, 500000);
    assert_int_equal(t->h.rss_anon_kb, 300000);
    assert_int_equal(t->h.swap_kb, 20000);
    assert_int_equal(t->h.pss_kb, 420000);
    assert_int_equal(t->h.skin_millicelsius, 39250);
    assert_int_equal(t->h.battery_millicelsius, 31200);
    assert_int_equal(t->h.battery_permille, 870);
    assert_int_equal(t->h.charging, 0);
    assert_int_equal(t->h.thread_count, 37);
    assert_int_equal(t->h.thread_peak, 37);
    assert_int_equal(t->h.main_cpu_us, 0);
    assert_int_equal(t->h.native_heap_kb, 90000);
}

static void the_peak_of_threads_is_that_of_all_looks_since_the_last_recorded_one(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    collect(t);
    given_process(t, 40, 10, 5, 5, 400);
    fw_collect(&t->c, fw_now_ns(), true, &t->h);
    assert_true(t->h.thread_peak == FW_ABSENT);
    given_process(t, 40, 10, 5, 5, 40);
    collect(t);
    assert_int_equal(t->h.thread_count, 40);
    assert_int_equal(t->h.thread_peak, 400);
    collect(t);
    assert_int_equal(t->h.thread_peak, 40);
}

static void malloc_is_asked_rarely_and_never_while_a_frame_is_long(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    t->c.quiet = false;
    collect(t);
    assert_int_equal(heap_asked, 0);
    assert_true(t->h.native_heap_kb == FW_ABSENT);
    t->c.quiet = true;
    for (int i = 0; i < 5; i++)
        collect(t);
    assert_int_equal(heap_asked, 1);
    assert_false(t->c.health[FW_HEAP].off);
}

static void free_storage_is_that_of_the_sessions_folder(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    t->c.storage.dir = open(t->root, O_RDONLY | O_DIRECTORY);
    collect(t);
    close(t->c.storage.dir);
    assert_true(t->h.storage_free_mb >= 0);
}

static void tell(void *user, fw_host_values *v)
{
    assert_int_equal(v->size, sizeof *v);
    assert_int_equal(v->java_heap_kb, -1);
    v->pss_kb = 111;
    v->java_heap_kb = 222;
    v->charging = 1;
    ++*(unsigned *)user;
}

static void what_the_host_says_goes_before_what_the_files_said(void **state)
{
    struct tree *t = *state;
    unsigned told = 0;

    given_phone(t);
    start(t);
    t->c.host = (struct fw_host){tell, &told};
    collect(t);
    assert_int_equal(told, 1);
    assert_int_equal(t->h.pss_kb, 111);
    assert_int_equal(t->h.java_heap_kb, 222);
    assert_int_equal(t->h.charging, 1);
    assert_int_equal(t->h.battery_permille, 870); /* it did not say: the file's */
    assert_true(t->h.thermal_status == FW_ABSENT);
    fw_collect(&t->c, fw_now_ns(), true, &t->h);
    assert_int_equal(told, 1);
}

static void a_collector_that_is_not_wanted_is_not_run(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    t->c.unwanted = 1u << FW_MEMORY | 1u << FW_THERMAL;
    collect(t);
    assert_true(t->h.rss_kb == FW_ABSENT && t->h.skin_millicelsius == FW_ABSENT);
    assert_int_equal(t->h.n_cores, 8);
    assert_int_equal(t->c.health[FW_MEMORY].looks, 0);
}

static void each_collector_counts_what_it_costs(void **state)
{
    struct tree *t = *state;
    struct fw_wire_collector_cost cost[FW_COLLECTORS];

    given_phone(t);
    given_blocking(t, "sys/class/power_supply/battery/temp");
    start(t);
    t->c.reader.slow_ms = SLOW_MS;
    fw_collect(&t->c, fw_now_ns(), true, &t->h);
    collect(t);
    assert_int_equal(fw_collectors_cost(&t->c, cost), FW_COLLECTORS);
    assert_string_equal(cost[FW_CPU].name, "cpu");
    assert_int_equal(cost[FW_CPU].looks, 2);
    assert_int_equal(cost[FW_POWER].looks, 1);
    assert_true(cost[FW_POWER].max_us >= (SLOW_MS - 1) * 1000);
    assert_true(cost[FW_POWER].us >= cost[FW_POWER].max_us);
}

/* A game's own folder on a phone that lets an application read next to nothing. */
static void a_phone_that_denies_nearly_everything_gives_what_is_left(void **state)
{
    static const char *const denied[] = {"proc/stat",
                                         "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
                                         "sys/class/thermal/thermal_zone0/temp",
                                         "sys/class/power_supply/battery/temp",
                                         "sys/class/power_supply/battery/capacity",
                                         "sys/class/power_supply/battery/status"};
    struct tree *t = *state;

    given_process(t, 40, 10, 5, 5, 37);
    given(t, "proc/self/status", "VmRSS:\t 5 kB\n");
    given(t, "sys/class/power_supply/battery/type", "Battery\n");
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        given(t, denied[i], NULL);
    start(t);
    for (int i = 0; i < FW_MAX_FAILURES + 1; i++)
        collect(t);
    assert_int_equal(t->h.rss_kb, 5);
    assert_int_equal(t->h.thread_count, 37);
    assert_true(t->h.total_cpu_permille == FW_ABSENT);
    assert_true(t->c.health[FW_FREQ].off && t->c.health[FW_THERMAL].off);
    assert_false(t->c.health[FW_MEMORY].off || t->c.health[FW_CPU].off);
}

static void a_zone_that_vanishes_switches_off_only_its_collector(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    collect(t);
    assert_int_equal(t->h.skin_millicelsius, 39250);
    given_no(t, "sys/class/thermal/thermal_zone4/temp");
    for (int i = 0; i < FW_MAX_FAILURES; i++)
        collect(t);
    assert_true(t->h.skin_millicelsius == FW_ABSENT);
    assert_true(t->c.health[FW_THERMAL].off);
    assert_string_equal(t->c.health[FW_THERMAL].reason, "temp: No such file or directory");
    assert_int_equal(t->h.n_cores, 8);
}

static void cpu_shares_follow_the_formula(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    collect(t);
    /* user + 30, system + 10, irq + 5, softirq + 5: active 50; idle + 120, iowait + 30: total 200.
     * steal and guest do not count. Process: 20 + 4 + 4 + 2 = 30. */
    given(t, "proc/stat", "cpu  130 10 60 920 50 10 10 999 999 999\n");
    given_process(t, 60, 14, 9, 7, 38);
    given(t, "proc/self/task/77/schedstat", "9500000 3700000 60\n");
    collect(t);
    assert_int_equal(t->h.total_cpu_permille, 250);
    assert_int_equal(t->h.process_cpu_permille, 150);
    assert_int_equal(t->h.main_cpu_us, 500);
    assert_int_equal(t->h.main_wait_us, 700);
    assert_true(t->h.pss_kb == FW_ABSENT); /* asked for once a minute */
}

static void counters_that_run_backwards_give_no_value(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    collect(t);
    given(t, "proc/stat", "cpu  1 1 1 1 1 1 1\n");
    collect(t);
    assert_true(t->h.total_cpu_permille == FW_ABSENT);
    assert_true(t->h.process_cpu_permille == FW_ABSENT);
}

static void where_proc_stat_is_hidden_time_stands_in_for_the_total(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    given(t, "proc/stat", NULL);
    start(t);
    uint64_t begin = fw_now_ns();
    collect(t);
    t->c.cpu.total -= 800; /* as if 8 cores had had 100 jiffies each meanwhile */
    given_process(t, 240, 10, 5, 5, 37);
    collect(t);
    uint64_t jiffies = (fw_now_ns() - begin) / 10000000 + 1; /* each core has really had */
    assert_in_range(t->h.process_cpu_permille, 1000 * 200 / (800 + 8 * jiffies), 250);
    assert_true(t->h.total_cpu_permille == FW_ABSENT);
    assert_false(t->c.health[FW_CPU].off);
}

static void cores_that_are_off_line_are_0_and_no_core_at_all_is_absent(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    given_no(t, "sys/devices/system/cpu/cpu6/cpufreq/scaling_cur_freq");
    given(t, "sys/devices/system/cpu/cpu7/cpufreq/scaling_cur_freq", "<unsupported>\n");
    start(t);
    collect(t);
    assert_int_equal(t->h.n_cores, 8);
    assert_int_equal(t->h.core_khz[5], 2841600);
    assert_int_equal(t->h.core_khz[6], 0);
    assert_int_equal(t->h.core_khz[7], 0);
    for (int i = 0; i < 6; i++) {
        char name[128];

        snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i);
        given(t, name, NULL);
    }
    collect(t);
    assert_int_equal(t->h.n_cores, 0);
}

static void a_reading_that_makes_sense_tells_its_unit(void **state)
{
    (void)state;
    assert_int_equal(fw_plausible_unit(41), 1000);
    assert_int_equal(fw_plausible_unit(415), 100);
    assert_int_equal(fw_plausible_unit(41500), 1);
    assert_int_equal(fw_plausible_unit(0), 0);
    assert_int_equal(fw_plausible_unit(19), 0);
    assert_int_equal(fw_plausible_unit(91), 0);
    assert_int_equal(fw_plausible_unit(-273000), 0);
    assert_int_equal(fw_plausible_unit(INT64_MAX), 0);
}

/* What is read of the skin zone, in tenth degrees; -9999 absent. */
static int64_t skin_at(struct tree *t, const char *raw)
{
    given(t, "sys/class/thermal/thermal_zone0/temp", raw);
    collect(t);
    return t->h.skin_millicelsius == FW_ABSENT ? -9999 : t->h.skin_millicelsius / 100;
}

static void a_zone_that_grows_hotter_or_colder_than_at_the_probe_is_still_read(void **state)
{
    struct tree *t = *state;

    given(t, "sys/class/thermal/thermal_zone0/type", "soc_max\n");
    given(t, "sys/class/thermal/thermal_zone0/temp", "45000\n");
    start(t);
    assert_int_equal(skin_at(t, "45000\n"), 450);
    assert_int_equal(skin_at(t, "90500\n"), 905);
    assert_int_equal(skin_at(t, "97000\n"), 970);
    assert_int_equal(skin_at(t, "19500\n"), 195);
    assert_int_equal(skin_at(t, "-5000\n"), -50);
    assert_int_equal(skin_at(t, "450\n"), 4); /* the unit stays */
    assert_int_equal(skin_at(t, "-273000\n"), -9999);
    assert_int_equal(skin_at(t, "126000\n"), -9999);
    assert_false(t->c.health[FW_THERMAL].off);
}

static void a_battery_is_in_tenth_degrees_however_cold_it_is(void **state)
{
    static const struct {
        const char *raw;
        int64_t millicelsius;
    } cases[] = {{"25\n", 2500},     {"52\n", 5200},     {"85\n", 8500},
                 {"-50\n", -5000},   {"0\n", 0},         {"312\n", 31200},
                 {"1000\n", 100000}, {"31200\n", 31200}, {"999999\n", -1}};
    struct tree *t = *state;

    given(t, "sys/class/power_supply/battery/type", "Battery\n");
    given(t, "sys/class/power_supply/battery/capacity", "87\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        given(t, "sys/class/power_supply/battery/temp", cases[i].raw);
        start(t);
        collect(t);
        assert_int_equal(t->h.battery_millicelsius == FW_ABSENT ? -1 : t->h.battery_millicelsius,
                         cases[i].millicelsius);
    }
}

static void a_phone_in_whole_degrees_with_unnamed_zones_is_probed(void **state)
{
    struct tree *t = *state;

    given(t, "sys/class/thermal/thermal_zone0/temp", "-40\n");
    given(t, "sys/class/thermal/thermal_zone1/type", "mtktsbattery\n");
    given(t, "sys/class/thermal/thermal_zone1/temp", "30\n");
    given(t, "sys/class/thermal/thermal_zone2/type", "some-sensor\n");
    given(t, "sys/class/thermal/thermal_zone2/temp", "127\n");
    given(t, "sys/class/thermal/thermal_zone3/type", "other-sensor\n");
    given(t, "sys/class/thermal/thermal_zone3/temp", "44\n");
    start(t);
    collect(t);
    assert_int_equal(t->h.skin_millicelsius, 44000);
    assert_int_equal(t->h.battery_millicelsius, 30000);
}

static void a_cold_phone_is_asked_again_when_it_has_warmed_up(void **state)
{
    struct tree *t = *state;

    given(t, "sys/class/thermal/thermal_zone0/type", "skin\n");
    given(t, "sys/class/thermal/thermal_zone0/temp", "12000\n");
    start(t);
    collect(t);
    assert_true(t->h.skin_millicelsius == FW_ABSENT);
    assert_int_equal(t->c.health[FW_THERMAL].failures, 0);
    given(t, "sys/class/thermal/thermal_zone0/temp", "35000\n");
    for (int i = 0; i < 20 && t->h.skin_millicelsius == FW_ABSENT; i++)
        collect(t);
    assert_int_equal(t->h.skin_millicelsius, 35000);
}

static void an_empty_phone_switches_every_collector_off_and_says_why(void **state)
{
    struct tree *t = *state;
    struct fw_wire_collector_off off[FW_COLLECTORS];

    start(t);
    t->c.heap.ask = no_heap;
    for (int i = 0; i < FW_MAX_FAILURES; i++) {
        assert_int_equal(fw_collectors_off(&t->c, off), 0);
        assert_true(collect(t));
    }
    assert_int_equal(fw_collectors_off(&t->c, off), FW_HEAP + 1); /* the rest reads no file */
    assert_string_equal(off[0].name, "cpu");
    assert_string_equal(off[0].reason, "stat: No such file or directory");
    assert_string_equal(off[FW_THERMAL].reason, "no thermal zone");
    assert_int_equal(off[0].failures, FW_MAX_FAILURES);
    collect(t);
    assert_int_equal(t->c.health[FW_CPU].failures, FW_MAX_FAILURES); /* not asked any more */
}

static void a_collector_that_recovers_starts_counting_anew(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    for (int round = 0; round < 3; round++) {
        given(t, "proc/self/status", NULL);
        for (int i = 0; i < FW_MAX_FAILURES - 1; i++)
            collect(t);
        given_no(t, "proc/self/status");
        given(t, "proc/self/status", "VmRSS:\t 7 kB\n");
        collect(t);
        assert_int_equal(t->h.rss_kb, 7);
        given_no(t, "proc/self/status");
    }
    assert_false(t->c.health[FW_MEMORY].off);
}

static void a_file_that_blocks_costs_its_time_and_three_close_the_window(void **state)
{
    struct tree *t = *state;
    uint64_t begin = 0;

    given_phone(t);
    given_blocking(t, "proc/self/status");
    start(t);
    t->c.reader.slow_ms = SLOW_MS;
    for (int i = 0; i < FW_MAX_SLOW; i++) {
        begin = fw_now_ns();
        assert_true(collect(t));
        assert_true((fw_now_ns() - begin) / 1000000 >= SLOW_MS - 1);
        assert_int_equal(t->h.core_khz[0], 1785600); /* what was read before stands */
        assert_true(t->h.rss_kb == FW_ABSENT);
    }
    t->c.reader.slow_ms = PATIENCE_MS;
    assert_false(fw_collect(&t->c, begin + SLOW_MS * 1000000ull, false, &t->h));
    assert_false(fw_collect(&t->c, begin + 29000000000ull, false, &t->h));
    given_no(t, "proc/self/status");
    given(t, "proc/self/status", "VmRSS:\t 7 kB\n");
    assert_true(fw_collect(&t->c, fw_now_ns() + 31000000000ull, false, &t->h));
    assert_int_equal(t->h.rss_kb, 7);
    assert_int_equal(t->c.given_up, 5);
    assert_false(t->c.health[FW_MEMORY].off); /* it has recovered */
}

static void a_slow_pss_costs_no_other_value_and_is_asked_for_less_often(void **state)
{
    struct tree *t = *state;
    uint64_t begin = fw_now_ns();

    given_phone(t);
    given_blocking(t, "proc/self/smaps_rollup");
    start(t);
    t->c.reader.slow_ms = SLOW_MS;
    assert_true(collect(t));
    assert_int_equal(t->c.given_up, 1);
    assert_int_equal(t->c.health[FW_MEMORY].failures, 1);
    assert_true(t->h.pss_kb == FW_ABSENT);
    assert_int_equal(t->h.rss_kb, 500000);
    assert_int_equal(t->h.skin_millicelsius, 39250);
    assert_int_equal(t->h.battery_permille, 870);
    assert_int_equal(t->h.thread_count, 37);
    assert_true(t->c.memory.next_pss_ns >= begin + 120000000000ull);

    t->c.reader.slow_ms = PATIENCE_MS;
    t->c.memory.next_pss_ns = fw_now_ns() + 3600000000000ull; /* however busy the machine is */
    for (int i = 0; i < 4; i++)
        assert_true(collect(t));
    assert_int_equal(t->c.given_up, 1);
    assert_int_equal(t->c.health[FW_MEMORY].in_a_row, 0);
}

static void a_collector_that_is_always_slow_is_switched_off(void **state)
{
    struct tree *t = *state;
    uint64_t now = fw_now_ns();

    given_phone(t);
    given_blocking(t, "sys/class/thermal/thermal_zone0/type");
    start(t);
    t->c.reader.slow_ms = SLOW_MS;
    for (int i = 0; i < FW_MAX_FAILURES; i++) {
        now += 31000000000ull;
        assert_false(t->c.health[FW_THERMAL].off);
        assert_true(fw_collect(&t->c, now, false, &t->h));
        assert_int_equal(t->h.thread_count, 37);
    }
    assert_true(t->c.health[FW_THERMAL].off);
    assert_string_equal(t->c.health[FW_THERMAL].reason, "type: not ready");
}

static void three_slow_collectors_end_a_look(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    given_blocking(t, "proc/self/stat"); /* CPU, and threads */
    given_blocking(t, "proc/self/status");
    given_blocking(t, "sys/class/thermal/thermal_zone0/type");
    start(t);
    t->c.reader.slow_ms = SLOW_MS;
    assert_true(collect(t));
    assert_int_equal(t->c.given_up, 3);
    assert_int_equal(t->c.health[FW_POWER].looks, 0);
    assert_int_equal(t->h.n_cores, 8);
}

static void a_light_look_skips_what_a_jank_does_not_need(void **state)
{
    struct tree *t = *state;

    given_phone(t);
    start(t);
    assert_true(fw_collect(&t->c, fw_now_ns(), true, &t->h));
    assert_int_equal(t->h.skin_millicelsius, 39250);
    assert_int_equal(t->h.n_cores, 8);
    assert_true(t->h.thread_count == FW_ABSENT);
}

static void garbage_in_every_file_is_survived(void **state)
{
    static const char *const garbage[] = {
        "",  "\n",   ")",      "cpu ",   "99999999999999999999999999",
        "-", "x) S", "VmRSS:", "cpu  1", "\xff\xfe\n\n\n:::"};
    struct tree *t = *state;
    struct fw_wire_collector_off off[FW_COLLECTORS];

    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        given_phone(t);
        given(t, "proc/stat", garbage[i]);
        given(t, "proc/self/stat", garbage[i]);
        given(t, "proc/self/status", garbage[i]);
        given(t, "proc/self/smaps_rollup", garbage[i]);
        given(t, "proc/self/task/77/schedstat", garbage[i]);
        given(t, "sys/devices/system/cpu/possible", garbage[i]);
        given(t, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", garbage[i]);
        given(t, "sys/class/thermal/thermal_zone4/temp", garbage[i]);
        given(t, "sys/class/power_supply/battery/temp", garbage[i]);
        start(t);
        for (int k = 0; k < 7; k++)
            collect(t);
        assert_true(t->h.rss_kb == FW_ABSENT);
        assert_in_range(fw_collectors_off(&t->c, off), 2, FW_COLLECTORS);
    }
}

static void this_system_is_read(void **state)
{
    struct tree *t = *state;

    fw_collectors_init(&t->c, "/proc", "/sys", getpid());
    t->c.reader.slow_ms = PATIENCE_MS;
    assert_true(fw_collect(&t->c, fw_now_ns(), false, &t->h));
    assert_in_range(t->h.rss_kb, 500, 10000000);
    assert_in_range(t->h.thread_count, 1, 100);
    assert_true(t->h.main_cpu_us >= 0);
}

/* Device and environment. */

static void the_device_is_what_the_game_says_then_what_the_system_tells(void **state)
{
    struct tree *t = *state;
    struct fw_device_facts d;
    fw_device told = {.model = "X1", .screen_width_px = 1080};

    given_phone(t);
    given(t, "proc/meminfo", "MemTotal:        7864320 kB\nMemFree: 1 kB\n");
    given(t, "proc/cpuinfo", "processor\t: 0\nHardware\t: Acme SM8550\n");
    given(t, "sys/class/dmi/id/sys_vendor", "Acme Ltd\n");
    start(t);
    fw_device_told(&d, &told);
    fw_device_look(&d, &t->c.reader, 8);
    assert_string_equal(d.model, "X1");
    assert_string_equal(d.manufacturer, "Acme Ltd");
    assert_string_equal(d.soc, "Acme SM8550");
    assert_int_equal(d.ram_mb, 7680);
    assert_int_equal(d.n_clusters, 3);
    assert_int_equal(d.cluster[0].cores, 4);
    assert_int_equal(d.cluster[0].max_khz, 1785600);
    assert_int_equal(d.cluster[2].cores, 1);
    assert_int_equal(d.cluster[2].max_khz, 2841600);
    assert_non_null(strstr(d.os_version, "Linux"));
}

static bool no_property(const char *name, char *out, size_t size)
{
    (void)name, (void)out, (void)size;
    return false;
}

static bool rooted_emulators_property(const char *name, char *out, size_t size)
{
    static const char *const properties[][2] = {{"ro.build.tags", "test-keys"},
                                                {"ro.debuggable", "1"},
                                                {"ro.secure", "0"},
                                                {"ro.kernel.qemu", "1"},
                                                {"ro.hardware", "ranchu"},
                                                {"ro.product.model", "sdk_gphone64_arm64"},
                                                {"init.svc.adbd", "running"},
                                                {"sys.usb.config", "mtp,adb"}};

    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (!strcmp(name, properties[i][0])) {
            snprintf(out, size, "%s", properties[i][1]);
            return true;
        }
    return false;
}

static void assert_evidence(const struct fw_environment *e, const char *line)
{
    for (size_t i = 0; i < e->n; i++)
        if (!strcmp(e->text[i], line))
            return;
    fail_msg("no evidence \"%s\"", line);
}

static void look_around(struct tree *t, struct fw_surroundings s, struct fw_environment *e)
{
    struct fw_reader r;

    fw_reader_init(&r, t->proc, t->sys);
    r.slow_ms = PATIENCE_MS;
    s.root = t->root;
    fw_environment_look(e, &r, &s);
}

static void an_honest_phone_gives_no_evidence(void **state)
{
    struct tree *t = *state;
    struct fw_environment e;

    given_phone(t);
    given(t, "proc/self/maps", "7000-8000 r-xp 0 0 0 /data/app/game/lib/arm64/libgame.so\n");
    given(t, "proc/cpuinfo", "Hardware : Qualcomm SM8550\n");
    given(t, "sys/fs/selinux/enforce", "1\n");
    look_around(t, (struct fw_surroundings){NULL, FW_PLATFORM_ANDROID, no_property, NULL, NULL},
                &e);
    assert_int_equal(e.n, 0);
    given(t, "system/bin/su", ""); /* on a computer that says nothing */
    look_around(t, (struct fw_surroundings){NULL, FW_PLATFORM_LINUX, no_property, NULL, NULL}, &e);
    assert_int_equal(e.n, 0);
}

static void evidence_names_each_check_that_spoke(void **state)
{
    struct tree *t = *state;
    struct fw_environment e;
    char maps[20000];

    given_phone(t);
    given(t, "proc/self/status", "Name: x\nTracerPid:\t4711\n");
    given(t, "proc/cpuinfo", "Hardware : Goldfish\n");
    given(t, "system/xbin/su", "");
    given(t, "data/adb/magisk", "");
    given(t, "dev/qemu_pipe", "");
    given(t, "sys/fs/selinux/enforce", "0");
    memset(maps, 'x', sizeof maps); /* the word lies across two blocks */
    memcpy(maps + 8188, "FRIDA-agent", 11);
    maps[sizeof maps - 1] = 0;
    given(t, "proc/self/maps", maps);
    look_around(
        t,
        (struct fw_surroundings){NULL, FW_PLATFORM_ANDROID, rooted_emulators_property, NULL, NULL},
        &e);
    for (size_t i = 0; i <= FW_EVIDENCE_DEVELOPER; i++)
        assert_true(e.family[i]);
    assert_false(e.family[FW_EVIDENCE_REPACKAGED]);
    assert_int_equal(e.n, 15);
    assert_evidence(&e, "root.su: /system/xbin/su");
    assert_evidence(&e, "root.manager: /data/adb/magisk");
    assert_evidence(&e, "root.test_keys: ro.build.tags=test-keys");
    assert_evidence(&e, "root.selinux: permissive");
    assert_evidence(&e, "debugger.tracer: TracerPid 4711");
    assert_evidence(&e, "debugger.hook: frida");
    assert_evidence(&e, "emulator.device_node: /dev/qemu_pipe");
    assert_evidence(&e, "emulator.processor: goldfish");
    assert_evidence(&e, "developer.usb: sys.usb.config=mtp,adb");
}

static void a_jailbreak_leaves_paths(void **state)
{
    struct tree *t = *state;
    struct fw_environment e;

    given(t, "var/jb", "");
    look_around(t, (struct fw_surroundings){NULL, FW_PLATFORM_IOS, no_property, NULL, NULL}, &e);
    assert_int_equal(e.n, 1);
    assert_string_equal(e.text[0], "root.jailbreak: /var/jb");
}

static bool property_under_xcode(const char *name, char *out, size_t size)
{
    static const char *const properties[][2] = {
        {"fw.traced", "1"}, {"fw.simulator", "1"}, {"fw.executable", "/bundle/Game.app/Game"}};

    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (!strcmp(name, properties[i][0])) {
            snprintf(out, size, "%s", properties[i][1]);
            return true;
        }
    return false;
}

static void xcode_and_the_simulator_leave_evidence_on_ios(void **state)
{
    const struct fw_surroundings s = {NULL, FW_PLATFORM_IOS, property_under_xcode, NULL, NULL};
    struct tree *t = *state;
    struct fw_environment e;

    given(t, "bundle/Game.app/Game", "");
    look_around(t, s, &e);
    assert_int_equal(e.n, 2);
    assert_evidence(&e, "debugger.traced: fw.traced=1");
    assert_evidence(&e, "emulator.simulator: fw.simulator=1");
    given(t, "bundle/Game.app/embedded.mobileprovision", "");
    look_around(t, s, &e);
    assert_int_equal(e.n, 3);
    assert_evidence(&e, "developer.provision: embedded.mobileprovision");
    assert_true(e.family[FW_EVIDENCE_DEVELOPER]);
    assert_false(e.family[FW_EVIDENCE_ROOT] || e.family[FW_EVIDENCE_REPACKAGED]);
    look_around(t, (struct fw_surroundings){NULL, FW_PLATFORM_IOS, no_property, NULL, NULL}, &e);
    assert_int_equal(e.n, 0);
}

static size_t know(void *user, fw_evidence *out, size_t max)
{
    assert_int_equal(max, 8);
    out[0] = (fw_evidence){FW_EVIDENCE_REPACKAGED, "signature", user};
    out[1] = (fw_evidence){FW_EVIDENCE_DEVELOPER, "settings", NULL};
    out[2] = (fw_evidence){FW_EVIDENCE_ROOT, NULL, "nameless"};
    out[3] = (fw_evidence){(fw_evidence_kind)99, "x", "y"};
    return 5;
}

static void the_game_adds_what_only_it_can_know(void **state)
{
    struct tree *t = *state;
    struct fw_environment e;
    char digest[200];

    memset(digest, 'd', sizeof digest - 1);
    digest[sizeof digest - 1] = 0;
    look_around(t, (struct fw_surroundings){NULL, FW_PLATFORM_LINUX, no_property, know, digest},
                &e);
    assert_int_equal(e.n, 2);
    assert_int_equal(strlen(e.text[0]), strlen("repackaged.signature: ") + 48);
    assert_string_equal(e.text[1], "developer.settings: ");
    assert_true(e.family[FW_EVIDENCE_REPACKAGED] && e.family[FW_EVIDENCE_DEVELOPER]);
    assert_false(e.family[FW_EVIDENCE_ROOT]);
}

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(a_phone_is_read_whole),
        TREE_TEST(the_peak_of_threads_is_that_of_all_looks_since_the_last_recorded_one),
        TREE_TEST(malloc_is_asked_rarely_and_never_while_a_frame_is_long),
        TREE_TEST(free_storage_is_that_of_the_sessions_folder),
        TREE_TEST(what_the_host_says_goes_before_what_the_files_said),
        TREE_TEST(a_collector_that_is_not_wanted_is_not_run),
        TREE_TEST(each_collector_counts_what_it_costs),
        TREE_TEST(a_phone_that_denies_nearly_everything_gives_what_is_left),
        TREE_TEST(a_zone_that_vanishes_switches_off_only_its_collector),
        TREE_TEST(cpu_shares_follow_the_formula),
        TREE_TEST(counters_that_run_backwards_give_no_value),
        TREE_TEST(where_proc_stat_is_hidden_time_stands_in_for_the_total),
        TREE_TEST(cores_that_are_off_line_are_0_and_no_core_at_all_is_absent),
        TREE_TEST(a_reading_that_makes_sense_tells_its_unit),
        TREE_TEST(a_zone_that_grows_hotter_or_colder_than_at_the_probe_is_still_read),
        TREE_TEST(a_battery_is_in_tenth_degrees_however_cold_it_is),
        TREE_TEST(a_phone_in_whole_degrees_with_unnamed_zones_is_probed),
        TREE_TEST(a_cold_phone_is_asked_again_when_it_has_warmed_up),
        TREE_TEST(an_empty_phone_switches_every_collector_off_and_says_why),
        TREE_TEST(a_collector_that_recovers_starts_counting_anew),
        TREE_TEST(a_file_that_blocks_costs_its_time_and_three_close_the_window),
        TREE_TEST(a_slow_pss_costs_no_other_value_and_is_asked_for_less_often),
        TREE_TEST(a_collector_that_is_always_slow_is_switched_off),
        TREE_TEST(three_slow_collectors_end_a_look),
        TREE_TEST(a_light_look_skips_what_a_jank_does_not_need),
        TREE_TEST(garbage_in_every_file_is_survived),
        TREE_TEST(this_system_is_read),
        TREE_TEST(the_device_is_what_the_game_says_then_what_the_system_tells),
        TREE_TEST(an_honest_phone_gives_no_evidence),
        TREE_TEST(evidence_names_each_check_that_spoke),
        TREE_TEST(a_jailbreak_leaves_paths),
        TREE_TEST(xcode_and_the_simulator_leave_evidence_on_ios),
        TREE_TEST(the_game_adds_what_only_it_can_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
