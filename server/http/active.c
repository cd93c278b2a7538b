#include "server/http/active.h"

#include "server/http/metrics.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 1024 /* power of 2 */

struct active {
    struct active_calls calls;
    pthread_mutex_t lock; /* guards the buckets and all nodes in them */
    struct active_node *bucket[BUCKETS];
};

struct active *active_new(struct active_calls calls)
{
    struct active *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->calls = calls;
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

void active_free(struct active *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Ids are hashes already. */
static struct active_node **place(struct active *a, const struct upload_key *key)
{
    struct active_node **at = &a->bucket[(key->id[0] | key->id[1] << 8) & (BUCKETS - 1)];

    while (*at && upload_key_compare(&(*at)->key, key) != 0)
        at = &(*at)->next;
    return at;
}

static void hold(struct active_node **at, struct active_node *node)
{
    node->next = *at;
    *at = node;
    node->holding = true;
    node->ending = false;
}

/* With the lock held. */
static bool try_enter(struct active *a, struct active_node *node)
{
    struct active_node **at = place(a, &node->key);

    node->waiting = NULL;
    node->superseded = false;
    if (*at)
        return false;
    if (node->sends)
        hold(at, node);
    return true;
}

bool active_try(struct active *a, struct active_node *node)
{
    pthread_mutex_lock(&a->lock);
    bool ok = try_enter(a, node);
    pthread_mutex_unlock(&a->lock);
    return ok;
}

/* With the lock held: waits behind the holder; the sender it displaces is returned. */
static struct active_node *wait_behind(struct active_node *holder, struct active_node *node)
{
    struct active_node **at = &holder->waiting, *displaced = NULL;

    while (*at) {
        if (node->sends && (*at)->sends) {
            displaced = *at;
            *at = displaced->next;
            displaced->superseded = true;
        } else {
            at = &(*at)->next;
        }
    }
    node->next = NULL;
    *at = node;
    if (!displaced)
        gauge_add(GAUGE_upload_waiting, 1);
    return displaced;
}

bool active_enter(struct active *a, struct active_node *node)
{
    struct active_node *displaced = NULL;

    pthread_mutex_lock(&a->lock);
    bool ok = try_enter(a, node);

    if (!ok) {
        struct active_node *holder = *place(a, &node->key);

        displaced = wait_behind(holder, node);
        if (!holder->ending) {
            holder->ending = true;
            a->calls.end(holder);
            metric_add(COUNT_newcomers, 1);
        }
    }
    pthread_mutex_unlock(&a->lock);
    if (displaced)
        a->calls.resume(displaced);
    return ok;
}

void active_settle(struct active *a, struct active_node *node)
{
    pthread_mutex_lock(&a->lock);
    node->ending = true;
    pthread_mutex_unlock(&a->lock);
}

/* With the lock held: those who wait, apart from the sender, who holds from now on. */
static struct active_node *hand_over(struct active *a, struct active_node *node,
                                     struct active_node **sender)
{
    struct active_node *others = NULL, **end = &others;

    *place(a, &node->key) = node->next;
    node->holding = false;
    for (struct active_node *n = node->waiting, *next; n; n = next) {
        next = n->next;
        n->next = NULL;
        gauge_add(GAUGE_upload_waiting, -1);
        if (n->sends) {
            *sender = n;
        } else {
            *end = n;
            end = &n->next;
        }
    }
    node->waiting = NULL;
    if (*sender)
        hold(place(a, &node->key), *sender);
    return others;
}

void active_leave(struct active *a, struct active_node *node)
{
    struct active_node *others = NULL, *sender = NULL;

    pthread_mutex_lock(&a->lock);
    if (node->holding)
        others = hand_over(a, node, &sender);
    pthread_mutex_unlock(&a->lock);
    while (others) {
        struct active_node *next = others->next; /* gone once it is resumed */

        a->calls.resume(others);
        others = next;
    }
    if (sender)
        a->calls.resume(sender);
}
