#include "stacks/family_parts.h"

#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_BYTES 240

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

bool family_is_main(const char *name)
{
    static const char *const names[] = {"main", "android_main", "SDL_main", "AndroidMain", NULL};

    return is_one_of(name, names);
}

bool family_is_common_base(const char *name)
{
    static const char *const names[] = {"start", "clone", "thread_start", "RunThread", NULL};

    return is_one_of(name, names);
}

/* Recursion ---------------------------------------------------------------------------------------
 */

struct named_frame {
    uint32_t frame;
    const char *name;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named_frame *)a)->name, ((const struct named_frame *)b)->name);
}

/* Sorts each run of kept frames that `joined` ties to the next one. */
static void order_cycles(struct named_frame *kept, const bool *joined, size_t n)
{
    for (size_t from = 0, to; from < n; from = to) {
        to = from + 1;
        while (to < n && joined[to - 1])
            to++;
        if (to - from > 1)
            qsort(kept + from, to - from, sizeof *kept, by_name);
    }
}

bool family_collapse(struct family_sequence *s, struct frame_note *notes, struct arena *mem)
{
    struct named_frame *kept = arena_array(mem, s->n + 1, sizeof *kept);
    bool *joined = arena_array(mem, s->n + 1, sizeof *joined); /* kept[i] and kept[i + 1] */
    size_t n = 0;

    if (!kept || !joined)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        struct frame_note *note = &notes[s->frame[i]];
        size_t from = n > FAMILY_PERIOD_MAX ? n - FAMILY_PERIOD_MAX : 0, k = n;

        while (k > from && strcmp(kept[k - 1].name, note->name) != 0)
            k--;
        if (k == from) {
            kept[n++] = (struct named_frame){s->frame[i], note->name};
            continue;
        }
        for (; k < n; k++)
            joined[k - 1] = true;
        if (note->use == FRAME_BEYOND)
            note->use = FRAME_RECURSION;
    }
    order_cycles(kept, joined, n);
    for (size_t i = 0; i < n; i++)
        s->frame[i] = kept[i].frame;
    s->n = n;
    return true;
}

/* Title -------------------------------------------------------------------------------------------
 */

/* The last two parts: "Level::load" of "game::world::Level::load". */
static const char *short_name(const char *name)
{
    size_t at = strlen(name), seen = 0;

    if (name[0] == '-' || name[0] == '+' || name[0] == '<' || strchr(name, '|'))
        return name;
    while (at > 1) {
        at--;
        if (name[at - 1] != '.' && !(name[at - 1] == ':' && at > 1 && name[at - 2] == ':'))
            continue;
        if (++seen == 2)
            return name + at;
    }
    return name;
}

bool family_title(struct family *f, struct arena *mem)
{
    static const char *const lead[STACK_CLASS_COUNT] = {"", "system: ", "suspended: ", "unknown: "};
    char text[TITLE_BYTES];
    int n = snprintf(text, sizeof text, "%s%s", lead[f->class],
                     f->n_names ? short_name(f->names[0]) : "no frames");

    if (f->n_names > 1 && n > 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, " < %s", short_name(f->names[1]));
    utf8_clean(text, sizeof text - 1);
    f->title = arena_dup(mem, text, strlen(text));
    return f->title;
}

/* Flame graph -------------------------------------------------------------------------------------
 */

static bool shown(enum frame_use use)
{
    return use != FRAME_GLUE && use != FRAME_RECURSION;
}

bool family_folded(const struct family *f, struct arena *mem, const char *const **names, size_t *n)
{
    const char **list = arena_array(mem, f->n_notes + 1, sizeof *list);
    size_t k = 0;

    if (!list)
        return false;
    for (size_t i = f->n_notes; i--;) {
        const struct frame_note *note = &f->notes[i];

        if (shown(note->use) && (k == 0 || strcmp(list[k - 1], note->name) != 0))
            list[k++] = note->name;
    }
    *names = list;
    *n = k;
    return true;
}
