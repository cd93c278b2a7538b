/* GitHub, REST API version 2022-11-28; also GitHub Enterprise Server (url: https://HOST/api/v3). */
#include "server/notify/tracker.h"

#include <string.h>

#define BODY_MAX 60000 /* 65,536 characters there */

static struct tracker_call call(struct sending *s, const char *method, const char *url,
                                json_t *tree)
{
    return (struct tracker_call){
        .method = method,
        .url = url,
        .tree = tree,
        .headers = {send_printf(s, "Authorization: Bearer %s", channel_secret(s->channel, "token")),
                    "Accept: application/vnd.github+json", "X-GitHub-Api-Version: 2022-11-28"}};
}

/* ".../repos/OWNER/NAME" */
static const char *repository(struct sending *s)
{
    const char *name = channel_setting(s->channel, "repository", ""), *slash = strchr(name, '/');

    return send_printf(s, "%s/repos/%s/%s", send_base(s),
                       tracker_escape(s, arena_dup(s->mem, name, (size_t)(slash - name))),
                       tracker_escape(s, slash + 1));
}

static const char *issue_url(struct sending *s, const char *id, const char *more)
{
    return send_printf(s, "%s/issues/%s%s", repository(s), tracker_escape(s, id), more);
}

static bool probe(struct sending *s, struct outcome *out)
{
    struct tracker_call c = call(s, "GET", repository(s), NULL);

    return tracker_send(s, &c, NULL, out);
}

static bool read_issue(struct sending *s, const json_t *issue, struct ticket_seen *seen,
                       struct outcome *out)
{
    *seen = (struct ticket_seen){.id = tracker_text(s, issue, "number"),
                                 .url = tracker_text(s, issue, "html_url"),
                                 .word = tracker_text(s, issue, "state"),
                                 .body = tracker_text(s, issue, "body")};
    seen->closed = strcmp(seen->word, "closed") == 0;
    return (*seen->id && *seen->word) || tracker_odd(out, "the issue's number and state");
}

/* The issue of a list whose body holds the marker. */
static const json_t *pick(const json_t *list, const char *marker)
{
    size_t i;
    json_t *issue;

    json_array_foreach((json_t *)(uintptr_t)list, i, issue)
    {
        const char *body = json_string_value(json_object_get(issue, "body"));

        if (body && strstr(body, marker) && !json_object_get(issue, "pull_request"))
            return issue;
    }
    return NULL;
}

static bool take(struct sending *s, json_t *answer, const json_t *list, const char *marker,
                 struct ticket_seen *seen, bool *found, struct outcome *out)
{
    const json_t *issue = pick(list, marker);
    bool ok = !issue || read_issue(s, issue, seen, out);

    *found = ok && issue;
    json_decref(answer);
    return ok;
}

/* Search runs on an index that lags behind: good for what is old. */
static bool search(struct sending *s, const char *marker, struct ticket_seen *seen, bool *found,
                   struct outcome *out)
{
    const char *q = send_printf(s, "%s repo:%s is:issue in:body", marker,
                                channel_setting(s->channel, "repository", ""));
    struct tracker_call c = call(
        s, "GET",
        send_printf(s, "%s/search/issues?q=%s&per_page=20", send_base(s), tracker_escape(s, q)),
        NULL);
    json_t *answer;

    return tracker_send(s, &c, &answer, out) &&
           take(s, answer, json_object_get(answer, "items"), marker, seen, found, out);
}

/* The list does not: all that was created since then, newest first. */
static bool list_recent(struct sending *s, const char *marker, int64_t since_us,
                        struct ticket_seen *seen, bool *found, struct outcome *out)
{
    const char *since = send_time(s, since_us - TRACKER_CLOCK_SLACK_US);

    for (int page = 1; page <= TRACKER_PAGES_MAX && !*found; page++) {
        struct tracker_call c = call(
            s, "GET",
            send_printf(s, "%s/issues?state=all&sort=created&direction=desc&per_page=100&page=%d",
                        repository(s), page),
            NULL);
        json_t *list;
        const char *oldest;
        size_t n;

        if (!tracker_send(s, &c, &list, out))
            return false;
        n = json_array_size(list);
        oldest = tracker_text(s, json_array_get(list, n ? n - 1 : 0), "created_at");
        if (!take(s, list, list, marker, seen, found, out))
            return false;
        if (n < 100 || strcmp(oldest, since) < 0)
            break;
    }
    return true;
}

static bool find_issue(struct sending *s, const char *marker, int64_t since_us,
                       struct ticket_seen *seen, bool *found, struct outcome *out)
{
    return search(s, marker, seen, found, out) &&
           (*found || !since_us || list_recent(s, marker, since_us, seen, found, out));
}

static json_t *assignees(const struct ticket_text *t)
{
    return t->assignee ? json_pack("[s]", t->assignee) : json_array();
}

static bool create(struct sending *s, const struct ticket_text *t, struct ticket_seen *seen,
                   struct outcome *out)
{
    struct tracker_call c = call(s, "POST", send_printf(s, "%s/issues", repository(s)),
                                 json_pack("{s:s, s:s, s:O, s:o}", "title", t->title, "body",
                                           tracker_body(s, t, FORM_MARKDOWN, BODY_MAX), "labels",
                                           t->labels, "assignees", assignees(t)));
    json_t *issue;
    bool ok;

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
        /* 410: deleted; 404: that too, or the repository is out of reach */
        *gone = out->status == 410 || (out->status == 404 && probe(s, out));
        return *gone;
    }
    ok = read_issue(s, issue, seen, out);
    json_decref(issue);
    return ok;
}

static bool patch(struct sending *s, const char *id, json_t *tree, struct outcome *out)
{
    struct tracker_call c = call(s, "PATCH", issue_url(s, id, ""), tree);

    return tracker_send(s, &c, NULL, out);
}

static bool update(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    return patch(s, id,
                 json_pack("{s:s, s:s}", "title", t->title, "body",
                           tracker_body(s, t, FORM_MARKDOWN, BODY_MAX)),
                 out);
}

static bool reopen(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    json_t *tree = json_pack("{s:s, s:s}", "state", "open", "state_reason", "reopened");

    if (t->assignee)
        json_object_set_new(tree, "assignees", assignees(t));
    return patch(s, id, tree, out);
}

static bool comment(struct sending *s, const char *id, const struct ticket_text *t,
                    const char *markdown, const char *comment_marker, struct outcome *out)
{
    struct tracker_call c =
        call(s, "POST", issue_url(s, id, "/comments"),
             json_pack("{s:s}", "body", tracker_form(s, markdown, FORM_MARKDOWN, BODY_MAX)));

    (void)t;
    (void)comment_marker;
    return tracker_send(s, &c, NULL, out);
}

static bool has_comment(struct sending *s, const char *id, const char *comment_marker,
                        int64_t since_us, bool *has, struct outcome *out)
{
    const char *since = send_time(s, since_us - TRACKER_CLOCK_SLACK_US);

    *has = false;
    for (int page = 1; page <= TRACKER_PAGES_MAX && !*has; page++) {
        struct tracker_call c =
            call(s, "GET",
                 issue_url(s, id,
                           send_printf(s, "/comments?since=%s&per_page=100&page=%d",
                                       tracker_escape(s, since), page)),
                 NULL);
        json_t *list;
        size_t n;

        if (!tracker_send(s, &c, &list, out))
            return false;
        n = json_array_size(list);
        *has = pick(list, comment_marker) != NULL;
        json_decref(list);
        if (n < 100)
            break;
    }
    return true;
}

const struct tracker github_tracker = {.probe = probe,
                                       .find = find_issue,
                                       .create = create,
                                       .look = look,
                                       .update = update,
                                       .reopen = reopen,
                                       .comment = comment,
                                       .has_comment = has_comment};
