#include "server/jobs/families/family_rules.h"

#include <stdio.h>
#include <string.h>

#define RATE_PPM_MAX 1000000

static bool out_of_memory(struct err *err)
{
    return err_full(err, "rules");
}

static bool known(const json_t *object, const char *const *names, const char *inside,
                  struct err *err)
{
    const char *key;
    json_t *value;
    char field[64];

    if (!json_is_object(object))
        return err_field(err, ERR_INVALID, inside, "must be an object");
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const char *const *name = names;

        while (*name && strcmp(*name, key) != 0)
            name++;
        if (*name)
            continue;
        snprintf(field, sizeof field, "%s%s%s", inside, *inside ? "." : "", key);
        return err_field(err, ERR_INVALID, field, "is not known here");
    }
    return true;
}

static bool read_number(const json_t *object, const char *name, int64_t min, int64_t max,
                        int64_t otherwise, int64_t *out, struct err *err)
{
    const json_t *v = json_object_get(object, name);

    *out = otherwise;
    if (!v)
        return true;
    if (!json_is_integer(v) || json_integer_value(v) < min || json_integer_value(v) > max)
        return err_field(err, ERR_INVALID, name, "must be a whole number from %lld to %lld",
                         (long long)min, (long long)max);
    *out = json_integer_value(v);
    return true;
}

static bool read_text(const json_t *rule, const char *list, size_t i, const char *name,
                      struct arena *mem, const char **out, struct err *err)
{
    const json_t *v = json_object_get(rule, name);
    char field[64];

    snprintf(field, sizeof field, "%s[%zu].%s", list, i, name);
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
        return err_field(err, ERR_INVALID, field, "must be a text");
    *out = arena_dup(mem, json_string_value(v), json_string_length(v));
    return *out || out_of_memory(err);
}

static bool read_field(const char *text, const char *list, size_t i, enum rule_field *out,
                       struct err *err)
{
    char field[64];

    for (int k = 0; k < RULE_FIELD_COUNT; k++)
        if (strcmp(rule_field_name[k], text) == 0) {
            *out = (enum rule_field)k;
            return true;
        }
    snprintf(field, sizeof field, "%s[%zu].field", list, i);
    return err_field(err, ERR_INVALID, field, "is none of module, package, keyword, function");
}

static bool read_rule(const json_t *from, const char *list, size_t i, bool owned, struct arena *mem,
                      struct rule *out, struct err *err)
{
    static const char *const plain[] = {"field", "pattern", NULL};
    static const char *const with_owner[] = {"field", "pattern", "owner", NULL};
    const char *kind;
    char inside[32];

    snprintf(inside, sizeof inside, "%s[%zu]", list, i);
    return known(from, owned ? with_owner : plain, inside, err) &&
           read_text(from, list, i, "field", mem, &kind, err) &&
           read_field(kind, list, i, &out->field, err) &&
           read_text(from, list, i, "pattern", mem, &out->pattern, err) &&
           (!owned || read_text(from, list, i, "owner", mem, &out->owner, err));
}

static bool read_list(const json_t *doc, const char *name, bool owned, struct arena *mem,
                      const struct rule **out, size_t *n, struct err *err)
{
    const json_t *list = json_object_get(doc, name);
    struct rule *at;

    *n = json_array_size(list);
    *out = NULL;
    if (!list)
        return true;
    if (!json_is_array(list) || *n > RULES_MAX)
        return err_field(err, ERR_INVALID, name, "must be an array of at most %d rules", RULES_MAX);
    at = arena_array(mem, *n, sizeof *at);
    if (!at)
        return out_of_memory(err);
    for (size_t i = 0; i < *n; i++)
        if (!read_rule(json_array_get(list, i), name, i, owned, mem, &at[i], err))
            return false;
    *out = at;
    return true;
}

static bool read_kin(const json_t *doc, struct family_rules *out, struct err *err)
{
    static const char *const names[] = {"enabled", NULL};
    const json_t *kin = json_object_get(doc, "kin"), *enabled;

    out->kin = true;
    if (!kin)
        return true;
    if (!known(kin, names, "kin", err))
        return false;
    enabled = json_object_get(kin, "enabled");
    if (enabled && !json_is_boolean(enabled))
        return err_field(err, ERR_INVALID, "kin.enabled", "must be true or false");
    out->kin = !json_is_false(enabled);
    return true;
}

static bool read_tickets(const json_t *doc, struct family_rules *out, struct err *err)
{
    static const char *const names[] = {"enabled", "top", NULL};
    const json_t *tickets = json_object_get(doc, "tickets"), *enabled;

    out->tickets = true;
    out->tickets_top = TICKETS_TOP_DEFAULT;
    if (!tickets)
        return true;
    if (!known(tickets, names, "tickets", err))
        return false;
    enabled = json_object_get(tickets, "enabled");
    if (enabled && !json_is_boolean(enabled))
        return err_field(err, ERR_INVALID, "tickets.enabled", "must be true or false");
    out->tickets = !json_is_false(enabled);
    return read_number(tickets, "top", 1, TICKETS_TOP_MAX, TICKETS_TOP_DEFAULT, &out->tickets_top,
                       err) ||
           err_field(err, ERR_INVALID, "tickets.top", "must be a whole number from 1 to %d",
                     TICKETS_TOP_MAX);
}

static bool read_numbers(const json_t *doc, struct rules *out, struct err *err)
{
    int64_t depth, percent, ppm;

    if (!read_number(doc, "depth", 1, RULES_DEPTH_MAX, RULES_DEPTH_DEFAULT, &depth, err) ||
        !read_number(doc, "unknown_percent", 1, 100, RULES_UNKNOWN_PERCENT_DEFAULT, &percent,
                     err) ||
        !read_number(doc, "min_rate_ppm", 0, RATE_PPM_MAX, RULES_MIN_RATE_PPM_DEFAULT, &ppm, err))
        return false;
    out->depth = (unsigned)depth;
    out->unknown_percent = (unsigned)percent;
    out->min_rate_ppm = (unsigned)ppm;
    return true;
}

bool family_rules_read(const json_t *doc, struct arena *mem, struct family_rules *out,
                       struct err *err)
{
    static const char *const names[] = {
        "include",         "exclude",      "ignore", "owners",  "depth",
        "unknown_percent", "min_rate_ppm", "kin",    "tickets", NULL};
    struct family_rules r = {0};

    if ((doc && !known(doc, names, "", err)) ||
        !read_list(doc, "include", false, mem, &r.rules.include, &r.rules.n_include, err) ||
        !read_list(doc, "exclude", false, mem, &r.rules.exclude, &r.rules.n_exclude, err) ||
        !read_list(doc, "ignore", false, mem, &r.rules.ignore, &r.rules.n_ignore, err) ||
        !read_list(doc, "owners", true, mem, &r.rules.owners, &r.rules.n_owners, err) ||
        !read_numbers(doc, &r.rules, err) || !read_kin(doc, &r, err) ||
        !read_tickets(doc, &r, err) || !rules_check(&r.rules, err))
        return false;
    *out = r;
    return true;
}

bool family_rules_parse(const char *text, struct arena *mem, struct family_rules *out,
                        struct err *err)
{
    json_t *doc = text ? json_loads(text, 0, NULL) : NULL;
    bool ok = !text || doc ? family_rules_read(doc, mem, out, err)
                           : err_set(err, ERR_INTERNAL, "the stored rules are damaged");

    json_decref(doc);
    return ok;
}

static json_t *list_json(const struct rule *rules, size_t n, bool owned)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *rule = json_pack("{s:s, s:s}", "field", rule_field_name[rules[i].field], "pattern",
                                 rules[i].pattern);

        if (owned)
            json_object_set_new(rule, "owner", json_string(rules[i].owner));
        json_array_append_new(list, rule);
    }
    return list;
}

json_t *family_rules_json(const struct family_rules *r)
{
    const struct rules *x = &r->rules;

    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:{s:b}, s:{s:b, s:I}}", //
                     "include", list_json(x->include, x->n_include, false),        //
                     "exclude", list_json(x->exclude, x->n_exclude, false),        //
                     "ignore", list_json(x->ignore, x->n_ignore, false),           //
                     "owners", list_json(x->owners, x->n_owners, true),            //
                     "depth", (int)x->depth,                                       //
                     "unknown_percent", (int)x->unknown_percent,                   //
                     "min_rate_ppm", (int)x->min_rate_ppm,                         //
                     "kin", "enabled", (int)r->kin,                                //
                     "tickets", "enabled", (int)r->tickets, "top", r->tickets_top);
}
