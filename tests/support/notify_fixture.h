/*
 * notify_fixture: a database with an app, the services of support/services.h and a sender that the
 * test runs by hand, with a clock of its own: nothing waits for real time.
 *
 * The group needs pg_group_setup and pg_group_teardown. Single-threaded; failures are fail_msg().
 */
#pragma once
#include "server/notify/notifier.h"
#include "server/notify/notify.h"
#include "support/pg.h"
#include "support/services.h"

struct notify_fixture {
    char conninfo[PG_CONNINFO_BYTES];
    struct db *db;
    struct arena *mem;
    int64_t app;
    struct services services; /* as if just started; not to be stopped */
    struct seal_key key;
    struct notifier_config config;
    struct notifier_counts counts;
    char log[65536]; /* lines of the sender */
};

/* CMocka fixtures; *state is the fixture. */
int notify_setup(void **state);
int notify_teardown(void **state);

/* A channel; %s in settings and secrets is the services' base URL, at most once each. */
int64_t notify_channel(struct notify_fixture *f, const char *kind, const char *settings,
                       const char *secrets);
/* One of every tracker kind, right for services.py. */
int64_t notify_tracker(struct notify_fixture *f, const char *kind);

/* An alert as hundreds of tests want it; change what matters. */
struct notify_alert notify_sample(int64_t id, int64_t version, enum notify_state state);
void notify_hand_over(struct notify_fixture *f, const struct notify_alert *a);
void notify_want(struct notify_fixture *f, const struct ticket_want *w);

/* Sends what is due now, at the fixture's clock. */
void notify_send(struct notify_fixture *f);
/* The same, letting time pass until nothing waits. */
void notify_settle(struct notify_fixture *f);
void notify_pass(struct notify_fixture *f, int64_t seconds);

/* "state|status|error" of the newest delivery of a channel. */
void notify_expect(struct notify_fixture *f, int64_t channel, const char *like);
