#include "stacks/export.h"

#include "base/utf8.h"
#include "stacks/trie_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PROFILE_MAX ((size_t)1 << 30)

static uint32_t next_node(const struct trie *t, uint32_t node)
{
    return trie_next(t, node, TRIE_ROOT);
}

static void json_key(struct buf *out, const char *key)
{
    buf_byte(out, '"');
    buf_text(out, key);
    buf_text(out, "\":");
}

/* Speedscope --------------------------------------------------------------------------------------
 */

static void speedscope_frames(const struct trie *t, struct buf *out)
{
    buf_text(out, "\"shared\":{\"frames\":[");
    for (uint32_t i = 0; i < t->n_names; i++) {
        buf_text(out, i ? ",{\"name\":" : "{\"name\":");
        buf_json_string(out, trie_text(t, i));
        buf_byte(out, '}');
    }
    buf_text(out, "]}");
}

static void speedscope_sample(const struct trie *t, uint32_t node, struct buf *out)
{
    uint32_t path[TRIE_DEPTH_MAX];
    size_t n = 0;

    for (uint32_t x = node; x != TRIE_ROOT; x = t->nodes[x].parent)
        path[n++] = t->nodes[x].name;
    buf_byte(out, '[');
    while (n) {
        buf_i64(out, path[--n]);
        if (n)
            buf_byte(out, ',');
    }
    buf_byte(out, ']');
}

/* Samples, or their weights: the same nodes in the same order. Their sum. */
static int64_t speedscope_list(const struct trie *t, enum trie_value by, bool samples,
                               struct buf *out)
{
    uint64_t sum = 0;
    bool first = true;

    for (uint32_t x = TRIE_ROOT; x != TRIE_NONE; x = next_node(t, x)) {
        int64_t value = t->nodes[x].self[by];

        if (value <= 0)
            continue;
        if (!first)
            buf_byte(out, ',');
        first = false;
        sum += (uint64_t)value;
        if (samples)
            speedscope_sample(t, x, out);
        else
            buf_i64(out, value);
    }
    return (int64_t)sum;
}

void export_speedscope(const struct trie *t, enum trie_value by, const struct export_about *about,
                       struct buf *out)
{
    int64_t sum;

    buf_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",");
    speedscope_frames(t, out);
    buf_text(out, ",\"profiles\":[{\"type\":\"sampled\",\"name\":");
    buf_json_string(out, by == TRIE_COUNT ? about->count_name : about->weight_name);
    buf_text(out, by == TRIE_COUNT ? ",\"unit\":\"none\"" : ",\"unit\":\"milliseconds\"");
    buf_text(out, ",\"startValue\":0,\"samples\":[");
    speedscope_list(t, by, true, out);
    buf_text(out, "],\"weights\":[");
    sum = speedscope_list(t, by, false, out);
    buf_text(out, "],\"endValue\":");
    buf_i64(out, sum);
    buf_text(out, "}],\"activeProfileIndex\":0,\"exporter\":\"framewatch\",\"name\":");
    buf_json_string(out, about->title);
    buf_byte(out, '}');
}

/* pprof: https://github.com/google/pprof/blob/main/proto/profile.proto
 * -------------------------------
 */

enum { /* fields of Profile */
       PPROF_SAMPLE_TYPE = 1,
       PPROF_SAMPLE = 2,
       PPROF_LOCATION = 4,
       PPROF_FUNCTION = 5,
       PPROF_STRING = 6,
       PPROF_TIME_NANOS = 9
};

enum { STRING_EMPTY, STRING_COUNT, STRING_UNIT, STRING_WEIGHT, STRING_MS, STRING_TITLE, STRINGS };

static void put_number(struct buf *out, unsigned field, uint64_t v)
{
    if (v) {
        buf_varint(out, field << 3);
        buf_varint(out, v);
    }
}

static void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t n)
{
    buf_varint(out, field << 3 | 2);
    buf_varint(out, n);
    buf_put(out, bytes, n);
}

static void put_message(struct buf *out, unsigned field, struct buf *message)
{
    put_bytes(out, field, message->at, message->len);
    if (!buf_ok(message))
        out->failed = true;
    buf_reset(message);
}

/* Strings of protobuf are UTF-8: other bytes become '?'. */
static void put_string(struct buf *out, const char *text)
{
    buf_varint(out, PPROF_STRING << 3 | 2);
    buf_varint(out, strlen(text));
    while (*text) {
        size_t n = utf8_length((const unsigned char *)text);

        buf_put(out, n ? text : "?", n ? n : 1);
        text += n ? n : 1;
    }
}

static void pprof_types(struct buf *out, struct buf *message)
{
    put_number(message, 1, STRING_COUNT);
    put_number(message, 2, STRING_UNIT);
    put_message(out, PPROF_SAMPLE_TYPE, message);
    put_number(message, 1, STRING_WEIGHT);
    put_number(message, 2, STRING_MS);
    put_message(out, PPROF_SAMPLE_TYPE, message);
}

/* Names are their own locations and functions, from 1. */
static void pprof_names(const struct trie *t, struct buf *out, struct buf *message)
{
    unsigned char line[16];
    struct buf inner;

    buf_init(&inner, sizeof line);
    for (uint32_t i = 0; i < t->n_names; i++) {
        put_number(&inner, 1, i + 1u);
        put_number(message, 1, i + 1u);
        put_message(message, 4, &inner);
        put_message(out, PPROF_LOCATION, message);
        put_number(message, 1, i + 1u);
        put_number(message, 2, i + (uint64_t)STRINGS);
        put_number(message, 3, i + (uint64_t)STRINGS);
        put_message(out, PPROF_FUNCTION, message);
    }
    buf_fini(&inner);
}

static void pprof_samples(const struct trie *t, struct buf *out, struct buf *message)
{
    struct buf packed;

    buf_init(&packed, PROFILE_MAX);
    for (uint32_t x = TRIE_ROOT; x != TRIE_NONE; x = next_node(t, x)) {
        const struct node *n = &t->nodes[x];

        if (!n->self[TRIE_COUNT] && !n->self[TRIE_WEIGHT])
            continue;
        for (uint32_t up = x; up != TRIE_ROOT; up = t->nodes[up].parent)
            buf_varint(&packed, t->nodes[up].name + 1u);
        put_message(message, 1, &packed);
        buf_varint(&packed, (uint64_t)n->self[TRIE_COUNT]);
        buf_varint(&packed, (uint64_t)n->self[TRIE_WEIGHT]);
        put_message(message, 2, &packed);
        put_message(out, PPROF_SAMPLE, message);
    }
    buf_fini(&packed);
}

static void pprof_profile(const struct trie *t, const struct export_about *about, struct buf *out)
{
    struct buf message;

    buf_init(&message, PROFILE_MAX);
    pprof_types(out, &message);
    pprof_samples(t, out, &message);
    pprof_names(t, out, &message);
    put_string(out, "");
    put_string(out, about->count_name);
    put_string(out, "count");
    put_string(out, about->weight_name);
    put_string(out, "milliseconds");
    put_string(out, about->title);
    for (uint32_t i = 0; i < t->n_names; i++)
        put_string(out, trie_text(t, i));
    if (about->time_us > 0)
        put_number(out, PPROF_TIME_NANOS, (uint64_t)about->time_us * 1000);
    put_number(out, 13, STRING_TITLE); /* comment */
    buf_fini(&message);
}

static bool gzip(const struct buf *in, struct buf *out, struct err *err)
{
    unsigned char room[16384];
    z_stream z = {.next_in = in->at, .avail_in = (unsigned)in->len};
    int state;

    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return err_memory(err);
    do {
        z.next_out = room;
        z.avail_out = sizeof room;
        state = deflate(&z, Z_FINISH);
        buf_put(out, room, sizeof room - z.avail_out);
    } while (state == Z_OK);
    deflateEnd(&z);
    return state == Z_STREAM_END || err_set(err, ERR_INTERNAL, "zlib: %d", state);
}

bool export_pprof(const struct trie *t, const struct export_about *about, struct buf *out,
                  struct err *err)
{
    struct buf profile;
    bool ok;

    buf_init(&profile, PROFILE_MAX);
    pprof_profile(t, about, &profile);
    ok = buf_ok(&profile)
             ? gzip(&profile, out, err)
             : err_set(err, ERR_TOO_BIG, "the profile is larger than %zu bytes", PROFILE_MAX);
    buf_fini(&profile);
    return ok;
}

/* JSON of a tree
 * ------------------------------------------------------------------------------------
 */

struct weighed {
    double weight;
    uint32_t node;
};

static int heaviest_first(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node; /* parents first */
}

struct shown {
    struct weighed *all;
    bool *node; /* by number */
    size_t n;
};

static bool shown_init(struct shown *s, size_t n, struct err *err)
{
    *s = (struct shown){.all = calloc(n, sizeof *s->all), .node = calloc(n, sizeof *s->node)};
    return (s->all && s->node) || err_memory(err);
}

static void shown_fini(struct shown *s)
{
    free(s->all);
    free(s->node);
}

struct tree_links {
    uint32_t parent, first_child, next;
};

typedef struct tree_links links_fn(const void *tree, uint32_t node);
typedef void values_fn(const void *tree, uint32_t node, struct buf *out);

/* A node is shown only where its parent is. */
static void choose(struct shown *s, size_t n, size_t max, const void *tree, links_fn *links)
{
    qsort(s->all, n, sizeof *s->all, heaviest_first);
    s->node[TRIE_ROOT] = true;
    s->n = 1;
    for (size_t i = 0; i < n && s->n < max; i++) {
        uint32_t node = s->all[i].node;

        if (node == TRIE_ROOT || !s->node[links(tree, node).parent])
            continue;
        s->node[node] = true;
        s->n++;
    }
}

static uint32_t first_shown(const struct shown *s, uint32_t node, const void *tree, links_fn *links)
{
    while (node != TRIE_NONE && !s->node[node])
        node = links(tree, node).next;
    return node;
}

static void write_tree(const struct shown *s, const void *tree, links_fn *links, values_fn *values,
                       struct buf *out)
{
    uint32_t node = TRIE_ROOT;

    for (;;) {
        uint32_t next;

        values(tree, node, out);
        buf_text(out, ",\"children\":[");
        next = first_shown(s, links(tree, node).first_child, tree, links);
        while (next == TRIE_NONE) {
            buf_text(out, "]}");
            if (node == TRIE_ROOT)
                return;
            next = first_shown(s, links(tree, node).next, tree, links);
            if (next != TRIE_NONE)
                buf_byte(out, ',');
            node = links(tree, node).parent;
        }
        node = next;
    }
}

static void write_all(const struct shown *s, size_t n, const void *tree, links_fn *links,
                      values_fn *values, struct buf *out)
{
    buf_text(out, "{\"nodes\":");
    buf_i64(out, (int64_t)n);
    buf_text(out, ",\"shown\":");
    buf_i64(out, (int64_t)s->n);
    buf_text(out, ",\"root\":");
    write_tree(s, tree, links, values, out);
    buf_byte(out, '}');
}

static struct tree_links trie_links(const void *tree, uint32_t node)
{
    const struct node *n = &((const struct trie *)tree)->nodes[node];

    return (struct tree_links){n->parent, n->first_child, n->next};
}

static void trie_values(const void *tree, uint32_t node, struct buf *out)
{
    static const char *const keys[] = {"count", "weight", "self_count", "self_weight"};
    struct trie_node n = trie_at(tree, node);
    int64_t values[] = {n.total[0], n.total[1], n.self[0], n.self[1]};

    buf_text(out, "{\"name\":");
    buf_json_string(out, n.name ? n.name : "");
    for (size_t i = 0; i < 4; i++) {
        buf_byte(out, ',');
        json_key(out, keys[i]);
        buf_i64(out, values[i]);
    }
}

bool export_trie_json(const struct trie *t, enum trie_value by, size_t max_nodes, struct buf *out,
                      struct err *err)
{
    struct shown s;
    bool ok = shown_init(&s, t->n, err);

    if (ok) {
        for (uint32_t i = 0; i < t->n; i++)
            s.all[i] = (struct weighed){(double)trie_at(t, i).total[by], i};
        choose(&s, t->n, max_nodes, t, trie_links);
        write_all(&s, t->n, t, trie_links, trie_values, out);
    }
    shown_fini(&s);
    return ok;
}

static struct tree_links diff_links(const void *tree, uint32_t node)
{
    const struct trie_diff_node *n = &((const struct trie_diff *)tree)->nodes[node];

    return (struct tree_links){n->parent, n->first_child, n->next};
}

static void diff_values(const void *tree, uint32_t node, struct buf *out)
{
    const struct trie_diff_node *n = &((const struct trie_diff *)tree)->nodes[node];

    buf_text(out, "{\"name\":");
    buf_json_string(out, n->name ? n->name : "");
    buf_printf(out, ",\"a\":%.9g,\"b\":%.9g,\"self_a\":%.9g,\"self_b\":%.9g", n->total[0],
               n->total[1], n->self[0], n->self[1]);
}

bool export_diff_json(const struct trie_diff *d, size_t max_nodes, struct buf *out, struct err *err)
{
    struct shown s;
    bool ok = shown_init(&s, d->n, err);

    if (ok) {
        for (uint32_t i = 0; i < d->n; i++)
            s.all[i] = (struct weighed){fmax(d->nodes[i].total[0], d->nodes[i].total[1]), i};
        choose(&s, d->n, max_nodes, d, diff_links);
        write_all(&s, d->n, d, diff_links, diff_values, out);
    }
    shown_fini(&s);
    return ok;
}
