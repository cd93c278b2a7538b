/*
 * reconcile: brings one ticket to the state it is wanted in, step by step. What a step did is
 * stored at once, in a transaction of its own, so that the next attempt, after whatever broke this
 * one off, goes on from there:
 *
 *   find by marker, else create   external id
 *   reopen, if the family is back and a person closed it
 *   text                          hash of what it shows
 *   comments, each once
 *
 * Before a step that must not happen twice it is stored that it begins. If its answer was lost, the
 * next attempt looks in the tracker whether it happened.
 */
#pragma once
#include "server/notify/send.h"

struct reconcile {
    struct sending *sending;
    struct db *db;
    int64_t clock_offset_ms;
    int64_t look_ms; /* until a ticket's state is read again */
};

/* False for faults of the database; *out tells the rest. `look_only`: read the state, change
 * nothing in the tracker. */
bool reconcile_ticket(struct reconcile *r, const char *key, bool look_only, struct outcome *out,
                      struct err *err) MUST_CHECK;
