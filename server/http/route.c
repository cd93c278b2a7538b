#include "server/http/route.h"

#include "server/http/metrics.h"
#include "server/http/uri.h"

#include <stdio.h>
#include <string.h>

bool routes_add(struct routes *r, const struct route *at, size_t n)
{
    if (r->n == ROUTE_TABLES_MAX)
        return false;

    struct route_table *table = &r->table[r->n++];

    *table = (struct route_table){at, n, 0};
    for (size_t i = 0; i < n; i++) {
        unsigned metric = metric_route(at[i].name);

        if (i == 0)
            table->first_metric = metric;
    }
    return true;
}

/* Compares up to the next '/' of both; a "{…}" takes any segment that is not empty. */
static bool match_segment(const char **pattern, const char **path, const char **at, size_t *len)
{
    size_t p = strcspn(*pattern, "/"), s = strcspn(*path, "/");
    bool variable = **pattern == '{';

    *at = variable ? *path : NULL;
    *len = s;
    if (variable ? s == 0 : (p != s || memcmp(*pattern, *path, s) != 0))
        return false;
    *pattern += p;
    *path += s;
    return true;
}

static bool match(const char *pattern, const char *path, char *scratch,
                  const char *param[REQ_MAX_PARAMS])
{
    size_t n = 0;

    while (*pattern == '/' && *path == '/') {
        const char *at;
        size_t len;

        pattern++;
        path++;
        if (!match_segment(&pattern, &path, &at, &len))
            return false;
        if (!at)
            continue;
        if (n == REQ_MAX_PARAMS)
            return false;
        memcpy(scratch, at, len);
        scratch[len] = '\0';
        if (!percent_decode(scratch, false))
            return false;
        param[n++] = scratch;
        scratch += len + 1;
    }
    return !*pattern && !*path;
}

static const struct route *find(const struct routes *r, const char *method, const char *path,
                                char *scratch, struct route_match *out)
{
    for (size_t t = 0; t < r->n; t++)
        for (size_t i = 0; i < r->table[t].n; i++) {
            const struct route *route = &r->table[t].at[i];

            if (strcmp(route->method, method) == 0 &&
                match(route->pattern, path, scratch, out->param)) {
                out->metric = r->table[t].first_metric + (unsigned)i;
                return route;
            }
        }
    return NULL;
}

static void list_methods(const struct routes *r, const char *path, char *scratch,
                         struct route_match *out)
{
    for (size_t t = 0; t < r->n; t++)
        for (size_t i = 0; i < r->table[t].n; i++) {
            const struct route *route = &r->table[t].at[i];
            size_t at = strlen(out->allow);

            if (match(route->pattern, path, scratch, out->param))
                snprintf(out->allow + at, sizeof out->allow - at, "%s%s", at ? ", " : "",
                         route->method);
        }
}

void routes_find(const struct routes *r, const char *method, const char *path, char *scratch,
                 struct route_match *out)
{
    memset(out, 0, sizeof *out);
    out->route = find(r, method, path, scratch, out);
    if (!out->route && strcmp(method, "HEAD") == 0)
        out->route = find(r, "GET", path, scratch, out);
    if (!out->route)
        list_methods(r, path, scratch, out);
}
