/*
 * rules: an app's own knowledge of its stacks. Plain data; the analysis only reads it. Changing a
 * rule moves no count: counts hang on stacks, families are a view through the rules.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define RULES_DEPTH_MAX 5
#define RULES_DEPTH_DEFAULT 3
#define RULES_MIN_RATE_PPM_DEFAULT 1000 /* 0.1 % of sessions */
#define RULES_UNKNOWN_PERCENT_DEFAULT 50
#define RULES_MAX 1000     /* of each list */
#define RULES_TEXT_MAX 256 /* bytes of a pattern or an owner */

/* What a pattern is held against. X(name, text in the API) */
#define RULE_FIELDS                                                                                \
    X(MODULE, "module")     /* last part of the module's path; '*' stands for any text, no case */ \
    X(PACKAGE, "package")   /* prefix of the normalised name that ends at '.', ':', '$', '/' or */ \
                            /* the end: "com.studio" is no prefix of "com.studios.A.run" */        \
    X(KEYWORD, "keyword")   /* anywhere in the module's path, the file or the name; no case */     \
    X(FUNCTION, "function") /* the whole normalised name; '*' stands for any text */

enum rule_field {
#define X(name, text) RULE_##name,
    RULE_FIELDS
#undef X
        RULE_FIELD_COUNT
};
extern const char *const rule_field_name[RULE_FIELD_COUNT];

struct rule {
    enum rule_field field;
    const char *pattern;
    const char *owner; /* of an owner rule */
};

/* The lists of struct rules, in its order. */
enum rule_list { LIST_INCLUDE, LIST_EXCLUDE, LIST_IGNORE, LIST_OWNERS, RULE_LISTS };

struct rules_index; /* rules_index.h */

struct rules {
    /* The app's own code. A frame: excluded if an exclude rule matches; else in-app if an include
     * rule matches, of those of packages and functions; else the system's or a runtime's by the
     * built-in lists, of which a module rule overrules that of libraries and a keyword neither;
     * else in-app if another include rule matches or there are none at all. */
    const struct rule *include, *exclude;
    size_t n_include, n_exclude;
    /* Families to leave out of lists and tickets: any in-app frame of the fingerprint at `depth`
     * matches. They are counted on. */
    const struct rule *ignore;
    size_t n_ignore;
    /* First rule, in list order, that matches any in-app frame of the stack wins; within a rule the
     * innermost frame is told. */
    const struct rule *owners;
    size_t n_owners;
    unsigned depth;            /* 1..5; 0: RULES_DEPTH_DEFAULT */
    unsigned unknown_percent;  /* 1..100; 0: RULES_UNKNOWN_PERCENT_DEFAULT */
    unsigned min_rate_ppm;     /* of sessions; families below are not listed. Not read here */
    struct rules_index *index; /* of these lists; NULL: each rule is tried by itself */
};

/* ERR_INVALID with the field ("include[3].pattern") of the first rule at fault: empty or too long
 * pattern, control characters, owner missing, depth or percentage out of range, too many. */
bool rules_check(const struct rules *r, struct err *err) MUST_CHECK;
