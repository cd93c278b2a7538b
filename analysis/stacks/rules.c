#include "stacks/rules.h"

#include "base/utf8.h"
#include "stacks/rules_match.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *const rule_field_name[RULE_FIELD_COUNT] = {
#define X(name, text) text,
    RULE_FIELDS
#undef X
};

/* Checking ----------------------------------------------------------------------------------------
 */

static bool good_text(const char *text)
{
    size_t n = text ? strnlen(text, RULES_TEXT_MAX + 1) : 0;

    return n > 0 && n <= RULES_TEXT_MAX && utf8_is_tame(text, "");
}

static bool check_list(const char *list, const struct rule *rules, size_t n, bool owned,
                       struct err *err)
{
    char field[64];

    if (n > RULES_MAX)
        return err_field(err, ERR_INVALID, list, "at most %d rules", RULES_MAX);
    for (size_t i = 0; i < n; i++) {
        snprintf(field, sizeof field, "%s[%zu].pattern", list, i);
        if ((unsigned)rules[i].field >= RULE_FIELD_COUNT)
            return err_field(err, ERR_INVALID, field, "no such kind of rule");
        if (!good_text(rules[i].pattern))
            return err_field(err, ERR_INVALID, field,
                             "1 to %d bytes without control characters expected", RULES_TEXT_MAX);
        snprintf(field, sizeof field, "%s[%zu].owner", list, i);
        if (owned && !good_text(rules[i].owner))
            return err_field(err, ERR_INVALID, field,
                             "1 to %d bytes without control characters expected", RULES_TEXT_MAX);
    }
    return true;
}

bool rules_check(const struct rules *r, struct err *err)
{
    if (r->depth > RULES_DEPTH_MAX)
        return err_field(err, ERR_INVALID, "depth", "1 to %d expected", RULES_DEPTH_MAX);
    if (r->unknown_percent > 100)
        return err_field(err, ERR_INVALID, "unknown_percent", "1 to 100 expected");
    if (r->min_rate_ppm > 1000000)
        return err_field(err, ERR_INVALID, "min_rate_ppm", "at most 1000000 expected");
    return check_list("include", r->include, r->n_include, false, err) &&
           check_list("exclude", r->exclude, r->n_exclude, false, err) &&
           check_list("ignore", r->ignore, r->n_ignore, false, err) &&
           check_list("owners", r->owners, r->n_owners, true, err);
}

const struct rule *rules_list(const struct rules *r, enum rule_list list)
{
    const struct rule *const of[RULE_LISTS] = {
        [LIST_INCLUDE] = r->include,
        [LIST_EXCLUDE] = r->exclude,
        [LIST_IGNORE] = r->ignore,
        [LIST_OWNERS] = r->owners,
    };

    return of[list];
}

size_t rules_count(const struct rules *r, enum rule_list list)
{
    const size_t of[RULE_LISTS] = {
        [LIST_INCLUDE] = r->n_include,
        [LIST_EXCLUDE] = r->n_exclude,
        [LIST_IGNORE] = r->n_ignore,
        [LIST_OWNERS] = r->n_owners,
    };

    return of[list];
}

/* Matching ----------------------------------------------------------------------------------------
 */

static bool same(char a, char b, bool fold)
{
    return a == b || (fold && tolower((unsigned char)a) == tolower((unsigned char)b));
}

/* '*' stands for any text. The last star seen is the only one to come back to: linear in practice,
 * at worst pattern times text. */
bool rule_glob(const char *pattern, const char *text, bool fold, uint64_t *steps)
{
    const char *star = NULL, *from = NULL;

    while (*text) {
        (*steps)++;
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (same(*pattern, *text, fold)) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool package_prefix(const char *package, const char *name)
{
    size_t n = strlen(package);

    if (strncmp(package, name, n) != 0)
        return false;
    return !name[n] || strchr(".:$/", name[n]) || strchr(".:$/", package[n - 1]);
}

static bool has(const char *text, const char *keyword)
{
    return strcasestr(text, keyword) != NULL;
}

const char *rule_module_base(const char *module)
{
    const char *slash = strrchr(module, '/');

    return slash && slash[1] ? slash + 1 : module;
}

bool rule_matches(const struct rule *r, const struct rule_target *t)
{
    uint64_t steps = 0;

    switch (r->field) {
    case RULE_MODULE:
        return *t->module && rule_glob(r->pattern, rule_module_base(t->module), true, &steps);
    case RULE_PACKAGE:
        return t->name && package_prefix(r->pattern, t->name);
    case RULE_FUNCTION:
        return t->name && rule_glob(r->pattern, t->name, false, &steps);
    case RULE_KEYWORD:
        return has(t->module, r->pattern) || has(t->file, r->pattern) ||
               (t->name && has(t->name, r->pattern));
    default:
        return false;
    }
}

const struct rule *rules_find(const struct rule *list, size_t n, const struct rule_target *t)
{
    for (size_t i = 0; i < n; i++)
        if (rule_matches(&list[i], t))
            return &list[i];
    return NULL;
}

bool rules_need_name(const struct rule *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].field != RULE_MODULE)
            return true;
    return false;
}
