#include "support/api.h"
#include "support/openapi.h"

#include "server/api/api.h"
#include "server/http/exchange.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const json_t *operation(const json_t *doc, const struct route *route)
{
    char method[16] = "";

    for (size_t i = 0; route->method[i]; i++)
        method[i] = (char)(route->method[i] | 0x20);
    return json_object_get(json_object_get(json_object_get(doc, "paths"), route->pattern), method);
}

static void expect_described(const json_t *doc, const struct route *route)
{
    static const char *const role[] = {"", "Role: ingest or admin.", "Role: read or admin.",
                                       "Role: admin."};
    const json_t *op = operation(doc, route);
    const char *text = json_string_value(json_object_get(op, "description"));

    if (!op)
        fail_msg("%s %s is not described", route->method, route->pattern);
    if (!strstr(text ? text : "", role[route->role]))
        fail_msg("%s %s: the description does not say '%s'", route->method, route->pattern,
                 role[route->role]);
    /* open to all: no security; otherwise a key or a browser's cookie */
    assert_int_equal(json_array_size(json_object_get(op, "security")),
                     route->role != ROLE_NONE ? 2 : 0);
    if (strstr(route->pattern, "/v1/uploads"))
        return; /* bytes, whose limit is in the headers */
    if (!json_object_get(op, "requestBody") != !route->body_limit)
        fail_msg("%s %s: takes a body, or not", route->method, route->pattern);
}

static void describes_every_route_with_its_role(void **state)
{
    struct api *api = *state;

    for (size_t i = 0; i < api_routes_n; i++)
        expect_described(api->doc, &api_routes[i]);
    for (size_t i = 0; i < builtin_routes_n; i++)
        expect_described(api->doc, &builtin_routes[i]);
}

/* Whatever takes a key takes a browser's cookie in its place. */
static void names_key_and_cookie_wherever_one_is_needed(void **state)
{
    struct api *api = *state;
    const char *path, *method;
    json_t *item, *op;

    json_object_foreach(json_object_get(api->doc, "paths"), path, item)
        json_object_foreach(item, method, op)
    {
        const json_t *ways = json_object_get(op, "security");

        if (json_array_size(ways) == 0)
            continue;
        if (json_array_size(ways) != 2 || !json_object_get(json_array_get(ways, 0), "key") ||
            !json_object_get(json_array_get(ways, 1), "login"))
            fail_msg("%s %s: key or login", method, path);
    }
}

static bool is_route(const struct route *table, size_t n, const char *method, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(table[i].method, method) == 0 && strcmp(table[i].pattern, path) == 0)
            return true;
    return false;
}

static void describes_nothing_that_is_not_there(void **state)
{
    struct api *api = *state;
    const char *path, *method;
    json_t *item, *op;

    json_object_foreach(json_object_get(api->doc, "paths"), path, item)
        json_object_foreach(item, method, op)
    {
        if (!is_route(api_routes, api_routes_n, method, path) &&
            !is_route(builtin_routes, builtin_routes_n, method, path))
            fail_msg("%s %s is described but not there", method, path);
    }
}

static void serves_the_document_of_the_source(void **state)
{
    struct api *api = *state;

    api_send(api, (struct api_call){.method = "GET", .path = "/v1/openapi.json"});
    assert_int_equal(api->answer.status, 200);
    assert_true(json_equal(api->answer.json, api->doc));
}

/* Examples of the document are answers too: they keep its schemas. */
static size_t check_examples(const json_t *doc, json_t *node)
{
    const char *key;
    json_t *child;
    struct err err;
    size_t i, n = 0;

    if (json_object_get(node, "schema") && json_object_get(node, "example")) {
        if (!openapi_validate(doc, json_object_get(node, "schema"),
                              json_object_get(node, "example"), &err))
            fail_msg("an example breaks its schema: %s", err.text);
        return 1;
    }
    json_object_foreach(node, key, child) n += check_examples(doc, child);
    json_array_foreach(node, i, child) n += check_examples(doc, child);
    return n;
}

static void gives_examples_that_keep_their_schemas(void **state)
{
    struct api *api = *state;

    assert_true(check_examples(api->doc, api->doc) > 15);
}

/* The checker itself can fail: each of these breaks one rule. */
static void checks_answers_strictly(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"id\":\"x\",\"session\":\"00000000000000000000000000000007\",\"created\":true}",
        "{\"id\":7,\"session\":\"00000000000000000000000000000007\",\"created\":true}",
        "{\"id\":\"00000000000000000000000000000001\","
        "\"session\":\"00000000000000000000000000000007\",\"created\":\"yes\"}",
        "{\"id\":\"00000000000000000000000000000001\","
        "\"session\":\"00000000000000000000000000000007\",\"created\":true,\"more\":1}",
    };
    struct api *api = *state;
    struct err err;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *body = json_loads(bad[i], 0, NULL);

        assert_false(openapi_check(api->doc, "POST", "/v1/sessions/7/crashes", 201,
                                   "application/json", body, &err));
        json_decref(body);
    }
    assert_false(
        openapi_check(api->doc, "GET", "/v1/nothing", 200, "application/json", NULL, &err));
    assert_false(openapi_check(api->doc, "GET", "/v1/sessions", 204, "", NULL, &err));
    assert_false(openapi_check(api->doc, "GET", "/v1/sessions", 200, "text/html", NULL, &err));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(describes_every_route_with_its_role),
        TEST(names_key_and_cookie_wherever_one_is_needed),
        TEST(describes_nothing_that_is_not_there),
        TEST(serves_the_document_of_the_source),
        TEST(gives_examples_that_keep_their_schemas),
        TEST(checks_answers_strictly),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
