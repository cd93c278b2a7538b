#include "server/notify/forge.h"

#include <string.h>

static const struct forge *forge_of(const struct sending *s)
{
    return s->channel->kind == CHANNEL_GITHUB ? &github_forge : &gitlab_forge;
}

static const char *issues_url(struct sending *s, const struct forge *f)
{
    return send_printf(s, "%s/issues", f->project(s));
}

static const char *issue_url(struct sending *s, const struct forge *f, const char *id,
                             const char *more)
{
    return send_printf(s, "%s/issues/%s%s", f->project(s), tracker_escape(s, id), more);
}

bool forge_probe(struct sending *s, struct outcome *out)
{
    const struct forge *f = forge_of(s);
    struct tracker_call c = f->call(s, "GET", f->project(s), NULL);

    return tracker_send(s, &c, NULL, out);
}

static bool read_issue(struct sending *s, const struct forge *f, const json_t *issue,
                       struct ticket_seen *seen, struct outcome *out)
{
    *seen = (struct ticket_seen){.id = tracker_text(s, issue, f->id),
                                 .url = tracker_text(s, issue, f->url),
                                 .word = tracker_text(s, issue, "state"),
                                 .body = tracker_text(s, issue, f->body)};
    seen->closed = strcmp(seen->word, "closed") == 0;
    return (*seen->id && *seen->word) || tracker_odd(out, f->said);
}

/* The item of a list whose text holds the marker. GitHub lists pull requests among issues. */
static const json_t *pick(const json_t *list, const char *member, const char *marker)
{
    size_t i;
    json_t *item;

    json_array_foreach((json_t *)(uintptr_t)list, i, item)
    {
        const char *text = json_string_value(json_object_get(item, member));

        if (text && strstr(text, marker) && !json_object_get(item, "pull_request"))
            return item;
    }
    return NULL;
}

/* The issue with the marker among those of an answer, which is released. */
static bool take_issue(struct sending *s, const struct forge *f, json_t *answer, const json_t *list,
                       const char *marker, struct ticket_seen *seen, bool *found,
                       struct outcome *out)
{
    const json_t *issue = pick(list, f->body, marker);
    bool ok = !issue || read_issue(s, f, issue, seen, out);

    *found = ok && issue;
    json_decref(answer);
    return ok;
}

/* Search runs on an index that lags behind: good for what is old. */
static bool search(struct sending *s, const struct forge *f, const char *marker,
                   struct ticket_seen *seen, bool *found, struct outcome *out)
{
    struct tracker_call c = f->call(s, "GET", f->search(s, marker), NULL);
    json_t *answer;

    return tracker_send(s, &c, &answer, out) &&
           take_issue(s, f, answer, f->found ? json_object_get(answer, f->found) : answer, marker,
                      seen, found, out);
}

/* One page of a list; *last: no other one is worth a look. The caller owns *page. */
static bool turn(struct sending *s, const struct forge *f, const struct forge_list *list,
                 const char *of, const char *since, int number, json_t **page, bool *last,
                 struct outcome *out)
{
    struct tracker_call c = f->call(s, "GET", list->url(s, of, since, number), NULL);
    const char *oldest;
    size_t n;

    if (!tracker_send(s, &c, page, out))
        return false;
    n = json_array_size(*page);
    oldest = tracker_text(s, json_array_get(*page, n ? n - 1 : 0), "created_at");
    *last = n < FORGE_PAGE || number == TRACKER_PAGES_MAX ||
            (!list->bounded && strcmp(oldest, since) < 0);
    return true;
}

/* The list of issues does not lag behind. */
static bool list_recent(struct sending *s, const struct forge *f, const char *marker,
                        int64_t since_us, struct ticket_seen *seen, bool *found,
                        struct outcome *out)
{
    const char *since = send_time(s, since_us - TRACKER_CLOCK_SLACK_US);
    bool last = false;

    for (int number = 1; !last && !*found; number++) {
        json_t *page;

        if (!turn(s, f, &f->recent, issues_url(s, f), since, number, &page, &last, out) ||
            !take_issue(s, f, page, page, marker, seen, found, out))
            return false;
    }
    return true;
}

bool forge_find(struct sending *s, const char *marker, int64_t since_us, struct ticket_seen *seen,
                bool *found, struct outcome *out)
{
    const struct forge *f = forge_of(s);

    *found = false;
    return search(s, f, marker, seen, found, out) &&
           (*found || !since_us || list_recent(s, f, marker, since_us, seen, found, out));
}

bool forge_has_comment(struct sending *s, const char *id, const char *comment_marker,
                       int64_t since_us, bool *has, struct outcome *out)
{
    const struct forge *f = forge_of(s);
    const char *since = send_time(s, since_us - TRACKER_CLOCK_SLACK_US);
    bool last = false;

    *has = false;
    for (int number = 1; !last && !*has; number++) {
        json_t *page;

        if (!turn(s, f, &f->notes, issue_url(s, f, id, ""), since, number, &page, &last, out))
            return false;
        *has = pick(page, "body", comment_marker) != NULL;
        json_decref(page);
    }
    return true;
}

/* Sends and reads the issue that comes back. */
static bool ask_issue(struct sending *s, const struct forge *f, const struct tracker_call *c,
                      struct ticket_seen *seen, struct outcome *out)
{
    json_t *issue;
    bool ok;

    if (!tracker_send(s, c, &issue, out))
        return false;
    ok = read_issue(s, f, issue, seen, out);
    json_decref(issue);
    return ok;
}

bool forge_look(struct sending *s, const char *id, struct ticket_seen *seen, bool *gone,
                struct outcome *out)
{
    const struct forge *f = forge_of(s);
    struct tracker_call c = f->call(s, "GET", issue_url(s, f, id, ""), NULL);

    *gone = false;
    if (ask_issue(s, f, &c, seen, out))
        return true;
    /* 404: deleted, or the repository is out of reach */
    *gone = (f->tells_deleted && out->status == 410) || (out->status == 404 && forge_probe(s, out));
    return *gone;
}

static void put_text(struct sending *s, const struct forge *f, const struct ticket_text *t,
                     json_t *tree)
{
    json_object_set_new(tree, "title", json_string(t->title));
    json_object_set_new(tree, f->body, json_string(tracker_body(s, t, f->form, f->body_max)));
}

bool forge_create(struct sending *s, const struct ticket_text *t, json_t *tree,
                  struct ticket_seen *seen, struct outcome *out)
{
    const struct forge *f = forge_of(s);
    struct tracker_call c = f->call(s, "POST", issues_url(s, f), tree);

    put_text(s, f, t, tree);
    return ask_issue(s, f, &c, seen, out);
}

bool forge_change(struct sending *s, const char *id, json_t *tree, struct outcome *out)
{
    const struct forge *f = forge_of(s);
    struct tracker_call c = f->call(s, f->change, issue_url(s, f, id, ""), tree);

    return tracker_send(s, &c, NULL, out);
}

bool forge_update(struct sending *s, const char *id, const struct ticket_text *t,
                  struct outcome *out)
{
    json_t *tree = json_object();

    put_text(s, forge_of(s), t, tree);
    return forge_change(s, id, tree, out);
}

bool forge_comment(struct sending *s, const char *id, const struct ticket_text *t,
                   const char *markdown, const char *comment_marker, struct outcome *out)
{
    const struct forge *f = forge_of(s);
    struct tracker_call c =
        f->call(s, "POST", issue_url(s, f, id, f->comments),
                json_pack("{s:s}", "body", tracker_form(s, markdown, f->form, f->body_max)));

    (void)t;
    (void)comment_marker;
    return tracker_send(s, &c, NULL, out);
}
