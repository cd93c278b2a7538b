#include "family_text.h"

#include "client.h"
#include "term.h"

#include <string.h>

static long long number(const json_t *o, const char *name)
{
    return (long long)json_integer_value(json_object_get(o, name));
}

static double real(const json_t *o, const char *name)
{
    return json_number_value(json_object_get(o, name));
}

static bool has(const json_t *o, const char *name)
{
    const json_t *v = json_object_get(o, name);

    return v && !json_is_null(v);
}

static void head(const struct term *t, const json_t *of)
{
    fprintf(t->out, "%lld sessions, %lld installs%s\n", number(of, "sessions"),
            number(of, "installs"),
            json_is_true(json_object_get(of, "pending")) ? "; some are still being counted" : "");
}

void families_print(const json_t *list)
{
    struct term t = term_on(stdout, 0);
    json_t *f;
    size_t i;

    head(&t, list);
    fprintf(t.out, "%-32s %-5s %8s %8s %8s %7s %9s  %-12s %s\n", "ID", "KIND", "SESSIONS",
            "INSTALLS", "EVENTS", "RATE %", "JANK S", "OWNER", "TITLE");
    json_array_foreach(json_object_get(list, "items"), i, f)
    {
        fprintf(t.out, "%-32s %-5s %8lld %8lld %8lld %7.2f %9.1f  ", client_field(f, "id"),
                client_field(f, "kind"), number(f, "sessions"), number(f, "installs"),
                number(f, "events"), 100 * real(f, "rate"), (double)number(f, "jank_ms") / 1000);
        term_cell(&t, has(f, "owner") ? client_field(f, "owner") : "-", 12);
        fputc(' ', t.out);
        term_text(&t, client_field(f, "title"), 200);
        fputc('\n', t.out);
    }
}

static void frames(const struct term *t, const json_t *why)
{
    json_t *f;
    size_t i;

    json_array_foreach(json_object_get(why, "frames"), i, f)
    {
        bool counted = strcmp(client_field(f, "use"), "counted") == 0;

        fprintf(t->out, "%c %3zu  ", counted ? '*' : ' ', i);
        term_cell(t, client_field(f, "use"), 10);
        term_text(t, has(f, "function") ? client_field(f, "function") : client_field(f, "name"),
                  120);
        if (has(f, "file")) {
            fputs("  ", t->out);
            term_text(t, client_field(f, "file"), 80);
            fprintf(t->out, ":%lld", number(f, "line"));
        }
        fputc('\n', t->out);
    }
}

/* "Phone 1", "1.4.0 140 ios", "battle/frost": 32 characters */
static void part_name(const struct term *t, const json_t *part, const char *name)
{
    const json_t *v = json_object_get(part, name);

    if (json_is_string(v)) {
        term_cell(t, *json_string_value(v) ? json_string_value(v) : "-", 32);
    } else if (has(v, "model")) {
        term_cell(t, client_field(v, "model"), 32);
    } else {
        term_cell(t, client_field(v, "version_name"), 14);
        fprintf(t->out, " %-9lld %-7s", number(v, "version_code"), client_field(v, "platform"));
    }
}

static void breakdown(const struct term *t, const json_t *f)
{
    static const struct {
        const char *list, *name, *title;
    } parts[] = {{"builds", "build", "Builds"},
                 {"tiers", "tier_name", "Tiers"},
                 {"scenes", "scene", "Scenes"},
                 {"devices", "device", "Devices"},
                 {"os_versions", "os", "OS versions"},
                 {"causes", "cause", "Causes"},
                 {"days", "day", "Days"}};
    json_t *part;
    size_t i;

    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        fprintf(t->out, "\n%-32s %8s %8s %8s %7s\n", parts[k].title, "SESSIONS", "INSTALLS",
                "EVENTS", "RATE %");
        json_array_foreach(json_object_get(f, parts[k].list), i, part)
        {
            part_name(t, part, parts[k].name);
            fprintf(t->out, " %8lld %8lld %8lld %7.2f\n", number(part, "sessions"),
                    number(part, "installs"), number(part, "events"), 100 * real(part, "rate"));
        }
    }
}

void family_print(const json_t *f)
{
    struct term t = term_on(stdout, 0);
    const json_t *why = json_object_get(f, "why"), *ticket = json_object_get(f, "ticket");

    term_text(&t, client_field(f, "title"), 400);
    fprintf(t.out,
            "\n%s, %s; %lld events in %lld sessions (%.2f %%) of %lld installs, %lld stacks\n"
            "seen %s to %s\n",
            client_field(f, "kind"), client_field(f, "class"), number(f, "events"),
            number(f, "sessions"), 100 * real(f, "rate"), number(f, "installs"),
            number(f, "stacks"), client_field(f, "first_day"), client_field(f, "last_day"));
    if (has(f, "owner")) {
        fputs("owner: ", t.out);
        term_text(&t, client_field(f, "owner"), 100);
        fputc('\n', t.out);
    }
    if (json_is_object(ticket)) {
        fprintf(t.out, "ticket: %s ", client_field(ticket, "state"));
        term_text(&t, client_field(ticket, "url"), 300);
        fputc('\n', t.out);
    }
    fputs("\nWhy: ", t.out);
    term_text(&t, client_field(why, "sentence"), 1000);
    fputs("\n\n", t.out);
    frames(&t, why);
    breakdown(&t, f);
}

void family_sessions_print(const json_t *list)
{
    struct term t = term_on(stdout, 0);
    json_t *s;
    size_t i;

    fprintf(t.out, "%-32s %-10s %10s %8s  %-20s %s\n", "SESSION", "DAY", "AT S", "LONG MS",
            "DEVICE", "SCENE");
    json_array_foreach(json_object_get(list, "items"), i, s)
    {
        fprintf(t.out, "%-32s %-10s %10.1f %8lld  ", client_field(s, "session"),
                client_field(s, "day"), (double)number(s, "start_us") / 1e6,
                number(s, "duration_us") / 1000);
        term_cell(&t, client_field(s, "model"), 20);
        fputc(' ', t.out);
        term_text(&t, client_field(s, "scene"), 60);
        fputc('\n', t.out);
    }
}

static void steps(const struct term *t, const json_t *list)
{
    json_t *step;
    size_t i;

    json_array_foreach(list, i, step)
    {
        const char *text = json_string_value(step);

        fputs(i ? " > " : "", t->out);
        term_text(t, text ? text : "", 40);
    }
    fputc('\n', t->out);
}

void family_paths_print(const json_t *paths)
{
    struct term t = term_on(stdout, 0);
    json_t *p;
    size_t i;

    fprintf(t.out, "a sample: %lld windows before janks, %lld of sessions without\n",
            number(paths, "windows"), number(paths, "clean_windows"));
    fprintf(t.out, "%7s %8s %7s %7s  %s\n", "LIFT", "SUPPORT", "HERE %", "ELSE %", "STEPS");
    json_array_foreach(json_object_get(paths, "paths"), i, p)
    {
        fprintf(t.out, "%7.2f %8lld %7.1f %7.1f  ", real(p, "lift"), number(p, "support"),
                100 * real(p, "share"), 100 * real(p, "clean_share"));
        steps(&t, json_object_get(p, "steps"));
    }
    fputs("\nThe last steps before some of them:\n", t.out);
    json_array_foreach(json_object_get(paths, "recent"), i, p)
        steps(&t, json_object_get(p, "steps"));
}

void family_verdicts_print(const json_t *list)
{
    struct term t = term_on(stdout, 0);
    json_t *pair;
    size_t i;

    fprintf(t.out, "%-8s %-16s %-16s %-16s %7s %15s %5s\n", "PLATFORM", "BUILD", "AGAINST",
            "VERDICT", "RATIO", "99.5 % INTERVAL", "LOOK");
    json_array_foreach(json_object_get(list, "items"), i, pair)
    {
        const json_t *look = json_array_get(json_object_get(pair, "looks"), 0);

        fprintf(t.out, "%-8s ", client_field(json_object_get(pair, "build"), "platform"));
        term_cell(&t, client_field(json_object_get(pair, "build"), "version_name"), 16);
        fputc(' ', t.out);
        term_cell(&t, client_field(json_object_get(pair, "baseline"), "version_name"), 16);
        fprintf(t.out, " %-16s %7.3f %7.3f %7.3f %5lld\n", client_field(pair, "verdict"),
                real(look, "ratio"), real(look, "low"), real(look, "high"), number(look, "look"));
    }
}

static void changes(const struct term *t, const json_t *preview, const char *name,
                    const char *title, const char *others)
{
    const json_t *list = json_object_get(preview, name);
    json_t *f, *other;
    size_t i, k;

    fprintf(t->out, "\n%s: %lld\n", title, number(list, "count"));
    json_array_foreach(json_object_get(list, "items"), i, f)
    {
        fprintf(t->out, "  %s %8lld  ", client_field(f, "family"), number(f, "events"));
        term_text(t, client_field(f, "title"), 120);
        if (strcmp(name, "owners") == 0) {
            fputs("  ", t->out);
            term_text(t, has(f, "owner_before") ? client_field(f, "owner_before") : "nobody", 40);
            fputs(" -> ", t->out);
            term_text(t, has(f, "owner") ? client_field(f, "owner") : "nobody", 40);
        }
        fputc('\n', t->out);
        json_array_foreach(json_object_get(f, others), k, other)
        {
            fprintf(t->out, "    %s %6lld  ", client_field(other, "family"),
                    number(other, "events"));
            term_text(t, client_field(other, "title"), 120);
            fputc('\n', t->out);
        }
    }
}

void family_preview_print(const json_t *preview)
{
    struct term t = term_on(stdout, 0);
    const json_t *before = json_object_get(preview, "before");
    const json_t *after = json_object_get(preview, "after");
    const json_t *affected = json_object_get(preview, "affected");

    fprintf(t.out,
            "%lld stacks looked at%s; families %lld -> %lld, listed %lld -> %lld; %lld events"
            " under another family\n",
            number(preview, "stacks"),
            json_is_true(json_object_get(preview, "complete")) ? "" : " (there are more)",
            number(before, "families"), number(after, "families"), number(before, "listed"),
            number(after, "listed"), number(preview, "events_moved"));
    fprintf(t.out, "affected: %lld events of %lld stacks in about %lld sessions of %lld installs\n",
            number(affected, "events"), number(affected, "stacks"), number(affected, "sessions"),
            number(affected, "installs"));
    changes(&t, preview, "split", "Families that split", "into");
    changes(&t, preview, "merged", "Families that merge", "from");
    changes(&t, preview, "vanish", "Families that leave the list", "");
    changes(&t, preview, "appear", "Families that come onto the list", "");
    changes(&t, preview, "owners", "Owners that change", "");
}
