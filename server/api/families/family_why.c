#include "server/api/families/family_why.h"

#include "base/digest.h"

#include <stdio.h>
#include <string.h>

static json_t *rule_json(const struct rule *rule)
{
    return rule ? json_pack("{s:s, s:s}", "field", rule_field_name[rule->field], "pattern",
                            rule->pattern)
                : json_null();
}

static json_t *text_json(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

static json_t *frame_json(const struct stack_frame *f, const struct frame_note *note)
{
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:b, s:s, s:s, s:s, s:o, s:o}",         //
                     "frame", (int)f->raw, "function", text_json(f->function),               //
                     "name", text_json(note->name), "module", text_json(f->module),          //
                     "file", text_json(f->file),                                             //
                     "line", f->line ? json_integer(f->line) : json_null(),                  //
                     "inlined", (int)f->inlined, "status", stack_status_name[f->status],     //
                     "use", frame_use_name[note->use], "because", frame_use_text[note->use], //
                     "rule", rule_json(note->rule),                                          //
                     "position", note->position ? json_integer(note->position) : json_null());
}

static json_t *frames_json(const struct grouped *g)
{
    json_t *list = json_array();

    for (size_t i = 0; i < g->n_frames && i < g->is.n_notes; i++)
        json_array_append_new(list, frame_json(&g->frames[i], &g->is.notes[i]));
    return list;
}

static json_t *prints_json(const struct family *f)
{
    json_t *list = json_array();
    char hex[2 * FINGERPRINT_BYTES + 1];

    for (int d = 0; d < RULES_DEPTH_MAX; d++) {
        to_hex(f->fingerprint[d], FINGERPRINT_BYTES, hex);
        json_array_append_new(list, json_string(hex));
    }
    return list;
}

static json_t *names_json(const struct family *f)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < f->n_names; i++)
        json_array_append_new(list, json_string(f->names[i]));
    return list;
}

static json_t *edits_json(const struct grouped *g)
{
    json_t *list = json_array();

    for (size_t i = 0; i < g->n_edits; i++)
        json_array_append_new(
            list,
            json_pack("{s:I, s:s, s:o, s:o, s:o}", "id", g->edits[i]->edit_id, "kind",
                      g->edits[i]->split ? "split" : "merge", "depth",
                      g->edits[i]->split ? json_integer(g->edits[i]->depth) : json_null(), "by_kin",
                      text_json(g->edits[i]->by_kin), "lost", text_json(g->edits[i]->lost)));
    return list;
}

static void tell_edits(struct buf *text, const struct grouped *g)
{
    bool by_hand = false;

    for (size_t i = 0; i < g->n_edits; i++) {
        const struct family_edit *e = g->edits[i];

        by_hand |= !*e->by_kin;
        if (strcmp(e->by_kin, "cut") == 0)
            buf_text(text, "; unwinding stopped early, and it begins like the family it is in");
        if (strcmp(e->by_kin, "named") == 0) {
            buf_text(text, "; of the names that a mapping allows, the family it is in has ");
            buf_text(text, e->lost);
        }
        if (strcmp(e->by_kin, "lost") == 0) {
            buf_text(text, "; kin of the family it is in, but for frames that compilers lost: ");
            buf_text(text, e->lost);
        }
    }
    if (by_hand)
        buf_text(text, "; then merged or split by hand");
}

/* How many frames tell its stacks apart: the rules' depth, or where people split it. */
static unsigned depth_of(const struct grouped *g)
{
    unsigned depth = g->is.depth;

    for (size_t i = 0; i < g->n_edits; i++)
        if (g->edits[i]->split && g->edits[i]->depth > depth)
            depth = (unsigned)g->edits[i]->depth;
    return depth;
}

/* One sentence for people. */
static json_t *sentence(const struct group_stack *s, const struct grouped *g)
{
    static const char *const of_class[STACK_CLASS_COUNT] = {
        [STACK_CLASS_IN_APP] = "its innermost frames of the app",
        [STACK_CLASS_SYSTEM_ONLY] = "no frame is the app's; its innermost named frames",
        [STACK_CLASS_SUSPENDED] = "the thread was held; its innermost frames",
        [STACK_CLASS_MOSTLY_UNKNOWN] = "too few frames have names; what there is",
    };
    const unsigned depth = depth_of(g), n = g->is.n_names < depth ? g->is.n_names : depth;
    char head[200];
    struct buf text;
    json_t *out;

    buf_init(&text, (size_t)1 << 20);
    snprintf(head, sizeof head, "%s stack: %s (%u of at most %u) are ", s->kind ? "Crash" : "Jank",
             of_class[g->is.class], n, depth);
    buf_text(&text, head);
    for (unsigned i = 0; i < n; i++) {
        buf_text(&text, i ? " < " : "");
        buf_text(&text, g->is.names[i]);
    }
    if (!n)
        buf_text(&text, "none");
    tell_edits(&text, g);
    out = buf_ok(&text) ? json_stringn((const char *)text.at, text.len) : NULL;
    buf_fini(&text);
    return out ? out : json_string(g->is.title);
}

static json_t *owner_json(const struct family *f)
{
    return f->owner ? json_pack("{s:s, s:o}", "owner", f->owner, "rule", rule_json(f->owner_rule))
                    : json_null();
}

static json_t *why_json(const struct group_stack *s, const struct grouped *g)
{
    const struct family *f = &g->is;
    char hex[2 * FINGERPRINT_BYTES + 1];

    to_hex(g->family, FINGERPRINT_BYTES, hex);
    return json_pack(
        "{s:s, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:i, s:i}", //
        "family", hex, "sentence", sentence(s, g),                                //
        "class", stack_class_name[f->class], "depth", (int)f->depth,              //
        "names", names_json(f), "fingerprints", prints_json(f),                   //
        "edits", edits_json(g), "owner", owner_json(f),                           //
        "ignored_by", rule_json(f->ignore_rule),                                  //
        "culprit",
        f->culprit < f->n_notes ? json_integer((json_int_t)f->culprit) : json_null(), //
        "frames", frames_json(g),                                                     //
        "provisional", (int)f->provisional, "named", (int)f->named, "unnamed", (int)f->unnamed);
}

json_t *family_why(const struct grouping *g, const struct group_stack *s, struct arena *mem,
                   struct err *err)
{
    struct grouped *grouped = arena_alloc(mem, sizeof *grouped);
    json_t *tree;

    if (!grouped) {
        err_memory(err);
        return NULL;
    }
    if (!group_stack(g, s, mem, grouped, err))
        return NULL;
    tree = why_json(s, grouped);
    if (!tree)
        err_memory(err);
    return tree;
}
