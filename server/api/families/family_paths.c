/* GET /v1/families/{id}/paths: which ways through the game lead to a family's janks, against what
 * players do in the same scenes when all is well. From bounded samples of windows of steps. */
#include "server/api/args.h"
#include "server/api/families/family_slice.h"
#include "server/api/handlers.h"
#include "stacks/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STACKS 200
#define WINDOWS_A_STACK 64
#define CLEAN_A_SCENE 256 /* and build */
#define MAX_SCENES 64
#define TABLE_BYTES ((size_t)64 << 20)
#define ROWS_BYTES ((size_t)32 << 20)
#define PATHS_SHOWN 50
#define RECENT 20
#define SEPARATOR '\x1e'

struct window_row {
    const char *scene, *steps;
};
static const struct db_col window_cols[] = {DB_COL(window_row, scene), DB_COL(window_row, steps)};
static const struct db_map window_map = DB_MAP(window_row, window_cols);

struct question {
    unsigned char id[FINGERPRINT_BYTES];
    struct db_arg build, scene;
    struct arena *rows; /* windows and names */
    struct paths *paths;
    struct db_rows janks, clean;
};

static size_t cut(char *text, const char *names[PATH_WINDOW])
{
    size_t n = 0;

    while (*text && n < PATH_WINDOW) {
        char *end = strchr(text, SEPARATOR);

        names[n++] = text;
        if (!end)
            break;
        *end = '\0';
        text = end + 1;
    }
    return n;
}

static bool add_windows(struct question *q, const struct db_rows *rows, enum path_end end,
                        struct err *err)
{
    const struct window_row *row = rows->at;

    for (size_t i = 0; i < rows->n; i++) {
        char *text = arena_dup(q->rows, row[i].steps, strlen(row[i].steps));
        const char *names[PATH_WINDOW];

        if (!text)
            return err_full(err, "a request");
        if (!paths_add(q->paths, end, row[i].scene, names, cut(text, names), 1, err))
            return false;
    }
    return true;
}

/* The scenes of the janks' windows, each once. */
static size_t scenes_of(const struct question *q, const char *scene[MAX_SCENES])
{
    const struct window_row *row = q->janks.at;
    size_t n = 0;

    for (size_t i = 0; i < q->janks.n && n < MAX_SCENES; i++) {
        size_t k = 0;

        while (k < n && strcmp(scene[k], row[i].scene) != 0)
            k++;
        if (k == n)
            scene[n++] = row[i].scene;
    }
    return n;
}

static bool read_windows(struct req *r, struct question *q, struct err *err)
{
    const char *scene[MAX_SCENES];
    size_t n;

    if (!db_all(r->db, Q_PATH_WINDOWS,
                DB_ARGS(db_i64(r->who.app), db_bytes(q->id, sizeof q->id), q->build, db_i64(STACKS),
                        db_i64(WINDOWS_A_STACK)),
                &window_map, q->rows, &q->janks, err))
        return false;
    n = scenes_of(q, scene);
    return db_all(r->db, Q_PATH_CLEAN,
                  DB_ARGS(db_i64(r->who.app), db_texts(scene, n), q->build, db_i64(CLEAN_A_SCENE)),
                  &window_map, q->rows, &q->clean, err) &&
           add_windows(q, &q->janks, PATH_JANK, err) && add_windows(q, &q->clean, PATH_CLEAN, err);
}

static json_t *steps_json(const char *const *steps, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(steps[i]));
    return list;
}

static json_t *number(double v)
{
    return isfinite(v) ? json_real(round(v * 1e4) / 1e4) : json_null();
}

static json_t *path_json(const struct path_rank *p)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "steps",
                     steps_json(p->steps, p->n), "support", p->support, "windows", p->windows,
                     "clean_support", p->clean_support, "clean_windows", p->clean_windows, "share",
                     number(p->share), "clean_share", number(p->clean_share), "lift",
                     number(p->lift));
}

/* Some windows as they are: the last steps before a jank. */
static json_t *recent_json(const struct question *q)
{
    const struct window_row *row = q->janks.at;
    json_t *list = json_array();

    for (size_t i = 0; i < q->janks.n && json_array_size(list) < RECENT; i++) {
        const char *names[PATH_WINDOW];
        char *text;

        if (q->scene.type != ARG_NULL && strcmp(q->scene.text, row[i].scene) != 0)
            continue;
        text = arena_dup(q->rows, row[i].steps, strlen(row[i].steps));
        if (!text)
            break;
        json_array_append_new(list, json_pack("{s:s, s:o}", "scene", row[i].scene, "steps",
                                              steps_json(names, cut(text, names))));
    }
    return list;
}

static json_t *scenes_json(const struct question *q)
{
    const char *scene[MAX_SCENES];
    size_t n = scenes_of(q, scene);

    return steps_json(scene, n);
}

static bool rank(struct req *r, struct question *q, struct err *err)
{
    struct path_rank *ranked;
    json_t *list = json_array();
    size_t n;

    if (!paths_rank(q->paths, q->scene.text, PATHS_SHOWN, q->rows, &ranked, &n, err)) {
        json_decref(list);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, path_json(&ranked[i]));
    return reply_json(r, 200,
                      json_pack("{s:o, s:o, s:I, s:I, s:o, s:o}", "scene",
                                q->scene.text ? json_string(q->scene.text) : json_null(), "scenes",
                                scenes_json(q), "windows", (json_int_t)q->janks.n, "clean_windows",
                                (json_int_t)q->clean.n, "paths", list, "recent", recent_json(q)),
                      err);
}

bool family_paths(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "scene", NULL};
    struct question q = {0};
    bool ok;

    if (!req_query_only(r, names, err) || !family_param(r, 0, q.id, err) ||
        !arg_i64(r, "build", 1, INT32_MAX, &q.build, err) ||
        !arg_text(r, "scene", 1024, &q.scene, err))
        return false;
    if (q.scene.type == ARG_NULL)
        q.scene.text = NULL;
    q.rows = arena_new(ROWS_BYTES);
    q.paths = paths_new(TABLE_BYTES);
    ok = (q.rows && q.paths) || err_memory(err);
    ok = ok && read_windows(r, &q, err) && rank(r, &q, err);
    paths_free(q.paths);
    arena_free(q.rows);
    return ok;
}
