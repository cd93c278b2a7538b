#include "support/openapi.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_BYTES 160

struct check {
    const json_t *doc;
    struct err *err;
    char at[AT_BYTES]; /* path of the value in the answer */
};

static bool wrong(struct check *c, const char *what, const char *detail)
{
    return err_set(c->err, ERR_INVALID, "%s: %s %s", c->at[0] ? c->at : "/", what, detail);
}

json_t *openapi_load(const char *path)
{
    json_error_t why;
    json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, &why);

    if (!doc) {
        fprintf(stderr, "%s, line %d: %s\n", path, why.line, why.text);
        abort();
    }
    return doc;
}

static const json_t *resolve(const json_t *doc, const json_t *node)
{
    const char *ref = json_string_value(json_object_get(node, "$ref"));
    char name[128];

    if (!ref || strncmp(ref, "#/", 2) != 0)
        return node;
    node = doc;
    for (const char *at = ref + 2; node && *at;) {
        size_t n = strcspn(at, "/");

        snprintf(name, sizeof name, "%.*s", (int)n, at);
        node = json_object_get(node, name);
        at += n + (at[n] == '/');
    }
    return node;
}

static bool is_type(const char *type, const json_t *v)
{
    if (strcmp(type, "number") == 0)
        return json_is_number(v);
    if (strcmp(type, "integer") == 0)
        return json_is_integer(v);
    if (strcmp(type, "string") == 0)
        return json_is_string(v);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(v);
    if (strcmp(type, "array") == 0)
        return json_is_array(v);
    if (strcmp(type, "object") == 0)
        return json_is_object(v);
    return strcmp(type, "null") == 0 && json_is_null(v);
}

static bool check_type(struct check *c, const json_t *rule, const json_t *v)
{
    const json_t *one;
    size_t i;
    char *text;

    if (json_is_string(rule) && is_type(json_string_value(rule), v))
        return true;
    json_array_foreach(rule, i, one) if (is_type(json_string_value(one), v)) return true;
    text = json_dumps(rule, JSON_ENCODE_ANY);
    wrong(c, "is not of type", text);
    free(text);
    return false;
}

static bool check_enum(struct check *c, const json_t *rule, const json_t *v)
{
    const json_t *one;
    size_t i;

    json_array_foreach(rule, i, one) if (json_equal(one, v)) return true;
    return wrong(c, "is not in the enumeration:", json_is_string(v) ? json_string_value(v) : "");
}

static bool check_pattern(struct check *c, const char *pattern, const json_t *v)
{
    regex_t re;

    if (!json_is_string(v))
        return true;
    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return wrong(c, "the pattern cannot be read:", pattern);

    bool ok = regexec(&re, json_string_value(v), 0, NULL, 0) == 0;

    regfree(&re);
    return ok || wrong(c, "does not match", pattern);
}

static bool check_format(struct check *c, const char *format, const json_t *v)
{
    if (strcmp(format, "date-time") == 0)
        return check_pattern(
            c, "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$", v);
    if (strcmp(format, "date") == 0)
        return check_pattern(c, "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", v);
    return wrong(c, "format not understood:", format);
}

static bool check_size(struct check *c, const char *keyword, const json_t *rule, const json_t *v)
{
    double limit = json_number_value(rule), have;

    if (json_is_number(v) && strstr(keyword, "imum"))
        have = json_number_value(v);
    else if (json_is_array(v) && strstr(keyword, "Items"))
        have = (double)json_array_size(v);
    else if (json_is_string(v) && strstr(keyword, "Length"))
        have = (double)json_string_length(v);
    else
        return true;
    return (keyword[1] == 'i' ? have >= limit : have <= limit) || wrong(c, "breaks", keyword);
}

static bool check_value(struct check *c, const json_t *schema, const json_t *v);

static bool check_member(struct check *c, const json_t *schema, const char *name, const json_t *v)
{
    char before[AT_BYTES];

    memcpy(before, c->at, sizeof before);
    snprintf(c->at + strlen(c->at), sizeof c->at - strlen(c->at), "/%s", name);

    bool ok = check_value(c, schema, v);

    if (ok)
        memcpy(c->at, before, sizeof before);
    return ok;
}

static bool check_items(struct check *c, const json_t *schema, const json_t *v)
{
    const json_t *one;
    char name[24];
    size_t i;

    json_array_foreach(v, i, one)
    {
        snprintf(name, sizeof name, "%zu", i);
        if (!check_member(c, schema, name, one))
            return false;
    }
    return true;
}

static bool check_required(struct check *c, const json_t *rule, const json_t *v)
{
    const json_t *name;
    size_t i;

    json_array_foreach(
        rule, i, name) if (json_is_object(v) &&
                           !json_object_get(
                               v, json_string_value(name))) return wrong(c, "has no",
                                                                         json_string_value(name));
    return true;
}

/* properties and additionalProperties belong together. */
static bool check_members(struct check *c, const json_t *schema, const json_t *v)
{
    const json_t *known = json_object_get(schema, "properties");
    const json_t *rest = json_object_get(schema, "additionalProperties");
    const char *name;
    json_t *member;

    json_object_foreach((json_t *)v, name, member)
    {
        const json_t *rule = json_object_get(known, name);

        if (!rule && json_is_false(rest))
            return wrong(c, "has a member that is not described:", name);
        if (!rule && json_is_object(rest))
            rule = rest;
        if (rule && !check_member(c, rule, name, member))
            return false;
    }
    return true;
}

static bool check_any(struct check *c, const json_t *choices, const json_t *v)
{
    char before[AT_BYTES];
    const json_t *one;
    size_t i;

    memcpy(before, c->at, sizeof before);
    json_array_foreach(choices, i, one)
    {
        if (check_value(c, one, v))
            return true;
        memcpy(c->at, before, sizeof before);
    }
    return false; /* with the last choice's complaint */
}

static bool check_keyword(struct check *c, const json_t *schema, const char *keyword,
                          const json_t *rule, const json_t *v)
{
    static const char *const notes[] = {"description", "default", "example", NULL};
    static const char *const sizes[] = {"minimum",   "maximum",   "minItems", "maxItems",
                                        "minLength", "maxLength", NULL};

    for (const char *const *n = notes; *n; n++)
        if (strcmp(keyword, *n) == 0)
            return true;
    for (const char *const *n = sizes; *n; n++)
        if (strcmp(keyword, *n) == 0)
            return check_size(c, keyword, rule, v);
    if (strcmp(keyword, "type") == 0)
        return check_type(c, rule, v);
    if (strcmp(keyword, "enum") == 0)
        return check_enum(c, rule, v);
    if (strcmp(keyword, "pattern") == 0)
        return check_pattern(c, json_string_value(rule), v);
    if (strcmp(keyword, "format") == 0)
        return !json_is_string(v) || check_format(c, json_string_value(rule), v);
    if (strcmp(keyword, "required") == 0)
        return check_required(c, rule, v);
    if (strcmp(keyword, "properties") == 0 || strcmp(keyword, "additionalProperties") == 0)
        return check_members(c, schema, v);
    if (strcmp(keyword, "items") == 0)
        return check_items(c, rule, v);
    if (strcmp(keyword, "anyOf") == 0)
        return check_any(c, rule, v);
    return wrong(c, "keyword not understood:", keyword);
}

static bool check_value(struct check *c, const json_t *schema, const json_t *v)
{
    const json_t *rules = resolve(c->doc, schema);
    const char *keyword;
    json_t *rule;

    if (!rules)
        return wrong(c, "a $ref leads nowhere", "");
    json_object_foreach((json_t *)rules, keyword, rule)
    {
        if (!check_keyword(c, rules, keyword, rule, v))
            return false;
    }
    return true;
}

bool openapi_validate(const json_t *doc, const json_t *schema, const json_t *value, struct err *err)
{
    struct check c = {.doc = doc, .err = err};

    return check_value(&c, schema, value);
}

/* "/v1/builds/{id}" is "/v1/builds/7", its query apart. */
static bool is_path(const char *pattern, const char *path)
{
    while (*pattern && *path && *path != '?') {
        if (*pattern == '{') {
            pattern += strcspn(pattern, "}") + 1;
            path += strcspn(path, "/?");
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return !*pattern && (!*path || *path == '?');
}

static const json_t *find_operation(const json_t *doc, const char *method, const char *path)
{
    char lower[16];
    const char *pattern;
    json_t *item;
    size_t n = 0;

    for (; method[n] && n + 1 < sizeof lower; n++)
        lower[n] = (char)(method[n] | 0x20);
    lower[n] = '\0';
    json_object_foreach(json_object_get(doc, "paths"), pattern, item)
    {
        if (is_path(pattern, path) && json_object_get(item, lower))
            return json_object_get(item, lower);
    }
    return NULL;
}

bool openapi_check(const json_t *doc, const char *method, const char *path, int status,
                   const char *content_type, const json_t *body, struct err *err)
{
    const json_t *operation = find_operation(doc, method, path);
    char code[16], type[64];

    if (!operation)
        return err_set(err, ERR_INVALID, "%s %s is not described", method, path);
    snprintf(code, sizeof code, "%d", status);

    const json_t *answers = json_object_get(operation, "responses");
    const json_t *answer = json_object_get(answers, code);

    if (!answer && status >= 400)
        answer = json_object_get(answers, "default");
    answer = resolve(doc, answer);

    if (!answer)
        return err_set(err, ERR_INVALID, "%s %s: status %d is not described", method, path, status);

    const json_t *content = json_object_get(answer, "content");

    if (!content)
        return !body || err_set(err, ERR_INVALID, "%s %s: %d has no body", method, path, status);
    snprintf(type, sizeof type, "%.*s", (int)strcspn(content_type ? content_type : "", ";"),
             content_type ? content_type : "");

    const json_t *media = json_object_get(content, type);

    if (!media)
        return err_set(err, ERR_INVALID, "%s %s: %d of type '%s' is not described", method, path,
                       status, type);
    return !body || openapi_validate(doc, json_object_get(media, "schema"), body, err);
}
