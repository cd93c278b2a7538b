/*
 * services: services.py and Debian's prometheus-alertmanager as child processes on loopback, and
 * what tests ask and tell them. They die with the test program. Failures are fail_msg().
 * Single-threaded.
 */
#pragma once
#include "base/err.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

struct services {
    pid_t pid;
    int in; /* its standard input: it ends with it */
    char base[64];
};

void services_start(struct services *s);
void services_stop(struct services *s); /* twice is fine */

/* Answers of the control paths; the caller owns the tree. */
json_t *services_get(struct services *s, const char *path);
void services_post(struct services *s, const char *path, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Their base URL by https; *ca_file, which the caller removes, makes it trusted. */
void services_tls(struct services *s, char base[64], char ca_file[64]);

/* How many requests so far had this method and a path with that in it (NULL: any), and were carried
 * out. */
int services_done(struct services *s, const char *method, const char *path);
/* The last of them; the caller owns it. Fails if there is none. */
json_t *services_last(struct services *s, const char *method, const char *path);
/* Tickets of a tracker now. */
int services_tickets(struct services *s, const char *tracker);

struct alertmanager {
    pid_t pid;
    char folder[64], base[64];
    FILE *log; /* it writes a few lines only */
};

void alertmanager_start(struct alertmanager *a);
void alertmanager_stop(struct alertmanager *a);
/* GET /api/v2/alerts with that query ("active=true"); the caller owns it. */
json_t *alertmanager_alerts(struct alertmanager *a, const char *query);
