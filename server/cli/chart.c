#include "chart.h"

#include "fields.h"

#include <math.h>
#include <string.h>

#define LABEL_COLUMNS 12
#define SCALE_COLUMNS 20 /* to the right: what the heights mean */
#define BAR_ROWS 4
#define FRAME_LOW_MS 8.0 /* the frame time row is logarithmic: 8 ms .. 1 s and more */
#define FRAME_HIGH_MS 1000.0

struct chart {
    const struct term *term;
    const json_t *timeline;
    int64_t from_us, to_us;
    unsigned columns;
};

/* One number a column; NAN where there is none. */
struct row {
    double at[TERM_MAX_WIDTH];
};

static const char *const blocks[9] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

unsigned chart_columns(const struct term *t)
{
    return t->width - LABEL_COLUMNS - SCALE_COLUMNS;
}

/* Begin of a column, as the server cuts its buckets. */
static int64_t column_begin(const struct chart *c, unsigned column)
{
    return c->from_us + (int64_t)((__int128)(c->to_us - c->from_us) * column / c->columns);
}

static unsigned column_of(const struct chart *c, int64_t t_us)
{
    if (t_us <= c->from_us)
        return 0;
    if (t_us >= c->to_us)
        return c->columns - 1;

    unsigned column =
        (unsigned)((__int128)(t_us - c->from_us) * c->columns / (c->to_us - c->from_us));

    return column + (column_begin(c, column + 1) <= t_us);
}

static void clear(const struct chart *c, struct row *r)
{
    for (unsigned i = 0; i < c->columns; i++)
        r->at[i] = NAN;
}

static void raise(struct row *r, unsigned column, double v)
{
    if (!(r->at[column] >= v))
        r->at[column] = v;
}

/* A sample holds until the next one. */
static void hold(const struct chart *c, struct row *r)
{
    for (unsigned i = 1; i < c->columns; i++)
        if (isnan(r->at[i]))
            r->at[i] = r->at[i - 1];
}

static bool extent(const struct chart *c, const struct row *r, double *low, double *high)
{
    bool any = false;

    for (unsigned i = 0; i < c->columns; i++) {
        if (isnan(r->at[i]))
            continue;
        *low = any && *low < r->at[i] ? *low : r->at[i];
        *high = any && *high > r->at[i] ? *high : r->at[i];
        any = true;
    }
    return any;
}

static void begin_line(const struct chart *c, const char *label)
{
    term_style(c->term, STYLE_DIM);
    term_cell(c->term, label, LABEL_COLUMNS);
    term_style(c->term, STYLE_PLAIN);
}

static void end_line(const struct chart *c, const char *scale)
{
    if (scale[0]) {
        fputs("  ", c->term->out);
        term_put(c->term, STYLE_DIM, scale);
    }
    fputc('\n', c->term->out);
}

/* Frame time ----------------------------------------------------------------------------------- */

static void fill_frames(const struct chart *c, struct row *r)
{
    const json_t *buckets = json_object_get(c->timeline, "buckets"),
                 *frames = json_object_get(c->timeline, "frames");
    const json_t *t = json_object_get(buckets ? buckets : frames, buckets ? "t_us" : "start_us"),
                 *v = json_object_get(buckets ? buckets : frames,
                                      buckets ? "max_us" : "interval_us"),
                 *state = json_object_get(frames, "state");

    clear(c, r);
    for (size_t i = 0; i < json_array_size(t); i++) {
        const json_t *value = json_array_get(v, i);

        if (json_is_integer(value) && json_integer_value(json_array_get(state, i)) == 0)
            raise(r, column_of(c, json_integer_value(json_array_get(t, i))),
                  (double)json_integer_value(value) / 1000);
    }
}

/* 0 .. BAR_ROWS * 8 eighths of a row; what is there at all shows as one at least. */
static int frame_height(double ms)
{
    double share = log(ms / FRAME_LOW_MS) / log(FRAME_HIGH_MS / FRAME_LOW_MS);

    if (isnan(ms))
        return 0;
    if (!(share > 0))
        return 1;
    return share >= 1 ? BAR_ROWS * 8 : 1 + (int)(share * (BAR_ROWS * 8 - 1));
}

static enum style frame_style(double ms)
{
    return ms > 500 ? STYLE_RED : ms > 100 ? STYLE_YELLOW : STYLE_GREEN;
}

static void draw_frames(const struct chart *c)
{
    struct row r;
    char scale[BAR_ROWS][32];

    fill_frames(c, &r);
    for (int row = 0; row < BAR_ROWS; row++) {
        double top =
            FRAME_LOW_MS * pow(FRAME_HIGH_MS / FRAME_LOW_MS, (double)(BAR_ROWS - row) / BAR_ROWS);

        snprintf(scale[row], sizeof scale[row], "┤ %.0f ms", top);
        begin_line(c, row ? "" : "frame max");
        for (unsigned i = 0; i < c->columns; i++) {
            int eighths = frame_height(r.at[i]) - (BAR_ROWS - 1 - row) * 8;

            term_put(c->term, frame_style(r.at[i]),
                     blocks[eighths < 0   ? 0
                            : eighths > 8 ? 8
                                          : eighths]);
        }
        end_line(c, scale[row]);
    }
}

/* Hardware ------------------------------------------------------------------------------------- */

static void fill_series(const struct chart *c, const json_t *series, const char *value,
                        double factor, struct row *r)
{
    const json_t *t = json_object_get(series, "t_us"), *v = json_object_get(series, value);

    for (size_t i = 0; i < json_array_size(t); i++)
        if (json_is_integer(json_array_get(v, i)))
            raise(r, column_of(c, json_integer_value(json_array_get(t, i))),
                  (double)json_integer_value(json_array_get(v, i)) * factor);
}

static const json_t *find_series(const struct chart *c, const char *name)
{
    const json_t *all = json_object_get(c->timeline, "hardware");

    for (size_t i = 0; i < json_array_size(all); i++)
        if (strcmp(string(json_array_get(all, i), "name"), name) == 0)
            return json_array_get(all, i);
    return NULL;
}

static void draw_row(const struct chart *c, const char *label, struct row *r, const char *format)
{
    double low = 0, high = 0;
    char scale[64];

    hold(c, r);
    if (!extent(c, r, &low, &high))
        return;
    begin_line(c, label);
    for (unsigned i = 0; i < c->columns; i++) {
        double share = high > low ? (r->at[i] - low) / (high - low) : 0.5;

        fputs(isnan(r->at[i]) ? " " : blocks[1 + (int)(share * 7)], c->term->out);
    }
    int n = snprintf(scale, sizeof scale, "%.1f", low);

    snprintf(scale + n, sizeof scale - (size_t)n, "–%.1f %s", high, format);
    end_line(c, scale);
}

/* The first of the named series that the session has. */
static void draw_series(const struct chart *c, const char *label, const char *const *names,
                        double factor, const char *unit)
{
    struct row r;

    for (; *names; names++) {
        const json_t *series = find_series(c, *names);

        if (!series)
            continue;
        clear(c, &r);
        fill_series(c, series, "value", factor, &r);
        draw_row(c, label, &r, unit);
        return;
    }
}

/* The cores of the cluster with the highest maximum; all cores when no cluster is known. */
static void draw_big_cores(const struct chart *c)
{
    const json_t *cores = json_object_get(c->timeline, "cores");
    int64_t biggest = 0;
    struct row r;

    clear(c, &r);
    for (size_t i = 0; i < json_array_size(cores); i++)
        if (number(json_array_get(cores, i), "cluster_max_khz") > biggest)
            biggest = number(json_array_get(cores, i), "cluster_max_khz");
    for (size_t i = 0; i < json_array_size(cores); i++)
        if (number(json_array_get(cores, i), "cluster_max_khz") == biggest)
            fill_series(c, json_array_get(cores, i), "khz", 0.001, &r);
    draw_row(c, "big core", &r, "MHz");
}

static void draw_hardware(const struct chart *c)
{
    static const char *const temperature[] = {"battery_millicelsius", "skin_millicelsius", NULL},
                             *const memory[] = {"pss_kb", "phys_footprint_kb", "rss_kb",
                                                "rss_anon_kb", NULL},
                             *const cpu[] = {"process_cpu_permille", NULL};

    draw_series(c, "temperature", temperature, 0.001, "°C");
    draw_big_cores(c);
    draw_series(c, "memory", memory, 1.0 / 1024, "MB");
    draw_series(c, "process CPU", cpu, 0.1, "%");
}

/* Lanes ---------------------------------------------------------------------------------------- */

/* The scene in the middle of each column, -1 for none. */
static void fill_scenes(const struct chart *c, const json_t *scenes, int *lane)
{
    for (unsigned i = 0; i < c->columns; i++)
        lane[i] = -1;
    for (size_t k = 0; k < json_array_size(scenes); k++) {
        const json_t *scene = json_array_get(scenes, k);
        unsigned from = column_of(c, number(scene, "from_us")),
                 to = column_of(c, number(scene, "to_us"));

        for (unsigned i = from; i <= to; i++)
            lane[i] = (int)k;
    }
}

static void draw_scenes(const struct chart *c)
{
    const json_t *scenes = json_object_get(c->timeline, "scenes");
    int lane[TERM_MAX_WIDTH];

    if (!json_array_size(scenes))
        return;
    fill_scenes(c, scenes, lane);
    begin_line(c, "scene");
    for (unsigned i = 0, end; i < c->columns; i = end) {
        for (end = i + 1; end < c->columns && lane[end] == lane[i];)
            end++;
        if (lane[i] < 0) {
            term_spaces(c->term, end - i);
            continue;
        }
        fputs("│", c->term->out);
        term_cell(c->term, string(json_array_get(scenes, (size_t)lane[i]), "scene"), end - i - 1);
    }
    end_line(c, "");
}

/* A glyph a column; `rank` says which of two in one column shows. */
struct mark {
    const char *glyph;
    enum style style;
    int rank;
};

static void set_mark(struct mark *lane, unsigned column, struct mark m)
{
    if (m.rank > lane[column].rank)
        lane[column] = m;
}

static void draw_lane(const struct chart *c, const char *label, const struct mark *lane,
                      const char *legend)
{
    bool any = false;

    for (unsigned i = 0; i < c->columns; i++)
        any = any || lane[i].rank;
    if (!any)
        return;
    begin_line(c, label);
    for (unsigned i = 0; i < c->columns; i++)
        term_put(c->term, lane[i].style, lane[i].rank ? lane[i].glyph : " ");
    end_line(c, legend);
}

static void draw_janks(const struct chart *c)
{
    static const struct mark by_level[4] = {
        {"·", STYLE_DIM, 1}, {"▂", STYLE_YELLOW, 2}, {"▅", STYLE_YELLOW, 3}, {"█", STYLE_RED, 4}};
    const json_t *janks = json_object_get(c->timeline, "janks");
    struct mark lane[TERM_MAX_WIDTH] = {0};

    for (size_t i = 0; i < json_array_size(janks); i++) {
        const json_t *jank = json_array_get(janks, i);

        set_mark(lane, column_of(c, number(jank, "start_us")), by_level[number(jank, "level") & 3]);
    }
    draw_lane(c, "janks", lane, ">100 >250 >500 ms");
}

static void mark_moments(const struct chart *c, const char *list, struct mark m, struct mark *lane)
{
    const json_t *items = json_object_get(c->timeline, list);

    for (size_t i = 0; i < json_array_size(items); i++)
        set_mark(lane, column_of(c, number(json_array_get(items, i), "t_us")), m);
}

static void mark_lifecycle(const struct chart *c, struct mark *lane)
{
    const json_t *spans = json_object_get(c->timeline, "background"),
                 *items = json_object_get(c->timeline, "lifecycle");

    for (size_t i = 0; i < json_array_size(spans); i++) {
        const json_t *span = json_array_get(spans, i);

        for (unsigned k = column_of(c, number(span, "from_us")),
                      end = column_of(c, number(span, "to_us"));
             k <= end; k++)
            set_mark(lane, k, (struct mark){"░", STYLE_DIM, 1});
    }
    for (size_t i = 0; i < json_array_size(items); i++) {
        const char *kind = string(json_array_get(items, i), "kind");
        unsigned column = column_of(c, number(json_array_get(items, i), "t_us"));

        if (strcmp(kind, "low_memory") == 0)
            set_mark(lane, column, (struct mark){"M", STYLE_YELLOW, 3});
        if (strcmp(kind, "suspended") == 0)
            set_mark(lane, column, (struct mark){"S", STYLE_DIM, 2});
    }
}

static void draw_events(const struct chart *c)
{
    struct mark lane[TERM_MAX_WIDTH] = {0}, steps[TERM_MAX_WIDTH] = {0};

    mark_lifecycle(c, lane);
    mark_moments(c, "feedback", (struct mark){"F", STYLE_BLUE, 4}, lane);
    mark_moments(c, "crashes", (struct mark){"X", STYLE_RED, 5}, lane);
    draw_lane(c, "events", lane, "");
    mark_moments(c, "steps", (struct mark){"╵", STYLE_DIM, 1}, steps);
    draw_lane(c, "steps", steps, "");
}

static void draw_axis(const struct chart *c)
{
    unsigned every = c->columns / 6, used = 0;

    begin_line(c, "");
    for (unsigned column = 0; column + 8 <= c->columns; column += every) {
        int64_t s = column_begin(c, column) / 1000000;
        char text[64];

        if (column < used)
            continue; /* the label before it is long */
        term_spaces(c->term, column - used);
        snprintf(text, sizeof text, "└%lld:%02lld", (long long)(s / 60), (long long)(s % 60));
        term_put(c->term, STYLE_DIM, text);
        used = column + term_columns(text);
    }
    fputc('\n', c->term->out);
}

void chart_draw(const struct term *t, const json_t *timeline)
{
    struct chart c = {.term = t,
                      .timeline = timeline,
                      .from_us = number(timeline, "from_us"),
                      .to_us = number(timeline, "to_us"),
                      .columns = chart_columns(t)};

    if (c.from_us < 0 || c.to_us <= c.from_us)
        return;
    draw_frames(&c);
    draw_janks(&c);
    draw_scenes(&c);
    draw_events(&c);
    draw_hardware(&c);
    draw_axis(&c);
    term_put(t, STYLE_DIM,
             "            X crash  F feedback  M low memory  S slept  ░ background  ╵ step\n");
}
