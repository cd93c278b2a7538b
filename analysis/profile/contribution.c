#include "profile/contribution.h"

#include "base/cursor.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define FORMAT 3
#define FORMAT_WITHOUT_SUMMARIES 2
#define FORMAT_WITHOUT_ROWS 1
#define COLUMNS_WITHOUT_SUMMARIES 14
#define MAX_SCENE_KEY 512
#define MAX_STORED_SLICES 4096
#define MAX_STORED_ROWS 16384
#define MAX_STORED_CELLS (MAX_SESSION_SCENES * CELLS_PER_MAP)
#define SUMS_LAYOUT 1

/* Columns as bare int64_t rows, for arithmetic and storage alike. */
#define X(name) +1
enum { ROLLUP_COUNT = 0 ROLLUP_COLUMNS(X), MODEL_COUNT = 0 MODEL_COLUMNS(X) };
#undef X

static const size_t rollup_offset[ROLLUP_COUNT] = {
#define X(name) offsetof(struct rollup_delta, name),
    ROLLUP_COLUMNS(X)
#undef X
};
static const size_t model_offset[MODEL_COUNT] = {
#define X(name) offsetof(struct contribution, model.name),
    MODEL_COLUMNS(X)
#undef X
};

static int64_t *column(void *owner, size_t offset)
{
    return (int64_t *)(void *)((char *)owner + offset);
}

static int64_t value(const void *owner, size_t offset)
{
    return *(const int64_t *)(const void *)((const char *)owner + offset);
}

/* Wraps, so that what was added can always be taken away again. */
static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Of a session ----------------------------------------------------------------------------------
 */

static void fill_slice(const struct session_result *r, const struct slice *from,
                       struct rollup_delta *to)
{
    to->scene = from->scene;
    to->sessions = 1;
    to->slow_sessions = from == r->slices && r->slow_session;
    to->frames = from->frames;
    to->frame_sum_us = from->frame_sum_us;
    to->foreground_us = from->foreground_us;
    to->janks_minor = from->janks[JANK_MINOR];
    to->janks_normal = from->janks[JANK_NORMAL];
    to->janks_severe = from->janks[JANK_SEVERE];
    to->jank_us = from->jank_us;
    to->perfdog_janks = from->perfdog_janks;
    to->perfdog_big_janks = from->perfdog_big_janks;
    to->perfdog_stutter_us = from->perfdog_stutter_us;
    to->missed_frames = from->missed_frames;
    if (r->from_summary) {
        to->summary_sessions = 1;
        to->summary_frames = from->frames;
        to->summary_foreground_us = from->foreground_us;
    }
    to->sketch = from->sketch;
}

static void fill_model(const struct session_result *r, struct contribution *out)
{
    double p90_ms = sketch_quantile_us(&r->slices[0].sketch, 0.90) / 1000;

    if (!(p90_ms > 0))
        return;

    double ln = log(p90_ms);

    out->model.sessions = 1;
    out->model.ln_p90_e6 = llround(1e6 * ln);
    out->model.ln_p90_sq_e6 = llround(1e6 * ln * ln);
    out->model.median_mhz = r->median_khz / 1000;
    out->model.median_mhz_sessions = r->median_khz > 0;
    out->model.throttled_mhz = r->throttled_khz / 1000;
    out->model.throttled_mhz_sessions = r->throttled_khz > 0;
    out->model.mean_battery_decicelsius = r->mean_battery_millicelsius / 100;
    out->model.mean_battery_sessions = r->mean_battery_millicelsius > 0;
}

static bool has_any(const int64_t sum[METRICS_N][METRIC_SUMS])
{
    for (unsigned m = 0; m < METRICS_N; m++)
        for (unsigned k = 0; k < METRIC_SUMS; k++)
            if (sum[m][k])
                return true;
    return false;
}

static void fill_row(const struct session_result *r, size_t i, struct contribution *out)
{
    struct metric_row *row = &out->rows[out->n_rows];

    row->scene = r->slices[i].scene;
    metric_of_slice(r, i, row->sum);
    out->n_rows += has_any(row->sum);
}

bool contribution_of(const struct session_result *r, struct arena *mem, struct contribution *out,
                     struct err *err)
{
    size_t n = r->excluded ? 1 : r->n_slices;
    struct contribution c = {.slices = arena_array(mem, n, sizeof *c.slices),
                             .rows = arena_array(mem, n, sizeof *c.rows)};

    if (!c.slices || !c.rows)
        return err_set(err, ERR_TOO_BIG, "%zu slices need more memory than a session may take",
                       r->n_slices);
    if (r->excluded) {
        c.slices[0].scene = "";
        c.slices[0].excluded_sessions = 1;
        c.n_slices = 1;
    } else {
        for (size_t i = 0; i < r->n_slices; i++)
            if (i == 0 || r->slices[i].frames || r->slices[i].foreground_us) {
                fill_slice(r, &r->slices[i], &c.slices[c.n_slices++]);
                fill_row(r, i, &c);
            }
        fill_model(r, &c);
        c.cells = r->cells;
        c.n_cells = r->n_cells;
    }
    *out = c;
    return true;
}

/* Stored form -------------------------------------------------------------------------------------
 * Format byte; the model columns, zigzag; number of slices; for each its key's length and bytes,
 * its columns, zigzag, its sketch's length and bytes. Keys ascend. Number of metric rows; for each
 * build, arm, its key, length and bytes of its sums. Number of cells; for each its key, level, x, y
 * and its four sums, zigzag. */

static void write_key(const char *key, struct buf *out)
{
    size_t n = strlen(key);

    buf_varint(out, n);
    buf_put(out, key, n);
}

/* Layout byte; of each metric that is not all zero: steps from the one before, its sums. */
void metric_sums_write(const int64_t sum[METRICS_N][METRIC_SUMS], struct buf *out)
{
    unsigned last = 0;

    buf_byte(out, SUMS_LAYOUT);
    for (unsigned m = 0; m < METRICS_N; m++) {
        bool any = false;

        for (unsigned k = 0; k < METRIC_SUMS; k++)
            any |= sum[m][k] != 0;
        if (!any)
            continue;
        buf_varint(out, m + 1 - last);
        for (unsigned k = 0; k < METRIC_SUMS; k++)
            buf_zigzag(out, sum[m][k]);
        last = m + 1;
    }
}

static void write_slice(const struct rollup_delta *d, struct buf *sketch, struct buf *out)
{
    write_key(d->scene, out);
    for (size_t i = 0; i < ROLLUP_COUNT; i++)
        buf_zigzag(out, value(d, rollup_offset[i]));
    buf_reset(sketch);
    sketch_write(&d->sketch, sketch);
    buf_varint(out, sketch->len);
    buf_put(out, sketch->at, sketch->len);
}

static void write_row(const struct metric_row *r, struct buf *sums, struct buf *out)
{
    buf_varint(out, (uint64_t)r->build);
    buf_varint(out, (uint64_t)r->arm);
    write_key(r->scene, out);
    buf_reset(sums);
    metric_sums_write(r->sum, sums);
    buf_varint(out, sums->len);
    buf_put(out, sums->at, sums->len);
}

static void write_cell(const struct map_cell *c, struct buf *out)
{
    const int64_t values[] = {c->level,        c->x,       c->y,       c->visits,
                              c->janky_visits, c->jank_ms, c->dwell_ms};

    write_key(c->scene, out);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        buf_zigzag(out, values[i]);
}

void contribution_write(const struct contribution *c, struct buf *out)
{
    struct buf sketch;

    buf_init(&sketch, 64 * 1024);
    buf_byte(out, FORMAT);
    for (size_t i = 0; i < MODEL_COUNT; i++)
        buf_zigzag(out, value(c, model_offset[i]));
    buf_varint(out, c->n_slices);
    for (size_t i = 0; i < c->n_slices; i++)
        write_slice(&c->slices[i], &sketch, out);
    buf_varint(out, c->n_rows);
    for (size_t i = 0; i < c->n_rows; i++)
        write_row(&c->rows[i], &sketch, out);
    buf_varint(out, c->n_cells);
    for (size_t i = 0; i < c->n_cells; i++)
        write_cell(&c->cells[i], out);
    if (!buf_ok(&sketch))
        out->failed = true;
    buf_fini(&sketch);
}

static int64_t read_zigzag(struct cursor *in)
{
    uint64_t z = cursor_uleb(in);

    return (int64_t)(z >> 1 ^ (0 - (z & 1)));
}

/* NULL and failed if it is none. */
static const char *read_key(struct cursor *in, struct arena *mem)
{
    uint64_t n = cursor_uleb(in);
    const unsigned char *key = n <= MAX_SCENE_KEY ? cursor_bytes(in, (size_t)n) : NULL;

    if (!key || memchr(key, 0, (size_t)n)) {
        in->failed = true;
        return NULL;
    }
    return arena_dup(mem, (const char *)key, (size_t)n);
}

static bool read_slice(struct cursor *in, size_t columns, struct arena *mem, struct rollup_delta *d,
                       struct err *err)
{
    size_t n;

    d->scene = read_key(in, mem);
    if (!d->scene)
        return true;
    for (size_t i = 0; i < columns; i++)
        *column(d, rollup_offset[i]) = read_zigzag(in);
    n = (size_t)cursor_uleb(in);

    const unsigned char *sketch = cursor_bytes(in, n);

    return !sketch || sketch_read(sketch, n, 1, &d->sketch, err);
}

/* Slices one by one, into an array sized by what the bytes can hold at most. */
static bool read_slices(struct cursor *in, size_t columns, struct arena *mem,
                        struct contribution *c, struct err *err)
{
    uint64_t n = cursor_uleb(in);

    if (n > MAX_STORED_SLICES || n * (columns + 2) > cursor_left(in)) {
        in->failed = true;
        return true;
    }
    c->slices = arena_array(mem, n, sizeof *c->slices);
    while (c->slices && !in->failed && c->n_slices < n) {
        struct rollup_delta *d = &c->slices[c->n_slices];

        if (!read_slice(in, columns, mem, d, err))
            return false;
        if (c->n_slices && d->scene && strcmp(d[-1].scene, d->scene) >= 0)
            in->failed = true;
        if (!d->scene)
            break;
        c->n_slices++;
    }
    return true;
}

bool metric_sums_add(const void *bytes, size_t n, int64_t sum[METRICS_N][METRIC_SUMS],
                     struct err *err)
{
    struct cursor in = cursor_over(bytes, n, "metric sums");
    int64_t read[METRICS_N][METRIC_SUMS] = {{0}};
    uint64_t at = 0;

    if (n && cursor_u8(&in) != SUMS_LAYOUT)
        return err_set(err, ERR_INVALID, "metric sums: unknown layout");
    while (cursor_left(&in) && !in.failed) {
        uint64_t step = cursor_uleb(&in);

        if (!step || step > METRICS_N - at) {
            in.failed = true;
            break;
        }
        at += step;
        for (unsigned k = 0; k < METRIC_SUMS; k++)
            read[at - 1][k] = read_zigzag(&in);
    }
    if (in.failed)
        return err_set(err, ERR_INVALID, "metric sums: malformed at byte %zu of %zu",
                       cursor_offset(&in), n);
    for (unsigned m = 0; m < METRICS_N; m++)
        for (unsigned k = 0; k < METRIC_SUMS; k++)
            sum[m][k] = minus(sum[m][k], minus(0, read[m][k]));
    return true;
}

/* How many of something follow, each of `least` bytes or more; 0 and failed if that cannot be. */
static size_t read_count(struct cursor *in, uint64_t most, size_t least)
{
    uint64_t n = cursor_uleb(in);

    if (n > most || n * least > cursor_left(in)) {
        in->failed = true;
        return 0;
    }
    return (size_t)n;
}

static bool read_rows(struct cursor *in, struct arena *mem, struct contribution *c, struct err *err)
{
    size_t n = read_count(in, MAX_STORED_ROWS, 5);

    c->rows = arena_array(mem, n, sizeof *c->rows);
    while (c->rows && !in->failed && c->n_rows < n) {
        struct metric_row *r = &c->rows[c->n_rows];

        r->build = (int64_t)cursor_uleb(in);
        r->arm = (int64_t)cursor_uleb(in);
        r->scene = read_key(in, mem);

        size_t len = (size_t)cursor_uleb(in);
        const unsigned char *sums = cursor_bytes(in, len);

        if (!r->scene || !sums)
            break;
        if (!metric_sums_add(sums, len, r->sum, err))
            return false;
        if (r->build < 0 || r->arm < 0 || r->arm >= ARMS ||
            (c->n_rows && metric_row_order(r - 1, r) >= 0))
            in->failed = true;
        c->n_rows++;
    }
    return true;
}

static void read_cells(struct cursor *in, struct arena *mem, struct contribution *c)
{
    size_t n = read_count(in, MAX_STORED_CELLS, 8);

    c->cells = arena_array(mem, n, sizeof *c->cells);
    while (c->cells && !in->failed && c->n_cells < n) {
        struct map_cell *cell = &c->cells[c->n_cells];

        cell->scene = read_key(in, mem);
        if (!cell->scene)
            break;
        cell->level = read_zigzag(in);
        cell->x = read_zigzag(in);
        cell->y = read_zigzag(in);
        cell->visits = read_zigzag(in);
        cell->janky_visits = read_zigzag(in);
        cell->jank_ms = read_zigzag(in);
        cell->dwell_ms = read_zigzag(in);
        if (c->n_cells && map_cell_order(cell - 1, cell) >= 0)
            in->failed = true;
        c->n_cells++;
    }
}

static bool read_all(struct cursor *in, struct arena *mem, struct contribution *c, struct err *err)
{
    uint8_t format = cursor_u8(in);

    if (format < FORMAT_WITHOUT_ROWS || format > FORMAT)
        return err_set(err, ERR_INVALID, "contribution: format %u, expected %u", format, FORMAT);
    for (size_t i = 0; i < MODEL_COUNT; i++)
        *column(c, model_offset[i]) = read_zigzag(in);
    if (!read_slices(in, format == FORMAT ? ROLLUP_COUNT : COLUMNS_WITHOUT_SUMMARIES, mem, c, err))
        return false;
    if (format == FORMAT_WITHOUT_ROWS)
        return true;
    if (!read_rows(in, mem, c, err))
        return false;
    read_cells(in, mem, c);
    return true;
}

bool contribution_read(const void *bytes, size_t n, struct arena *mem, struct contribution *out,
                       struct err *err)
{
    struct cursor in = cursor_over(bytes, n, "contribution");
    struct contribution c = {0};

    if (n && !read_all(&in, mem, &c, err))
        return false;
    if (arena_full(mem))
        return err_set(err, ERR_TOO_BIG, "contribution: needs more memory than it may take");
    if (in.failed || cursor_left(&in))
        return err_set(err, ERR_INVALID, "contribution: malformed at byte %zu of %zu",
                       cursor_offset(&in), n);
    *out = c;
    return true;
}

/* Difference
 * ---------------------------------------------------------------------------------------- */

static bool is_zero(const struct rollup_delta *d)
{
    for (size_t i = 0; i < ROLLUP_COUNT; i++)
        if (value(d, rollup_offset[i]))
            return false;
    for (unsigned k = 0; k < SKETCH_BUCKETS; k++)
        if (d->sketch.count[k])
            return false;
    return true;
}

/* now - before; either may be NULL. */
static void subtract(const struct rollup_delta *now, const struct rollup_delta *before,
                     struct rollup_delta *out)
{
    static const struct rollup_delta none;

    *out = now ? *now : none;
    if (!before)
        return;
    out->scene = before->scene;
    for (size_t i = 0; i < ROLLUP_COUNT; i++)
        *column(out, rollup_offset[i]) =
            minus(value(out, rollup_offset[i]), value(before, rollup_offset[i]));
    sketch_merge(&out->sketch, &before->sketch, -1);
}

static void subtract_slices(const struct contribution *now, const struct contribution *before,
                            struct contribution *out)
{
    size_t i = 0, k = 0;

    while (i < now->n_slices || k < before->n_slices) {
        int order = i == now->n_slices      ? 1
                    : k == before->n_slices ? -1
                                            : strcmp(now->slices[i].scene, before->slices[k].scene);
        struct rollup_delta *d = &out->slices[out->n_slices];

        subtract(order <= 0 ? &now->slices[i] : NULL, order >= 0 ? &before->slices[k] : NULL, d);
        out->n_slices += !is_zero(d);
        i += order <= 0;
        k += order >= 0;
    }
}

int metric_row_order(const struct metric_row *a, const struct metric_row *b)
{
    if (a->build != b->build)
        return a->build < b->build ? -1 : 1;
    if (a->arm != b->arm)
        return a->arm < b->arm ? -1 : 1;
    return strcmp(a->scene, b->scene);
}

static void subtract_rows(const struct contribution *now, const struct contribution *before,
                          struct contribution *out)
{
    size_t i = 0, k = 0;

    while (i < now->n_rows || k < before->n_rows) {
        int order = i == now->n_rows      ? 1
                    : k == before->n_rows ? -1
                                          : metric_row_order(&now->rows[i], &before->rows[k]);
        struct metric_row *row = &out->rows[out->n_rows];

        memset(row, 0, sizeof *row);
        if (order <= 0)
            *row = now->rows[i];
        if (order >= 0) {
            const struct metric_row *b = &before->rows[k];

            row->build = b->build;
            row->arm = b->arm;
            row->scene = b->scene;
            for (unsigned m = 0; m < METRICS_N; m++)
                for (unsigned s = 0; s < METRIC_SUMS; s++)
                    row->sum[m][s] = minus(row->sum[m][s], b->sum[m][s]);
        }
        out->n_rows += has_any(row->sum);
        i += order <= 0;
        k += order >= 0;
    }
}

int map_cell_order(const struct map_cell *a, const struct map_cell *b)
{
    int order = strcmp(a->scene, b->scene);

    if (!order)
        order = (a->level > b->level) - (a->level < b->level);
    if (!order)
        order = (a->x > b->x) - (a->x < b->x);
    return order ? order : (a->y > b->y) - (a->y < b->y);
}

static void subtract_cells(const struct contribution *now, const struct contribution *before,
                           struct contribution *out)
{
    static const struct map_cell none;
    size_t i = 0, k = 0;

    while (i < now->n_cells || k < before->n_cells) {
        int order = i == now->n_cells      ? 1
                    : k == before->n_cells ? -1
                                           : map_cell_order(&now->cells[i], &before->cells[k]);
        const struct map_cell *a = order <= 0 ? &now->cells[i] : &none;
        const struct map_cell *b = order >= 0 ? &before->cells[k] : &none;
        struct map_cell *cell = &out->cells[out->n_cells];

        *cell = order <= 0 ? *a : *b;
        cell->visits = minus(a->visits, b->visits);
        cell->janky_visits = minus(a->janky_visits, b->janky_visits);
        cell->jank_ms = minus(a->jank_ms, b->jank_ms);
        cell->dwell_ms = minus(a->dwell_ms, b->dwell_ms);
        out->n_cells += cell->visits || cell->janky_visits || cell->jank_ms || cell->dwell_ms;
        i += order <= 0;
        k += order >= 0;
    }
}

bool contribution_diff(const struct contribution *now, const struct contribution *before,
                       struct arena *mem, struct contribution *out, struct err *err)
{
    struct contribution c = {
        .slices = arena_array(mem, now->n_slices + before->n_slices, sizeof *c.slices),
        .rows = arena_array(mem, now->n_rows + before->n_rows, sizeof *c.rows),
        .cells = arena_array(mem, now->n_cells + before->n_cells, sizeof *c.cells)};

    if (!c.slices || !c.rows || !c.cells)
        return err_set(err, ERR_TOO_BIG, "%zu slices need more memory than they may take",
                       now->n_slices + before->n_slices);
    for (size_t i = 0; i < MODEL_COUNT; i++)
        *column(&c, model_offset[i]) =
            minus(value(now, model_offset[i]), value(before, model_offset[i]));
    subtract_slices(now, before, &c);
    subtract_rows(now, before, &c);
    subtract_cells(now, before, &c);
    *out = c;
    return true;
}
