/* GitLab, REST API v4. */
#include "server/notify/tracker.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX 200000 /* 1,048,576 characters there */

static struct tracker_call call(struct sending *s, const char *method, const char *url,
                                json_t *tree)
{
    return (struct tracker_call){
        .method = method,
        .url = url,
        .tree = tree,
        .headers = {send_printf(s, "PRIVATE-TOKEN: %s", channel_secret(s->channel, "token"))}};
}

/* ".../projects/GROUP%2FNAME" */
static const char *project(struct sending *s)
{
    return send_printf(s, "%s/api/v4/projects/%s", send_base(s),
                       tracker_escape(s, channel_setting(s->channel, "project", "")));
}

static const char *issue_url(struct sending *s, const char *id, const char *more)
{
    return send_printf(s, "%s/issues/%s%s", project(s), tracker_escape(s, id), more);
}

static bool probe(struct sending *s, struct outcome *out)
{
    struct tracker_call c = call(s, "GET", project(s), NULL);

    return tracker_send(s, &c, NULL, out);
}

static bool read_issue(struct sending *s, const json_t *issue, struct ticket_seen *seen,
                       struct outcome *out)
{
    *seen = (struct ticket_seen){.id = tracker_text(s, issue, "iid"),
                                 .url = tracker_text(s, issue, "web_url"),
                                 .word = tracker_text(s, issue, "state"),
                                 .body = tracker_text(s, issue, "description")};
    seen->closed = strcmp(seen->word, "closed") == 0;
    return (*seen->id && *seen->word) || tracker_odd(out, "the issue's iid and state");
}

static const json_t *pick(const json_t *list, const char *member, const char *marker)
{
    size_t i;
    json_t *item;

    json_array_foreach((json_t *)(uintptr_t)list, i, item)
    {
        const char *text = json_string_value(json_object_get(item, member));

        if (text && strstr(text, marker))
            return item;
    }
    return NULL;
}

/* One page of issues; *n is how many there were. */
static bool list_page(struct sending *s, const char *query, const char *marker,
                      struct ticket_seen *seen, bool *found, size_t *n, struct outcome *out)
{
    struct tracker_call c =
        call(s, "GET", send_printf(s, "%s/issues?scope=all&state=all&%s", project(s), query), NULL);
    const json_t *issue;
    json_t *list;
    bool ok;

    if (!tracker_send(s, &c, &list, out))
        return false;
    *n = json_array_size(list);
    issue = pick(list, "description", marker);
    ok = !issue || read_issue(s, issue, seen, out);
    *found = ok && issue;
    json_decref(list);
    return ok;
}

static bool find_issue(struct sending *s, const char *marker, int64_t since_us,
                       struct ticket_seen *seen, bool *found, struct outcome *out)
{
    const char *since = send_time(s, since_us - TRACKER_CLOCK_SLACK_US);
    size_t n;

    *found = false;
    if (!list_page(s, send_printf(s, "search=%s&in=description&per_page=20", marker), marker, seen,
                   found, &n, out))
        return false;
    n = since_us ? 100 : 0;
    for (int page = 1; page <= TRACKER_PAGES_MAX && !*found && n == 100; page++)
        if (!list_page(s,
                       send_printf(s,
                                   "created_after=%s&order_by=created_at&sort=desc&per_page=100"
                                   "&page=%d",
                                   tracker_escape(s, since), page),
                       marker, seen, found, &n, out))
            return false;
    return true;
}

/* The number of a user; nobody by that name leaves the issue to nobody. */
static bool find_user(struct sending *s, const char *name, json_int_t *id, struct outcome *out)
{
    struct tracker_call c = call(
        s, "GET",
        send_printf(s, "%s/api/v4/users?username=%s", send_base(s), tracker_escape(s, name)), NULL);
    json_t *list;

    if (!tracker_send(s, &c, &list, out))
        return false;
    *id = json_integer_value(json_object_get(json_array_get(list, 0), "id"));
    json_decref(list);
    return true;
}

static bool set_assignee(struct sending *s, const struct ticket_text *t, json_t *tree,
                         struct outcome *out)
{
    json_int_t id = 0;

    if (t->assignee && !find_user(s, t->assignee, &id, out))
        return false;
    if (id)
        json_object_set_new(tree, "assignee_ids", json_pack("[I]", id));
    return true;
}

static const char *joined(struct sending *s, const json_t *labels)
{
    const char *out = "";
    json_t *label;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)labels, i, label)
    {
        const char *more = send_printf(s, "%s%s%s", out, i ? "," : "", json_string_value(label));

        out = more ? more : out;
    }
    return out;
}

static bool create(struct sending *s, const struct ticket_text *t, struct ticket_seen *seen,
                   struct outcome *out)
{
    json_t *tree =
        json_pack("{s:s, s:s, s:s, s:b}", "title", t->title, "description",
                  tracker_body(s, t, FORM_GITLAB, BODY_MAX), "labels", joined(s, t->labels),
                  "confidential", channel_flag(s->channel, "confidential"));
    struct tracker_call c;
    json_t *issue;
    bool ok;

    if (!set_assignee(s, t, tree, out)) {
        json_decref(tree);
        return false;
    }
    c = call(s, "POST", send_printf(s, "%s/issues", project(s)), tree);
    if (!tracker_send(s, &c, &issue, out))
        return false;
    ok = read_issue(s, issue, seen, out);
    json_decref(issue);
    return ok;
}

static bool look(struct sending *s, const char *id, struct ticket_seen *seen, bool *gone,
                 struct outcome *out)
{
    struct tracker_call c = call(s, "GET", issue_url(s, id, ""), NULL);
    json_t *issue;
    bool ok;

    *gone = false;
    if (!tracker_send(s, &c, &issue, out)) {
        *gone = out->status == 404 && probe(s, out);
        return *gone;
    }
    ok = read_issue(s, issue, seen, out);
    json_decref(issue);
    return ok;
}

static bool put(struct sending *s, const char *id, json_t *tree, struct outcome *out)
{
    struct tracker_call c = call(s, "PUT", issue_url(s, id, ""), tree);

    return tracker_send(s, &c, NULL, out);
}

static bool update(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    return put(s, id,
               json_pack("{s:s, s:s}", "title", t->title, "description",
                         tracker_body(s, t, FORM_GITLAB, BODY_MAX)),
               out);
}

static bool reopen(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    json_t *tree = json_pack("{s:s}", "state_event", "reopen");

    if (!set_assignee(s, t, tree, out)) {
        json_decref(tree);
        return false;
    }
    return put(s, id, tree, out);
}

static bool comment(struct sending *s, const char *id, const struct ticket_text *t,
                    const char *markdown, const char *comment_marker, struct outcome *out)
{
    struct tracker_call c =
        call(s, "POST", issue_url(s, id, "/notes"),
             json_pack("{s:s}", "body", tracker_form(s, markdown, FORM_GITLAB, BODY_MAX)));

    (void)t;
    (void)comment_marker;
    return tracker_send(s, &c, NULL, out);
}

static bool has_comment(struct sending *s, const char *id, const char *comment_marker,
                        int64_t since_us, bool *has, struct outcome *out)
{
    const char *since = send_time(s, since_us - TRACKER_CLOCK_SLACK_US), *oldest;

    *has = false;
    for (int page = 1; page <= TRACKER_PAGES_MAX && !*has; page++) {
        struct tracker_call c = call(
            s, "GET",
            issue_url(
                s, id,
                send_printf(s, "/notes?order_by=created_at&sort=desc&per_page=100&page=%d", page)),
            NULL);
        json_t *list;
        size_t n;

        if (!tracker_send(s, &c, &list, out))
            return false;
        n = json_array_size(list);
        *has = pick(list, "body", comment_marker) != NULL;
        oldest = tracker_text(s, json_array_get(list, n ? n - 1 : 0), "created_at");
        json_decref(list);
        if (n < 100 || strcmp(oldest, since) < 0)
            break;
    }
    return true;
}

const struct tracker gitlab_tracker = {.probe = probe,
                                       .find = find_issue,
                                       .create = create,
                                       .look = look,
                                       .update = update,
                                       .reopen = reopen,
                                       .comment = comment,
                                       .has_comment = has_comment};
