#include "symbols/strings.h"

#include <string.h>

#define BLOCK_BYTES (64u << 10)
#define FIRST_SLOTS 1024u

struct strings_block {
    struct strings_block *next;
    size_t used, size;
    char bytes[];
};

/* Eight bytes a step: names are long, and hashing them is much of what indexing does. */
static uint32_t hash_of(const char *at, size_t len)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ len;

    for (; len >= 8; at += 8, len -= 8) {
        uint64_t w;

        memcpy(&w, at, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }

    uint64_t w = 0;

    memcpy(&w, at, len);
    h = (h ^ w) * 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(h ^ h >> 32);
}

bool strings_init(struct strings *s, struct mem *mem, struct work *work)
{
    *s = (struct strings){.mem = mem, .work = work};
    s->slots = mem_alloc(mem, FIRST_SLOTS, sizeof *s->slots);
    s->n_slots = FIRST_SLOTS;
    if (!s->slots || !VEC_ROOM(mem, &s->all, 1))
        return false;
    s->all.at[s->all.n++] = (struct strings_entry){"", 0, 0};
    return true;
}

void strings_fini(struct strings *s)
{
    if (!s->mem)
        return;
    VEC_FREE(s->mem, &s->all);
    mem_free(s->mem, s->slots);
    while (s->blocks) {
        struct strings_block *next = s->blocks->next;

        mem_free(s->mem, s->blocks);
        s->blocks = next;
    }
    *s = (struct strings){0};
}

static void put_slot(uint32_t *slots, size_t n, uint32_t hash, uint32_t number)
{
    size_t i = hash & (n - 1);

    while (slots[i])
        i = (i + 1) & (n - 1);
    slots[i] = number;
}

static bool grow_slots(struct strings *s)
{
    size_t n = s->n_slots * 2;
    uint32_t *slots = mem_alloc(s->mem, n, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 1; i < s->all.n; i++)
        put_slot(slots, n, s->all.at[i].hash, (uint32_t)i);
    mem_free(s->mem, s->slots);
    s->slots = slots;
    s->n_slots = n;
    return true;
}

static const char *copy(struct strings *s, const char *at, size_t len)
{
    struct strings_block *b = s->blocks;

    if (!b || b->size - b->used < len + 1) {
        size_t size = len + 1 > BLOCK_BYTES ? len + 1 : BLOCK_BYTES;

        b = mem_alloc(s->mem, 1, sizeof *b + size);
        if (!b)
            return NULL;
        b->size = size;
        b->next = s->blocks;
        s->blocks = b;
    }

    char *p = b->bytes + b->used;

    memcpy(p, at, len);
    p[len] = '\0';
    b->used += len + 1;
    return p;
}

static uint32_t insert(struct strings *s, const char *at, size_t len, uint32_t hash, bool owned)
{
    if (s->all.n >= UINT32_MAX || !VEC_ROOM(s->mem, &s->all, 1) ||
        (2 * s->all.n >= s->n_slots && !grow_slots(s)))
        return 0;
    if (owned && !(at = copy(s, at, len)))
        return 0;

    uint32_t number = (uint32_t)s->all.n;

    s->all.at[s->all.n++] = (struct strings_entry){at, (uint32_t)len, hash};
    put_slot(s->slots, s->n_slots, hash, number);
    return number;
}

static uint32_t add(struct strings *s, const char *at, size_t len, bool owned)
{
    if (len > STRING_BYTES_MAX)
        len = STRING_BYTES_MAX;
    if (len == 0 || !work_spend(s->work, 1 + len / 16))
        return 0;

    uint32_t hash = hash_of(at, len);

    for (size_t i = hash & (s->n_slots - 1); s->slots[i]; i = (i + 1) & (s->n_slots - 1)) {
        const struct strings_entry *e = &s->all.at[s->slots[i]];

        if (e->hash == hash && e->len == len && memcmp(e->at, at, len) == 0)
            return s->slots[i];
        if (!work_spend(s->work, 1))
            return 0;
    }
    return insert(s, at, len, hash, owned);
}

uint32_t strings_add(struct strings *s, const char *at, size_t len)
{
    return add(s, at, len, false);
}

uint32_t strings_copy(struct strings *s, const char *at, size_t len)
{
    return add(s, at, len, true);
}

uint32_t strings_add_name(struct strings *s, const char *name)
{
    const char *revealed = hidden_names_reveal(s->hidden, name);

    return strings_add(s, revealed, strnlen(revealed, STRING_BYTES_MAX));
}
