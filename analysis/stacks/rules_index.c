#include "stacks/rules_index.h"

#include <stdlib.h>
#include <string.h>

#define BYTES 256
#define ROOT 0

struct entry {      /* a rule whose piece ends at a state */
    uint32_t next;  /* + 1 */
    uint32_t tried; /* number of the text that it was last held against */
    uint16_t number;
    uint8_t list;
    bool whole; /* the piece is the pattern */
};

struct state {
    uint32_t fail;    /* of the longest true suffix that is a state */
    uint32_t suffix;  /* the nearest state along `fail` that has entries; ROOT: none */
    uint32_t entries; /* + 1 */
    uint32_t parent;
    uint16_t depth;
    uint8_t byte;
    struct rule_hits keyword; /* the first that end here or at a suffix */
};

struct edge {
    uint32_t from_byte, to; /* to: ROOT where the place is free */
};

struct rules_index {
    const struct rules *rules;
    uint64_t steps, limit;
    uint32_t texts; /* walked so far */
    struct state *states;
    size_t n_states;
    struct edge *edges; /* hash table */
    size_t places;      /* a power of two */
    uint32_t root[BYTES];
    struct entry *entries;
    size_t n_entries;
    struct rule_hits any_module, any_name; /* patterns of nothing but '*' */
};

static const struct rule_hits no_hits = {{RULE_NONE, RULE_NONE, RULE_NONE, RULE_NONE}};

static unsigned char fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static void note(struct rule_hits *hits, enum rule_list list, uint16_t number)
{
    if (number < hits->first[list])
        hits->first[list] = number;
}

static void note_all(struct rule_hits *hits, const uint16_t number[RULE_LISTS])
{
    for (enum rule_list i = 0; i < RULE_LISTS; i++)
        note(hits, i, number[i]);
}

/* Edges -------------------------------------------------------------------------------------------
 */

static struct edge *place_of(const struct rules_index *x, uint32_t from, unsigned char byte)
{
    uint32_t key = from << 8 | byte;
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (x->places - 1);

    while (x->edges[at].to != ROOT && x->edges[at].from_byte != key)
        at = (at + 1) & (x->places - 1);
    return &x->edges[at];
}

static uint32_t next_state(const struct rules_index *x, uint32_t from, unsigned char byte)
{
    return from == ROOT ? x->root[byte] : place_of(x, from, byte)->to;
}

static uint32_t make_state(struct rules_index *x, uint32_t from, unsigned char byte)
{
    uint32_t to = next_state(x, from, byte);
    struct edge *edge;

    if (to != ROOT)
        return to;
    to = (uint32_t)x->n_states++;
    x->states[to] = (struct state){
        .parent = from, .byte = byte, .depth = (uint16_t)(x->states[from].depth + 1)};
    x->states[to].keyword = no_hits;
    if (from == ROOT) {
        x->root[byte] = to;
        return to;
    }
    edge = place_of(x, from, byte);
    *edge = (struct edge){from << 8 | byte, to};
    return to;
}

/* Making ------------------------------------------------------------------------------------------
 */

struct piece {
    const char *at;
    size_t n;
};

/* What has to stand in a text that matches: all of it, or the longest run without '*'. */
static struct piece piece_of(const struct rule *r)
{
    struct piece best = {r->pattern, 0};

    if (r->field == RULE_KEYWORD || r->field == RULE_PACKAGE)
        return (struct piece){r->pattern, strlen(r->pattern)};
    for (const char *c = r->pattern; *c;) {
        size_t n = strcspn(c, "*");

        if (n > best.n)
            best = (struct piece){c, n};
        c += n + (c[n] == '*');
    }
    return best;
}

static void add_rule(struct rules_index *x, enum rule_list list, size_t number)
{
    const struct rule *r = &rules_list(x->rules, list)[number];
    struct piece piece = piece_of(r);
    uint32_t state = ROOT;

    if (!piece.n) {
        note(r->field == RULE_MODULE ? &x->any_module : &x->any_name, list, (uint16_t)number);
        return;
    }
    for (size_t i = 0; i < piece.n; i++)
        state = make_state(x, state, fold(piece.at[i]));
    if (r->field == RULE_KEYWORD) {
        note(&x->states[state].keyword, list, (uint16_t)number);
        return;
    }
    x->entries[x->n_entries++] = (struct entry){.next = x->states[state].entries,
                                                .number = (uint16_t)number,
                                                .list = (uint8_t)list,
                                                .whole = !r->pattern[piece.n]};
    x->states[state].entries = (uint32_t)x->n_entries;
}

/* Where the automaton goes on from a state whose edges have no such byte. */
static uint32_t fail_to(const struct rules_index *x, uint32_t from, unsigned char byte)
{
    uint32_t to;

    while (!(to = next_state(x, from, byte)) && from != ROOT)
        from = x->states[from].fail;
    return to;
}

static void link_state(struct rules_index *x, uint32_t number)
{
    struct state *s = &x->states[number];
    const struct state *fail;

    s->fail = s->parent == ROOT ? ROOT : fail_to(x, x->states[s->parent].fail, s->byte);
    fail = &x->states[s->fail];
    s->suffix = fail->entries ? s->fail : fail->suffix;
    note_all(&s->keyword, fail->keyword.first);
}

/* Shorter ones first: a state's links are those of shorter ones, and more. */
static bool link_states(struct rules_index *x)
{
    size_t from[RULES_TEXT_MAX + 2] = {0};
    uint32_t *order = calloc(x->n_states, sizeof *order);

    if (!order)
        return false;
    for (size_t i = 0; i < x->n_states; i++)
        from[x->states[i].depth + 1]++;
    for (size_t d = 1; d < RULES_TEXT_MAX + 2; d++)
        from[d] += from[d - 1];
    for (size_t i = 0; i < x->n_states; i++)
        order[from[x->states[i].depth]++] = (uint32_t)i;
    for (size_t i = 1; i < x->n_states; i++)
        link_state(x, order[i]);
    free(order);
    return true;
}

static bool reserve(struct rules_index *x)
{
    size_t states = 1, entries = 0;

    for (enum rule_list list = 0; list < RULE_LISTS; list++)
        for (size_t i = 0; i < rules_count(x->rules, list); i++) {
            states += piece_of(&rules_list(x->rules, list)[i]).n;
            entries++;
        }
    x->places = 16;
    while (x->places < 2 * states)
        x->places *= 2;
    x->states = calloc(states, sizeof *x->states);
    x->edges = calloc(x->places, sizeof *x->edges);
    x->entries = calloc(entries + 1, sizeof *x->entries);
    return x->states && x->edges && x->entries;
}

bool rules_index_new(const struct rules *rules, uint64_t steps, struct rules_index **out,
                     struct err *err)
{
    struct rules_index *x = calloc(1, sizeof *x);

    if (x) {
        x->rules = rules;
        x->limit = steps;
    }
    if (!x || !reserve(x)) {
        rules_index_free(x);
        return err_memory(err);
    }
    x->any_module = x->any_name = x->states[ROOT].keyword = no_hits;
    x->n_states = 1;
    for (enum rule_list list = 0; list < RULE_LISTS; list++)
        for (size_t i = 0; i < rules_count(rules, list); i++)
            add_rule(x, list, i);
    if (!link_states(x)) {
        rules_index_free(x);
        return err_memory(err);
    }
    *out = x;
    return true;
}

void rules_index_free(struct rules_index *x)
{
    if (!x)
        return;
    free(x->states);
    free(x->edges);
    free(x->entries);
    free(x);
}

/* Finding -----------------------------------------------------------------------------------------
 */

enum text { OF_MODULE, OF_FILE, OF_NAME };

struct walk {
    struct rules_index *x;
    const struct rule_target *t;
    struct rule_hits *hits;
    enum text of;
    const char *text;
    size_t base; /* where rules of its kind begin: at a module's last part */
};

static bool spent(const struct rules_index *x)
{
    return x->steps > x->limit;
}

/* A pattern without '*', all of which stands in the text before `end`. */
static bool is_whole(const struct walk *w, const struct rule *r, size_t length, size_t end)
{
    w->x->steps += length;
    if (end - length != w->base)
        return false;
    if (r->field == RULE_PACKAGE)
        return rule_matches(r, w->t);
    return !w->text[end] && (r->field == RULE_MODULE || memcmp(w->text, r->pattern, length) == 0);
}

static bool entry_matches(const struct walk *w, const struct entry *e, const struct rule *r,
                          size_t length, size_t end)
{
    if ((r->field == RULE_MODULE) != (w->of == OF_MODULE))
        return false;
    if (e->whole)
        return is_whole(w, r, length, end);
    return rule_glob(r->pattern, w->text + w->base, r->field == RULE_MODULE, &w->x->steps);
}

static void try_entries(const struct walk *w, const struct state *s, size_t end)
{
    struct rules_index *x = w->x;

    for (uint32_t at = s->entries; at && !spent(x); at = x->entries[at - 1].next) {
        struct entry *e = &x->entries[at - 1];

        x->steps++;
        if (!e->whole && e->tried == x->texts)
            continue;
        e->tried = x->texts;
        if (e->number < w->hits->first[e->list] &&
            entry_matches(w, e, &rules_list(x->rules, e->list)[e->number], s->depth, end))
            w->hits->first[e->list] = e->number;
    }
}

static void note_state(const struct walk *w, uint32_t state, size_t end)
{
    const struct state *states = w->x->states;

    note_all(w->hits, states[state].keyword.first);
    if (w->of == OF_FILE)
        return;
    if (!states[state].entries)
        state = states[state].suffix;
    for (; state != ROOT && !spent(w->x); state = states[state].suffix) {
        w->x->steps++;
        try_entries(w, &states[state], end);
    }
}

static void walk(struct rules_index *x, const struct rule_target *t, enum text of, const char *text,
                 struct rule_hits *hits)
{
    struct walk w = {x, t, hits, of, text, 0};
    uint32_t state = ROOT, to;

    x->texts++;
    if (of == OF_MODULE)
        w.base = (size_t)(rule_module_base(text) - text);
    for (size_t i = 0; text[i] && !spent(x); i++) {
        unsigned char byte = fold(text[i]);

        x->steps++;
        while (!(to = next_state(x, state, byte)) && state != ROOT) {
            x->steps++;
            state = x->states[state].fail;
        }
        state = to;
        if (state != ROOT)
            note_state(&w, state, i + 1);
    }
}

void rules_index_find(struct rules_index *x, const struct rule_target *t, struct rule_hits *out)
{
    *out = no_hits;
    if (*t->module)
        note_all(out, x->any_module.first);
    if (t->name)
        note_all(out, x->any_name.first);
    if (x->n_states == 1)
        return;
    walk(x, t, OF_MODULE, t->module, out);
    walk(x, t, OF_FILE, t->file, out);
    if (t->name)
        walk(x, t, OF_NAME, t->name, out);
}

uint64_t rules_index_steps(const struct rules_index *x)
{
    return x->steps;
}

bool rules_index_check(const struct rules_index *x, struct err *err)
{
    return !spent(x) || err_set(err, ERR_WORK,
                                "holding the rules against the stacks takes more than %llu steps:"
                                " use fewer rules with '*'",
                                (unsigned long long)x->limit);
}
