#include "server/notify/message.h"

#include "server/notify/text.h"

#include <math.h>
#include <string.h>

const char *body_member(const json_t *body, const char *name)
{
    const char *text = json_string_value(json_object_get(body, name));

    return text ? text : "";
}

double body_ratio(const json_t *body, const char *name)
{
    const json_t *v = json_object_get(body, name);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void add_fact(struct message *m, const char *name, const char *value)
{
    if (!value || !*value || m->n_facts == MESSAGE_FACTS)
        return;
    m->facts[m->n_facts].name = name;
    m->facts[m->n_facts++].value = value;
}

static const char *change_text(struct sending *s, const json_t *body)
{
    double change = body_ratio(body, "change"), low = body_ratio(body, "change_low"),
           high = body_ratio(body, "change_high");
    const char *out;
    struct buf b;

    if (!isfinite(change))
        return "";
    buf_init(&b, 256);
    put_percent(&b, change);
    if (isfinite(low) && isfinite(high)) {
        buf_text(&b, " (");
        put_percent(&b, low);
        buf_text(&b, " to ");
        put_percent(&b, high);
        buf_text(&b, ")");
    }
    out = buf_keep(&b, s->mem);
    buf_fini(&b);
    return out;
}

static const char *headline(const char *state)
{
    static const struct {
        const char *state, *word;
    } words[] = {{"open", "Worse"},
                 {"updated", "Changed"},
                 {"resolved", "Resolved"},
                 {"acknowledged", "Acknowledged"},
                 {"silenced", "Silenced"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].state, state) == 0)
            return words[i].word;
    return "Alert";
}

static enum message_mood mood_of(const char *state, const char *severity)
{
    if (strcmp(state, "resolved") == 0)
        return MOOD_GOOD;
    if (strcmp(state, "open") != 0 && strcmp(state, "updated") != 0)
        return MOOD_PLAIN;
    return strcmp(severity, "alert") == 0 ? MOOD_BAD : MOOD_WARN;
}

static bool read_alert(struct sending *s, const json_t *body, struct message *m)
{
    const char *state = body_member(body, "state"), *baseline = body_member(body, "baseline");
    const json_t *n = json_object_get(body, "n");

    m->title = send_printf(s, "%s: %s", headline(state), body_member(body, "summary"));
    m->detail = body_member(body, "detail");
    m->mood = mood_of(state, body_member(body, "severity"));
    add_fact(m, "App", s->channel->app);
    add_fact(m, "Build",
             *baseline ? send_printf(s, "%s against %s", body_member(body, "build"), baseline)
                       : body_member(body, "build"));
    add_fact(m, "Tier", body_member(body, "tier"));
    add_fact(m, "Scene", body_member(body, "scene"));
    add_fact(m, "Metric", body_member(body, "metric"));
    add_fact(m, "Change", change_text(s, body));
    if (json_integer_value(n) > 0)
        add_fact(m, "Sessions", send_printf(s, "%lld", (long long)json_integer_value(n)));
    add_fact(m, "Severity", body_member(body, "severity"));
    return m->title && !arena_full(s->mem);
}

bool message_read(struct sending *s, const char *kind, const json_t *body, struct message *out)
{
    *out = (struct message){.mood = MOOD_PLAIN, .url = body_member(body, "url")};
    if (strcmp(kind, "alert") == 0)
        return read_alert(s, body, out);
    out->title = body_member(body, "title");
    out->detail = body_member(body, "text");
    add_fact(out, "App", s->channel->app);
    return true;
}
