#include "stacks/family.h"

#include "base/buf.h"
#include "base/digest.h"
#include "stacks/family_parts.h"
#include "stacks/rules_index.h"
#include "symbols/system_library.h"

#include <stdlib.h>
#include <string.h>

#define ALTERNATIVES_MAX 8

const char *const stack_class_name[STACK_CLASS_COUNT] = {
#define X(name, text) text,
    STACK_CLASSES
#undef X
};
const char *const frame_use_name[FRAME_USE_COUNT] = {
#define X(name, text, human) text,
    FRAME_USES
#undef X
};
const char *const frame_use_text[FRAME_USE_COUNT] = {
#define X(name, text, human) human,
    FRAME_USES
#undef X
};

/* Frames ------------------------------------------------------------------------------------------
 */

struct work {
    const struct stack_input *in;
    const struct rules *rules;
    struct arena *mem;
    struct frame_note *notes;
    size_t n;
    bool need_name; /* a frame without a name could be in-app by an include rule */
    struct rule_hits
        *hits; /* of each frame that the rules were asked about, if they have an index */
    struct family_sequence sequence;
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool is_managed(const struct stack_frame *f)
{
    return !*or_empty(f->module);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What the mapping allows, in an order of its own: "com.x.A.run|com.x.B.run". */
static bool name_of_alternatives(struct work *w, const struct stack_frame *f, struct name *out)
{
    const char *names[ALTERNATIVES_MAX];
    size_t n = f->n_alternatives < ALTERNATIVES_MAX ? f->n_alternatives : ALTERNATIVES_MAX;
    struct buf text;

    for (size_t i = 0; i < n; i++) {
        if (!name_of(f->alternatives[i], true, w->mem, out))
            return false;
        names[i] = out->text;
    }
    qsort(names, n, sizeof *names, by_text);
    buf_init(&text, ALTERNATIVES_MAX * (NAME_TEXT_MAX + 1));
    for (size_t i = 0; i < n; i++) {
        if (i && strcmp(names[i], names[i - 1]) == 0)
            continue;
        buf_text(&text, i ? "|" : "");
        buf_text(&text, names[i]);
    }
    out->text = buf_ok(&text) ? arena_dup(w->mem, (const char *)text.at, text.len) : NULL;
    buf_fini(&text);
    return out->text;
}

static bool has_no_name(const struct stack_frame *f, const struct name *name)
{
    return name->role == NAME_EMPTY || f->status == STACK_STATUS_MISSING ||
           f->status == STACK_STATUS_NO_DEBUG_ID || f->status == STACK_STATUS_UNKNOWN;
}

/* "libgame.so+?": without the offset, which differs from build to build. */
static const char *module_name(struct work *w, const struct stack_frame *f, const char *suffix)
{
    const char *base = *or_empty(f->module) ? rule_module_base(f->module) : "unknown";
    size_t n = strnlen(base, NAME_TEXT_MAX), m = strlen(suffix);
    char *text = arena_alloc(w->mem, n + m + 1);

    if (text) {
        memcpy(text, base, n);
        memcpy(text + n, suffix, m + 1);
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)text[i] < 0x20)
                text[i] = ' ';
    }
    return text;
}

static bool is_system_module(const struct work *w, const struct stack_frame *f)
{
    return f->status == STACK_STATUS_SYSTEM ||
           (!is_managed(f) && system_library(w->in->platform, f->module));
}

/* Include rules that name a function know better than the built-in lists; those that name a module
 * know better than the list of the system's modules. A keyword is too wide for either. */
static bool overrules(const struct rule *include, enum name_role role, bool system)
{
    if (include->field == RULE_PACKAGE || include->field == RULE_FUNCTION)
        return true;
    if (role == NAME_RUNTIME)
        return false;
    return !system || include->field == RULE_MODULE;
}

static enum frame_use use_unnamed(const struct work *w, const struct rule *include, bool system)
{
    if (system && !include)
        return FRAME_SYSTEM;
    if (!include && w->rules->n_include && !w->need_name)
        return FRAME_OTHER;
    return FRAME_UNNAMED;
}

static const struct rule *find_rule(const struct work *w, size_t i, enum rule_list list,
                                    const struct rule_target *t)
{
    const struct rule *at = rules_list(w->rules, list);

    if (!w->hits)
        return rules_find(at, rules_count(w->rules, list), t);
    return w->hits[i].first[list] == RULE_NONE ? NULL : &at[w->hits[i].first[list]];
}

static enum frame_use use_by_rules(const struct work *w, size_t i, bool unnamed)
{
    const struct stack_frame *f = &w->in->frames[i];
    struct frame_note *note = &w->notes[i];
    struct rule_target t = {.module = or_empty(f->module),
                            .file = or_empty(f->file),
                            .name = unnamed ? NULL : note->name};
    bool system = is_system_module(w, f);
    const struct rule *include;

    if (w->hits)
        rules_index_find(w->rules->index, &t, &w->hits[i]);
    include = find_rule(w, i, LIST_INCLUDE, &t);
    note->rule = find_rule(w, i, LIST_EXCLUDE, &t);
    if (note->rule)
        return FRAME_EXCLUDED;
    if (include && !overrules(include, note->role, system))
        include = NULL;
    note->rule = include;
    if (unnamed)
        return use_unnamed(w, include, system);
    if (include)
        return FRAME_BEYOND;
    if (system || note->role == NAME_RUNTIME)
        return FRAME_SYSTEM;
    return w->rules->n_include ? FRAME_OTHER : FRAME_BEYOND;
}

/* What an app calls "start" starts a thread only where nothing called it. */
static bool is_base(const struct work *w, size_t i, const struct name *name)
{
    return name->role == NAME_BASE && (i + 1 == w->in->n || !family_is_common_base(name->text) ||
                                       is_system_module(w, &w->in->frames[i]));
}

/* In-app frames are BEYOND until the fingerprint has counted them. */
static bool note_frame(struct work *w, size_t i)
{
    const struct stack_frame *f = &w->in->frames[i];
    struct frame_note *note = &w->notes[i];
    struct name name;
    bool ambiguous = f->status == STACK_STATUS_AMBIGUOUS && f->n_alternatives;

    if (ambiguous ? !name_of_alternatives(w, f, &name)
                  : !name_of(f->function, is_managed(f), w->mem, &name))
        return false;

    bool unnamed = has_no_name(f, &name);

    note->role = name.role;
    note->name = name.text;
    if (unnamed)
        note->name = module_name(w, f, is_system_module(w, f) ? "" : "+?");
    if (!note->name)
        return false;
    if (!unnamed && name.role == NAME_GLUE)
        note->use = FRAME_GLUE;
    else if (!unnamed && is_base(w, i, &name))
        note->use = FRAME_BASE;
    else if (!unnamed && name.role == NAME_PAUSE)
        note->use = FRAME_PAUSE;
    else
        note->use = use_by_rules(w, i, unnamed);
    return true;
}

/* Class -------------------------------------------------------------------------------------------
 */

struct tally {
    size_t count[FRAME_USE_COUNT], first[FRAME_USE_COUNT];
};

static struct tally tally_of(const struct work *w)
{
    struct tally t = {{0}, {0}};

    for (size_t i = w->n; i--;) {
        t.count[w->notes[i].use]++;
        t.first[w->notes[i].use] = i;
    }
    return t;
}

/* A program that does everything in main() has nothing else to go by. */
static void main_is_the_app(struct work *w, struct tally *t)
{
    for (size_t i = 0; i < w->n && !t->count[FRAME_BEYOND]; i++) {
        struct frame_note *note = &w->notes[i];

        if (note->use != FRAME_BASE || !family_is_main(note->name))
            continue;
        note->use = use_by_rules(w, i, false);
        if (note->use != FRAME_BEYOND)
            note->use = FRAME_BASE;
    }
    *t = tally_of(w);
}

static bool is_suspended(const struct work *w, const struct tally *t)
{
    if (w->in->suspended)
        return true;
    return t->count[FRAME_PAUSE] &&
           (!t->count[FRAME_BEYOND] || t->first[FRAME_PAUSE] < t->first[FRAME_BEYOND]);
}

static enum stack_class class_of(const struct work *w, const struct tally *t)
{
    size_t unnamed = t->count[FRAME_UNNAMED], app = t->count[FRAME_BEYOND];
    size_t known = app + t->count[FRAME_EXCLUDED] + t->count[FRAME_OTHER];
    unsigned percent =
        w->rules->unknown_percent ? w->rules->unknown_percent : RULES_UNKNOWN_PERCENT_DEFAULT;

    if (is_suspended(w, t))
        return STACK_CLASS_SUSPENDED;
    if (unnamed + known + t->count[FRAME_SYSTEM] == 0)
        return STACK_CLASS_MOSTLY_UNKNOWN;
    if (unnamed && unnamed * 100 >= percent * (unnamed + known))
        return STACK_CLASS_MOSTLY_UNKNOWN;
    return app ? STACK_CLASS_IN_APP : STACK_CLASS_SYSTEM_ONLY;
}

/* Fingerprint -------------------------------------------------------------------------------------
 */

static bool counts_in(enum stack_class class, const struct tally *t, enum frame_use use)
{
    switch (class) {
    case STACK_CLASS_SUSPENDED:
        return use == FRAME_PAUSE;
    case STACK_CLASS_SYSTEM_ONLY:
        return use == FRAME_SYSTEM || use == FRAME_EXCLUDED || use == FRAME_OTHER;
    case STACK_CLASS_MOSTLY_UNKNOWN:
        return use == (t->count[FRAME_BEYOND] ? FRAME_BEYOND : FRAME_UNNAMED);
    default:
        return use == FRAME_BEYOND;
    }
}

/* What is hashed: lead with its NUL, version, kind, class, depth, then the names with theirs. */
static const char lead[] = "framewatch stack family";

static size_t hashed_bytes(const struct family *f)
{
    size_t n = sizeof lead + 4;

    for (unsigned i = 0; i < f->n_names; i++)
        n += strlen(f->names[i]) + 1;
    return n;
}

static bool fingerprints(const struct work *w, struct family *f)
{
    unsigned char *text = arena_alloc(w->mem, hashed_bytes(f)), sum[SHA256_BYTES];
    size_t n = sizeof lead + 4;

    if (!text)
        return false;
    memcpy(text, lead, sizeof lead);
    text[sizeof lead] = FAMILY_VERSION;
    text[sizeof lead + 1] = (unsigned char)w->in->kind;
    text[sizeof lead + 2] = (unsigned char)f->class;
    for (unsigned d = 1; d <= RULES_DEPTH_MAX; d++) {
        if (d <= f->n_names) {
            size_t len = strlen(f->names[d - 1]) + 1;

            memcpy(text + n, f->names[d - 1], len);
            n += len;
        }
        text[sizeof lead + 3] = (unsigned char)d;
        sha256(text, n, sum);
        memcpy(f->fingerprint[d - 1], sum, FINGERPRINT_BYTES);
    }
    return true;
}

/* Which frames the fingerprint is made of; in-app ones are told so. */
static void count_frames(struct work *w, struct family *f)
{
    const struct family_sequence *s = &w->sequence;

    for (size_t k = 0; k < s->n && k < RULES_DEPTH_MAX; k++) {
        struct frame_note *note = &w->notes[s->frame[k]];

        note->position = (uint8_t)(k + 1);
        if (note->use == FRAME_BEYOND && k < f->depth)
            note->use = FRAME_COUNTED;
        f->names[f->n_names++] = note->name;
    }
    f->culprit = w->n;
    for (size_t i = w->n; f->n_names && i--;)
        if (strcmp(w->notes[i].name, f->names[0]) == 0)
            f->culprit = i;
}

static void note_provisional(const struct work *w, struct family *f)
{
    size_t last = f->n_names < f->depth ? w->n : 0;

    for (size_t i = 0; i < w->n; i++)
        if (w->notes[i].position && w->notes[i].position <= f->depth && i > last)
            last = i;
    for (size_t i = 0; i < last; i++)
        if (w->notes[i].use == FRAME_UNNAMED && w->in->frames[i].status == STACK_STATUS_MISSING)
            f->provisional = true;
}

/* Owner and ignore list ---------------------------------------------------------------------------
 */

static bool is_in_app(enum frame_use use)
{
    return use == FRAME_COUNTED || use == FRAME_BEYOND || use == FRAME_RECURSION;
}

static bool asks(const struct work *w, size_t i, bool counted_only)
{
    return counted_only ? w->notes[i].use == FRAME_COUNTED : is_in_app(w->notes[i].use);
}

static bool any_frame_matches(const struct work *w, const struct rule *rule, bool counted_only)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct stack_frame *f = &w->in->frames[i];
        struct rule_target t = {or_empty(f->module), or_empty(f->file), w->notes[i].name};

        if (asks(w, i, counted_only) && rule_matches(rule, &t))
            return true;
    }
    return false;
}

/* The rules were asked about every frame of the app's when its use was found. */
static uint16_t first_hit(const struct work *w, enum rule_list list, bool counted_only)
{
    uint16_t first = RULE_NONE;

    for (size_t i = 0; i < w->n; i++)
        if (asks(w, i, counted_only) && w->hits[i].first[list] < first)
            first = w->hits[i].first[list];
    return first;
}

static const struct rule *first_match(const struct work *w, enum rule_list list, bool counted_only)
{
    const struct rule *rules = rules_list(w->rules, list);
    uint16_t hit = w->hits ? first_hit(w, list, counted_only) : RULE_NONE;

    for (size_t i = 0; !w->hits && i < rules_count(w->rules, list); i++)
        if (any_frame_matches(w, &rules[i], counted_only))
            return &rules[i];
    return hit == RULE_NONE ? NULL : &rules[hit];
}

static void apply_lists(const struct work *w, struct family *f)
{
    f->owner_rule = first_match(w, LIST_OWNERS, false);
    f->owner = f->owner_rule ? f->owner_rule->owner : NULL;
    f->ignore_rule = first_match(w, LIST_IGNORE, true);
    f->ignored = f->ignore_rule != NULL;
}

/* All together ------------------------------------------------------------------------------------
 */

static bool read_frames(struct work *w)
{
    w->n = w->in->n < STACK_FRAMES_MAX ? w->in->n : STACK_FRAMES_MAX;
    w->need_name = rules_need_name(w->rules->include, w->rules->n_include);
    w->notes = arena_array(w->mem, w->n + 1, sizeof *w->notes);
    if (w->rules->index)
        w->hits = arena_array(w->mem, w->n + 1, sizeof *w->hits);
    if (!w->notes || (w->rules->index && !w->hits))
        return false;
    for (size_t i = 0; i < w->n; i++)
        if (!note_frame(w, i))
            return false;
    return true;
}

static bool choose_frames(struct work *w, enum stack_class class, const struct tally *t)
{
    struct family_sequence *s = &w->sequence;

    s->frame = arena_array(w->mem, w->n + 1, sizeof *s->frame);
    if (!s->frame)
        return false;
    for (size_t i = 0; i < w->n; i++)
        if (counts_in(class, t, w->notes[i].use))
            s->frame[s->n++] = (uint32_t)i;
    return family_collapse(s, w->notes, w->mem);
}

/* Threads start in the system, and end there where they were unwound to their end. */
static bool is_cut(const struct work *w)
{
    const struct frame_note *last = w->n ? &w->notes[w->n - 1] : NULL;

    if (!last || w->in->n > w->n)
        return true;
    return last->use != FRAME_BASE && last->use != FRAME_SYSTEM && !family_is_main(last->name);
}

static bool make_family(struct work *w, struct family *f)
{
    struct tally t;

    if (!read_frames(w))
        return false;
    t = tally_of(w);
    main_is_the_app(w, &t);
    f->class = class_of(w, &t);
    f->depth = w->rules->depth ? w->rules->depth : RULES_DEPTH_DEFAULT;
    f->unnamed = (unsigned)t.count[FRAME_UNNAMED];
    f->named = (unsigned)(t.count[FRAME_BEYOND] + t.count[FRAME_EXCLUDED] + t.count[FRAME_OTHER]);
    if (!choose_frames(w, f->class, &t))
        return false;
    count_frames(w, f);
    note_provisional(w, f);
    apply_lists(w, f);
    if (!fingerprints(w, f))
        return false;
    f->cut = is_cut(w);
    f->notes = w->notes;
    f->n_notes = w->n;
    return family_title(f, w->mem);
}

bool family_of(const struct stack_input *in, const struct rules *rules, struct arena *mem,
               struct family *out, struct err *err)
{
    struct work w = {.in = in, .rules = rules, .mem = mem};
    struct family f = {0};

    if (!make_family(&w, &f))
        return err_full(err, "a stack");
    if (rules->index && !rules_index_check(rules->index, err))
        return false;
    *out = f;
    return true;
}
