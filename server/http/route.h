/*
 * route: finds the route of a request. Pure. Tables are small, so it is a walk over them.
 */
#pragma once
#include "server/http/req.h"

#define ROUTE_TABLES_MAX 4

struct route_table {
    const struct route *at;
    size_t n;
    unsigned first_metric; /* metric_route() of its first entry; the others follow */
};

struct routes {
    size_t n;
    struct route_table table[ROUTE_TABLES_MAX];
};

struct route_match {
    const struct route *route; /* NULL: no route with this method */
    unsigned metric;
    char allow[64];                    /* methods of the path, "" if nothing has it */
    const char *param[REQ_MAX_PARAMS]; /* into `scratch`, decoded */
};

/* Registers the table's metrics as well. False if there are too many tables. */
bool routes_add(struct routes *r, const struct route *at, size_t n);
/* `scratch` takes the path's parameters and holds strlen(path) + 1. A HEAD finds the GET route if
 * there is none of its own. */
void routes_find(const struct routes *r, const char *method, const char *path, char *scratch,
                 struct route_match *out);
