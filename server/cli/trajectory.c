#include "trajectory.h"

#include "chart.h"
#include "fields.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_COLUMNS 12
#define MAX_STACK_FRAMES 6
#define MAX_STEPS_BEFORE 3
#define LAST_STEPS 10

static void fact(const struct term *t, const char *name)
{
    term_style(t, STYLE_DIM);
    term_cell(t, name, NAME_COLUMNS);
    term_style(t, STYLE_PLAIN);
}

static void heading(const struct term *t, const char *text)
{
    fputc('\n', t->out);
    term_put(t, STYLE_BOLD, text);
    fputc('\n', t->out);
}

/* Foreign text, followed by a space unless it is empty. */
static void word(const struct term *t, const char *text)
{
    if (!text[0])
        return;
    term_text(t, text, t->width);
    fputc(' ', t->out);
}

static void print_moment(const struct term *t, int64_t us)
{
    fprintf(t->out, "%lld:%02lld.%03lld", (long long)(us / 60000000),
            (long long)(us / 1000000 % 60), (long long)(us / 1000 % 1000));
}

static double ms(const json_t *o, const char *name)
{
    return (double)number(o, name) / 1000;
}

/* Facts ---------------------------------------------------------------------------------------- */

static void print_app(const struct term *t, const json_t *s)
{
    const json_t *build = json_object_get(s, "build");

    fact(t, "app");
    word(t, string(s, "app"));
    word(t, string(s, "version_name"));
    fprintf(t->out, "(%lld) ", (long long)number(s, "version_code"));
    word(t, string(s, "platform"));
    if (build && !json_is_true(json_object_get(build, "registered")))
        term_put(t, STYLE_DIM, "· build not registered");
    fputc('\n', t->out);
}

static void print_device(const struct term *t, const json_t *s)
{
    const json_t *d = json_object_get(s, "device");
    const char *tier = string(s, "tier_name");

    fact(t, "device");
    word(t, string(s, "manufacturer"));
    word(t, string(s, "model"));
    fputs("· ", t->out);
    word(t, string(d, "soc"));
    if (number(d, "ram_gb"))
        fprintf(t->out, "· %lld GB ", (long long)number(d, "ram_gb"));
    word(t, string(d, "gpu"));
    if (string(s, "os_version")[0]) {
        fputs("· ", t->out);
        word(t, string(s, "os_version"));
    }
    if (tier[0]) { /* files alone do not tell it */
        fputs(number(s, "tier") ? "· tier " : "· ", t->out);
        term_text(t, tier, 20);
    }
    fputc('\n', t->out);
}

static void print_evidence(const struct term *t, const json_t *s)
{
    const json_t *lines = json_object_get(json_object_get(s, "detail"), "evidence");

    for (size_t i = 0; i < json_array_size(lines); i++) {
        const char *line = json_string_value(json_array_get(lines, i));

        fact(t, "");
        term_text(t, line ? line : "", t->width - NAME_COLUMNS);
        fputc('\n', t->out);
    }
}

static void print_environment(const struct term *t, const json_t *s)
{
    const json_t *names = json_object_get(s, "environment");

    if (!json_array_size(names))
        return;
    fact(t, "environment");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));

        term_style(t, STYLE_YELLOW);
        word(t, name ? name : "");
        term_style(t, STYLE_PLAIN);
    }
    if (json_is_true(json_object_get(s, "excluded")))
        fputs("· kept out of statistics", t->out);
    fputc('\n', t->out);
    print_evidence(t, s);
}

static void print_end(const struct term *t, const json_t *s)
{
    const char *reason = string(json_object_get(s, "detail"), "end_reason");

    fact(t, "ended");
    if (!json_is_true(json_object_get(s, "ended")))
        fputs("no end packet has come\n", t->out);
    else if (strcmp(reason, "recovered") == 0)
        term_put(t, STYLE_YELLOW, "by the next launch: killed or crashed\n");
    else
        fputs("by the game\n", t->out);
}

static void print_times(const struct term *t, const json_t *s)
{
    time_t start = (time_t)(number(s, "wall_start_ms") / 1000);
    struct tm utc;
    char text[64] = "";

    if (gmtime_r(&start, &utc))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
    fact(t, "began");
    fprintf(t->out, "%s by the phone's clock\n", text);
    if (string(s, "received_at")[0]) {
        fact(t, "received");
        word(t, string(s, "received_at"));
        fputc('\n', t->out);
    }
    fact(t, "lasted");
    print_moment(t, number(s, "duration_us"));
    fputs(" · foreground ", t->out);
    print_moment(t, number(s, "foreground_us"));
    fprintf(t->out, " · parts: %lld · ", (long long)number(s, "parts"));
    word(t, string(s, "state"));
    fputc('\n', t->out);
    print_end(t, s);
}

static void print_frame_times(const struct term *t, const json_t *s)
{
    fact(t, "frames");
    fprintf(t->out, "%lld · mean %.1f ms · max %.1f ms%s\n", (long long)number(s, "frames"),
            ms(s, "mean_us"), ms(s, "max_us"),
            json_is_true(json_object_get(s, "from_summary")) ? " · from the summary packet" : "");
    fact(t, "");
    fprintf(t->out, "P50 %.1f · P90 %.1f · P95 %.1f · P99 %.1f ms\n", ms(s, "p50_us"),
            ms(s, "p90_us"), ms(s, "p95_us"), ms(s, "p99_us"));
}

static void print_jank_counts(const struct term *t, const json_t *s)
{
    fact(t, "janks");
    fprintf(t->out,
            "minor (>100 ms) %lld · normal (>250) %lld · severe (>500) %lld · %.1f s in all\n",
            (long long)number(s, "janks_minor"), (long long)number(s, "janks_normal"),
            (long long)number(s, "janks_severe"), ms(s, "jank_us") / 1000);
    fact(t, "");
    if (json_is_true(json_object_get(s, "from_summary"))) {
        fputs("PerfDog janks and missed frames: not told by a summary\n", t->out);
        return;
    }
    fprintf(t->out, "PerfDog jank %lld, big %lld · frames of 2 target intervals or more %lld",
            (long long)number(s, "perfdog_janks"), (long long)number(s, "perfdog_big_janks"),
            (long long)number(s, "missed_frames"));
    if (json_is_true(json_object_get(s, "slow_session")))
        term_put(t, STYLE_YELLOW, " · slow session");
    fputc('\n', t->out);
}

/* The platforms tell different quantities. */
static const char *memory_kind(const char *platform)
{
    if (!strcmp(platform, "ios"))
        return "footprint";
    return !strcmp(platform, "linux") ? "RSS" : "PSS";
}

static void print_hardware(const struct term *t, const json_t *s)
{
    int64_t memory = number(s, "peak_memory_kb"), heat = number(s, "peak_battery_millicelsius");

    if (!memory && !heat)
        return;
    fact(t, "hardware");
    if (memory)
        fprintf(t->out, "peak memory %lld MB (%s) · ", (long long)(memory / 1024),
                memory_kind(string(s, "platform")));
    if (heat)
        fprintf(t->out, "battery up to %.1f °C · ", (double)heat / 1000);
    fprintf(t->out, "throttled %.1f s\n", ms(s, "throttled_us") / 1000);
}

/* The time that each collector's looks at the hardware took. */
static void print_collectors(const struct term *t, const json_t *report)
{
    const json_t *cost = json_object_get(report, "collectors");

    for (size_t i = 0; i < json_array_size(cost); i++) {
        const json_t *c = json_array_get(cost, i);

        fact(t, "");
        term_cell(t, string(c, "name"), NAME_COLUMNS);
        fprintf(t->out, "%lld looks · %.1f ms · at most %.1f ms\n", (long long)number(c, "looks"),
                (double)number(c, "us") / 1000, (double)number(c, "max_us") / 1000);
    }
}

/* What the SDK itself cost, and could not do. */
static void print_sdk(const struct term *t, const json_t *s)
{
    const json_t *report = json_object_get(json_object_get(s, "detail"), "self_report");
    const json_t *off = json_object_get(report, "collectors_off");

    if (!json_is_object(report))
        return;
    fact(t, "SDK");
    fprintf(
        t->out, "%.1f s CPU · %lld KB written · %lld frames and %lld samples dropped\n",
        (double)number(report, "cpu_us") / 1e6, (long long)(number(report, "bytes_written") / 1024),
        (long long)number(report, "dropped_frames"), (long long)number(report, "dropped_samples"));
    print_collectors(t, report);
    for (size_t i = 0; i < json_array_size(off); i++) {
        fact(t, "");
        fputs("switched off: ", t->out);
        word(t, string(json_array_get(off, i), "name"));
        fputs("· ", t->out);
        term_text(t, string(json_array_get(off, i), "reason"), t->width / 2);
        fputc('\n', t->out);
    }
}

/* What was kept out of the numbers, by reason. */
static void print_invalid(const struct term *t, const json_t *s)
{
    json_t *invalid = json_object_get(s, "invalid"), *count;
    const char *reason;
    bool any = false;

    json_object_foreach(invalid, reason, count)
    {
        if (!json_integer_value(count))
            continue;
        if (!any)
            fact(t, "kept out");
        any = true;
        word(t, reason);
        fprintf(t->out, "%lld  ", (long long)json_integer_value(count));
    }
    if (any)
        fputc('\n', t->out);
}

static void print_facts(const struct term *t, const json_t *s)
{
    term_put(t, STYLE_BOLD, "Session ");
    term_style(t, STYLE_BOLD);
    word(t, string(s, "id"));
    term_style(t, STYLE_PLAIN);
    fputc('\n', t->out);
    print_app(t, s);
    print_device(t, s);
    print_environment(t, s);
    print_times(t, s);
    print_frame_times(t, s);
    print_jank_counts(t, s);
    print_hardware(t, s);
    print_sdk(t, s);
    print_invalid(t, s);
}

/* Scenes --------------------------------------------------------------------------------------- */

static void print_scene(const struct term *t, const json_t *slice, unsigned name_columns)
{
    term_cell(t, string(slice, "scene"), name_columns);
    fprintf(t->out, "%8.1f %7lld %6.1f %6.1f %6.1f %7.1f %5lld %5lld %5lld\n",
            (double)number(slice, "foreground_us") / 1e6, (long long)number(slice, "frames"),
            ms(slice, "p50_us"), ms(slice, "p90_us"), ms(slice, "p99_us"), ms(slice, "max_us"),
            (long long)number(slice, "janks_minor"), (long long)number(slice, "janks_normal"),
            (long long)number(slice, "janks_severe"));
}

static void print_scenes(const struct term *t, const json_t *summary)
{
    const json_t *slices = json_object_get(json_object_get(summary, "detail"), "slices");
    unsigned name_columns = t->width - 64 > 40 ? 40 : t->width - 64;
    bool any = false;

    for (size_t i = 0; i < json_array_size(slices); i++) {
        const json_t *slice = json_array_get(slices, i);

        if (!string(slice, "scene")[0])
            continue;
        if (!any) {
            heading(t, "Scenes");
            term_style(t, STYLE_DIM);
            term_cell(t, "scene", name_columns);
            fprintf(t->out, "%8s %7s %6s %6s %6s %7s %5s %5s %5s\n", "seconds", "frames", "P50",
                    "P90", "P99", "max ms", ">100", ">250", ">500");
            term_style(t, STYLE_PLAIN);
        }
        any = true;
        print_scene(t, slice, name_columns);
    }
}

/* Janks ---------------------------------------------------------------------------------------- */

static const json_t *find_stack(const json_t *stacks, const char *hash)
{
    for (size_t i = 0; i < json_array_size(stacks); i++)
        if (strcmp(string(json_array_get(stacks, i), "hash"), hash) == 0)
            return json_array_get(stacks, i);
    return NULL;
}

/* "game.c:12" after a function, as far as the line has room. */
static void print_place(const struct term *t, const json_t *frame, unsigned room)
{
    const char *file = string(frame, "file"), *slash = strrchr(file, '/');
    char line[32];

    if (!file[0] || room < 16)
        return;
    term_style(t, STYLE_DIM);
    fputs("  ", t->out);
    term_text(t, slash ? slash + 1 : file, room - 12);
    snprintf(line, sizeof line, ":%lld", (long long)number(frame, "line"));
    fputs(number(frame, "line") ? line : "", t->out);
    term_style(t, STYLE_PLAIN);
}

/* A function's name where there is one, else module and offset. */
static void print_stack_frame(const struct term *t, const json_t *frame)
{
    const char *text = string(frame, "text"), *function = string(frame, "function"),
               *module = string(frame, "module");
    unsigned most = t->width - 8, used;

    fputs("      ", t->out);
    if (text[0] || function[0]) {
        used = term_text(t, text[0] ? text : function, most);
        print_place(t, frame, most - used);
    } else {
        used = term_text(t, module, most / 2);
        if (used)
            fputc('+', t->out);
        term_text(t, string(frame, "offset"), most / 2);
    }
    fputc('\n', t->out);
}

/* The stack as it reads with symbols, if anything does. */
static const json_t *with_symbols(const json_t *janks, const json_t *stack)
{
    const json_t *read = find_stack(json_object_get(janks, "symbols"), string(stack, "hash"));

    return json_array_size(json_object_get(read, "frames")) ? read : stack;
}

static bool waits_for(const json_t *frame, const char *debug_id)
{
    return strcmp(string(frame, "status"), "missing") == 0 &&
           strcmp(string(frame, "debug_id"), debug_id) == 0;
}

/* Which symbols its frames wait for: a line a debug id. */
static void print_missing(const struct term *t, const json_t *frames)
{
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *f = json_array_get(frames, i);
        const char *id = string(f, "debug_id"), *module = string(f, "module");
        size_t first = 0;

        if (!id[0] || !waits_for(f, id))
            continue;
        while (!waits_for(json_array_get(frames, first), id))
            first++;
        if (first < i)
            continue;
        fputs("      symbols missing: ", t->out);
        term_text(t, module, t->width / 3);
        fputs(module[0] ? ", debug id " : "mapping ", t->out);
        term_text(t, id, 64);
        fputc('\n', t->out);
    }
}

static void print_stack(const struct term *t, const json_t *stack)
{
    const json_t *frames = json_is_array(stack) ? stack : json_object_get(stack, "frames");
    size_t n = json_array_size(frames), shown = n < MAX_STACK_FRAMES ? n : MAX_STACK_FRAMES;

    for (size_t i = 0; i < shown; i++)
        print_stack_frame(t, json_array_get(frames, i));
    if (n > shown)
        fprintf(t->out, "      … %zu more\n", n - shown);
    print_missing(t, frames);
}

/* The last `most` steps up to t_us, on one line. */
static void print_steps_before(const struct term *t, const json_t *timeline, int64_t t_us)
{
    const json_t *steps = json_object_get(timeline, "steps");
    size_t end = 0;

    while (end < json_array_size(steps) && number(json_array_get(steps, end), "t_us") <= t_us)
        end++;

    size_t at = end > MAX_STEPS_BEFORE ? end - MAX_STEPS_BEFORE : 0;

    if (at == end)
        return;
    term_put(t, STYLE_DIM, "    after ");
    for (; at < end; at++) {
        term_text(t, string(json_array_get(steps, at), "name"), 24);
        fputs(at + 1 < end ? " › " : "\n", t->out);
    }
}

static void print_jank(const struct term *t, const struct trajectory *x, const json_t *jank)
{
    static const enum style style[4] = {STYLE_DIM, STYLE_YELLOW, STYLE_YELLOW, STYLE_RED};
    const json_t *sample = json_array_get(json_object_get(jank, "samples"), 0);
    const json_t *stack = find_stack(json_object_get(x->janks, "stacks"), string(sample, "stack"));

    fputs("  ", t->out);
    print_moment(t, number(jank, "start_us"));
    term_style(t, style[number(jank, "level") & 3]);
    fprintf(t->out, "  %.0f ms  ", ms(jank, "duration_us"));
    word(t, string(jank, "level_name"));
    term_style(t, STYLE_PLAIN);
    word(t, string(jank, "scene"));
    fputs("· ", t->out);
    word(t, string(jank, "cause"));
    fputc('\n', t->out);
    if (string(jank, "evidence")[0]) {
        fputs("    ", t->out);
        term_text(t, string(jank, "evidence"), t->width - 4);
        fputc('\n', t->out);
    }
    print_steps_before(t, x->timeline, number(jank, "start_us"));
    if (stack)
        print_stack(t, with_symbols(x->janks, stack));
}

static int longer_first(const void *a, const void *b)
{
    int64_t x = number(*(json_t *const *)a, "duration_us"),
            y = number(*(json_t *const *)b, "duration_us");

    return (x < y) - (x > y);
}

static void print_worst(const struct term *t, const struct trajectory *x)
{
    const json_t *list = json_object_get(x->janks, "janks");
    size_t n = json_array_size(list);
    json_t **janks = n ? calloc(n, sizeof(json_t *)) : NULL;

    if (!janks)
        return;
    for (size_t i = 0; i < n; i++)
        janks[i] = json_array_get(list, i);
    qsort(janks, n, sizeof *janks, longer_first);
    heading(t, "Worst janks");
    for (size_t i = 0; i < n && i < x->worst; i++)
        print_jank(t, x, janks[i]);
    if (n > x->worst)
        fprintf(t->out, "  … %zu more\n", n - x->worst);
    free(janks);
}

/* Crashes, feedback, last steps ------------------------------------------------------------------
 */

static void begin_event(const struct term *t, const json_t *event)
{
    fputs("  ", t->out);
    if (json_is_integer(json_object_get(event, "t_us")))
        print_moment(t, number(event, "t_us"));
    else
        fputs("(time unknown)", t->out);
    fputs("  ", t->out);
    if (strcmp(string(event, "source"), "posted") == 0)
        term_put(t, STYLE_DIM, "posted ");
}

static void print_crash(const struct term *t, const json_t *timeline, const json_t *crash)
{
    begin_event(t, crash);
    term_put(t, STYLE_RED, "crash ");
    if (number(crash, "signal"))
        fprintf(t->out, "signal %lld ", (long long)number(crash, "signal"));
    term_text(t, string(crash, "reason"), t->width - 32);
    fputc('\n', t->out);
    if (json_is_integer(json_object_get(crash, "t_us")))
        print_steps_before(t, timeline, number(crash, "t_us"));
    if (json_array_size(json_object_get(crash, "symbols")))
        print_stack(t, json_object_get(crash, "symbols"));
    else
        print_stack(t, json_object_get(crash, "stack"));
}

static void print_feedback(const struct term *t, const json_t *feedback)
{
    begin_event(t, feedback);
    term_put(t, STYLE_BLUE, "feedback ");
    word(t, string(feedback, "category"));
    term_text(t, string(feedback, "text"), t->width - 44);
    fputc('\n', t->out);
}

/* The summary's list has those posted to the session too; without a server there is the timeline's
 * alone. */
static const json_t *reports_of(const struct trajectory *x, const char *name)
{
    const json_t *list = json_object_get(x->summary, name);

    return list ? list : json_object_get(x->timeline, name);
}

static void print_reports(const struct term *t, const struct trajectory *x)
{
    const json_t *crashes = reports_of(x, "crashes"), *feedback = reports_of(x, "feedback");

    if (!json_array_size(crashes) && !json_array_size(feedback))
        return;
    heading(t, "Crashes and feedback");
    for (size_t i = 0; i < json_array_size(crashes); i++)
        print_crash(t, x->timeline, json_array_get(crashes, i));
    for (size_t i = 0; i < json_array_size(feedback); i++)
        print_feedback(t, json_array_get(feedback, i));
}

static void print_last_steps(const struct term *t, const json_t *timeline)
{
    const json_t *steps = json_object_get(timeline, "steps");
    size_t n = json_array_size(steps);

    if (!n)
        return;
    heading(t, "Last steps");
    for (size_t i = n > LAST_STEPS ? n - LAST_STEPS : 0; i < n; i++) {
        fputs("  ", t->out);
        print_moment(t, number(json_array_get(steps, i), "t_us"));
        fputs("  ", t->out);
        term_text(t, string(json_array_get(steps, i), "name"), t->width - 16);
        fputc('\n', t->out);
    }
}

void trajectory_print(const struct term *t, const struct trajectory *x)
{
    print_facts(t, x->summary);
    print_scenes(t, x->summary);
    if (x->timeline) {
        heading(t, "Timeline");
        chart_draw(t, x->timeline);
    }
    print_worst(t, x);
    print_reports(t, x);
    print_last_steps(t, x->timeline);
}
