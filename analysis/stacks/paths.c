#include "stacks/paths.h"

#include "base/digest.h"
#include "base/utf8.h"
#include "stacks/paths_parts.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_NGRAMS (PATH_WINDOW * PATH_NGRAM_MAX)

struct paths *paths_new(size_t cap)
{
    struct paths *p = calloc(1, sizeof *p);

    if (!p || !(p->table = trie_new(cap))) {
        free(p);
        return NULL;
    }
    p->cap = cap;
    return p;
}

void paths_free(struct paths *p)
{
    if (!p)
        return;
    trie_free(p->table);
    free(p);
}

/* Adding ------------------------------------------------------------------------------------------
 */

static bool step_name(struct paths *p, const char *text, uint32_t *id, struct err *err)
{
    char name[PATH_STEP_MAX + 1];
    size_t n = strnlen(text, PATH_STEP_MAX);

    memcpy(name, text, n);
    name[n] = '\0';
    utf8_clean(name, PATH_STEP_MAX);
    return trie_name(p->table, name, id, err);
}

struct window {
    uint32_t seen[WINDOW_NGRAMS];
    size_t n;
};

/* First sight of a node within the window. */
static bool first_sight(struct window *w, uint32_t node)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->seen[i] == node)
            return false;
    w->seen[w->n++] = node;
    return true;
}

/* The node of a longer n-gram; TRIE_NONE: the table is full. */
static uint32_t longer(struct paths *p, uint32_t node, uint32_t step)
{
    if (p->table->n >= PATH_NGRAMS_MAX)
        return trie_find_child(p->table, node, step);
    return trie_make_child(p->table, node, step);
}

static void count_window(struct paths *p, enum path_end end, uint32_t scene, const uint32_t *steps,
                         size_t n, int sign)
{
    struct window w = {.n = 0};

    trie_count(p->table, scene, end, sign);
    for (size_t from = 0; from < n; from++) {
        uint32_t node = scene;

        for (size_t k = from; k < n && k < from + PATH_NGRAM_MAX; k++) {
            node = longer(p, node, steps[k]);
            if (node == TRIE_NONE)
                break;
            if (first_sight(&w, node))
                trie_count(p->table, node, end, sign);
        }
    }
}

bool paths_add(struct paths *p, enum path_end end, const char *scene, const char *const *steps,
               size_t n, int sign, struct err *err)
{
    uint32_t ids[PATH_WINDOW], scene_id;
    size_t skip = n > PATH_WINDOW ? n - PATH_WINDOW : 0;

    for (size_t i = skip; i < n; i++)
        if (!step_name(p, steps[i], &ids[i - skip], err))
            return false;
    if (!step_name(p, scene, &scene_id, err) || !trie_reserve(p->table, WINDOW_NGRAMS + 1, err))
        return false;
    count_window(p, end, trie_make_child(p->table, TRIE_ROOT, scene_id), ids, n - skip,
                 sign < 0 ? -1 : 1);
    return true;
}

size_t path_pick(const void *session_id, size_t len, const char *scene, size_t n)
{
    unsigned char both[2][SHA256_BYTES], sum[SHA256_BYTES];
    uint64_t v = 0;

    sha256(session_id, len, both[0]);
    sha256(scene, strlen(scene), both[1]);
    sha256(both, sizeof both, sum);
    for (int i = 0; i < 8; i++)
        v = v << 8 | sum[i];
    return n ? (size_t)(v % n) : 0;
}
