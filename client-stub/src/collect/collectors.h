/*
 * collectors: one look at the hardware, by a row of collectors that watch themselves.
 *
 * Belongs to the sampling thread. Each collector fills its fields of a fw_wire_hardware or fails.
 * Failing FW_MAX_FAILURES times in a row, it switches itself off and keeps the reason. A collector
 * slower than FW_SLOW_MS gives up, which is a failure, and the next one's turn comes; the third to
 * do so ends the look. Three looks in a row with a slow collector close the window for
 * FW_WINDOW_PAUSE_MS. What was not read stays absent, never 0.
 *
 * Each look of each collector is timed.
 *
 * To add a collector: a file here with its state, init and read; a field in struct fw_collectors; a
 * line in the table of collectors.c.
 */
#pragma once
#include "src/collect/reader.h"
#include "wire/session_writer.h"

#include <framewatch.h>

#define FW_MAX_FAILURES 5
#define FW_MAX_SLOW 3
#define FW_WINDOW_PAUSE_MS 30000
#define FW_MAX_CORES 32
#define FW_MAX_ZONE_NAME 32

/* Share of all cores, from the jiffies between two looks. active = user + nice + system + irq +
 * softirq, idle = idle + iowait, total = active + idle; process = utime + stime + cutime + cstime.
 */
struct fw_cpu {
    bool known;
    int64_t process, active, total;
    int64_t threads; /* of the same read; 0 unknown */
    uint64_t t_ns;
    unsigned cores; /* for phones that hide /proc/stat: total = time x cores */
    long tick_hertz;
    bool total_hidden;
};
void fw_cpu_init(struct fw_cpu *c, unsigned cores);
bool fw_cpu_read(struct fw_cpu *c, struct fw_reader *r, struct fw_wire_hardware *out);

/* Present kHz of each core; 0 = off line. */
struct fw_freq {
    unsigned cores;
};
unsigned fw_core_count(struct fw_reader *r); /* at most FW_MAX_CORES, at least 1 */
bool fw_freq_read(struct fw_freq *f, struct fw_reader *r, struct fw_wire_hardware *out);
/* Cores grouped by their highest frequency, little to big; the number of groups. */
size_t fw_freq_clusters(struct fw_reader *r, unsigned cores, struct fw_wire_cluster *out,
                        size_t max);

/* RSS, RssAnon and swap each time; PSS rarely, because the kernel walks every page for it with the
 * address space locked. */
struct fw_memory {
    uint64_t next_pss_ns, pss_period_ns;
    bool no_pss;
};
bool fw_memory_read(struct fw_memory *m, struct fw_reader *r, struct fw_wire_hardware *out);

/* What malloc has handed out. Asking locks its arenas one after the other, and a game's thread that
 * allocates then waits: so rarely, never while a frame is long, and more rarely still where it
 * takes long. Fails only where the system cannot tell. */
struct fw_heap {
    uint64_t next_ns, period_ns;
    bool (*ask)(int64_t *kb); /* fw_platform_native_heap_kb; tests have their own */
};
bool fw_heap_read(struct fw_heap *h, struct fw_reader *r, bool quiet, struct fw_wire_hardware *out);

/* Free space where the session files lie, once a minute. */
struct fw_storage {
    int dir; /* descriptor of the folder, borrowed; -1 none */
    uint64_t next_ns;
};
bool fw_storage_read(struct fw_storage *s, struct fw_reader *r, struct fw_wire_hardware *out);

/* What only the game's own platform code can ask for. Runs last: what it says of PSS, heaps and
 * battery goes before what the files said. */
struct fw_host {
    void (*values)(void *user, fw_host_values *values); /* NULL: none */
    void *user;
};
/* unwanted: bits of enum fw_collector, whose kinds of values are then not taken from the host. */
bool fw_host_read(struct fw_host *h, uint32_t unwanted, struct fw_wire_hardware *out);

/* Skin, or else SoC, temperature: zones are numbered differently on every phone, so they are
 * probed: the best-named zone whose value makes sense (20 to 90 degrees C), else the first that
 * does. The unit is the one that value makes sense in, and stays. */
struct fw_zone {
    int number;   /* -1: none */
    int64_t unit; /* in thousandth degrees */
};
struct fw_thermal {
    struct fw_zone skin, battery;
    unsigned until_probe; /* reads until the next probe, while there is no zone */
    bool probed;
};
bool fw_thermal_read(struct fw_thermal *t, struct fw_reader *r, struct fw_wire_hardware *out);
/* What a reading of 20 to 90 degrees C is in: 1000 whole, 100 tenth, 1 thousandth degrees; else 0.
 */
int64_t fw_plausible_unit(int64_t raw);

/* Battery: temperature, charge, charging. */
struct fw_power {
    char supply[FW_MAX_ZONE_NAME]; /* folder under class/power_supply, "" none */
    bool probed;
};
bool fw_power_read(struct fw_power *p, struct fw_reader *r, struct fw_wire_hardware *out);

/* Number of threads now and at most since the last call; main thread's CPU and run-queue time since
 * the session began. */
struct fw_threads {
    int main_tid;
    bool known, no_schedstat;
    int64_t cpu_us, wait_us; /* at the beginning */
    int64_t peak;            /* since the last read */
    long tick_hertz;
};
void fw_threads_init(struct fw_threads *t, int main_tid);
bool fw_threads_read(struct fw_threads *t, struct fw_reader *r, struct fw_wire_hardware *out);

/* Field `number` (from 3 on, as in proc(5)) of a /proc stat line; the name before it may hold
 * anything. */
bool fw_stat_field(const char *line, int number, int64_t *out);

enum fw_collector {
    FW_CPU,
    FW_FREQ,
    FW_MEMORY,
    FW_THERMAL,
    FW_POWER,
    FW_THREADS,
    FW_HEAP,
    FW_STORAGE,
    FW_HOST,
    FW_COLLECTORS
};

struct fw_health {
    unsigned in_a_row;
    uint64_t failures;
    bool off;
    char reason[FW_REASON_BYTES];
    uint64_t looks, ns, max_ns; /* what it cost: time, waits included */
};

struct fw_collectors {
    struct fw_reader reader;
    struct fw_cpu cpu;
    struct fw_freq freq;
    struct fw_memory memory;
    struct fw_thermal thermal;
    struct fw_power power;
    struct fw_threads threads;
    struct fw_heap heap;
    struct fw_storage storage;
    struct fw_host host;
    uint32_t unwanted; /* bit i: collector i is not wanted (remote configuration) */
    bool quiet;        /* set by the owner: no long frame runs */
    struct fw_health health[FW_COLLECTORS];
    unsigned slow_in_a_row;
    uint64_t pause_until_ns;
    uint64_t given_up; /* by slow collectors, and looks not begun */
};

void fw_collectors_init(struct fw_collectors *c, const char *proc, const char *sys, int main_tid);
/* One look; false: nothing was read (the window is closed). Sets all fields but t_us and those
 * that the game tells (gpu, network). `light`: only what a jank's surroundings need (CPU,
 * frequencies, temperature, memory), for the looks between two recorded ones. */
bool fw_collect(struct fw_collectors *c, uint64_t now_ns, bool light, struct fw_wire_hardware *out);
/* The collectors that are off, as self-report rows; texts are the collectors' own. */
size_t fw_collectors_off(const struct fw_collectors *c,
                         struct fw_wire_collector_off out[FW_COLLECTORS]);
/* What each collector that has run cost so far. */
size_t fw_collectors_cost(const struct fw_collectors *c,
                          struct fw_wire_collector_cost out[FW_COLLECTORS]);
const char *fw_collector_name(enum fw_collector i); /* as in self-reports and the configuration */
