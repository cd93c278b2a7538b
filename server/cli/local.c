#include "local.h"

#include "base/buf.h"
#include "base/digest.h"
#include "profile/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)1 << 30)
#define ANSWER_BYTES ((size_t)512 << 20)

static bool read_all(FILE *f, struct buf *out, struct err *err)
{
    unsigned char chunk[65536];
    size_t n;

    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        buf_put(out, chunk, n);
    if (ferror(f))
        return err_set(err, ERR_INVALID, "cannot be read: %s", strerror(errno));
    if (!buf_ok(out))
        return err_set(err, ERR_TOO_BIG, "longer than %zu MB", FILE_MAX_BYTES >> 20);
    return true;
}

unsigned char *file_read(const char *path, size_t *n, struct err *err)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rbe");
    struct buf all;

    if (!f) {
        err_field(err, ERR_NOT_FOUND, path, "%s", strerror(errno));
        return NULL;
    }
    buf_init(&all, FILE_MAX_BYTES);

    bool ok = read_all(f, &all, err);

    buf_byte(&all, 0); /* an empty file is no NULL */
    if (!standard)
        fclose(f);
    if (ok && buf_ok(&all)) {
        unsigned char *bytes = buf_steal(&all, n);

        --*n;
        return bytes;
    }
    buf_fini(&all);
    snprintf(err->field, sizeof err->field, "%s", path);
    return NULL;
}

/* Decodes one file; the part and its texts live in the arena. */
static bool read_part(const char *path, struct arena *mem, struct session_part *out,
                      struct err *err)
{
    size_t n;
    unsigned char *bytes = file_read(path, &n, err);
    struct part *part = bytes ? arena_alloc(mem, sizeof *part) : NULL;

    if (!bytes)
        return false;

    bool ok = part ? part_decode(bytes, n, &part_limits_default, mem, part, err)
                   : err_full(err, "a session");

    if (ok) {
        sha256(bytes, n, out->sha256);
        out->part = part;
    } else if (!err->field[0]) {
        snprintf(err->field, sizeof err->field, "%s", path);
    }
    free(bytes);
    return ok;
}

static bool read_parts(char *const *files, size_t n, struct arena *mem, struct session *s,
                       struct err *err)
{
    struct session_part *parts = arena_array(mem, n, sizeof *parts);

    if (!parts)
        return err_full(err, "a session");
    for (size_t i = 0; i < n; i++)
        if (!read_part(files[i], mem, &parts[i], err))
            return false;
    return session_merge(parts, n, mem, s, err);
}

/* The summary -------------------------------------------------------------------------------------
 * Names as in the answer of GET /v1/sessions/{id}. */

static void set_i64(json_t *o, const char *name, int64_t v)
{
    json_object_set_new(o, name, json_integer(v));
}

static void set_text(json_t *o, const char *name, const char *v)
{
    json_object_set_new(o, name, json_string(v ? v : ""));
}

static void set_bool(json_t *o, const char *name, bool v)
{
    json_object_set_new(o, name, json_boolean(v));
}

static json_t *told_i64(bool told, int64_t v)
{
    return told ? json_integer(v) : json_null();
}

/* told: by frames; a summary does not tell the figures at the end, they are null. */
static void set_slice(json_t *o, const struct slice *x, bool told)
{
    const struct {
        const char *name;
        double q;
    } quantiles[] = {{"p50_us", 0.5}, {"p90_us", 0.9}, {"p95_us", 0.95}, {"p99_us", 0.99}};

    set_text(o, "scene", x->scene);
    set_i64(o, "frames", x->frames);
    set_i64(o, "foreground_us", x->foreground_us);
    set_i64(o, "max_us", x->frame_max_us);
    set_i64(o, "mean_us", x->frames ? x->frame_sum_us / x->frames : 0);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        set_i64(o, quantiles[i].name, llround(sketch_quantile_us(&x->sketch, quantiles[i].q)));
    set_i64(o, "janks_minor", x->janks[JANK_MINOR]);
    set_i64(o, "janks_normal", x->janks[JANK_NORMAL]);
    set_i64(o, "janks_severe", x->janks[JANK_SEVERE]);
    set_i64(o, "jank_us", x->jank_us);
    json_object_set_new(o, "perfdog_janks", told_i64(told, x->perfdog_janks));
    json_object_set_new(o, "perfdog_big_janks", told_i64(told, x->perfdog_big_janks));
    json_object_set_new(o, "missed_frames", told_i64(told, x->missed_frames));
}

/* In the order of enum environment_flag. */
static json_t *environment_names(const struct part_header *h)
{
    static const char *const name[] = {"rooted", "debugger", "emulator", "developer_mode",
                                       "repackaged"};
    json_t *list = json_array();

    for (unsigned i = 0; i < sizeof name / sizeof *name; i++)
        if (h->environment >> i & 1)
            json_array_append_new(list, json_string(name[i]));
    return list;
}

static void set_header(json_t *o, const struct part_header *h)
{
    char id[2 * SESSION_ID_BYTES + 1];
    json_t *device = json_object();

    to_hex(h->session_id, SESSION_ID_BYTES, id);
    set_text(o, "id", id);
    set_text(o, "app", h->app);
    set_text(o, "platform", h->platform);
    set_text(o, "version_name", h->version_name);
    set_i64(o, "version_code", (int64_t)h->version_code);
    set_text(o, "manufacturer", h->manufacturer);
    set_text(o, "model", h->model);
    set_text(o, "os_version", h->os_version);
    set_text(o, "sdk_version", h->sdk_version);
    set_i64(o, "wall_start_ms", h->wall_start_ms);
    json_object_set_new(o, "environment", environment_names(h));
    set_text(device, "soc", h->soc);
    set_text(device, "gpu", h->gpu);
    set_i64(device, "ram_gb", (h->ram_mb + 1023) / 1024);
    json_object_set_new(o, "device", device);
}

static json_t *invalid_counts(const struct session *s)
{
    json_t *o = json_object();

    for (unsigned i = 0; i < INVALID_COUNT; i++)
        if (s->invalid[i])
            set_i64(o, invalid_reason_name[i], s->invalid[i]);
    return o;
}

static json_t *scene_slices(const struct session_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_slices; i++) {
        json_t *slice = json_object();

        set_slice(slice, &r->slices[i], !r->from_summary);
        json_array_append_new(list, slice);
    }
    return list;
}

static json_t *self_report(const struct session *s)
{
    const struct part_self_report *r =
        s->n_self_reports ? &s->self_reports[s->n_self_reports - 1] : NULL;
    json_t *o, *off, *collectors;

    if (!r)
        return json_null();
    o = json_object();
    off = json_array();
    collectors = json_array();
    set_i64(o, "cpu_us", (int64_t)r->cpu_us);
    set_i64(o, "memory_bytes", (int64_t)r->memory_bytes);
    set_i64(o, "wakeups", (int64_t)r->wakeups);
    set_i64(o, "bytes_written", (int64_t)r->bytes_written);
    set_i64(o, "dropped_frames", (int64_t)r->dropped_frames);
    set_i64(o, "dropped_samples", (int64_t)r->dropped_samples);
    for (size_t i = 0; i < r->n_off; i++)
        json_array_append_new(
            off, json_pack("{s:s, s:s}", "name", r->off[i].name, "reason", r->off[i].reason));
    json_object_set_new(o, "collectors_off", off);
    for (size_t i = 0; i < r->n_cost; i++)
        json_array_append_new(collectors, json_pack("{s:s, s:I, s:I, s:I}", "name", r->cost[i].name,
                                                    "looks", (json_int_t)r->cost[i].looks, "us",
                                                    (json_int_t)r->cost[i].us, "max_us",
                                                    (json_int_t)r->cost[i].max_us));
    json_object_set_new(o, "collectors", collectors);
    return o;
}

static json_t *evidence(const struct part_header *h)
{
    json_t *list = json_array();

    for (size_t i = 0; i < h->n_evidence; i++)
        json_array_append_new(list, json_string(h->evidence[i]));
    return list;
}

static json_t *detail_of(const struct session *s, const struct session_result *r)
{
    json_t *o = json_object();

    json_object_set_new(o, "slices", scene_slices(r));
    json_object_set_new(o, "evidence", evidence(&s->header));
    json_object_set_new(o, "self_report", self_report(s));
    set_text(o, "end_reason",
             !s->ended                        ? ""
             : s->end_reason == END_STOPPED   ? "stopped"
             : s->end_reason == END_RECOVERED ? "recovered"
                                              : "unknown");
    return o;
}

static json_t *summary_of(const struct session *s, const struct session_result *r)
{
    json_t *o = json_object();

    if (r->n_slices)
        set_slice(o, &r->slices[0], !r->from_summary);
    set_header(o, &s->header);
    set_text(o, "state", "files");
    set_i64(o, "parts", (int64_t)s->n_parts);
    set_bool(o, "ended", s->ended);
    set_i64(o, "duration_us", (int64_t)s->end_us);
    json_object_set_new(o, "slow_session",
                        r->from_summary ? json_null() : json_boolean(r->slow_session));
    set_bool(o, "excluded", r->excluded);
    set_bool(o, "from_summary", r->from_summary);
    set_i64(o, "peak_memory_kb", r->peak_memory_kb);
    set_i64(o, "peak_battery_millicelsius", r->peak_battery_millicelsius);
    set_i64(o, "throttled_us", r->throttled_us);
    json_object_set_new(o, "invalid", invalid_counts(s));
    json_object_set_new(o, "detail", detail_of(s, r));
    return o;
}

static json_t *parse(const struct buf *b)
{
    return buf_ok(b) ? json_loadb((const char *)b->at, b->len, 0, NULL) : NULL;
}

static bool write_views(const struct session *s, const struct session_result *r, unsigned buckets,
                        struct local_session *out, struct err *err)
{
    struct buf timeline, janks;
    struct local_session made = {0};

    buf_init(&timeline, ANSWER_BYTES);
    buf_init(&janks, ANSWER_BYTES);
    if (!timeline_write(s, r, 0, 0, buckets, &timeline, err))
        goto out;
    janks_write(s, r, &janks);
    made = (struct local_session){summary_of(s, r), parse(&timeline), parse(&janks)};
    if (made.summary && made.timeline && made.janks) {
        *out = made;
        made = (struct local_session){0};
    } else {
        err_memory(err);
    }
out:
    json_decref(made.summary);
    json_decref(made.timeline);
    json_decref(made.janks);
    buf_fini(&timeline);
    buf_fini(&janks);
    return err->code == ERR_NONE;
}

bool local_session_read(char *const *files, int n, unsigned buckets, struct local_session *out,
                        struct err *err)
{
    struct arena *mem = arena_new(ARENA_BYTES);
    struct session s;
    struct session_result r;

    *err = (struct err){0};
    if (!mem)
        return err_memory(err);

    bool ok = read_parts(files, (size_t)n, mem, &s, err) && session_analyse(&s, mem, &r, err) &&
              write_views(&s, &r, buckets, out, err);

    arena_free(mem);
    return ok;
}
