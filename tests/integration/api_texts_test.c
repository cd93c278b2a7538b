/* Texts that requests bring: no control character gets in by any of them. The API's document says
 * which there are, so a new one that is not tried here fails. */
#include "support/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#define SESSION "/v1/sessions/00000000000000000000000000000007"
#define FAMILY "/v1/families/00000000000000000000000000000007"
#define BUILD(name, before)                                                                        \
    "{" before "\"platform\":\"linux\",\"version_code\":1,\"" name "\":\"a@b\"}"
#define NAMED "\"version_name\":\"1\","
#define FRAME(name) "{\"reason\":\"r\",\"stack\":[{\"" name "\":\"a@b\"}]}"
#define CHANNEL(more) "{\"name\":\"c\",\"kind\":\"webhook\"," more "}"
#define SECRETS "\"secrets\":{\"url\":\"http://127.0.0.1:9/\",\"key\":\"a@b\"}"
#define RULE(list, more)                                                                           \
    "{\"version\":0,\"" list "\":[{\"field\":\"module\",\"pattern\":\"a@b\"" more "}]}"
#define OWNER                                                                                      \
    "{\"version\":0,\"owners\":[{\"field\":\"module\",\"pattern\":\"m\",\"owner\":\"a@b\"}]}"
#define MODEL(name, more) "{\"items\":[{" more "\"" name "\":\"a@b\"}]}"

static const struct text {
    const char *method, *path;
    const char *described; /* the path in the document */
    const char *where;     /* in the body's schema */
    const char *body;      /* @: the place of the character */
    const char *field;     /* as a problem names it */
    bool prose;            /* line ends and tabs may be in it */
} texts[] = {
    {"POST", SESSION "/crashes", "/v1/sessions/{id}/crashes", ".reason", "{\"reason\":\"a@b\"}",
     "reason", true},
    {"POST", SESSION "/crashes", "/v1/sessions/{id}/crashes", ".stack[].text", FRAME("text"),
     "stack.text", false},
    {"POST", SESSION "/crashes", "/v1/sessions/{id}/crashes", ".stack[].module", FRAME("module"),
     "stack.module", false},
    {"POST", SESSION "/feedback", "/v1/sessions/{id}/feedback", ".text", "{\"text\":\"a@b\"}",
     "text", true},
    {"POST", SESSION "/feedback", "/v1/sessions/{id}/feedback", ".category",
     "{\"text\":\"t\",\"category\":\"a@b\"}", "category", false},
    {"POST", "/v1/builds", NULL, ".version_name", BUILD("version_name", ""), "version_name", false},
    {"POST", "/v1/builds", NULL, ".build_uid", BUILD("build_uid", NAMED), "build_uid", false},
    {"POST", "/v1/builds", NULL, ".package", BUILD("package", NAMED), "package", false},
    {"POST", "/v1/builds", NULL, ".git_commit", BUILD("git_commit", NAMED), "git_commit", false},
    {"POST", "/v1/builds", NULL, ".mapping_id", BUILD("mapping_id", NAMED), "mapping_id", false},
    {"PUT", "/v1/config", NULL, ".scenes[]", "{\"scenes\":[\"a@b\"]}", "scenes", false},
    {"POST", "/v1/channels", NULL, ".name", "{\"name\":\"a@b\",\"kind\":\"webhook\"}", "name",
     false},
    {"POST", "/v1/channels", NULL, ".filter.tiers[]", CHANNEL("\"filter\":{\"tiers\":[\"a@b\"]}"),
     "filter.tiers", false},
    {"POST", "/v1/channels", NULL, ".filter.metrics[]",
     CHANNEL("\"filter\":{\"metrics\":[\"a@b\"]}"), "filter.metrics", false},
    {"POST", "/v1/channels", NULL, ".secrets{}", CHANNEL(SECRETS), "secrets.key", false},
    {"PUT", "/v1/family-rules", NULL, ".note", "{\"version\":0,\"note\":\"a@b\"}", "note", true},
    {"PUT", "/v1/family-rules", NULL, ".include[].pattern", RULE("include", ""),
     "include[0].pattern", false},
    {"PUT", "/v1/family-rules", NULL, ".exclude[].pattern", RULE("exclude", ""),
     "exclude[0].pattern", false},
    {"PUT", "/v1/family-rules", NULL, ".ignore[].pattern", RULE("ignore", ""), "ignore[0].pattern",
     false},
    {"PUT", "/v1/family-rules", NULL, ".owners[].pattern", RULE("owners", ",\"owner\":\"o\""),
     "owners[0].pattern", false},
    {"PUT", "/v1/family-rules", NULL, ".owners[].owner", OWNER, "owners[0].owner", false},
    {"POST", FAMILY "/merge", "/v1/families/{id}/merge", ".note",
     "{\"into\":\"00000000000000000000000000000008\",\"note\":\"a@b\"}", "note", true},
    {"POST", FAMILY "/split", "/v1/families/{id}/split", ".note", "{\"depth\":5,\"note\":\"a@b\"}",
     "note", true},
    {"POST", "/v1/alerts/7/acknowledge", "/v1/alerts/{id}/acknowledge", ".note",
     "{\"note\":\"a@b\"}", "note", true},
    {"POST", "/v1/alerts/7/silence", "/v1/alerts/{id}/silence", ".note",
     "{\"days\":1,\"note\":\"a@b\"}", "note", true},
    {"PUT", "/v1/alert-rules", NULL, ".items[].metric",
     "{\"items\":[{\"tier\":0,\"metric\":\"a@b\",\"theta\":0.1,\"enabled\":true}]}", "metric",
     false},
    {"POST", "/v1/tiers/versions", NULL, ".note", "{\"tiers\":3,\"note\":\"a@b\"}", "note", true},
    {"PUT", "/v1/tiers/catalogue", NULL, ".items[].manufacturer",
     MODEL("manufacturer", "\"model\":\"m\","), "manufacturer", false},
    {"PUT", "/v1/tiers/catalogue", NULL, ".items[].model",
     MODEL("model", "\"manufacturer\":\"m\","), "model", false},
    {"PUT", "/v1/tiers/catalogue", NULL, ".items[].soc",
     MODEL("soc", "\"manufacturer\":\"m\",\"model\":\"m\","), "soc", false},
};
#define TEXTS (sizeof texts / sizeof *texts)

/* Those whose bodies are read by the same functions as another's, and what nobody is ever shown. */
static const struct {
    const char *method, *path, *where; /* where "": all of it */
} others[] = {
    {"PUT", "/v1/channels/{id}", ""},
    {"POST", "/v1/family-rules/preview", ""},
    {"POST", "/v1/erasures", ".install"},
};

static const struct api_answer *send_with(struct api *api, const struct text *t,
                                          const char *character)
{
    const char *at = strchr(t->body, '@');
    char body[512];

    snprintf(body, sizeof body, "%.*s%s%s", (int)(at - t->body), t->body, character, at + 1);
    return api_send(api, (struct api_call){.method = t->method,
                                           .path = t->path,
                                           .key = api->key[0][ROLE_ADMIN],
                                           .body = body});
}

static bool is_refused(const struct api_answer *a, const struct text *t)
{
    const char *field = json_string_value(json_object_get(a->json, "field"));

    return a->status == 400 && field && strcmp(field, t->field) == 0;
}

static void control_characters_are_refused_in_every_text(void **state)
{
    static const char *const characters[] = {"\\u0001", "\\u001b", "\\u007f", "\\u0080", "\\u009f"};
    static const char *const line_ends[] = {"\\n", "\\r", "\\t"};
    struct api *api = *state;

    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t k = 0; k < sizeof characters / sizeof *characters; k++) {
            const struct api_answer *a = send_with(api, &texts[i], characters[k]);

            if (!is_refused(a, &texts[i]))
                fail_msg("%s%s took %s: %d %.*s", texts[i].path, texts[i].where, characters[k],
                         a->status, (int)a->len, (const char *)a->body);
        }
        for (size_t k = 0; k < sizeof line_ends / sizeof *line_ends; k++) {
            const struct api_answer *a = send_with(api, &texts[i], line_ends[k]);

            if (is_refused(a, &texts[i]) == texts[i].prose)
                fail_msg("%s%s and %s: %d %.*s", texts[i].path, texts[i].where, line_ends[k],
                         a->status, (int)a->len, (const char *)a->body);
        }
    }
}

/* Completeness -----------------------------------------------------------------------------------
 */

static bool is_tried(const char *method, const char *path, const char *where)
{
    for (size_t i = 0; i < TEXTS; i++)
        if (strcasecmp(texts[i].method, method) == 0 && strcmp(texts[i].where, where) == 0 &&
            strcmp(texts[i].described ? texts[i].described : texts[i].path, path) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(others[i].method, method) == 0 && strcmp(others[i].path, path) == 0 &&
            (!*others[i].where || strcmp(others[i].where, where) == 0))
            return true;
    return false;
}

static const json_t *resolve(const json_t *doc, const json_t *schema)
{
    const char *ref;

    while ((ref = json_string_value(json_object_get(schema, "$ref"))) != NULL) {
        schema = doc;
        for (const char *at = ref + 2; *at; at += strcspn(at, "/"), at += *at == '/')
            schema = json_object_getn(schema, at, strcspn(at, "/"));
    }
    return schema;
}

static bool has_type(const json_t *schema, const char *type)
{
    const json_t *t = json_object_get(schema, "type"), *one;
    size_t i;

    if (json_is_string(t))
        return strcmp(json_string_value(t), type) == 0;
    json_array_foreach((json_t *)(uintptr_t)t, i,
                       one) if (strcmp(json_string_value(one), type) == 0) return true;
    return false;
}

/* Any text: one that is not told apart by a pattern, a format or a list of values. */
static bool is_free_text(const json_t *schema)
{
    return has_type(schema, "string") && !json_object_get(schema, "enum") &&
           !json_object_get(schema, "const") && !json_object_get(schema, "pattern") &&
           !json_object_get(schema, "format");
}

struct walk {
    const json_t *doc;
    const char *method, *path;
    unsigned found;
};

static void look_at(struct walk *w, const json_t *schema, const char *where)
{
    static const char *const inside[] = {"allOf", "oneOf", "anyOf"};
    const json_t *s = resolve(w->doc, schema);
    const char *name;
    json_t *member;
    char below[256];
    size_t i;

    if (is_free_text(s)) {
        w->found++;
        if (!is_tried(w->method, w->path, where))
            fail_msg("%s %s%s is a text that no test here tries", w->method, w->path, where);
    }
    for (size_t k = 0; k < 3; k++)
        json_array_foreach(json_object_get(s, inside[k]), i, member) look_at(w, member, where);
    json_object_foreach(json_object_get(s, "properties"), name, member)
    {
        snprintf(below, sizeof below, "%s.%s", where, name);
        look_at(w, member, below);
    }
    if (json_object_get(s, "items")) {
        snprintf(below, sizeof below, "%s[]", where);
        look_at(w, json_object_get(s, "items"), below);
    }
    if (json_is_object(json_object_get(s, "additionalProperties"))) {
        snprintf(below, sizeof below, "%s{}", where);
        look_at(w, json_object_get(s, "additionalProperties"), below);
    }
}

static void every_text_of_a_request_that_the_document_names_is_tried(void **state)
{
    struct api *api = *state;
    struct walk w = {.doc = api->doc};
    json_t *operations, *operation;

    json_object_foreach(json_object_get(api->doc, "paths"), w.path, operations)
        json_object_foreach(operations, w.method, operation)
    {
        const json_t *body = resolve(api->doc, json_object_get(operation, "requestBody")),
                     *json = json_object_get(json_object_get(body, "content"), "application/json");

        if (json)
            look_at(&w, json_object_get(json, "schema"), "");
    }
    assert_in_range(w.found, TEXTS, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(control_characters_are_refused_in_every_text, api_setup,
                                        api_teardown),
        cmocka_unit_test_setup_teardown(every_text_of_a_request_that_the_document_names_is_tried,
                                        api_setup, api_teardown),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
