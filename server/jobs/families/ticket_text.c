#include "server/jobs/families/ticket_text.h"

#include "profile/tally.h"
#include "server/notify/notify.h"

#include <jansson.h>
#include <string.h>

#define FRAMES_SHOWN 30
#define VALUES_SHOWN 5 /* of a dimension */

static void put_share(struct buf *out, int64_t a, int64_t b)
{
    if (b > 0)
        buf_printf(out, "%.2f %%", 100.0 * (double)a / (double)b);
    else
        buf_text(out, "–");
}

static void put_counts(const struct ticket_family *f, struct buf *out)
{
    bool crash = f->kind == TALLY_CRASH;

    buf_printf(
        out,
        "| %s | sessions | of all sessions | installs | %sfirst seen | last seen | stacks |\n"
        "|---|---|---|---|%s---|---|---|\n",
        crash ? "crashes" : "janks", crash ? "" : "time in janks | ", crash ? "" : "---|");
    buf_printf(out, "| %lld | %lld | ", (long long)f->events, (long long)f->sessions);
    put_share(out, f->sessions, f->of_sessions);
    buf_printf(out, " | %lld | ", (long long)f->installs);
    if (!crash)
        buf_printf(out, "%.1f s | ", (double)f->jank_ms / 1000);
    buf_printf(out, "%s | %s | %lld |\n\n", f->first_day, f->last_day, (long long)f->stacks);
}

static const char *member(const json_t *about, const char *name)
{
    const char *text = json_string_value(json_object_get(about, name));

    return text ? text : "";
}

static void put_value(const struct ticket_part *p, struct buf *out)
{
    json_t *about = p->about_json ? json_loads(p->about_json, 0, NULL) : NULL;
    struct buf name;

    buf_init(&name, 4096);
    if (about && strcmp(p->dim, "build") == 0)
        buf_printf(&name, "%s (%lld) %s", member(about, "version_name"),
                   (long long)json_integer_value(json_object_get(about, "version_code")),
                   member(about, "platform"));
    else if (about)
        buf_printf(&name, "%s %s", member(about, "manufacturer"), member(about, "model"));
    else
        buf_text(&name, *p->value ? p->value : "(none)");
    buf_byte(&name, '\0');
    if (buf_ok(&name))
        notify_put_code(out, (const char *)name.at);
    buf_fini(&name);
    json_decref(about);
}

static void put_breakdown(const struct ticket_part *parts, size_t n, struct buf *out)
{
    static const struct {
        const char *dim, *title;
    } shown[] = {{"build", "Build"},  {"tier", "Tier"}, {"scene", "Scene"},
                 {"model", "Device"}, {"os", "OS"},     {"cause", "Cause"}};

    buf_text(out, "| | | events | sessions | of its sessions |\n|---|---|---|---|---|\n");
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
        for (size_t i = 0, put = 0; i < n && put < VALUES_SHOWN; i++) {
            if (strcmp(parts[i].dim, shown[k].dim) != 0)
                continue;
            buf_printf(out, "| %s | ", put++ ? "" : shown[k].title);
            put_value(&parts[i], out);
            buf_printf(out, " | %lld | %lld | ", (long long)parts[i].events,
                       (long long)parts[i].sessions);
            put_share(out, parts[i].sessions, parts[i].of_sessions);
            buf_text(out, " |\n");
        }
    buf_byte(out, '\n');
}

static void put_frame(const struct stack_frame *f, const struct frame_note *note, struct buf *out)
{
    struct buf text;

    buf_init(&text, 16384);
    buf_text(&text, f->function && *f->function ? f->function : note->name ? note->name : "?");
    if (f->file && *f->file)
        buf_printf(&text, " (%s:%u)", f->file, (unsigned)f->line);
    else if (f->module && *f->module)
        buf_printf(&text, " (%s+0x%llx)", f->module, (unsigned long long)f->offset);
    buf_byte(&text, '\0');
    buf_text(out, note->use == FRAME_COUNTED ? "1. **" : "1. ");
    if (buf_ok(&text))
        notify_put_code(out, (const char *)text.at);
    buf_text(out, note->use == FRAME_COUNTED ? "**\n" : "\n");
    buf_fini(&text);
}

static void put_stack(const struct grouped *g, struct buf *out)
{
    buf_text(out,
             "Its largest stack, innermost first; the frames that make the family stand out:\n\n");
    for (size_t i = 0; i < g->n_frames && i < g->is.n_notes && i < FRAMES_SHOWN; i++)
        put_frame(&g->frames[i], &g->is.notes[i], out);
    if (g->n_frames > FRAMES_SHOWN)
        buf_printf(out, "\n… and %zu more\n", g->n_frames - FRAMES_SHOWN);
    buf_byte(out, '\n');
}

static const char *label_text(const char *label)
{
    if (strcmp(label, "too_little_data") == 0)
        return "too little data";
    return strcmp(label, "not_fixed") == 0 ? "not fixed" : label;
}

void ticket_verdict(const struct ticket_verdict *v, struct buf *out)
{
    buf_printf(out, "Verdict on %s, ", v->platform);
    notify_put_code(out, v->build);
    buf_text(out, " against ");
    notify_put_code(out, v->baseline);
    buf_printf(out,
               ": **%s**. Rate ratio %s (99.5 %% interval %s to %s); %lld events where %s were "
               "expected.\n",
               label_text(v->label), v->ratio, v->low, v->high, (long long)v->events_new,
               v->expected);
}

void ticket_body(const struct ticket_facts *facts, struct buf *out)
{
    const struct ticket_family *f = facts->family;

    notify_put_code(out, f->title);
    buf_text(out, "\n\n");
    if (*f->owner) {
        buf_text(out, "Owner by rule: ");
        notify_put_code(out, f->owner);
        buf_text(out, "\n\n");
    }
    put_counts(f, out);
    for (size_t i = 0; i < facts->n_verdicts; i++) {
        ticket_verdict(&facts->verdicts[i], out);
        buf_byte(out, '\n');
    }
    put_stack(facts->stack, out);
    put_breakdown(facts->parts, facts->n_parts, out);
}
