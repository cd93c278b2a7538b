/* How one obfuscated frame becomes original ones; the rules are R8's, see docs/retrace.md. */
#include "symbols/retrace/retrace_index.h"

#include <string.h>

#define STEPS_MAX (1u << 20) /* ranges and groups looked at for one frame */

struct range {
    uint32_t number, signature;
    bool infos;
    int64_t from, to;                   /* obfuscated; from < 0: any line */
    int64_t original_from, original_to; /* original_from < 0: none */
};

/* Ranges of one group that answer for the frame: an inline stack, innermost first. n = 0: none
 * does, the method's name alone is known. */
struct pick {
    uint32_t group, first, n;
};

struct job {
    const struct retrace *r;
    const struct retrace_query *q;
    struct arena *a;
    bool verbose;
    uint32_t class, first_group, end_group;
    uint32_t steps;
    int64_t line; /* the obfuscated one; another than the query's behind an outline */
    struct pick *picks;
    size_t n_picks;
    bool ambiguous;
    /* results */
    struct retrace_frame *frames;
    struct retrace_alternative *alternatives;
    size_t n_frames, n_alternatives, room;
    const char *inferred_class, *inferred_file; /* the last ones */
    bool truncated;
    int64_t outline_line;      /* to hand on, if the pick at hand is what the frame was */
    int64_t kept_outline_line; /* the same, of the alternative added last */
};

static int64_t end_at(const struct retrace *r, uint32_t number)
{
    return load32(r->ends + 4 * (size_t)number);
}

static struct range range_at(const struct retrace *r, uint32_t number)
{
    const unsigned char *at = r->ranges + RETRACE_RANGE * (size_t)number;
    uint32_t from = load32(at + 4), original = load32(at + 8);

    return (struct range){.number = number,
                          .signature = load32(at) / 2,
                          .infos = load32(at) & 1,
                          .from = from == RETRACE_NONE ? -1 : (int64_t)from,
                          .to = end_at(r, number),
                          .original_from = original == RETRACE_NONE ? -1 : (int64_t)original,
                          .original_to = load32(at + 12)};
}

static const unsigned char *signature_at(const struct retrace *r, uint32_t number)
{
    return r->signatures + RETRACE_SIGNATURE * (size_t)number;
}

static uint32_t group_first(const struct retrace *r, uint32_t group)
{
    return load32(r->groups + RETRACE_GROUP * (size_t)group);
}

static uint32_t group_flags(const struct retrace *r, uint32_t group)
{
    return load32(r->groups + RETRACE_GROUP * (size_t)group + 4);
}

static bool holds(const struct range *range, int64_t line)
{
    return range->from >= 0 && range->from <= line && line <= range->to;
}

static bool step(struct job *j)
{
    if (j->steps >= STEPS_MAX) {
        j->truncated = true;
        return false;
    }
    j->steps++;
    return true;
}

static void add_pick(struct job *j, struct pick p)
{
    if (j->n_picks < RETRACE_FRAMES_MAX)
        j->picks[j->n_picks++] = p;
    else
        j->truncated = true;
}

/* First range of [low, high) that does not end before `line`; they are in order. */
static uint32_t seek(const struct retrace *r, uint32_t low, uint32_t high, int64_t line)
{
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (end_at(r, mid) < line)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* From the first range of the group that holds the line on, those for the same lines. A range for
 * any line is second best, if asked for. */
static bool pick_line(struct job *j, uint32_t group, int64_t line, bool any, struct pick *out)
{
    const struct retrace *r = j->r;
    uint32_t i = group_first(r, group), end = group_first(r, group + 1);
    uint32_t spare = RETRACE_NONE;

    if (group_flags(r, group) & RETRACE_ORDERED)
        i = seek(r, i, end, line);
    for (; i < end && step(j); i++) {
        struct range range = range_at(r, i);
        uint32_t n = 1;

        if (range.from < 0 && any && spare == RETRACE_NONE)
            spare = i;
        if (!holds(&range, line)) {
            if (group_flags(r, group) & RETRACE_ORDERED)
                break;
            continue;
        }
        __builtin_prefetch(signature_at(r, range.signature));
        for (; i + n < end && step(j); n++) {
            struct range next = range_at(r, i + n);

            if (next.from != range.from || next.to != range.to)
                break;
            __builtin_prefetch(signature_at(r, next.signature));
        }
        *out = (struct pick){group, i, n};
        return true;
    }
    *out = (struct pick){group, spare, 1};
    return spare != RETRACE_NONE;
}

/* The information of a kind at a range; *at is where to go on: begin with 0. NULL: no more. */
static const unsigned char *next_info(const struct retrace *r, uint32_t range, uint32_t kind,
                                      uint32_t *at)
{
    uint32_t low = *at, high = r->n_infos;

    while (*at == 0 && low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (load32(r->infos + RETRACE_INFO * (size_t)mid) < range)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < r->n_infos; low++) {
        const unsigned char *info = r->infos + RETRACE_INFO * (size_t)low;

        if (load32(info) != range)
            break;
        if (load32(info + 4) == kind) {
            *at = low + 1;
            return info;
        }
    }
    return NULL;
}

static const unsigned char *info_words(const struct retrace *r, const unsigned char *info)
{
    return r->words + 4 * (size_t)load32(info + 8);
}

/* Where a call of an outline stands here, by the line in the outline. */
static int64_t call_site(const struct retrace *r, const unsigned char *info, int64_t line)
{
    const unsigned char *pairs = info_words(r, info);
    uint32_t low = 0, high = load32(info + 12) / 2;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2, key = load32(pairs + 8 * (size_t)mid);

        if (key == line)
            return load32(pairs + 8 * (size_t)mid + 4);
        if (key < line)
            low = mid + 1;
        else
            high = mid;
    }
    return line;
}

static void pick_all(struct job *j, int64_t line, bool any)
{
    struct pick p;

    for (uint32_t g = j->first_group; g < j->end_group && step(j); g++)
        if (pick_line(j, g, line, any, &p))
            add_pick(j, p);
}

/* The same; but where a range says how the outline's line that the context carries is to be read,
 * that line takes the place of the frame's own. */
static void pick_behind_outline(struct job *j, int64_t line, bool any, int64_t outline_line)
{
    struct pick p;

    for (uint32_t g = j->first_group; g < j->end_group && step(j); g++) {
        uint32_t at = 0;

        if (!pick_line(j, g, line, any, &p))
            continue;

        const unsigned char *info = next_info(j->r, p.first + p.n - 1, RETRACE_CALLSITE, &at);

        if (info) {
            int64_t other = call_site(j->r, info, outline_line);

            j->n_picks = 0;
            pick_all(j, other, false);
            if (j->n_picks)
                j->line = other;
            return;
        }
        add_pick(j, p);
    }
}

/* Ranges for any line, each by itself. */
static void pick_any(struct job *j)
{
    for (uint32_t g = j->first_group; g < j->end_group; g++)
        for (uint32_t i = group_first(j->r, g); i < group_first(j->r, g + 1) && step(j); i++)
            if (range_at(j->r, i).from < 0)
                add_pick(j, (struct pick){g, i, 1});
}

/* Finds what answers for the frame's line. No picks: the mapping knows nothing of this line. */
static void narrow(struct job *j, const struct retrace_context *context)
{
    int64_t line = j->q->line;
    bool has_line = line > 0;

    j->line = line;
    if (context->outline_line > 0)
        pick_behind_outline(j, has_line ? line : 0, !has_line, context->outline_line);
    else
        pick_all(j, has_line ? line : 0, !has_line);
    if (j->n_picks == 0 && has_line)
        pick_any(j);
    if (j->n_picks == 0 && !has_line)
        for (uint32_t g = j->first_group; g < j->end_group && step(j); g++)
            add_pick(j, (struct pick){g, 0, 0});
}

static int64_t span(int64_t from, int64_t to)
{
    return to - from + 1;
}

/* Whether an obfuscated line stands for several original ones. */
static bool range_ambiguous(const struct range *r)
{
    if (r->original_from < 0 || r->original_from == r->original_to)
        return false;
    return r->from < 0 || span(r->from, r->to) != span(r->original_from, r->original_to);
}

static bool picks_ambiguous(const struct job *j)
{
    if (j->n_picks > 1)
        return true;
    for (uint32_t i = 0; i < j->picks[0].n; i++) {
        struct range range = range_at(j->r, j->picks[0].first + i);

        if (range_ambiguous(&range))
            return true;
    }
    return false;
}

/* The original line of a range; the frame's own where the mapping says nothing. */
static int64_t original_line(const struct job *j, const struct range *r)
{
    if (r->original_from >= 0 && r->original_from == r->original_to)
        return r->original_from;
    if (!j->ambiguous && (r->from < 0 || j->line == RETRACE_NO_LINE)) {
        int64_t first = r->original_from >= 0 ? r->original_from : r->from;

        return first > 0 ? first : j->q->line;
    }
    if (!holds(r, j->line))
        return j->q->line;
    if (r->original_from < 0)
        return j->line;
    return r->original_from + (j->line - r->from);
}

static bool holds_for(const struct retrace *r, const unsigned char *info, uint32_t thrown)
{
    const unsigned char *words = info_words(r, info);

    for (uint32_t i = 1; i < load32(info + 12); i++)
        if (load32(words + 4 * (size_t)i) + 1 != thrown)
            return false;
    return true;
}

/* How many inner frames the rules of these ranges take away, given what was thrown. */
static uint32_t removed(const struct job *j, const struct pick *p,
                        const struct retrace_context *context)
{
    uint64_t n = 0;

    for (uint32_t i = p->first; i < p->first + p->n; i++) {
        uint32_t at = 0;
        const unsigned char *info;

        if (!range_at(j->r, i).infos)
            continue;
        while ((info = next_info(j->r, i, RETRACE_REWRITE, &at)))
            if (holds_for(j->r, info, context->thrown))
                n += load32(info_words(j->r, info));
    }
    return n <= p->n ? (uint32_t)n : 0;
}

static const char *simple_name(const char *class, size_t *len)
{
    const char *dot = strrchr(class, '.'), *name = dot ? dot + 1 : class;
    const char *inner = strchr(name, '$');

    *len = inner ? (size_t)(inner - name) : strlen(name);
    return name;
}

static bool equals(const char *text, size_t len, const char *other)
{
    return len == strlen(other) && memcmp(text, other, len) == 0;
}

static const char *join(struct arena *a, const char *name, size_t len, const char *extension)
{
    size_t n = strlen(extension);
    char *out = arena_alloc(a, len + n + 1);

    if (out) {
        memcpy(out, name, len);
        memcpy(out + len, extension, n);
    }
    return out;
}

/* The source file of a class whose original name is known, but not its file: by Java's and
 * Kotlin's habits. */
static const char *infer_file(struct job *j, const char *class)
{
    const char *file = j->q->file, *dot = file + j->q->file_len;
    size_t len;

    if (equals(file, j->q->file_len, "Native Method"))
        return arena_dup(j->a, file, j->q->file_len);
    while (dot > file && dot[-1] != '.')
        dot--;

    size_t extension_len = dot > file ? (size_t)(file + j->q->file_len - dot) : 0;
    const char *name = simple_name(class, &len);
    bool kotlin = equals(dot, extension_len, "kt");

    if (len >= 2 && memcmp(name + len - 2, "Kt", 2) == 0 && (extension_len == 0 || kotlin))
        return join(j->a, name, len - 2, ".kt");
    return join(j->a, name, len, kotlin ? ".kt" : ".java");
}

/* `known`: where the offset of its name stands, if the mapping has one. */
static const char *file_of(struct job *j, const char *class, const unsigned char *known)
{
    if (!j->q->file)
        return NULL;
    if (load32(known))
        return retrace_string(j->r, known);
    if (class != j->inferred_class) {
        j->inferred_class = class;
        j->inferred_file = infer_file(j, class);
    }
    return j->inferred_file;
}

static struct retrace_frame *new_frame(struct job *j)
{
    if (j->n_frames < j->room)
        return &j->frames[j->n_frames++];
    j->truncated = true;
    return NULL;
}

static void put_frame(struct job *j, uint32_t signature, int64_t line)
{
    const unsigned char *s = signature_at(j->r, signature);
    struct retrace_frame *f = new_frame(j);

    if (!f)
        return;
    *f = (struct retrace_frame){.class_name = retrace_string(j->r, s),
                                .method = retrace_string(j->r, s + 4),
                                .return_type = retrace_string(j->r, s + 8),
                                .arguments = retrace_string(j->r, s + 12),
                                .line = line,
                                .mapped = true};
    f->file = file_of(j, f->class_name, s + 16);
    __builtin_prefetch(f->class_name); /* it is read soon, to be printed */
    __builtin_prefetch(f->method);
    __builtin_prefetch(f->file);
}

/* Whether frames differ in the eyes of the reader if only their lines do. */
static bool tells_lines(const struct job *j)
{
    return j->verbose || j->q->line > 0;
}

/* Whether the alternatives begin with the same frame, in the eyes of the reader. The files of equal
 * classes are equal. */
static bool same_frame(const struct job *j, const struct retrace_frame *a,
                       const struct retrace_frame *b)
{
    if (a->class_name != b->class_name || a->method != b->method)
        return false;
    if (tells_lines(j) && a->line != b->line)
        return false;
    return !j->verbose || (a->return_type == b->return_type && a->arguments == b->arguments);
}

/* Makes the frames from `first` on an alternative, unless they are none or known already. */
static void put_alternative(struct job *j, size_t first)
{
    struct retrace_alternative *all = j->alternatives;

    if (j->n_frames == first)
        return;
    for (size_t i = 0; i < j->n_alternatives; i++)
        if (same_frame(j, &all[i].frames[0], &j->frames[first])) {
            j->n_frames = first;
            return;
        }
    j->kept_outline_line = j->outline_line;
    all[j->n_alternatives++] = (struct retrace_alternative){&j->frames[first], j->n_frames - first};
}

/* How many frames of a pick the compiler did not make up: it does so with outermost ones. */
static uint32_t kept(const struct job *j, const struct pick *p)
{
    bool made = group_flags(j->r, p->group) & (RETRACE_SYNTHESIZED | RETRACE_OUTLINE);

    return p->n - (made ? 1 : 0);
}

/* `line`: of the innermost frame, where a pick stands for several; else < 0. */
static void put_stack(struct job *j, const struct pick *p, int64_t line, uint32_t skip)
{
    size_t first = j->n_frames;

    for (uint32_t i = skip; i < kept(j, p) && !j->truncated; i++) {
        struct range range = range_at(j->r, p->first + i);

        put_frame(j, range.signature, i == 0 && line >= 0 ? line : original_line(j, &range));
    }
    put_alternative(j, first);
}

static void put_name(struct job *j, const struct pick *p)
{
    size_t first = j->n_frames;

    if (group_flags(j->r, p->group) & (RETRACE_SYNTHESIZED | RETRACE_OUTLINE))
        return;
    put_frame(j, range_at(j->r, group_first(j->r, p->group + 1) - 1).signature, j->q->line);
    put_alternative(j, first);
}

static void put_pick(struct job *j, const struct pick *p, const struct retrace_context *context)
{
    bool outline = group_flags(j->r, p->group) & RETRACE_OUTLINE;

    j->outline_line = outline && j->line > 0 ? j->line : 0;
    if (p->n == 0) {
        put_name(j, p);
        return;
    }

    struct range top = range_at(j->r, p->first);
    uint32_t skip = removed(j, p, context);

    if (!j->ambiguous || !range_ambiguous(&top)) {
        put_stack(j, p, -1, skip);
        return;
    }
    for (int64_t line = top.original_from; line <= top.original_to && !j->truncated; line++) {
        put_stack(j, p, line, skip);
        if (!tells_lines(j) || skip > 0 || kept(j, p) == 0)
            return; /* the others would look the same, or are dropped as this one was */
    }
}

static size_t count_arguments(const char *arguments)
{
    size_t n = arguments[0] != '\0';

    for (; *arguments; arguments++)
        n += *arguments == ',';
    return n;
}

static int compare_text(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a, b);
}

/* R8's order of alternatives, by their innermost frames. */
static int compare_frames(const struct retrace_frame *a, const struct retrace_frame *b)
{
    int c = compare_text(a->class_name, b->class_name);

    if (c == 0)
        c = compare_text(a->method, b->method);
    if (c == 0)
        c = compare_text(a->return_type, b->return_type);
    if (c == 0 && a->arguments != b->arguments) {
        size_t n = count_arguments(a->arguments), m = count_arguments(b->arguments);

        c = n == m ? strcmp(a->arguments, b->arguments) : n < m ? -1 : 1;
    }
    return c || a->line == b->line ? c : a->line < b->line ? -1 : 1;
}

/* Stable; alternatives are few, and ascend already where they are lines of one range. */
static void sort(struct retrace_alternative *all, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct retrace_alternative one = all[i];
        size_t at = i;

        for (; at > 0 && compare_frames(&one.frames[0], &all[at - 1].frames[0]) < 0; at--)
            all[at] = all[at - 1];
        all[at] = one;
    }
}

/* The mapping does not know the method, or not this line of it: only the class changes. */
static bool put_unmapped(struct job *j)
{
    const struct retrace_query *q = j->q;
    struct retrace_frame *f = new_frame(j);
    size_t first = j->n_frames - 1;

    *f = (struct retrace_frame){.method = arena_dup(j->a, q->method, q->method_len),
                                .line = q->line};
    if (j->class == RETRACE_NONE) {
        f->class_name = arena_dup(j->a, q->class_name, q->class_len);
        f->file = q->file ? arena_dup(j->a, q->file, q->file_len) : NULL;
    } else {
        const unsigned char *c = j->r->classes + RETRACE_CLASS * (size_t)j->class;

        f->class_name = retrace_string(j->r, c + 4);
        f->file = file_of(j, f->class_name, c + 12);
    }
    put_alternative(j, first);
    return !arena_full(j->a);
}

/* Room for all that may come: a pick is a range or a group, and alternatives have frames. */
static bool make_room(struct job *j, size_t n)
{
    j->room = n;
    j->frames = arena_array(j->a, n, sizeof *j->frames);
    j->alternatives = arena_array(j->a, n, sizeof *j->alternatives);
    return !arena_full(j->a);
}

/* How many frames the picks can become, at most RETRACE_FRAMES_MAX. */
static size_t frames_needed(const struct job *j)
{
    uint64_t n = 0;

    for (size_t i = 0; i < j->n_picks && n < RETRACE_FRAMES_MAX; i++) {
        const struct pick *p = &j->picks[i];
        struct range top = range_at(j->r, p->n ? p->first : 0);
        bool several = p->n && j->ambiguous && range_ambiguous(&top) && tells_lines(j);
        uint64_t copies = several ? (uint64_t)span(top.original_from, top.original_to) : 1;

        n += (p->n ? p->n : 1) * copies;
    }
    return n < RETRACE_FRAMES_MAX ? (size_t)n : RETRACE_FRAMES_MAX;
}

static bool find(struct job *j, const struct retrace_context *context)
{
    const struct retrace_query *q = j->q;
    uint32_t method = RETRACE_NONE;

    j->class = retrace_find_class(j->r, q->class_name, q->class_len);
    if (j->class != RETRACE_NONE)
        method = retrace_find_method(j->r, j->class, q->method, q->method_len);
    if (method == RETRACE_NONE)
        return true;

    const unsigned char *m = j->r->methods + RETRACE_METHOD * (size_t)method;

    j->first_group = load32(m + 4);
    j->end_group = load32(m + RETRACE_METHOD + 4);

    uint32_t groups = j->end_group - j->first_group;
    uint32_t ranges = group_first(j->r, j->end_group) - group_first(j->r, j->first_group);
    uint32_t most = ranges > groups ? ranges : groups;

    j->picks =
        arena_array(j->a, most < RETRACE_FRAMES_MAX ? most : RETRACE_FRAMES_MAX, sizeof *j->picks);
    if (!j->picks)
        return false;
    narrow(j, context);
    return true;
}

bool retrace_lookup_as(const struct retrace *r, const struct retrace_query *q, bool verbose,
                       struct retrace_context *context, struct arena *a, struct retrace_result *out)
{
    struct job j = {.r = r, .q = q, .a = a, .verbose = verbose};
    bool mapped, ok;

    if (!find(&j, context))
        return false;
    mapped = j.n_picks > 0;
    if (mapped)
        j.ambiguous = picks_ambiguous(&j);
    ok = make_room(&j, mapped ? frames_needed(&j) : 1) && (mapped || put_unmapped(&j));
    for (size_t i = 0; ok && i < j.n_picks && !j.truncated; i++)
        put_pick(&j, &j.picks[i], context);
    if (!ok || arena_full(a))
        return false;
    sort(j.alternatives, j.n_alternatives);
    *context =
        (struct retrace_context){.outline_line = j.n_alternatives == 0   ? j.outline_line
                                                 : j.n_alternatives == 1 ? j.kept_outline_line
                                                                         : 0};
    *out = (struct retrace_result){.at = j.alternatives,
                                   .n = j.n_alternatives,
                                   .ambiguous = j.ambiguous,
                                   .class_known = j.class != RETRACE_NONE,
                                   .truncated = j.truncated};
    return true;
}

bool retrace_lookup(const struct retrace *r, const struct retrace_query *q,
                    struct retrace_context *context, struct arena *a, struct retrace_result *out)
{
    return retrace_lookup_as(r, q, true, context, a, out);
}
