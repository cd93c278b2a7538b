#include "server/http/block.h"

#include "server/http/metrics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct block_pool {
    size_t n;
    unsigned char *map;
    struct block *all;
    pthread_mutex_t lock; /* guards the fields below */
    struct block *free;
    size_t n_free;
    struct block_waiter *first, **last;
};

struct block_pool *block_pool_new(size_t bytes, struct err *err)
{
    struct block_pool *p = calloc(1, sizeof *p);
    size_t n = bytes / BLOCK_BYTES;

    if (p && n)
        p->all = calloc(n, sizeof *p->all);
    if (!p || !p->all) {
        free(p);
        err_memory(err);
        return NULL;
    }
    p->map =
        mmap(NULL, n * BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->map == MAP_FAILED) {
        free(p->all);
        free(p);
        err_memory(err);
        return NULL;
    }
    p->n = p->n_free = n;
    p->last = &p->first;
    pthread_mutex_init(&p->lock, NULL);
    /* the first ones are handed out again and again: little memory is touched under little load */
    for (size_t i = n; i > 0; i--) {
        p->all[i - 1] = (struct block){.next = p->free, .bytes = p->map + (i - 1) * BLOCK_BYTES};
        p->free = &p->all[i - 1];
    }
    gauge_set(GAUGE_blocks_total, (int64_t)n);
    return p;
}

void block_pool_free(struct block_pool *p)
{
    if (!p)
        return;
    munmap(p->map, p->n * BLOCK_BYTES);
    pthread_mutex_destroy(&p->lock);
    free(p->all);
    free(p);
}

/* With the lock held. */
static struct block *take(struct block_pool *p)
{
    struct block *b = p->free;

    if (!b)
        return NULL;
    p->free = b->next;
    p->n_free--;
    b->next = NULL;
    b->len = 0;
    return b;
}

static struct block *counted(struct block *b)
{
    if (b)
        gauge_add(GAUGE_blocks_used, 1);
    return b;
}

struct block *block_take(struct block_pool *p)
{
    pthread_mutex_lock(&p->lock);
    struct block *b = take(p);
    pthread_mutex_unlock(&p->lock);
    return counted(b);
}

struct block *block_take_n(struct block_pool *p, size_t n)
{
    struct block *list = NULL;

    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; p->n_free + i >= n && i < n; i++) {
        struct block *b = take(p);

        b->next = list;
        list = b;
    }
    pthread_mutex_unlock(&p->lock);
    if (list)
        gauge_add(GAUGE_blocks_used, (int64_t)n);
    return list;
}

struct block *block_take_or_wait(struct block_pool *p, struct block_waiter *w)
{
    pthread_mutex_lock(&p->lock);
    struct block *b = take(p);

    if (!b) {
        w->next = NULL;
        *p->last = w;
        p->last = &w->next;
    }
    pthread_mutex_unlock(&p->lock);
    return counted(b);
}

/* With the lock held: as many waiters as there are blocks for. */
static struct block_waiter *wake(struct block_pool *p, size_t n)
{
    struct block_waiter *list = p->first, **end = &list;

    while (*end && n--)
        end = &(*end)->next;
    p->first = *end;
    *end = NULL;
    if (!p->first)
        p->last = &p->first;
    return list;
}

void block_give(struct block_pool *p, struct block **list)
{
    size_t n = 0;

    if (!*list)
        return;
    pthread_mutex_lock(&p->lock);
    while (*list) {
        struct block *b = *list;

        *list = b->next;
        b->next = p->free;
        p->free = b;
        n++;
    }
    p->n_free += n;
    struct block_waiter *ready = p->first ? wake(p, n) : NULL;
    pthread_mutex_unlock(&p->lock);
    gauge_add(GAUGE_blocks_used, -(int64_t)n);
    while (ready) {
        struct block_waiter *next = ready->next;

        ready->ready(ready);
        ready = next;
    }
}

bool block_roomy(struct block_pool *p)
{
    pthread_mutex_lock(&p->lock);
    bool roomy = p->n_free > p->n / 8;
    pthread_mutex_unlock(&p->lock);
    return roomy;
}
